package interp

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Engine is the interpreter; it implements engine.Engine.
type Engine struct {
	cache    *code.Cache
	compiled atomic.Uint64
	nanos    atomic.Uint64
}

// New returns an interpreter with its own code cache.
func New() *Engine { return NewWith(code.New(nil)) }

// NewWith returns an interpreter that shares a code cache with other engines.
func NewWith(c *code.Cache) *Engine { return &Engine{cache: c} }

// Name implements engine.Engine.
func (e *Engine) Name() string { return "interp" }

// InvalidateCode implements engine.Engine.
func (e *Engine) InvalidateCode(s *mem.Space) { e.cache.Invalidate(s) }

// Forget implements engine.Engine.
func (e *Engine) Forget(s *mem.Space) { e.cache.Forget(s) }

// Stats implements engine.Engine.
func (e *Engine) Stats() engine.Stats {
	f, i, n := e.cache.Stats()
	return engine.Stats{FuncsLifted: f, InstsLifted: i, LiftNanos: n, FuncsCompiled: e.compiled.Load(), CompileNanos: e.nanos.Load()}
}

// NewWorker implements engine.Engine.
func (e *Engine) NewWorker() engine.Worker {
	return &Worker{e: e, local: e.cache.NewLocal(), tlb: mem.NewTLB()}
}

// Worker runs waves; it implements engine.Worker.
type Worker struct {
	e     *Engine
	local *code.Local
	tlb   *mem.TLB
	m     machine
}

var _ engine.Worker = (*Worker)(nil)

func (e *Engine) build(f *ir.Func) any {
	start := time.Now()
	p := compile(f)
	e.compiled.Add(1)
	e.nanos.Add(uint64(time.Since(start)))
	return p
}

// Run implements engine.Worker.
func (k *Worker) Run(w *wave.Wave) (exit ir.Exit) {
	k.start(w)
	defer func() {
		if r := recover(); r != nil {
			exit = ir.ExitIllegal
			w.Illegal = fmt.Sprintf("interp: internal error at %#x: %v", w.PC, r)
		}
		k.tlb.Leave()
		k.m.w = nil
		w.Exit = uint32(exit)
	}()
	for {
		c, block, err := k.local.Lookup(w.Space, w.Target, w.PC, w.S[isa.SRegMODE], w.Lanes)
		if err != nil {
			return fetchExit(w, err)
		}
		p := c.Attachment(code.SlotInterp, k.e.build).(*program)
		exit = k.m.run(p, block)
		switch exit {
		case ir.ExitIndirect, ir.ExitMode, ir.ExitFetch:
			if k.tlb.Stale() {
				k.tlb.Sync()
			}
			if w.Fuel < 0 {
				return ir.ExitFuel
			}
			continue
		case ir.ExitICache:
			k.e.InvalidateCode(w.Space)
			continue
		case ir.ExitFault:
			w.Fault = k.m.fault
		case ir.ExitIllegal:
			if k.m.text != "" {
				w.Illegal = k.m.text
			}
		}
		return exit
	}
}

// start makes the worker ready for w.
func (k *Worker) start(w *wave.Wave) {
	k.tlb.Enter(w.Space)
	k.m.tlb = k.tlb
	k.m.bind(w, w.Base)
	w.TLB = uint64(uintptr(unsafe.Pointer(&k.tlb.Entries[0])))
}

// bind makes m work for w, with registers in the state block at state.
func (m *machine) bind(w *wave.Wave, state unsafe.Pointer) {
	m.w = w
	m.base[1] = state
	m.lds = nil
	if w.LDS != 0 && w.LDSLen != 0 {
		m.lds = unsafe.Slice((*byte)(hostPtr(w.LDS)), w.LDSLen)
		m.ldsBase = uintptr(w.LDS)
	}
	m.shared, m.private = aperture(w.Space.SharedBase), aperture(w.Space.PrivateBase)
}

// aperture returns the base as an address; spaces may give just its high half.
func aperture(b uint64) uint64 {
	if b != 0 && b>>32 == 0 {
		return b << 32
	}
	return b &^ 0xffffffff
}

// fetchExit turns a failed code lookup into an exit.
func fetchExit(w *wave.Wave, err error) ir.Exit {
	var f *mem.Fault
	if errors.As(err, &f) {
		w.Fault = *f
		return ir.ExitFault
	}
	w.Illegal = err.Error()
	return ir.ExitIllegal
}

// run is execute behind the checks that make it safe: the wave has the registers that p uses.
func (m *machine) run(p *program, block int) ir.Exit {
	m.text = ""
	if p.bad != "" {
		m.text = p.bad
		return ir.ExitIllegal
	}
	if !m.w.Admit(p.regs) || p.lanes != m.w.Lanes {
		//fidelity: approximate vgpr-range: code that names a VGPR beyond the wave's allocation stops instead of using v0
		v := p.regs.Arch - 1
		if p.regs.Acc > 0 {
			v = 255 + p.regs.Acc
		}
		m.text = fmt.Sprintf("code at %#x uses v%d, the wave has %d", p.f.PC, v, m.w.NVGPR)
		return ir.ExitIllegal
	}
	return m.execute(p, block)
}

// Close implements engine.Worker.
func (k *Worker) Close() { k.tlb.Close() }
