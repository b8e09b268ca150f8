package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Branches that change EXEC, and conditions that only old generations and debuggers have.
//
// gfx9's s_cbranch_g_fork and s_cbranch_i_fork send the smaller half of the active lanes first: the others wait on a stack
// of four scalar registers an entry, [EXEC, PC], whose depth is MODE.CSP. s_cbranch_join takes them from there, until the depth is
// what it was before the fork (CDNA3 manual, "S_CBRANCH_G_FORK"). MODE is part of what code is lifted for, so the stack's
// registers are known.
//
// gfx10 and gfx11 have s_subvector_loop_begin and _end, which run the code between them for the low and for the high half
// of a wave64, leaving out a half without active lanes; the waiting half of EXEC is in the instruction's register (RDNA 1
// manual, "S_SUBVECTOR_LOOP_BEGIN").

const (
	modeVSkip = 1 << 28 // gfx9: vector instructions do nothing
	modeCSP   = 29      // bits 31:29: forks that wait

	statusCondDbgUser = 20
	statusCondDbgSys  = 21
	statusInstATC     = 23
)

func addForkRules(r map[string]rule) {
	r["fork"] = forkRule
	r["join"] = joinRule
	r["subvector"] = subvectorRule
	r["cdbg"] = func(c *ictx, args []string) error {
		bit := func(n uint32) ir.ID {
			return c.opx(ir.OpSToB, ir.S1, c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegSTATUS), c.c32(1<<n)))
		}
		cond := ir.NoID
		switch args[0] {
		case "sys":
			cond = bit(statusCondDbgSys)
		case "user":
			cond = bit(statusCondDbgUser)
		case "or":
			cond = c.opx(ir.OpMOr, ir.S1, bit(statusCondDbgSys), bit(statusCondDbgUser))
		default:
			cond = c.opx(ir.OpMAnd, ir.S1, bit(statusCondDbgSys), bit(statusCondDbgUser))
		}
		c.branchIf(cond)
		return nil
	}
	r["vskip"] = func(c *ictx, _ []string) error {
		x := c.opx(ir.OpAnd, ir.S32, c.opx(ir.OpLShr, ir.S32, c.reg(&c.src[0], 0, false), c.reg(&c.src[1], 0, false)), c.c32(1))
		m := c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegMODE), c.c32(^uint32(modeVSkip)))
		m = c.opx(ir.OpOr, ir.S32, m, c.opx(ir.OpShl, ir.S32, x, c.c32(28)))
		c.out = append(c.out, write{kind: writeS, reg: isa.SRegMODE, x: m})
		c.leave(ir.ExitMode, 0)
		return nil
	}
	flows["fork"] = flowEnd | flowResume
	flows["join"] = flowEnd | flowResume
	flows["subvector"] = flowBranch
	flows["cdbg"] = flowBranch
	flows["vskip"] = flowEnd | flowResume
}

// skipped reports whether MODE.VSKIP makes in do nothing.
func (l *lifter) skipped(in *isa.Inst) bool {
	if l.mode&modeVSkip == 0 || l.gen > isa.GFX940 {
		return false
	}
	switch in.Op.Fmt {
	case isa.SOP1, isa.SOP2, isa.SOPC, isa.SOPK, isa.SOPP, isa.SMEM:
		return false
	}
	return true
}

// setCSP writes the depth of the fork stack.
func (c *ictx) setCSP(n ir.ID) {
	m := c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegMODE), c.c32(1<<modeCSP-1))
	c.out = append(c.out, write{kind: writeS, reg: isa.SRegMODE, x: c.opx(ir.OpOr, ir.S32, m, c.opx(ir.OpShl, ir.S32, n, c.c32(modeCSP)))})
}

// forkRule is s_cbranch_g_fork and s_cbranch_i_fork: lanes of src0 go to the target, the others go on.
func forkRule(c *ictx, args []string) error {
	if c.lanes != 64 {
		return errReserved
	}
	target := ir.NoID
	if args[0] == "i" {
		target = c.pcAt(c.target())
	} else {
		target = c.reg64(&c.src[1], false)
	}
	next := c.pcAt(c.next)
	exec := c.sget64(isa.SRegEXECLo)
	pass := c.opx(ir.OpAnd, ir.S64, c.reg64(&c.src[0], false), exec)
	fail := c.opx(ir.OpXor, ir.S64, pass, exec)
	same := func(x ir.ID) ir.ID { return c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.EQ}, x, exec) }
	all, none := same(pass), same(fail)
	count := func(x ir.ID) ir.ID { return c.opx(ir.OpPopcnt, ir.S64, x) }
	on := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.ULT}, count(fail), count(pass)) // the lanes that fail are first
	sel := func(t ir.Type, k, x, y ir.ID) ir.ID { return c.opx(ir.OpSelect, t, k, x, y) }
	split := c.opx(ir.OpMNot, ir.S1, c.opx(ir.OpMOr, ir.S1, all, none))

	csp := c.mode >> modeCSP
	at := int(csp) * 4
	push := func(reg int, x ir.ID) {
		c.out = append(c.out, write{kind: writeS64, reg: reg, x: sel(ir.S64, split, x, c.sget64(reg))})
	}
	push(at, sel(ir.S64, on, pass, fail))
	push(at+2, sel(ir.S64, on, target, next))
	c.out = append(c.out, write{kind: writeS64, reg: isa.SRegEXECLo, x: sel(ir.S64, split, sel(ir.S64, on, fail, pass), exec)})
	c.setCSP(sel(ir.S32, split, c.c32((csp+1)&7), c.c32(csp)))
	pc := sel(ir.S64, on, next, target)
	c.indirect(sel(ir.S64, all, target, sel(ir.S64, none, next, pc)))
	return nil
}

// joinRule is s_cbranch_join: src0 is the stack's depth before the fork.
func joinRule(c *ictx, _ []string) error {
	if c.lanes != 64 {
		return errReserved
	}
	csp := c.mode >> modeCSP
	done := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.EQ}, c.reg(&c.src[0], 0, false), c.c32(csp))
	at := int((csp-1)&7) * 4
	exec, pc := c.sget64(at), c.sget64(at+2)
	c.out = append(c.out, write{kind: writeS64, reg: isa.SRegEXECLo, x: c.opx(ir.OpSelect, ir.S64, done, c.sget64(isa.SRegEXECLo), exec)})
	c.setCSP(c.opx(ir.OpSelect, ir.S32, done, c.c32(csp), c.c32((csp-1)&7)))
	c.indirect(c.opx(ir.OpSelect, ir.S64, done, c.pcAt(c.next), pc))
	return nil
}

// subvectorRule is s_subvector_loop_begin and s_subvector_loop_end.
func subvectorRule(c *ictx, args []string) error {
	if c.lanes != 64 { // wave64 only, the manual says
		return errReserved
	}
	o := c.setregSource()
	if o == nil {
		return errOperand
	}
	r := int(o.Reg)
	lo, hi, s := c.sget(isa.SRegEXECLo), c.sget(isa.SRegEXECHi), c.sget(r)
	zero := func(x ir.ID) ir.ID { return c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.EQ}, x, c.c32(0)) }
	sel := func(k, x, y ir.ID) ir.ID { return c.opx(ir.OpSelect, ir.S32, k, x, y) }
	set := func(reg int, x ir.ID) { c.out = append(c.out, write{kind: writeS, reg: reg, x: x}) }
	if args[0] == "begin" {
		// Without lanes: all is skipped. Without low lanes: only the high half runs. Else the low half runs first.
		empty := c.opx(ir.OpMAnd, ir.S1, zero(lo), zero(hi))
		set(r, sel(empty, s, sel(zero(lo), lo, hi)))
		set(isa.SRegEXECHi, sel(zero(lo), hi, c.c32(0)))
		c.branchIf(empty)
		return nil
	}
	// The high half has run: the low half of EXEC comes back. The low half has run: the high one does, if it has lanes.
	high, none := c.opx(ir.OpMNot, ir.S1, zero(hi)), zero(s)
	again := c.opx(ir.OpMNot, ir.S1, c.opx(ir.OpMOr, ir.S1, high, none))
	set(r, sel(again, lo, s))
	set(isa.SRegEXECLo, sel(again, c.c32(0), sel(high, s, lo)))
	set(isa.SRegEXECHi, sel(again, s, hi))
	c.branchIf(again)
	return nil
}
