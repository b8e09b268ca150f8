//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// Random instructions of the tables: each row that computes in registers, in each of its encodings (32 bits, SDWA, DPP, 64 bits, a literal, dual
// issue), with random operands and modifiers. What the decoder refuses, or has no meaning, is drawn again.

// Registers of these programs. The lower half holds inputs and is rarely written, the upper one results, so that few are lost.
const (
	instVGPRs  = 96
	instInputs = 48
	instAcc    = 16
	instMask   = 36 // a pair of SGPRs with a mask that is mostly ones
)

// Kinds of numbers that the inputs hold, by register: instArea(n).
const (
	areaF32 = iota
	areaF64
	areaF16
	areaInt
	numAreas
)

// instArea is the kind of numbers in register n, vector or scalar.
func instArea(n int) int {
	switch {
	case n < 16:
		return areaF32
	case n < 28:
		return areaF64
	case n < 36:
		return areaF16
	}
	return areaInt
}

// areaOf are the registers that hold a type's numbers: first and how many.
func areaOf(t isa.DataType) (first, n int) {
	switch t {
	case isa.F32, isa.V2F32:
		return 0, 16
	case isa.F64:
		return 16, 12
	case isa.F16, isa.BF16, isa.V2F16, isa.V2BF16, isa.B16, isa.V2B16, isa.V2I16, isa.V2U16, isa.I16, isa.U16:
		return 28, 8
	case isa.I32, isa.U32, isa.I64, isa.U64, isa.I8, isa.U8, isa.V4I8, isa.V4U8, isa.V8I4, isa.V8U4:
		return 36, 12
	}
	return 0, instInputs
}

// instTarget is what instructions are made for.
type instTarget struct {
	name  string
	lanes int
}

var instTargets = []instTarget{{"gfx90a", 64}, {"gfx942", 64}, {"gfx950", 64}, {"gfx1030", 32}, {"gfx1030", 64}, {"gfx1100", 32}, {"gfx1100", 64}, {"gfx1201", 32},
	{"gfx1201", 64}, {"gfx908", 64}}

// never are instructions that these programs cannot have: they go elsewhere, end the wave, wait for somebody, or choose registers by what code
// around them names (package lift, relative.go), which is not the same for who begins in another place.
var never = []string{"s_getpc", "s_setpc", "s_swappc", "s_rfe", "s_cbranch", "s_call", "s_branch", "s_sendmsg", "s_barrier", "s_get_barrier", "s_wakeup", "s_sleep",
	"s_subvector", "s_setreg", "s_getreg", "s_waitcnt", "s_version", "movrel", "gpr_idx", "v_interp", "s_cbranch_i_fork", "s_trap"}

// instRows are the rows of a target that its programs have.
var instRows = sync.OnceValue(func() map[string][]*isa.Op {
	rows := map[string][]*isa.Op{}
	for _, k := range instTargets {
		tg := isa.TargetByName(k.name)
		if rows[k.name] != nil {
			continue
		}
	row:
		for _, op := range isa.Ops() {
			switch op.Fmt {
			case isa.SOP1, isa.SOP2, isa.SOPC, isa.SOPK, isa.VOP1, isa.VOP2, isa.VOPC, isa.VOP3, isa.VOP3P:
			default:
				continue
			}
			if !op.On(tg) || !lift.Known(op) || op.Flags&(isa.FlagBranch|isa.FlagTerminator) != 0 || op.Flags&isa.FlagMFMA != 0 && !strings.Contains(op.Name, "accvgpr") {
				continue
			}
			for _, n := range never {
				if strings.Contains(op.Name, n) {
					continue row
				}
			}
			for range rowWeight(op) {
				rows[k.name] = append(rows[k.name], op)
			}
		}
	}
	return rows
})

// rowWeight says how often there is a row: a third of all are comparisons, which are much the same; what has many cases is rarer in the tables than in
// the compiler.
func rowWeight(op *isa.Op) int {
	if op.Fmt == isa.VOPC {
		return 1
	}
	for _, n := range []string{"div_", "readfirst", "readlane", "writelane", "permlane", "_shl", "_shr", "lshl", "lshr", "ashr", "med3", "fma", "_mad_", "min", "max", "ldexp", "class",
		"bfe", "ff", "clz", "ctz", "mbcnt", "perm_b32", "cvt_", "rcp", "rsq", "sqrt"} {
		if strings.Contains(op.Name, n) {
			return 6
		}
	}
	return 3
}

// instGen makes instructions.
type instGen struct {
	r     *rand.Rand
	t     *isa.Target
	lanes int
	words [6]uint32
	in    isa.Inst
	plain bool     // no modifiers: what is tried last
	bad   []string // what has no valid IR
}

func (g *instGen) one(n int) bool { return g.r.IntN(n) == 0 }

// vsrc is a vector register to read n of.
func (g *instGen) vsrc(t isa.DataType, n int) uint32 {
	n = max(n, 1)
	first, count := 0, instVGPRs
	switch g.r.IntN(4) {
	case 0:
	case 1: // a result
		first, count = instInputs, instVGPRs-instInputs
	default:
		first, count = areaOf(t)
	}
	if count < n {
		first, count = 0, instVGPRs
	}
	x := first + g.r.IntN(count-n+1)
	if n > 1 || t == isa.F64 {
		x &^= 1
	}
	if g.t.Gen >= isa.GFX11 && n == 1 && g.one(6) && x < 128 { // perhaps a high half
		if c := is16Bits(t); c {
			x |= 128
		}
	}
	return uint32(x)
}

func is16Bits(t isa.DataType) bool {
	switch t {
	case isa.B16, isa.U16, isa.I16, isa.F16, isa.BF16, isa.U8:
		return true
	}
	return false
}

// vdst is a vector register to write n of.
func (g *instGen) vdst(t isa.DataType, n int) uint32 {
	n = max(n, 1)
	x := instInputs + g.r.IntN(instVGPRs-instInputs-n+1)
	if g.one(24) {
		x = g.r.IntN(instVGPRs - n + 1)
	}
	if n > 1 {
		x &^= 1
	}
	return uint32(x)
}

// ssrc is the code of a scalar source of n dwords.
func (g *instGen) ssrc(t isa.DataType, n int) uint32 {
	even := func(x int) uint32 {
		if n > 1 {
			x &^= 1
		}
		return uint32(x)
	}
	switch g.r.IntN(14) {
	case 0, 12, 13:
		return uint32(128 + g.r.IntN(81))
	case 1:
		return uint32(240 + g.r.IntN(9))
	case 2:
		return []uint32{106, 107, 124, 125, 126, 127}[g.r.IntN(6)]
	case 3:
		return []uint32{235, 236, 237, 238, 251, 252, 253, 253}[g.r.IntN(8)]
	case 4:
		return 255
	case 5, 6:
		return even(instInputs + g.r.IntN(instVGPRs-instInputs))
	case 7:
		return even(g.r.IntN(instInputs))
	}
	first, count := areaOf(t)
	return even(first + g.r.IntN(count))
}

// sdst is the code of a scalar destination of n dwords.
func (g *instGen) sdst(n int) uint32 {
	x := instInputs + g.r.IntN(instVGPRs-instInputs-max(n, 1)+1)
	switch g.r.IntN(40) {
	case 0, 1, 2, 3:
		x = 106
	case 4:
		x = 126
	case 5:
		x = 124 + g.r.IntN(2)
	case 6:
		x = g.r.IntN(instMask)
	}
	if n > 1 {
		x &^= 1
	}
	return uint32(x)
}

// src9 is the code of a source that may be of either kind.
func (g *instGen) src9(s isa.OperandSpec) uint32 {
	n := int(s.N)
	if s.Type == isa.MaskT || strings.HasPrefix(s.Name, "s") && s.Name != "src0" && s.Name != "src1" && s.Name != "src2" {
		return g.ssrc(s.Type, 2)
	}
	if g.one(3) && n <= 2 {
		return g.ssrc(s.Type, n)
	}
	return 256 + g.vsrc(s.Type, n)&^128
}

func specN(l []isa.OperandSpec, i int) isa.OperandSpec {
	if i < len(l) {
		return l[i]
	}
	return isa.OperandSpec{N: 1}
}

// bits gives n random bits now and then, else none.
func (g *instGen) bits(n int, often int) uint32 {
	if g.plain || !g.one(often) {
		return 0
	}
	return g.r.Uint32N(1 << n)
}

// extra is what may follow an instruction: a literal.
func (g *instGen) literal() uint32 { return edge32(g.r, g.r.IntN(numAreas)) }

// dppCtrls are the controls of DPP16 that some generation has.
func (g *instGen) dppCtrl() uint32 {
	n := g.r.Uint32N(15) + 1
	switch g.r.IntN(9) {
	case 0, 1:
		return g.r.Uint32N(256) // quad_perm
	case 2:
		return 0x100 + n
	case 3:
		return 0x110 + n
	case 4:
		return 0x120 + n
	case 5:
		return 0x140 + g.r.Uint32N(2)
	case 6:
		return []uint32{0x130, 0x134, 0x138, 0x13c, 0x142, 0x143}[g.r.IntN(6)]
	case 7:
		return 0x150 + n
	}
	return 0x160 + n
}

// dppWord is the second word of a DPP16 instruction.
func (g *instGen) dppWord(t isa.DataType, n int) uint32 {
	w := g.vsrc(t, n)&^128 | g.dppCtrl()<<8
	if g.t.Gen >= isa.GFX10 {
		w |= g.r.Uint32N(2) << 18
	}
	w |= g.r.Uint32N(2)<<19 | g.bits(4, 3)<<20
	mask := func() uint32 {
		if g.one(2) {
			return 15
		}
		return g.r.Uint32N(16)
	}
	return w | mask()<<24 | mask()<<28
}

// sdwaWord is the second word of an SDWA instruction.
func (g *instGen) sdwaWord(op *isa.Op) uint32 {
	s0, s1 := specN(op.Src, 0), specN(op.Src, 1)
	r := g.r
	w := uint32(0)
	source := func(s isa.OperandSpec) (code, scalar uint32) {
		if g.one(5) {
			if c := g.ssrc(s.Type, 1); c != 255 {
				return c, 1
			}
		}
		return g.vsrc(s.Type, 1) &^ 128, 0
	}
	c0, sc0 := source(s0)
	w |= c0 | sc0<<23
	if op.Fmt == isa.VOPC {
		if g.one(2) {
			w |= g.sdst(2)<<8 | 1<<15
		}
	} else {
		w |= r.Uint32N(7)<<8 | r.Uint32N(3)<<11 | g.bits(1, 3)<<13 | g.bits(2, 4)<<14
	}
	w |= r.Uint32N(7)<<16 | g.bits(3, 2)<<19
	if len(op.Src) > 1 && s1.Type != isa.MaskT {
		w |= r.Uint32N(7)<<24 | g.bits(3, 2)<<27
		if g.one(5) {
			w |= 1 << 31
		}
	}
	return w
}

// lift1 is the mode that instructions are tried in.
const instMode = 0x3f0

// try decodes what words hold, and tells whether a program may have it.
func (g *instGen) try() (code []byte, ok bool) {
	var b [28]byte
	for i, w := range g.words {
		binary.LittleEndian.PutUint32(b[4*i:], w)
	}
	in := &g.in
	if isa.Decode(g.t, b[:24], in) != nil {
		return nil, false
	}
	for _, l := range [][]isa.Operand{in.Src[:in.NSrc], in.Dst[:in.NDst]} {
		for i := range l {
			if o := &l[i]; o.Kind == isa.OperandVGPR && int(o.Reg)+max(int(o.N), 1) > instVGPRs || o.Kind == isa.OperandAcc && int(o.Reg)+max(int(o.N), 1) > instAcc {
				return nil, false
			}
		}
	}
	if in.Fmt == isa.VOPD {
		for i := range in.YSrc[:in.NY] {
			if o := &in.YSrc[i]; o.Kind == isa.OperandVGPR && int(o.Reg) >= instVGPRs {
				return nil, false
			}
		}
		if in.YDst.Reg >= instVGPRs {
			return nil, false
		}
	}
	for i := range in.Dst[:in.NDst] { // one that holds the mask stays
		if o := &in.Dst[i]; o.Kind == isa.OperandSGPR && int(o.Reg) <= instMask+1 && int(o.Reg)+int(o.N) > instMask {
			return nil, false
		}
	}
	code = append(code, b[:in.Size]...)
	f, err := lift.Func(textSource{&flat{va: 0x1000, b: code}}, g.t, 0x1000, instMode, g.lanes)
	if err != nil {
		return nil, false
	}
	if err := ir.Verify(f); err != nil {
		g.bad = append(g.bad, fmt.Sprintf("%s: %v", isa.Disasm(in, g.t, 0), err))
		return nil, false
	}
	for _, b := range f.Blocks {
		if b.Term.Kind == ir.TermExit && b.Term.Exit == ir.ExitIllegal && b.PC == f.Blocks[0].PC {
			return nil, false
		}
	}
	return code, true
}

// forms of a row: what e32 and e64 make of it.
func (g *instGen) form(op *isa.Op) string {
	switch op.Fmt {
	case isa.VOP1, isa.VOP2, isa.VOPC:
		switch g.r.IntN(8) {
		case 0, 1:
			return "e32"
		case 2, 3:
			return "e64"
		case 4:
			if g.t.Gen >= isa.GFX11 {
				return "e64_dpp"
			}
			return "sdwa"
		case 5:
			if g.t.Gen >= isa.GFX10 {
				return "dpp8"
			}
			return "sdwa"
		}
		return "dpp"
	case isa.VOP3:
		if g.t.Gen >= isa.GFX11 && g.one(4) {
			return "e64_dpp"
		}
	}
	return ""
}

// inst is a random instruction of a row; form is how it is encoded. It is nil if none was found.
func (g *instGen) inst(op *isa.Op) (code []byte, form string) {
	for try := range 12 {
		form = g.form(op)
		g.plain = try > 6
		switch op.Fmt {
		case isa.VOP1, isa.VOP2, isa.VOPC:
			if strings.HasPrefix(form, "e64") {
				g.e64(op, form != "e64")
			} else {
				g.e32(op, form)
			}
		case isa.VOP3:
			g.e64(op, form != "")
		case isa.VOP3P:
			g.packed(op)
		default:
			g.scalarWords(op)
		}
		if code, ok := g.try(); ok && g.in.Op == op {
			return code, form
		}
	}
	return nil, ""
}

// pair is a random dual-issue instruction, or nil.
func (g *instGen) pair() []byte {
	for range 12 {
		g.vopd()
		if code, ok := g.try(); ok && g.in.Fmt == isa.VOPD {
			return code
		}
	}
	return nil
}

// edge32 is a dword of an area: numbers where arithmetic has its edges. Of f64 it is the high half.
func edge32(r *rand.Rand, area int) uint32 {
	float := func(exp, man int) uint32 { // a number of a format in its low bits
		bias, top := 1<<(exp-1)-1, 1<<exp-1
		e, m := 0, r.Uint32N(1<<man)
		switch r.IntN(12) {
		case 0:
		case 1:
			e = top
		case 2:
			e = top - 1
		case 3:
			e = 1
		case 4, 5:
			e = bias - 2 + r.IntN(5)
		case 6:
			e = bias + man - 2 + r.IntN(5)
		case 7:
			e = bias + 28 + r.IntN(8)
		case 8:
			e = bias - 14 + r.IntN(3) - 10*r.IntN(2)
		case 9:
			e = bias/2 + r.IntN(3)
		default:
			e = r.IntN(top)
		}
		switch r.IntN(8) {
		case 0, 1:
			m = 0
		case 2:
			m = 1
		case 3:
			m = 1<<man - 1
		case 4:
			m = 1 << (man - 1)
		case 5:
			m &= 3 << (man - 4)
		}
		return r.Uint32N(2)<<(exp+man) | uint32(min(max(e, 0), top))<<man | m
	}
	switch area {
	case areaF32:
		return float(8, 23)
	case areaF64:
		return float(11, 20)
	case areaF16:
		if r.IntN(4) == 0 {
			return float(8, 7) | float(8, 7)<<16
		}
		return float(5, 10) | float(5, 10)<<16
	}
	switch r.IntN(5) {
	case 0:
		return uint32(r.IntN(140) - 70)
	case 1:
		return uint32(interesting[r.IntN(len(interesting))])
	case 2:
		return 1<<r.IntN(32) - uint32(r.IntN(3)) + 1
	case 3:
		return r.Uint32() & r.Uint32() & r.Uint32()
	}
	return r.Uint32()
}
