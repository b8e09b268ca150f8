package interp

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
	"github.com/pumice-gpu/pumice/internal/needs"
)

// machineCode is a compiled code object in an arena.
type machineCode struct {
	t      testing.TB
	target *isa.Target
	mem    *arena
	space  *mem.Space
	syms   map[string]uint64
	top    int // first free byte of the arena
	eng    engine.Engine
	wk     engine.Worker
	insts  int64 // guest instructions run
}

// compileCL compiles testdata/kernels.cl; the test is skipped where there is no compiler.
func compileCL(t testing.TB, cpu, opt string) *machineCode {
	t.Helper()
	clang := needs.Program(t, "clang-15")
	out := filepath.Join(t.TempDir(), "k.co")
	if msg, err := exec.Command(clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu="+cpu, "-nogpulib", opt, "-o", out,
		"testdata/kernels.cl").CombinedOutput(); err != nil {
		t.Fatalf("clang-15: %v\n%s", err, msg)
	}
	f, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k := &machineCode{t: t, mem: newArena(8192), syms: map[string]uint64{}, target: isa.TargetByName(cpu)}
	if k.target == nil {
		t.Fatalf("no target %s", cpu)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			p.ReadAt(k.mem.buf[p.Vaddr:][:p.Filesz], 0)
			k.top = max(k.top, int(p.Vaddr+p.Memsz))
		}
	}
	syms, _ := f.DynamicSymbols()
	for _, s := range syms {
		k.syms[s.Name] = s.Value
	}
	k.space = &mem.Space{Translator: k.mem, SharedBase: 1 << 48, PrivateBase: 2 << 48}
	k.eng = New()
	k.wk = k.eng.NewWorker()
	t.Cleanup(k.wk.Close)
	return k
}

// alloc returns the arena offset of n fresh bytes.
func (k *machineCode) alloc(n int) int {
	k.top = (k.top + 255) &^ 255
	at := k.top
	k.top += n
	if k.top > len(k.mem.buf) {
		k.t.Fatal("arena is full")
	}
	return at
}

// launch runs kernel name on groups of 256 work-items.
func (k *machineCode) launch(name string, groups int, args ...uint64) {
	k.t.Helper()
	kd := k.mem.buf[k.syms[name+".kd"]:][:64]
	u32 := func(o int) uint32 { return binary.LittleEndian.Uint32(kd[o:]) }
	ldsSize, private := int(u32(0)), int(u32(4))
	entry := k.mem.base + k.syms[name+".kd"] + binary.LittleEndian.Uint64(kd[16:])
	rsrc1, rsrc2, props := u32(48), u32(52), binary.LittleEndian.Uint16(kd[56:])
	lanes := 64
	if props>>10&1 != 0 {
		lanes = 32
	}
	private = (private + 63) &^ 63 // what a call may add is not modelled
	top := k.top
	kernarg := k.alloc(256)
	for i, a := range args {
		binary.LittleEndian.PutUint64(k.mem.buf[kernarg+8*i:], a)
	}
	waves := 256 / lanes
	scratch := k.alloc(waves*lanes*private + 4096)
	lds := make([]byte, ldsSize)
	ws := make([]*wave.Wave, waves)
	const nv = 256
	size := wave.StateSize(lanes, nv, nv)
	state := alignedWords(size / 4 * waves)
	for g := range groups {
		clear(state)
		for i := range ws {
			w := &wave.Wave{}
			w.Bind(unsafe.Pointer(&state[i*size/4]), lanes, nv, nv)
			w.Space, w.Target, w.PC, w.Fuel = k.space, k.target, entry, 1<<40
			w.SetEXEC(^uint64(0) >> (64 - lanes))
			w.Env = testEnv{}
			w.S[isa.SRegMODE] = rsrc1 >> 12 & 0xff
			w.S[isa.SRegMODE] |= rsrc1>>21&1<<8 | rsrc1>>23&1<<9
			if ldsSize > 0 {
				w.LDS, w.LDSLen = uint64(uintptr(unsafe.Pointer(&lds[0]))), uint64(ldsSize)
			}
			if k.target.ArchFlat {
				at := k.mem.base + uint64(scratch+i*lanes*private)
				w.S[isa.SRegFlatScratchLo], w.S[isa.SRegFlatScratchHi] = uint32(at), uint32(at>>32)
			}
			n := 0
			put := func(on bool, x ...uint32) {
				if on {
					n += copy(w.S[n:], x)
				}
			}
			pair := func(a uint64) []uint32 { return []uint32{uint32(a), uint32(a >> 32)} }
			sb := k.mem.base + uint64(scratch)
			swz := uint32(1 << 31)
			rsrcW := uint32(3<<21 | 1<<23 | 1<<19)
			if lanes == 32 {
				rsrcW = 2<<21 | 1<<23 | 3<<28
			}
			put(props&1 != 0, uint32(sb), uint32(sb>>32)|swz, 0xffffffff, rsrcW)
			put(props>>1&1 != 0, 0, 0)
			put(props>>2&1 != 0, 0, 0)
			put(props>>3&1 != 0, pair(k.mem.base+uint64(kernarg))...)
			put(props>>4&1 != 0, 0, 0)
			put(props>>5&1 != 0, pair(sb)...)
			put(props>>6&1 != 0, uint32(private))
			n = int(rsrc2 >> 1 & 31)
			put(rsrc2>>7&1 != 0, uint32(g))
			put(rsrc2>>8&1 != 0, 0)
			put(rsrc2>>9&1 != 0, 0)
			put(rsrc2>>10&1 != 0, 0)
			put(rsrc2&1 != 0 && !k.target.ArchFlat, uint32(i*lanes*private))
			for l := range lanes {
				w.VGPR(0)[l] = uint32(i*lanes + l)
			}
			ws[i] = w
		}
		for live := waves; live > 0; {
			for _, w := range ws {
				if w.Exit == uint32(ir.ExitEndPgm) {
					continue
				}
				f := w.Fuel
				e := k.wk.Run(w)
				k.insts += f - w.Fuel
				switch e {
				case ir.ExitEndPgm:
					live--
				case ir.ExitBarrier:
				default:
					k.t.Fatalf("%s %s: %v at +%#x: %s %v", k.target.Name, name, e, w.PC-k.mem.base, w.Illegal, w.Fault)
				}
			}
		}
	}
	k.top = top
}

// testEnv is a compute unit that answers nothing of interest.
type testEnv struct{}

func (testEnv) HWReg(*wave.Wave, uint32) uint32     { return 0 }
func (testEnv) SetHWReg(*wave.Wave, uint32, uint32) {}
func (testEnv) Time(uint64) uint64                  { return 0 }
func (testEnv) Msg(*wave.Wave, uint32, uint32)      {}
func (testEnv) MsgRtn(*wave.Wave, uint32) uint64    { return 0 }

func slice[T any](k *machineCode, at, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&k.mem.buf[at])), n)
}

var targets = []struct{ cpu, opt string }{{"gfx90a", "-O3"}, {"gfx90a", "-O0"}, {"gfx906", "-O3"}, {"gfx906", "-O0"}, {"gfx1030", "-O3"}, {"gfx1030", "-O0"},
	{"gfx1100", "-O3"}, {"gfx1100", "-O0"}, {"gfx900", "-O0"}, {"gfx940", "-O3"}, {"gfx940", "-O0"}}

// TestCompiled runs compiled kernels from machine code, against Go.
func TestCompiled(t *testing.T) {
	for _, c := range targets {
		t.Run(c.cpu+c.opt, func(t *testing.T) {
			k := compileCL(t, c.cpu, c.opt)
			const n = 1000
			a, b, out := k.alloc(n*8), k.alloc(n*8), k.alloc(n*8)
			r := rand.New(rand.NewPCG(1, 2))
			run := func(name string, fill func(i int), check func(i int) (got, want any)) {
				t.Run(name, func(t *testing.T) {
					k.t = t
					clear(slice[byte](k, out, n*8))
					for i := range n {
						fill(i)
					}
					k.launch(name, 4, k.mem.base+uint64(out), k.mem.base+uint64(a), k.mem.base+uint64(b), n)
					for i := range n {
						if g, w := check(i); g != w {
							t.Fatalf("element %d = %v, want %v", i, g, w)
						}
					}
				})
			}
			fa, fb, fo := slice[float32](k, a, n), slice[float32](k, b, n), slice[float32](k, out, n)
			da, db, do := slice[float64](k, a, n), slice[float64](k, b, n), slice[float64](k, out, n)
			ia, ib, io := slice[int32](k, a, n), slice[int32](k, b, n), slice[int32](k, out, n)
			la, lb, lo := slice[int64](k, a, n), slice[int64](k, b, n), slice[int64](k, out, n)
			floats := func(i int) {
				fa[i] = math.Float32frombits(r.Uint32())
				fb[i] = math.Float32frombits(r.Uint32())
			}
			f32 := func(x float32) string { // NaNs are alike
				if x != x {
					return "NaN"
				}
				return fmt.Sprint(math.Float32bits(x))
			}
			ints := func(i int) { ia[i], ib[i] = int32(r.Uint32()), int32(r.Uint32()>>r.UintN(32)) }
			run("vadd", floats, func(i int) (any, any) { return f32(fo[i]), f32(fa[i] + fb[i]) })
			run("fdiv", floats, func(i int) (any, any) {
				// OpenCL division without -cl-fp32-correctly-rounded-divide-sqrt is within 2.5 ulp.
				w := fa[i] / fb[i]
				d := int64(math.Float32bits(fo[i])) - int64(math.Float32bits(w))
				if d >= -3 && d <= 3 || fo[i] != fo[i] && w != w || math.Abs(float64(w)) < 1e-37 || math.Abs(float64(fb[i])) > 1e38 {
					return 0, 0
				}
				return fo[i], w
			})
			run("ddiv", func(i int) { da[i], db[i] = math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64()) }, func(i int) (any, any) {
				if w := da[i] / db[i]; w == w || do[i] == do[i] {
					return do[i], w
				}
				return 0, 0
			})
			run("idiv", ints, func(i int) (any, any) { d := ib[i] | 1; return io[i], ia[i]/d + ia[i]%d*7 })
			run("ldiv64", func(i int) { la[i], lb[i] = int64(r.Uint64()), int64(r.Uint64()>>r.UintN(64)) }, func(i int) (any, any) {
				return lo[i], la[i]/(lb[i]|1) ^ la[i]*lb[i]
			})
			run("collatz", ints, func(i int) (any, any) {
				x, s := uint32(ia[i])&0xffff|1, int32(0)
				for x != 1 && s < 500 {
					if x&1 != 0 {
						x = 3*x + 1
					} else {
						x >>= 1
					}
					s++
				}
				return io[i], s
			})
			run("scratch", ints, func(i int) (any, any) {
				var tab [64]int32
				for k := range int32(64) {
					tab[(k*7+ia[i])&63] = k ^ ia[i]
				}
				s := int32(0)
				for k := range int32(16) {
					s = s*31 + tab[(ib[i]+k*k)&63]
				}
				return io[i], s
			})
			run("reduce", ints, func(i int) (any, any) {
				if i >= 4 {
					return 0, 0
				}
				s := int32(0)
				for j := i * 256; j < min(n, i*256+256); j++ {
					s += ia[j]
				}
				return io[i], s
			})
			run("hist", ints, func(i int) (any, any) {
				c := int32(0)
				for j := range n {
					if int(ia[j]&63) == i {
						c++
					}
				}
				return io[i], c
			})
			run("halves", ints, func(i int) (any, any) {
				// Products and sums of small integers are exact in float32; each step rounds to half. f16 contraction is off.
				x, y := float64(ia[i]&1023), float64(ib[i]&255)
				fused, two := halfBits(x*y+x), halfBits(halfVal(halfBits(x*y))+x)
				got := uint32(io[i])
				want := two
				if uint16(got) == fused {
					want = fused
				}
				return got, uint32(want) | uint32(bits.OnesCount32(uint32(ia[i])))<<16
			})
		})
	}
}

func halfBits(x float64) uint16 {
	if x == 0 {
		return 0
	}
	fr, e := math.Frexp(x)
	m := math.RoundToEven(fr * 2048)
	v := math.Ldexp(m, e-11)
	if v >= 65536 {
		return 0x7c00
	}
	fr, e = math.Frexp(v)
	return uint16((e+14)<<10) + uint16(fr*2048) - 1024
}

func halfVal(b uint16) float64 {
	if b == 0x7c00 {
		return math.Inf(1)
	}
	if b == 0 {
		return 0
	}
	return math.Ldexp(float64(b&1023|1024), int(b>>10)-25)
}

func TestCompiledSGEMM(t *testing.T) {
	for _, c := range targets {
		t.Run(c.cpu+c.opt, func(t *testing.T) {
			k := compileCL(t, c.cpu, c.opt)
			for _, kern := range []struct {
				name   string
				n, til int
			}{{"sgemm", 48, 16}, {"sgemm4", 64, 64}} {
				n := kern.n
				a, b, out := k.alloc(n*n*4), k.alloc(n*n*4), k.alloc(n*n*4)
				fa, fb, fo := slice[float32](k, a, n*n), slice[float32](k, b, n*n), slice[float32](k, out, n*n)
				for i := range fa {
					fa[i], fb[i] = float32(i%7)-3, float32(i%5)*0.5
				}
				k.launch(kern.name, (n/kern.til)*(n/kern.til), k.mem.base+uint64(out), k.mem.base+uint64(a), k.mem.base+uint64(b), uint64(n))
				for i := range n {
					for j := range n {
						w := float32(0)
						for e := range n {
							w += fa[i*n+e] * fb[e*n+j] // exact: small multiples of one half
						}
						if fo[i*n+j] != w {
							t.Fatalf("%s[%d][%d] = %v, want %v", kern.name, i, j, fo[i*n+j], w)
						}
					}
				}
			}
		})
	}
}

// BenchmarkCompiledSGEMM is the whole 4x4-per-thread kernel from machine code.
func BenchmarkCompiledSGEMM(b *testing.B) {
	for _, cpu := range []string{"gfx90a", "gfx1030"} {
		b.Run(cpu, func(b *testing.B) {
			k := compileCL(b, cpu, "-O3")
			const n = 128
			x, y, out := k.alloc(n*n*4), k.alloc(n*n*4), k.alloc(n*n*4)
			fx, fy := slice[float32](k, x, n*n), slice[float32](k, y, n*n)
			for i := range fx {
				fx[i], fy[i] = float32(i%7)-3, float32(i%5)*0.5
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			begin := cpuSeconds()
			for b.Loop() {
				k.launch("sgemm4", 4, k.mem.base+uint64(out), k.mem.base+uint64(x), k.mem.base+uint64(y), n)
			}
			b.ReportMetric(float64(b.N)*2*n*n*n/(cpuSeconds()-begin)/1e9, "GFLOP/s")
		})
	}
}

// BenchmarkCompiledVadd is vadd from machine code, launch included.
func BenchmarkCompiledVadd(b *testing.B) {
	k := compileCL(b, "gfx90a", "-O3")
	const n = 256 * 64
	x, y, out := k.alloc(n*4), k.alloc(n*4), k.alloc(n*4)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := cpuSeconds()
	for b.Loop() {
		k.launch("vadd", n/256, k.mem.base+uint64(out), k.mem.base+uint64(x), k.mem.base+uint64(y), n)
	}
	b.ReportMetric(float64(b.N)*n*12/(cpuSeconds()-begin)/1e9, "GB/s")
}
