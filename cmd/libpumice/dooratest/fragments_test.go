package dooratest

import (
	"path/filepath"
	"strings"
	"testing"
)

// A kernel that reads behind its small buffer goes on where allocations share blocks, and faults where they do not.
func TestFragments(t *testing.T) {
	dir, lib := library(t)
	prog := filepath.Join(t.TempDir(), "fragments")
	need(t, "hipcc", "-std=c++17", "-O1", "--offload-arch=gfx90a", "-Itestdata", "-x", "hip", "testdata/fragments.hip", "-x", "none", lib, "-o", prog)
	out, errs, err := run(t, dir, "mi210", prog, "strict")
	if err == nil || !strings.Contains(errs, "fault") {
		t.Errorf("no fault by default: %v\n%s%s", err, out, errs)
	}
	t.Setenv("PUMICE_FRAGMENTS", "1")
	out, errs, err = run(t, dir, "mi210", prog)
	if err != nil || out != "PASSED\n" {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
}
