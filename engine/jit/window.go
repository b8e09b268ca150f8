package jit

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// Gathers and scatters of global memory. Each access in a function has a window (mem.Window): a piece of address space that is contiguous
// in host memory. When all active lanes lie inside it, their addresses are offsets from one host address, and the access is a gather or
// scatter of the host; nothing of it can fault. What lies outside asks Go to move the window (retWindow), which begins the access again;
// but not when that was tried a moment ago: then the TLB is asked for each lane.
//
// A store by lanes that are not in the window changes nothing before all lanes are translated (storeByLane): a store that
// faults has not happened.

// Offsets into a window, which is at RDX (the TLB) plus access.win.
const (
	winBase  = int32(unsafe.Offsetof(mem.Window{}.Base))
	winSize  = int32(unsafe.Offsetof(mem.Window{}.Size))
	winDelta = int32(unsafe.Offsetof(mem.Window{}.Delta))
	winSkip  = int32(unsafe.Offsetof(mem.Window{}.Skip))
)

// window gives the access a window: those of loads and of stores differ.
func (c *compiler) window(store bool) int {
	n := c.p.windows % (mem.NumWindows / 2)
	c.p.windows++
	if store {
		n += mem.NumWindows / 2
	}
	return n
}

// windowed tells whether the access may use a window.
func (x *access) windowed() bool { return !x.sign && !x.c.m.Quick }

// open prepares for tests of strips: zmm3 is the number of index values that are inside, zmm4 and zmm5 make the index from a 64-bit
// offset, and R8 is the host address that the index counts from. Without a single such value it goes to no.
func (x *access) open(no x86.Label) {
	a := &x.c.a
	const L = x86.L512
	w := max(x.w, 4) // narrow loads read a dword
	if x.store {
		w = x.w
	}
	a.G(x86.MOV, 8, x86.RCX, x86.M(x86.RDX, x.win+winSize))
	a.G(x86.MOV, 8, x86.RAX, x86.R(x86.R15))
	a.Alu(x86.SUB, 8, x86.RAX, x86.M(x86.RDX, x.win+winBase))
	if !x.pair {
		a.Jcc(x86.B, no)
		a.Alu(x86.SUB, 8, x86.RCX, x86.R(x86.RAX))
		a.Jcc(x86.BE, no)
		a.G(x86.MOV, 8, x86.R8, x86.R(x86.R15))
	} else {
		a.E(x86.VPBROADCASTDG, L, 4, 0, x86.R(x86.RAX), noMod)
		a.GI8(x86.SHR, 8, x86.R(x86.RAX), 32)
		a.G1(x86.NEG, 4, x86.R(x86.RAX))
		a.E(x86.VPBROADCASTDG, L, 5, 0, x86.R(x86.RAX), noMod)
		a.G(x86.MOV, 8, x86.R8, x86.M(x86.RDX, x.win+winBase))
	}
	a.AluI(x86.SUB, 8, x86.R(x86.RCX), w-1)
	a.Jcc(x86.BE, no)
	a.MovI(x86.RAX, 1<<31-1) // an index is signed
	a.Alu(x86.CMP, 8, x86.RCX, x86.R(x86.RAX))
	a.Cmov(x86.A, 8, x86.RCX, x86.R(x86.RAX))
	a.E(x86.VPBROADCASTDG, L, 3, 0, x86.R(x86.RCX), noMod)
	a.Alu(x86.ADD, 8, x86.R8, x86.M(x86.RDX, x.win+winDelta))
}

// index makes zmm0 the index of the current strip; with a mask in k1 it goes to no unless all its lanes are inside.
func (x *access) index(test bool, no x86.Label) {
	a := &x.c.a
	const L = x86.L512
	a.E(x86.VMOVDQU32, L, 0, 0, x.at(x.offs[0]), noMod)
	m := x86.Masked(1)
	if x.pair {
		a.E(x86.VPADDD, L, 0, 0, x86.V(4), noMod)
	}
	if !test {
		return
	}
	if x.pair {
		// The high half and the carry make 0.
		a.EI(x86.VPCMPUD, L, 3, 0, x86.V(4), 1, noMod)
		a.E(x86.VMOVDQU32, L, 6, 0, x86.V(5), noMod)
		a.E(x86.VPADDD, L, 6, 6, x86.ML(a.Const32(^uint32(0)), 0).Bcast(), x86.Masked(3))
		a.EI(x86.VPCMPD, L, 2, 6, x.at(x.offs[1]), 0, x86.Masked(1))
		m = x86.Masked(2)
	}
	a.EI(x86.VPCMPUD, L, 2, 0, x86.V(3), 1, m)
	a.X(x86.KXORW, x86.L128, 2, 2, x86.KR(1))
	a.X(x86.KORTESTW, x86.L128, 2, 0, x86.KR(2))
	a.Jcc(x86.NE, no)
}

// outside decides what becomes of an access outside the window: it asks and begins again, or goes on here.
func (x *access) outside(why uint64) {
	c, a := x.c, &x.c.a
	ask := a.NewLabel()
	a.AluI(x86.SUB, 8, x86.M(x86.RDX, x.win+winSkip), 1)
	a.Jcc(x86.S, ask)
	c.tails = append(c.tails, func() {
		a.Bind(ask)
		a.MovMI(4, x86.M(rFrame, frameOp), int32(x.id))
		c.ret(why)
	})
}

// gather loads the lanes of k1 in the current strip, if they are in the window, and goes to next; else it falls through.
func (x *access) gather(next x86.Label) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	if x.w >= 8 && c.m.AVX2 {
		return // nothing gathers quadwords there, and two gathers of dwords would tear them
	}
	no := a.NewLabel()
	x.open(no)
	x.index(true, no)
	ks := c.vals[x.id].comps
	if x.w >= 8 {
		x.quads(ks)
	}
	for i := len(ks) &^ 1; i < len(ks); i++ {
		a.X(x86.KANDW, x86.L128, 2, 1, x86.KR(1))
		a.E(x86.VPXORD, L, 1, 1, x86.V(1), noMod)
		a.E(x86.VPGATHERDD, L, 1, 0, x86.MV(x86.R8, 0, 1, int32(4*i)), x86.Masked(2))
		if shift := uint8(32 - 8*x.w); x.w < 4 {
			a.EI(x86.VPSLLDI, L, 0, 1, x86.V(1), shift, noMod)
			inst := x86.VPSRLDI
			if x.v.Sign {
				inst = x86.VPSRADI
			}
			a.EI(inst, L, 0, 1, x86.V(1), shift, noMod)
		}
		a.E(x86.VMOVDQU32S, L, 1, 0, x.at(ks[i]), noMod)
	}
	a.Jmp(next)
	a.Bind(no)
	x.outside(retWindow)
}

// quads gathers, eight bytes after eight, what makes pairs of ks, for each lane of k1 from R8 plus the index in zmm0, which it keeps. A lane's quadword
// is one access of the host: programs hand a flag and a value to each other in one.
func (x *access) quads(ks []int32) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	a.EI(x86.VEXTRACTI64X4, L, 0, 0, x86.V(2), 1, noMod) // the index of lanes 8 to 15
	for i := 0; i+1 < len(ks); i += 2 {
		for h, dst := range []uint8{1, 5} {
			a.XI(x86.KSHIFTRW, x86.L128, 2, 0, x86.KR(1), uint8(8*h))
			a.E(x86.VPXORD, L, dst, dst, x86.V(x86.Vec(dst)), noMod)
			a.E(x86.VPGATHERDQ, L, dst, 0, x86.MV(x86.R8, x86.Vec(2*h), 1, int32(4*i)), x86.Masked(2))
		}
		for j, t := range []*[16]uint32{tabLo, tabHi} {
			a.E(x86.VMOVDQU32, L, 6, 0, c.table(t), noMod)
			a.E(x86.VPERMI2D, L, 6, 1, x86.V(5), noMod)
			a.E(x86.VMOVDQU32S, L, 6, 0, x.at(ks[i+j]), noMod)
		}
	}
}

// scatter does a store that is not of consecutive lanes, and goes to done. Wider ones whose lanes are all in the window go on at strips.
func (x *access) scatter(masks func(q int), strips, done x86.Label) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	if x.windowed() {
		no := a.NewLabel()
		x.open(no)
		for q := range c.strips {
			x.fixed = q + 1
			masks(q)
			x.index(true, no)
		}
		if x.w == 4 {
			for q := range c.strips {
				x.fixed = q + 1
				masks(q)
				x.index(false, no)
				a.E(x86.VMOVDQU32, L, 1, 0, x.at(c.vals[x.v.Args[3]].comps[0]), noMod)
				a.E(x86.VPSCATTERDD, L, 1, 0, x86.MV(x86.R8, 0, 1, 0), x86.Masked(1))
			}
			a.Jmp(done)
		} else {
			a.Jmp(strips)
		}
		x.fixed = 0
		a.Bind(no)
		x.outside(retWindow)
	}
	x.storeByLane(done)
}

// storeByLane stores in two passes: the first translates.
func (x *access) storeByLane(done x86.Label) {
	c, a, v := x.c, &x.c.a, x.v
	piece, pieces := int32(4), x.w/4
	if x.w < 4 {
		piece, pieces = x.w, 1
	}
	table := c.laneTable(int(pieces))
	c.hostTable(v, table, piece, pieces, mem.Write, false, x.slow)
	c.gmask(x86.R14, v.Args[2])
	c.eachLane(func() {
		c.lanePieces(pieces, func(i int32, after x86.Label) { c.laneQuad(x.id, v, table, i, after) }, func(i int32) {
			a.G(x86.MOV, 8, x86.R8, x86.MX(rFrame, x86.RCX, 8, table+512*i))
			c.lane32(x86.RAX, v.Args[3], int(i))
			a.GS(x86.MOVS, int(piece), x86.M(x86.R8, 0), x86.RAX)
		})
	})
	a.Jmp(done)
}
