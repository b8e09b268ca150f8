package lane

import "github.com/pumice-gpu/pumice/engine/ir"

// How a wave's registers hold the operands of a matrix operation (CDNA and RDNA manuals, "Matrix Arithmetic Instructions",
// "WMMA"): a lane holds one row of A (one column of B) and a run of k, and of C and D one column and several rows.

// Place is a register of a tuple, a lane and a bit position.
type Place struct {
	Reg, Lane uint8
	Shift     uint8
}

// MatrixRefused says why no engine does m on waves of lanes lanes; empty when they do.
func MatrixRefused(m *ir.Matrix, lanes int) string {
	if m.Sparse {
		return "sparse matrices"
	}
	if m.M <= 0 || m.N <= 0 || m.K <= 0 || m.Blocks <= 0 || m.A.Bits() == 0 || m.C.Bits() == 0 || m.M*m.N*m.Blocks < lanes && !m.WMMA ||
		m.M > 64 || m.N > 64 || m.K > 256 || m.Blocks > 16 {
		return "this shape"
	}
	return ""
}

// MatrixInputs places element (block, row, k) of an operand with n rows at [(block*n + row)*K + k].
func MatrixInputs(m *ir.Matrix, n, lanes int) []Place {
	l := make([]Place, m.Blocks*n*m.K)
	for blk := range m.Blocks {
		for row := range n {
			for k := range m.K {
				lane, e, regs := inputLane(m, n, lanes, blk, row, k, m.K)
				b := e * m.A.Bits()
				l[(blk*n+row)*m.K+k] = fold(m, lanes, regs, b/32, lane, b%32)
			}
		}
	}
	return l
}

// inputLane returns the lane that holds element k of a row of K elements, and which of the lane's elements it is. For RDNA4 that is
// in a wave of 32 lanes, where the operand has regs registers.
func inputLane(m *ir.Matrix, n, lanes, blk, row, k, all int) (lane, e, regs int) {
	switch {
	case m.WMMA && m.Gen < 12: // both halves hold all of it
		return row, k, 0
	case m.WMMA:
		run := all / 2
		if m.A.Bits() == 16 { // runs of k go round the two halves
			run = 4
			if m.Sparse {
				run = 8
			}
		}
		return row + 16*(k/run%2), k/(2*run)*run + k%run, max(1, all/2*m.A.Bits()/32)
	}
	per := all * n * m.Blocks / lanes
	if m.F8F6F4 && m.A.Bits() == 8 { // two runs of 16, of which the second lies behind all lanes' first
		g := all / 32
		return row + n*(k/16%g), k/(16*g)*16 + k%16, 0
	}
	return row + n*(blk+m.Blocks*(k/per)), k % per, 0
}

// fold moves a place of RDNA4's wave32 to where wave64 has it: lanes from 32 on hold the upper half of the registers. An operand of
// one register stays in the lower lanes.
func fold(m *ir.Matrix, lanes, regs, reg, lane, shift int) Place {
	if m.WMMA && m.Gen >= 12 && lanes == 64 && regs > 1 {
		if reg >= regs/2 {
			reg, lane = reg-regs/2, lane+32
		}
	}
	return Place{uint8(reg), uint8(lane), uint8(shift)}
}

// SparseInputs places the elements of a sparse A, of which there are two for each four k: element kk of a row is at [row*K/2 + kk], and
// in the same lane's index register, at bit Shift of the second slice's entry, stands which of the four it is. All forms have one block.
// m.ABID chooses among the sets of indices that the register holds, on CDNA unless m.CBSZ is set.
func SparseInputs(m *ir.Matrix, lanes int) (elems, index []Place) {
	per := 0 // elements of a lane
	bits := m.A.Bits()
	for row := range m.M {
		for kk := range m.K / 2 {
			lane, e, regs := inputLane(m, m.M, lanes, 0, row, kk/2*4, m.K)
			b := (e/2 + kk%2) * bits
			p := fold(m, lanes, max(1, regs/2), b/32, lane, b%32)
			elems = append(elems, p)
			per = max(per, (int(p.Reg)*32+int(p.Shift))/bits+1)
		}
	}
	set := int(m.ABID)
	if !m.WMMA && m.CBSZ != 0 {
		set = 0
	}
	for _, p := range elems {
		e := (int(p.Reg)*32 + int(p.Shift)) / bits
		index = append(index, Place{0, p.Lane, uint8((2*per*set + 2*e) % 32)})
	}
	return elems, index
}

// MatrixOutputs places C and D: element (block, row, column) at [(block*M + row)*N + column].
func MatrixOutputs(m *ir.Matrix, lanes int) []Place {
	l := make([]Place, m.Blocks*m.M*m.N)
	for blk := range m.Blocks {
		for i := range m.M {
			for j := range m.N {
				var reg, lane, shift int
				switch {
				case m.WMMA && m.Gen < 12:
					h := lanes / 16
					reg, lane = i/h, j+16*(i%h)
					if m.C.Bits() == 16 {
						shift = int(m.ABID) * 16
					}
				case m.WMMA:
					reg, lane = i%8, j+16*(i/8)
					regs := 8
					if m.C.Bits() == 16 {
						reg, shift, regs = reg/2, reg%2*16, 4
					}
					l[(blk*m.M+i)*m.N+j] = fold(m, lanes, regs, reg, lane, shift)
					continue
				case m.C == ir.F64:
					// Rows go round the lane groups one by one.
					g := lanes / m.N / m.Blocks
					reg, lane = i/g*2, j+m.N*(blk+m.Blocks*(i%g))
				case m.N == 4:
					reg, lane = i, j+4*blk
				default:
					// Groups of four rows go round the lane groups.
					g := lanes / m.N
					reg = blk*(m.M/g) + i/(4*g)*4 + i%4
					lane = j + m.N*(i/4%g)
				}
				l[(blk*m.M+i)*m.N+j] = Place{uint8(reg), uint8(lane), uint8(shift)}
			}
		}
	}
	return l
}
