package interp

import (
	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/lane"
)

// A sparse matrix operation (SMFMAC, SWMMAC) has an A of which two in each four elements of a row are not zero: it holds these, and
// two bits for each say which of the four it is. B is dense. What A does not hold is not multiplied: an infinity in B at such a k
// has no effect. Both indices of a pair may be the same; then both products count.
//
//fidelity: approximate matrix-sparse: products are added in groups as a dense operation of half the depth adds them; what hardware does is not published

// planSparse is planMatrix for a sparse A.
func (p *matrixPlan) planSparse(v *ir.Value, m *ir.Matrix, lanes int) {
	if m.K%4 != 0 || m.Blocks != 1 || m.A.Bits() == 0 || m.C.Bits() == 0 || m.WMMA && m.Gen < 12 {
		p.refuse = "this shape"
		return
	}
	dot := *m
	dot.K = m.K / 2
	if m.WMMA && m.A.Float() { // signs belong to k, and B's k are other than A's
		for i := range 2 {
			p.neg[i] = [2]uint8{m.Neg >> i & 1, m.NegHi >> i & 1}
		}
		dot.Neg &^= 3
		dot.NegHi &^= 3
	}
	p.rows = false
	p.prepA, p.prepB, p.dot = fp.MatrixUnit(&dot, v.FP)
	p.a, p.index = lane.SparseInputs(m, lanes)
	p.b = lane.MatrixInputs(m, m.N, lanes)
	p.c = lane.MatrixOutputs(m, lanes)
}

// sparseProduct computes D.
func (m *machine) sparseProduct(in *inst, d []uint64) {
	p, x := in.x.matrix, in.v.Aux.(*ir.Matrix)
	half := x.K / 2
	regs, index := in.x.a[:len(in.x.a)-1], in.x.a[len(in.x.a)-1:]
	sign := uint64(1) << (p.bits - 1)
	flip := func(v uint64, which, k int) uint64 {
		if p.neg[which][k&1] != 0 {
			v ^= sign
		}
		return v
	}
	a, b := m.elems(len(p.a), 0), m.elems(len(p.b)+half, 1)
	row := b[len(p.b):]
	for i, pl := range p.a {
		a[i] = p.prepA(flip(m.element(regs, pl, p.bits), 0, i%half))
	}
	for i, pl := range p.b {
		b[i] = p.prepB(flip(m.element(in.x.b, pl, p.bits), 1, i%x.K))
	}
	var at [128]uint8 // the k of each element of A's row
	for i := range x.M {
		for kk := range half {
			at[kk&127] = uint8(kk/2*4) + uint8(m.element(index, p.index[i*half+kk], 2))
		}
		for j := range x.N {
			for kk := range half {
				row[kk] = b[j*x.K+int(at[kk&127])]
			}
			d[i*x.N+j] = p.dot(a[i*half:][:half], row, m.element(in.x.c, p.c[i*x.N+j], p.cBits))
		}
	}
}
