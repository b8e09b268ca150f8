package hip

// hipGraphNodeParams describes a node of any type: the type, and at nodeParamsAt the structure of that type.

const nodeParamsAt = 16

// GraphNodeParamsSize is the size of hipGraphNodeParams, in bytes.
const GraphNodeParamsSize uint32 = 256

// nodeParams reads a hipGraphNodeParams.
func nodeParams(p uintptr) (k NodeType, at uintptr) {
	return *(*NodeType)(pointer(p)), p + nodeParamsAt
}

// memcpyParamsAt is where hipMemcpyNodeParams, behind flags and reserved words, has the copy.
const memcpyParamsAt = 16

// GraphAddNode adds a node of any type.
func (a *API) GraphAddNode(t *Thread, out *uintptr, g uintptr, deps []uintptr, p uintptr) Error {
	if out == nil || p == 0 {
		return ErrInvalidValue
	}
	k, at := nodeParams(p)
	word := func() uintptr { return *(*uintptr)(pointer(at)) }
	switch k {
	case NodeKernel:
		return a.GraphAddKernel(t, out, g, deps, (*KernelNodeParams)(pointer(at)))
	case NodeMemcpy:
		return a.GraphAddMemcpy(out, g, deps, (*Memcpy3DParms)(pointer(at+memcpyParamsAt)))
	case NodeMemset:
		return a.GraphAddMemset(out, g, deps, (*MemsetParams)(pointer(at)))
	case NodeHost:
		return a.GraphAddHost(out, g, deps, (*HostNodeParams)(pointer(at)))
	case NodeGraph:
		return a.GraphAddChild(out, g, deps, word())
	case NodeEmpty:
		return a.GraphAddEmpty(out, g, deps)
	case NodeWaitEvent:
		return a.GraphAddEventWait(out, g, deps, word())
	case NodeEventRecord:
		return a.GraphAddEventRecord(out, g, deps, word())
	case NodeMemAlloc:
		return a.GraphAddMemAlloc(out, g, deps, (*MemAllocNodeParams)(pointer(at)))
	case NodeMemFree:
		return a.GraphAddMemFree(out, g, deps, word())
	case NodeSemaphoreSignal, NodeSemaphoreWait:
		return ErrNotSupported
	}
	return ErrInvalidValue
}

// NodeSetParams changes a node of any type, of a graph or of an executable graph.
func (a *API) NodeSetParams(_ *Thread, x, h uintptr, exec bool, p uintptr) Error {
	if p == 0 {
		return ErrInvalidValue
	}
	k, at := nodeParams(p)
	word := func() uintptr { return *(*uintptr)(pointer(at)) }
	switch k {
	case NodeKernel:
		return a.KernelNodeSetParams(x, h, exec, (*KernelNodeParams)(pointer(at)))
	case NodeMemcpy:
		return a.MemcpyNodeSetParams(x, h, exec, (*Memcpy3DParms)(pointer(at+memcpyParamsAt)))
	case NodeMemset:
		return a.MemsetNodeSetParams(x, h, exec, (*MemsetParams)(pointer(at)))
	case NodeHost:
		return a.HostNodeSetParams(x, h, exec, (*HostNodeParams)(pointer(at)))
	case NodeGraph:
		if exec {
			return a.ExecChildSet(x, h, word())
		}
		return ErrInvalidValue
	case NodeWaitEvent, NodeEventRecord:
		return a.EventNodeSet(x, h, exec, k == NodeWaitEvent, word())
	}
	return ErrInvalidValue
}
