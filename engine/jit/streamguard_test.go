//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// guardRig runs one wave of a kernel in stream form.
type guardRig struct {
	*rig
	t   *testing.T
	sp  *streamSpace
	tlb *mem.TLB
	m   *machine
	cm  rt.CodeMemory
}

func newGuardRig(t *testing.T) *guardRig {
	g := &guardRig{rig: newRig(t, 64, 4), t: t, tlb: mem.NewTLB()}
	g.sp = &streamSpace{flat: *g.space, piece: mem.PageSize, rights: make([]mem.Access, 32)}
	g.sp.b = g.sp.b[:32*mem.PageSize]
	for i := range g.sp.rights {
		g.sp.rights[i] = mem.Read | mem.Write
	}
	clear(g.sp.b)
	g.w.Space = &mem.Space{Translator: g.sp}
	g.tlb.Enter(g.w.Space)
	g.m = &machine{tlb: g.tlb}
	t.Cleanup(func() {
		g.tlb.Close()
		g.m.close()
		g.cm.Close()
		g.free()
	})
	return g
}

// compile makes the stream form of a kernel, for waves or for work-groups of one wave all at once.
func (g *guardRig) compile(text string) *installed      { return g.compileUnit(text, 0, false) }
func (g *guardRig) compileBatch(text string) *installed { return g.compileUnit(text, 1, true) }

func (g *guardRig) compileUnit(text string, group int, whole bool) *installed {
	g.t.Helper()
	f, err := ir.Parse(text)
	if err == nil {
		err = ir.Verify(f)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	p, err := new(compiler).compileStream(f, []int{streamX}, group, whole, HostOptions())
	if err != nil {
		g.t.Fatal(err)
	}
	ip, err := install(&g.cm, p)
	if err != nil {
		g.t.Fatal(err)
	}
	return ip
}

// run runs a wave with the given s30:31, s9 and s10; it reports whether the form took it.
func (g *guardRig) run(ip *installed, base uint64, s9, s10 uint32) bool {
	return g.runBatch(ip, base, s9, s10, 1)
}

// runBatch is run for several work-groups of one wave.
func (g *guardRig) runBatch(ip *installed, base uint64, s9, s10 uint32, groups int) bool {
	clear(g.w.S[:])
	g.w.SetEXEC(^uint64(0))
	g.w.S[30], g.w.S[31], g.w.S[9], g.w.S[10] = uint32(base), uint32(base>>32), s9, s10
	g.w.PC, g.w.Fuel = ip.Func.PC, 1<<20
	b := &engine.Batch{W: g.w, Groups: groups, Waves: 1, X: []int{streamX}, Items: []engine.ItemSeries{{First: []uint32{0}, Step: 1}}}
	return g.m.stream(b, ip, groups) == groups
}

func (g *guardRig) word(at uint64) uint32 {
	return binary.LittleEndian.Uint32(g.sp.b[at:])
}

// Lanes whose 32-bit index becomes negative are not where sign extension of the first one puts them.
func TestStreamSignGuard(t *testing.T) {
	onEach(t, func(t *testing.T) {
		g := newGuardRig(t)
		ip := g.compile(`func 0x20000 lanes=64
b0 @0 insts=6:
  %0:m = mget imm=126 @0
  %1:v32 = vget imm=0 @0
  %2:s32 = sget imm=9 @0
  %3:v32 = add %1, %2 @0
  %4:v64 = sext64 %3 @4
  %5:s32 = const imm=2 @4
  %6:v64 = shl %4, %5 @4
  %7:s64 = sget64 imm=30 @8
  %8 = store %7, %6, %0, %1 space=global width=4 @8
  exit endpgm @12
`)
		for _, c := range []struct {
			first uint32
			fits  bool
		}{{5, true}, {0x7fffffff - 63, true}, {0x7fffffff - 62, false}, {0x7fffffff - 20, false}, {0x80000000, true}, {0xffffffff - 63, true}, {0xffffffff - 20, true}} {
			base := g.sp.va + 2*mem.PageSize - uint64(int64(int32(c.first))*4)
			if got := g.run(ip, base, c.first, 0); got != c.fits {
				t.Errorf("first index %#x: %v", c.first, got)
			}
			if c.fits && g.word(2*mem.PageSize+4*63) != 63 {
				t.Errorf("first index %#x: nothing was stored", c.first)
			}
			clear(g.sp.b)
		}
	})
}

// A range that a read has filled says nothing about writes.
func TestStreamWriteRights(t *testing.T) {
	onEach(t, func(t *testing.T) {
		g := newGuardRig(t)
		ip := g.compile(`func 0x20000 lanes=64
b0 @0 insts=3:
  %0:m = mget imm=126 @0
  %1:v32 = vget imm=0 @0
  %2:s32 = const imm=2 @0
  %3:v32 = shl %1, %2 @0
  %4:s64 = sget64 imm=30 @0
  %5 = store %4, %3, %0, %1 space=global width=4 @4
  exit endpgm @8
`)
		at := g.sp.va + 3*mem.PageSize
		g.sp.rights[3] = mem.Read
		if i := ip.spans[0].index; !g.tlb.Span(i, at, 256, mem.Read) || g.tlb.Ranges[i].R == 0 {
			t.Fatal("the range was not filled")
		}
		if g.run(ip, at, 0, 0) || g.word(3*mem.PageSize+4*63) != 0 {
			t.Error("a store to memory that may be read only")
		}
		if !g.run(ip, at+mem.PageSize, 0, 0) || g.word(4*mem.PageSize+4*63) != 63 {
			t.Error("a store that may be done was not")
		}
	})
}

// A wave for which a comparison holds in no lane ends when the way that it takes does, and not when that way has a branch of its own, which
// may lead to a store.
func TestStreamQuietFork(t *testing.T) {
	onEach(t, func(t *testing.T) {
		g := newGuardRig(t)
		kernel := func(other string) *installed {
			return g.compile(`func 0x20000 lanes=64
b0 @0 insts=4:
  %0:m = mget imm=126 @0
  %1:v32 = vget imm=0 @0
  %2:s32 = sget imm=9 @0
  %3:m = icmp %1, %2 pred=ult @0
  %4:m = mand %3, %0 @0
  %5:s1 = misz %4 @0
  branch %5 b2 b1 @4
b1 @8 insts=2:
  %6:m = mget imm=126 @8
  %7:v32 = vget imm=0 @8
  %8:s32 = const imm=2 @8
  %9:v32 = shl %7, %8 @8
  %10:s64 = sget64 imm=30 @8
  %11 = store %10, %9, %6, %7 space=global width=4 @8
  exit endpgm @12
` + other)
		}
		base := g.sp.va + mem.PageSize
		plain := kernel("b2 @16 insts=1:\n  exit endpgm @16\n")
		if !g.run(plain, base, 64, 0) || g.word(mem.PageSize+4*63) != 63 {
			t.Error("a wave that stores did not run")
		}
		clear(g.sp.b)
		if !g.run(plain, base, 0, 0) || g.word(mem.PageSize+4*63) != 0 {
			t.Error("a wave without a store did not end")
		}
		forked := kernel(`b2 @16 insts=2:
  %20:s32 = sget imm=10 @16
  %21:s32 = const imm=0 @16
  %22:s1 = icmp %20, %21 pred=eq @16
  branch %22 b3 b4 @20
b3 @24 insts=1:
  exit endpgm @24
b4 @28 insts=2:
  %23:m = mget imm=126 @28
  %24:v32 = vget imm=0 @28
  %25:s32 = const imm=2 @28
  %26:v32 = shl %24, %25 @28
  %27:s64 = sget64 imm=30 @28
  %28 = store %27, %26, %23, %24 space=global width=4 @28
  exit endpgm @32
`)
		if !g.run(forked, base, 64, 1) {
			t.Error("a wave that stores did not run")
		}
		for _, s10 := range []uint32{0, 1} {
			if g.run(forked, base, 0, s10) {
				t.Errorf("s10 = %d: a wave ended that has a branch before it", s10)
			}
		}
	})
}

// All work-groups of a batch have to fit what is known of the addresses, not the first one only; and they have to go on from each other.
func TestStreamBatchGuards(t *testing.T) {
	onEach(t, func(t *testing.T) {
		g := newGuardRig(t)
		ip := g.compileBatch(`func 0x20000 lanes=64
b0 @0 insts=5:
  %0:m = mget imm=126 @0
  %1:v32 = vget imm=0 @0
  %2:s32 = sget imm=8 @0
  %3:s32 = sget imm=9 @0
  %4:s32 = mul %2, %3 @0
  %5:v32 = add %4, %1 @0
  %6:s32 = const imm=2 @0
  %7:v32 = shl %5, %6 @0
  %8:s64 = sget64 imm=30 @0
  %9:s32 = sget imm=10 @0
  %10:v32 = splat %9 @0
  %11 = store %8, %7, %0, %10 space=global width=4 @4
  exit endpgm @8
`)
		const page = mem.PageSize
		at := g.sp.va + 3*page
		g.sp.rights[4] = mem.Read
		if !g.runBatch(ip, at, 64, 1, 2) || g.word(3*page+4*127) != 1 || g.word(3*page+4*128) != 0 {
			t.Error("two work-groups that fit")
		}
		if g.runBatch(ip, at, 64, 2, 17) || g.word(4*page) != 0 || g.word(3*page) != 1 {
			t.Error("the last work-group may not write")
		}
		if !g.runBatch(ip, at, 64, 3, 16) || g.word(3*page+4*1023) != 3 {
			t.Error("all work-groups of a page")
		}
		for _, size := range []uint32{0, 32, 63, 65, 0xffffffff} {
			if g.runBatch(ip, at, size, 4, 2) || g.word(3*page) != 3 {
				t.Errorf("work-groups %d apart", size)
			}
		}
	})
}

// The first lane's value of an index is another one in each wave of a work-group.
func TestStreamFirstLaneOfWaves(t *testing.T) {
	f, err := ir.Parse(`func 0x20000 lanes=64
b0 @0 insts=5:
  %0:m = mget imm=126 @0
  %1:v32 = vget imm=0 @0
  %2:s32 = readfirst %1, %0 @0
  %3:v32 = splat %2 @0
  %4:s32 = const imm=2 @0
  %5:v32 = shl %1, %4 @0
  %6:s64 = sget64 imm=30 @0
  %7 = store %6, %5, %0, %3 space=global width=4 @4
  exit endpgm @8
`)
	if err == nil {
		err = ir.Verify(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		group int
		whole bool
		ok    bool
	}{{0, false, true}, {4, false, false}, {4, true, false}} {
		if _, err := new(compiler).compileStream(f, []int{streamX}, c.group, c.whole, HostOptions()); (err == nil) != c.ok {
			t.Errorf("units of %d waves, all %v: %v", c.group, c.whole, err)
		}
	}
}

// farSpace has page 5 of a streamSpace at another address too.
type farSpace struct {
	*streamSpace
	far uint64
}

func (s *farSpace) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	if va>>mem.PageShift != s.far>>mem.PageShift {
		return s.streamSpace.Translate(va, a)
	}
	p, _, rights, f := s.streamSpace.Translate(s.va+5*mem.PageSize+va-s.far, a)
	return p, mem.PageSize - va&(mem.PageSize-1), rights, f
}

// Two scalar loads whose pages have one entry of the TLB.
func TestStreamScalarPages(t *testing.T) {
	onEach(t, func(t *testing.T) {
		g := newGuardRig(t)
		const page = mem.PageSize
		entry := func(va uint64) uint64 { p := va >> mem.PageShift; return (p ^ p>>12) & 4095 }
		near := g.sp.va + 2*page
		far := near + 4096*page
		for entry(far) != entry(near) {
			far += page
		}
		g.tlb.Leave()
		g.w.Space = &mem.Space{Translator: &farSpace{g.sp, far}}
		g.tlb.Enter(g.w.Space)
		ip := g.compile(fmt.Sprintf(`func 0x20000 lanes=64
b0 @0 insts=5:
  %%0:m = mget imm=126 @0
  %%1:v32 = vget imm=0 @0
  %%2:s64 = const imm=%d @0
  %%3:s32 = sload %%2, _ width=4 @0
  %%4:s64 = const imm=%d @0
  %%5:s32 = sload %%4, _ width=4 @0
  %%6:s32 = add %%3, %%5 @0
  %%7:v32 = splat %%6 @0
  %%8:s32 = const imm=2 @0
  %%9:v32 = shl %%1, %%8 @0
  %%10:s64 = sget64 imm=30 @0
  %%11 = store %%10, %%9, %%0, %%7 space=global width=4 @4
  exit endpgm @8
`, near, far))
		binary.LittleEndian.PutUint32(g.sp.b[2*page:], 40)
		binary.LittleEndian.PutUint32(g.sp.b[5*page:], 2)
		if !g.run(ip, g.sp.va+8*page, 0, 0) || g.word(8*page+4*63) != 42 {
			t.Error("a wave that may do its loads did not run")
		}
	})
}
