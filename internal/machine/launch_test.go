package machine

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
	"github.com/pumice-gpu/pumice/runtime/clr"
)

// compile makes a code object of a HIP file with clang-15 alone: no headers, no device library.
func compile(t testing.TB, src, arch, version string) []byte {
	t.Helper()
	cc := needs.Program(t, "clang-15")
	out := filepath.Join(t.TempDir(), "k.co")
	cmd := exec.Command(cc, "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O2", "-g", "--no-gpu-bundle-output", "--offload-arch="+arch, "-mcode-object-version="+version, src, "-o", out)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func words(ws ...uint64) func(int, []byte) {
	return func(i int, dst []byte) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], ws[i])
		copy(dst, b[:])
	}
}

func TestLaunch(t *testing.T) {
	for _, c := range []struct{ gpu, arch, version string }{
		{"mi210", "gfx90a", "4"}, {"mi210", "gfx90a", "5"}, {"rx6900xt", "gfx1030", "4"}, {"radeonvii", "gfx906", "4"}, {"rx6900xt", "gfx1030", "5"},
	} {
		t.Run(c.arch+"v"+c.version, func(t *testing.T) {
			rt := clr.New(newHSA(t, c.gpu), clr.SettingsFromEnv(func(string) (string, bool) { return "", false }))
			d := rt.Devices[0]
			p, err := rt.NewProgram(compile(t, "../../abi/codeobj/testdata/kernels.hip", c.arch, c.version))
			if err != nil {
				t.Fatal(err)
			}
			k, err := p.Kernel(d, "vadd")
			if err != nil {
				t.Fatal(err)
			}
			const n = 1000
			mem, err := d.Alloc(3 * 4 * n)
			if err != nil {
				t.Fatal(err)
			}
			f := func(i int) *[4]byte { return (*[4]byte)(mem.Bytes()[4*i:]) }
			for i := 0; i < n; i++ {
				binary.LittleEndian.PutUint32(f(i)[:], math.Float32bits(float32(i)))
				binary.LittleEndian.PutUint32(f(n + i)[:], math.Float32bits(0.5))
			}
			table, size, err := p.Variable(d, "table")
			if err != nil || size != 256 {
				t.Fatal(size, err)
			}
			q := d.NullQueue()
			if _, err := q.Fill(table+4, math.Float32bits(100), 4, clr.Linear(4), true); err != nil {
				t.Fatal(err)
			}
			e, err := q.Launch(k, &clr.Launch{Grid: clr.Dim3{X: 1024, Y: 1, Z: 1}, Block: clr.Dim3{X: 256, Y: 1, Z: 1}, Arg: words(mem.Ptr, mem.Ptr+4*n, mem.Ptr+8*n, n), Timed: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Finish(); err != nil {
				t.Fatal(err)
			}
			if s, e := e.Ticks(); s == 0 || e < s {
				t.Errorf("ticks %d %d", s, e)
			}
			for i := 0; i < n; i++ {
				want := float32(i) + 0.5
				if i&63 == 1 {
					want += 100
				}
				if got := math.Float32frombits(binary.LittleEndian.Uint32(f(2*n + i)[:])); got != want {
					t.Fatalf("c[%d] = %v, want %v", i, got, want)
				}
			}
			if err := p.Unload(); err != nil {
				t.Error(err)
			}
		})
	}
}
