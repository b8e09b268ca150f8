package hip

import (
	"sync"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Flags of instantiation.
const (
	instantiateAutoFree     = 1
	instantiateUpload       = 2
	instantiateDeviceLaunch = 4
	instantiateNodePriority = 8
)

// maxLanes is how many branches of a graph run side by side.
const maxLanes = 4

// graphExec is a hipGraphExec_t: a copy of a graph, and a plan. Nodes are laid out on lanes; a lane is a stream. The first lane is the stream that the graph is
// launched on, the others are the executable graph's own. Where an edge goes from one lane to another, the node at its end waits for an event behind the node at
// its start, unless its lane has waited for that or something later before.
type graphExec struct {
	handle uintptr
	g      *graph
	source *graph // of which g is a copy
	flags  uint64
	byID   map[uint64]*node // guarded by API.graphMu

	mu    sync.Mutex // guards what follows, and the operations of nodes while a launch reads them
	steps []step
	lanes []lane
	last  *clr.HostQueue // of the last launch
	batch []*clr.Prepared
}

// step is a node in the plan.
type step struct {
	n     *node
	lane  int
	waits []int // steps of other lanes
	mark  bool  // a later step of another lane waits for this one
	ev    *clr.Event
}

type lane struct {
	dev *clr.Device
	own *clr.HostQueue // nil for the first lane until it is needed
	q   *clr.HostQueue // of the launch under way
}

// graphRun is what a node gets to run on.
type graphRun struct {
	x *graphExec
	q *clr.HostQueue
}

// graphInstantiate makes an executable graph.
func (a *API) graphInstantiate(gh uintptr, flags uint64) (*graphExec, Error) {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	g := a.graphs.get(gh)
	if g == nil {
		return nil, ErrInvalidValue
	}
	if g.instances > 0 && g.hasMemory() {
		return nil, ErrNotSupported
	}
	if !g.sound() {
		return nil, ErrInvalidValue
	}
	g.instances++
	x := &graphExec{g: a.cloneLocked(g), source: g, flags: flags, byID: map[uint64]*node{}}
	x.index(x.g)
	x.plan(a)
	x.handle = a.execs.add(x)
	return x, Success
}

// sound reports whether a graph and the graphs in it have no circle.
func (g *graph) sound() bool {
	if _, ok := g.order(); !ok {
		return false
	}
	for _, n := range g.nodes {
		if c, ok := n.op.(*childOp); ok && !c.g.sound() {
			return false
		}
	}
	return true
}

func (x *graphExec) index(g *graph) {
	for _, n := range g.nodes {
		x.byID[n.id] = n
		if c, ok := n.op.(*childOp); ok {
			x.index(c.g)
		}
	}
}

// twin finds the copy of a node of the graph that was instantiated, or of a graph inside it; nil for a node of another graph, a clone of it included. API.graphMu
// is held.
func (x *graphExec) twin(n *node) *node {
	if !x.source.contains(n.g) {
		return nil
	}
	return x.byID[n.id]
}

// contains reports whether h is the graph, or is inside one of its nodes.
func (g *graph) contains(h *graph) bool {
	if g == h {
		return true
	}
	for _, n := range g.nodes {
		if c, ok := n.op.(*childOp); ok && c.g.contains(h) {
			return true
		}
	}
	return false
}

// GraphInstantiate is hipGraphInstantiate in all its forms.
func (a *API) GraphInstantiate(out *uintptr, gh uintptr, flags uint64) Error {
	const all = instantiateAutoFree | instantiateUpload | instantiateDeviceLaunch | instantiateNodePriority
	if out == nil {
		return ErrInvalidValue
	}
	if flags&^all != 0 || a.Face <= 5 && flags&^instantiateAutoFree != 0 {
		return ErrInvalidValue
	}
	x, e := a.graphInstantiate(gh, flags)
	if e == Success {
		*out = x.handle
	}
	return e
}

// InstantiateParams is hipGraphInstantiateParams.
type InstantiateParams struct {
	ErrNode uintptr
	Flags   uint64
	Result  int32 // 0 success, 1 error, 2 invalid structure
	_       int32
	Stream  uintptr
}

// GraphInstantiateWithParams is hipGraphInstantiateWithParams.
func (a *API) GraphInstantiateWithParams(t *Thread, out *uintptr, gh uintptr, p *InstantiateParams) Error {
	if p == nil {
		return ErrInvalidValue
	}
	p.ErrNode = 0
	e := a.GraphInstantiate(out, gh, p.Flags)
	switch {
	case e == ErrInvalidValue && a.graphs.get(gh) != nil:
		p.Result = 2
	case e != Success:
		p.Result = 1
	default:
		p.Result = 0
		if p.Flags&instantiateUpload != 0 {
			return a.GraphUpload(t, *out, p.Stream)
		}
	}
	return e
}

// GraphExecGetFlags returns the flags of instantiation.
func (a *API) GraphExecGetFlags(xh uintptr, out *uint64) Error {
	x := a.execs.get(xh)
	if x == nil || out == nil {
		return ErrInvalidValue
	}
	*out = x.flags
	return Success
}

// GraphUpload gets an executable graph ready: the streams of its lanes.
func (a *API) GraphUpload(t *Thread, xh, s uintptr) Error {
	x := a.execs.get(xh)
	if x == nil {
		return ErrInvalidValue
	}
	if _, e := a.queue(t, s); e != Success {
		return e
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.lanes {
		if i > 0 {
			if _, err := x.ownQueue(i); err != nil {
				return a.fromErr(err)
			}
		}
	}
	return Success
}

// ownQueue returns the executable graph's own stream for a lane. mu is held.
func (x *graphExec) ownQueue(i int) (*clr.HostQueue, error) {
	l := &x.lanes[i]
	if l.own == nil {
		q, err := l.dev.NewQueue(clr.NonBlocking, 0, nil)
		if err != nil {
			return nil, err
		}
		l.own = q
	}
	return l.own, nil
}

// GraphLaunch gives an executable graph to a stream. A second launch runs after the first.
func (a *API) GraphLaunch(t *Thread, xh, s uintptr) Error {
	x := a.execs.get(xh)
	if x == nil {
		return ErrInvalidValue
	}
	q, e := a.queue(t, s)
	if e == ErrContextIsDestroyed {
		return ErrInvalidValue // as in AMD's runtime, unlike other calls
	}
	if e != Success {
		return e
	}
	if a.capturing() {
		// The launch becomes a node that holds the graph.
		done, e := a.captured(t, s, func() (nodeOp, Error) {
			a.graphMu.Lock()
			defer a.graphMu.Unlock()
			if x.g.hasMemory() {
				return nil, ErrNotSupported
			}
			return &childOp{a.cloneLocked(x.g)}, Success
		})
		if done {
			return e
		}
	}
	return x.launch(a, q)
}

func (x *graphExec) launch(a *API, q *clr.HostQueue) Error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last != nil && x.last != q {
		// A stream that has been destroyed has nothing left to do.
		if e, err := x.last.Last(); err == nil && e != nil {
			q.WaitFor(e)
		}
	}
	x.last = q
	if len(x.steps) == 0 {
		return Success
	}
	joined := false
	for i := range x.lanes {
		if x.lanes[i].q = q; i > 0 || x.lanes[i].dev != q.Device() {
			own, err := x.ownQueue(i)
			if err != nil {
				return a.fromErr(err)
			}
			x.lanes[i].q, joined = own, true
		}
	}
	if joined {
		start, err := q.Marker()
		if err != nil {
			return a.fromErr(err)
		}
		for _, l := range x.lanes {
			if l.q != q {
				l.q.WaitFor(start)
			}
		}
	}
	if e := x.run(a); e != Success {
		return e
	}
	if joined {
		for _, l := range x.lanes {
			if l.q != q {
				end, err := l.q.Last()
				if err != nil {
					return a.fromErr(err)
				}
				if end != nil {
					q.WaitFor(end)
				}
			}
		}
	}
	for i := range x.steps {
		x.steps[i].ev = nil
	}
	return Success
}

// run gives all steps to their lanes. Launches that follow each other on a lane go together.
func (x *graphExec) run(a *API) Error {
	batchLane := -1
	flush := func() Error {
		if len(x.batch) == 0 {
			return Success
		}
		err := x.lanes[batchLane].q.LaunchAll(x.batch)
		x.batch = x.batch[:0]
		if err != nil {
			return a.launchError(err)
		}
		return Success
	}
	x.batch = x.batch[:0]
	for i := range x.steps {
		s := &x.steps[i]
		k, plain := s.n.op.(*kernelOp)
		plain = plain && k.start == nil && k.stop == nil && !s.n.disabled
		if !plain || s.lane != batchLane || len(s.waits) > 0 {
			if e := flush(); e != Success {
				return e
			}
			batchLane = s.lane
		}
		q := x.lanes[s.lane].q
		for _, w := range s.waits {
			if ev := x.steps[w].ev; ev != nil {
				q.WaitFor(ev)
			}
		}
		switch {
		case s.n.disabled:
		case plain:
			x.batch = append(x.batch, k.prep)
		default:
			if e := s.n.op.run(a, &graphRun{x, q}); e != Success {
				return e
			}
		}
		if s.mark {
			if e := flush(); e != Success {
				return e
			}
			ev, err := q.Last()
			if err != nil {
				return a.fromErr(err)
			}
			s.ev = ev
		}
	}
	return flush()
}

// GraphExecDestroy ends an executable graph; launches that are under way finish.
func (a *API) GraphExecDestroy(xh uintptr) Error {
	x := a.execs.remove(xh)
	if x == nil {
		return ErrInvalidValue
	}
	x.mu.Lock()
	last := x.last
	var own []*clr.HostQueue
	for i := range x.lanes {
		if x.lanes[i].own != nil {
			own = append(own, x.lanes[i].own)
		}
	}
	x.mu.Unlock()
	end := func() {
		for _, q := range own {
			_ = q.Destroy()
		}
		a.graphMu.Lock()
		if x.g.origin != nil {
			x.g.origin.instances--
		}
		objects := a.dropGraphLocked(x.g)
		a.graphMu.Unlock()
		for o, n := range objects {
			a.releaseObject(o, n)
		}
	}
	var ev *clr.Event
	if last != nil {
		ev, _ = last.Last()
	}
	if ev == nil || ev.Done() {
		end()
		return Success
	}
	go func() { _ = ev.Wait(); end() }()
	return Success
}
