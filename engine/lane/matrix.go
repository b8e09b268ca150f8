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
	at := func(e int) (reg, shift uint8) {
		b := e * m.A.Bits()
		return uint8(b / 32), uint8(b % 32)
	}
	for blk := range m.Blocks {
		for row := range n {
			for k := range m.K {
				var lane, e int
				switch {
				case m.WMMA && m.Gen < 12: // both halves hold all of it
					lane, e = row, k
				case m.WMMA:
					per := m.K / (lanes / n)
					lane, e = row+n*(k/per), k%per
				default:
					per := m.K * n * m.Blocks / lanes
					lane, e = row+n*(blk+m.Blocks*(k/per)), k%per
				}
				r, s := at(e)
				l[(blk*n+row)*m.K+k] = Place{r, uint8(lane), s}
			}
		}
	}
	return l
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
				case m.WMMA:
					h := 16 / (lanes / 16) // rows in a lane
					reg, lane = i%h, j+16*(i/h)
					if m.C.Bits() == 16 {
						reg, shift = reg/2, reg%2*16
					}
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
