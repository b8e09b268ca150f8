package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// What is used behind a run.

// moot tells whether nobody sees a write of a VGPR when the run has been done as a whole. What is used behind the run may be read from the
// register's home, but what was loaded also has a slot, which all waves use and so is in the first cache: it is read there.
func (u *affine) moot(id ir.ID) bool {
	c := u.c
	at := int(c.vals[id].moot)
	if at == 0 || at > slices.Index(c.b.Code, u.loads[len(u.loads)-1].id)+1 {
		return false
	}
	x := c.f.V(id).Args[0]
	for _, k := range c.vals[x].comps {
		if int(c.comps[k].last) <= u.last {
			continue
		}
		if u.val(x).load == nil {
			return false
		}
		u.slots = append(u.slots, k)
	}
	return true
}

// inSlots has what is used behind the run read from its slot; its usual form has been emitted.
func (u *affine) inSlots() {
	for _, k := range u.slots {
		u.c.comps[k].home = -1
	}
}

// later has the values that are used after the run put where they are looked for. It is called a second time when the usual form has been emitted: only
// then are all places known.
func (u *affine) later(places bool) {
	c := u.c
	for k := range c.comps {
		m := &c.comps[k]
		if m.of >= 0 || int(m.last) <= u.last || int(m.id) >= c.n && !u.inside[m.id] || u.scalars[m.id] {
			continue
		}
		if v := c.v(m.id); v.Op == ir.OpVGet {
			if x, ok := u.set[m.id]; !ok && u.written(v.Imm) || ok && x != u.left[v.Imm] {
				refuse("a register's old value is used later")
			}
			continue
		}
		if _, ok := c.compConst(int32(k)); ok {
			continue
		}
		if !u.inside[m.id] { // made before the run, which may not take its home away
			if !places && m.kind == compZ && m.home >= 0 && u.written(uint64(m.home-offV)/uint64(4*c.lanes)) {
				refuse("a value in a register's home is used later")
			}
			continue
		}
		if m.home >= 0 {
			continue
		}
		if m.kind != compZ || m.wide || int(m.id) >= c.n {
			refuse("a value that is used later")
		}
		i := 0
		for c.vals[m.id].comps[i] != int32(k) {
			i++
		}
		x := u.val(m.id)
		if x.load == nil && (x.wide || i > 0) {
			refuse("a value that is used later")
		}
		if x.load != nil && i > 0 {
			x = &aval{node: -1, load: x.load, part: i}
		}
		if places {
			u.write(x, x86.M(rFrame, c.slot(int32(k))))
		} else if x.load == nil {
			u.node(x)
		}
	}
}

// written tells whether the run writes a VGPR.
func (u *affine) written(n uint64) bool {
	for id := range u.inside {
		if int(id) < u.c.n {
			if v := u.c.f.V(id); v.Op == ir.OpVSet && v.Imm == n {
				return true
			}
		}
	}
	return false
}
