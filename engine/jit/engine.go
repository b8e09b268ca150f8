//go:build linux && amd64

package jit

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Supported tells whether this machine can run compiled code.
func Supported() bool { return wide || rt.CPU.AVX2 }

// sliceFuel is how many guest instructions run before the Go runtime gets its turn: about 100 µs.
const sliceFuel = 20_000

// Engine compiles; it implements engine.Engine. What it cannot compile, the interpreter runs.
type Engine struct {
	cache            *code.Cache
	interp           *interp.Engine
	mem              rt.CodeMemory
	compiled, failed atomic.Uint64
	promoted         atomic.Uint64 // functions compiled a second time
	nanos            atomic.Uint64
	serials          atomic.Uint32 // of Programs
	forms            atomic.Uint64 // Programs that have become others: better, or soft

	tools Tools // immutable once there are workers
	avx2  bool  // code uses no later vector instructions; immutable
	soft  bool  // code is always of the soft form; immutable
	quick bool  // code is always of the first tier; immutable
	lazy  bool  // see SetLazy; immutable

	allAtEnd bool // for tests: all VGPRs are as they should be at the end of a program; immutable
}

// New returns a compiling engine; it fails where code cannot be run (no AVX2, no executable memory).
func New() (*Engine, error) { return NewWith(code.New(nil)) }

// NewAVX2 is New for code that uses AVX2 only, which New is where there is no AVX-512.
func NewAVX2() (*Engine, error) {
	e, err := New()
	if err == nil {
		e.avx2 = true
	}
	return e, err
}

// NewWith is New with a code cache that may be shared.
func NewWith(c *code.Cache) (*Engine, error) {
	if !Supported() {
		return nil, errors.New("jit: this CPU lacks AVX2, FMA, F16C or BMI2")
	}
	e := &Engine{cache: c, interp: interp.NewWith(c), avx2: hostAVX2}
	probe, err := e.mem.Install([]byte{0xc3})
	if err != nil {
		return nil, err
	}
	e.mem.Release(probe)
	return e, nil
}

// SetTools makes t look on; it is called before there are workers.
func (e *Engine) SetTools(t Tools) { e.tools = t }

// SetLazy says that VGPRs need not be written that the program does not read before it writes them again. Without it, which is how an
// engine begins, all registers are as the ISA has them whenever a wave leaves compiled code. It is called before there are workers.
func (e *Engine) SetLazy(lazy bool) { e.lazy = lazy }

// Name implements engine.Engine.
func (e *Engine) Name() string { return "jit" }

// InvalidateCode implements engine.Engine.
func (e *Engine) InvalidateCode(s *mem.Space) { e.cache.Invalidate(s) }

// Forget implements engine.Engine.
func (e *Engine) Forget(s *mem.Space) { e.cache.Forget(s) }

// Stats implements engine.Engine.
func (e *Engine) Stats() engine.Stats {
	f, i, n := e.cache.Stats()
	return engine.Stats{FuncsLifted: f, InstsLifted: i, LiftNanos: n, FuncsCompiled: e.compiled.Load(), CompileNanos: e.nanos.Load()}
}

// Failed counts functions that were left to the interpreter.
func (e *Engine) Failed() uint64 { return e.failed.Load() }

// build compiles f for the first time; the result is an *installed or an error.
func (e *Engine) build(f *ir.Func) any {
	if err := ir.Verify(f); err != nil {
		e.failed.Add(1)
		return err
	}
	// A listing is of the code that is there in the end.
	r := e.compile(f, Options{Quick: e.quick || insts(f) >= quickFunc && !e.tools.Listing, Soft: e.soft}, 0)
	if _, ok := r.(*installed); ok {
		e.compiled.Add(1)
	} else {
		e.failed.Add(1)
	}
	return r
}

// compile makes code for f; the result is an *installed or an error. id is the function's number of a sampler's, or 0 when it has
// none yet.
func (e *Engine) compile(f *ir.Func, o Options, id uint32) (r any) {
	defer func() {
		if x := recover(); x != nil {
			r = fmt.Errorf("jit: internal error: %v", x)
		}
	}()
	start := time.Now()
	t := &e.tools
	o.Listing, o.Sample, o.AVX2 = t.Listing, t.Sampler != nil, e.avx2
	o.Lazy, o.allAtEnd = e.lazy && !o.Quick, e.allAtEnd
	if n := e.serials.Add(1); n <= maxSerial {
		o.Serial = n
	}
	p, err := CompileWith(f, o)
	if err != nil {
		return err
	}
	ip, err := install(&e.mem, p)
	if err != nil {
		return err
	}
	if t.Exits != nil {
		for id, h := range p.slots {
			if h != nil {
				h.exits = t.Exits(p.Func, ir.ID(id))
			}
		}
	}
	ip.quick, ip.hot = o.Quick, hotTimes*int64(insts(f))
	if e.quick {
		ip.hot = math.MaxInt64
	}
	if !o.Soft && !e.avx2 {
		ip.makeSoft = func() *installed {
			s, _ := e.compile(f, Options{Soft: true}, p.ID).(*installed)
			return s
		}
	}
	e.nanos.Add(uint64(time.Since(start)))
	if p.ID = id; id == 0 && t.Sampler != nil {
		// A function without a number is not seen, and that is all.
		p.ID, _ = t.Sampler.add(f)
	}
	t.Perf.Add(ip.code.Addr(), len(p.Code), fmt.Sprintf("%s:%#x", f.Target, f.PC))
	if t.Compiled != nil {
		t.Compiled(f, p, ip.code.Addr())
	}
	return ip
}

// NewWorker implements engine.Engine.
func (e *Engine) NewWorker() engine.Worker {
	tlb := mem.NewTLB()
	k := &Worker{e: e, local: e.cache.NewLocal(), tlb: tlb}
	k.m = machine{tlb: tlb, slow: &opSlow{run: interp.NewOpRunner(tlb)}}
	if s := e.tools.Sampler; s != nil {
		k.m.sampler, k.m.page = s, s.page()
	}
	return k
}

// Worker runs waves; it implements engine.Worker.
type Worker struct {
	e     *Engine
	local *code.Local
	tlb   *mem.TLB
	m     machine
	plain engine.Worker // for functions that did not compile
	held  *mem.Space    // by Hold

	recent  [64]recent // by PC
	batched batched
	trials  map[*installed]*trial

	links     [linkSets]*links
	nextLinks int // to be used for another state
	// Of the waves of a crew: fuel beside what is in their headers, and that of the beginning.
	crewFuel, crewStart [64]int64
}

// recent is where a run began a moment ago: after a barrier, or in the next wave, it begins there again.
type recent struct {
	pc      uint64
	version code.Version
	mode    uint32
	lanes   int
	target  *isa.Target
	regs    wave.Registers // that the code uses
	ip      *installed
	block   int
}

// Hold implements engine.Holder.
func (k *Worker) Hold(s *mem.Space) {
	k.tlb.Enter(s)
	k.held = s
}

// Release implements engine.Holder.
func (k *Worker) Release() {
	k.tlb.Leave()
	k.held = nil
}

// Run implements engine.Worker.
func (k *Worker) Run(w *wave.Wave) ir.Exit { return k.runFrom(w, ir.ExitNone) }

// runFrom is Run for a wave that has come to w.PC by exit before.
func (k *Worker) runFrom(w *wave.Wave, before ir.Exit) (exit ir.Exit) {
	if k.held != w.Space {
		k.tlb.Enter(w.Space)
	} else if k.tlb.Stale() {
		k.tlb.Sync()
	}
	defer func() {
		if r := recover(); r != nil {
			exit = ir.ExitIllegal
			w.Illegal = fmt.Sprintf("jit: internal error at %#x: %v\n%s", w.PC, r, debug.Stack())
		}
		if k.held == nil {
			k.tlb.Leave()
		}
		w.Exit = uint32(exit)
	}()
	left := w.Fuel
	for exit = before; ; {
		x := &k.recent[(w.PC>>2^w.PC>>8)%uint64(len(k.recent))]
		if x.pc != w.PC || x.version != k.local.Version(w.Space) || x.mode != w.S[isa.SRegMODE] || x.lanes != w.Lanes || x.target != w.Target || !w.Holds(x.regs) {
			*x = recent{}
			if exit, ok := k.find(w, x); !ok {
				return exit
			}
		}
		slice := min(left, sliceFuel)
		ip, t := k.pick(x.ip)
		k.useLinks(w, t)
		if elsewhere(exit) {
			k.link(w, x)
		}
		if t != nil && t.going() {
			slice = min(slice, trialFuel)
		}
		w.Fuel = slice
		exit = k.m.execute(w, ip, x.block)
		if b := k.account(x.ip, t, slice-w.Fuel); b != nil {
			x.ip = b
		}
		left -= slice - w.Fuel
		w.Fuel = left
		switch exit {
		case ir.ExitFuel, ir.ExitIndirect, ir.ExitMode, ir.ExitFetch:
			if k.tlb.Stale() {
				k.tlb.Sync()
			}
			if left < 0 {
				return ir.ExitFuel
			}
			continue
		case ir.ExitICache:
			k.e.InvalidateCode(w.Space)
			continue
		}
		return exit
	}
}

// find looks the code at w.PC up for x. When there is none to execute, it does what is to be done and returns the exit.
func (k *Worker) find(w *wave.Wave, x *recent) (exit ir.Exit, ok bool) {
	mode, version := w.S[isa.SRegMODE], k.local.Version(w.Space)
	c, block, err := k.local.Lookup(w.Space, w.Target, w.PC, mode, w.Lanes)
	if err != nil {
		var f *mem.Fault
		if errors.As(err, &f) {
			w.Fault = *f
			return ir.ExitFault, false
		}
		w.Illegal = err.Error()
		return ir.ExitIllegal, false
	}
	var form any
	if insts(c.Func) >= largeFunc {
		if form, ok = c.AttachLater(code.SlotJIT, k.e.build); !ok {
			return k.interpret(w), false
		}
	} else {
		form = c.Attachment(code.SlotJIT, k.e.build)
	}
	ip, ok := form.(*installed)
	if !ok {
		return k.interpret(w), false
	}
	if b := ip.better.Load(); b != nil {
		ip = b
	}
	if ip.Func.Lanes != w.Lanes || !w.Admit(ip.regs) {
		return k.interpret(w), false
	}
	*x = recent{w.PC, version, mode, w.Lanes, w.Target, ip.regs, ip, block}
	return ir.ExitNone, true
}

// interpret lets the interpreter run w from where it is.
func (k *Worker) interpret(w *wave.Wave) ir.Exit {
	if k.plain == nil {
		k.plain = k.e.interp.NewWorker()
	}
	k.tlb.Leave()
	x := k.plain.Run(w)
	k.tlb.Enter(w.Space) // Run or Release leaves
	return x
}

// Close implements engine.Worker.
func (k *Worker) Close() {
	k.tlb.Close()
	k.m.close()
	if k.plain != nil {
		k.plain.Close()
	}
}

// opSlow does single operations with the interpreter.
type opSlow struct {
	run *interp.OpRunner
}

// op is a compiled helper operation, made at its first use.
func (h *helperInfo) op(f *ir.Func) (*interp.Op, error) {
	h.once.Do(func() {
		x, err := interp.CompileOp(f, h.id)
		h.made, h.err = x, err
	})
	x, _ := h.made.(*interp.Op)
	return x, h.err
}

// do implements slowPath: operands are copied to the interpreter's registers and back.
func (s *opSlow) do(w *wave.Wave, o *operands) ir.Exit {
	op, err := o.h.op(o.f)
	if err != nil {
		w.Illegal = err.Error()
		return ir.ExitIllegal
	}
	n := o.f.Lanes
	for i, a := range o.v.Args {
		if a == ir.NoID {
			continue
		}
		t := o.f.V(a)
		switch ps := o.h.args[i]; t.Type {
		case ir.V32, ir.T:
			if op.V[i] < 0 {
				continue
			}
			for j, p := range ps {
				d := s.run.V(op.V[i]+j, n)
				if p.kind != placeConst && p.vec {
					copy(d, unsafe.Slice((*uint32)(o.ptr(p, 0)), n))
					continue
				}
				x := uint32(o.get(ps, ir.T, j, 0))
				for l := range d {
					d[l] = x
				}
			}
		case ir.V64:
			if op.V[i] < 0 {
				continue
			}
			lo, hi := s.run.V(op.V[i], n), s.run.V(op.V[i]+1, n)
			for l := range lo {
				x := o.read(i, 0, l)
				lo[l], hi[l] = uint32(x), uint32(x>>32)
			}
		case ir.M:
			if op.S[i] >= 0 {
				*s.run.S(op.S[i]) = o.maskArg(i)
			}
		default:
			if op.S[i] < 0 {
				continue
			}
			for j := range ps {
				*s.run.S(op.S[i] + 2*j) = o.get(ps, t.Type, j, 0)
			}
		}
	}
	if x := s.run.Run(w, op); x != ir.ExitNone {
		return x
	}
	last := len(op.V) - 1
	switch v := o.v; v.Type {
	case ir.Void:
	case ir.V32, ir.T:
		for j, p := range o.h.res {
			copy(unsafe.Slice((*uint32)(o.ptr(p, 0)), n), s.run.V(op.V[last]+j, n))
		}
	case ir.V64:
		lo, hi := s.run.V(op.V[last], n), s.run.V(op.V[last]+1, n)
		for l := range lo {
			o.write(0, l, uint64(lo[l])|uint64(hi[l])<<32)
		}
	default:
		for j := range o.h.res {
			o.write(j, 0, *s.run.S(op.S[last] + 2*j))
		}
	}
	return ir.ExitNone
}

var (
	_ engine.Engine = (*Engine)(nil)
	_ engine.Holder = (*Worker)(nil)
)
