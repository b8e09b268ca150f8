package hip

import "github.com/pumice-gpu/pumice/runtime/clr"

// Memory of graphs. An allocation node has its address from the moment it is made; its memory is the graph's, and is in use from the node until a free node, or
// a hipFree or hipFreeAsync of the program, or, with the flag, until the next launch.

// graphMemory is the memory of an allocation node and of its copies in executable graphs.
type graphMemory struct {
	m    *clr.Memory
	dev  int32
	refs int  // nodes; guarded by API.memMu
	live bool // a launch has allocated it; guarded by API.memMu
}

// Location is hipMemLocation.
type Location struct {
	Type int32 // 1 is a device
	ID   int32
}

// AccessDesc is hipMemAccessDesc.
type AccessDesc struct {
	Location Location
	Flags    int32 // 0 none, 1 read, 3 read and write
}

// PoolProps is hipMemPoolProps.
type PoolProps struct {
	AllocType     int32 // 1 is pinned
	HandleTypes   int32
	Location      Location
	WinAttributes uintptr
	_             [64]byte
}

// MemAllocNodeParams is hipMemAllocNodeParams.
type MemAllocNodeParams struct {
	Props       PoolProps
	AccessDescs uintptr
	AccessCount uint64
	Size        uint64
	Ptr         uintptr
}

type allocOp struct {
	p   MemAllocNodeParams
	mem *graphMemory
}

func (*allocOp) kind() NodeType                   { return NodeMemAlloc }
func (o *allocOp) clone() nodeOp                  { c := *o; return &c }
func (*allocOp) accept(*API, nodeOp) updateResult { return updateNotSupported }

func (o *allocOp) run(a *API, r *graphRun) Error {
	a.memMu.Lock()
	defer a.memMu.Unlock()
	if o.mem.live && r.x.flags&instantiateAutoFree == 0 {
		return ErrInvalidValue
	}
	o.mem.live = true
	a.graphUsage(o.mem.dev)
	return Success
}

type freeOp struct {
	ptr uintptr
	mem *graphMemory // nil: memory of a pool
}

func (a *API) newFreeOp(m *clr.Memory) *freeOp {
	a.memMu.Lock()
	defer a.memMu.Unlock()
	return &freeOp{uintptr(m.Ptr), a.graphMem[m]}
}

func (*freeOp) kind() NodeType                   { return NodeMemFree }
func (o *freeOp) clone() nodeOp                  { c := *o; return &c }
func (*freeOp) accept(*API, nodeOp) updateResult { return updateNotSupported }

func (o *freeOp) run(a *API, r *graphRun) Error {
	a.memMu.Lock()
	if o.mem != nil {
		o.mem.live = false
		a.memMu.Unlock()
		return Success
	}
	a.memMu.Unlock()
	return a.freeOrdered(r.q, o.ptr)
}

// newGraphMemory makes the memory of an allocation node on a device.
func (a *API) newGraphMemory(dev int32, size uint64) (*graphMemory, Error) {
	d, e := a.deviceAt(dev)
	if e != Success {
		return nil, ErrInvalidValue
	}
	m, err := d.Alloc(size)
	if err != nil {
		return nil, a.fromErr(err)
	}
	g := &graphMemory{m: m, dev: dev, refs: 1}
	a.memMu.Lock()
	if a.graphMem == nil {
		a.graphMem = map[*clr.Memory]*graphMemory{}
	}
	a.graphMem[m] = g
	a.graphUsage(dev)
	a.memMu.Unlock()
	return g, Success
}

func (a *API) refGraphMemory(g *graphMemory) {
	a.memMu.Lock()
	g.refs++
	a.memMu.Unlock()
}

func (a *API) unrefGraphMemory(g *graphMemory) {
	a.memMu.Lock()
	defer a.memMu.Unlock()
	g.refs--
	a.reapGraphMemory(g)
}

// reapGraphMemory gives memory back that no node can allocate again and that is not in use. memMu is held.
func (a *API) reapGraphMemory(g *graphMemory) {
	if g.refs > 0 || g.live {
		return
	}
	if _, ok := a.graphMem[g.m]; ok {
		delete(a.graphMem, g.m)
		go func() { _ = a.rt.Free(g.m) }() // waits for the devices
	}
}

// freeGraphMemory ends the use of memory of a graph by the program. It reports whether the memory is a graph's.
func (a *API) freeGraphMemory(m *clr.Memory) (bool, Error) {
	a.memMu.Lock()
	defer a.memMu.Unlock()
	g := a.graphMem[m]
	if g == nil {
		return false, Success
	}
	if !g.live {
		return true, ErrInvalidValue
	}
	g.live = false
	a.reapGraphMemory(g)
	return true, Success
}

// GraphAddMemAlloc adds an allocation, and returns its address in the parameters.
func (a *API) GraphAddMemAlloc(out *uintptr, g uintptr, deps []uintptr, p *MemAllocNodeParams) Error {
	if out == nil || p == nil || a.graphs.get(g) == nil {
		return ErrInvalidValue
	}
	p.Ptr = 0
	if p.Size == 0 || p.Props.AllocType != allocPinned || p.Props.Location.Type != locationDevice {
		return ErrInvalidValue
	}
	m, e := a.newGraphMemory(p.Props.Location.ID, p.Size)
	if e != Success {
		return e
	}
	p.Ptr = uintptr(m.m.Ptr)
	e = a.addNode(out, g, deps, &allocOp{*p, m})
	if e != Success {
		a.unrefGraphMemory(m)
		p.Ptr = 0
	}
	return e
}

// GraphAddMemFree adds the end of an allocation's use.
func (a *API) GraphAddMemFree(out *uintptr, g uintptr, deps []uintptr, ptr uintptr) Error {
	if out == nil || ptr == 0 || a.graphs.get(g) == nil {
		return ErrInvalidValue
	}
	m := a.rt.Find(uint64(ptr))
	if m == nil || m.Ptr != uint64(ptr) {
		return ErrInvalidValue
	}
	a.graphMu.Lock()
	bad := false
	for _, n := range a.graphs.get(g).nodes {
		f, ok := n.op.(*freeOp)
		bad = bad || ok && f.ptr == ptr
	}
	a.graphMu.Unlock()
	if bad { // freed twice
		return ErrInvalidValue
	}
	return a.addNode(out, g, deps, a.newFreeOp(m))
}

// MemAllocNodeGetParams describes an allocation node.
func (a *API) MemAllocNodeGetParams(h uintptr, p *MemAllocNodeParams) Error {
	if p == nil {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *allocOp) Error { *p = o.p; return Success })
}

// MemFreeNodeGetParams returns the address of a free node.
func (a *API) MemFreeNodeGetParams(h uintptr, p *uintptr) Error {
	if p == nil {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *freeOp) Error { *p = o.ptr; return Success })
}

// Attributes of graph memory (hipGraphMemAttributeType).
const (
	graphUsedCurrent = iota
	graphUsedHigh
	graphReservedCurrent
	graphReservedHigh
)

// graphUsage counts a device's graph memory and keeps the high marks. memMu is held.
func (a *API) graphUsage(dev int32) (used, reserved uint64) {
	for _, g := range a.graphMem {
		if g.dev == dev {
			reserved += g.m.Size
			if g.live {
				used += g.m.Size
			}
		}
	}
	if a.graphHigh == nil {
		a.graphHigh = map[int32]*[2]uint64{}
	}
	h := a.graphHigh[dev]
	if h == nil {
		h = new([2]uint64)
		a.graphHigh[dev] = h
	}
	h[0], h[1] = max(h[0], used), max(h[1], reserved)
	return
}

// DeviceGetGraphMem returns a counter of a device's graph memory in bytes.
func (a *API) DeviceGetGraphMem(dev, attr int32, out *uint64) Error {
	if _, e := a.deviceAt(dev); e != Success {
		return e
	}
	if out == nil {
		return ErrInvalidValue
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	used, reserved := a.graphUsage(dev)
	h := a.graphHigh[dev]
	switch attr {
	case graphUsedCurrent:
		*out = used
	case graphUsedHigh:
		*out = h[0]
	case graphReservedCurrent:
		*out = reserved
	case graphReservedHigh:
		*out = h[1]
	default:
		return ErrInvalidValue
	}
	return Success
}

// DeviceSetGraphMem resets a high mark, which is all that can be set.
func (a *API) DeviceSetGraphMem(dev, attr int32, v *uint64) Error {
	if _, e := a.deviceAt(dev); e != Success {
		return e
	}
	if v == nil || *v != 0 {
		return ErrInvalidValue
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	used, reserved := a.graphUsage(dev)
	switch attr {
	case graphUsedHigh:
		a.graphHigh[dev][0] = used
	case graphReservedHigh:
		a.graphHigh[dev][1] = reserved
	default:
		return ErrInvalidValue
	}
	return Success
}

// DeviceGraphMemTrim gives back what graphs keep beyond need: nothing here, because nodes keep only what they were made with.
func (a *API) DeviceGraphMemTrim(dev int32) Error {
	_, e := a.deviceAt(dev)
	return e
}
