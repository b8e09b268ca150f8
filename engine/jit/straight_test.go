//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// straight is a program in a target's own instructions that computes in registers: all that it makes is there at its end.
type straight struct {
	target      *isa.Target // for its size of waves
	lanes       int
	nvgpr, nacc int
	code        []byte
	text        []string // of the code, for whoever looks at a difference
	fill        func(g *rig)
}

// rig is a wave before the program.
func (p *straight) rig(t testing.TB) *rig {
	state, err := rt.Memory(wave.StateSize(p.lanes, p.nvgpr, p.nacc))
	if err != nil {
		t.Fatal(err)
	}
	lds, err := rt.Memory(ldsSize)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rt.Memory((len(p.code) + 2*mem.PageSize - 1) &^ (mem.PageSize - 1))
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{w: &wave.Wave{}, state: state, lds: lds, space: &flat{va: 0x7000_0000_0000, b: b}}
	w := g.w
	w.Bind(unsafe.Pointer(&state[0]), p.lanes, p.nvgpr, p.nacc)
	w.Space = &mem.Space{Translator: g.space, SharedBase: sharedBase, PrivateBase: privateBase}
	w.LDS, w.LDSLen = uint64(uintptr(unsafe.Pointer(&lds[0]))), ldsSize
	w.Target, w.PC, w.Env = p.target, g.space.va, &plainEnv{}
	copy(b, p.code)
	p.fill(g)
	return g
}

// run runs the program by engines that take turns, in pieces of fuel if there are several, and tells how it ended.
func (p *straight) run(g *rig, r *rand.Rand, pieces bool, engines ...engine.Engine) string {
	w := g.w
	workers := make([]engine.Worker, len(engines))
	for i, e := range engines {
		workers[i] = e.NewWorker()
		defer workers[i].Close()
	}
	for range 1000 {
		w.Fuel = 10000
		k := workers[0]
		if pieces {
			w.Fuel, k = int64(r.IntN(30)), workers[r.IntN(len(workers))]
		}
		x := k.Run(w)
		if k, ok := k.(*Worker); ok && pieces && k.e.quick && r.IntN(2) == 0 {
			promote(k)
		}
		if x != ir.ExitFuel {
			return fmt.Sprintf("%v at %#x %s %v", x, w.PC-g.space.va, w.Illegal, w.Fault.Error())
		}
	}
	return "no end"
}

// promote gives the quick code that k has run its better form, as Engine.earn does in its own time.
func promote(k *Worker) {
	for i := range k.recent {
		ip := k.recent[i].ip
		if ip == nil || !ip.quick || ip.better.Load() != nil {
			continue
		}
		if b, ok := k.e.compile(ip.Func, Options{}, ip.ID).(*installed); ok {
			ip.better.Store(b)
			k.e.forms.Add(1)
		}
	}
}

// diff runs the program on both engines, and tells what differs.
func (p *straight) diff(t testing.TB, seed uint64) (diff []string) {
	needJIT(t)
	r := rand.New(rand.NewPCG(seed, 201))
	j, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer j.mem.Close()
	j.quick, j.lazy, j.allAtEnd, j.soft = r.IntN(6) == 0, r.IntN(2) == 0, true, r.IntN(4) == 0
	want := p.rig(t)
	defer want.free()
	end := p.run(want, r, false, interp.New())
	if !strings.HasPrefix(end, ir.ExitEndPgm.String()) {
		t.Fatalf("seed %d: bad test: %s\n%s", seed, end, strings.Join(p.text, "\n"))
	}
	got := p.rig(t)
	defer got.free()
	engines := []engine.Engine{j}
	if r.IntN(6) == 0 {
		engines = append(engines, interp.New())
	}
	d := func(format string, x ...any) {
		if len(diff) < 12 {
			diff = append(diff, fmt.Sprintf(format, x...))
		}
	}
	pieces := r.IntN(3) == 0
	if x := p.run(got, r, pieces, engines...); x != end {
		d("%s, want %s", x, end)
	}
	if j.Failed() > 0 {
		d("did not compile")
	}
	got.compare(want, true, d)
	for n := range p.nacc {
		x, y := want.w.VGPR(256+n), got.w.VGPR(256+n)
		if i := slicesDiff(x, y); i >= 0 {
			d("a%d lane %d = %#x, want %#x", n, i, y[i], x[i])
		}
	}
	if len(diff) > 0 {
		d("%s, %d lanes, quick %v, lazy %v, soft %v, pieces %v", p.target.Name, p.lanes, j.quick, j.lazy, j.soft, pieces)
		diff = append(diff, p.text...)
	}
	return diff
}

// randomMode is any MODE that arithmetic knows: rounding, denormals, DX10_CLAMP, IEEE, and FP16_OVFL now and then.
func randomMode(r *rand.Rand) uint32 {
	m := uint32(0x3f0)
	switch r.IntN(4) {
	case 0:
	case 1:
		m = m&^0xf0 | uint32(r.IntN(16))<<4
	default:
		m = r.Uint32() & 0x3ff
	}
	if r.IntN(8) == 0 {
		m |= 1 << 23
	}
	return m
}
