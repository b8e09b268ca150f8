package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// gfx12's loads and stores of register blocks and of transposed matrices.
//
// A block is 32 consecutive registers; bit i of M0 says whether register i, and the dword 4*i bytes from the address on, takes
// part (RDNA 4 manual, "GLOBAL_LOAD_BLOCK").
//
// A transposing load reads a 16x16 matrix of which each lane names the address of eight elements, and gives each lane
// elements of eight different lanes, so that rows become columns in the layout that WMMA takes (RDNA 4 manual, "WMMA Matrix
// Load Ops with Transpose"). The manual does not say from which lanes: the two permutations are as others have measured them on
// a gfx1201. 16-bit elements: lane l's element j is element l%8 of lane l/8*8 + j, an 8x8 transposition in each group of
// eight lanes. 8-bit elements: element l%8 of lane l/16*16 + j/4*8 + l/8%2*4 + j%4.
//
//fidelity: refused isa-load-tr-wave64: global_load_tr_* in wave64: how the matrix lies in the lanes is not published

func addBlockRules(r map[string]rule) {
	r["load_block"] = placed(func(c *ictx, a address, _ []string) error {
		o := c.need(c.dataOperand(true))
		for i := range 32 {
			at := c.piece(a, 4*i, 4)
			at.mask = c.blockMask(i)
			x := c.load(at, 4, false)[0]
			c.out = append(c.out, write{kind: writeV, reg: int(o.Reg) + i, x: x, mask: at.mask})
		}
		return nil
	})
	r["store_block"] = placed(func(c *ictx, a address, _ []string) error {
		o := c.need(c.dataOperand(false))
		for i := range 32 {
			at := c.piece(a, 4*i, 4)
			at.mask = c.blockMask(i)
			c.store1(at, 4, c.regs(o, i, 1))
		}
		return nil
	})
	r["load_tr"] = placed(func(c *ictx, a address, args []string) error {
		if c.lanes != 32 {
			return errLoadTr
		}
		o := c.need(c.dataOperand(true))
		bits := 8
		if args[0] == "b16" {
			bits = 16
		}
		c.setRegs(o, 0, c.transposed(c.load(a, bits, false), bits))
		return nil
	})
}

// blockMask is the lanes of EXEC when bit i of M0 is set, else none.
func (c *ictx) blockMask(i int) ir.ID {
	t := c.maskScalar()
	bit := c.opx(ir.OpSToB, ir.S1, c.opx(ir.OpAnd, ir.S32, c.sget(isa.SRegM0), c.c32(1<<i)))
	on := c.opx(ir.OpSToM, ir.M, c.opx(ir.OpSelect, t, bit, c.c(t, ^uint64(0)), c.c(t, 0)))
	return c.opx(ir.OpMAnd, ir.M, c.mask, on)
}

// transposed gives each lane of wave32 its eight elements of bits bits from the registers that all lanes have read.
func (c *ictx) transposed(read []ir.ID, bits int) []ir.ID {
	out := make([]ir.ID, len(read))
	per := 32 / bits // elements in a register
	lane := c.opx(ir.OpLaneID, ir.V32)
	column := c.op2(ir.OpAnd, lane, c.c32(7)) // which element of the source lane
	shift := c.op2(ir.OpMul, c.op2(ir.OpAnd, column, c.c32(uint32(per-1))), c.c32(uint32(bits)))
	for j := range 8 {
		var from [64]int8
		for l := range from {
			if bits == 16 {
				from[l] = int8(l&31/8*8 + j)
			} else {
				from[l] = int8(l&31/16*16 + j/4*8 + l/8%2*4 + j%4)
			}
		}
		x := ir.NoID
		for k, reg := range read { // the register that the lane's element is in
			y := c.raw(ir.Value{Op: ir.OpPermConst, Type: ir.V32, Aux: &from}, reg)
			if x == ir.NoID {
				x = y
				continue
			}
			here := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.UGE}, column, c.c32(uint32(k*per)))
			x = c.opx(ir.OpSelect, ir.V32, here, y, x)
		}
		x = c.extend(c.op2(ir.OpLShr, x, shift), uint64(bits), false)
		if at := j % per; at != 0 {
			x = c.op2(ir.OpOr, out[j/per], c.op2(ir.OpShl, x, c.c32(uint32(bits*at))))
		}
		out[j/per] = x
	}
	return out
}
