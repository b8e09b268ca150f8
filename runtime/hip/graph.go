package hip

import "slices"

// Graphs. A graph is operations (nodes) and the order between them (edges). It does nothing; instantiating it makes an executable graph, which holds copies of the
// nodes in an order that fits the edges, and can be launched on streams. Nodes are added one by one, or by capturing what is given to streams.

// NodeType is hipGraphNodeType as HIP numbers it from 5.3 on; 5.2 counts from 1.
type NodeType int32

// Node types.
const (
	NodeKernel NodeType = iota
	NodeMemcpy
	NodeMemset
	NodeHost
	NodeGraph
	NodeEmpty
	NodeWaitEvent
	NodeEventRecord
	NodeSemaphoreSignal
	NodeSemaphoreWait
	NodeMemAlloc
	NodeMemFree
	NodeMemcpyFromSymbol
	NodeMemcpyToSymbol
	NodeBatchMemOp
)

// graph is a hipGraph_t. Its structure and its nodes' parameters are guarded by API.graphMu.
type graph struct {
	handle  uintptr
	dev     int32 // that was current when it was made
	nodes   []*node
	origin  *graph // what it was cloned from
	owner   *node  // the child graph node that it belongs to; nil for one of the program's
	objects map[*userObject]int
	// With memory nodes inside, only one executable graph may exist.
	instances int
	captures  int // captures under way into it
}

// node is a hipGraphNode_t.
type node struct {
	handle   uintptr
	id       uint64 // the same in clones
	g        *graph
	deps     []*node
	outs     []*node
	op       nodeOp
	manual   bool // added by the program while a capture into the graph was under way
	disabled bool // of an executable graph: does nothing
}

// nodeOp is what a node does.
type nodeOp interface {
	kind() NodeType
	// clone returns a copy that shares nothing that changes.
	clone() nodeOp
	// run gives the operation to a stream.
	run(a *API, r *graphRun) Error
	// accept checks whether the operation of an executable graph may be replaced by another of the same kind.
	accept(a *API, by nodeOp) updateResult
}

// GraphCreate is hipGraphCreate.
func (a *API) GraphCreate(t *Thread, out *uintptr, flags uint32) Error {
	if out == nil || flags != 0 {
		return ErrInvalidValue
	}
	if _, e := a.device(t); e != Success {
		return e
	}
	*out = a.newGraph(t.Device).handle
	return Success
}

func (a *API) newGraph(dev int32) *graph {
	g := &graph{dev: dev}
	g.handle = a.graphs.add(g)
	return g
}

// GraphDestroy ends a graph; executable graphs made from it live on.
func (a *API) GraphDestroy(h uintptr) Error {
	if h == 0 {
		return ErrInvalidValue
	}
	a.graphMu.Lock()
	g := a.graphs.get(h)
	if g == nil || g.owner != nil {
		a.graphMu.Unlock()
		if g == nil {
			return ErrIllegalState
		}
		return ErrInvalidValue
	}
	objects := a.dropGraphLocked(g)
	a.graphMu.Unlock()
	for o, n := range objects {
		a.releaseObject(o, n)
	}
	return Success
}

// dropGraphLocked takes a graph and its nodes out of the tables. The caller releases the user objects.
func (a *API) dropGraphLocked(g *graph) map[*userObject]int {
	a.graphs.remove(g.handle)
	for _, n := range g.nodes {
		a.dropOpLocked(n.op)
		a.nodes.remove(n.handle)
	}
	o := g.objects
	g.objects, g.nodes = nil, nil
	return o
}

// dropOpLocked ends what an operation holds.
func (a *API) dropOpLocked(op nodeOp) {
	switch x := op.(type) {
	case *childOp:
		a.dropGraphLocked(x.g)
	case *allocOp:
		a.unrefGraphMemory(x.mem)
	}
}

// addNode puts a new node behind deps, given by their handles.
func (a *API) addNode(out *uintptr, gh uintptr, deps []uintptr, op nodeOp) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	if out == nil {
		return ErrInvalidValue
	}
	g := a.graphs.get(gh)
	if g == nil {
		return ErrInvalidValue
	}
	from := make([]*node, 0, len(deps))
	for _, h := range deps {
		d := a.nodes.get(h)
		if d == nil || d.g != g || slices.Contains(from, d) {
			return ErrInvalidValue
		}
		from = append(from, d)
	}
	n := a.addLocked(g, from, op)
	n.manual = g.captures > 0
	*out = n.handle
	return Success
}

// addLocked adds a node; deps are of the graph and all different.
func (a *API) addLocked(g *graph, deps []*node, op nodeOp) *node {
	a.nodeID++
	n := &node{id: a.nodeID, g: g, op: op, deps: slices.Clone(deps)}
	for _, d := range deps {
		d.outs = append(d.outs, n)
	}
	if c, ok := op.(*childOp); ok {
		c.g.owner = n
	}
	g.nodes = append(g.nodes, n)
	n.handle = a.nodes.add(n)
	return n
}

// GraphAddEmpty adds a node that does nothing.
func (a *API) GraphAddEmpty(out *uintptr, g uintptr, deps []uintptr) Error {
	return a.addNode(out, g, deps, emptyOp{})
}

// edges reads pairs of handles.
func (a *API) edgesLocked(g *graph, from, to []uintptr) (pairs [][2]*node, e Error) {
	for i := range from {
		x, y := a.nodes.get(from[i]), a.nodes.get(to[i])
		if x == nil || y == nil || x == y || x.g != g || y.g != g {
			return nil, ErrInvalidValue
		}
		pairs = append(pairs, [2]*node{x, y})
	}
	return pairs, Success
}

// GraphAddDependencies adds edges. An edge that is there already is an error, and the ones before it stay.
func (a *API) GraphAddDependencies(gh uintptr, from, to []uintptr) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	g := a.graphs.get(gh)
	if g == nil || len(from) != len(to) {
		return ErrInvalidValue
	}
	pairs, e := a.edgesLocked(g, from, to)
	if e != Success {
		return e
	}
	for _, p := range pairs {
		if slices.Contains(p[0].outs, p[1]) {
			return ErrInvalidValue
		}
		p[0].outs, p[1].deps = append(p[0].outs, p[1]), append(p[1].deps, p[0])
	}
	return Success
}

// GraphRemoveDependencies takes edges away.
func (a *API) GraphRemoveDependencies(gh uintptr, from, to []uintptr) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	g := a.graphs.get(gh)
	if g == nil || len(from) != len(to) {
		return ErrInvalidValue
	}
	pairs, e := a.edgesLocked(g, from, to)
	if e != Success {
		return e
	}
	for _, p := range pairs {
		if !slices.Contains(p[0].outs, p[1]) {
			return ErrInvalidValue
		}
	}
	for _, p := range pairs {
		unlink(p[0], p[1])
	}
	return Success
}

func unlink(x, y *node) {
	x.outs = slices.DeleteFunc(x.outs, func(n *node) bool { return n == y })
	y.deps = slices.DeleteFunc(y.deps, func(n *node) bool { return n == x })
}

// GraphDestroyNode takes a node and its edges out of its graph. Memory nodes stay, because others use what they stand for.
func (a *API) GraphDestroyNode(h uintptr) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	n := a.nodes.get(h)
	if n == nil {
		return ErrInvalidValue
	}
	if k := n.op.kind(); k == NodeMemAlloc || k == NodeMemFree {
		return ErrNotSupported
	}
	for _, d := range slices.Clone(n.deps) {
		unlink(d, n)
	}
	for _, o := range slices.Clone(n.outs) {
		unlink(n, o)
	}
	n.g.nodes = slices.DeleteFunc(n.g.nodes, func(x *node) bool { return x == n })
	a.dropOpLocked(n.op)
	a.nodes.remove(h)
	return Success
}

// fill writes handles the way all list queries of graphs do: without room only the number is told; room that is left over is cleared.
func fillNodes(list []*node, out []uintptr, count *uint64, want bool) {
	if !want {
		*count = uint64(len(list))
		return
	}
	clear(out)
	for i := 0; i < len(list) && i < len(out); i++ {
		out[i] = list[i].handle
	}
	*count = min(*count, uint64(len(list)))
}

// order sorts a graph's nodes so that each comes after its dependencies, otherwise in the order in which they were added. It reports false for a circle.
func (g *graph) order() ([]*node, bool) {
	left := make(map[*node]int, len(g.nodes))
	var ready, out []*node
	for _, n := range g.nodes {
		if left[n] = len(n.deps); len(n.deps) == 0 {
			ready = append(ready, n)
		}
	}
	for i := 0; i < len(ready); i++ {
		n := ready[i]
		out = append(out, n)
		for _, o := range n.outs {
			if left[o]--; left[o] == 0 {
				ready = append(ready, o)
			}
		}
	}
	return out, len(out) == len(g.nodes)
}

// GraphGetNodes lists the nodes in an order that fits the edges. want says that the caller gave room for handles.
func (a *API) GraphGetNodes(gh uintptr, out []uintptr, count *uint64, want bool) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	g := a.graphs.get(gh)
	if g == nil || count == nil {
		return ErrInvalidValue
	}
	list, ok := g.order()
	if !ok {
		return ErrInvalidValue
	}
	fillNodes(list, out, count, want)
	return Success
}

// GraphGetRootNodes lists the nodes without dependencies.
func (a *API) GraphGetRootNodes(gh uintptr, out []uintptr, count *uint64, want bool) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	g := a.graphs.get(gh)
	if g == nil || count == nil {
		return ErrInvalidValue
	}
	var roots []*node
	for _, n := range g.nodes {
		if len(n.deps) == 0 {
			roots = append(roots, n)
		}
	}
	fillNodes(roots, out, count, want)
	return Success
}

// GraphGetEdges lists the edges as two lists of the same length.
func (a *API) GraphGetEdges(gh uintptr, from, to []uintptr, count *uint64, want bool) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	g := a.graphs.get(gh)
	if g == nil || count == nil {
		return ErrInvalidValue
	}
	var xs, ys []*node
	for _, n := range g.nodes {
		for _, o := range n.outs {
			xs, ys = append(xs, n), append(ys, o)
		}
	}
	n := *count
	fillNodes(xs, from, count, want)
	*count = n
	fillNodes(ys, to, count, want)
	return Success
}

// NodeNeighbours lists what a node depends on, or what depends on it.
func (a *API) NodeNeighbours(h uintptr, dependents bool, out []uintptr, count *uint64, want bool) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	n := a.nodes.get(h)
	if n == nil || count == nil {
		return ErrInvalidValue
	}
	list := n.deps
	if dependents {
		list = n.outs
	}
	fillNodes(list, out, count, want)
	return Success
}

// NodeGetType returns a node's type, as the program's header numbers it.
func (a *API) NodeGetType(h uintptr, out *int32) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	n := a.nodes.get(h)
	if n == nil || out == nil {
		return ErrInvalidValue
	}
	*out = int32(n.op.kind())
	if a.Face <= 5 {
		*out++
		if c, ok := n.op.(*copyOp); ok && c.form != copy3D {
			*out = map[copyForm]int32{copy1D: 9, copyFromSymbol: 10, copyToSymbol: 11}[c.form]
		}
	}
	return Success
}

// cloneLocked copies a graph with its nodes.
func (a *API) cloneLocked(g *graph) *graph {
	c := a.newGraph(g.dev)
	c.origin = g
	twins := make(map[*node]*node, len(g.nodes))
	for _, n := range g.nodes {
		t := &node{id: n.id, g: c, op: a.cloneOpLocked(n.op), disabled: n.disabled}
		if x, ok := t.op.(*childOp); ok {
			x.g.owner = t
		}
		t.handle = a.nodes.add(t)
		twins[n] = t
		c.nodes = append(c.nodes, t)
	}
	for _, n := range g.nodes {
		t := twins[n]
		for _, d := range n.deps {
			t.deps = append(t.deps, twins[d])
		}
		for _, o := range n.outs {
			t.outs = append(t.outs, twins[o])
		}
	}
	for o, n := range g.objects {
		a.retainObject(o, n)
		if c.objects == nil {
			c.objects = map[*userObject]int{}
		}
		c.objects[o] = n
	}
	return c
}

func (a *API) cloneOpLocked(op nodeOp) nodeOp {
	switch x := op.(type) {
	case *childOp:
		return &childOp{a.cloneLocked(x.g)}
	case *allocOp:
		a.refGraphMemory(x.mem)
	}
	return op.clone()
}

// hasMemory reports whether there are memory nodes in the graph.
func (g *graph) hasMemory() bool {
	return slices.ContainsFunc(g.nodes, func(n *node) bool {
		if c, ok := n.op.(*childOp); ok {
			return c.g.hasMemory()
		}
		k := n.op.kind()
		return k == NodeMemAlloc || k == NodeMemFree
	})
}

// GraphClone copies a graph; graphs with memory nodes cannot be.
func (a *API) GraphClone(out *uintptr, gh uintptr) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	g := a.graphs.get(gh)
	if g == nil || out == nil {
		return ErrInvalidValue
	}
	if g.hasMemory() {
		return ErrNotSupported
	}
	*out = a.cloneLocked(g).handle
	return Success
}

// NodeFindInClone finds the copy of a node in a clone of its graph.
func (a *API) NodeFindInClone(out *uintptr, h, gh uintptr) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	n, g := a.nodes.get(h), a.graphs.get(gh)
	if out == nil || n == nil || g == nil || g.origin == nil {
		return ErrInvalidValue
	}
	for _, x := range g.nodes {
		if x.id == n.id {
			*out = x.handle
			return Success
		}
	}
	return ErrInvalidValue
}
