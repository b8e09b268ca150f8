package hip

import "slices"

// updateResult is hipGraphExecUpdateResult.
type updateResult int32

const (
	updateSuccess                   updateResult = 0
	updateError                     updateResult = 1
	updateTopologyChanged           updateResult = 2
	updateNodeTypeChanged           updateResult = 3
	updateFunctionChanged           updateResult = 4
	updateParametersChanged         updateResult = 5
	updateNotSupported              updateResult = 6
	updateUnsupportedFunctionChange updateResult = 7
)

// updateOps checks whether the nodes of an executable graph's copy may get the operations of another graph's. The node that does not fit is told. graphMu is held.
func (a *API) updateOps(old, by *graph, bad **node) updateResult {
	say := func(n *node, r updateResult) updateResult {
		if bad != nil && *bad == nil {
			*bad = n
		}
		return r
	}
	xs, ok1 := old.order()
	ys, ok2 := by.order()
	if !ok1 || !ok2 || len(xs) != len(ys) {
		return updateTopologyChanged
	}
	at := make(map[*node]int, len(xs))
	for i := range xs {
		at[xs[i]] = i
	}
	for i := range xs {
		x, y := xs[i], ys[i]
		if x.op.kind() != y.op.kind() {
			return say(y, updateNodeTypeChanged)
		}
		if len(x.deps) != len(y.deps) {
			return say(y, updateTopologyChanged)
		}
		for _, d := range x.deps {
			if !slices.Contains(y.deps, ys[at[d]]) {
				return say(y, updateTopologyChanged)
			}
		}
		if r := x.op.accept(a, y.op); r != updateSuccess {
			return say(y, r)
		}
	}
	return updateSuccess
}

// replaceOps copies operations over, after updateOps has found them fit.
func (a *API) replaceOps(old, by *graph) {
	xs, _ := old.order()
	ys, _ := by.order()
	for i := range xs {
		if c, ok := xs[i].op.(*childOp); ok {
			a.replaceOps(c.g, ys[i].op.(*childOp).g)
			continue
		}
		xs[i].op = ys[i].op.clone()
	}
}

// GraphExecUpdate gives the nodes of an executable graph the parameters of a graph of the same shape.
func (a *API) GraphExecUpdate(xh, gh uintptr, badNode *uintptr, result *int32) Error {
	if badNode == nil || result == nil {
		return ErrInvalidValue
	}
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	x, g := a.execs.get(xh), a.graphs.get(gh)
	if x == nil || g == nil {
		return ErrInvalidValue
	}
	var bad *node
	r := a.updateOps(x.g, g, &bad)
	*result, *badNode = int32(r), 0
	if r != updateSuccess {
		if bad != nil {
			*badNode = bad.handle
		}
		return ErrGraphExecUpdateFailure
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	a.replaceOps(x.g, g)
	return Success
}

// ExecNodeEnable switches a node of an executable graph on or off, or, with set false, tells whether it is on. Only kernels, copies and fills can be.
func (a *API) ExecNodeEnable(xh, h uintptr, set bool, on *uint32) Error {
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	x, orig := a.execs.get(xh), a.nodes.get(h)
	if x == nil || orig == nil || on == nil {
		return ErrInvalidValue
	}
	n := x.twin(orig)
	if n == nil {
		return ErrInvalidValue
	}
	if k := n.op.kind(); k != NodeKernel && k != NodeMemcpy && k != NodeMemset {
		return ErrInvalidValue
	}
	if set {
		x.mu.Lock()
		n.disabled = *on == 0
		x.mu.Unlock()
		return Success
	}
	*on = 1
	if n.disabled {
		*on = 0
	}
	return Success
}
