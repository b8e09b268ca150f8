package hipabi

import "C"

import "github.com/pumice-gpu/pumice/runtime/hip"

// Graph nodes of the driver API: copies that a HIP_MEMCPY3D describes, and stream memory operations.

//export hipDrvGraphAddMemcpyNode
func hipDrvGraphAddMemcpyNode(out *uintptr, g uintptr, deps *uintptr, n uint64, p, ctx uintptr) int32 {
	return addNode("hipDrvGraphAddMemcpyNode", &deps, n, func(a *hip.API, t *hip.Thread, deps []uintptr) hip.Error {
		return a.DrvGraphAddMemcpy(t, out, g, deps, p, ctx)
	}, handle(&out), g, ins(&deps, n), n, inBytes(&p, hip.DrvMemcpy3DSize(face)), ctx)
}

//export hipDrvGraphMemcpyNodeGetParams
func hipDrvGraphMemcpyNodeGetParams(node, p uintptr) int32 {
	return call("hipDrvGraphMemcpyNodeGetParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DrvMemcpyNodeGetParams(node, p) }, node, outBytes(&p, hip.DrvMemcpy3DSize(face)))
}

//export hipDrvGraphMemcpyNodeSetParams
func hipDrvGraphMemcpyNodeSetParams(node, p uintptr) int32 {
	return call("hipDrvGraphMemcpyNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DrvMemcpyNodeSetParams(0, node, false, p) }, node, inBytes(&p, hip.DrvMemcpy3DSize(face)))
}

//export hipDrvGraphExecMemcpyNodeSetParams
func hipDrvGraphExecMemcpyNodeSetParams(exec, node, p, ctx uintptr) int32 {
	return call("hipDrvGraphExecMemcpyNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DrvMemcpyNodeSetParams(exec, node, true, p) }, exec, node, inBytes(&p, hip.DrvMemcpy3DSize(face)), ctx)
}

//export hipGraphAddBatchMemOpNode
func hipGraphAddBatchMemOpNode(out *uintptr, g uintptr, deps *uintptr, n uint64, p uintptr) int32 {
	return addNode("hipGraphAddBatchMemOpNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddBatchMemOp(out, g, deps, at[hip.BatchMemOpNodeParams](p))
	}, handle(&out), g, ins(&deps, n), n, inAt[hip.BatchMemOpNodeParams](&p))
}

//export hipGraphBatchMemOpNodeGetParams
func hipGraphBatchMemOpNodeGetParams(node, p uintptr) int32 {
	return call("hipGraphBatchMemOpNodeGetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.BatchMemOpNodeGetParams(node, at[hip.BatchMemOpNodeParams](p))
	}, node, outAt[hip.BatchMemOpNodeParams](&p))
}

//export hipGraphBatchMemOpNodeSetParams
func hipGraphBatchMemOpNodeSetParams(node, p uintptr) int32 {
	return call("hipGraphBatchMemOpNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.BatchMemOpNodeSetParams(0, node, false, at[hip.BatchMemOpNodeParams](p))
	}, node, inAt[hip.BatchMemOpNodeParams](&p))
}

//export hipGraphExecBatchMemOpNodeSetParams
func hipGraphExecBatchMemOpNodeSetParams(exec, node, p uintptr) int32 {
	return call("hipGraphExecBatchMemOpNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.BatchMemOpNodeSetParams(exec, node, true, at[hip.BatchMemOpNodeParams](p))
	}, exec, node, inAt[hip.BatchMemOpNodeParams](&p))
}
