package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Accesses that share their code. The first tier is to be there soon, and most of what an access is compiled to is ways for lanes that are not
// consecutive or not all active. So accesses of one kind in a function are done by one routine, behind the blocks. The function says where
// the operands are by pointers in the frame, where the routine comes back to by frameResume, and which operation it is by
// frameOp: so the routine can leave to the helper just as the operation's own code would.

// routineKind is what the code of a routine depends on.
type routineKind struct {
	op    ir.Op
	space ir.Space
	width uint8
	sign  bool // of what is loaded
	wide  bool // offsets of 64 bits
	// offset is whether offsets of 32 bits are signed, lanes whether the access goes lane by lane in any case.
	offset, lanes bool
}

// routine is one that the function has.
type routine struct {
	routineKind
	entry x86.Label
	user  ir.ID // the first operation that it does
}

// What a routine is told, in the frame.
const (
	routineBase    = frameArgs      // address that the offsets count from
	routineMask    = frameArgs + 8  // the active lanes
	routinePtrs    = frameArgs + 16 // of both halves of the offset, then of the data
	routineOffsets = 2
	routineData    = 4
)

var _ [frameAVX2 - routinePtrs - 8*(routineOffsets+routineData)]byte

// canShare tells whether the access can be done by a routine: its operands are vectors in memory, of the lanes' own.
func (c *compiler) canShare(id ir.ID, v *ir.Value) bool {
	if !c.m.Quick || v.Args[1] == ir.NoID || !isVec(c.v(v.Args[1]).Type) {
		return false
	}
	vector := func(ks []int32) bool {
		for _, k := range ks {
			if c.comps[k].kind != compZ {
				return false
			}
		}
		return len(ks) > 0
	}
	offs := c.vals[v.Args[1]].comps
	if c.zeroHigh(offs) {
		offs = offs[:1]
	}
	data := id
	if v.Op == ir.OpStore {
		data = v.Args[3]
	}
	return vector(offs) && vector(c.vals[data].comps) && len(c.vals[data].comps) == max(1, int(v.Width)/4)
}

// share does the access by a routine; lanes says that it goes lane by lane.
func (c *compiler) share(id ir.ID, v *ir.Value, lanes bool) {
	a := &c.a
	c.p.slots[id] = c.helperInfo(id)
	if !lanes {
		again := a.NewLabel()
		a.Bind(again)
		c.p.slots[id].again = again
	}
	offs := c.vals[v.Args[1]].comps
	if c.zeroHigh(offs) {
		offs = offs[:1]
	}
	data := c.vals[id].comps
	if v.Op == ir.OpStore {
		data = c.vals[v.Args[3]].comps
	}
	c.laneBase(v)
	a.GS(x86.MOVS, 8, x86.M(rFrame, routineBase), x86.R15)
	c.gmask(x86.RAX, v.Args[2])
	a.GS(x86.MOVS, 8, x86.M(rFrame, routineMask), x86.RAX)
	pointer := func(i int, k int32) {
		base, off := rState, c.comps[k].home
		if off < 0 {
			base, off = rFrame, c.slot(k)
		}
		a.G(x86.LEA, 8, x86.RAX, x86.M(base, off))
		a.GS(x86.MOVS, 8, x86.M(rFrame, routinePtrs+8*int32(i)), x86.RAX)
	}
	for i, k := range offs {
		pointer(i, k)
	}
	for i, k := range data {
		pointer(routineOffsets+i, k)
	}
	a.MovMI(4, x86.M(rFrame, frameOp), int32(id))
	done := a.NewLabel()
	a.LeaL(x86.RAX, done, 0)
	a.GS(x86.MOVS, 8, x86.M(rFrame, frameResume), x86.RAX)
	wide := len(offs) == 2
	a.Jmp(c.routine(routineKind{v.Op, v.Space, v.Width, v.Sign, wide, !wide && v.Imm&ir.OffSigned != 0, lanes}, id))
	a.Bind(done)
}

// routine is where the function has the routine that does accesses of kind k.
func (c *compiler) routine(k routineKind, user ir.ID) x86.Label {
	for i := range c.routines {
		if c.routines[i].routineKind == k {
			return c.routines[i].entry
		}
	}
	c.routines = append(c.routines, routine{k, c.a.NewLabel(), user})
	return c.routines[len(c.routines)-1].entry
}

// emitRoutines emits the function's routines. What is known of the last block is lost.
func (c *compiler) emitRoutines() {
	c.frame = c.frameMax
	for i := range c.routines {
		c.emitRoutine(&c.routines[i])
	}
	c.routines = c.routines[:0]
}

// emitRoutine emits r as the code of an access whose operands are where a routine's are.
func (c *compiler) emitRoutine(r *routine) {
	a := &c.a
	c.over, c.vals, c.comps = c.over[:c.n], c.vals[:c.n], c.comps[:0]
	c.mark(r.user, c.f.Values[r.user].PC)
	// value makes a value of components that pointers from the first on lead to.
	value := func(t ir.Type, first, n int) ir.ID {
		id := c.add(ir.Value{Type: t, N: uint8(n)})
		ks := make([]int32, n)
		for i := range ks {
			ks[i] = c.newComp(id, compZ, false)
			c.comps[ks[i]].arg = uint8(1 + first + i)
		}
		c.vals[id].comps = ks
		return id
	}
	// inFrame makes a uniform value.
	inFrame := func(t ir.Type, kind compKind, at int32) ir.ID {
		id := c.add(ir.Value{Type: t})
		k := c.newComp(id, kind, kind == compG)
		c.comps[k].slot = at
		c.vals[id].comps = []int32{k}
		return id
	}
	v := ir.Value{Op: r.op, Space: r.space, Width: r.width, Sign: r.sign, PC: c.f.Values[r.user].PC}
	if r.offset {
		v.Imm = ir.OffSigned
	}
	offs := value(ir.V32, 0, 1)
	if r.wide {
		offs = value(ir.V64, 0, 2)
	}
	n := max(1, int(r.width)/4)
	t := ir.T
	if n == 1 {
		t = ir.V32
	}
	data := value(t, routineOffsets, n)
	v.Args = c.ids(inFrame(ir.S64, compG, routineBase), offs, inFrame(ir.M, compK, routineMask), data)
	id := data
	if r.op == ir.OpLoad {
		v.Type, v.N, v.Args = t, uint8(n), v.Args[:3]
		*c.over[id] = v
	} else {
		id = c.add(v)
	}
	a.Align(16)
	a.Bind(r.entry)
	slow, done := a.NewLabel(), a.NewLabel()
	if r.lanes {
		c.laneAccessAt(id, c.v(id), slow, done)
	} else {
		x := c.access(id, c.v(id), slow)
		x.shared = true
		x.emit(done)
	}
	a.JmpR(x86.M(rFrame, frameResume))
	a.Bind(slow)
	c.ret(retHelper)
}

// argument loads pointer i of a routine, counted from 1, into RBX.
func (c *compiler) argument(i uint8) x86.Reg {
	c.a.G(x86.MOV, 8, x86.RBX, x86.M(rFrame, routinePtrs+8*int32(i-1)))
	return x86.RBX
}
