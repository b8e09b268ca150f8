package lift

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Source is instruction memory.
type Source interface {
	// Fetch copies up to len(dst) bytes of code at pc and returns how many it could; 0 when pc cannot be executed.
	Fetch(pc uint64, dst []byte) int
}

// Surrounded is a Source that knows of code that was lifted before. A wave that a fault has stopped inside a function goes on in one that begins
// there and does not see what came before: an index may reach registers that only that names.
type Surrounded interface {
	// VGPRs is how many vector registers the known code around pc names, one more than the highest; 0 when none is known.
	VGPRs(pc uint64) int
}

// FetchError says that the first instruction of a function is not, or not wholly, in executable memory: PC is its first dword that is missing.
type FetchError struct{ PC uint64 }

func (e *FetchError) Error() string { return fmt.Sprintf("no code at %#x", e.PC) }

// MaxInsts bounds the instructions of one Func; code beyond leaves through ExitFetch and is lifted on its own.
const MaxInsts = 1 << 16

// lifter holds what all instructions of one Func share.
type lifter struct {
	state
	t     *isa.Target
	gen   isa.Gen
	mode  uint32
	pc0   uint64
	code  *window
	at    offsets  // instructions and blocks
	insts int      // found by discovery
	in    isa.Inst // being decoded

	fps     [2]ir.FP
	second  *ictx  // of the other half of a dual instruction
	maxVGPR int    // see lastVGPR; -1 until asked
	calls   bool   // lastVGPR: the code calls or is called, so registers may hold arguments and results that it does not name
	gprOn   bool   // MODE's modeGPRIdx here: s_set_gpr_idx mode is on
	gprIdx  uint8  // then: M0[15:12], the operands that it applies to,
	gprAny  bool   // unless that is only known to M0
	sinking bool   // behind a barrier that sinks,
	sunk    uint32 // to here,
	sunkPC  uint32 // from here
	done    bool   // the current instruction has ended its block
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

// Func lifts all code reachable from pc by direct branches, under MODE mode (isa.SRegMODE's bits) and for waves of
// lanes lanes. The error is a *FetchError, or one in the tables; code that cannot be decoded or has no meaning is not
// an error but an ExitIllegal in the Func.
func Func(src Source, t *isa.Target, pc uint64, mode uint32, lanes int) (*ir.Func, error) {
	if lanes != 32 && lanes != 64 {
		return nil, fmt.Errorf("lift: wave size %d", lanes)
	}
	if _, err := loadOnce(); err != nil {
		return nil, fmt.Errorf("lift: %w", err)
	}
	f := &ir.Func{PC: pc, Mode: mode, Lanes: lanes, Target: t.Name}
	t = t.Wave(lanes)
	sc := pool.Get().(*scratch)
	defer func() { sc.release(); pool.Put(sc) }()
	l := &sc.lifter
	*l = lifter{t: t, gen: t.Gen, mode: mode, pc0: pc, code: &sc.code, maxVGPR: -1, at: offsets{spare: l.at.release()}}
	sc.code.src, sc.code.valid = src, false
	l.f, l.lanes, l.slab = f, lanes, sc.slab[:0]
	l.vn, l.vreg, l.stamp, l.second = &sc.vn, &sc.vreg, sc.last, &sc.second
	l.setFP()
	if w := l.code.at(pc); l.code.cut(w, isa.Measure(t, w, &l.in)) {
		return nil, &FetchError{pc + uint64(len(w))}
	}
	l.discover()
	f.Values = sc.values[:0]
	codes := sc.codes[:0]
	c := &sc.ctx
	c.lifter, c.in = l, &l.in
	for _, b := range f.Blocks {
		b.Code = codes[len(codes):]
		l.block(b, c)
		if n := len(codes) + len(b.Code); n <= cap(codes) {
			codes = codes[:n]
		} else {
			codes = make([]ir.ID, 0, 2*n)
		}
	}
	sc.pruner.prune(f)
	sc.values, sc.codes, sc.slab = f.Values, codes, l.slab
	sc.pruner.compact(f)
	return f, nil
}

// flow is what discovery needs to know of one instruction.
type flow struct {
	size   uint32
	end    bool   // control does not reach the next instruction inside its block
	target uint32 // of a direct branch
	branch bool
	resume bool   // the next instruction starts a block though no branch goes there
	sunk   uint32 // where a barrier that sinks stops the wave, or 0
}

// discover walks the code from the entry and makes the Func's blocks, in order of address but for the entry, which is
// Blocks[0].
func (l *lifter) discover() {
	l.at.lead(0)
	work := []uint32{0}
	for len(work) > 0 {
		off := work[len(work)-1]
		work = work[:len(work)-1]
		for {
			if l.at.sizeAt(off) != 0 {
				l.at.lead(off)
				break
			}
			if l.at.n == MaxInsts {
				break
			}
			fl := l.flow(off, &l.in)
			l.at.see(off, fl.size)
			next := off + fl.size
			if fl.sunk != 0 {
				l.at.lead(fl.sunk)
			}
			if fl.branch {
				l.at.lead(fl.target)
				work = append(work, fl.target)
			}
			if fl.branch || fl.resume || fl.end {
				if !fl.end || fl.resume {
					l.at.lead(next)
					work = append(work, next)
				}
				break
			}
			off = next
		}
	}
	l.insts = l.at.n
	f := l.f
	blocks := make([]ir.Block, l.at.leaders)
	f.Blocks = make([]*ir.Block, 1, len(blocks))
	f.Blocks[0] = &blocks[0]
	first := true
	l.at.insts(func(o, size uint32, leader bool) {
		if leader && o != 0 {
			b := &blocks[len(f.Blocks)]
			b.Index, b.PC = len(f.Blocks), o
			f.Blocks = append(f.Blocks, b)
		}
		if first {
			f.Lo, first = int32(o), false
		}
		f.Hi = max(f.Hi, int32(o+size))
		f.Size += int(size)
	})
	for i, b := range f.Blocks {
		l.at.setBlock(b.PC, i)
	}
}

// flow looks at the instruction at off for discovery.
func (l *lifter) flow(off uint32, in *isa.Inst) flow {
	if isa.Measure(l.t, l.code.at(l.addr(off)), in) != nil {
		return flow{size: 4, end: true}
	}
	fl := flow{size: uint32(in.Size)}
	next := off + fl.size
	if l.skipped(in) {
		return fl
	}
	m := meaningOf(in.Op)
	if m == nil {
		fl.end = true
		return fl
	}
	if m.ruleName == "leave" && m.args[0] == "barrier" {
		if fl.sunk = l.sink(next); fl.sunk != next {
			return fl
		}
		fl.sunk = 0
	}
	if k := m.flow; k != 0 {
		fl.end = k&flowEnd != 0
		fl.resume = k&flowResume != 0
		if k&flowBranch != 0 {
			fl.branch = true
			fl.target = next + uint32(int32(int16(in.Raw[0])))*4
		}
		if k&flowMode != 0 {
			fl.end = modeWrite(in)
			fl.resume = fl.end
		}
	}
	return fl
}

func (l *lifter) addr(off uint32) uint64 { return l.pc0 + uint64(int64(int32(off))) }

func (l *lifter) decode(code []byte, in *isa.Inst) error { return isa.Decode(l.t, code, in) }

// block lifts the instructions of b up to the next block or a terminator.
func (l *lifter) block(b *ir.Block, c *ictx) {
	l.enter(b)
	l.done, l.sinking = false, false
	l.gprOn = l.gprMode()
	l.gprAny = l.gprOn
	off := b.PC
	in := &l.in
	for {
		if l.sinking && l.stopSunk(b, off) {
			return
		}
		if i, ok := l.at.blockAt(off); ok && off != b.PC {
			l.pc = off
			if l.gprOn != l.gprMode() {
				l.exit(b, ir.ExitMode, 0, off)
				return
			}
			b.Term = ir.Term{Kind: ir.TermJump, Cond: ir.NoID, Then: i, PC: off, Next: off}
			return
		}
		l.pc = off
		if l.gprOn != l.gprMode() {
			// The blocks of a function are all of its MODE: what ends this one is lifted again, under the new MODE.
			if fl := l.flow(off, in); fl.end || fl.branch || fl.resume {
				l.exit(b, ir.ExitMode, 0, off)
				return
			}
		}
		w := l.code.at(l.addr(off))
		err := l.decode(w, in)
		if l.code.cut(w, err) || b.Insts > MaxInsts {
			l.exit(b, ir.ExitFetch, 0, off) // who comes here finds the code, or the fault
			return
		}
		if err != nil {
			for i := 0; i+4 <= len(w) && i < 8; i += 4 {
				in.Raw[i/4] = binary.LittleEndian.Uint32(w[i:])
			}
			l.illegal(b, err.Error(), in.Raw[:min(2, len(w)/4)])
			return
		}
		b.Insts++
		if l.skipped(in) {
			off += uint32(in.Size)
			continue
		}
		c.begin()
		c.inst()
		if c.err != nil {
			if l.sinking {
				b.Insts--
				l.stop(b, off)
				return
			}
			l.illegal(b, in.Op.Name+": "+c.err.Error(), in.Raw[:in.Size/4])
			return
		}
		if l.done {
			return
		}
		off = c.next
	}
}

// exit ends b by leaving the code.
func (l *lifter) exit(b *ir.Block, e ir.Exit, imm uint64, next uint32) {
	l.done = true
	b.Term = ir.Term{Kind: ir.TermExit, Cond: ir.NoID, Exit: e, Imm: imm, Next: next, PC: l.pc}
}

// illegal ends b at the current instruction, naming it and its words.
func (l *lifter) illegal(b *ir.Block, what string, words []uint32) {
	msg := what
	for _, w := range words {
		msg += fmt.Sprintf(" %08x", w)
	}
	b.Term = ir.Term{Kind: ir.TermExit, Cond: ir.NoID, Exit: ir.ExitIllegal, Next: l.pc, PC: l.pc, Msg: msg}
}

// pcAt is the guest address at offset off.
func (l *lifter) pcAt(off uint32) ir.ID {
	return l.opi(ir.OpPC, ir.S64, uint64(int64(int32(off))))
}

// inst lifts one instruction: its meaning's statements or rule, with all writes last.
func (c *ictx) inst() {
	c.m = meaningOf(c.op)
	if c.m == nil {
		c.fail(errNoMeaning)
		return
	}
	c.src, c.dst = c.in.Src[:c.in.NSrc], c.in.Dst[:c.in.NDst]
	switch c.op.Fmt {
	case isa.VOP1, isa.VOP2, isa.VOP3, isa.VOPC, isa.VOP3P, isa.VOPD, isa.VINTRP, isa.LDSDIR:
		c.vec = true
	}
	if c.nameIs("v_s_") { // gfx12's scalar transcendentals
		if c.vec = false; c.src[0].Kind == isa.OperandVGPR {
			c.fail(errOperand)
			return
		}
	}
	c.mask = c.exec()
	if c.in.Y != nil {
		c.dual()
		return
	}
	if err := c.setDPP(); err != nil {
		c.fail(err)
		return
	}
	if c.m.rule != nil {
		if err := c.m.rule(c, c.m.args); err != nil {
			c.fail(err)
		}
		if c.err == nil {
			c.flush()
		}
		return
	}
	c.compute()
	if c.err == nil {
		c.flush()
	}
}

// compute evaluates the statements of a meaning, once, or once for each half of a packed instruction.
func (c *ictx) compute() {
	if c.gprOn && c.vec && (c.in.SDWA || c.dpp != nil || c.in.Fmt == isa.VOP3P) {
		c.fail(errIndexMode)
		return
	}
	dt := c.typeOfDst()
	k := kindOf(dt)
	c.wide = c.in.Clamp && c.op.Flags.Has(isa.FlagIntClamp) && !isFloat(k) && k != ir.KindNone && !c.nameIs("v_dot")
	if c.wide && bitsOf(dt) == 64 && !isPacked(dt) {
		c.fail(errClamp)
		return
	}
	if isPacked(dt) {
		c.computePacked(dt)
		return
	}
	for i := range c.m.stmts {
		s := &c.m.stmts[i]
		if v := s.x(c); s.local >= 0 {
			c.locals[s.local] = v
		} else {
			c.assign(s.place, v)
		}
	}
}

func isPacked(t isa.DataType) bool {
	switch t {
	case isa.V2F16, isa.V2BF16, isa.V2I16, isa.V2U16, isa.V2B16, isa.V2F32, isa.V2B32:
		return true
	}
	return false
}

// computePacked evaluates a packed instruction's only statement, "d = ...", for each half.
func (c *ictx) computePacked(dt isa.DataType) {
	c.packed = true
	k := kindOf(dt)
	var h [2]ir.ID
	for c.half = range 2 {
		v := c.m.stmts[0].x(c)
		if c.wide {
			h[c.half] = c.saturated(v, k)
		} else {
			h[c.half] = c.floatResult(c.w32(v), v.k, k)
		}
	}
	o := &c.dst[0]
	if bitsOf(dt) == 64 {
		c.store(o, c.pair(h[0], h[1]), isa.B64, 0)
		return
	}
	lo := h[0]
	if !isFloat(k) || !isVec(c.typ(lo)) {
		lo = c.extend(lo, 16, false)
	}
	c.store(o, c.op2(ir.OpOr, lo, c.op2(ir.OpShl, h[1], c.c32(16))), isa.B32, 0)
}

// dual lifts both halves of a VOPD: both read before either writes.
func (c *ictx) dual() {
	y := c.second
	y.lifter, y.in = c.lifter, c.in
	y.begin()
	y.op, y.vec, y.mask = c.in.Y, true, c.mask
	y.m = meaningOf(y.op)
	if y.m == nil {
		c.fail(fmt.Errorf("%s: %w", y.op.Name, errNoMeaning))
		return
	}
	y.src, y.dst = c.in.YSrc[:c.in.NY], append(y.one[:0], c.in.YDst)
	for _, h := range [2]*ictx{c, y} {
		if h.m.rule != nil {
			c.fail(errNoMeaning)
			return
		}
		h.compute()
		if h.err != nil {
			c.fail(h.err)
			return
		}
	}
	c.flush()
	y.flush()
}

// fp is the float environment of operations in format k.
func (l *lifter) fp(k ir.Kind) ir.FP {
	if k == ir.F16 || k == ir.F64 || k == ir.BF16 {
		return l.fps[1]
	}
	return l.fps[0]
}

// setFP finds the float environments of the mode: of 32 bits, and of 16 and 64.
func (l *lifter) setFP() {
	for i, k := range [2]ir.Kind{ir.F32, ir.F16} {
		l.fps[i] = l.modeFP(k)
	}
}

func (l *lifter) modeFP(k ir.Kind) ir.FP {
	var fp ir.FP
	round, den := l.mode&3, l.mode>>4&3
	if k == ir.F16 || k == ir.F64 || k == ir.BF16 {
		round, den = l.mode>>2&3, l.mode>>6&3
	}
	fp |= ir.FP(round)
	if den&1 == 0 {
		fp |= ir.FPFlushIn
	}
	if den&2 == 0 {
		fp |= ir.FPFlushOut
	}
	if l.gen >= isa.GFX12 {
		// The two bits of MODE are gone: always the IEEE behaviour, and NaN clamps to 0.
		fp |= ir.FPIEEE | ir.FPDX10
	} else {
		if l.mode>>9&1 != 0 {
			fp |= ir.FPIEEE
		}
		if l.mode>>8&1 != 0 {
			fp |= ir.FPDX10
		}
	}
	if l.mode>>23&1 != 0 {
		fp |= ir.FPOvfl
	}
	if l.gen >= isa.GFX12 || l.t.Name == "gfx950" {
		fp |= ir.FPOCP
	}
	return fp
}

// cvtFP is the environment of a conversion: inputs flush by the source format's mode, results round and flush by the
// result's.
func (l *lifter) cvtFP(from, to ir.Kind) ir.FP {
	a, b := l.fp(from), l.fp(to)
	if !isFloat(to) && !to.Float() {
		return a
	}
	if !isFloat(from) {
		return b
	}
	return b&^ir.FPFlushIn | a&ir.FPFlushIn
}

// window caches a page of code memory during one lifting.
type window struct {
	src   Source
	base  uint64
	page  [4096]byte
	n     int
	buf   [20]byte
	valid bool
}

// at returns the code at pc, as much as one instruction can need or can be read: nothing when not even a word can.
func (w *window) at(pc uint64) []byte {
	if base := pc &^ 4095; !w.valid || base != w.base {
		w.base, w.valid = base, true
		w.n = w.src.Fetch(base, w.page[:])
	}
	i := int(pc & 4095)
	if i+len(w.buf) <= w.n {
		return w.page[i : i+len(w.buf)]
	}
	// Across a page boundary, or in a page that is readable only from pc on.
	n := w.src.Fetch(pc, w.buf[:]) &^ 3
	if n == 0 {
		return nil
	}
	return w.buf[:n]
}

// cut tells whether decoding code, which at returned, failed because the memory of the instruction, or of its end, is not there.
func (w *window) cut(code []byte, err error) bool {
	return len(code) < len(w.buf) && errors.Is(err, isa.ErrShort)
}
