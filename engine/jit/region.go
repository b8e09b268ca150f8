package jit

import (
	"encoding/binary"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Fixed registers.
const (
	rState = x86.RDI
	rFrame = x86.RSI
	rMask  = x86.R10 // strip·2 inside a region
	rStrip = x86.R11 // strip·64 inside a region
)

const noReg = int8(-1)

// owner values of a register that holds no component.
const (
	ownFree = int32(-1)
	ownTemp = int32(-2)
)

// maxU is the largest number of strips in flight.
const maxU = 4

// region allocates registers inside one vector region. A component's copy for strip-in-flight u is named comp*maxU+u.
type region struct {
	c       *compiler
	u       int // strips in flight
	loop    bool
	pos     int
	ops     []ir.ID
	nextAt  [][]int32 // by component: positions in ops that use it, ascending
	zreg    []int8
	kreg    []int8
	stored  []bool // copy is in its slot
	zown    [32]int32
	kown    [8]int32
	zpin    uint32
	kpin    uint8
	full    ir.ID // mask that is known to be all ones in this version of the region, or NoID
	classes []ldsClass
}

// vectorSegment emits a region, looped over the strips. When many writes hang on one mask, there are two versions: for
// all lanes active and for any mask.
func (c *compiler) vectorSegment(ops []ir.ID) {
	a := &c.a
	m := c.commonMask(ops)
	if m == ir.NoID {
		c.region(ops, ir.NoID)
		return
	}
	type saved struct{ home, def int32 }
	before := make([]saved, len(c.comps))
	for i := range c.comps {
		before[i] = saved{c.comps[i].home, c.comps[i].def}
	}
	any, done := a.NewLabel(), a.NewLabel()
	a.AluI(x86.CMP, c.lanes/8, c.memOf(c.vals[m].comps[0]), -1)
	a.Jcc(x86.NE, any)
	c.region(ops, m)
	a.Jmp(done)
	a.Bind(any)
	for i := range before {
		c.comps[i].home, c.comps[i].def = before[i].home, before[i].def
	}
	c.region(ops, ir.NoID)
	a.Bind(done)
}

// commonMask is the mask that most register writes of a region use, when it is worth a version of its own.
func (c *compiler) commonMask(ops []ir.ID) ir.ID {
	best, n := ir.NoID, 0
	count := map[ir.ID]int{}
	for _, id := range ops {
		v := c.v(id)
		if v.Op != ir.OpVSet {
			continue
		}
		m := v.Args[1]
		if _, ok := c.isConst(m); ok || c.comps[c.vals[m].comps[0]].def >= c.seg {
			continue
		}
		if count[m]++; count[m] > n {
			best, n = m, count[m]
		}
	}
	if n < 3 {
		return ir.NoID
	}
	return best
}

// region emits one version of a region.
func (c *compiler) region(ops []ir.ID, full ir.ID) {
	r := &c.r
	ops = c.sinkLoads(ops)
	r.c, r.ops, r.full = c, ops, full
	r.reset()
	r.findClasses()
	r.u = c.chooseU(ops)
	r.loop = r.u < c.strips
	a := &c.a
	var top x86.Label
	if r.loop {
		a.Alu(x86.XOR, 4, rStrip, x86.R(rStrip))
		a.Alu(x86.XOR, 4, rMask, x86.R(rMask))
		top = a.NewLabel()
		a.Bind(top)
	}
	for i, id := range ops {
		r.pos = i
		v := c.v(id)
		r.prepare(id, v)
		for u := range r.u {
			r.zpin, r.kpin = 0, 0
			c.vectorOp(id, v, u)
			r.endOp(id, v, u)
		}
	}
	if r.loop {
		a.AluI(x86.ADD, 8, x86.R(rStrip), int32(64*r.u))
		a.AluI(x86.ADD, 8, x86.R(rMask), int32(2*r.u))
		a.AluI(x86.CMP, 4, x86.R(rStrip), int32(64*c.strips))
		a.Jcc(x86.NE, top)
	}
}

// sinkLoads moves LDS loads down to their first use: compilers load far ahead to hide latency that is not there, and the
// registers are better used otherwise. A region has no LDS stores next to loads.
func (c *compiler) sinkLoads(ops []ir.ID) []ir.ID {
	first := map[int32]int{} // component of a load: its first use
	loads := 0
	for _, id := range ops {
		if c.v(id).Op == ir.OpLoad {
			loads++
			for _, k := range c.vals[id].comps {
				first[k] = -1
			}
		}
	}
	if loads < 2 {
		return ops
	}
	for i, id := range ops {
		for _, a := range c.v(id).Args {
			if a == ir.NoID {
				continue
			}
			for _, k := range c.vals[a].comps {
				if p, ok := first[k]; ok && p < 0 {
					first[k] = i
				}
			}
		}
	}
	before := map[ir.ID][]ir.ID{} // loads to emit before an operation
	moved := map[ir.ID]bool{}
	for i, id := range ops {
		if c.v(id).Op != ir.OpLoad {
			continue
		}
		at := len(ops)
		for _, k := range c.vals[id].comps {
			if p := first[k]; p >= 0 {
				at = min(at, p)
			}
		}
		if at < len(ops) && at > i+1 {
			before[ops[at]] = append(before[ops[at]], id)
			moved[id] = true
		}
	}
	out := make([]ir.ID, 0, len(ops))
	var put func(id ir.ID)
	put = func(id ir.ID) {
		for _, l := range before[id] {
			put(l)
		}
		out = append(out, id)
	}
	for _, id := range ops {
		if !moved[id] {
			put(id)
		}
	}
	return out
}

// chooseU picks how many strips run side by side: more hide latency, fewer fit the registers.
func (c *compiler) chooseU(ops []ir.ID) int { return 1 }

func (r *region) reset() {
	n := len(r.c.comps)
	for len(r.nextAt) < n {
		r.nextAt = append(r.nextAt, nil)
	}
	for i := range n {
		r.nextAt[i] = r.nextAt[i][:0]
	}
	if cap(r.zreg) < n*maxU {
		r.zreg, r.kreg, r.stored = make([]int8, n*maxU), make([]int8, n*maxU), make([]bool, n*maxU)
	}
	r.zreg, r.kreg, r.stored = r.zreg[:n*maxU], r.kreg[:n*maxU], r.stored[:n*maxU]
	for i := range r.zreg {
		r.zreg[i], r.kreg[i], r.stored[i] = noReg, noReg, false
	}
	for i := range r.zown {
		r.zown[i] = ownFree
	}
	for i := range r.kown {
		r.kown[i] = ownFree
	}
	for i, id := range r.ops {
		for _, arg := range r.c.v(id).Args {
			if arg == ir.NoID {
				continue
			}
			for _, k := range r.c.vals[arg].comps {
				if l := r.nextAt[k]; len(l) == 0 || l[len(l)-1] != int32(i) {
					r.nextAt[k] = append(l, int32(i))
				}
			}
		}
	}
}

// next is the position of k's next use after the current operation, or a far one.
func (r *region) next(k int32) int {
	for _, p := range r.nextAt[k] {
		if int(p) > r.pos {
			return int(p)
		}
	}
	return 1 << 30
}

func (r *region) usedLater(k int32) bool { return r.next(k) < 1<<30 }

// inMem tells whether copy u of k can be read from memory.
func (r *region) inMem(k int32, u int) bool {
	m := &r.c.comps[k]
	return m.home >= 0 || m.def < r.c.seg || r.stored[int(k)*maxU+u]
}

// vaddr is 64 bytes of a vector for strip u at base+off.
func (r *region) vaddr(base x86.Reg, off int32, u int) x86.RM {
	if r.loop {
		return x86.MX(base, rStrip, 1, off+int32(64*u))
	}
	return x86.M(base, off+int32(64*u))
}

// kaddr is 16 bits of a mask for strip u at base+off.
func (r *region) kaddr(base x86.Reg, off int32, u int) x86.RM {
	if r.loop {
		return x86.MX(base, rMask, 1, off+int32(2*u))
	}
	return x86.M(base, off+int32(2*u))
}

// zmem is where copy u of component k is in memory.
func (r *region) zmem(k int32, u int) x86.RM {
	m := &r.c.comps[k]
	if m.home >= 0 {
		return r.vaddr(rState, m.home, u)
	}
	return r.vaddr(rFrame, r.c.slot(k), u)
}

func (r *region) kmem(k int32, u int) x86.RM {
	m := &r.c.comps[k]
	if m.home >= 0 {
		return r.kaddr(rState, m.home, u)
	}
	return r.kaddr(rFrame, r.c.slot(k), u)
}

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
		r.stored[o] = true
	}
	r.zreg[o] = noReg
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
		r.stored[o] = true
	}
	r.kreg[o] = noReg
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
			if z := r.zreg[int(k)*maxU+u]; z >= 0 {
				r.zpin |= 1 << z
				return x86.V(x86.Vec(z))
			}
			if r.usedLater(k) || !r.inMem(k, u) {
				return x86.V(r.load(k, u))
			}
			return r.zmem(k, u)
		}
		// uniform
		mem := r.c.memOf(k)
		if size == 0 {
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
	if z := r.zreg[o]; z >= 0 {
		r.zpin |= 1 << z
		return x86.Vec(z)
	}
	z := r.allocZ(o)
	r.c.a.E(x86.VMOVDQU32, x86.L512, uint8(z), 0, r.zmem(k, u), x86.Mod{})
	r.zreg[o] = int8(z)
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
	if k < 0 || r.c.comps[k].kind != compZ {
		return r.zin(id, i, u, size)
	}
	src := r.opnd(id, i, u, size)
	z := r.tmp()
	r.c.a.E(x86.VMOVDQU32, x86.L512, uint8(z), 0, src, x86.Mod{})
	return z
}

// release drops the registers of arguments that the region does not use again, so that the result can take one.
func (r *region) release(v *ir.Value, u int) {
	for _, arg := range v.Args {
		if arg == ir.NoID {
			continue
		}
		for _, k := range r.c.vals[arg].comps {
			if r.usedLater(k) {
				continue
			}
			o := int(k)*maxU + u
			if z := r.zreg[o]; z >= 0 {
				r.zown[z] = ownFree
				r.zpin &^= 1 << z
				r.zreg[o] = noReg
			}
			if q := r.kreg[o]; q >= 0 {
				r.kown[q] = ownFree
				r.kpin &^= 1 << q
				r.kreg[o] = noReg
			}
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
	r.zreg[o] = int8(z)
	return z
}

// dstEarly is dst for a register that is written before all arguments are read.
func (r *region) dstEarly(id ir.ID, i, u int) x86.Vec {
	o := r.c.vals[id].comps[i]*maxU + int32(u)
	z := r.allocZ(o)
	r.zreg[o] = int8(z)
	return z
}

// become makes temporary z the register of result component i.
func (r *region) become(id ir.ID, i, u int, z x86.Vec) {
	o := r.c.vals[id].comps[i]*maxU + int32(u)
	r.zown[z] = o
	r.zreg[o] = int8(z)
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
	if k := r.kreg[o]; k >= 0 {
		r.kpin |= 1 << k
		return x86.K(k)
	}
	k := r.allocK(o)
	a.X(x86.KMOVWL, x86.L128, uint8(k), 0, r.kmem(m, u))
	r.kreg[o] = int8(k)
	return k
}

// kdst is the mask register for a result.
func (r *region) kdst(id ir.ID, u int) x86.K {
	r.release(r.c.v(id), u)
	o := r.c.vals[id].comps[0]*maxU + int32(u)
	k := r.allocK(o)
	r.kreg[o] = int8(k)
	return k
}

// kdstEarly is kdst for a register written before all arguments are read.
func (r *region) kdstEarly(id ir.ID, u int) x86.K {
	o := r.c.vals[id].comps[0]*maxU + int32(u)
	k := r.allocK(o)
	r.kreg[o] = int8(k)
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
	for _, k := range c.homes[home] {
		m := &c.comps[k]
		if m.home != home || m.kind != compZ || c.vals[m.id].key >= at || m.last < c.seg || m.last == c.seg && !r.usedLater(k) {
			continue
		}
		for u := range r.u {
			r.zpin = 0
			z := r.load(k, u)
			if m.last > c.seg {
				m.home = -1
				c.a.E(x86.VMOVDQU32S, x86.L512, uint8(z), 0, r.vaddr(rFrame, c.slot(k), u), x86.Mod{})
				m.home = home
				r.stored[int(k)*maxU+u] = true
			}
		}
		m.home = -1
		m.def = c.seg // from now on like a value made here
		for u := range r.u {
			// The argument of the vset itself may be this value: it stays in its register.
			if !r.usedLater(k) && !c.isArg(v, k) {
				o := int(k)*maxU + u
				if z := r.zreg[o]; z >= 0 {
					r.zown[z], r.zreg[o] = ownFree, noReg
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
	for i := range r.zown {
		if r.zown[i] == ownTemp {
			r.zown[i] = ownFree
		}
	}
	for i := range r.kown {
		if r.kown[i] == ownTemp {
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
		if m.last > c.seg && !r.stored[o] {
			switch {
			case r.zreg[o] >= 0:
				c.a.E(x86.VMOVDQU32S, x86.L512, uint8(r.zreg[o]), 0, r.vaddr(rFrame, c.slot(k), u), x86.Mod{})
				r.stored[o] = true
			case r.kreg[o] >= 0:
				c.a.X(x86.KMOVWS, x86.L128, uint8(r.kreg[o]), 0, r.kaddr(rFrame, c.slot(k), u))
				r.stored[o] = true
			}
		}
		if !r.usedLater(k) {
			if z := r.zreg[o]; z >= 0 {
				r.zown[z], r.zreg[o] = ownFree, noReg
			}
			if q := r.kreg[o]; q >= 0 {
				r.kown[q], r.kreg[o] = ownFree, noReg
			}
		}
	}
}
