package jit

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// allocZ finds a zmm register, evicting the one whose next use is furthest.
func (r *region) allocZ(own int32) x86.Vec {
	best, far := -1, -1
	for i := range r.zown {
		if r.zpin>>i&1 != 0 {
			continue
		}
		switch o := r.zown[i]; {
		case o == ownFree:
			r.zown[i] = own
			r.zpin |= 1 << i
			return x86.Vec(i)
		case o >= 0:
			if n := r.next(o / maxU); n > far {
				best, far = i, n
			}
		}
	}
	if best < 0 {
		r.c.a.Fail("no vector register left")
		return 0
	}
	r.spillZ(best)
	r.zown[best] = own
	r.zpin |= 1 << best
	return x86.Vec(best)
}

// spillZ empties register i, saving its component if memory does not have it.
func (r *region) spillZ(i int) {
	o := r.zown[i]
	k, u := o/maxU, int(o%maxU)
	if !r.inMem(k, u) {
		r.c.a.E(x86.VMOVDQU32S, x86.L512, uint8(i), 0, r.vaddr(rFrame, r.c.slot(k), u), x86.Mod{})
		r.copies[o].stored = true
	}
	r.copies[o].z = noReg
	r.zown[i] = ownFree
}

func (r *region) allocK(own int32) x86.K {
	best, far := -1, -1
	for i := 1; i < 8; i++ {
		if r.kpin>>i&1 != 0 {
			continue
		}
		switch o := r.kown[i]; {
		case o == ownFree:
			r.kown[i] = own
			r.kpin |= 1 << i
			return x86.K(i)
		case o >= 0:
			if n := r.next(o / maxU); n > far {
				best, far = i, n
			}
		}
	}
	if best < 0 {
		r.c.a.Fail("no mask register left")
		return 1
	}
	o := r.kown[best]
	k, u := o/maxU, int(o%maxU)
	if !r.inMem(k, u) {
		r.c.a.X(x86.KMOVWS, x86.L128, uint8(best), 0, r.kaddr(rFrame, r.c.slot(k), u))
		r.copies[o].stored = true
	}
	r.copies[o].k = noReg
	r.kown[best] = own
	r.kpin |= 1 << best
	return x86.K(best)
}

// tmp is a zmm register until the end of the operation.
func (r *region) tmp() x86.Vec { return r.allocZ(ownTemp) }

// ktmp is a mask register until the end of the operation.
func (r *region) ktmp() x86.K { return r.allocK(ownTemp) }

// freeTmp gives a temporary back early.
func (r *region) freeTmp(z x86.Vec) {
	if r.zown[z] == ownTemp {
		r.zown[z] = ownFree
		r.zpin &^= 1 << z
	}
}

// release drops the registers of arguments that the region does not use again, so that the result can take one.
func (r *region) release(v *ir.Value, u int) {
	d := r.dies[r.pos]
	for _, k := range r.dying[d.lo:d.hi] {
		if r.uses[k].held {
			continue
		}
		o := int(k)*maxU + u
		if r.c.comps[k].kind == compG { // one for all strips
			if u < r.u-1 {
				continue
			}
			o = int(k) * maxU
		}
		if z := r.copies[o].z; z >= 0 {
			r.zown[z] = ownFree
			r.zpin &^= 1 << z
			r.copies[o].z = noReg
		}
		if q := r.copies[o].k; q >= 0 {
			r.kown[q] = ownFree
			r.kpin &^= 1 << q
			r.copies[o].k = noReg
		}
	}
}

// dst is the register for component i of the result. It may be the register of an argument that dies here, so it is
// asked for only before the last instruction of a component that reads arguments or temporaries of dying ones; with more
// than one component nothing is shared.
func (r *region) dst(id ir.ID, i, u int) x86.Vec {
	v := r.c.v(id)
	ks := r.c.vals[id].comps
	if i == len(ks)-1 {
		r.release(v, u)
	}
	o := ks[i]*maxU + int32(u)
	z := r.allocZ(o)
	r.copies[o].z = int8(z)
	return z
}

// dstOver is dst in register z of a dying argument, if it is one.
func (r *region) dstOver(id ir.ID, i, u int, z x86.Vec) x86.Vec {
	r.release(r.c.v(id), u)
	if r.zown[z] != ownFree {
		return r.dstEarly(id, i, u)
	}
	r.zpin |= 1 << z
	r.become(id, i, u, z)
	return z
}

// kdstOver is kdst in register k of a dying argument, if it is one.
func (r *region) kdstOver(id ir.ID, u int, k x86.K) x86.K {
	r.release(r.c.v(id), u)
	if r.kown[k] != ownFree {
		return r.kdstEarly(id, u)
	}
	o := r.c.vals[id].comps[0]*maxU + int32(u)
	r.kown[k], r.copies[o].k = o, int8(k)
	r.kpin |= 1 << k
	return k
}

// dstEarly is dst for a register that is written before all arguments are read.
func (r *region) dstEarly(id ir.ID, i, u int) x86.Vec {
	o := r.c.vals[id].comps[i]*maxU + int32(u)
	z := r.allocZ(o)
	r.copies[o].z = int8(z)
	return z
}

// become makes temporary z the register of result component i.
func (r *region) become(id ir.ID, i, u int, z x86.Vec) {
	o := r.c.vals[id].comps[i]*maxU + int32(u)
	r.zown[z] = o
	r.copies[o].z = int8(z)
}

// kdst is the mask register for a result.
func (r *region) kdst(id ir.ID, u int) x86.K {
	r.release(r.c.v(id), u)
	o := r.c.vals[id].comps[0]*maxU + int32(u)
	k := r.allocK(o)
	r.copies[o].k = int8(k)
	return k
}

// kdstEarly is kdst for a register written before all arguments are read.
func (r *region) kdstEarly(id ir.ID, u int) x86.K {
	o := r.c.vals[id].comps[0]*maxU + int32(u)
	k := r.allocK(o)
	r.copies[o].k = int8(k)
	return k
}

// prepare saves, before a vset, values that are still to be read from the home it overwrites.
func (r *region) prepare(id ir.ID, v *ir.Value) {
	if v.Op != ir.OpVSet {
		return
	}
	c := r.c
	home := offV + int32(v.Imm)*int32(c.lanes)*4
	at := c.vals[id].key
	for _, k := range c.homes[v.Imm] {
		m := &c.comps[k]
		if m.home != home || m.kind != compZ || c.vals[m.id].key >= at || m.last < c.seg || m.last == c.seg && !r.usedLater(k) {
			continue
		}
		r.touched = append(r.touched, k)
		for u := range r.u {
			r.zpin = 0
			z := r.load(k, u)
			if m.last > c.seg {
				m.home = -1
				c.a.E(x86.VMOVDQU32S, x86.L512, uint8(z), 0, r.vaddr(rFrame, c.slot(k), u), x86.Mod{})
				m.home = home
				r.copies[int(k)*maxU+u].stored = true
			}
		}
		m.home = -1
		m.def = c.seg // from now on like a value made here
		for u := range r.u {
			// The argument of the vset itself may be this value: it stays in its register.
			if !r.usedLater(k) && !c.isArg(v, k) {
				o := int(k)*maxU + u
				if z := r.copies[o].z; z >= 0 {
					r.zown[z], r.copies[o].z = ownFree, noReg
				}
			}
		}
	}
}

func (c *compiler) isArg(v *ir.Value, k int32) bool {
	for _, arg := range v.Args {
		if arg == ir.NoID {
			continue
		}
		for _, m := range c.vals[arg].comps {
			if m == k {
				return true
			}
		}
	}
	return false
}

// endOp stores results that later segments want, and frees what is not needed any more.
func (r *region) endOp(id ir.ID, v *ir.Value, u int) {
	c := r.c
	// A temporary is pinned from its making to here.
	for m := r.zpin; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros32(m); r.zown[i] == ownTemp {
			r.zown[i] = ownFree
		}
	}
	for m := r.kpin; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros8(m); r.kown[i] == ownTemp {
			r.kown[i] = ownFree
		}
	}
	r.release(v, u)
	for _, k := range c.vals[id].comps {
		m := &c.comps[k]
		if m.id != id || m.home >= 0 {
			continue
		}
		o := int(k)*maxU + u
		if m.last > c.seg && !r.copies[o].stored && int(r.uses[k].adopt) <= r.pos+1 {
			switch {
			case r.copies[o].z >= 0:
				c.a.E(x86.VMOVDQU32S, x86.L512, uint8(r.copies[o].z), 0, r.vaddr(rFrame, c.slot(k), u), x86.Mod{})
				r.copies[o].stored = true
			case r.copies[o].k >= 0:
				if w := r.whole(k, nil); w != nil {
					r.putWhole(w, x86.K(r.copies[o].k), u)
					break
				}
				c.a.X(x86.KMOVWS, x86.L128, uint8(r.copies[o].k), 0, r.kaddr(rFrame, c.slot(k), u))
				r.copies[o].stored = true
			}
		}
		if !r.usedLater(k) {
			if z := r.copies[o].z; z >= 0 {
				r.zown[z], r.copies[o].z = ownFree, noReg
			}
			if q := r.copies[o].k; q >= 0 {
				r.kown[q], r.copies[o].k = ownFree, noReg
			}
		}
	}
}
