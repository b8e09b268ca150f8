package dooratest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
)

// What HSA has since ROCr 6, by testdata/hsanew.c.
func TestHSANew(t *testing.T) {
	dir, _ := library(t)
	if _, err := os.Stat("/usr/include/hsa/hsa.h"); err != nil {
		needs.Missing(t, "no headers of HSA")
	}
	prog := filepath.Join(t.TempDir(), "hsanew")
	need(t, "gcc", "-O1", "-Wall", "-Werror", "testdata/hsanew.c", filepath.Join(dir, "libhsa-runtime64.so.1"), "-o", prog)
	out, errs, err := run(t, dir, "mi210", prog)
	if err != nil || out != "OK\n" {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
}
