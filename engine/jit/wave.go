package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// classify says where an operation is done.
func (c *compiler) classify(v *ir.Value) class {
	vec, _ := c.argTypes(v)
	return c.classWith(v, vec)
}

// classWith is classify; vec says that v has arguments that differ from lane to lane.
func (c *compiler) classWith(v *ir.Value, vec bool) class {
	switch v.Op {
	case opAddK, opSubK:
		return classVector
	case ir.OpConst, ir.OpPC, ir.OpLaneID, ir.OpUndef, ir.OpSplat, ir.OpTuple, ir.OpElem:
		return classFree
	case ir.OpPair, ir.OpZext64, ir.OpLo, ir.OpHi:
		if isVec(v.Type) {
			return classFree
		}
	case ir.OpVSet, ir.OpVGet:
		return classVector
	case ir.OpMSet:
		return classScalar // add decides
	}
	uniform := (v.Type.Uniform() || v.Type == ir.Void) && !vec
	if v.Type == ir.M {
		if v.Op == ir.OpMGet || v.Op == ir.OpSToM {
			return classScalar
		}
		uniform = false
	}
	switch {
	case v.Op.Memory():
		if v.Space == ir.LDS && c.canLDS(v) {
			return classVector
		}
		return classWave
	case v.Op.Cross():
		return classWave
	case uniform && c.canScalar(v):
		return classScalar
	case !uniform && c.canVector(v):
		return classVector
	}
	return classWave
}

// place is where a helper finds or puts a component.
type place struct {
	kind uint8
	wide bool
	vec  bool
	off  int32
	x    uint64
}

const (
	placeConst = iota // x
	placeState        // state + off
	placeFrame        // frame + off
)

// placeOf describes component k between segments.
func (c *compiler) placeOf(k int32) place {
	m := &c.comps[k]
	if x, ok := c.compConst(k); ok {
		return place{kind: placeConst, x: x, wide: m.wide}
	}
	if m.of >= 0 {
		p := c.placeOf(m.of)
		p.off += 4
		p.wide = false
		return p
	}
	if m.home >= 0 {
		return place{kind: placeState, off: m.home, wide: m.wide, vec: m.kind == compZ}
	}
	return place{kind: placeFrame, off: c.slot(k), wide: m.wide, vec: m.kind == compZ}
}

func (c *compiler) helperInfo(id ir.ID) *helperInfo {
	v := c.v(id)
	h := &c.rooms.infos.take(1)[0]
	h.id = id
	h.args = c.rooms.lists.take(len(v.Args))
	for i, arg := range v.Args {
		if arg == ir.NoID {
			continue
		}
		ks := c.vals[arg].comps
		ps := c.rooms.places.take(max(len(ks), 1))
		for j, k := range ks {
			ps[j] = c.placeOf(k)
		}
		if len(ks) == 0 {
			x, _ := c.isConst(arg)
			ps[0] = place{kind: placeConst, x: c.trim(arg, x)}
		}
		h.args[i] = ps
	}
	ks := c.vals[id].comps
	h.res = c.rooms.places.take(len(ks))
	for i, k := range ks {
		h.res[i] = place{kind: placeFrame, off: c.slot(k), wide: c.comps[k].wide}
	}
	return h
}

// helper leaves to Go for operation id and comes back behind it.
func (c *compiler) helper(id ir.ID) {
	a := &c.a
	h := c.helperInfo(id)
	h.always = true
	c.p.slots[id] = h
	c.p.helpers++
	resume := a.NewLabel()
	a.MovMI(4, x86.M(rFrame, frameOp), int32(id))
	a.LeaL(x86.RAX, resume, 0)
	a.GS(x86.MOVS, 8, x86.M(rFrame, frameResume), x86.RAX)
	c.ret(retHelper)
	a.Bind(resume)
}

// coldHelper is a label that does id with the helper and continues behind it at the returned second label.
func (c *compiler) coldHelper(id ir.ID) (slow, done x86.Label) {
	a := &c.a
	slow, done = a.NewLabel(), a.NewLabel()
	info := c.helperInfo(id)
	c.p.slots[id] = info
	c.tails = append(c.tails, func() {
		a.Bind(slow)
		a.MovMI(4, x86.M(rFrame, frameOp), int32(id))
		a.LeaL(x86.RAX, done, 0)
		a.GS(x86.MOVS, 8, x86.M(rFrame, frameResume), x86.RAX)
		c.ret(retHelper)
	})
	return slow, done
}

// waveOp emits an operation that is a segment of its own.
func (c *compiler) waveOp(id ir.ID) {
	v := c.v(id)
	c.mark(id, v.PC)
	if c.isForeign(id) {
		c.helper(id)
		return
	}
	if c.laneOp(id, v) {
		return
	}
	switch v.Op {
	case ir.OpReadLane:
		c.readLane(id, v)
	case ir.OpReadFirst:
		c.readFirst(id, v)
	case ir.OpWriteLane:
		c.writeLane(id, v)
	case ir.OpPermConst:
		c.permConst(id, v)
	case ir.OpMPerm:
		c.mPerm(id, v)
	case ir.OpBPermute:
		c.bpermute(id, v)
	case ir.OpPermute:
		c.permute(id, v)
	case ir.OpMFMA:
		if !c.matrixOp(id, v) {
			c.helper(id)
		}
	case ir.OpSLoad:
		c.sload(id, v)
	case ir.OpHWGet:
		if v.Imm != hwSHMemBases {
			c.helper(id)
			return
		}
		c.bases(id)
	case ir.OpLoad, ir.OpStore:
		if v.Space == ir.Global && c.canGlobal(v) {
			c.global(id, v)
			return
		}
		if v.Op == ir.OpStore && v.Space == ir.LDS && c.canLDSWide(v) {
			c.ldsStoreWide(id, v)
			return
		}
		if v.Op == ir.OpStore && v.Space == ir.LDS && c.canLDSOne(v) {
			c.ldsStoreOne(v)
			return
		}
		if v.Space == ir.LDS && c.canLDSNarrow(v) {
			c.ldsNarrow(id, v)
			return
		}
		c.helper(id)
	default:
		c.helper(id)
	}
}

// at is strip q of a vector component between segments.
func (c *compiler) at(k int32, q int) x86.RM {
	m := &c.comps[k]
	if m.home >= 0 {
		return x86.M(rState, m.home+int32(64*q))
	}
	return x86.M(rFrame, c.slot(k)+int32(64*q))
}

// gin loads a uniform value into a register.
func (c *compiler) gin(r x86.Reg, id ir.ID) {
	if x, ok := c.isConst(id); ok {
		c.a.MovI(r, c.trim(id, x))
		return
	}
	c.a.G(x86.MOV, c.widthOf(id), r, c.memOf(c.vals[id].comps[0]))
}

// gout stores a uniform result.
func (c *compiler) gout(id ir.ID, i int, r x86.Reg) {
	k := c.vals[id].comps[i]
	c.a.GS(x86.MOVS, c.gsize(k), x86.M(rFrame, c.slot(k)), r)
}

// vectorArg gives the memory of a 32-bit vector value indexed by lane in register ix (bytes 4·lane), if it has one.
func (c *compiler) vectorArg(id ir.ID) (base x86.Reg, off int32, ok bool) {
	ks := c.vals[id].comps
	if len(ks) != 1 || c.comps[ks[0]].kind != compZ {
		return 0, 0, false
	}
	m := &c.comps[ks[0]]
	if m.home >= 0 {
		return rState, m.home, true
	}
	return rFrame, c.slot(ks[0]), true
}

func (c *compiler) readLane(id ir.ID, v *ir.Value) {
	base, off, ok := c.vectorArg(v.Args[0])
	if !ok {
		c.helper(id)
		return
	}
	c.gin(x86.RCX, v.Args[1])
	c.a.AluI(x86.AND, 4, x86.R(x86.RCX), int32(c.lanes-1))
	c.a.G(x86.MOV, 4, x86.RAX, x86.MX(base, x86.RCX, 4, off))
	c.gout(id, 0, x86.RAX)
}

func (c *compiler) readFirst(id ir.ID, v *ir.Value) {
	base, off, ok := c.vectorArg(v.Args[0])
	if !ok {
		c.helper(id)
		return
	}
	a := &c.a
	c.gin(x86.RCX, v.Args[1])
	a.Alu(x86.XOR, 4, x86.RAX, x86.R(x86.RAX))
	a.G(x86.TZCNT, 8, x86.RCX, x86.R(x86.RCX))
	a.Cmov(x86.B, 8, x86.RCX, x86.R(x86.RAX)) // no lane: lane 0
	a.G(x86.MOV, 4, x86.RAX, x86.MX(base, x86.RCX, 4, off))
	c.gout(id, 0, x86.RAX)
}

func (c *compiler) writeLane(id ir.ID, v *ir.Value) {
	ks := c.vals[v.Args[0]].comps
	if len(ks) != 1 || c.comps[ks[0]].kind != compZ {
		c.helper(id)
		return
	}
	a := &c.a
	d := c.slot(c.vals[id].comps[0])
	for q := range c.strips {
		a.E(x86.VMOVDQU32, x86.L512, 0, 0, c.at(ks[0], q), noMod)
		a.E(x86.VMOVDQU32S, x86.L512, 0, 0, x86.M(rFrame, d+int32(64*q)), noMod)
	}
	c.gin(x86.RCX, v.Args[2])
	a.AluI(x86.AND, 4, x86.R(x86.RCX), int32(c.lanes-1))
	c.gin(x86.RAX, v.Args[1])
	a.GS(x86.MOVS, 4, x86.MX(rFrame, x86.RCX, 4, d), x86.RAX)
}

// bpermute: each lane reads data from the lane it names; an inactive source gives 0.
func (c *compiler) bpermute(id ir.ID, v *ir.Value) {
	base, off, ok := c.vectorArg(v.Args[0])
	if ok && c.oneForAll(v.Args[1]) {
		c.bpermuteOne(id, v, base, off)
		return
	}
	ixs := c.vals[v.Args[1]].comps
	if !ok || len(ixs) != 1 || c.comps[ixs[0]].kind != compZ {
		c.helper(id)
		return
	}
	if !c.m.AVX2 {
		c.bpermuteTables(id, v, base, off, ixs[0])
		return
	}
	a := &c.a
	const L = x86.L512
	d := c.slot(c.vals[id].comps[0])
	c.gin(x86.RAX, v.Args[2])
	a.E(x86.VPBROADCASTDG, L, 4, 0, x86.R(x86.RAX), noMod) // active lanes 0–31
	a.GI8(x86.SHR, 8, x86.R(x86.RAX), 32)
	a.E(x86.VPBROADCASTDG, L, 5, 0, x86.R(x86.RAX), noMod) // 32–63
	for q := range c.strips {
		a.E(x86.VPBROADCASTD, L, 1, 0, x86.ML(a.Const32(uint32(c.lanes-1)), 0), noMod)
		a.E(x86.VPANDD, L, 1, 1, c.at(ixs[0], q), noMod)
		a.E(x86.VMOVDQU32, L, 2, 0, x86.V(4), noMod)
		a.E(x86.VPTESTMD, L, 2, 1, x86.ML(a.Const32(32), 0).Bcast(), noMod)
		a.E(x86.VMOVDQU32, L, 2, 0, x86.V(5), x86.Masked(2))
		a.E(x86.VPANDD, L, 3, 1, x86.ML(a.Const32(31), 0).Bcast(), noMod)
		a.E(x86.VPSRLVD, L, 2, 2, x86.V(3), noMod)
		a.E(x86.VPTESTMD, L, 1, 2, x86.ML(a.Const32(1), 0).Bcast(), noMod)
		a.E(x86.VPXORD, L, 0, 0, x86.V(0), noMod)
		a.E(x86.VPGATHERDD, L, 0, 0, x86.MV(base, 1, 4, off), x86.Masked(1))
		a.E(x86.VMOVDQU32S, L, 0, 0, x86.M(rFrame, d+int32(64*q)), noMod)
	}
}

// bpermuteOne is bpermute where all lanes name one.
func (c *compiler) bpermuteOne(id ir.ID, v *ir.Value, base x86.Reg, off int32) {
	a := &c.a
	c.laneDword(x86.RCX, v.Args[1], 0, x86.RCX)
	a.AluI(x86.AND, 4, x86.R(x86.RCX), int32(c.lanes-1))
	c.gmask(x86.RDX, v.Args[2])
	a.Alu(x86.XOR, 4, x86.R8, x86.R(x86.R8))
	a.G(x86.MOV, 4, x86.RAX, x86.MX(base, x86.RCX, 4, off))
	a.GS(x86.BTREG, 8, x86.R(x86.RDX), x86.RCX)
	a.Cmov(x86.AE, 4, x86.RAX, x86.R(x86.R8))
	a.E(x86.VPBROADCASTDG, x86.L512, 0, 0, x86.R(x86.RAX), noMod)
	for q := range c.strips {
		a.E(x86.VMOVDQU32S, x86.L512, 0, 0, x86.M(rFrame, c.slot(c.vals[id].comps[0])+int32(64*q)), noMod)
	}
}

// hwSHMemBases is the hardware register of the apertures' bases.
const hwSHMemBases = 15

// bases reads the hardware register of the apertures: a wave's environment is asked for it when a run begins (machine.run), for it is the
// same as long as the address space is. Programs read it for each generic address that they make.
func (c *compiler) bases(id ir.ID) {
	a := &c.a
	c.p.bases = true
	slow, done := c.coldHelper(id)
	a.G(x86.MOV, 8, x86.RAX, x86.M(rFrame, frameBases))
	a.GI8(x86.BT, 8, x86.R(x86.RAX), 32)
	a.Jcc(x86.AE, slow)
	c.gout(id, 0, x86.RAX)
	a.Bind(done)
}

// permute: each active lane gives its data to the lane it names, the highest last; who gets nothing has 0.
func (c *compiler) permute(id ir.ID, v *ir.Value) {
	base, off, ok := c.vectorArg(v.Args[0])
	ix, ixOff, ok2 := c.vectorArg(v.Args[1])
	if !ok || !ok2 {
		c.helper(id)
		return
	}
	a := &c.a
	d := c.slot(c.vals[id].comps[0])
	a.E(x86.VPXORD, x86.L512, 0, 0, x86.V(0), noMod)
	for q := range c.strips {
		a.E(x86.VMOVDQU32S, x86.L512, 0, 0, x86.M(rFrame, d+int32(64*q)), noMod)
	}
	top, done := a.NewLabel(), a.NewLabel()
	c.gin(x86.RDX, v.Args[2])
	a.GS(x86.TEST, 8, x86.R(x86.RDX), x86.RDX)
	a.Jcc(x86.E, done)
	a.Bind(top)
	a.G(x86.TZCNT, 8, x86.RCX, x86.R(x86.RDX))
	a.G(x86.MOV, 4, x86.RAX, x86.MX(ix, x86.RCX, 4, ixOff))
	a.AluI(x86.AND, 4, x86.R(x86.RAX), int32(c.lanes-1))
	a.G(x86.MOV, 4, x86.R8, x86.MX(base, x86.RCX, 4, off))
	a.GS(x86.MOVS, 4, x86.MX(rFrame, x86.RAX, 4, d), x86.R8)
	a.GV(x86.BLSR, 8, 0, x86.RDX, x86.R(x86.RDX))
	a.Jcc(x86.NE, top)
	a.Bind(done)
}
