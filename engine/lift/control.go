package lift

import (
	"errors"
	"strings"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

var (
	errNoMeaning = errors.New("not implemented")
	errReserved  = errors.New("reserved on this processor")
	errLoadTr    = errors.New("in wave64: not implemented")
)

// What a rule does to control flow, for discovery.
const (
	flowEnd    = 1 << iota // the block ends here
	flowResume             // the next instruction is where a run resumes
	flowBranch             // simm16 is a branch distance
	flowMode               // ends its block when it writes MODE
)

// flows names the rules that change control flow.
var flows = map[string]int{
	"branch":  flowEnd | flowBranch,
	"cbranch": flowBranch,
	"endpgm":  flowEnd,
	"illegal": flowEnd,
	"leave":   flowEnd | flowResume,
	"setpc":   flowEnd,
	"call":    flowEnd | flowResume,
	"setreg":  flowMode,
	"mode":    flowEnd | flowResume,
	"gws":     flowEnd | flowResume,
}

// Barrier sub-operations of ExitBarrierSignal, in bits 63:32 of Term.Imm; bits 31:0 are the barrier id (from the
// immediate or M0).
const (
	BarrierSignal uint64 = iota
	BarrierWait
	BarrierSignalIsFirst // engine writes SCC
	BarrierInit
	BarrierJoin
	BarrierLeave    // engine writes SCC
	BarrierGetState // engine writes the register in bits 47:40
)

func addControlRules(r map[string]rule) {
	r["nop"] = func(*ictx, []string) error { return nil }
	r["branch"] = func(c *ictx, _ []string) error {
		c.jump(c.target())
		return nil
	}
	r["cbranch"] = branchRule
	r["endpgm"] = func(c *ictx, _ []string) error { c.leave(ir.ExitEndPgm, 0); return nil }
	r["illegal"] = func(*ictx, []string) error { return errors.New("illegal instruction") }
	r["leave"] = leaveRule
	r["gws"] = gwsRule
	r["setpc"] = func(c *ictx, args []string) error {
		pc := c.opx(ir.OpAnd, ir.S64, c.reg64(&c.src[0], false), c.c(ir.S64, ^uint64(3)))
		if len(args) > 0 { // rfe: leaves the trap handler
			st := c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegSTATUS), c.c32(^uint32(1<<5)))
			if args[0] == "restore" {
				atc := c.opx(ir.OpShl, ir.S32, c.opx(ir.OpAnd, ir.S32, c.reg(&c.src[1], 0, false), c.c32(1)), c.c32(statusInstATC))
				st = c.opx(ir.OpOr, ir.S32, c.opx(ir.OpAnd, ir.S32, st, c.c32(^uint32(1<<statusInstATC))), atc)
			}
			c.out = append(c.out, write{kind: writeS, reg: isa.SRegSTATUS, x: st})
		}
		c.indirect(pc)
		return nil
	}
	r["call"] = func(c *ictx, args []string) error {
		pc := ir.NoID
		if args[0] == "direct" {
			pc = c.pcAt(c.target())
		} else {
			pc = c.opx(ir.OpAnd, ir.S64, c.reg64(&c.src[0], false), c.c(ir.S64, ^uint64(3)))
		}
		c.store(&c.dst[0], c.pcAt(c.next), isa.B64, 0)
		c.indirect(pc)
		return nil
	}
	r["getreg"] = getregRule
	r["setreg"] = setregRule
	r["mode"] = modeRule
	r["msg"] = func(c *ictx, _ []string) error {
		if c.gen >= isa.GFX11 && c.in.Raw[0]&0xff == msgDeallocVGPRs {
			return nil // gives registers back early; the wave does not use them any more
		}
		c.raw(ir.Value{Op: ir.OpMsg, Imm: uint64(c.in.Raw[0] & 0xffff)}, c.sget(isa.SRegM0))
		return nil
	}
	r["msgrtn"] = func(c *ictx, args []string) error {
		x := c.raw(ir.Value{Op: ir.OpMsgRtn, Type: ir.S64, Imm: uint64(c.in.Raw[0] & 0xff)}, c.sget(isa.SRegM0))
		if args[0] == "b32" {
			c.store(&c.dst[0], c.opx(ir.OpLo, ir.S32, x), isa.B32, 0)
		} else {
			c.store(&c.dst[0], x, isa.B64, 0)
		}
		return nil
	}
	r["fence"] = func(c *ictx, _ []string) error {
		c.raw(ir.Value{Op: ir.OpFence})
		return nil
	}
	r["time"] = func(c *ictx, args []string) error {
		n := uint64(0)
		if args[0] == "real" {
			n = 1
		}
		c.store(&c.dst[0], c.raw(ir.Value{Op: ir.OpTime, Type: ir.S64, Imm: n}), isa.B64, 0)
		return nil
	}
	r["waveid"] = func(c *ictx, _ []string) error {
		c.store(&c.dst[0], c.raw(ir.Value{Op: ir.OpHWGet, Type: ir.S32, Imm: HWWaveInGroup}), isa.B32, 0)
		return nil
	}
	r["sethalt"] = func(c *ictx, _ []string) error {
		if c.in.Raw[0]&1 != 0 {
			c.leave(ir.ExitHalt, 0)
		} else {
			c.jump(c.next)
		}
		return nil
	}
	flows["sethalt"] = flowEnd | flowResume
}

// target is the offset that a direct branch goes to.
func (c *ictx) target() uint32 { return c.next + uint32(int32(int16(c.in.Raw[0])))*4 }

// leave ends the block with an exit that resumes at the next instruction.
func (c *ictx) leave(e ir.Exit, imm uint64) { c.exit(c.b, e, imm, c.next) }

// jump ends the block with a jump to offset off.
func (c *ictx) jump(off uint32) {
	c.done = true
	if i, ok := c.at.blockAt(off); ok {
		c.b.Term = ir.Term{Kind: ir.TermJump, Cond: ir.NoID, Then: i, Next: off, PC: c.pc}
		return
	}
	c.exit(c.b, ir.ExitFetch, 0, off)
}

// indirect ends the block with a jump to a computed address.
func (c *ictx) indirect(pc ir.ID) {
	c.exit(c.b, ir.ExitIndirect, 0, c.next)
	c.b.Term.Cond = pc
}

// branchRule is s_cbranch_*.
func branchRule(c *ictx, args []string) error {
	cond, not := ir.NoID, false
	switch args[0] {
	case "scc0", "scc1":
		cond, not = c.getSCC(), args[0] == "scc0"
	case "vccz", "vccnz":
		cond, not = c.opx(ir.OpMIsZ, ir.S1, c.mget(isa.SRegVCCLo)), args[0] == "vccnz"
	case "execz", "execnz":
		cond, not = c.opx(ir.OpMIsZ, ir.S1, c.exec()), args[0] == "execnz"
	default:
		return errReserved
	}
	if not {
		cond = c.opx(ir.OpMNot, ir.S1, cond)
	}
	c.branchIf(cond)
	return nil
}

// branchIf ends the block with a branch to the instruction's target on cond.
func (c *ictx) branchIf(cond ir.ID) {
	not := false
	if c.isOp(cond, ir.OpMNot) {
		cond, not = c.v(cond).Args[0], true
	}
	then, ok1 := c.at.blockAt(c.target())
	els, ok2 := c.at.blockAt(c.next)
	if !ok1 || !ok2 {
		// The walk stopped at its bound before one of the targets.
		c.out = c.out[:0]
		c.exit(c.b, ir.ExitFetch, 0, c.pc)
		return
	}
	if not {
		then, els = els, then
	}
	c.done = true
	if x, ok := c.constant(cond); ok {
		if x == 0 {
			then = els
		}
		c.b.Term = ir.Term{Kind: ir.TermJump, Cond: ir.NoID, Then: then, Next: c.f.Blocks[then].PC, PC: c.pc}
		return
	}
	c.b.Term = ir.Term{Kind: ir.TermBranch, Cond: cond, Then: then, Else: els, Next: c.next, PC: c.pc}
}

// leaveRule is an instruction that gives the wave away.
func leaveRule(c *ictx, args []string) error {
	imm := uint64(c.in.Raw[0] & 0xffff)
	sub := func(op, id uint64) { c.leave(ir.ExitBarrierSignal, op<<32|id&0xffffffff) }
	id := func() uint64 {
		if len(c.src) > 0 && (c.src[0].Kind == isa.OperandConst || c.src[0].Kind == isa.OperandImm) {
			return c.src[0].Value & 0xffffffff
		}
		return BarrierM0
	}
	switch args[0] {
	case "barrier":
		if to := c.sink(c.next); to != c.next && !c.gprOn {
			c.sinking, c.sunk, c.sunkPC = true, to, c.pc
			return nil
		}
		c.leave(ir.ExitBarrier, 0)
	case "sleep":
		c.leave(ir.ExitSleep, imm)
	case "trap":
		c.leave(ir.ExitTrap, imm&0xff)
	case "icache":
		c.leave(ir.ExitICache, 0)
	case "signal":
		sub(BarrierSignal, id())
	case "signal_isfirst":
		sub(BarrierSignalIsFirst, id())
	case "wait":
		sub(BarrierWait, uint64(int64(int16(imm))))
	case "init":
		sub(BarrierInit, id())
	case "join":
		sub(BarrierJoin, id())
	case "barrier_leave":
		sub(BarrierLeave, 0)
	case "barrier_state":
		if len(c.dst) != 1 || c.dst[0].Kind != isa.OperandSGPR {
			return errReserved
		}
		sub(BarrierGetState|uint64(c.dst[0].Reg)<<8, id())
	default:
		return errReserved
	}
	return nil
}

// BarrierM0 is the id that says "the barrier that M0 names".
const BarrierM0 = 0xffff0000

// Hardware registers by hwreg id.
const (
	hwMODE         = 1
	hwSTATUS       = 2
	hwTRAPSTS      = 3
	hwSHMemBases   = 15
	hwFlatScrLo    = 20
	hwFlatScrHi    = 21
	hwXnackMask    = 22
	hwShaderCycles = 29
)

// HWWaveInGroup is the number of a wave in its work-group, asked for as if it were a hardware register (s_get_waveid_in_workgroup).
const HWWaveInGroup = 0x100

// hwread reads hardware register id.
func (c *ictx) hwread(id uint32) ir.ID {
	old := c.gen < isa.GFX12
	switch {
	case id == hwMODE:
		return c.sget(isa.SRegMODE)
	case id == hwSTATUS && old:
		x := c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegSTATUS), c.c32(^uint32(1|1<<9|1<<10)))
		bit := func(b ir.ID, n uint32) {
			x = c.opx(ir.OpOr, ir.S32, x, c.opx(ir.OpShl, ir.S32, c.opx(ir.OpBToS, ir.S32, b), c.c32(n)))
		}
		bit(c.getSCC(), 0)
		bit(c.opx(ir.OpMIsZ, ir.S1, c.exec()), 9)
		bit(c.opx(ir.OpMIsZ, ir.S1, c.mget(isa.SRegVCCLo)), 10)
		return x
	case id == hwTRAPSTS && old:
		return c.sget(isa.SRegTRAPSTS)
	case id == hwFlatScrLo && (c.gen == isa.GFX10 || c.gen == isa.GFX11 || c.gen == isa.GFX12):
		return c.sget(isa.SRegFlatScratchLo)
	case id == hwFlatScrHi && (c.gen == isa.GFX10 || c.gen == isa.GFX11 || c.gen == isa.GFX12):
		return c.sget(isa.SRegFlatScratchHi)
	case id == hwXnackMask && c.gen == isa.GFX10:
		return c.sget(isa.SRegXnackMaskLo)
	case id == hwShaderCycles && c.gen >= isa.GFX10:
		return c.opx(ir.OpLo, ir.S32, c.raw(ir.Value{Op: ir.OpTime, Type: ir.S64, Imm: 2}))
	case id == hwShaderCycles+1 && c.gen >= isa.GFX12:
		return c.opx(ir.OpHi, ir.S32, c.raw(ir.Value{Op: ir.OpTime, Type: ir.S64, Imm: 2}))
	}
	return c.raw(ir.Value{Op: ir.OpHWGet, Type: ir.S32, Imm: uint64(id)})
}

// msgDeallocVGPRs is the last thing that a wave of RDNA3 and later says before it ends.
const msgDeallocVGPRs = 3

// hwField splits the simm16 of s_getreg and s_setreg.
func (c *ictx) hwField() (id, off, mask uint32) {
	s := c.in.Raw[0] & 0xffff
	size := s>>11 + 1
	return s & 63, s >> 6 & 31, uint32(uint64(1)<<size - 1)
}

func getregRule(c *ictx, _ []string) error {
	id, off, mask := c.hwField()
	x := c.opx(ir.OpLShr, ir.S32, c.hwread(id), c.c32(off))
	c.store(&c.dst[0], c.opx(ir.OpAnd, ir.S32, x, c.c32(mask)), isa.B32, 0)
	return nil
}

// modeWrite reports whether an s_setreg writes MODE.
func modeWrite(in *isa.Inst) bool { return in.Raw[0]&63 == hwMODE }

func setregRule(c *ictx, args []string) error {
	id, off, mask := c.hwField()
	x := ir.NoID
	if len(args) > 0 { // immediate form
		x = c.c32(c.in.Raw[1])
	} else if o := c.setregSource(); o != nil {
		x = c.reg(o, 0, false)
	} else {
		return errOperand
	}
	full := off == 0 && mask == 0xffffffff
	if !full {
		x = c.opx(ir.OpShl, ir.S32, c.opx(ir.OpAnd, ir.S32, x, c.c32(mask)), c.c32(off))
		x = c.opx(ir.OpOr, ir.S32, c.opx(ir.OpAnd, ir.S32, c.hwread(id), c.c32(^(mask<<off))), x)
	}
	set := func(reg int) { c.out = append(c.out, write{kind: writeS, reg: reg, x: x}) }
	switch {
	case id == hwMODE:
		set(isa.SRegMODE)
		c.leave(ir.ExitMode, 0)
	case id == hwSTATUS && c.gen < isa.GFX12:
		set(isa.SRegSTATUS)
		c.out = append(c.out, write{kind: writeSCC, x: c.opx(ir.OpSToB, ir.S1, c.opx(ir.OpAnd, ir.S32, x, c.c32(1)))})
	case id == hwTRAPSTS && c.gen < isa.GFX12:
		set(isa.SRegTRAPSTS)
	case id == hwFlatScrLo && c.gen >= isa.GFX10:
		set(isa.SRegFlatScratchLo)
	case id == hwFlatScrHi && c.gen >= isa.GFX10:
		set(isa.SRegFlatScratchHi)
	case id == hwXnackMask && c.gen == isa.GFX10:
		set(isa.SRegXnackMaskLo)
	default:
		c.raw(ir.Value{Op: ir.OpHWSet, Imm: uint64(id)}, x)
	}
	return nil
}

// setregSource is the register that s_setreg_b32 reads; its field is called sdst.
func (c *ictx) setregSource() *isa.Operand {
	for i := range c.src {
		if c.src[i].Kind == isa.OperandSGPR {
			return &c.src[i]
		}
	}
	if len(c.dst) > 0 && c.dst[0].Kind == isa.OperandSGPR {
		return &c.dst[0]
	}
	return nil
}

// modeRule is s_round_mode and s_denorm_mode.
func modeRule(c *ictx, args []string) error {
	shift := uint32(0)
	if strings.HasPrefix(args[0], "denorm") {
		shift = 4
	}
	x := c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegMODE), c.c32(^(15 << shift)))
	x = c.opx(ir.OpOr, ir.S32, x, c.c32(c.in.Raw[0]&15<<shift))
	c.out = append(c.out, write{kind: writeS, reg: isa.SRegMODE, x: x})
	c.leave(ir.ExitMode, 0)
	return nil
}
