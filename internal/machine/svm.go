package machine

import (
	"fmt"
	"slices"
	"strings"
)

// SVMEngineVariable is the environment variable that chooses the driver of shared virtual memory, by a name of svmEngines.
const SVMEngineVariable = "PUMICE_SVM_ENGINE"

// svmEngines are the drivers of shared virtual memory: that on drm_gpusvm, which is used when none is named, and the older one of amdkfd.
var svmEngines = []string{"drm", "kfd"}

// oldSVM reports whether value names the older driver.
func oldSVM(value string) (bool, error) {
	if value != "" && !slices.Contains(svmEngines, value) {
		return false, fmt.Errorf("%q is not a driver of shared virtual memory; there are: %s", value, strings.Join(svmEngines, ", "))
	}
	return value == svmEngines[1], nil
}

// CheckSVMEngine refuses what names no driver.
func CheckSVMEngine(value string) error {
	_, err := oldSVM(value)
	return err
}
