package jit

import "github.com/pumice-gpu/pumice/engine/jit/x86"

// rows does a load of dwords by all lanes of the wave, where each strip's lanes follow one another, as the rows of a tile do, and lie in the access's
// window; then it goes to done. When they do not it goes to no, and with strips outside the window it falls through.
//
// What differs from a row is gathered in one register: comparisons have one port of the host, logic has two, and a mask costs one more.
func (x *access) rows(no, done x86.Label) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	const row, high, lanes, off = 0, 1, 2, 3
	a.E(x86.VMOVDQU32, L, lanes, 0, c.table(laneTimes(uint32(x.w))), noMod)
	if c.m.AVX2 {
		m := noMod
		for q := range c.strips {
			x.fixed = q + 1
			a.E(x86.VPADDD, L, row, lanes, x.at(x.offs[0]).Bcast(), noMod)
			a.EI(x86.VPCMPD, L, 1, row, x.at(x.offs[0]), 0, m)
			m = x86.Masked(1)
			if x.pair {
				a.E(x86.VPBROADCASTD, L, high, 0, x.at(x.offs[1]), noMod)
				a.EI(x86.VPCMPD, L, 1, high, x.at(x.offs[1]), 0, m)
			}
		}
		a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
		a.Jcc(x86.AE, no)
	} else {
		for q := range c.strips {
			x.fixed = q + 1
			a.E(x86.VPADDD, L, row, lanes, x.at(x.offs[0]).Bcast(), noMod)
			if q == 0 {
				a.E(x86.VPXORD, L, off, row, x.at(x.offs[0]), noMod)
			} else {
				a.EI(x86.VPTERNLOGD, L, off, row, x.at(x.offs[0]), orXor, noMod)
			}
			if x.pair {
				a.E(x86.VPBROADCASTD, L, high, 0, x.at(x.offs[1]), noMod)
				a.EI(x86.VPTERNLOGD, L, off, high, x.at(x.offs[1]), orXor, noMod)
			}
		}
		a.E(x86.VPTESTMD, L, 1, off, x86.V(off), noMod)
		a.X(x86.KORTESTW, x86.L128, 1, 0, x86.KR(1))
		a.Jcc(x86.NE, no)
	}
	outside := a.NewLabel()
	const size, from, host = x86.RCX, x86.RBX, x86.R9
	a.G(x86.MOV, 8, size, x86.M(x86.RDX, x.win+winSize))
	a.AluI(x86.SUB, 8, x86.R(size), 16*x.w-1)
	a.Jcc(x86.BE, outside)
	a.G(x86.MOV, 8, host, x86.M(x86.RDX, x.win+winBase))
	a.G(x86.MOV, 8, from, x86.R(x86.R15))
	a.Alu(x86.SUB, 8, from, x86.R(host))
	at := [4]x86.Reg{x86.R8, x86.R10, x86.R11, x86.R14} // where in the window strips begin
	for q := range c.strips {
		x.fixed = q + 1
		a.G(x86.MOV, 4, at[q], x.at(x.offs[0]))
		if x.pair {
			a.G(x86.MOV, 4, x86.RAX, x.at(x.offs[1]))
		}
		a.AluI(x86.CMP, 4, x86.R(at[q]), -1-16*x.w) // a lane's offset wraps; see first
		a.Jcc(x86.A, no)
		if x.pair {
			a.GI8(x86.SHL, 8, x86.R(x86.RAX), 32)
			a.Alu(x86.OR, 8, at[q], x86.R(x86.RAX))
		}
		a.Alu(x86.ADD, 8, at[q], x86.R(from))
		a.Alu(x86.CMP, 8, at[q], x86.R(size))
		a.Jcc(x86.AE, outside)
	}
	a.Alu(x86.ADD, 8, host, x86.M(x86.RDX, x.win+winDelta))
	if c.inCrewLoop() {
		near := a.NewLabel() // see affineCode.load
		a.AluI(x86.CMP, 8, x86.M(x86.RDX, x.win+winSize), affineNear)
		a.Jcc(x86.BE, near)
		a.Alu(x86.ADD, 8, x86.R8, x86.R(host))
		x.step()
		a.Alu(x86.SUB, 8, x86.R8, x86.R(host))
		a.Alu(x86.ADD, 8, x86.RBX, x86.R(host))
		for q := range c.strips {
			a.G1(x86.PREFETCHT0, 4, x86.MX(at[q], x86.RBX, 1, 0))
		}
		a.Bind(near)
	}
	for q := range c.strips {
		a.E(x86.VMOVDQU32, L, uint8(q), 0, x86.MX(at[q], host, 1, 0), noMod)
	}
	for q := range c.strips {
		x.fixed = q + 1
		a.E(x86.VMOVDQU32S, L, uint8(q), 0, x.at(c.vals[x.id].comps[0]), noMod)
	}
	a.Jmp(done)
	x.fixed = 0
	a.Bind(outside)
	x.outside(retRows)
}
