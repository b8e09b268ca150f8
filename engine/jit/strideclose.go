package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// What a turn of a loop over an array (stride.go) leaves to the next one, and in registers.

// keep makes an operation that stores x at the end of the scalar part: at at of the form's frame, or of the state for at+strideState.
func (s *stream) keep(x ir.ID, at uint64) {
	s.put(ir.Value{Op: opKeep, Args: []ir.ID{x}, Imm: at})
}

// strideFinal is what VGPR n holds at the end of a turn, and n+1 if x is wide; or n alone the high half of x.
type strideFinal struct {
	n    uint64
	x    *sval
	high bool
}

// finals are the registers that the turn writes and that are no vectors.
func (s *stream) finals() (l []strideFinal) {
	number := func(x *sval) bool { return x != nil && (x.kind == kUniform || x.kind == kAffine) }
	for n := uint64(0); n < vgprs-1; n++ {
		x := s.v[n]
		if x == nil || x.kind == kVector {
			continue
		}
		if y := s.v[n+1]; y != nil && (y.kind == kLazy || y.high != nil || halves(x, y)) {
			if z := s.pair(x, y); number(z) && z.wide {
				l = append(l, strideFinal{n, z, false})
				n++
				continue
			}
		}
		if k := x.high; x.kind == kLazy && k != nil && k.carry != nil { // a high half whose low one is not there any more
			if z := s.sumPair(&sval{kind: kLazy, sum: &[2]*sval{k.carry[0], k.carry[1]}}, x); number(z) {
				l = append(l, strideFinal{n, z, true})
				continue
			}
		}
		if x = s.force(x); !number(x) || x.wide || s.c.v(x.id).Type != ir.S32 {
			refuse("v%d is left with what has no form", n)
		}
		l = append(l, strideFinal{n, x, false})
	}
	for _, f := range l {
		if f.x.wide && (f.x.step < 0 || f.x.step > maxStep<<8) {
			refuse("a step of %d", f.x.step)
		}
	}
	return l
}

// closeTurn makes what goes on from turn to turn, and what registers are left with.
func (s *stream) closeTurn() {
	st := s.stride
	finals := s.finals()
	cur := func(n uint64) *sval {
		if x := s.v[n]; x != nil {
			return x
		}
		return st.vgets[n]
	}
	// Inputs that the block writes have the same step again.
	nexts := map[strideInput]*sval{}
	for i := 0; i < len(st.inputs); i++ { // there may be more on the way
		v := st.inputs[i]
		if !st.changes(v.strideInput) {
			continue
		}
		again := func() {
			st.general[v.n] = true
			panic(strideAgain{})
		}
		x := cur(v.n)
		if v.wide {
			hi := cur(v.n + 1)
			if x.kind == kVector || hi.kind == kVector {
				again()
			}
			if x = s.pair(x, hi); x == nil || !x.wide {
				again()
			}
		} else if x = s.force(x); x.wide {
			again()
		}
		if x.kind != kUniform && x.kind != kAffine || x.step != v.x.step {
			again()
		}
		nexts[v.strideInput] = x
	}
	for _, v := range st.inputs {
		if x := nexts[v.strideInput]; x != nil {
			s.keep(x.id, uint64(v.at))
		}
	}
	for _, f := range finals {
		l := strideLeft{strideInput: strideInput{f.n, f.x.wide}, step: f.x.step, high: f.high}
		for _, v := range st.inputs {
			if x := nexts[v.strideInput]; x != nil && !f.high && v.strideInput == l.strideInput && x.id == f.x.id {
				l.at = v.at
			}
		}
		if l.at == 0 {
			l.at = st.keeps
			st.keeps += 8
			s.keep(f.x.id, uint64(l.at))
		}
		st.left = append(st.left, l)
	}
	s.closeScalars()
}

// closeScalars makes the writes of scalar registers.
func (s *stream) closeScalars() {
	c, st := s.c, s.stride
	for n := range uint64(isa.NumSRegs) {
		h, ok := s.s[n]
		if !ok || !st.sset[n] || n == isa.SRegEXECLo || n == isa.SRegEXECLo+1 {
			continue
		}
		if h.x == st.first[n] {
			continue
		}
		at := strideState + uint64(offS) + 4*n
		x := s.force(h.x)
		if x.kind == kUniform && c.v(x.id).Type == ir.S1 && h.x.kind != kAll { // a mask of all or no lanes
			m := s.bin(ir.OpSub, ir.S32, s.konst(ir.S32, 0), s.un(ir.OpBToS, ir.S32, x.id))
			s.keep(m, at)
			continue
		}
		switch {
		case x.kind == kAll:
			b := x.bits
			if h.hi {
				b >>= 32
			}
			s.keep(s.konst(ir.S32, b&low32), at)
		case x.kind != kUniform:
			refuse("s%d is left with what has no form", n)
		case !x.wide:
			s.keep(x.id, at)
		case h.hi:
			s.keep(s.un(ir.OpHi, ir.S32, x.id), at)
		default:
			s.keep(s.un(ir.OpLo, ir.S32, x.id), at)
		}
	}
}
