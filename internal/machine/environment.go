package machine

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// obeyed are the environment variables of ROCm's runtimes that Pumice's own act by.
var obeyed = []string{
	"AMD_LOG_LEVEL", "AMD_LOG_LEVEL_FILE", "AMD_LOG_MASK", "AMD_SERIALIZE_COPY", "AMD_SERIALIZE_KERNEL", "CUDA_VISIBLE_DEVICES", "GPU_MAX_HW_QUEUES",
	"HIP_LAUNCH_BLOCKING", "HIP_VISIBLE_DEVICES", "HSA_CU_MASK", "HSA_DISABLE_FRAGMENT_ALLOCATOR", "HSA_ENABLE_INTERRUPT", "HSA_ENABLE_SDMA", "HSA_ENABLE_VM_FAULT_MESSAGE", "HSA_OVERRIDE_GFX_VERSION", "HSA_XNACK",
	"ROCR_VISIBLE_DEVICES", "ROC_AQL_QUEUE_SIZE",
}

// theirs are those of AMD's that have no effect here and do not begin as family says.
var theirs = []string{
	"AMD_DIRECT_DISPATCH", "AMD_LOG_LEVEL_SIZE", "DEBUG_HIP_GRAPH_DOT_PRINT", "GPU_DEVICE_ORDINAL", "GPU_DUMP_CODE_OBJECT", "GPU_MAX_HEAP_SIZE", "GPU_SINGLE_ALLOC_PERCENT",
}

// family begins the names of variables that only ROCm's runtimes read.
var family = []string{"HIP_", "HSA_", "HSAKMT_", "ROCR_", "ROC_"}

// build are variables of ROCm's compilers and build tools, which are none of a runtime's business.
var build = []string{
	"HIP_CLANG_HCC_COMPAT_MODE", "HIP_CLANG_INCLUDE_PATH", "HIP_CLANG_PATH", "HIP_COMPILER", "HIP_DEVICE_LIB_PATH", "HIP_DIR", "HIP_LIB_PATH", "HIP_PATH", "HIP_PLATFORM",
	"HIP_ROCCLR_HOME", "HIP_RUNTIME", "HIP_VDI_HOME", "HSA_PATH",
}

// warnVariables names the variables that have no effect: one warning for all of them, because users set ten at a time.
func warnVariables(w io.Writer, environ []string) {
	var idle []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		ofFamily := slices.ContainsFunc(family, func(p string) bool { return strings.HasPrefix(name, p) })
		if (ofFamily || slices.Contains(theirs, name)) && !slices.Contains(obeyed, name) && !slices.Contains(build, name) {
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		slices.Sort(idle)
		fmt.Fprintf(w, "pumice: of these variables Pumice's runtime takes no notice: %s\n", strings.Join(idle, ", "))
	}
}
