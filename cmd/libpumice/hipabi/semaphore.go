package hipabi

import "C"

import "github.com/pumice-gpu/pumice/runtime/hip"

// External semaphores: none can be imported (runtime/hip says why), so every function that takes one has an argument that is none.

//export hipImportExternalSemaphore
func hipImportExternalSemaphore(out, desc uintptr) int32 {
	return call("hipImportExternalSemaphore", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.ImportSemaphore(out, at[hip.ExternalMemoryDesc](desc))
	}, out, inAt[hip.ExternalMemoryDesc](&desc))
}

func semaphores(name string) int32 {
	return call(name, func(a *hip.API, _ *hip.Thread) hip.Error { return a.Semaphores() })
}

//export hipDestroyExternalSemaphore
func hipDestroyExternalSemaphore() int32 { return semaphores("hipDestroyExternalSemaphore") }

//export hipSignalExternalSemaphoresAsync
func hipSignalExternalSemaphoresAsync() int32 { return semaphores("hipSignalExternalSemaphoresAsync") }

//export hipWaitExternalSemaphoresAsync
func hipWaitExternalSemaphoresAsync() int32 { return semaphores("hipWaitExternalSemaphoresAsync") }

//export hipGraphAddExternalSemaphoresSignalNode
func hipGraphAddExternalSemaphoresSignalNode() int32 {
	return semaphores("hipGraphAddExternalSemaphoresSignalNode")
}

//export hipGraphAddExternalSemaphoresWaitNode
func hipGraphAddExternalSemaphoresWaitNode() int32 {
	return semaphores("hipGraphAddExternalSemaphoresWaitNode")
}

//export hipGraphExecExternalSemaphoresSignalNodeSetParams
func hipGraphExecExternalSemaphoresSignalNodeSetParams() int32 {
	return semaphores("hipGraphExecExternalSemaphoresSignalNodeSetParams")
}

//export hipGraphExecExternalSemaphoresWaitNodeSetParams
func hipGraphExecExternalSemaphoresWaitNodeSetParams() int32 {
	return semaphores("hipGraphExecExternalSemaphoresWaitNodeSetParams")
}

//export hipGraphExternalSemaphoresSignalNodeGetParams
func hipGraphExternalSemaphoresSignalNodeGetParams() int32 {
	return semaphores("hipGraphExternalSemaphoresSignalNodeGetParams")
}

//export hipGraphExternalSemaphoresSignalNodeSetParams
func hipGraphExternalSemaphoresSignalNodeSetParams() int32 {
	return semaphores("hipGraphExternalSemaphoresSignalNodeSetParams")
}

//export hipGraphExternalSemaphoresWaitNodeGetParams
func hipGraphExternalSemaphoresWaitNodeGetParams() int32 {
	return semaphores("hipGraphExternalSemaphoresWaitNodeGetParams")
}

//export hipGraphExternalSemaphoresWaitNodeSetParams
func hipGraphExternalSemaphoresWaitNodeSetParams() int32 {
	return semaphores("hipGraphExternalSemaphoresWaitNodeSetParams")
}
