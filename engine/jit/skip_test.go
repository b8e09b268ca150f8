//go:build linux && amd64

package jit

import (
	"os"
	"testing"
)

// needJIT skips tests that run compiled code where the CPU cannot: the only reason there is to.
func needJIT(t testing.TB) {
	t.Helper()
	if !Supported() {
		t.Skip("this CPU lacks AVX-512 (F, BW, DQ, VL, CD, VBMI2, VPOPCNTDQ) or GFNI: compiled code is not tested")
	}
}

// missing skips a test that lacks a tool, but where everything is to be tested it fails.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("PUMICE_TEST_ALL") != "" {
		t.Fatalf("PUMICE_TEST_ALL is set and "+format, args...)
	}
	t.Skipf(format, args...)
}
