package interp

import (
	"math"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/lane"
)

// Matrix operations: D = A*B + C for one or more blocks, spread over the wave's registers. A lane holds one row of A
// (one column of B) and a run of k; what it holds of C and D is one column and several rows. EXEC is ignored.

// matrixPlan is what runMatrix needs to know of a shape.
type matrixPlan struct {
	dot    fp.Dot
	prepA  fp.Prep
	prepB  fp.Prep
	rows   bool // f32 chains, a row of D at a time
	a, b   []lane.Place
	c      []lane.Place // registers of C and D: element (block, row, column) by [(block*M + i)*N + j]
	index  []lane.Place // of a sparse A: which of four k an element is, in the last of A's registers
	neg    [2][2]uint8  // sparse: sign bits to flip in A's and B's elements, of even and odd k
	bits   uint         // of an element of A
	bBits  uint
	cBits  uint
	refuse string
}

// planMatrix works the layout out.
func planMatrix(v *ir.Value, lanes int) *matrixPlan {
	m := v.Aux.(*ir.Matrix)
	p := &matrixPlan{bits: uint(m.A.Bits()), bBits: uint(m.B.Bits()), cBits: uint(m.C.Bits())}
	p.prepA, p.prepB, p.dot = fp.MatrixUnit(m, v.FP)
	p.rows = haveAVX && m.A == ir.F32 && m.C == ir.F32 && !m.XF32 && v.FP&(ir.FPFlushIn|ir.FPFlushOut) == 0 && (m.N == 32 || m.N == 16) && m.K < 32
	if m.Sparse {
		p.planSparse(v, m, lanes)
		return p
	}
	if p.refuse = lane.MatrixRefused(m, lanes); p.refuse != "" {
		return p
	}
	p.a = lane.MatrixInputs(m, m.M, lanes)
	mb := *m
	mb.A = m.B // whose width the places have
	p.b = lane.MatrixInputs(&mb, m.N, lanes)
	p.c = lane.MatrixOutputs(m, lanes)
	return p
}

// bLane is the lane that BLGP takes lane l's B from.
func bLane(blgp uint8, l int) int {
	switch blgp {
	case 1:
		return l & 31
	case 2:
		return l&31 | 32
	case 3:
		return (l + 16) & 63
	case 4, 5, 6, 7:
		return l&15 | int(blgp-4)*16
	}
	return l
}

func (m *machine) element(regs []ref, p lane.Place, bits uint) uint64 {
	if int(p.Reg) >= len(regs) {
		return 0
	}
	x := uint64(m.lanes(regs[p.Reg])[p.Lane&63])
	if bits == 64 {
		if int(p.Reg)+1 < len(regs) {
			x |= uint64(m.lanes(regs[p.Reg+1])[p.Lane&63]) << 32
		}
		return x
	}
	if bits == 6 && p.Shift > 26 && int(p.Reg)+1 < len(regs) {
		x |= uint64(m.lanes(regs[p.Reg+1])[p.Lane&63]) << 32
	}
	return x >> p.Shift & (1<<bits - 1)
}

// scale multiplies the elements of an operand with n rows, which are f64, by the powers of two in the last of its registers.
func (m *machine) scale(e []uint64, regs []ref, n, k int, sel uint8) {
	s := m.lanes(regs[len(regs)-1])
	for i := range e {
		x := int(s[(i/k+n*(i%k/32))&63] >> (8 * sel) & 0xff)
		f := math.NaN()
		if x != 255 {
			f = math.Ldexp(1, x-127)
		}
		e[i] = math.Float64bits(math.Float64frombits(e[i]) * f)
	}
}

func runMatrix(m *machine, in *inst) bool {
	p := in.x.matrix
	if p.refuse != "" {
		m.exit, m.text = ir.ExitIllegal, "matrix instruction: "+p.refuse+" is not implemented"
		return false
	}
	x := in.v.Aux.(*ir.Matrix)
	if x.Sparse {
		d := m.elems(len(p.c), 2)
		m.sparseProduct(in, d)
		m.matrixResult(in, d)
		return true
	}
	negate := uint8(0)
	blgp := x.BLGP
	if x.A == ir.F64 && !x.WMMA {
		if x.Gen >= 3 {
			negate = blgp
		}
		blgp = 0
	}
	a, b := m.elems(len(p.a), 0), m.elems(len(p.b), 1)
	for i, pl := range p.a {
		if x.CBSZ != 0 && !x.WMMA { // blocks take A from one of their group
			blk := i / (x.M * x.K)
			src := blk&^(1<<x.CBSZ-1) + int(x.ABID)
			if src < x.Blocks {
				pl = p.a[i+(src-blk)*x.M*x.K]
			}
		}
		x := m.element(in.x.a, pl, p.bits)
		if negate&1 != 0 {
			x ^= 1 << 63
		}
		a[i] = p.prepA(x)
	}
	for i, pl := range p.b {
		pl.Lane = uint8(bLane(blgp, int(pl.Lane)))
		x := m.element(in.x.b, pl, p.bBits)
		if negate&2 != 0 {
			x ^= 1 << 63
		}
		b[i] = p.prepB(x)
	}
	if x.Scaled {
		m.scale(a, in.x.a, x.M, x.K, x.ScaleA)
		m.scale(b, in.x.b, x.N, x.K, x.ScaleB)
	}
	// D may be in C's registers: it is made aside.
	d := m.elems(len(p.c), 2)
	if p.rows {
		m.matrixRows(in, a, b, d)
	}
	for blk := range x.Blocks {
		if p.rows {
			break
		}
		for i := range x.M {
			row := a[(blk*x.M+i)*x.K:][:x.K]
			for j := range x.N {
				at := (blk*x.M+i)*x.N + j
				c := m.element(in.x.c, p.c[at], p.cBits)
				if negate&4 != 0 {
					c ^= 1 << 63
				}
				d[at] = p.dot(row, b[(blk*x.N+j)*x.K:][:x.K], c)
			}
		}
	}
	m.matrixResult(in, d)
	return true
}

// matrixResult writes D. Halves that no element fills keep C's bits.
func (m *machine) matrixResult(in *inst, d []uint64) {
	p := in.x.matrix
	if p.cBits == 16 {
		for i, r := range in.x.regs {
			if i < len(in.x.c) {
				*m.lanes(r) = *m.lanes(in.x.c[i])
			}
		}
	}
	for at, pl := range p.c {
		if int(pl.Reg) >= len(in.x.regs) {
			continue
		}
		q := &m.lanes(in.x.regs[pl.Reg])[pl.Lane&63]
		switch p.cBits {
		case 64:
			*q = uint32(d[at])
			if int(pl.Reg)+1 < len(in.x.regs) {
				m.lanes(in.x.regs[pl.Reg+1])[pl.Lane&63] = uint32(d[at] >> 32)
			}
		case 16:
			*q = *q&^(0xffff<<pl.Shift) | uint32(d[at]&0xffff)<<pl.Shift
		default:
			*q = uint32(d[at])
		}
	}
}

// matrixRows computes D a row at a time: a row is N lanes, and each step of k one fused loop over them.
func (m *machine) matrixRows(in *inst, a, b, d []uint64) {
	p, x := in.x.matrix, in.v.Aux.(*ir.Matrix)
	acc, av := m.temp(0), m.temp(1)
	for blk := range x.Blocks {
		// B's rows, in the frame's scratch registers.
		for k := range x.K {
			bk := m.temp(2 + k)
			for j := range x.N {
				bk[j&63] = uint32(b[(blk*x.N+j)*x.K+k])
			}
		}
		for i := range x.M {
			at := (blk*x.M + i) * x.N
			for j := range x.N {
				acc[j&63] = uint32(m.element(in.x.c, p.c[at+j], 32))
			}
			for k := range x.K {
				avxSplat(av, uint32(a[(blk*x.M+i)*x.K+k]))
				hostFMA(acc, av, m.temp(2+k), acc, x.N)
			}
			for j := range x.N {
				d[at+j] = uint64(acc[j&63])
			}
		}
	}
}

// elems returns the worker's buffer i with room for n elements.
func (m *machine) elems(n, i int) []uint64 {
	if cap(m.matrix[i]) < n {
		m.matrix[i] = make([]uint64, n)
	}
	return m.matrix[i][:n]
}
