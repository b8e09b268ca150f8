package silicon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/internal/needs"
)

var judgeOp = regexp.MustCompile(`(?m)^OP\((\w+), (.*)\)$`)

// judgeInputs makes triples of words: edge values of all formats and random bits of all sizes, mixed.
func judgeInputs(n int, rnd *rand.Rand) []uint64 {
	edges := []uint64{0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001,
		0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffe, 0xffffff00,
		// f32: 1, -1, 0.5, 1.5, 2.5, least normal, denormals, greatest, infinities, NaN, 2^23, 2^31, pi, one third
		0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0x40200000, 0x00800000, 0x00000001, 0x807fffff, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
		0x4b000000, 0x4f000000, 0xcf000000, 0x40490fdb, 0x3eaaaaab, 0x3f7fffff, 0x3f800001,
		// f64, likewise
		0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0x0010000000000000, 0x8000000000000001,
		0x000fffffffffffff, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x41e0000000000000, 0x43e0000000000000,
		0x4330000000000000, 0x400921fb54442d18, 0x3fd5555555555555, 0x3fefffffffffffff, 0x47efffffefffffff, 0x36a0000000000000,
		// f16
		0x3c00, 0xbc00, 0x3800, 0x0400, 0x0001, 0x83ff, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x6400}
	one := func() uint64 {
		x := rnd.Uint64()
		switch rnd.IntN(8) {
		case 0, 1:
			return edges[rnd.IntN(len(edges))]
		case 2:
			return edges[rnd.IntN(len(edges))] + x%5 - 2
		case 3:
			return x >> rnd.IntN(64)
		case 4: // an f32 near 1, whatever is above it
			return x&^0xff000000 | 0x3e000000 + x>>32&0x03000000
		case 5: // an f64 near 1
			return x&0x800fffffffffffff | uint64(0x3fa+rnd.IntN(12))<<52
		}
		return x
	}
	v := make([]uint64, 3*n)
	for i := range v {
		v[i] = one()
		if i%3 != 0 && rnd.IntN(6) == 0 { // operands that are alike
			v[i] = v[i-1] ^ uint64(rnd.IntN(3))
		}
	}
	return v
}

// judgeHost builds the program for the host and asks it for all results.
func judgeHost(t *testing.T, source []byte, names []string, in []uint64) [][]uint64 {
	dir := t.TempDir()
	var inc strings.Builder
	fmt.Fprintf(&inc, "extern const int opCount = %d;\nextern const Named ops[] = {\n", len(names))
	for _, n := range names {
		fmt.Fprintf(&inc, "NAMED(%s)\n", n)
	}
	inc.WriteString("};\n")
	src, exe := filepath.Join(dir, "judge.cpp"), filepath.Join(dir, "judge")
	if err := os.WriteFile(src, source, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ops.inc"), []byte(inc.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command("clang-19", "-x", "c++", "-std=c++17", "-DHOST", "-O1", "-ffp-contract=off", "-fwrapv", src, "-o", exe, "-lstdc++", "-lm").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	cmd := exec.Command(exe)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&in[0])), 8*len(in))
	cmd.Stdin = bytes.NewReader(raw)
	out, err := cmd.Output()
	n := len(in) / 3
	if err != nil || len(out) != 8*n*len(names) {
		t.Fatalf("%v, %d bytes of results", err, len(out))
	}
	res := make([][]uint64, len(names))
	for i := range res {
		for j := range n {
			res[i] = append(res[i], binary.LittleEndian.Uint64(out[8*(i*n+j):]))
		}
	}
	return res
}

// TestRealJudge is a judge of what instructions mean that knows nothing of them: the host's own processor, with the same source. Integers
// and IEEE arithmetic must agree bit for bit, division and square root by the compiler's refinement included.
func TestRealJudge(t *testing.T) {
	needs.Program(t, "clang-19")
	source, err := os.ReadFile("testdata/judge.hip")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	text := map[string]string{}
	for _, m := range judgeOp.FindAllStringSubmatch(string(source), -1) {
		names = append(names, m[1])
		text[m[1]] = m[2]
	}
	n := 3072 // of each operation on each target: 1.1 million
	if testing.Short() {
		n = 256
	}
	in := judgeInputs(n, rand.New(rand.NewPCG(11, 12)))
	want := judgeHost(t, source, names, in)
	for _, x := range []struct{ profile, target string }{{"mi210", "gfx90a"}, {"rx6900xt", "gfx1030"}, {"mi300x", "gfx942"}, {"rx9070xt", "gfx1201"}} {
		t.Run(x.target, func(t *testing.T) {
			c := newCodeOf(t, "judge.hip", x.profile, x.target, "-O2", "-ffp-contract=off", "-fwrapv", "-std=c++17")
			va, b := c.alloc(uint64(8 * len(in)))
			copy(b, unsafe.Slice((*byte)(unsafe.Pointer(&in[0])), 8*len(in)))
			out, ob := c.alloc(uint64(8 * n))
			for i, name := range names {
				c.run("k_"+name, line(uint32(n)), line(256), va, out)
				bad := 0
				for j := range n {
					got := binary.LittleEndian.Uint64(ob[8*j:])
					if got == want[i][j] {
						continue
					}
					if bad++; bad <= 3 {
						t.Errorf("%s = %s: a %#x b %#x c %#x: %#x, the host says %#x", name, text[name], in[3*j], in[3*j+1], in[3*j+2], got, want[i][j])
					}
				}
				if bad > 3 {
					t.Errorf("%s: %d of %d", name, bad, n)
				}
			}
			t.Logf("%d operations, %d vectors", len(names), n*len(names))
		})
	}
}
