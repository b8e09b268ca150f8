package hsaabi

import "C"

import (
	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

var extensionNames = map[uint16]string{
	0: "HSA_EXTENSION_FINALIZER", extensionImages: "HSA_EXTENSION_IMAGES", 2: "HSA_EXTENSION_PERFORMANCE_COUNTERS", 3: "HSA_EXTENSION_PROFILING_EVENTS",
	0x200: "HSA_EXTENSION_AMD_PROFILER", extensionLoader: "HSA_EXTENSION_AMD_LOADER", 0x202: "HSA_EXTENSION_AMD_AQLPROFILE",
}

//export hsa_extension_get_name
func hsa_extension_get_name(ext uint16, out **C.char) int32 {
	if rt() == nil {
		return notInit
	}
	n, known := extensionNames[ext]
	if !known || out == nil {
		return badArg
	}
	return give(out, static(n))
}

//export hsa_system_major_extension_supported
func hsa_system_major_extension_supported(ext, major uint16, minor *uint16, out *bool) int32 {
	if rt() == nil {
		return notInit
	}
	if minor == nil || out == nil {
		return badArg
	}
	if st := hsa_system_extension_supported(ext, major, 0, out); st != ok {
		return st
	}
	if there, _ := caller.Get(out); there {
		return give(minor, 0)
	}
	return ok
}

//export hsa_agent_major_extension_supported
func hsa_agent_major_extension_supported(ext uint16, agent uint64, major uint16, minor *uint16, out *bool) int32 {
	if rt() == nil {
		return notInit
	}
	if minor == nil || out == nil {
		return badArg
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if a.IsGPU() {
		return hsa_system_major_extension_supported(ext, major, minor, out)
	}
	return give(out, false)
}

// The sizes of the tables of version 1.0.
var extensionTables = map[uint16]uint64{extensionImages: 10 * 8, extensionLoader: 3 * 8}

//export hsa_system_get_extension_table
func hsa_system_get_extension_table(ext, major, minor uint16, table uintptr) int32 {
	if table == 0 {
		return badArg
	}
	n, known := extensionTables[ext]
	if !known || minor != 0 {
		return failure
	}
	return hsa_system_get_major_extension_table(ext, major, n, table)
}
