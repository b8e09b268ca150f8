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
		t.Skip("this CPU lacks AVX2, FMA, F16C or BMI2: compiled code is not tested")
	}
}

// onEach runs a test with code for AVX-512 and with code for AVX2.
func onEach(t *testing.T, f func(*testing.T)) {
	needJIT(t)
	t.Run("avx512", func(t *testing.T) {
		if !wide {
			t.Skip("this CPU lacks AVX-512 (F, BW, DQ, VL, CD, VBMI2, VPOPCNTDQ) or GFNI")
		}
		f(t)
	})
	t.Run("avx2", func(t *testing.T) {
		defer func(was bool) { hostAVX2 = was }(hostAVX2)
		hostAVX2 = true
		f(t)
	})
}

// testSoft makes tests compile the soft form.
var testSoft bool

// softly runs f on the soft form.
func softly(t *testing.T, f func(*testing.T)) {
	if needJIT(t); !wide {
		t.Skip("this CPU lacks AVX-512")
	}
	testSoft = true
	defer func() { testSoft = false }()
	f(t)
}

// fewer is n, or a part of it for AVX2, whose code comes from the same generator.
func fewer(n uint64) uint64 {
	if hostAVX2 && wide {
		return n / 4
	}
	return n
}

// missing skips a test that lacks a tool, but where everything is to be tested it fails.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("PUMICE_TEST_ALL") != "" {
		t.Fatalf("PUMICE_TEST_ALL is set and "+format, args...)
	}
	t.Skipf(format, args...)
}
