package hipabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

// list is an array of handles of C; ok is false where a length has no array.
func list(p *uintptr, n uint64) (l []uintptr, ok bool) {
	if n == 0 {
		return nil, true
	}
	if p == nil || n > 1<<28 {
		return nil, false
	}
	return unsafe.Slice(p, n), true
}

// addNode calls f with the dependencies of a new node.
func addNode(name string, deps **uintptr, n uint64, f func(a *hip.API, t *hip.Thread, deps []uintptr) hip.Error, args ...any) int32 {
	return call(name, func(a *hip.API, t *hip.Thread) hip.Error {
		l, ok := list(*deps, n)
		if !ok {
			return hip.ErrInvalidValue
		}
		return f(a, t, l)
	}, args...)
}

// query calls f with room for as many handles as the caller says there is.
func query(name string, out **uintptr, count **uint64, f func(a *hip.API, room []uintptr, want bool) hip.Error, args ...any) int32 {
	return call(name, func(a *hip.API, _ *hip.Thread) hip.Error {
		if *count == nil {
			return hip.ErrInvalidValue
		}
		if *out == nil {
			return f(a, nil, false)
		}
		room, ok := list(*out, **count)
		if !ok {
			return hip.ErrInvalidValue
		}
		return f(a, room, true)
	}, args...)
}

//export hipGraphCreate
func hipGraphCreate(out *uintptr, flags uint32) int32 {
	return call("hipGraphCreate", func(a *hip.API, t *hip.Thread) hip.Error { return a.GraphCreate(t, out, flags) }, handle(&out), flags)
}

//export hipGraphDestroy
func hipGraphDestroy(g uintptr) int32 {
	return call("hipGraphDestroy", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphDestroy(g) }, g)
}

//export hipGraphClone
func hipGraphClone(out *uintptr, g uintptr) int32 {
	return call("hipGraphClone", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphClone(out, g) }, handle(&out), g)
}

//export hipGraphNodeFindInClone
func hipGraphNodeFindInClone(out *uintptr, n, g uintptr) int32 {
	return call("hipGraphNodeFindInClone", func(a *hip.API, _ *hip.Thread) hip.Error { return a.NodeFindInClone(out, n, g) }, handle(&out), n, g)
}

//export hipGraphDestroyNode
func hipGraphDestroyNode(n uintptr) int32 {
	return call("hipGraphDestroyNode", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphDestroyNode(n) }, n)
}

//export hipGraphNodeGetType
func hipGraphNodeGetType(n uintptr, out *int32) int32 {
	return call("hipGraphNodeGetType", func(a *hip.API, _ *hip.Thread) hip.Error { return a.NodeGetType(n, out) }, n, outOf(&out))
}

// edges calls f with two lists of the same length.
func edges(name string, from, to **uintptr, n uint64, f func(a *hip.API, from, to []uintptr) hip.Error, args ...any) int32 {
	return call(name, func(a *hip.API, _ *hip.Thread) hip.Error {
		x, ok1 := list(*from, n)
		y, ok2 := list(*to, n)
		if !ok1 || !ok2 {
			return hip.ErrInvalidValue
		}
		return f(a, x, y)
	}, args...)
}

//export hipGraphAddDependencies
func hipGraphAddDependencies(g uintptr, from, to *uintptr, n uint64) int32 {
	return edges("hipGraphAddDependencies", &from, &to, n, func(a *hip.API, x, y []uintptr) hip.Error { return a.GraphAddDependencies(g, x, y) }, g, ins(&from, n), ins(&to, n), n)
}

//export hipGraphRemoveDependencies
func hipGraphRemoveDependencies(g uintptr, from, to *uintptr, n uint64) int32 {
	return edges("hipGraphRemoveDependencies", &from, &to, n, func(a *hip.API, x, y []uintptr) hip.Error { return a.GraphRemoveDependencies(g, x, y) }, g, ins(&from, n), ins(&to, n), n)
}

//export hipGraphGetEdges
func hipGraphGetEdges(g uintptr, from, to *uintptr, count *uint64) int32 {
	return call("hipGraphGetEdges", func(a *hip.API, _ *hip.Thread) hip.Error {
		if count == nil || (from == nil) != (to == nil) {
			return hip.ErrInvalidValue
		}
		if from == nil {
			return a.GraphGetEdges(g, nil, nil, count, false)
		}
		x, ok1 := list(from, *count)
		y, ok2 := list(to, *count)
		if !ok1 || !ok2 {
			return hip.ErrInvalidValue
		}
		return a.GraphGetEdges(g, x, y, count, true)
	}, g, counted(&from, &count), counted(&to, &count), outOf(&count))
}

//export hipGraphGetNodes
func hipGraphGetNodes(g uintptr, out *uintptr, count *uint64) int32 {
	return query("hipGraphGetNodes", &out, &count, func(a *hip.API, room []uintptr, want bool) hip.Error { return a.GraphGetNodes(g, room, count, want) }, g, counted(&out, &count), outOf(&count))
}

//export hipGraphGetRootNodes
func hipGraphGetRootNodes(g uintptr, out *uintptr, count *uint64) int32 {
	return query("hipGraphGetRootNodes", &out, &count, func(a *hip.API, room []uintptr, want bool) hip.Error {
		return a.GraphGetRootNodes(g, room, count, want)
	}, g, counted(&out, &count), outOf(&count))
}

//export hipGraphNodeGetDependencies
func hipGraphNodeGetDependencies(n uintptr, out *uintptr, count *uint64) int32 {
	return query("hipGraphNodeGetDependencies", &out, &count, func(a *hip.API, room []uintptr, want bool) hip.Error {
		return a.NodeNeighbours(n, false, room, count, want)
	}, n, counted(&out, &count), outOf(&count))
}

//export hipGraphNodeGetDependentNodes
func hipGraphNodeGetDependentNodes(n uintptr, out *uintptr, count *uint64) int32 {
	return query("hipGraphNodeGetDependentNodes", &out, &count, func(a *hip.API, room []uintptr, want bool) hip.Error {
		return a.NodeNeighbours(n, true, room, count, want)
	}, n, counted(&out, &count), outOf(&count))
}

//export hipGraphAddEmptyNode
func hipGraphAddEmptyNode(out *uintptr, g uintptr, deps *uintptr, n uint64) int32 {
	return addNode("hipGraphAddEmptyNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error { return a.GraphAddEmpty(out, g, deps) }, handle(&out), g, ins(&deps, n), n)
}

//export hipGraphAddHostNode
func hipGraphAddHostNode(out *uintptr, g uintptr, deps *uintptr, n uint64, p uintptr) int32 {
	return addNode("hipGraphAddHostNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddHost(out, g, deps, at[hip.HostNodeParams](p))
	}, handle(&out), g, ins(&deps, n), n, inAt[hip.HostNodeParams](&p))
}

//export hipGraphAddEventRecordNode
func hipGraphAddEventRecordNode(out *uintptr, g uintptr, deps *uintptr, n uint64, e uintptr) int32 {
	return addNode("hipGraphAddEventRecordNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddEventRecord(out, g, deps, e)
	}, handle(&out), g, ins(&deps, n), n, event(e))
}

//export hipGraphAddEventWaitNode
func hipGraphAddEventWaitNode(out *uintptr, g uintptr, deps *uintptr, n uint64, e uintptr) int32 {
	return addNode("hipGraphAddEventWaitNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error { return a.GraphAddEventWait(out, g, deps, e) }, handle(&out), g, ins(&deps, n), n, event(e))
}

//export hipGraphAddChildGraphNode
func hipGraphAddChildGraphNode(out *uintptr, g uintptr, deps *uintptr, n uint64, child uintptr) int32 {
	return addNode("hipGraphAddChildGraphNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error { return a.GraphAddChild(out, g, deps, child) }, handle(&out), g, ins(&deps, n), n, child)
}

//export hipGraphAddKernelNode
func hipGraphAddKernelNode(out *uintptr, g uintptr, deps *uintptr, n uint64, p uintptr) int32 {
	return addNode("hipGraphAddKernelNode", &deps, n, func(a *hip.API, t *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddKernel(t, out, g, deps, at[hip.KernelNodeParams](p))
	}, handle(&out), g, ins(&deps, n), n, inAt[hip.KernelNodeParams](&p))
}

//export hipGraphAddMemcpyNode
func hipGraphAddMemcpyNode(out *uintptr, g uintptr, deps *uintptr, n uint64, p uintptr) int32 {
	return addNode("hipGraphAddMemcpyNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddMemcpy(out, g, deps, at[hip.Memcpy3DParms](p))
	}, handle(&out), g, ins(&deps, n), n, inAt[hip.Memcpy3DParms](&p))
}

//export hipGraphAddMemcpyNode1D
func hipGraphAddMemcpyNode1D(out *uintptr, g uintptr, deps *uintptr, n uint64, dst, src uintptr, size uint64, kind int32) int32 {
	return addNode("hipGraphAddMemcpyNode1D", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddMemcpy1D(out, g, deps, dst, src, size, hip.Kind(kind))
	}, handle(&out), g, ins(&deps, n), n, dst, src, size, hip.Kind(kind))
}

//export hipGraphAddMemcpyNodeToSymbol
func hipGraphAddMemcpyNodeToSymbol(out *uintptr, g uintptr, deps *uintptr, n uint64, sym, src uintptr, size, off uint64, kind int32) int32 {
	return addNode("hipGraphAddMemcpyNodeToSymbol", &deps, n, func(a *hip.API, t *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddMemcpySymbol(t, out, g, deps, true, sym, src, size, off, hip.Kind(kind))
	}, handle(&out), g, ins(&deps, n), n, sym, src, size, off, hip.Kind(kind))
}

//export hipGraphAddMemcpyNodeFromSymbol
func hipGraphAddMemcpyNodeFromSymbol(out *uintptr, g uintptr, deps *uintptr, n uint64, dst, sym uintptr, size, off uint64, kind int32) int32 {
	return addNode("hipGraphAddMemcpyNodeFromSymbol", &deps, n, func(a *hip.API, t *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddMemcpySymbol(t, out, g, deps, false, sym, dst, size, off, hip.Kind(kind))
	}, handle(&out), g, ins(&deps, n), n, dst, sym, size, off, hip.Kind(kind))
}

//export hipGraphAddMemsetNode
func hipGraphAddMemsetNode(out *uintptr, g uintptr, deps *uintptr, n uint64, p uintptr) int32 {
	return addNode("hipGraphAddMemsetNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddMemset(out, g, deps, at[hip.MemsetParams](p))
	}, handle(&out), g, ins(&deps, n), n, inAt[hip.MemsetParams](&p))
}

//export hipGraphAddMemAllocNode
func hipGraphAddMemAllocNode(out *uintptr, g uintptr, deps *uintptr, n uint64, p uintptr) int32 {
	return addNode("hipGraphAddMemAllocNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddMemAlloc(out, g, deps, at[hip.MemAllocNodeParams](p))
	}, handle(&out), g, ins(&deps, n), n, outAt[hip.MemAllocNodeParams](&p))
}

//export hipGraphAddMemFreeNode
func hipGraphAddMemFreeNode(out *uintptr, g uintptr, deps *uintptr, n uint64, ptr uintptr) int32 {
	return addNode("hipGraphAddMemFreeNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error { return a.GraphAddMemFree(out, g, deps, ptr) }, handle(&out), g, ins(&deps, n), n, ptr)
}

//export hipDrvGraphAddMemFreeNode
func hipDrvGraphAddMemFreeNode(out *uintptr, g uintptr, deps *uintptr, n uint64, ptr uintptr) int32 {
	return addNode("hipDrvGraphAddMemFreeNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error { return a.GraphAddMemFree(out, g, deps, ptr) }, handle(&out), g, ins(&deps, n), n, ptr)
}

//export hipDrvGraphAddMemsetNode
func hipDrvGraphAddMemsetNode(out *uintptr, g uintptr, deps *uintptr, n uint64, p, ctx uintptr) int32 {
	return addNode("hipDrvGraphAddMemsetNode", &deps, n, func(a *hip.API, _ *hip.Thread, deps []uintptr) hip.Error {
		return a.GraphAddMemset(out, g, deps, at[hip.MemsetParams](p))
	}, handle(&out), g, ins(&deps, n), n, inAt[hip.MemsetParams](&p), ctx)
}

//export hipGraphAddNode
func hipGraphAddNode(out *uintptr, g uintptr, deps *uintptr, n uint64, p uintptr) int32 {
	return addNode("hipGraphAddNode", &deps, n, func(a *hip.API, t *hip.Thread, deps []uintptr) hip.Error { return a.GraphAddNode(t, out, g, deps, p) }, handle(&out), g, ins(&deps, n), n, outBytes(&p, hip.GraphNodeParamsSize))
}

//export hipGraphNodeSetParams
func hipGraphNodeSetParams(n, p uintptr) int32 {
	return call("hipGraphNodeSetParams", func(a *hip.API, t *hip.Thread) hip.Error { return a.NodeSetParams(t, 0, n, false, p) }, n, inBytes(&p, hip.GraphNodeParamsSize))
}

//export hipGraphExecNodeSetParams
func hipGraphExecNodeSetParams(x, n, p uintptr) int32 {
	return call("hipGraphExecNodeSetParams", func(a *hip.API, t *hip.Thread) hip.Error { return a.NodeSetParams(t, x, n, true, p) }, x, n, inBytes(&p, hip.GraphNodeParamsSize))
}

//export hipGraphKernelNodeGetParams
func hipGraphKernelNodeGetParams(n, p uintptr) int32 {
	return call("hipGraphKernelNodeGetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.KernelNodeGetParams(n, at[hip.KernelNodeParams](p))
	}, n, outAt[hip.KernelNodeParams](&p))
}

//export hipGraphHostNodeGetParams
func hipGraphHostNodeGetParams(n, p uintptr) int32 {
	return call("hipGraphHostNodeGetParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.HostNodeGetParams(n, at[hip.HostNodeParams](p)) }, n, outAt[hip.HostNodeParams](&p))
}

//export hipGraphMemcpyNodeGetParams
func hipGraphMemcpyNodeGetParams(n, p uintptr) int32 {
	return call("hipGraphMemcpyNodeGetParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemcpyNodeGetParams(n, at[hip.Memcpy3DParms](p)) }, n, outAt[hip.Memcpy3DParms](&p))
}

//export hipGraphMemsetNodeGetParams
func hipGraphMemsetNodeGetParams(n, p uintptr) int32 {
	return call("hipGraphMemsetNodeGetParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemsetNodeGetParams(n, at[hip.MemsetParams](p)) }, n, outAt[hip.MemsetParams](&p))
}

//export hipGraphMemAllocNodeGetParams
func hipGraphMemAllocNodeGetParams(n, p uintptr) int32 {
	return call("hipGraphMemAllocNodeGetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.MemAllocNodeGetParams(n, at[hip.MemAllocNodeParams](p))
	}, n, outAt[hip.MemAllocNodeParams](&p))
}

//export hipGraphMemFreeNodeGetParams
func hipGraphMemFreeNodeGetParams(n uintptr, p *uintptr) int32 {
	return call("hipGraphMemFreeNodeGetParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.MemFreeNodeGetParams(n, p) }, n, outOf(&p))
}

//export hipGraphChildGraphNodeGetGraph
func hipGraphChildGraphNodeGetGraph(n uintptr, out *uintptr) int32 {
	return call("hipGraphChildGraphNodeGetGraph", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ChildGet(n, out) }, n, handle(&out))
}

//export hipGraphEventRecordNodeGetEvent
func hipGraphEventRecordNodeGetEvent(n uintptr, out *uintptr) int32 {
	return call("hipGraphEventRecordNodeGetEvent", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventNodeGet(n, false, out) }, n, newEvent(&out))
}

//export hipGraphEventWaitNodeGetEvent
func hipGraphEventWaitNodeGetEvent(n uintptr, out *uintptr) int32 {
	return call("hipGraphEventWaitNodeGetEvent", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventNodeGet(n, true, out) }, n, newEvent(&out))
}

//export hipGraphKernelNodeSetParams
func hipGraphKernelNodeSetParams(n, p uintptr) int32 {
	return call("hipGraphKernelNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.KernelNodeSetParams(0, n, false, at[hip.KernelNodeParams](p))
	}, n, inAt[hip.KernelNodeParams](&p))
}

//export hipGraphHostNodeSetParams
func hipGraphHostNodeSetParams(n, p uintptr) int32 {
	return call("hipGraphHostNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.HostNodeSetParams(0, n, false, at[hip.HostNodeParams](p))
	}, n, inAt[hip.HostNodeParams](&p))
}

//export hipGraphMemcpyNodeSetParams
func hipGraphMemcpyNodeSetParams(n, p uintptr) int32 {
	return call("hipGraphMemcpyNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.MemcpyNodeSetParams(0, n, false, at[hip.Memcpy3DParms](p))
	}, n, inAt[hip.Memcpy3DParms](&p))
}

//export hipGraphMemcpyNodeSetParams1D
func hipGraphMemcpyNodeSetParams1D(n, dst, src uintptr, size uint64, kind int32) int32 {
	return call("hipGraphMemcpyNodeSetParams1D", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.MemcpyNodeSetParams1D(0, n, false, dst, src, size, hip.Kind(kind))
	}, n, dst, src, size, hip.Kind(kind))
}

//export hipGraphMemcpyNodeSetParamsToSymbol
func hipGraphMemcpyNodeSetParamsToSymbol(n, sym, src uintptr, size, off uint64, kind int32) int32 {
	return call("hipGraphMemcpyNodeSetParamsToSymbol", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyNodeSetParamsSymbol(t, 0, n, false, true, sym, src, size, off, hip.Kind(kind))
	}, n, sym, src, size, off, hip.Kind(kind))
}

//export hipGraphMemcpyNodeSetParamsFromSymbol
func hipGraphMemcpyNodeSetParamsFromSymbol(n, dst, sym uintptr, size, off uint64, kind int32) int32 {
	return call("hipGraphMemcpyNodeSetParamsFromSymbol", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyNodeSetParamsSymbol(t, 0, n, false, false, sym, dst, size, off, hip.Kind(kind))
	}, n, dst, sym, size, off, hip.Kind(kind))
}

//export hipGraphMemsetNodeSetParams
func hipGraphMemsetNodeSetParams(n, p uintptr) int32 {
	return call("hipGraphMemsetNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.MemsetNodeSetParams(0, n, false, at[hip.MemsetParams](p))
	}, n, inAt[hip.MemsetParams](&p))
}

//export hipGraphEventRecordNodeSetEvent
func hipGraphEventRecordNodeSetEvent(n, e uintptr) int32 {
	return call("hipGraphEventRecordNodeSetEvent", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventNodeSet(0, n, false, false, e) }, n, event(e))
}

//export hipGraphEventWaitNodeSetEvent
func hipGraphEventWaitNodeSetEvent(n, e uintptr) int32 {
	return call("hipGraphEventWaitNodeSetEvent", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventNodeSet(0, n, false, true, e) }, n, event(e))
}

//export hipGraphExecKernelNodeSetParams
func hipGraphExecKernelNodeSetParams(x, n, p uintptr) int32 {
	return call("hipGraphExecKernelNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.KernelNodeSetParams(x, n, true, at[hip.KernelNodeParams](p))
	}, x, n, inAt[hip.KernelNodeParams](&p))
}

//export hipGraphExecHostNodeSetParams
func hipGraphExecHostNodeSetParams(x, n, p uintptr) int32 {
	return call("hipGraphExecHostNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.HostNodeSetParams(x, n, true, at[hip.HostNodeParams](p))
	}, x, n, inAt[hip.HostNodeParams](&p))
}

//export hipGraphExecMemcpyNodeSetParams
func hipGraphExecMemcpyNodeSetParams(x, n, p uintptr) int32 {
	return call("hipGraphExecMemcpyNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.MemcpyNodeSetParams(x, n, true, at[hip.Memcpy3DParms](p))
	}, x, n, inAt[hip.Memcpy3DParms](&p))
}

//export hipGraphExecMemcpyNodeSetParams1D
func hipGraphExecMemcpyNodeSetParams1D(x, n, dst, src uintptr, size uint64, kind int32) int32 {
	return call("hipGraphExecMemcpyNodeSetParams1D", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.MemcpyNodeSetParams1D(x, n, true, dst, src, size, hip.Kind(kind))
	}, x, n, dst, src, size, hip.Kind(kind))
}

//export hipGraphExecMemcpyNodeSetParamsToSymbol
func hipGraphExecMemcpyNodeSetParamsToSymbol(x, n, sym, src uintptr, size, off uint64, kind int32) int32 {
	return call("hipGraphExecMemcpyNodeSetParamsToSymbol", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyNodeSetParamsSymbol(t, x, n, true, true, sym, src, size, off, hip.Kind(kind))
	}, x, n, sym, src, size, off, hip.Kind(kind))
}

//export hipGraphExecMemcpyNodeSetParamsFromSymbol
func hipGraphExecMemcpyNodeSetParamsFromSymbol(x, n, dst, sym uintptr, size, off uint64, kind int32) int32 {
	return call("hipGraphExecMemcpyNodeSetParamsFromSymbol", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.MemcpyNodeSetParamsSymbol(t, x, n, true, false, sym, dst, size, off, hip.Kind(kind))
	}, x, n, dst, sym, size, off, hip.Kind(kind))
}

//export hipGraphExecMemsetNodeSetParams
func hipGraphExecMemsetNodeSetParams(x, n, p uintptr) int32 {
	return call("hipGraphExecMemsetNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.MemsetNodeSetParams(x, n, true, at[hip.MemsetParams](p))
	}, x, n, inAt[hip.MemsetParams](&p))
}

//export hipGraphExecEventRecordNodeSetEvent
func hipGraphExecEventRecordNodeSetEvent(x, n, e uintptr) int32 {
	return call("hipGraphExecEventRecordNodeSetEvent", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventNodeSet(x, n, true, false, e) }, x, n, event(e))
}

//export hipGraphExecEventWaitNodeSetEvent
func hipGraphExecEventWaitNodeSetEvent(x, n, e uintptr) int32 {
	return call("hipGraphExecEventWaitNodeSetEvent", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EventNodeSet(x, n, true, true, e) }, x, n, event(e))
}

//export hipDrvGraphExecMemsetNodeSetParams
func hipDrvGraphExecMemsetNodeSetParams(x, n, p, ctx uintptr) int32 {
	return call("hipDrvGraphExecMemsetNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.MemsetNodeSetParams(x, n, true, at[hip.MemsetParams](p))
	}, x, n, inAt[hip.MemsetParams](&p), ctx)
}

//export hipGraphExecChildGraphNodeSetParams
func hipGraphExecChildGraphNodeSetParams(x, n, child uintptr) int32 {
	return call("hipGraphExecChildGraphNodeSetParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ExecChildSet(x, n, child) }, x, n, child)
}

//export hipGraphKernelNodeSetAttribute
func hipGraphKernelNodeSetAttribute(n uintptr, attr int32, v uintptr) int32 {
	return call("hipGraphKernelNodeSetAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.KernelNodeSetAttribute(n, attr, v) }, n, attr, v)
}

//export hipGraphKernelNodeGetAttribute
func hipGraphKernelNodeGetAttribute(n uintptr, attr int32, v uintptr) int32 {
	return call("hipGraphKernelNodeGetAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.KernelNodeGetAttribute(n, attr, v) }, n, attr, v)
}

//export hipGraphKernelNodeCopyAttributes
func hipGraphKernelNodeCopyAttributes(src, dst uintptr) int32 {
	return call("hipGraphKernelNodeCopyAttributes", func(a *hip.API, _ *hip.Thread) hip.Error { return a.KernelNodeCopyAttributes(src, dst) }, src, dst)
}

//export hipGraphInstantiate
func hipGraphInstantiate(out *uintptr, g uintptr, bad *uintptr, log uintptr, n uint64) int32 {
	return call("hipGraphInstantiate", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphInstantiate(out, g, 0) }, handle(&out), g, outOf(&bad), log, n)
}

//export hipGraphInstantiateWithFlags
func hipGraphInstantiateWithFlags(out *uintptr, g uintptr, flags uint64) int32 {
	return call("hipGraphInstantiateWithFlags", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphInstantiate(out, g, flags) }, handle(&out), g, flags)
}

//export hipGraphInstantiateWithParams
func hipGraphInstantiateWithParams(out *uintptr, g, p uintptr) int32 {
	return call("hipGraphInstantiateWithParams", func(a *hip.API, t *hip.Thread) hip.Error {
		return a.GraphInstantiateWithParams(t, out, g, at[hip.InstantiateParams](p))
	}, handle(&out), g, outAt[hip.InstantiateParams](&p))
}

//export hipGraphExecGetFlags
func hipGraphExecGetFlags(x uintptr, out *uint64) int32 {
	return call("hipGraphExecGetFlags", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphExecGetFlags(x, out) }, x, outOf(&out))
}

//export hipGraphExecDestroy
func hipGraphExecDestroy(x uintptr) int32 {
	return call("hipGraphExecDestroy", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphExecDestroy(x) }, x)
}

//export hipGraphExecUpdate
func hipGraphExecUpdate(x, g uintptr, bad *uintptr, result *int32) int32 {
	return call("hipGraphExecUpdate", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphExecUpdate(x, g, bad, result) }, x, g, outOf(&bad), outOf(&result))
}

//export hipGraphNodeSetEnabled
func hipGraphNodeSetEnabled(x, n uintptr, on uint32) int32 {
	return call("hipGraphNodeSetEnabled", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ExecNodeEnable(x, n, true, &on) }, x, n, on)
}

//export hipGraphNodeGetEnabled
func hipGraphNodeGetEnabled(x, n uintptr, on *uint32) int32 {
	return call("hipGraphNodeGetEnabled", func(a *hip.API, _ *hip.Thread) hip.Error { return a.ExecNodeEnable(x, n, false, on) }, x, n, outOf(&on))
}

//export hipGraphUpload
func hipGraphUpload(x, s uintptr) int32 {
	return call("hipGraphUpload", func(a *hip.API, t *hip.Thread) hip.Error { return a.GraphUpload(t, x, s) }, x, stream(s))
}

//export hipGraphLaunch
func hipGraphLaunch(x, s uintptr) int32 {
	return call("hipGraphLaunch", func(a *hip.API, t *hip.Thread) hip.Error { return a.GraphLaunch(t, x, s) }, x, stream(s))
}

//export hipGraphLaunch_spt
func hipGraphLaunch_spt(x, s uintptr) int32 {
	return call("hipGraphLaunch_spt", func(a *hip.API, t *hip.Thread) hip.Error { return a.GraphLaunch(t, x, spt(s)) }, x, stream(s))
}

//export hipDeviceGetGraphMemAttribute
func hipDeviceGetGraphMemAttribute(d, attr int32, v *uint64) int32 {
	return call("hipDeviceGetGraphMemAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGetGraphMem(d, attr, v) }, d, attr, outOf(&v))
}

//export hipDeviceSetGraphMemAttribute
func hipDeviceSetGraphMemAttribute(d, attr int32, v *uint64) int32 {
	return call("hipDeviceSetGraphMemAttribute", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceSetGraphMem(d, attr, v) }, d, attr, outOf(&v))
}

//export hipDeviceGraphMemTrim
func hipDeviceGraphMemTrim(d int32) int32 {
	return call("hipDeviceGraphMemTrim", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DeviceGraphMemTrim(d) }, d)
}

//export hipGraphDebugDotPrint
func hipGraphDebugDotPrint(g uintptr, path *C.char, flags uint32) int32 {
	return call("hipGraphDebugDotPrint", func(a *hip.API, _ *hip.Thread) hip.Error {
		if path == nil {
			return hip.ErrInvalidValue
		}
		return a.GraphDebugDot(g, C.GoString(path), flags)
	}, g, text(&path), flags)
}

//export hipUserObjectCreate
func hipUserObjectCreate(out *uintptr, ptr, free uintptr, refs, flags uint32) int32 {
	return call("hipUserObjectCreate", func(a *hip.API, _ *hip.Thread) hip.Error {
		if free == 0 {
			return hip.ErrInvalidValue
		}
		return a.UserObjectCreate(out, ptr, func(p uintptr) { hip.CallHost(free, p) }, refs, flags)
	}, handle(&out), ptr, free, refs, flags)
}

//export hipUserObjectRetain
func hipUserObjectRetain(o uintptr, n uint32) int32 {
	return call("hipUserObjectRetain", func(a *hip.API, _ *hip.Thread) hip.Error { return a.UserObjectRetain(o, n) }, o, n)
}

//export hipUserObjectRelease
func hipUserObjectRelease(o uintptr, n uint32) int32 {
	return call("hipUserObjectRelease", func(a *hip.API, _ *hip.Thread) hip.Error { return a.UserObjectRelease(o, n) }, o, n)
}

//export hipGraphRetainUserObject
func hipGraphRetainUserObject(g, o uintptr, n, flags uint32) int32 {
	return call("hipGraphRetainUserObject", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphRetainUserObject(g, o, n, flags) }, g, o, n, flags)
}

//export hipGraphReleaseUserObject
func hipGraphReleaseUserObject(g, o uintptr, n uint32) int32 {
	return call("hipGraphReleaseUserObject", func(a *hip.API, _ *hip.Thread) hip.Error { return a.GraphReleaseUserObject(g, o, n) }, g, o, n)
}
