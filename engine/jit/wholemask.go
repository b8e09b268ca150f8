package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// A region makes a mask sixteen lanes at a time. Where it is wanted as one afterwards (a vote, EXEC, the mask of a memory operation),
// pieces written to memory one by one would make the load of the whole wait until all have left the store buffer, some fifteen cycles.
// So the pieces are put together in a general register and stored at once: when all strips are in flight, as soon as the last is there; in a loop over strips
// the register is shifted along, and stored behind the loop.

// wholeMask is a mask that a region stores in one piece.
type wholeMask struct {
	comp int32     // the component, or -1
	set  *ir.Value // the write of a scalar register, or nil
	reg  x86.Reg
	off  int32 // where it goes: in the frame, or for set in the state
}

// wholeRegs are not used by what regions emit, which has RAX, RCX, RDX and R8 for itself.
var wholeRegs = [...]x86.Reg{x86.RBX, x86.R9, x86.R12, x86.R13, x86.R14, x86.R15}

// findWholes chooses the region's masks that are stored in one piece; the others, for which there is no register, are stored in pieces.
func (r *region) findWholes() {
	c := r.c
	add := func(m wholeMask) {
		if r.loop {
			if len(r.wholes) == len(wholeRegs)-len(r.tiles) { // the last ones are theirs
				return
			}
			m.reg = wholeRegs[len(r.wholes)]
		} else {
			m.reg = wholeRegs[0] // one after the other
		}
		r.wholes = append(r.wholes, m)
	}
	for _, id := range r.ops {
		v := c.v(id)
		if v.Op == ir.OpMSet {
			add(wholeMask{comp: -1, set: v, off: offS + int32(v.Imm)*4})
			continue
		}
		for _, k := range c.vals[id].comps {
			if m := &c.comps[k]; m.kind == compK && m.id == id && m.home < 0 && m.last > c.seg {
				add(wholeMask{comp: k, off: c.slot(k)})
			}
		}
	}
}

// whole is the wholeMask of component k, or of write v; nil for those in pieces.
func (r *region) whole(k int32, v *ir.Value) *wholeMask {
	for i := range r.wholes {
		if m := &r.wholes[i]; m.comp == k && m.set == v {
			return m
		}
	}
	return nil
}

// putWhole adds the piece of strip-in-flight u, in k, to m. It uses RAX.
func (r *region) putWhole(m *wholeMask, k x86.K, u int) {
	a := &r.c.a
	size := r.c.lanes / 8
	shift := 16 * u
	if r.loop {
		if u == 0 {
			a.GI8(x86.SHR, size, x86.R(m.reg), uint8(16*r.u))
		}
		shift += r.c.lanes - 16*r.u // r.u is less than the number of strips
	} else if u == 0 {
		a.X(x86.KMOVGW, x86.L128, uint8(m.reg), 0, x86.KR(k))
		return
	}
	a.X(x86.KMOVGW, x86.L128, uint8(x86.RAX), 0, x86.KR(k))
	a.GI8(x86.SHL, size, x86.R(x86.RAX), uint8(shift))
	a.Alu(x86.OR, size, m.reg, x86.R(x86.RAX))
	if !r.loop && u == r.u-1 {
		r.storeWhole(m)
		if m.set == nil {
			for u := range r.u {
				r.copies[int(m.comp)*maxU+u].stored = true
			}
		}
	}
}

func (r *region) storeWhole(m *wholeMask) {
	base := rFrame
	if m.set != nil {
		base = rState
	}
	r.c.a.GS(x86.MOVS, r.c.lanes/8, x86.M(base, m.off), m.reg)
}
