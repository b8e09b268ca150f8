//go:build linux && amd64

package jit

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"

	"github.com/pumice-gpu/pumice/engine/jit/rt"
)

// flat is a space of one writable piece of memory at va.
type flat struct {
	va  uint64
	b   []byte
	xor uint64 // guest page n is host page n^xor
}

// scatter makes neighbouring pages lie apart.
func (f *flat) scatter() { f.xor = 5 }

func (f *flat) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	if va < f.va || va >= f.va+uint64(len(f.b)) {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	if f.xor != 0 {
		return unsafe.Pointer(&f.b[(va-f.va)^f.xor<<mem.PageShift]), mem.PageSize - va%mem.PageSize, mem.Read | mem.Write, nil
	}
	return unsafe.Pointer(&f.b[va-f.va]), f.va + uint64(len(f.b)) - va, mem.Read | mem.Write, nil
}

type rig struct {
	w     *wave.Wave
	state []byte
	lds   []byte
	space *flat
}

func newRig(t testing.TB, lanes, nv int) *rig {
	st, err := rt.Memory(wave.StateSize(lanes, nv, 0))
	if err != nil {
		t.Fatal(err)
	}
	lds, _ := rt.Memory(ldsSize + 4096) // what lies behind must not be touched
	mm, _ := rt.Memory(memSize + 1<<17)
	g := &rig{w: &wave.Wave{}, state: st, lds: lds[:ldsSize], space: &flat{va: 0x7000_0000_0000, b: mm}}
	g.w.Bind(unsafe.Pointer(&st[0]), lanes, nv, 0)
	g.w.Space = &mem.Space{Translator: g.space, SharedBase: sharedBase, PrivateBase: privateBase}
	g.w.LDS, g.w.LDSLen = uint64(uintptr(unsafe.Pointer(&lds[0]))), ldsSize
	return g
}

func (g *rig) free() {
	rt.Free(g.state)
	rt.Free(g.lds[:cap(g.lds)])
	rt.Free(g.space.b[:cap(g.space.b)])
}

// compare tells d where g differs from what is wanted: scalar registers, VGPRs if they count, the first place in the LDS and in memory.
func (g *rig) compare(want *rig, vgprs bool, d func(format string, x ...any)) {
	for i, x := range want.w.S {
		if y := g.w.S[i]; x != y {
			d("s%d = %#x, want %#x", i, y, x)
		}
	}
	for n := range want.w.NVGPR {
		if !vgprs {
			break
		}
		x, y := want.w.VGPR(n), g.w.VGPR(n)
		for l := range x {
			if x[l] != y[l] {
				d("v%d lane %d = %#x, want %#x", n, l, y[l], x[l])
			}
		}
	}
	for name, m := range map[string][2][]byte{"LDS": {want.lds[:cap(want.lds)], g.lds[:cap(g.lds)]}, "memory": {want.space.b, g.space.b}} {
		if bytes.Equal(m[0], m[1]) {
			continue
		}
		for i := range m[0] {
			if m[0][i] != m[1][i] {
				end := min(i+8, len(m[0]))
				d("%s at %#x = %#x, want %#x", name, i, m[1][i:end], m[0][i:end])
				break
			}
		}
	}
}

func (g *rig) fill(seed uint64, lanes int) {
	r := rand.New(rand.NewPCG(seed, 9))
	gg := &gen{r: r}
	for i := range 128 {
		g.w.S[i] = uint32(gg.bits())
	}
	g.w.S[isa.SRegSCC] = r.Uint32N(2)
	if seed%5 == 2 { // over a multiple of 4 GiB
		g.space.va = 0x7001_0000_0000 - mem.PageSize*(1+seed/5%24)
	}
	g.w.S[30], g.w.S[31] = uint32(g.space.va), uint32(g.space.va>>32)
	if r.IntN(2) == 0 {
		g.w.SetEXEC(^uint64(0))
	}
	for n := range g.w.NVGPR {
		v := g.w.VGPR(n)
		for l := range v {
			v[l] = uint32(gg.bits())
		}
	}
	for i := range g.lds {
		g.lds[i] = byte(r.Uint32())
	}
	behind := g.lds[len(g.lds):cap(g.lds)]
	for i := range behind { // not what an access over the end is to give
		behind[i] = 0xa5
	}
	for i := range g.space.b {
		g.space.b[i] = byte(r.Uint32())
	}
	g.w.Fuel = 60
}

// randomBytes are what fillQuick takes from.
var randomBytes = sync.OnceValue(func() []byte {
	b := make([]byte, 1<<18+4096)
	r := rand.New(rand.NewPCG(1, 9))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
})

// fillQuick fills memory and the LDS from a table, and leaves what the wave's registers hold to others.
func (g *rig) fillQuick(seed uint64, lanes int) {
	from := randomBytes()[seed%1024*4:]
	if seed%5 == 2 {
		g.space.va = 0x7001_0000_0000 - mem.PageSize*(1+seed/5%24)
	}
	copy(g.space.b, from)
	copy(g.lds, from[2048:])
	behind := g.lds[len(g.lds):cap(g.lds)]
	for i := range behind {
		behind[i] = 0xa5
	}
	for i := range 128 {
		g.w.S[i] = 0
	}
}

type noSlow struct{ t testing.TB }

func (s noSlow) do(w *wave.Wave, o *operands) ir.Exit {
	// The test's memory is one piece: an access can be done with the oracle's code.
	or := &oracle{f: o.f, w: w, vals: map[ir.ID][][64]uint64{}, lds: unsafe.Slice(*(**byte)(unsafe.Pointer(&w.LDS)), w.LDSLen)}
	for n, id := range o.v.Args {
		if id == ir.NoID {
			continue
		}
		v := o.f.V(id)
		k := max(1, int(v.N))
		x := make([][64]uint64, k)
		for i := range k {
			for l := range o.f.Lanes {
				if v.Type == ir.M {
					x[0][0] = o.maskArg(n)
				} else {
					x[i][l] = o.read(n, i, l)
				}
			}
		}
		or.vals[id] = x
	}
	switch o.v.Op {
	case ir.OpLoad:
		or.load(o.h.id, o.v)
		for i, x := range or.vals[o.h.id] {
			for l := range o.f.Lanes {
				o.write(i, l, x[l])
			}
		}
	case ir.OpStore:
		or.store(o.v)
	default:
		s.t.Fatalf("no slow path for %s", o.v.Op)
	}
	// Fill the TLB as the real one does.
	for l := range o.f.Lanes {
		if o.v.Space == ir.Global && or.mask(o.v.Args[2])>>uint(l)&1 != 0 {
			a := or.addr(o.v, l)
			testTLB.Lookup(a, mem.Read|mem.Write)
			testTLB.Lookup(a+uint64(o.v.Width)-1, mem.Read|mem.Write)
		}
	}
	return ir.ExitNone
}

var testTLB *mem.TLB
