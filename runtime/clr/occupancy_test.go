package clr

import (
	"testing"

	"github.com/pumice-gpu/pumice/abi/codeobj"
)

// TestRegisterFile has the files by LLVM's account: what it says of the occupancy of a kernel with 168 registers is 9 where the file is 1536.
func TestRegisterFile(t *testing.T) {
	for _, x := range []struct {
		target string
		lanes  uint32
		want   uint32
	}{
		{"gfx906", 64, 256}, {"gfx908", 64, 256}, {"gfx90a", 64, 512}, {"gfx942", 64, 512}, {"gfx950", 64, 512},
		{"gfx1010", 32, 1024}, {"gfx1030", 32, 1024}, {"gfx1030", 64, 512},
		{"gfx1100", 32, 1536}, {"gfx1100", 64, 768}, {"gfx1101", 32, 1536}, {"gfx1102", 32, 1024}, {"gfx1103", 32, 1024},
		{"gfx1150", 32, 1024}, {"gfx1151", 32, 1536}, {"gfx1152", 32, 1024}, {"gfx1200", 32, 1536}, {"gfx1201", 64, 768},
	} {
		target, err := codeobj.ParseTarget(x.target)
		if err != nil {
			t.Fatal(err)
		}
		if got := registerFile(target.Proc, x.lanes); got != x.want {
			t.Errorf("%s, waves of %d: %d, want %d", x.target, x.lanes, got, x.want)
		}
	}
}
