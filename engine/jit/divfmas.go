package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// v_div_fmas is a fused multiply-add, and for lanes whose VCC bit v_div_scale has set, one whose exact sum is scaled before it is
// rounded. The host has nothing for that, and programs divide such numbers next to never. So a region does the plain one, and a strip that has such lanes goes
// to Go for it (scaled_amd64.go) and comes back, with all registers as they were but the result's.

// scaledFMA says where a strip's v_div_fmas has its operands: numbers of zmm registers by operand and half, of the mask register, and of the
// results' registers.
type scaledFMA struct {
	kind ir.Kind
	fp   ir.FP
	args [3][2]uint8
	mask uint8
	out  [2]uint8
	n    int   // halves: 1 of sixteen f32, or 2 of eight f64
	save int32 // scaledSave bytes of frame: zmm registers, then mask registers, then general ones
}

// Where the registers are saved.
const (
	scaledMasks = 32 * 64
	scaledRegs  = scaledMasks + 8*8
	scaledSave  = scaledRegs + 8*8
)

// scaledKept are the general registers that live across a region's operations.
var scaledKept = [...]x86.Reg{x86.RBX, x86.R9, rMask, rStrip, x86.R12, x86.R13, x86.R14, x86.R15}

// canDivFmas tells whether divFmas knows the operation.
func (c *compiler) canDivFmas(v *ir.Value) bool {
	return (v.Kind == ir.F32 || v.Kind == ir.F64) && plainFP(v.FP) && v.FP.Round() == 0 && isVec(v.Type)
}

func (c *compiler) divFmas(id ir.ID, v *ir.Value, u int) {
	r, a := &c.r, &c.a
	const L = x86.L512
	if x, ok := c.isConst(v.Args[3]); ok && x&c.full() == 0 {
		w := 0
		if v.Kind == ir.F64 {
			w = 1
		}
		for i := range c.vals[id].comps {
			r.fma(id, v, i, u, w, noMod)
		}
		return
	}
	s := scaledFMA{kind: v.Kind, fp: v.FP, n: 1, save: c.scaledArea()}
	size, inst := 4, x86.VFMADD231PS
	if v.Kind == ir.F64 {
		s.n, size, inst = 2, 8, x86.VFMADD231PD
	}
	k := r.kin(v.Args[3], u, false)
	s.mask = uint8(k)
	var z [3][2]x86.Vec
	for n := range z {
		for i := range s.n {
			z[n][i] = r.zin(v.Args[n], i, u, size)
			s.args[n][i] = uint8(z[n][i])
		}
	}
	var d [2]x86.Vec
	for i := range s.n {
		d[i] = r.tmp()
		s.out[i] = uint8(d[i])
	}
	slow, done := a.NewLabel(), a.NewLabel()
	a.X(x86.KORTESTW, x86.L128, uint8(k), 0, x86.KR(k))
	a.Jcc(x86.NE, slow)
	for i := range s.n {
		a.E(x86.VMOVDQU32, L, uint8(d[i]), 0, x86.V(z[2][i]), noMod)
		a.E(inst, L, uint8(d[i]), uint8(z[0][i]), x86.V(z[1][i]), noMod)
	}
	a.Bind(done)
	for i := range s.n {
		r.become(id, i, u, d[i])
	}
	c.p.scaled = append(c.p.scaled, s)
	index := int32(len(c.p.scaled) - 1)
	env, _, _ := floatEnv(v)
	mxcsr := c.envOf(env)
	c.tails = append(c.tails, func() { c.leaveForScaled(index, slow, done, mxcsr) })
}

// leaveForScaled is the way to Go and back.
func (c *compiler) leaveForScaled(index int32, slow, done x86.Label, mxcsr uint32) {
	a := &c.a
	const L = x86.L512
	save := c.p.scaled[index].save
	back := a.NewLabel()
	a.Bind(slow)
	for i := range int32(32) {
		a.E(x86.VMOVDQU32S, L, uint8(i), 0, x86.M(rFrame, save+64*i), noMod)
	}
	for i := range int32(7) {
		a.X(x86.KMOVWS, x86.L128, uint8(i+1), 0, x86.M(rFrame, save+scaledMasks+8*(i+1)))
	}
	for i, g := range scaledKept {
		a.GS(x86.MOVS, 8, x86.M(rFrame, save+scaledRegs+8*int32(i)), g)
	}
	a.MovMI(4, x86.M(rFrame, frameOp), index)
	a.LeaL(x86.RAX, back, 0)
	a.GS(x86.MOVS, 8, x86.M(rFrame, frameResume), x86.RAX)
	c.ret(retScaled)
	a.Bind(back)
	if mxcsr != c.p.MXCSR {
		a.Ldmxcsr(x86.ML(a.Const32(mxcsr), 0))
	}
	for i := range int32(32) {
		a.E(x86.VMOVDQU32, L, uint8(i), 0, x86.M(rFrame, save+64*i), noMod)
	}
	for i := range int32(7) {
		a.X(x86.KMOVWL, x86.L128, uint8(i+1), 0, x86.M(rFrame, save+scaledMasks+8*(i+1)))
	}
	for i, g := range scaledKept {
		a.G(x86.MOV, 8, g, x86.M(rFrame, save+scaledRegs+8*int32(i)))
	}
	a.Jmp(done)
}

// scaledArea is scaledSave bytes of frame, the same for the whole block: a strip that comes back has done with them.
func (c *compiler) scaledArea() int32 {
	if c.scaled == 0 {
		c.scaled = c.frameLines(scaledSave)
	}
	return c.scaled
}
