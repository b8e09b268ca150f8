package hip

import "github.com/pumice-gpu/pumice/runtime/clr"

// Copies and fills of graphs.

// copyForm is how a copy was described; parameters can only be changed in the same way.
type copyForm uint8

const (
	copy3D copyForm = iota
	copy1D
	copyToSymbol
	copyFromSymbol
	copyDriver
)

type copyOp struct {
	form     copyForm
	p        Memcpy3DParms // copy3D as it was given; the other forms in these terms
	drv      DrvMemcpy3D   // copyDriver as it was given
	dst, src uint64
	rect     clr.Rect
}

func (*copyOp) kind() NodeType { return NodeMemcpy }

func (o *copyOp) clone() nodeOp {
	c := *o
	return &c
}

func (o *copyOp) run(a *API, r *graphRun) Error {
	return a.fromErr(r.q.CopyLater(o.dst, o.src, o.rect))
}

func (o *copyOp) accept(a *API, by nodeOp) updateResult {
	n := by.(*copyOp)
	if n.p.Kind != o.p.Kind && n.form != copy1D {
		return updateParametersChanged
	}
	return updateSuccess
}

func linearParms(dst, src uintptr, n uint64, k Kind) Memcpy3DParms {
	return Memcpy3DParms{SrcPtr: PitchedPtr{Ptr: src, Pitch: n, XSize: n, YSize: 1}, DstPtr: PitchedPtr{Ptr: dst, Pitch: n, XSize: n, YSize: 1}, Extent: Extent{n, 1, 1}, Kind: k}
}

// newCopy1D checks a linear copy.
func (a *API) newCopy1D(dst, src uintptr, n uint64, k Kind) (*copyOp, Error) {
	if dst == 0 || src == 0 || n == 0 || dst == src {
		return nil, ErrInvalidValue
	}
	if !k.ok() {
		return nil, ErrInvalidMemcpyDirection
	}
	return &copyOp{form: copy1D, p: linearParms(dst, src, n, k), dst: uint64(dst), src: uint64(src), rect: clr.Linear(n)}, Success
}

// checkRanges refuses a copy of a node that goes past memory that the runtime knows, or where the kind says device memory and there is none.
func (a *API) checkRanges(dst, src uintptr, n uint64, k Kind) Error {
	inside := func(p uintptr) (known, ok bool) {
		if m := a.rt.Find(uint64(p)); m != nil {
			off := uint64(p) - m.Ptr
			if off >= m.Size {
				off = uint64(p) - m.Host
			}
			return true, n <= m.Size-off
		}
		return a.rt.HSA.Find(uint64(p)) != nil, true // a device variable
	}
	toDevice, dok := inside(dst)
	fromDevice, sok := inside(src)
	if !dok || !sok || !toDevice && (k == HostToDevice || k == DeviceToDevice) || !fromDevice && (k == DeviceToHost || k == DeviceToDevice) {
		return ErrInvalidValue
	}
	return Success
}

// newCopy3D checks a copy of a box.
func (a *API) newCopy3D(p *Memcpy3DParms) (*copyOp, Error) {
	if p == nil {
		return nil, ErrInvalidValue
	}
	if p.SrcArray == 0 && p.SrcPtr.Ptr == 0 || p.DstArray == 0 && p.DstPtr.Ptr == 0 || p.SrcArray != 0 && p.SrcPtr.Ptr != 0 || p.DstArray != 0 && p.DstPtr.Ptr != 0 {
		return nil, ErrInvalidValue
	}
	if !p.Kind.ok() {
		return nil, ErrInvalidMemcpyDirection
	}
	dst, src, rect, e := a.place3D(p)
	if e != Success {
		return nil, e
	}
	return &copyOp{form: copy3D, p: *p, dst: dst, src: src, rect: rect}, Success
}

// newCopySymbol checks a copy to a device variable, or from it.
func (a *API) newCopySymbol(t *Thread, to bool, sym, other uintptr, n, off uint64, k Kind) (*copyOp, Error) {
	if sym == 0 {
		return nil, ErrInvalidSymbol
	}
	if other == 0 || n == 0 || other == sym {
		return nil, ErrInvalidValue
	}
	addr, size, e := a.symbolAddress(t, sym)
	if e != Success {
		return nil, e
	}
	if off > size || n > size-off {
		return nil, ErrInvalidValue
	}
	place, form := uintptr(addr+off), copyFromSymbol
	dst, src := other, place
	if to {
		dst, src, form = place, other, copyToSymbol
	}
	if !k.ok() || k == HostToHost || k == HostToDevice && !to || k == DeviceToHost && to {
		return nil, ErrInvalidMemcpyDirection
	}
	return &copyOp{form: form, p: linearParms(dst, src, n, k), dst: uint64(dst), src: uint64(src), rect: clr.Linear(n)}, Success
}

func (a *API) addCopy(out *uintptr, g uintptr, deps []uintptr, o *copyOp, e Error) Error {
	if out == nil || a.graphs.get(g) == nil {
		return ErrInvalidValue
	}
	if e != Success {
		return e
	}
	return a.addNode(out, g, deps, o)
}

// GraphAddMemcpy adds a copy of a box.
func (a *API) GraphAddMemcpy(out *uintptr, g uintptr, deps []uintptr, p *Memcpy3DParms) Error {
	o, e := a.newCopy3D(p)
	return a.addCopy(out, g, deps, o, e)
}

// GraphAddMemcpy1D adds a copy of bytes.
func (a *API) GraphAddMemcpy1D(out *uintptr, g uintptr, deps []uintptr, dst, src uintptr, n uint64, k Kind) Error {
	o, e := a.newCopy1D(dst, src, n, k)
	if e == Success {
		e = a.checkRanges(dst, src, n, k)
	}
	return a.addCopy(out, g, deps, o, e)
}

// GraphAddMemcpySymbol adds a copy to or from a device variable.
func (a *API) GraphAddMemcpySymbol(t *Thread, out *uintptr, g uintptr, deps []uintptr, to bool, sym, other uintptr, n, off uint64, k Kind) Error {
	o, e := a.newCopySymbol(t, to, sym, other, n, off, k)
	if e == Success {
		e = a.checkRanges(uintptr(o.dst), uintptr(o.src), n, k)
	}
	return a.addCopy(out, g, deps, o, e)
}

// MemcpyNodeGetParams describes a copy.
func (a *API) MemcpyNodeGetParams(h uintptr, p *Memcpy3DParms) Error {
	if p == nil {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *copyOp) Error { *p = o.p; return Success })
}

// newCopyDriver checks a HIP_MEMCPY3D.
func (a *API) newCopyDriver(at uintptr) (*copyOp, Error) {
	p, e := a.readDrvMemcpy3D(at)
	if e != Success {
		return nil, e
	}
	if p.Width == 0 || p.Height == 0 || p.Depth == 0 {
		return nil, ErrInvalidValue
	}
	d, s, e := a.drvSides(&p)
	if e != Success {
		return nil, e
	}
	return &copyOp{form: copyDriver, drv: p, dst: d.addr, src: s.addr, rect: box(d, s, p.Width, p.Height, p.Depth), p: Memcpy3DParms{
		SrcPtr: PitchedPtr{Ptr: uintptr(s.addr), Pitch: s.pitch, XSize: p.Width, YSize: s.slice / max(s.pitch, 1)},
		DstPtr: PitchedPtr{Ptr: uintptr(d.addr), Pitch: d.pitch, XSize: p.Width, YSize: d.slice / max(d.pitch, 1)},
		Extent: Extent{p.Width, p.Height, p.Depth}, Kind: Default}}, Success
}

// DrvGraphAddMemcpy adds a driver copy; a context that is not 0 must be one.
func (a *API) DrvGraphAddMemcpy(t *Thread, out *uintptr, g uintptr, deps []uintptr, at, ctx uintptr) Error {
	if ctx != 0 {
		if _, e := a.ctxDevice(ctx); e != Success {
			return e
		}
	}
	o, e := a.newCopyDriver(at)
	return a.addCopy(out, g, deps, o, e)
}

// DrvMemcpyNodeGetParams describes a driver copy.
func (a *API) DrvMemcpyNodeGetParams(h, at uintptr) Error {
	if at == 0 {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *copyOp) Error {
		if o.form != copyDriver {
			return ErrInvalidValue
		}
		a.writeDrvMemcpy3D(at, &o.drv)
		return Success
	})
}

// DrvMemcpyNodeSetParams changes a driver copy, of a graph or of an executable graph.
func (a *API) DrvMemcpyNodeSetParams(x, h uintptr, exec bool, at uintptr) Error {
	o, e := a.newCopyDriver(at)
	return a.setCopy(x, h, exec, o, e)
}

func (a *API) setCopy(x, h uintptr, exec bool, by *copyOp, e Error) Error {
	if e != Success {
		return e
	}
	return setParams(a, x, h, exec, func(old *copyOp) (nodeOp, Error) {
		if exec && by.p.Kind != old.p.Kind {
			return nil, ErrInvalidValue
		}
		return by, Success
	})
}

// MemcpyNodeSetParams changes a copy, of a graph or of an executable graph, where the kind must stay.
func (a *API) MemcpyNodeSetParams(x, h uintptr, exec bool, p *Memcpy3DParms) Error {
	o, e := a.newCopy3D(p)
	return a.setCopy(x, h, exec, o, e)
}

// MemcpyNodeSetParams1D is MemcpyNodeSetParams for bytes.
func (a *API) MemcpyNodeSetParams1D(x, h uintptr, exec bool, dst, src uintptr, n uint64, k Kind) Error {
	o, e := a.newCopy1D(dst, src, n, k)
	if e == Success {
		e = a.checkRanges(dst, src, n, k)
	}
	return a.setCopy(x, h, exec, o, e)
}

// MemcpyNodeSetParamsSymbol is MemcpyNodeSetParams for device variables.
func (a *API) MemcpyNodeSetParamsSymbol(t *Thread, x, h uintptr, exec, to bool, sym, other uintptr, n, off uint64, k Kind) Error {
	o, e := a.newCopySymbol(t, to, sym, other, n, off, k)
	if e == Success {
		e = a.checkRanges(uintptr(o.dst), uintptr(o.src), n, k)
	}
	return a.setCopy(x, h, exec, o, e)
}

// MemsetParams is hipMemsetParams. Width counts elements.
type MemsetParams struct {
	Dst         uintptr
	ElementSize uint32
	_           uint32
	Height      uint64
	Pitch       uint64
	Value       uint32
	_           uint32
	Width       uint64
}

type memsetOp struct {
	p     MemsetParams
	depth uint64
	rect  clr.Rect
}

func (*memsetOp) kind() NodeType { return NodeMemset }

func (o *memsetOp) clone() nodeOp {
	c := *o
	return &c
}

func (o *memsetOp) run(a *API, r *graphRun) Error {
	_, err := r.q.Fill(uint64(o.p.Dst), o.p.Value, int(o.p.ElementSize), o.rect, true)
	return a.fromErr(err)
}

func (o *memsetOp) accept(*API, nodeOp) updateResult { return updateSuccess }

// newMemset checks a fill.
func (a *API) newMemset(p *MemsetParams, depth, slice uint64) (*memsetOp, Error) {
	if p == nil || p.Dst == 0 || p.Height == 0 || p.Width == 0 || depth == 0 {
		return nil, ErrInvalidValue
	}
	if s := p.ElementSize; s != 1 && s != 2 && s != 4 || p.Width > 1<<46 || p.Height > 1<<46 {
		return nil, ErrInvalidValue
	}
	row := p.Width * uint64(p.ElementSize)
	pitch := p.Pitch
	if p.Height == 1 && depth == 1 {
		pitch = row
	}
	if pitch < row {
		return nil, ErrInvalidValue
	}
	m := a.rt.Find(uint64(p.Dst))
	if m == nil {
		return nil, ErrInvalidValue
	}
	if slice == 0 {
		slice = pitch * p.Height
	}
	if used := (depth-1)*slice + (p.Height-1)*pitch + row; used > m.Size-(uint64(p.Dst)-m.Ptr) {
		return nil, ErrInvalidValue
	}
	return &memsetOp{p: *p, depth: depth, rect: clr.Rect{Width: row, Height: p.Height, Depth: depth, DstPitch: pitch, DstSlice: slice}}, Success
}

// GraphAddMemset adds a fill.
func (a *API) GraphAddMemset(out *uintptr, g uintptr, deps []uintptr, p *MemsetParams) Error {
	if out == nil || a.graphs.get(g) == nil {
		return ErrInvalidValue
	}
	o, e := a.newMemset(p, 1, 0)
	if e != Success {
		return e
	}
	return a.addNode(out, g, deps, o)
}

// MemsetNodeGetParams describes a fill.
func (a *API) MemsetNodeGetParams(h uintptr, p *MemsetParams) Error {
	if p == nil {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *memsetOp) Error { *p = o.p; return Success })
}

// MemsetNodeSetParams changes a fill, of a graph or of an executable graph.
func (a *API) MemsetNodeSetParams(x, h uintptr, exec bool, p *MemsetParams) Error {
	o, e := a.newMemset(p, 1, 0)
	if e != Success {
		return e
	}
	return setParams(a, x, h, exec, func(old *memsetOp) (nodeOp, Error) {
		if exec && (old.p.Height > 1 || p.Height > 1) {
			return nil, ErrInvalidValue // only a row's fill can be replaced
		}
		return o, Success
	})
}
