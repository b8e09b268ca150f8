package hip

import "unsafe"

// BatchMemOpNodeParams is hipBatchMemOpNodeParams: stream memory operations that a graph does one after the other.
type BatchMemOpNodeParams struct {
	Ctx   uintptr
	Count uint32
	_     uint32
	Ops   uintptr // hipStreamBatchMemOpParams[Count]
	Flags uint32
	_     uint32
}

// memOps are operations as programs give them, 48 bytes each. They are copied: the program's array may go.
type memOps []uint64

type batchMemOp struct {
	ctx uintptr
	ops memOps
}

func (*batchMemOp) kind() NodeType                     { return NodeBatchMemOp }
func (o *batchMemOp) clone() nodeOp                    { c := *o; return &c }
func (o *batchMemOp) accept(*API, nodeOp) updateResult { return updateSuccess }
func (o *batchMemOp) run(a *API, r *graphRun) Error    { return a.runMemOps(r.q, o.ops) }

func (a *API) newBatchMemOp(p *BatchMemOpNodeParams) (*batchMemOp, Error) {
	if p == nil || p.Flags != 0 {
		return nil, ErrInvalidValue
	}
	ops, e := readMemOps(p.Count, p.Ops)
	if e != Success {
		return nil, e
	}
	return &batchMemOp{p.Ctx, ops}, Success
}

// GraphAddBatchMemOp adds a node of stream memory operations.
func (a *API) GraphAddBatchMemOp(out *uintptr, g uintptr, deps []uintptr, p *BatchMemOpNodeParams) Error {
	if out == nil || a.graphs.get(g) == nil {
		return ErrInvalidValue
	}
	o, e := a.newBatchMemOp(p)
	if e != Success {
		return e
	}
	return a.addNode(out, g, deps, o)
}

// BatchMemOpNodeGetParams describes a node. The array is the node's: it is valid until the node is changed or goes.
func (a *API) BatchMemOpNodeGetParams(h uintptr, p *BatchMemOpNodeParams) Error {
	if p == nil {
		return ErrInvalidValue
	}
	return getParams(a, h, func(_ *node, o *batchMemOp) Error {
		*p = BatchMemOpNodeParams{Ctx: o.ctx, Count: uint32(len(o.ops) * 8 / memOpSize), Ops: uintptr(unsafe.Pointer(&o.ops[0]))}
		return Success
	})
}

// BatchMemOpNodeSetParams changes a node, of a graph or of an executable graph.
func (a *API) BatchMemOpNodeSetParams(x, h uintptr, exec bool, p *BatchMemOpNodeParams) Error {
	o, e := a.newBatchMemOp(p)
	if e != Success {
		return e
	}
	return setParams(a, x, h, exec, func(*batchMemOp) (nodeOp, Error) { return o, Success })
}
