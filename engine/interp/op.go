package interp

import (
	"fmt"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Op is one operation of a Func on its own, for an engine that does the others by itself. Its arguments are taken from
// registers of a scratch state block, and its result is put there: per-lane registers are numbered from 0 in the order of
// the arguments, then the result (two for 64 bits, N for tuples); uniform values and masks take an even pair of scalar
// registers each, likewise.
type Op struct {
	p *program
	// V and S are the first per-lane and scalar register of each argument, -1 when it takes none, and of the result (last).
	V, S []int
}

// CompileOp makes the Op of value id of f. Arguments that are constants are compiled in.
func CompileOp(f *ir.Func, id ir.ID) (*Op, error) {
	v := *f.V(id)
	g := &ir.Func{PC: f.PC, Mode: f.Mode, Lanes: f.Lanes, Target: f.Target}
	b := &ir.Block{Insts: 0, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Cond: ir.NoID}}
	g.Blocks = []*ir.Block{b}
	o := &Op{}
	nv, ns := 0, 0
	vget := func() ir.ID {
		nv++
		return g.Add(b, ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(nv - 1), PC: v.PC})
	}
	sget := func(op ir.Op, t ir.Type) ir.ID {
		ns += 2
		return g.Add(b, ir.Value{Op: op, Type: t, Imm: uint64(ns - 2), PC: v.PC})
	}
	args := make([]ir.ID, len(v.Args))
	for i, a := range v.Args {
		o.V, o.S = append(o.V, -1), append(o.S, -1)
		if a == ir.NoID {
			args[i] = ir.NoID
			continue
		}
		src := f.V(a)
		if src.Op == ir.OpConst {
			args[i] = g.Add(b, ir.Value{Op: ir.OpConst, Type: src.Type, Imm: src.Imm, PC: v.PC})
			continue
		}
		switch src.Type {
		case ir.V32:
			o.V[i] = nv
			args[i] = vget()
		case ir.V64:
			o.V[i] = nv
			lo, hi := vget(), vget()
			args[i] = g.Add(b, ir.Value{Op: ir.OpPair, Type: ir.V64, Args: []ir.ID{lo, hi}, PC: v.PC})
		case ir.T:
			o.V[i] = nv
			var l []ir.ID
			for range src.N {
				l = append(l, vget())
			}
			args[i] = g.Add(b, ir.Value{Op: ir.OpTuple, Type: ir.T, N: src.N, Args: l, PC: v.PC})
		case ir.S32:
			o.S[i] = ns
			args[i] = sget(ir.OpSGet, ir.S32)
		case ir.S1:
			o.S[i] = ns
			x := sget(ir.OpSGet, ir.S32)
			args[i] = g.Add(b, ir.Value{Op: ir.OpSToB, Type: ir.S1, Args: []ir.ID{x}, PC: v.PC})
		case ir.S64:
			o.S[i] = ns
			args[i] = sget(ir.OpSGet64, ir.S64)
		case ir.M:
			o.S[i] = ns
			args[i] = sget(ir.OpMGet, ir.M)
		case ir.TS:
			o.S[i] = ns
			var l []ir.ID
			for range src.N {
				l = append(l, sget(ir.OpSGet, ir.S32))
			}
			args[i] = g.Add(b, ir.Value{Op: ir.OpTuple, Type: ir.TS, N: src.N, Args: l, PC: v.PC})
		}
	}
	v.Args = args
	r := g.Add(b, v)
	full := ir.NoID
	vset := func(x ir.ID) {
		if full == ir.NoID {
			full = g.Add(b, ir.Value{Op: ir.OpConst, Type: ir.M, Imm: ^uint64(0) >> (64 - uint(f.Lanes))})
		}
		g.Add(b, ir.Value{Op: ir.OpVSet, Imm: uint64(nv), Args: []ir.ID{x, full}})
		nv++
	}
	sset := func(op ir.Op, x ir.ID) {
		g.Add(b, ir.Value{Op: op, Imm: uint64(ns), Args: []ir.ID{x}})
		ns += 2
	}
	one := func(op ir.Op, t ir.Type, imm uint64) ir.ID {
		return g.Add(b, ir.Value{Op: op, Type: t, Imm: imm, Args: []ir.ID{r}})
	}
	o.V, o.S = append(o.V, -1), append(o.S, -1)
	last := len(o.V) - 1
	switch v.Type {
	case ir.V32:
		o.V[last] = nv
		vset(r)
	case ir.V64:
		o.V[last] = nv
		lo, hi := one(ir.OpLo, ir.V32, 0), one(ir.OpHi, ir.V32, 0)
		vset(lo)
		vset(hi)
	case ir.T:
		o.V[last] = nv
		for i := range v.N {
			vset(one(ir.OpElem, ir.V32, uint64(i)))
		}
	case ir.S32:
		o.S[last] = ns
		sset(ir.OpSSet, r)
	case ir.S1:
		o.S[last] = ns
		sset(ir.OpSSet, one(ir.OpBToS, ir.S32, 0))
	case ir.S64:
		o.S[last] = ns
		sset(ir.OpSSet64, r)
	case ir.M:
		o.S[last] = ns
		sset(ir.OpMSet, r)
	case ir.TS:
		o.S[last] = ns
		for i := range v.N {
			sset(ir.OpSSet, one(ir.OpElem, ir.S32, uint64(i)))
		}
	}
	if nv > opVGPRs || ns > opSRegs {
		return nil, fmt.Errorf("interp: %s needs %d registers", v.Op, nv)
	}
	o.p = compile(g)
	if o.p.bad != "" {
		return nil, fmt.Errorf("%s", o.p.bad)
	}
	return o, nil
}

const (
	opVGPRs = 256
	opSRegs = 120
)

// OpRunner runs Ops for one thread.
type OpRunner struct {
	m     machine
	block []byte
	ptr   unsafe.Pointer
}

// NewOpRunner returns a runner that reaches memory through t.
func NewOpRunner(t *mem.TLB) *OpRunner {
	k := &OpRunner{block: make([]byte, wave.StateSize(64, opVGPRs, 0)+63)}
	k.ptr = unsafe.Pointer(&k.block[-uintptr(unsafe.Pointer(&k.block[0]))&63])
	k.m.tlb = t
	return k
}

// V is per-lane register n of the scratch block; its first 32 entries in wave32.
func (k *OpRunner) V(n, lanes int) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Add(k.ptr, wave.VGPROffset+n*lanes*4)), lanes)
}

// S is the scalar register pair n of the scratch block.
func (k *OpRunner) S(n int) *uint64 { return (*uint64)(unsafe.Add(k.ptr, n*4)) }

// Run runs o for w, which gives address space, LDS, environment and private memory; w's registers are not touched. A
// result other than ExitNone says why the operation could not be done (w.Fault or w.Illegal has the details).
func (k *OpRunner) Run(w *wave.Wave, o *Op) ir.Exit {
	m := &k.m
	m.bind(w, k.ptr)
	m.text = ""
	pc, arg, fuel := w.PC, w.Arg, w.Fuel
	exit := m.execute(o.p, 0)
	w.Fuel = fuel
	m.w = nil
	switch exit {
	case ir.ExitEndPgm:
		w.PC, w.Arg = pc, arg
		return ir.ExitNone
	case ir.ExitFault:
		w.Fault = m.fault
	case ir.ExitIllegal:
		w.Illegal = m.text
	}
	return exit
}
