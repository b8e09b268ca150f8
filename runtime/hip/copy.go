package hip

import (
	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Kind is hipMemcpyKind.
type Kind int32

// Kinds.
const (
	HostToHost     Kind = 0
	HostToDevice   Kind = 1
	DeviceToHost   Kind = 2
	DeviceToDevice Kind = 3
	Default        Kind = 4
)

// String is the name in the header.
func (k Kind) String() string {
	if !k.ok() {
		return "Invalid hipMemcpyKind"
	}
	return [...]string{"hipMemcpyHostToHost", "hipMemcpyHostToDevice", "hipMemcpyDeviceToHost", "hipMemcpyDeviceToDevice", "hipMemcpyDefault"}[k]
}

func (k Kind) ok() bool { return k >= HostToHost && k <= Default }

// Memcpy copies n bytes. async: the call may return before the copy is done. s is a stream handle.
func (a *API) Memcpy(t *Thread, dst, src uintptr, n uint64, k Kind, s uintptr, async bool) Error {
	if !k.ok() {
		return ErrInvalidMemcpyDirection
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if a.capturing() {
		if done, e := a.capturedOr(t, s, async, func() (nodeOp, Error) { return opOf(a.newCopy1D(dst, src, n, k)) }); done {
			return e
		}
	}
	if n == 0 {
		return Success
	}
	if dst == 0 || src == 0 {
		return ErrInvalidValue
	}
	if dst == src {
		return Success
	}
	_, err := q.Copy(uint64(dst), uint64(src), clr.Linear(n), async)
	return a.fromErr(err)
}

// Memcpy2D copies height rows of width bytes.
func (a *API) Memcpy2D(t *Thread, dst uintptr, dpitch uint64, src uintptr, spitch, width, height uint64, k Kind, s uintptr, async bool) Error {
	if !k.ok() {
		return ErrInvalidMemcpyDirection
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if a.capturing() {
		done, e := a.capturedOr(t, s, async, func() (nodeOp, Error) {
			return opOf(a.newCopy3D(&Memcpy3DParms{SrcPtr: PitchedPtr{Ptr: src, Pitch: spitch}, DstPtr: PitchedPtr{Ptr: dst, Pitch: dpitch}, Extent: Extent{width, height, 1}, Kind: k}))
		})
		if done {
			return e
		}
	}
	if width == 0 || height == 0 {
		return Success
	}
	if dst == 0 || src == 0 {
		return ErrInvalidValue
	}
	if dpitch < width || spitch < width {
		return ErrInvalidPitchValue
	}
	_, err := q.Copy(uint64(dst), uint64(src), clr.Rect{Width: width, Height: height, Depth: 1, DstPitch: dpitch, SrcPitch: spitch}, async)
	return a.fromErr(err)
}

// Pos is hipPos.
type Pos struct{ X, Y, Z uint64 }

// Memcpy3DParms is hipMemcpy3DParms.
type Memcpy3DParms struct {
	SrcArray uintptr
	SrcPos   Pos
	SrcPtr   PitchedPtr
	DstArray uintptr
	DstPos   Pos
	DstPtr   PitchedPtr
	Extent   Extent
	Kind     Kind
	_        int32
}

// Memcpy3D copies a box between pitched memory.
func (a *API) Memcpy3D(t *Thread, p *Memcpy3DParms, s uintptr, async bool) Error {
	if p == nil {
		return ErrInvalidValue
	}
	if !p.Kind.ok() {
		return ErrInvalidMemcpyDirection
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if a.capturing() {
		if done, e := a.capturedOr(t, s, async, func() (nodeOp, Error) { return opOf(a.newCopy3D(p)) }); done {
			return e
		}
	}
	dst, src, rect, e := a.place3D(p)
	if e != Success {
		return e
	}
	_, err := q.Copy(dst, src, rect, async)
	return a.fromErr(err)
}

// place3D finds where the box of a copy is on both sides.
func (a *API) place3D(p *Memcpy3DParms) (dst, src uint64, rect clr.Rect, _ Error) {
	if p.SrcArray != 0 || p.DstArray != 0 {
		return a.placeArrays(p)
	}
	x := p.Extent
	if x.Width == 0 || x.Height == 0 || x.Depth == 0 {
		return 0, 0, rect, Success
	}
	if p.SrcPtr.Ptr == 0 || p.DstPtr.Ptr == 0 {
		return 0, 0, rect, ErrInvalidValue
	}
	if p.SrcPtr.Pitch < x.Width || p.DstPtr.Pitch < x.Width {
		return 0, 0, rect, ErrInvalidPitchValue
	}
	ss, ds := p.SrcPtr.Pitch*max(p.SrcPtr.YSize, x.Height), p.DstPtr.Pitch*max(p.DstPtr.YSize, x.Height)
	src = uint64(p.SrcPtr.Ptr) + p.SrcPos.X + p.SrcPos.Y*p.SrcPtr.Pitch + p.SrcPos.Z*ss
	dst = uint64(p.DstPtr.Ptr) + p.DstPos.X + p.DstPos.Y*p.DstPtr.Pitch + p.DstPos.Z*ds
	return dst, src, clr.Rect{Width: x.Width, Height: x.Height, Depth: x.Depth, DstPitch: p.DstPtr.Pitch, SrcPitch: p.SrcPtr.Pitch, DstSlice: ds, SrcSlice: ss}, Success
}

// Memcpy2DParms is hip_Memcpy2D.
type Memcpy2DParms struct {
	SrcX, SrcY uint64
	SrcType    uint32
	_          uint32
	SrcHost    uintptr
	SrcDevice  uintptr
	SrcArray   uintptr
	SrcPitch   uint64
	DstX, DstY uint64
	DstType    uint32
	_          uint32
	DstHost    uintptr
	DstDevice  uintptr
	DstArray   uintptr
	DstPitch   uint64
	WidthBytes uint64
	Height     uint64
}

// MemcpyParam2D is hipMemcpyParam2D.
func (a *API) MemcpyParam2D(t *Thread, p *Memcpy2DParms, s uintptr, async bool) Error {
	if p == nil {
		return ErrInvalidValue
	}
	if p.SrcArray != 0 || p.DstArray != 0 {
		return a.memcpyParam2DArrays(t, p, s, async)
	}
	if p.WidthBytes == 0 || p.Height == 0 {
		return Success
	}
	src, dst := p.SrcDevice, p.DstDevice
	host := a.memoryType(clr.HostMemory)
	if p.SrcType == host {
		src = p.SrcHost
	}
	if p.DstType == host {
		dst = p.DstHost
	}
	if src == 0 || dst == 0 {
		return ErrInvalidValue
	}
	sp, dp := p.SrcPitch, p.DstPitch
	if sp == 0 {
		sp = p.SrcX + p.WidthBytes
	}
	if dp == 0 {
		dp = p.DstX + p.WidthBytes
	}
	if sp < p.SrcX+p.WidthBytes || dp < p.DstX+p.WidthBytes {
		return ErrInvalidPitchValue
	}
	return a.Memcpy2D(t, dst+uintptr(p.DstY*dp+p.DstX), dp, src+uintptr(p.SrcY*sp+p.SrcX), sp, p.WidthBytes, p.Height, Default, s, async)
}

// symbolAddress finds a variable by its host shadow, on the current device.
func (a *API) symbolAddress(t *Thread, sym uintptr) (addr, size uint64, e Error) {
	d, e := a.device(t)
	if e != Success {
		return 0, 0, e
	}
	v := a.reg.variable(sym)
	if v == nil {
		return 0, 0, ErrInvalidSymbol
	}
	if v.managed != nil {
		if v.mem == nil {
			return 0, 0, ErrInvalidSymbol
		}
		return v.mem.Ptr, v.size, Success
	}
	p, err := a.program(v.bin)
	if err != nil {
		return 0, 0, a.fromErr(err)
	}
	addr, size, err = p.Variable(d, v.name)
	if err != nil {
		if codeOf(err) == ErrNotFound {
			return 0, 0, ErrInvalidSymbol
		}
		return 0, 0, a.fromErr(err)
	}
	return addr, size, Success
}

// GetSymbolAddress and GetSymbolSize describe a device variable.
func (a *API) GetSymbolAddress(t *Thread, out *uintptr, sym uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	addr, _, e := a.symbolAddress(t, sym)
	if e == Success {
		*out = uintptr(addr)
	}
	return e
}

// GetSymbolSize returns the bytes of a device variable.
func (a *API) GetSymbolSize(t *Thread, out *uint64, sym uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	_, n, e := a.symbolAddress(t, sym)
	if e == Success {
		*out = n
	}
	return e
}

// MemcpyToSymbol copies to a device variable, MemcpyFromSymbol from it.
func (a *API) MemcpyToSymbol(t *Thread, sym, src uintptr, n, off uint64, k Kind, s uintptr, async bool) Error {
	if sym == 0 {
		return ErrInvalidSymbol
	}
	if k != HostToDevice && k != DeviceToDevice && k != Default {
		return ErrInvalidMemcpyDirection
	}
	addr, size, e := a.symbolAddress(t, sym)
	if e != Success {
		return e
	}
	if off > size || n > size-off {
		return ErrInvalidValue
	}
	return a.Memcpy(t, uintptr(addr+off), src, n, k, s, async)
}

// MemcpyFromSymbol copies from a device variable.
func (a *API) MemcpyFromSymbol(t *Thread, dst, sym uintptr, n, off uint64, k Kind, s uintptr, async bool) Error {
	if sym == 0 {
		return ErrInvalidSymbol
	}
	if k != DeviceToHost && k != DeviceToDevice && k != Default {
		return ErrInvalidMemcpyDirection
	}
	addr, size, e := a.symbolAddress(t, sym)
	if e != Success {
		return e
	}
	if off > size || n > size-off {
		return ErrInvalidValue
	}
	return a.Memcpy(t, dst, uintptr(addr+off), n, k, s, async)
}

// Memcpy3DPeerParms is hipMemcpy3DPeerParms.
type Memcpy3DPeerParms struct {
	SrcArray  uintptr
	SrcPos    Pos
	SrcPtr    PitchedPtr
	SrcDevice int32
	_         int32
	DstArray  uintptr
	DstPos    Pos
	DstPtr    PitchedPtr
	DstDevice int32
	_         int32
	Extent    Extent
}

// Memcpy3DPeer copies a box between devices.
func (a *API) Memcpy3DPeer(t *Thread, p *Memcpy3DPeerParms, s uintptr, async bool) Error {
	if p == nil {
		return ErrInvalidValue
	}
	_, e1 := a.deviceAt(p.SrcDevice)
	_, e2 := a.deviceAt(p.DstDevice)
	if e1 != Success || e2 != Success {
		return ErrInvalidDevice
	}
	return a.Memcpy3D(t, &Memcpy3DParms{SrcArray: p.SrcArray, SrcPos: p.SrcPos, SrcPtr: p.SrcPtr, DstArray: p.DstArray, DstPos: p.DstPos, DstPtr: p.DstPtr, Extent: p.Extent, Kind: Default}, s, async)
}

// MemcpyPeer copies between devices.
func (a *API) MemcpyPeer(t *Thread, dst uintptr, dd int32, src uintptr, sd int32, n uint64, s uintptr, async bool) Error {
	_, e1 := a.deviceAt(dd)
	_, e2 := a.deviceAt(sd)
	if e1 != Success || e2 != Success {
		return ErrInvalidDevice
	}
	if dst == 0 || src == 0 {
		return ErrInvalidValue
	}
	return a.Memcpy(t, dst, src, n, DeviceToDevice, s, async)
}
