package silicon

import (
	"encoding/binary"
	"math"
	"math/rand"
	"strings"
	"testing"
	"unsafe"
)

// chips are the profiles on which every feature of real code is run.
var chips = []struct {
	profile, target string
	wave64          bool // the compiler can also make 64-lane waves
}{
	{"vega64", "gfx900", false}, {"mi100", "gfx908", false}, {"mi210", "gfx90a", false}, {"mi300x", "gfx942", false},
	{"rx5700xt", "gfx1010", true}, {"rx6900xt", "gfx1030", true}, {"rx7900xtx", "gfx1100", true}, {"strixhalo", "gfx1151", true},
	{"rx9070xt", "gfx1201", true}, {"rx9070xt", "gfx1200", true},
}

// onChips runs f for each chip and wave size.
func onChips(t *testing.T, file string, f func(t *testing.T, c *code, lanes uint32), flags ...string) {
	for _, c := range chips {
		for _, lanes := range []uint32{32, 64} {
			x := flags
			switch {
			case !c.wave64 && lanes == 32:
				continue
			case c.wave64 && lanes == 64:
				x = append([]string{"-mwavefrontsize64"}, flags...)
			}
			name := c.target
			if c.wave64 && lanes == 64 {
				name += "-wave64"
			}
			t.Run(name, func(t *testing.T) { f(t, newCodeOf(t, file, c.profile, c.target, append(x, "-O2")...), lanes) })
		}
	}
}

func TestRealLanes(t *testing.T) {
	onChips(t, "more.hip", func(t *testing.T, c *code, lanes uint32) {
		const n = 256*3 - 64
		out, ob := c.alloc(n * 24)
		c.run("lanes", line(n), line(256), out)
		for i := range uint32(n) {
			l := i % 256 % lanes
			want := [6]uint32{lanes, l, i - l + (l ^ 5), i ^ 1, i - l, i ^ 1}
			if got := [6]uint32(words(ob)[6*i:]); got != want {
				t.Fatalf("item %d: %d, want %d", i, got, want)
			}
		}
	})
}

func TestRealAtomics(t *testing.T) {
	onChips(t, "more.hip", func(t *testing.T, c *code, lanes uint32) {
		const n = 256 * 12
		cv, cb := c.alloc(4 * (16 + n))
		dv, db := c.alloc(16)
		fv, fb := c.alloc(8)
		gv, gb := c.alloc(8)
		w := words(cb)
		w[3], w[5] = ^uint32(0), ^uint32(0)
		c.run("atomics", line(n), line(256), cv, dv, fv, gv)
		var want [13]uint32
		var d [2]uint64
		want[3], want[5] = ^uint32(0), ^uint32(0)
		for i := range uint32(n) {
			want[0] += i
			want[1] -= 3
			want[2] = max(want[2], i^0x55)
			want[3] = min(want[3], i+17)
			want[4] |= 1 << (i & 31)
			want[5] &^= 1 << (i & 15)
			want[6] ^= i * 2654435761
			want[7] += 2
			want[8+(i&3)] += i
			want[12]++
			d[0] += uint64(i) << 30
			d[1] = max(d[1], uint64(i)<<33)
		}
		if got := [13]uint32(w); got != want {
			t.Errorf("%d, want %d", got, want)
		}
		if got := [2]uint64(unsafe.Slice((*uint64)(unsafe.Pointer(&db[0])), 2)); got != d {
			t.Errorf("64-bit: %d, want %d", got, d)
		}
		f := unsafe.Slice((*float32)(unsafe.Pointer(&fb[0])), 2)
		if f[0] != n || f[1] != 2*n {
			t.Errorf("float: %v", f)
		}
		if g := *(*float64)(unsafe.Pointer(&gb[0])); g != n/2 {
			t.Errorf("double: %v", g)
		}
		seen := make([]bool, n)
		for _, i := range w[16 : 16+n] {
			if i >= n || seen[i] {
				t.Fatalf("item %d has no rank of its own", i)
			}
			seen[i] = true
		}
	})
}

func TestRealPreload(t *testing.T) {
	for _, x := range []struct{ profile, target string }{{"mi210", "gfx90a"}, {"mi300x", "gfx942"}} {
		for _, count := range []string{"0", "3", "14"} {
			t.Run(x.target+"-"+count, func(t *testing.T) {
				c := newCodeOf(t, "more.hip", x.profile, x.target, "-O2", "-mllvm", "-amdgpu-kernarg-preload-count="+count)
				k, err := c.o.Kernel("preload")
				if err != nil {
					t.Fatal(err)
				}
				if n := k.Desc.KernargPreloadLength(); (n == 0) != (count == "0") {
					t.Fatalf("%d words are preloaded", n)
				}
				out, ob := c.alloc(512 * 4)
				c.run("preload", line(512), line(256), uint32(1000), uint32(7), uint64(3<<32|50), out, uint32(90000))
				for i := range uint32(512) {
					if want := 1000 + 7*i + 3 + 50 + 90000; words(ob)[i] != want {
						t.Fatalf("%d is %d, want %d", i, words(ob)[i], want)
					}
				}
			})
		}
	}
}

func TestRealSplitBarrier(t *testing.T) {
	for _, flag := range []string{"-mno-wavefrontsize64", "-mwavefrontsize64"} {
		c := newCodeOf(t, "more.hip", "rx9070xt", "gfx1201", "-O2", flag)
		const groups, rounds = 9, 13
		in, ib := c.alloc(1024)
		out, ob := c.alloc(groups * 1024)
		first, fb := c.alloc(4)
		for i := range words(ib)[:256] {
			words(ib)[i] = rand.Uint32()
		}
		c.run("split", line(groups*256), line(256), in, out, first, uint32(rounds))
		for i := range groups * 256 {
			var sum uint32
			for r := range uint32(rounds) {
				sum = sum*31 + r + words(ib)[255-i%256] + r
			}
			if words(ob)[i] != sum {
				t.Fatalf("%s: %d is %d, want %d", flag, i, words(ob)[i], sum)
			}
		}
		if n := words(fb)[0]; n != groups*rounds {
			t.Errorf("%s: %d waves were first, want %d", flag, n, groups*rounds)
		}
		c.run("state", line(256), line(256), out)
		members := uint32(8)
		if flag == "-mwavefrontsize64" {
			members = 4
		}
		for _, s := range words(ob)[:256] {
			if s&1 == 0 || s>>4&0x7f > members || s>>16 != 0 {
				t.Fatalf("%s: state %#x", flag, s)
			}
		}
	}
}

// element is how a matrix kernel holds one number.
type element struct {
	bytes int
	enc   func(b []byte, v int)
	dec   func(b []byte) float64
}

var elements = map[string]element{
	"f16":  {2, func(b []byte, v int) { binary.LittleEndian.PutUint16(b, half(v)) }, nil},
	"bf16": {2, func(b []byte, v int) { binary.LittleEndian.PutUint16(b, uint16(math.Float32bits(float32(v))>>16)) }, nil},
	"f32": {4, func(b []byte, v int) { binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v))) },
		func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
	"f64": {8, func(b []byte, v int) { binary.LittleEndian.PutUint64(b, math.Float64bits(float64(v))) },
		func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
	"i8": {1, func(b []byte, v int) { b[0] = byte(v) }, nil},
	"i32": {4, func(b []byte, v int) { binary.LittleEndian.PutUint32(b, uint32(v)) },
		func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }},
	// E4M3 with bias 8 (FNUZ).
	"fp8": {1, func(b []byte, v int) {
		if b[0] = 0; v != 0 {
			f, e := math.Frexp(math.Abs(float64(v)))
			b[0] = byte(e-1+8)<<3 | byte(f*16)&7
			if v < 0 {
				b[0] |= 0x80
			}
		}
	}, nil},
}

// half is a small integer as f16.
func half(v int) uint16 {
	if v == 0 {
		return 0
	}
	f, e := math.Frexp(math.Abs(float64(v)))
	h := uint16(e-1+15)<<10 | uint16(f*2048)&0x3ff
	if v < 0 {
		h |= 0x8000
	}
	return h
}

// shape is a matrix instruction as the ISA documents lay it out: where element e of lane l of A is, and element v of C and D.
// B's columns are where A's rows are.
type shape struct {
	kernel       string
	m, k         int // C is m x m
	in, out      string
	lanes, per   int // elements of A that a lane holds
	a            func(l, e int) (i, k int)
	d            func(l, v int) (i, j int)
	min          int // smallest input
	profile, tgt string
	flags        []string
}

// mfma lays out a one-block CDNA shape.
func mfma(profile, target, name string, m, k int, in, out string) shape {
	groups := 64 / m
	per := k / groups
	s := shape{kernel: name, m: m, k: k, in: in, out: out, lanes: 64, per: per, min: -3, profile: profile, tgt: target,
		a: func(l, e int) (int, int) { return l % m, per*(l/m) + e },
		d: func(l, v int) (int, int) { return 4*groups*(v/4) + 4*(l/m) + v%4, l % m }}
	if in == "f64" {
		s.d = func(l, v int) (int, int) { return l/m + 4*v, l % m }
	}
	return s
}

// wmma11 lays out 16x16x16 on gfx11: both halves of a wave hold all of A.
func wmma11(profile, target, name, in, out string, lanes int) shape {
	return shape{kernel: name, m: 16, k: 16, in: in, out: out, lanes: lanes, per: 16, profile: profile, tgt: target,
		a:     func(l, e int) (int, int) { return l % 16, e },
		d:     func(l, v int) (int, int) { return lanes/16*v + l/16, l % 16 },
		flags: waveFlag(lanes)}
}

// wmma12 lays out 16x16x16 on gfx12: nothing is held twice, and a wave of 64 has the upper half of the rows that a lane of 32 holds in
// its upper lanes (AMD's matrix instruction calculator). The order of k is of no matter here.
func wmma12(profile, target, name, in, out string, lanes int) shape {
	per := 256 / lanes
	return shape{kernel: name, m: 16, k: 16, in: in, out: out, lanes: lanes, per: per, min: -3, profile: profile, tgt: target,
		a:     func(l, e int) (int, int) { return l % 16, per*(l/16) + e },
		d:     func(l, v int) (int, int) { return 8*(l/16%2) + 4*(l/32) + v, l % 16 },
		flags: waveFlag(lanes)}
}

func waveFlag(lanes int) []string {
	if lanes == 64 {
		return []string{"-mwavefrontsize64"}
	}
	return nil
}

func shapes() []shape {
	var s []shape
	for _, c := range []struct{ p, t string }{{"mi100", "gfx908"}, {"mi210", "gfx90a"}, {"mi300x", "gfx942"}} {
		s = append(s, mfma(c.p, c.t, "mfma_f32_32x32x8f16", 32, 8, "f16", "f32"), mfma(c.p, c.t, "mfma_f32_16x16x16f16", 16, 16, "f16", "f32"),
			mfma(c.p, c.t, "mfma_f32_16x16x4f32", 16, 4, "f32", "f32"), mfma(c.p, c.t, "mfma_f32_32x32x2f32", 32, 2, "f32", "f32"))
		if c.t != "gfx942" {
			s = append(s, mfma(c.p, c.t, "mfma_i32_32x32x8i8", 32, 8, "i8", "i32"))
		}
		if c.t != "gfx908" {
			s = append(s, mfma(c.p, c.t, "mfma_f64_16x16x4f64", 16, 4, "f64", "f64"), mfma(c.p, c.t, "mfma_f32_32x32x8bf16_1k", 32, 8, "bf16", "f32"))
		}
	}
	s = append(s, mfma("mi300x", "gfx942", "mfma_i32_16x16x32_i8", 16, 32, "i8", "i32"), mfma("mi300x", "gfx942", "mfma_f32_32x32x16_fp8_fp8", 32, 16, "fp8", "f32"))
	for _, k := range []struct{ name, in, out string }{{"wmma_f32_f16", "f16", "f32"}, {"wmma_f32_bf16", "bf16", "f32"}, {"wmma_i32_iu8", "i8", "i32"}} {
		for _, lanes := range []int{32, 64} {
			s = append(s, wmma11("rx7900xtx", "gfx1100", k.name, k.in, k.out, lanes), wmma11("strixhalo", "gfx1151", k.name, k.in, k.out, lanes),
				wmma12("rx9070xt", "gfx1201", k.name, k.in, k.out, lanes))
		}
	}
	return s
}

// TestRealMatrix compares matrix instructions in compiled code with a plain product. Inputs are small integers, so that no order
// of additions matters; on gfx11 they have one sign, as its adder is not exact otherwise.
func TestRealMatrix(t *testing.T) {
	made := map[string]*code{}
	for _, s := range shapes() {
		key := s.tgt + strings.Join(s.flags, "")
		if made[key] == nil {
			made[key] = newCodeOf(t, "matrix.hip", s.profile, s.tgt, append(s.flags, "-O2")...)
		}
		t.Run(key+"/"+s.kernel, func(t *testing.T) {
			c := made[key]
			c.t = t
			in, out := elements[s.in], elements[s.out]
			a, b, cc := make([][]int, s.m), make([][]int, s.m), make([][]int, s.m) // b by columns
			for i := range s.m {
				a[i], b[i], cc[i] = make([]int, s.k), make([]int, s.k), make([]int, s.m)
				for k := range s.k {
					a[i][k], b[i][k] = s.min+rand.Intn(8), s.min+rand.Intn(8)
				}
				for j := range s.m {
					cc[i][j] = rand.Intn(100)
				}
			}
			nd := s.m * s.m / s.lanes
			va, ab := c.alloc(uint64(s.lanes * s.per * in.bytes))
			vb, bb := c.alloc(uint64(s.lanes * s.per * in.bytes))
			vc, cb := c.alloc(uint64(s.lanes * nd * out.bytes))
			vd, db := c.alloc(uint64(s.lanes * nd * out.bytes))
			for l := range s.lanes {
				for e := range s.per {
					i, k := s.a(l, e)
					in.enc(ab[(l*s.per+e)*in.bytes:], a[i][k])
					in.enc(bb[(l*s.per+e)*in.bytes:], b[i][k])
				}
				for v := range nd {
					i, j := s.d(l, v)
					out.enc(cb[(l*nd+v)*out.bytes:], cc[i][j])
				}
			}
			c.run(s.kernel, line(uint32(s.lanes)), line(uint32(s.lanes)), va, vb, vc, vd)
			for l := range s.lanes {
				for v := range nd {
					i, j := s.d(l, v)
					want := cc[i][j]
					for k := range s.k {
						want += a[i][k] * b[j][k]
					}
					if got := out.dec(db[(l*nd+v)*out.bytes:]); got != float64(want) {
						t.Fatalf("row %d, column %d is %v, want %d", i, j, got, want)
					}
				}
			}
		})
	}
}
