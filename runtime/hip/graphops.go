package hip

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// What nodes do: nothing, call the host, record and wait for events, contain a graph. Kernels, copies and memory have files of their own.

type emptyOp struct{}

func (emptyOp) kind() NodeType                   { return NodeEmpty }
func (o emptyOp) clone() nodeOp                  { return o }
func (emptyOp) run(*API, *graphRun) Error        { return Success }
func (emptyOp) accept(*API, nodeOp) updateResult { return updateSuccess }

// HostNodeParams is hipHostNodeParams: a function of the program and its argument.
type HostNodeParams struct {
	Fn   uintptr
	Data uintptr
}

// CallHost calls a function of the program with its argument. cmd/libpumice sets it.
var CallHost = func(fn, data uintptr) {}

type hostOp struct{ p HostNodeParams }

func (*hostOp) kind() NodeType { return NodeHost }
func (o *hostOp) clone() nodeOp {
	c := *o
	return &c
}
func (o *hostOp) run(a *API, r *graphRun) Error {
	p := o.p
	_, err := r.q.Host(func() error { CallHost(p.Fn, p.Data); return nil })
	return a.fromErr(err)
}
func (*hostOp) accept(*API, nodeOp) updateResult { return updateSuccess }

// eventRecordOp is a record of an event; the node is in the order of the graph, the event is everybody's.
type eventRecordOp struct {
	handle uintptr
	ev     *event
}

func (*eventRecordOp) kind() NodeType { return NodeEventRecord }
func (o *eventRecordOp) clone() nodeOp {
	c := *o
	return &c
}
func (o *eventRecordOp) run(a *API, r *graphRun) Error {
	m, err := r.q.Marker()
	if err != nil {
		return a.fromErr(err)
	}
	o.ev.set(m)
	return Success
}
func (*eventRecordOp) accept(*API, nodeOp) updateResult { return updateSuccess }

type eventWaitOp struct {
	handle uintptr
	ev     *event
}

func (*eventWaitOp) kind() NodeType { return NodeWaitEvent }
func (o *eventWaitOp) clone() nodeOp {
	c := *o
	return &c
}
func (o *eventWaitOp) run(_ *API, r *graphRun) Error {
	if m, _ := o.ev.last(); m != nil {
		r.q.WaitFor(m)
	}
	return Success
}
func (*eventWaitOp) accept(*API, nodeOp) updateResult { return updateSuccess }

// childOp is a graph in a node: its own copy. Executable graphs have its nodes in the place of the node.
type childOp struct{ g *graph }

func (*childOp) kind() NodeType            { return NodeGraph }
func (o *childOp) clone() nodeOp           { return o } // API.cloneOpLocked makes the copy
func (*childOp) run(*API, *graphRun) Error { return Success }
func (o *childOp) accept(a *API, by nodeOp) updateResult {
	return a.updateOps(o.g, by.(*childOp).g, nil)
}

// event of a handle, for a node.
func (a *API) nodeEvent(h uintptr) *event {
	if h == 0 {
		return nil
	}
	return a.events.get(h)
}

// GraphAddHost adds a node that calls a function of the program.
func (a *API) GraphAddHost(out *uintptr, g uintptr, deps []uintptr, p *HostNodeParams) Error {
	if p == nil || p.Fn == 0 {
		return ErrInvalidValue
	}
	return a.addNode(out, g, deps, &hostOp{*p})
}

// GraphAddEventRecord and GraphAddEventWait add nodes that record an event, or wait for one.
func (a *API) GraphAddEventRecord(out *uintptr, g uintptr, deps []uintptr, ev uintptr) Error {
	x := a.nodeEvent(ev)
	if x == nil {
		return ErrInvalidValue
	}
	return a.addNode(out, g, deps, &eventRecordOp{ev, x})
}

// GraphAddEventWait adds a node that waits for an event.
func (a *API) GraphAddEventWait(out *uintptr, g uintptr, deps []uintptr, ev uintptr) Error {
	x := a.nodeEvent(ev)
	if x == nil {
		return ErrInvalidValue
	}
	return a.addNode(out, g, deps, &eventWaitOp{ev, x})
}

// GraphAddChild adds a node that holds a copy of a graph.
func (a *API) GraphAddChild(out *uintptr, gh uintptr, deps []uintptr, child uintptr) Error {
	a.graphMu.Lock()
	c := a.graphs.get(child)
	if c == nil || a.graphs.get(gh) == nil {
		a.graphMu.Unlock()
		return ErrInvalidValue
	}
	if c.hasMemory() {
		a.graphMu.Unlock()
		return ErrNotSupported
	}
	own := a.cloneLocked(c)
	a.graphMu.Unlock()
	e := a.addNode(out, gh, deps, &childOp{own})
	if e != Success {
		a.graphMu.Lock()
		a.dropGraphLocked(own)
		a.graphMu.Unlock()
	}
	return e
}

// nodeOf returns the operation of a node, if it is of type T.
func nodeOf[T nodeOp](a *API, h uintptr) (n *node, op T, ok bool) {
	if n = a.nodes.get(h); n != nil {
		op, ok = n.op.(T)
	}
	return
}

// execNodeOf returns the copy of a node in an executable graph, if its operation is of type T.
func execNodeOf[T nodeOp](a *API, x *graphExec, h uintptr) (n *node, op T, ok bool) {
	if orig := a.nodes.get(h); orig != nil && x != nil {
		if n = x.twin(orig); n != nil {
			op, ok = n.op.(T)
		}
	}
	return
}

// getParams calls f with the operation of a node of type T.
func getParams[T nodeOp](a *API, h uintptr, f func(n *node, op T) Error) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	n, op, ok := nodeOf[T](a, h)
	if !ok {
		return ErrInvalidValue
	}
	return f(n, op)
}

// setParams replaces the operation of a node: in its graph, or in an executable graph if xh is not 0. make makes the new operation from the old one.
func setParams[T nodeOp](a *API, xh, h uintptr, exec bool, make func(old T) (nodeOp, Error)) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if !exec {
		n, op, ok := nodeOf[T](a, h)
		if !ok {
			return ErrInvalidValue
		}
		by, e := make(op)
		if e == Success {
			n.op = by
		}
		return e
	}
	x := a.execs.get(xh)
	n, op, ok := execNodeOf[T](a, x, h)
	if !ok {
		return ErrInvalidValue
	}
	by, e := make(op)
	if e != Success {
		return e
	}
	if op.accept(a, by) != updateSuccess {
		return ErrInvalidValue
	}
	x.mu.Lock()
	n.op = by
	x.mu.Unlock()
	return Success
}

// HostNodeGetParams returns the parameters of a host node.
func (a *API) HostNodeGetParams(h uintptr, p *HostNodeParams) Error {
	if p == nil {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *hostOp) Error { *p = o.p; return Success })
}

// HostNodeSetParams changes a host node, of a graph or of an executable graph.
func (a *API) HostNodeSetParams(x, h uintptr, exec bool, p *HostNodeParams) Error {
	if p == nil || p.Fn == 0 {
		return ErrInvalidValue
	}
	return setParams(a, x, h, exec, func(*hostOp) (nodeOp, Error) { return &hostOp{*p}, Success })
}

// EventNodeGet returns the event of a record or wait node.
func (a *API) EventNodeGet(h uintptr, wait bool, out *uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if wait {
		return getParams(a, h, func(_ *node, o *eventWaitOp) Error { *out = o.handle; return Success })
	}
	return getParams(a, h, func(_ *node, o *eventRecordOp) Error { *out = o.handle; return Success })
}

// EventNodeSet changes the event of a record or wait node.
func (a *API) EventNodeSet(x, h uintptr, exec, wait bool, ev uintptr) Error {
	v := a.nodeEvent(ev)
	if v == nil {
		return ErrInvalidValue
	}
	if wait {
		return setParams(a, x, h, exec, func(*eventWaitOp) (nodeOp, Error) { return &eventWaitOp{ev, v}, Success })
	}
	return setParams(a, x, h, exec, func(*eventRecordOp) (nodeOp, Error) { return &eventRecordOp{ev, v}, Success })
}

// ChildGet returns the graph of a child graph node: the node's own, which may be changed but not destroyed.
func (a *API) ChildGet(h uintptr, out *uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *childOp) Error { *out = o.g.handle; return Success })
}

// ExecChildSet changes the parameters of all nodes of a child graph in an executable graph to those of a graph of the same shape.
func (a *API) ExecChildSet(xh, h, child uintptr) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	x, c := a.execs.get(xh), a.graphs.get(child)
	orig, _, ok := nodeOf[*childOp](a, h)
	if x == nil || c == nil || !ok {
		return ErrInvalidValue
	}
	if c == orig.g {
		return ErrUnknown
	}
	_, op, ok := execNodeOf[*childOp](a, x, h)
	if !ok {
		return ErrInvalidValue
	}
	if a.updateOps(op.g, c, nil) != updateSuccess {
		return ErrUnknown
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	a.replaceOps(op.g, c)
	return Success
}

// KernelNodeParams is hipKernelNodeParams.
type KernelNodeParams struct {
	Block  clr.Dim3
	_      uint32
	Extra  uintptr
	Func   uintptr
	Grid   clr.Dim3
	_      uint32
	Args   uintptr
	Shared uint32
	_      uint32
}

// kernelOp is a launch. Its arguments were copied when the node was made or changed.
type kernelOp struct {
	fn          uintptr // host key, or handle of a module's function
	dev         int32
	grid        clr.Dim3
	prep        *clr.Prepared
	window      accessWindow
	priority    int32
	args        []uintptr // addresses of the copied arguments, as KernelNodeGetParams shows them
	start, stop *event
}

func (*kernelOp) kind() NodeType { return NodeKernel }

func (o *kernelOp) clone() nodeOp {
	c := *o
	p := *o.prep
	c.prep = &p
	return &c
}

func (o *kernelOp) run(a *API, r *graphRun) Error {
	if o.start != nil {
		m, err := r.q.Marker()
		if err != nil {
			return a.fromErr(err)
		}
		o.start.set(m)
	}
	l := o.prep.Launch
	l.Timed = o.stop != nil
	e, err := r.q.Launch(o.prep.Kernel, &l)
	if err != nil {
		return a.launchError(err)
	}
	if o.stop != nil {
		o.stop.set(e)
	}
	return Success
}

func (o *kernelOp) accept(_ *API, by nodeOp) updateResult {
	if by.(*kernelOp).dev != o.dev {
		return updateUnsupportedFunctionChange
	}
	return updateSuccess
}

// kernelFunction finds a kernel by a host key, or by the handle of a module's function.
func (a *API) kernelFunction(fn uintptr) *function {
	if f := a.reg.function(fn); f != nil {
		return f
	}
	return a.funcs.get(fn)
}

// launchOp makes a node of a launch on a device.
func (a *API) launchOp(t *Thread, d int32, f *function, l *Launch) (nodeOp, Error) {
	o, e := a.newKernelOp(t, d, f, l)
	if e != Success {
		return nil, e
	}
	if l.Start != 0 {
		if o.start = a.events.get(l.Start); o.start == nil {
			return nil, ErrInvalidHandle
		}
	}
	if l.Stop != 0 {
		if o.stop = a.events.get(l.Stop); o.stop == nil {
			return nil, ErrInvalidHandle
		}
	}
	return o, Success
}

// newKernelOp prepares a launch on a device.
func (a *API) newKernelOp(t *Thread, d int32, f *function, l *Launch) (*kernelOp, Error) {
	dev, e := a.deviceAt(d)
	if e != Success {
		return nil, e
	}
	if f == nil {
		return nil, ErrInvalidDeviceFunction
	}
	k, c, e := a.resolve(t, f, l, dev)
	if e != Success {
		return nil, e
	}
	prep, err := k.Prepare(c)
	if err != nil {
		return nil, a.launchError(err)
	}
	o := &kernelOp{fn: f.handle, dev: d, grid: l.Grid, prep: prep}
	if l.Items {
		b := prep.Launch.Block
		o.grid = clr.Dim3{X: (l.Grid.X + b.X - 1) / b.X, Y: (l.Grid.Y + b.Y - 1) / b.Y, Z: (l.Grid.Z + b.Z - 1) / b.Z}
	}
	for i := range k.NumArgs() {
		o.args = append(o.args, uintptr(unsafe.Pointer(&prep.Launch.Packed[0]))+uintptr(k.ArgOffset(i)))
	}
	return o, Success
}

func (a *API) kernelOpOf(t *Thread, p *KernelNodeParams) (*kernelOp, Error) {
	if p == nil || p.Func == 0 {
		return nil, ErrInvalidValue
	}
	return a.newKernelOp(t, t.Device, a.kernelFunction(p.Func), &Launch{Grid: p.Grid, Block: p.Block, Args: p.Args, Extra: p.Extra, Shared: p.Shared})
}

// GraphAddKernel adds a launch.
func (a *API) GraphAddKernel(t *Thread, out *uintptr, g uintptr, deps []uintptr, p *KernelNodeParams) Error {
	if out == nil || a.graphs.get(g) == nil {
		return ErrInvalidValue
	}
	o, e := a.kernelOpOf(t, p)
	if e != Success {
		return e
	}
	return a.addNode(out, g, deps, o)
}

// KernelNodeGetParams describes a launch. The addresses of arguments are those of the node's copies, valid until the node changes.
func (a *API) KernelNodeGetParams(h uintptr, p *KernelNodeParams) Error {
	if p == nil {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *kernelOp) Error {
		*p = KernelNodeParams{Block: o.prep.Launch.Block, Func: o.fn, Grid: o.grid, Shared: o.prep.Launch.SharedMem}
		if len(o.args) > 0 {
			p.Args = uintptr(unsafe.Pointer(&o.args[0]))
		}
		return Success
	})
}

// KernelNodeSetParams changes a launch, of a graph or of an executable graph.
func (a *API) KernelNodeSetParams(x, h uintptr, exec bool, p *KernelNodeParams) Error {
	if p == nil || p.Func == 0 {
		return ErrInvalidValue
	}
	return setParams(a, x, h, exec, func(old *kernelOp) (nodeOp, Error) {
		o, e := a.newKernelOp(nil, old.dev, a.kernelFunction(p.Func), &Launch{Grid: p.Grid, Block: p.Block, Args: p.Args, Extra: p.Extra, Shared: p.Shared})
		if e != Success {
			return nil, e
		}
		o.prep.Launch.Cooperative = old.prep.Launch.Cooperative
		o.window, o.priority = old.window, old.priority
		return o, Success
	})
}

// Attributes of kernel nodes (hipLaunchAttributeID).
const (
	attrAccessWindow = 1
	attrCooperative  = 2
	attrPriority     = 8
)

// accessWindow is hipAccessPolicyWindow.
type accessWindow struct {
	Base  uintptr
	Hit   int32
	Ratio float32
	Miss  int32
	_     int32
	Size  uint64
}

// KernelNodeSetAttribute changes an attribute of a launch; v is a hipKernelNodeAttrValue.
func (a *API) KernelNodeSetAttribute(h uintptr, attr int32, v uintptr) Error {
	//fidelity: approximate hipGraphKernelNodeSetAttribute: access policy window and priority are remembered, they change nothing
	if v == 0 {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *kernelOp) Error {
		if attr == attrAccessWindow {
			// base pointer, two properties and a ratio from 0 to 1 between them, bytes
			w, ok := load[accessWindow](v)
			if !ok || w.Hit < 0 || w.Hit > 2 || w.Miss < 0 || w.Miss > 1 || !(w.Ratio >= 0 && w.Ratio <= 1) || w.Size > 0 { // no device has room for a window
				return ErrInvalidValue
			}
			o.window = w
			return Success
		}
		x, ok := load[int32](v)
		switch {
		case !ok:
			return ErrInvalidValue
		case attr == attrCooperative:
			p := *o.prep
			p.Launch.Cooperative = x != 0
			o.prep = &p
		case attr == attrPriority:
			o.priority = x
		default:
			return ErrInvalidValue
		}
		return Success
	})
}

// KernelNodeGetAttribute returns an attribute of a launch.
func (a *API) KernelNodeGetAttribute(h uintptr, attr int32, v uintptr) Error {
	if v == 0 {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *kernelOp) Error {
		switch attr {
		case attrAccessWindow:
			return store(v, o.window)
		case attrCooperative:
			var x int32
			if o.prep.Launch.Cooperative {
				x = 1
			}
			return store(v, x)
		case attrPriority:
			return store(v, o.priority)
		}
		return ErrInvalidValue
	})
}

// KernelNodeCopyAttributes copies all attributes of one launch to another.
func (a *API) KernelNodeCopyAttributes(src, dst uintptr) Error {
	var from kernelOp
	if e := getParams(a, src, func(_ *node, o *kernelOp) Error { from = *o; return Success }); e != Success {
		return e
	}
	return getParams(a, dst, func(_ *node, o *kernelOp) Error {
		p := *o.prep
		p.Launch.Cooperative = from.prep.Launch.Cooperative
		o.prep, o.window, o.priority = &p, from.window, from.priority
		return Success
	})
}
