package lift

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// matrixName takes a matrix mnemonic apart: result type, M, N, K, blocks, element types.
var matrixName = regexp.MustCompile(`^v_(mfma_scale|mfma|smfmac|wmma|swmmac)_(\w+?)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?(xf32|f16|bf16|f32|f64|i8|iu8|iu4|fp8|bf8|f8f6f4)(?:_(fp8|bf8))?(_1k)?$`)

var matrixKinds = map[string]ir.Kind{"f16": ir.F16, "bf16": ir.BF16, "f32": ir.F32, "xf32": ir.F32, "f64": ir.F64, "i8": ir.I8,
	"iu8": ir.I8, "iu4": ir.I4, "i32": ir.I32, "fp8": ir.FP8, "bf8": ir.BF8}

// shape is a parsed matrix mnemonic.
type shape struct {
	ir.Matrix
	wmma, xf32, k1 bool
}

// parseShape reads a matrix mnemonic.
func parseShape(name string) (shape, error) {
	s := shape{}
	p := matrixName.FindStringSubmatch(name)
	if p == nil {
		return s, fmt.Errorf("matrix shape of %s: %w", name, errNoMeaning)
	}
	n := func(t string) int { v, _ := strconv.Atoi(t); return v }
	s.M, s.N, s.K = n(p[3]), n(p[4]), n(p[5])
	s.wmma = strings.Contains(p[1], "wmma") || p[1] == "swmmac"
	s.Sparse = p[1] == "smfmac" || p[1] == "swmmac"
	s.A, s.C = matrixKinds[p[7]], matrixKinds[p[2]]
	s.B = s.A
	if p[8] != "" {
		s.B = matrixKinds[p[8]]
	}
	s.xf32, s.k1 = p[7] == "xf32", p[9] != ""
	if s.Blocks = n(p[6]); s.Blocks == 0 {
		s.Blocks = 1
		if !s.wmma && !s.Sparse {
			// The old spelling leaves the number of blocks to the reader: the 64 lanes hold A's elements of all blocks.
			per := map[ir.Kind]int{ir.F32: 1, ir.F64: 1, ir.F16: 4, ir.BF16: 2, ir.I8: 4}[s.A]
			if s.k1 {
				per = 4
			}
			if b := 64 * per / (s.M * s.K); b > 1 && per > 0 {
				s.Blocks = b
			}
		}
	}
	return s, nil
}

func addMatrixRules(r map[string]rule) {
	r["mfma"] = matrixRule
}

// matrixRule is MFMA and WMMA. EXEC is ignored: all lanes take part and all are written.
func matrixRule(c *ictx, _ []string) error {
	s, err := parseShape(c.op.Name)
	if err != nil {
		return err
	}
	m := s.Matrix
	m.CBSZ, m.ABID, m.BLGP = c.in.CBSZ, c.in.ABID, c.in.BLGP
	m.Neg, m.NegHi, m.Clamp = c.in.Neg, c.in.NegHi, c.in.Clamp
	m.WMMA, m.XF32 = s.wmma, s.xf32
	if m.F8F6F4 = strings.HasSuffix(c.op.Name, "_f8f6f4"); m.F8F6F4 {
		formats := [...]ir.Kind{ir.FP8, ir.BF8, ir.FP6, ir.BF6, ir.FP4}
		if m.CBSZ >= 5 || m.BLGP >= 5 {
			return fmt.Errorf("format of A or B: %w", errNoMeaning)
		}
		m.A, m.B, m.CBSZ, m.BLGP = formats[m.CBSZ], formats[m.BLGP], 0, 0
	}
	switch {
	case s.wmma && c.gen >= isa.GFX12:
		m.Gen = 12
	case s.wmma:
		m.Gen = 11
	case c.gen == isa.GFX940:
		m.Gen = 3
	case c.t.UnifiedAcc:
		m.Gen = 2
	default:
		m.Gen = 1
	}
	if len(c.src) < 3 || len(c.dst) < 1 {
		return fmt.Errorf("%w", errNoMeaning)
	}
	if m.Gen == 11 && (m.C == ir.F16 || m.C == ir.BF16) {
		m.ABID = c.in.OpSel >> 2 & 1
	}
	// Registers of C and D.
	n := m.M * m.N * m.Blocks / c.lanes
	if m.C == ir.F64 {
		n *= 2
	}
	if s.wmma && (m.C == ir.F16 || m.C == ir.BF16) && c.gen >= isa.GFX12 {
		n /= 2
	}
	tupleOf := func(o *isa.Operand, n int) ir.ID {
		d := make([]ir.ID, n)
		for k := range d {
			switch o.Kind {
			case isa.OperandConst, isa.OperandLiteral:
				// An inline constant stands for every element.
				if m.C == ir.F64 {
					d[k] = c.c32(uint32(o.Value >> (32 * (k & 1))))
				} else {
					d[k] = c.c32(uint32(o.Value))
				}
			default:
				d[k] = c.reg(o, k, true)
			}
		}
		if n == 1 {
			return c.perLane(d[0])
		}
		return c.pure(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(n)}, d...)
	}
	tuple := func(i, n int) ir.ID { return tupleOf(&c.src[i], n) }
	if s.Sparse {
		// C is in D's registers; the indices go along with A.
		if s.wmma {
			m.ABID = c.in.IndexKey
		}
		na := int(c.src[0].N)
		regs := make([]ir.ID, 0, na+1)
		for k := range na {
			regs = append(regs, c.reg(&c.src[0], k, true))
		}
		regs = append(regs, c.reg(&c.src[2], 0, true))
		a := c.pure(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(na + 1)}, regs...)
		return c.matrixOp(&m, n, a, tuple(1, int(c.src[1].N)), tupleOf(&c.dst[0], n))
	}
	words := func(k ir.Kind) int {
		per := m.M * m.K * m.Blocks / c.lanes // elements in each lane
		if s.wmma && c.gen < isa.GFX12 {
			per = m.K // both halves of the wave hold all of A
		}
		return max(1, per*k.Bits()/32)
	}
	if c.in.NY == 2 {
		sel := func(i int) uint8 { return c.in.OpSel>>i&1 | c.in.OpSelHi>>i&1<<1 }
		m.Scaled, m.ScaleA, m.ScaleB = true, sel(0), sel(1)
		var in [2]ir.ID
		for i, k := range [2]ir.Kind{m.A, m.B} {
			regs := make([]ir.ID, 0, 9)
			for j := range words(k) {
				regs = append(regs, c.reg(&c.src[i], j, true))
			}
			regs = append(regs, c.perLane(c.reg(&c.in.YSrc[i], 0, true)))
			in[i] = c.pure(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(len(regs))}, regs...)
		}
		return c.matrixOp(&m, n, in[0], in[1], tuple(2, n))
	}
	return c.matrixOp(&m, n, tuple(0, words(m.A)), tuple(1, words(m.B)), tuple(2, n))
}

// matrixOp makes the operation and writes its n registers, in all lanes.
func (c *ictx) matrixOp(m *ir.Matrix, n int, a, b, acc ir.ID) error {
	x := c.raw(ir.Value{Op: ir.OpMFMA, Type: ir.T, N: uint8(n), Kind: m.C, From: m.A, FP: c.fp(m.C), Aux: m}, a, b, acc)
	all := c.c(ir.M, ^uint64(0))
	r := vectorReg(&c.dst[0])
	for i := range n {
		c.out = append(c.out, write{kind: writeV, reg: r + i, x: c.opi(ir.OpElem, ir.V32, uint64(i), x), mask: all})
	}
	return nil
}
