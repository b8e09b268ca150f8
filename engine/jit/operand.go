package jit

import (
	"encoding/binary"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// compOf is component i of value id, or -1 when it is a constant.
func (r *region) compOf(id ir.ID, i int) int32 {
	ks := r.c.vals[id].comps
	if len(ks) == 0 {
		return -1
	}
	if len(ks) == 1 {
		i = 0 // uniform: one component stands for all
	}
	return ks[i]
}

// opnd is component i of value id as an r/m operand of an instruction that broadcasts elements of size bytes (4 or 8);
// size 0 means that the instruction cannot broadcast.
func (r *region) opnd(id ir.ID, i, u, size int) x86.RM {
	c := r.c
	k := r.compOf(id, i)
	if k >= 0 {
		if x, ok := c.compConst(k); ok {
			return r.constant(x, size)
		}
		m := &c.comps[k]
		if m.kind == compZ {
			if z := r.copies[int(k)*maxU+u].z; z >= 0 {
				r.zpin |= 1 << z
				return x86.V(x86.Vec(z))
			}
			if r.usedLater(k) || !r.inMem(k, u) {
				return x86.V(r.load(k, u))
			}
			if f := r.uses[k].far; f.one {
				if size != 4 {
					return x86.V(r.load(k, u))
				}
				return f.at.Bcast()
			}
			return r.zmem(k, u)
		}
		// uniform
		if z, ok := r.uniformIn(k, size); ok {
			return x86.V(z)
		}
		mem := r.c.memOf(k)
		if size == 0 {
			if !m.wide {
				return x86.V(r.loadUniform(k))
			}
			return x86.V(r.splat(mem, m.wide))
		}
		if size == 4 && m.wide {
			mem = mem.Add(int32(4 * i))
		}
		return mem.Bcast()
	}
	return r.constant(c.constHalf(id, i, size), size)
}

// constHalf is constant id, or half i of it when it is read in halves.
func (c *compiler) constHalf(id ir.ID, i, size int) uint64 {
	x, _ := c.isConst(id)
	if size != 8 && i == 1 {
		x >>= 32
	}
	return x
}

// uniformIn is the register that holds uniform component k in all elements of size bytes, if there is one.
func (r *region) uniformIn(k int32, size int) (x86.Vec, bool) {
	z := r.copies[k*maxU].z
	if z < 0 || r.c.comps[k].wide != (size == 8) {
		return 0, false
	}
	r.zpin |= 1 << z
	return x86.Vec(z), true
}

// loadUniform brings uniform component k into a register, in elements of its own size; all strips in flight share it.
func (r *region) loadUniform(k int32) x86.Vec {
	m := &r.c.comps[k]
	if z := r.copies[k*maxU].z; z >= 0 {
		r.zpin |= 1 << z
		return x86.Vec(z)
	}
	z := r.allocZ(k * maxU)
	inst := x86.VPBROADCASTD
	if m.wide {
		inst = x86.VPBROADCASTQ
	}
	r.c.a.E(inst, x86.L512, uint8(z), 0, r.c.memOf(k), x86.Mod{})
	r.copies[k*maxU].z = int8(z)
	return z
}

func (r *region) splat(mem x86.RM, wide bool) x86.Vec {
	z := r.tmp()
	i := x86.VPBROADCASTD
	if wide {
		i = x86.VPBROADCASTQ
	}
	r.c.a.E(i, x86.L512, uint8(z), 0, mem, x86.Mod{})
	return z
}

func (r *region) constant(x uint64, size int) x86.RM {
	a := &r.c.a
	switch size {
	case 8:
		return x86.ML(a.Const64(x), 0).Bcast()
	case 4:
		return x86.ML(a.Const32(uint32(x)), 0).Bcast()
	}
	z := r.tmp()
	if uint32(x) == 0 {
		a.E(x86.VPXORD, x86.L512, uint8(z), uint8(z), x86.V(z), x86.Mod{})
	} else {
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, x86.ML(a.Const32(uint32(x)), 0), x86.Mod{})
	}
	return x86.V(z)
}

// table is a 64-byte constant.
func (r *region) table(t *[16]uint32) x86.RM {
	var b [64]byte
	for i, x := range t {
		binary.LittleEndian.PutUint32(b[4*i:], x)
	}
	return x86.ML(r.c.a.Const(b[:], 64), 0)
}

// load brings copy u of component k into a register.
func (r *region) load(k int32, u int) x86.Vec {
	o := k*maxU + int32(u)
	if z := r.copies[o].z; z >= 0 {
		r.zpin |= 1 << z
		return x86.Vec(z)
	}
	z := r.allocZ(o)
	inst := x86.VMOVDQU32
	if r.uses[k].far.one {
		inst = x86.VPBROADCASTD
	}
	r.c.a.E(inst, x86.L512, uint8(z), 0, r.zmem(k, u), x86.Mod{})
	r.copies[o].z = int8(z)
	return z
}

// zin is component i of value id in a register that must not be changed. size is the element size for uniform values.
func (r *region) zin(id ir.ID, i, u, size int) x86.Vec {
	c := r.c
	k := r.compOf(id, i)
	if k >= 0 && c.comps[k].kind == compZ {
		return r.load(k, u)
	}
	if k >= 0 {
		if x, ok := c.compConst(k); ok {
			return r.splatConst(x, size)
		}
		if c.comps[k].wide == (size == 8) {
			return r.loadUniform(k)
		}
		mem := r.c.memOf(k)
		if size == 4 && c.comps[k].wide {
			mem = mem.Add(int32(4 * i))
		}
		return r.splat(mem, size == 8)
	}
	return r.splatConst(c.constHalf(id, i, size), size)
}

func (r *region) splatConst(x uint64, size int) x86.Vec {
	a := &r.c.a
	z := r.tmp()
	switch {
	case x == 0 || size != 8 && uint32(x) == 0:
		a.E(x86.VPXORD, x86.L512, uint8(z), uint8(z), x86.V(z), x86.Mod{})
	case size == 8:
		a.E(x86.VPBROADCASTQ, x86.L512, uint8(z), 0, x86.ML(a.Const64(x), 0), x86.Mod{})
	default:
		a.E(x86.VPBROADCASTD, x86.L512, uint8(z), 0, x86.ML(a.Const32(uint32(x)), 0), x86.Mod{})
	}
	return z
}

// zcopy is component i of value id in a temporary that may be changed.
func (r *region) zcopy(id ir.ID, i, u, size int) x86.Vec {
	k := r.compOf(id, i)
	if k < 0 {
		return r.zin(id, i, u, size)
	}
	if m := &r.c.comps[k]; m.kind != compZ {
		if _, ok := r.c.compConst(k); ok || m.wide != (size == 8) {
			return r.zin(id, i, u, size)
		}
		if _, ok := r.uniformIn(k, size); !ok {
			return r.splat(r.c.memOf(k), m.wide)
		}
	}
	src := r.opnd(id, i, u, size)
	z := r.tmp()
	r.c.a.E(x86.VMOVDQU32, x86.L512, uint8(z), 0, src, x86.Mod{})
	return z
}

// kin is mask id in a mask register; K0 (no masking) when it is known to be full and full masks may be left out.
func (r *region) kin(id ir.ID, u int, allowNone bool) x86.K {
	c := r.c
	a := &c.a
	if id == r.full && allowNone {
		return 0
	}
	if x, ok := c.isConst(id); ok {
		if x == c.full() && allowNone || c.v(id).Type == ir.S1 && x != 0 && allowNone {
			return 0
		}
		k := r.ktmp()
		if c.v(id).Type == ir.S1 && x != 0 {
			x = ^uint64(0)
		}
		switch {
		case x == 0:
			a.X(x86.KXORW, x86.L128, uint8(k), uint8(k), x86.KR(k))
		case x == c.full() || x == ^uint64(0):
			a.X(x86.KXNORW, x86.L128, uint8(k), uint8(k), x86.KR(k))
		default:
			a.LeaL(x86.RAX, a.Const64(x), 0)
			a.X(x86.KMOVWL, x86.L128, uint8(k), 0, r.kaddr(x86.RAX, 0, u))
		}
		return k
	}
	m := c.vals[id].comps[0]
	if c.comps[m].kind == compG { // S1 stands for all lanes
		k := r.ktmp()
		a.G(x86.MOV, 4, x86.RAX, r.c.memOf(m))
		a.G1(x86.NEG, 4, x86.R(x86.RAX))
		a.X(x86.KMOVWG, x86.L128, uint8(k), 0, x86.R(x86.RAX))
		return k
	}
	o := m*maxU + int32(u)
	if k := r.copies[o].k; k >= 0 {
		r.kpin |= 1 << k
		return x86.K(k)
	}
	k := r.allocK(o)
	a.X(x86.KMOVWL, x86.L128, uint8(k), 0, r.kmem(m, u))
	r.copies[o].k = int8(k)
	return k
}
