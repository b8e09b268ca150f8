package jit

import "github.com/pumice-gpu/pumice/engine/jit/x86"

// Rows are strips whose lanes have dwords one behind the other, as the rows of a tile are. In a load of more than a dword the lanes' elements then
// lie over each other, as when a stencil's kernel loads a point and its neighbours: element i of a lane is element 0 of the lane i further on, and
// only those of the last lanes are not in the row itself.

// canRows tells whether rows knows the access.
func (x *access) canRows() bool {
	return !x.store && x.windowed() && (x.w == 4 || x.w > 4 && !x.c.m.AVX2)
}

// lookRows goes to rows where a look at two lanes says that there are some.
func (x *access) lookRows(rows x86.Label) {
	a := &x.c.a
	x.fixed = 1
	off := x.at(x.offs[0])
	a.G(x86.MOV, 4, x86.RAX, off)
	if x.w == 4 { // the second strip is not behind the first
		a.AluI(x86.ADD, 4, x86.R(x86.RAX), 64)
		a.Alu(x86.CMP, 4, x86.RAX, off.Add(64))
		a.Jcc(x86.NE, rows)
		return
	}
	a.AluI(x86.ADD, 4, x86.R(x86.RAX), 4)
	a.Alu(x86.CMP, 4, x86.RAX, off.Add(4))
	a.Jcc(x86.E, rows)
}

// tabRow picks element i of each lane from the row and, from register 16 on, from what begins with its last dword. A lane's elements 2j and 2j+1
// come from one of both: programs hand a flag and a value to each other in one access.
var tabRow = func() (t [4]*[16]uint32) {
	for i := range t {
		t[i] = new([16]uint32)
		for l := range t[i] {
			if n := l + i; l+i&^1 < 15 {
				t[i][l] = uint32(n)
			} else {
				t[i][l] = uint32(16 + n - 15)
			}
		}
	}
	return t
}()

// rows does a load by all lanes of the wave, where each strip is a row, and lies in the access's
// window; then it goes to done. When they do not it goes to no, and with strips outside the window it falls through.
//
// What differs from a row is gathered in one register: comparisons have one port of the host, logic has two, and a mask costs one more.
func (x *access) rows(no, done x86.Label) {
	c, a := x.c, &x.c.a
	const L = x86.L512
	const row, high, lanes, off = 0, 1, 2, 3
	extent := 60 + x.w // of a strip
	a.E(x86.VMOVDQU32, L, lanes, 0, c.table(laneTimes(4)), noMod)
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
	a.AluI(x86.SUB, 8, x86.R(size), extent-1)
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
		a.AluI(x86.CMP, 4, x86.R(at[q]), -1-extent) // a lane's offset wraps; see first
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
	ks := c.vals[x.id].comps
	if len(ks) == 1 {
		for q := range c.strips {
			a.E(x86.VMOVDQU32, L, uint8(q), 0, x86.MX(at[q], host, 1, 0), noMod)
		}
		for q := range c.strips {
			x.fixed = q + 1
			a.E(x86.VMOVDQU32S, L, uint8(q), 0, x.at(ks[0]), noMod)
		}
	} else {
		const first, over, tabs = 0, 1, 4
		for i := range ks {
			a.E(x86.VMOVDQU32, L, tabs+uint8(i), 0, c.table(tabRow[i]), noMod)
		}
		a.MovI(x86.RAX, 1<<len(ks)-1)
		a.X(x86.KMOVWG, x86.L128, 1, 0, x86.R(x86.RAX))
		for q := range c.strips {
			x.fixed = q + 1
			a.E(x86.VMOVDQU32, L, first, 0, x86.MX(at[q], host, 1, 0), noMod)
			a.E(x86.VMOVDQU32, L, over, 0, x86.MX(at[q], host, 1, 60), x86.Zeroed(1))
			for i, k := range ks {
				const to = 2
				a.E(x86.VMOVDQU32, L, to, 0, x86.V(tabs+x86.Vec(i)), noMod)
				a.E(x86.VPERMI2D, L, to, first, x86.V(over), noMod)
				a.E(x86.VMOVDQU32S, L, to, 0, x.at(k), noMod)
			}
		}
	}
	a.Jmp(done)
	x.fixed = 0
	a.Bind(outside)
	x.outside(retRows)
}
