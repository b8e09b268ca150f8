package jit

import (
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// The loads of a run: their windows, and the copying.

// host makes the strips' addresses host addresses; it is where they are in the frame.
func (e *affineCode) host(x *aload, start, usual x86.Label) int32 {
	c, a := e.c, &e.c.a
	w := int32(c.f.V(x.id).Width)
	h := c.p.slots[x.id]
	at, kept := e.slot[x.node], e.kept[x.node] >= 0
	if kept {
		at = e.area()
	}
	h.affine = &affineLoadInfo{start: start, at: at, n: 2 * c.strips}
	win := x86.M(x86.RDX, mem.WindowsOffset+int32(h.window)*mem.WindowSize)
	out := a.NewLabel()
	a.G(x86.MOV, 8, x86.RCX, win.Add(winSize))
	a.AluI(x86.SUB, 8, x86.R(x86.RCX), 16*w-1)
	a.Jcc(x86.BE, out)
	a.E(x86.VPBROADCASTQG, e.l, affineT1, 0, x86.R(x86.RCX), noMod)
	from := x86.M(rFrame, at)
	if kept {
		from = e.place(x.node)
	}
	a.E(x86.VMOVDQU64, e.l, affineT0, 0, from, noMod)
	a.E(x86.VPSUBQ, e.l, affineT2, affineT0, win.Add(winBase).Bcast(), noMod)
	a.EI(x86.VPCMPUQ, e.l, 5, affineT2, x86.V(affineT1), 5, x86.Masked(affineFirst))
	a.E(x86.VPADDQ, e.l, affineT0, affineT0, win.Add(winDelta).Bcast(), noMod)
	a.X(x86.KORTESTW, x86.L128, 5, 0, x86.KR(5))
	a.Jcc(x86.NE, out)
	host := e.area()
	there := a.NewLabel()
	a.E(x86.VMOVDQU64S, e.l, affineT0, 0, x86.M(rFrame, host), noMod)
	a.Bind(there)
	c.tails = append(c.tails, func() {
		apart := a.NewLabel()
		a.Bind(out)
		if kept {
			a.E(x86.VMOVDQU64, e.l, affineT0, 0, from, noMod)
			a.E(x86.VMOVDQU64S, e.l, affineT0, 0, x86.M(rFrame, at), noMod)
		}
		a.AluI(x86.SUB, 8, win.Add(winSkip), 1)
		a.Jcc(x86.NS, apart)
		a.MovMI(4, x86.M(rFrame, frameOp), int32(x.id))
		c.ret(retAffine)
		a.Bind(apart)
		e.byPages(at, host, w, win, usual)
		a.Jmp(there)
	})
	return host
}

// byPages looks the strips' pages up, when the window does not hold them all: memory may be in pieces. What the TLB does not know goes to usual, and
// Go is asked the next time.
func (e *affineCode) byPages(at, host, w int32, win x86.RM, usual x86.Label) {
	c, a := e.c, &e.c.a
	top, same, miss := a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.Alu(x86.XOR, 4, x86.R11, x86.R(x86.R11))
	a.Bind(top)
	a.G(x86.MOV, 8, x86.R8, x86.MX(rFrame, x86.R11, 1, at))
	a.G(x86.MOV, 8, x86.RCX, x86.R(x86.R8))
	a.GI8(x86.SHR, 8, x86.R(x86.RCX), mem.PageShift)
	c.probe(x86.RCX, x86.R9, x86.RDX, tlbR, miss)
	a.G(x86.LEA, 8, x86.R14, x86.M(x86.R8, 16*w-1))
	a.GI8(x86.SHR, 8, x86.R(x86.R14), mem.PageShift)
	a.Alu(x86.CMP, 8, x86.R14, x86.R(x86.RCX))
	a.Jcc(x86.E, same)
	c.probe(x86.R14, x86.R10, x86.RDX, tlbR, miss)
	a.Alu(x86.CMP, 8, x86.R10, x86.R(x86.R9))
	a.Jcc(x86.NE, e.fail)
	a.Bind(same)
	a.Alu(x86.ADD, 8, x86.R8, x86.R(x86.R9))
	a.GS(x86.MOVS, 8, x86.MX(rFrame, x86.R11, 1, host), x86.R8)
	a.AluI(x86.ADD, 4, x86.R(x86.R11), 16)
	a.AluI(x86.CMP, 4, x86.R(x86.R11), int32(16*c.strips))
	a.Jcc(x86.NE, top)
	c.tails = append(c.tails, func() {
		a.Bind(miss)
		a.MovMI(8, win.Add(winSkip), 0)
		a.Jmp(usual)
	})
}

// affineNear is how large a window may be whose tiles are not asked for ahead: most of a core's second cache.
const affineNear = 3 << 19

// load loads the strips.
func (e *affineCode) load(x *aload, host int32) {
	const L = x86.L512
	c, a := e.c, &e.c.a
	w := int32(c.f.V(x.id).Width)
	switch {
	case c.inCrewLoop():
		// What fits into the second cache is there, and the first one has enough to hold.
		win := x86.M(x86.RDX, mem.WindowsOffset+int32(c.p.slots[x.id].window)*mem.WindowSize)
		near := a.NewLabel()
		a.AluI(x86.CMP, 8, win.Add(winSize), affineNear)
		a.Jcc(x86.BE, near)
		a.G(x86.MOV, 8, x86.R8, x86.M(rFrame, host))
		(&access{c: c}).step()
		for q := range c.strips {
			a.G(x86.MOV, 8, x86.R8, x86.M(rFrame, host+int32(16*q)))
			for i := int32(0); i < 16*w; i += 64 {
				a.G1(x86.PREFETCHT0, 4, x86.MX(x86.R8, x86.RBX, 1, i))
			}
		}
		a.Bind(near)
	case c.inLoop():
		a.G(x86.MOV, 8, x86.R8, x86.M(rFrame, host))
		done := (&access{c: c}).farStep()
		for q := range c.strips {
			a.G(x86.MOV, 8, x86.R8, x86.M(rFrame, host+int32(16*q)))
			for i := int32(0); i < 16*w; i += 64 {
				a.G1(x86.PREFETCHT0, 4, x86.MX(x86.R8, x86.RAX, prefetchFar, i))
			}
		}
		a.Bind(done)
	}
	for q := range c.strips {
		a.G(x86.MOV, 8, x86.R8, x86.M(rFrame, host+int32(16*q)))
		for i := range uint8(w / 4) {
			a.E(x86.VMOVDQU32, L, i, 0, x86.M(x86.R8, 64*int32(i)), noMod)
		}
		put := func(part int, z uint8) {
			for _, d := range x.to[part] {
				a.E(x86.VMOVDQU32S, L, z, 0, d.rm.Add(int32(64*q)), noMod)
			}
		}
		switch w {
		case 4:
			put(0, 0)
		case 8:
			for i, t := range []*[16]uint32{tabLo, tabHi} {
				a.E(x86.VMOVDQU32, L, 4, 0, c.table(t), noMod)
				a.E(x86.VPERMI2D, L, 4, 0, x86.V(1), noMod)
				put(i, 4)
			}
		case 16:
			for i, t := range tabQuad {
				a.E(x86.VMOVDQU32, L, 4, 0, c.table(t), noMod)
				a.E(x86.VMOVDQU32, L, 5, 0, x86.V(4), noMod)
				a.E(x86.VPERMI2D, L, 4, 0, x86.V(1), noMod)
				a.E(x86.VPERMI2D, L, 5, 2, x86.V(3), noMod)
				a.EI(x86.VSHUFI64X2, L, 6, 4, x86.V(5), 0x44, noMod)
				a.EI(x86.VSHUFI64X2, L, 7, 4, x86.V(5), 0xee, noMod)
				put(2*i, 6)
				put(2*i+1, 7)
			}
		}
	}
}
