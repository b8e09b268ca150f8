//go:build linux && amd64

package jit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// kernels compiles testdata/kernels.hip for a target, once for each text.
func kernels(t testing.TB, target string) *codeobj.Object {
	t.Helper()
	const src = "testdata/kernels.hip"
	text, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256(append(text, target...))
	out := filepath.Join(os.TempDir(), "pumice-jit-"+hex.EncodeToString(h[:8])+".co")
	if _, err := os.Stat(out); err != nil {
		cc, err := exec.LookPath("hipcc")
		if err != nil {
			missing(t, "there is no hipcc")
		}
		tmp := out + fmt.Sprint(os.Getpid())
		if b, err := exec.Command(cc, "--genco", "-O3", "--offload-arch="+target, "-o", tmp, src).CombinedOutput(); err != nil {
			t.Fatalf("hipcc: %v\n%s", err, b)
		}
		if err := os.Rename(tmp, out); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := codeobj.OpenBundle(b)
	if err != nil {
		t.Fatal(err)
	}
	want, err := codeobj.ParseTarget(target)
	if err != nil {
		t.Fatal(err)
	}
	e, err := bundle.Select(want)
	if err != nil {
		t.Fatal(err)
	}
	o, err := e.Object()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// gpu is a toy: one flat memory, one code object, one engine, one thread.
type gpu struct {
	t      testing.TB
	space  *flat
	ms     *mem.Space
	target *isa.Target
	obj    *codeobj.Object
	top    uint64 // bump allocator
	e      engine.Engine
	k      engine.Worker
	state  []byte
	lds    []byte
}

const codeVA = 0x7000_0000_0000

func newGPU(t testing.TB, target string, e engine.Engine, size int) *gpu {
	b, err := rt.Memory(size)
	if err != nil {
		t.Fatal(err)
	}
	g := &gpu{t: t, space: &flat{va: codeVA, b: b}, target: isa.TargetByName(target), obj: kernels(t, target), e: e, k: e.NewWorker()}
	g.ms = &mem.Space{Translator: g.space, SharedBase: 1 << 48, PrivateBase: 2 << 48}
	for i := range g.obj.Segments {
		s := &g.obj.Segments[i]
		copy(b[s.VAddr:], s.Data)
	}
	g.top = (g.obj.ImageSize() + 4095) &^ 4095
	g.state, _ = rt.Memory(32 * wave.StateSize(64, 512, 0))
	g.lds, _ = rt.Memory(64 << 10)
	t.Cleanup(func() {
		g.k.Close()
		rt.Free(b)
		rt.Free(g.state)
		rt.Free(g.lds)
	})
	return g
}

// alloc gives device memory and its host view.
func (g *gpu) alloc(n int) (uint64, []byte) {
	at := g.top
	g.top += uint64(n+4095) &^ 4095
	return codeVA + at, g.space.b[at : at+uint64(n) : at+uint64(n)]
}

func floats(b []byte) []float32 { return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4) }
func words(b []byte) []uint32   { return unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), len(b)/4) }

// args packs kernel arguments by their natural alignment.
func args(xs ...any) []byte {
	var b []byte
	pad := func(n int) {
		for len(b)%n != 0 {
			b = append(b, 0)
		}
	}
	for _, x := range xs {
		switch x := x.(type) {
		case int:
			pad(4)
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		case float32:
			pad(4)
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		case uint64:
			pad(8)
			b = binary.LittleEndian.AppendUint64(b, x)
		}
	}
	return b
}

// launch runs a kernel over a grid of work-groups of block×1×1 or bx×by work-items.
func (g *gpu) launch(name string, grid, block [2]int, arg []byte) {
	g.t.Helper()
	ki, err := g.obj.Kernel(name)
	if err != nil {
		g.t.Fatal(err)
	}
	top := g.top
	defer func() { g.top = top }()
	kernarg, kb := g.alloc(4096)
	clear(kb)
	copy(kb, arg)
	// hidden arguments (code object V5): block counts and group sizes
	for _, a := range ki.Args {
		put := func(x uint32) {
			switch a.Size {
			case 2:
				binary.LittleEndian.PutUint16(kb[a.Offset:], uint16(x))
			case 4:
				binary.LittleEndian.PutUint32(kb[a.Offset:], x)
			}
		}
		switch a.Kind {
		case codeobj.HiddenBlockCountX:
			put(uint32(grid[0]))
		case codeobj.HiddenBlockCountY:
			put(uint32(grid[1]))
		case codeobj.HiddenBlockCountZ, codeobj.HiddenGroupSizeZ:
			put(1)
		case codeobj.HiddenGroupSizeX:
			put(uint32(block[0]))
		case codeobj.HiddenGroupSizeY:
			put(uint32(block[1]))
		}
	}
	packet, pb := g.alloc(4096)
	clear(pb)
	binary.LittleEndian.PutUint16(pb[4:], uint16(block[0]))
	binary.LittleEndian.PutUint16(pb[6:], uint16(block[1]))
	binary.LittleEndian.PutUint16(pb[8:], 1)
	binary.LittleEndian.PutUint32(pb[12:], uint32(grid[0]*block[0]))
	binary.LittleEndian.PutUint32(pb[16:], uint32(grid[1]*block[1]))
	binary.LittleEndian.PutUint32(pb[20:], 1)
	proc := codeobj.LookupProcessor(g.target.Name)
	d := &ki.Desc
	lanes := 64
	if d.Wavefront32() {
		lanes = 32
	}
	var user []uint32
	p64 := func(x uint64) { user = append(user, uint32(x), uint32(x>>32)) }
	if d.Properties&codeobj.EnablePrivateSegmentBuffer != 0 {
		user = append(user, 0, 0, 0, 0)
	}
	if d.Properties&codeobj.EnableDispatchPtr != 0 {
		p64(packet)
	}
	if d.Properties&codeobj.EnableQueuePtr != 0 {
		p64(packet)
	}
	if d.Properties&codeobj.EnableKernargSegmentPtr != 0 {
		p64(kernarg)
	}
	if d.Properties&codeobj.EnableDispatchID != 0 {
		p64(0)
	}
	if d.Properties&codeobj.EnableFlatScratchInit != 0 {
		p64(0)
	}
	for len(user) < int(d.UserSGPRCount()) {
		user = append(user, 0)
	}
	items := block[0] * block[1]
	nw := (items + lanes - 1) / lanes
	nv, na := int(d.ArchVGPRs(proc)), int(d.AccVGPRs(proc))
	size := (wave.StateSize(lanes, nv, na) + 63) &^ 63
	mode := d.ModeBits()
	if d.DX10Clamp() {
		mode |= 1 << 8
	}
	if d.IEEEMode() {
		mode |= 1 << 9
	}
	waves := make([]wave.Wave, nw)
	target := g.target.Wave(lanes)
	if h, ok := g.k.(engine.Holder); ok {
		h.Hold(g.ms)
		defer h.Release()
	}
	for gy := range grid[1] {
		for gx := range grid[0] {
			clear(g.lds[:ki.GroupSegmentFixedSize])
			state := make([]int, nw) // 0 ready, 1 barrier, 2 ended
			for i := range waves {
				w := &waves[i]
				st := g.state[i*size : (i+1)*size]
				clear(st)
				w.Bind(unsafe.Pointer(&st[0]), lanes, nv, na)
				w.Target, w.Space = target, g.ms
				w.LDS, w.LDSLen = uint64(uintptr(unsafe.Pointer(&g.lds[0]))), uint64(ki.GroupSegmentFixedSize+511)&^511
				w.PC = codeVA + ki.EntryVA
				w.S[isa.SRegMODE] = mode
				n := copy(w.S[:], user)
				if d.WorkgroupID(0) {
					w.S[n] = uint32(gx)
					n++
				}
				if d.WorkgroupID(1) {
					w.S[n] = uint32(gy)
				}
				w.S[isa.SRegTTMP0+9] = uint32(gx)
				w.S[isa.SRegTTMP0+7] = uint32(gy)
				exec := ^uint64(0)
				if left := items - i*lanes; left < 64 {
					exec = 1<<left - 1
				}
				if lanes == 32 {
					exec = uint64(uint32(exec))
				}
				w.SetEXEC(exec)
				for l := range lanes {
					id := i*lanes + l
					x, y := uint32(id%block[0]), uint32(id/block[0])
					if g.target.PackedTID {
						w.VGPR(0)[l] = x | y<<10
					} else {
						w.VGPR(0)[l] = x
						if nv > 1 {
							w.VGPR(1)[l] = y
						}
					}
				}
			}
			live := nw
			if c, ok := g.k.(engine.CrewRunner); ok {
				for i := range waves {
					waves[i].Fuel = 1 << 30
				}
				i, x, arrived, _ := c.RunCrew(waves, false)
				for j := range waves {
					if arrived>>j&1 != 0 {
						state[j] = 1
					}
				}
				if i >= 0 {
					switch x {
					case ir.ExitEndPgm:
						state[i] = 2
						live--
					case ir.ExitBarrier:
						state[i] = 1
					case ir.ExitFuel:
					default:
						g.t.Fatalf("%s: wave %d of group %d,%d left at %#x: %s %s %v", name, i, gx, gy, waves[i].PC-codeVA, x, waves[i].Illegal, waves[i].Fault)
					}
				}
			}
			for down := false; live > 0; down = !down {
				at := 0
				for i := range waves {
					if down {
						i = nw - 1 - i
					}
					w := &waves[i]
					if state[i] != 0 {
						if state[i] == 1 {
							at++
						}
						continue
					}
					w.Fuel = 1 << 30
					switch x := g.k.Run(w); x {
					case ir.ExitEndPgm:
						state[i] = 2
						live--
					case ir.ExitBarrier:
						state[i] = 1
						at++
					case ir.ExitFuel:
					default:
						g.t.Fatalf("%s: wave %d of group %d,%d left at %#x: %s %s %v", name, i, gx, gy, w.PC-codeVA, x, w.Illegal, w.Fault)
					}
				}
				if live > 0 && at == live {
					for i := range state {
						if state[i] == 1 {
							state[i] = 0
						}
					}
				}
			}
		}
	}
}

// job sets up inputs, launches, and returns the outputs.
type job struct {
	name string
	run  func(g *gpu) []byte
}

func fillFloats(b []byte, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range floats(b) {
		floats(b)[i] = r.Float32()*4 - 2
	}
}

var jobs = []job{
	{"vadd", func(g *gpu) []byte {
		const n = 5000
		a, ab := g.alloc(4 * n)
		b, bb := g.alloc(4 * n)
		c, cb := g.alloc(4 * n)
		fillFloats(ab, 1)
		fillFloats(bb, 2)
		g.launch("vadd", [2]int{20, 1}, [2]int{256, 1}, args(a, b, c, n))
		return cb
	}},
	{"fmachain", func(g *gpu) []byte {
		c, cb := g.alloc(4 * 512)
		g.launch("fmachain", [2]int{2, 1}, [2]int{256, 1}, args(c, float32(0.99), float32(0.5), 100))
		return cb
	}},
	{"sgemm16", func(g *gpu) []byte {
		const m, n, k = 50, 70, 45
		a, ab := g.alloc(4 * m * k)
		b, bb := g.alloc(4 * k * n)
		c, cb := g.alloc(4 * m * n)
		fillFloats(ab, 1)
		fillFloats(bb, 2)
		fillFloats(cb, 3)
		g.launch("sgemm16", [2]int{5, 4}, [2]int{16, 16}, args(m, n, k, float32(0.5), a, b, float32(2), c))
		return cb
	}},
	{"sgemm64", func(g *gpu) []byte {
		const n, k = 128, 64
		a, ab := g.alloc(4 * n * k)
		b, bb := g.alloc(4 * k * n)
		c, cb := g.alloc(4 * n * n)
		fillFloats(ab, 1)
		fillFloats(bb, 2)
		g.launch("sgemm64", [2]int{2, 2}, [2]int{256, 1}, args(n, k, a, b, c))
		return cb
	}},
	{"sgemm64v", func(g *gpu) []byte {
		const n, k = 128, 64
		a, ab := g.alloc(4 * n * k)
		b, bb := g.alloc(4 * k * n)
		c, cb := g.alloc(4 * n * n)
		fillFloats(ab, 1)
		fillFloats(bb, 2)
		g.launch("sgemm64v", [2]int{2, 2}, [2]int{256, 1}, args(n, k, a, b, c))
		return cb
	}},
	{"sgemm128", func(g *gpu) []byte {
		const n, k = 128, 24
		a, ab := g.alloc(4 * n * k)
		b, bb := g.alloc(4 * k * n)
		c, cb := g.alloc(4 * n * n)
		fillFloats(ab, 1)
		fillFloats(bb, 2)
		g.launch("sgemm128", [2]int{1, 1}, [2]int{256, 1}, args(n, k, a, b, c))
		return cb
	}},
	{"reduce", func(g *gpu) []byte {
		const n = 10000
		a, ab := g.alloc(4 * n)
		c, cb := g.alloc(4 * 4)
		fillFloats(ab, 1)
		g.launch("reduce", [2]int{4, 1}, [2]int{256, 1}, args(a, c, n))
		return cb
	}},
	{"histogram", func(g *gpu) []byte {
		const n = 10000
		a, ab := g.alloc(4 * n)
		c, cb := g.alloc(4 * 256)
		fillFloats(ab, 1)
		clear(cb)
		g.launch("histogram", [2]int{4, 1}, [2]int{256, 1}, args(a, c, n))
		return cb
	}},
	{"votes", func(g *gpu) []byte {
		const n = 1000
		a, ab := g.alloc(4 * n)
		c, cb := g.alloc(4 * n)
		fillFloats(ab, 1)
		g.launch("votes", [2]int{2, 1}, [2]int{256, 1}, args(a, c, n))
		return cb
	}},
	{"nbody", func(g *gpu) []byte {
		const n = 256
		var p [4]uint64
		var b [4][]byte
		for i := range p {
			p[i], b[i] = g.alloc(8 * n)
			r := rand.New(rand.NewPCG(uint64(i), 3))
			for j := range n {
				binary.LittleEndian.PutUint64(b[i][8*j:], math.Float64bits(r.Float64()))
			}
		}
		g.launch("nbody", [2]int{1, 1}, [2]int{256, 1}, args(p[0], p[1], p[2], p[3], n))
		return b[3]
	}},
	{"shuffle", func(g *gpu) []byte {
		a, ab := g.alloc(4 * 256)
		c, cb := g.alloc(4 * 256)
		for i := range words(ab) {
			words(ab)[i] = uint32(i * 7 % 13)
		}
		g.launch("shuffle", [2]int{1, 1}, [2]int{256, 1}, args(a, c))
		return cb
	}},
	{"math", func(g *gpu) []byte {
		const n = 1000
		a, ab := g.alloc(4 * n)
		c, cb := g.alloc(4 * n)
		fillFloats(ab, 1)
		g.launch("math", [2]int{4, 1}, [2]int{256, 1}, args(a, c, n))
		return cb
	}},
	{"transpose", func(g *gpu) []byte {
		const n = 64
		a, ab := g.alloc(4 * n * n)
		c, cb := g.alloc(4 * n * n)
		fillFloats(ab, 1)
		g.launch("transpose", [2]int{4, 4}, [2]int{256, 1}, args(a, c, n))
		return cb
	}},
	{"wide", func(g *gpu) []byte {
		const n = 500
		a, ab := g.alloc(16 * n)
		b, bb := g.alloc(16 * n)
		c, cb := g.alloc(3 * n)
		d, db := g.alloc(n)
		e, eb := g.alloc(2 * n)
		fillFloats(ab, 1)
		copy(cb, ab)
		g.launch("wide", [2]int{2, 1}, [2]int{256, 1}, args(a, b, c, d, e, n))
		return append(append(append([]byte(nil), bb...), db...), eb...)
	}},
}

// TestKernels runs compiled HIP kernels on both engines.
func TestKernels(t *testing.T) { onEach(t, testKernels) }

func testKernels(t *testing.T) {
	needJIT(t)
	for _, target := range []string{"gfx90a", "gfx1030"} {
		t.Run(target, func(t *testing.T) {
			kernels(t, target)
			for _, j := range jobs {
				t.Run(j.name, func(t *testing.T) {
					je, err := New()
					if err != nil {
						t.Fatal(err)
					}
					want := j.run(newGPU(t, target, interp.New(), 4<<20))
					got := j.run(newGPU(t, target, je, 4<<20))
					for i := range want {
						if want[i] != got[i] {
							i &^= 3
							t.Fatalf("byte %d: %x, want %x", i, got[i:min(i+8, len(got))], want[i:min(i+8, len(got))])
						}
					}
					if je.Failed() > 0 {
						t.Errorf("%d functions did not compile", je.Failed())
					}
					s := je.Stats()
					t.Logf("%d instructions compiled in %d µs", s.InstsLifted, s.CompileNanos/1000)
				})
			}
		})
	}
}
