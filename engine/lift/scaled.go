package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// The conversions of gfx950 from and to numbers of 8, 6 and 4 bits that share a scale (CDNA4 manual, V_CVT_SCALEF32_*): of the f32 that is
// the scale, only the exponent counts, as a power of two from 2^-127 on; 255 stands for NaN. Scaling is exact here, in f64, so a
// conversion rounds once. Results round to nearest even whatever MODE says.
//
// fidelity: approximate isa-scalef32: a scale whose exponent is 255 makes every result a NaN; the manual does not say

// scaled is v in f64, times (or divided by) the power of two that s stands for.
func (c *ictx) scaled(v, s val, divide bool) val {
	x := v.id
	if v.k != ir.F64 {
		x = c.pure(ir.Value{Op: ir.OpCvt, Type: ir.V64, Kind: ir.F64, From: v.k, FP: c.fp(v.k) & ir.FPOCP}, x)
	}
	e := c.extend(c.op2(ir.OpLShr, c.w32(s), c.c32(23)), 8, false)
	n := c.op2(ir.OpSub, e, c.c32(127))
	if divide {
		n = c.op2(ir.OpSub, c.c32(127), e)
	}
	x = c.pure(ir.Value{Op: ir.OpFLdexp, Type: ir.V64, Kind: ir.F64}, x, n)
	nan := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.EQ}, c.perLane(e), c.c32(255))
	return val{id: c.opx(ir.OpSelect, ir.V64, nan, c.c(ir.V64, 0x7ff8000000000000), x), k: ir.F64}
}

// nearest converts with rounding to nearest even.
func (c *ictx) nearest(v val, to ir.Kind) val {
	fp := c.cvtFP(v.k, to) &^ ir.FPRoundMask
	return val{id: c.pure(ir.Value{Op: ir.OpCvt, Type: ir.V32, Kind: to, From: v.k, FP: fp}, v.id), k: to}
}

// random is the next number of v_prng_b32's sequence.
func (c *ictx) random(x ir.ID) ir.ID {
	top := c.op2(ir.OpAShr, x, c.c32(31))
	return c.op2(ir.OpXor, c.op2(ir.OpShl, x, c.c32(1)), c.op2(ir.OpAnd, top, c.c32(197)))
}

// stochastic converts with rounding by the random number.
func (c *ictx) stochastic(v val, to ir.Kind, random ir.ID) val {
	return val{id: c.pure(ir.Value{Op: ir.OpCvtSR, Type: ir.V32, Kind: to, From: v.k, FP: c.cvtFP(v.k, to)}, v.id, random), k: to}
}

func scaledFns(f map[string]fn) {
	f["scaled"] = fn{2, 2, func(c *ictx, a []val) val { return c.scaled(a[0], a[1], false) }}
	f["unscaled"] = fn{2, 2, func(c *ictx, a []val) val { return c.scaled(a[0], a[1], true) }}
	f["prng"] = fn{1, 1, func(c *ictx, a []val) val { return of(c.random(c.w32(a[0]))) }}
	for n, k := range map[string]ir.Kind{"f32": ir.F32, "f16": ir.F16, "bf16": ir.BF16, "fp8": ir.FP8, "bf8": ir.BF8, "fp4": ir.FP4} {
		f["rne_"+n] = fn{1, 1, func(c *ictx, a []val) val { return c.nearest(a[0], k) }}
		f["srnd_"+n] = fn{2, 2, func(c *ictx, a []val) val { return c.stochastic(a[0], k, c.w32(a[1])) }}
	}
	f["as_fp4"] = asFn(ir.FP4)
	// op_byte is the byte of source 0 that op_sel[1:0] chooses; dword(i, k) is dword k of source i as it is.
	f["op_byte"] = fn{0, 0, func(c *ictx, _ []val) val {
		return of(c.extend(c.op2(ir.OpLShr, c.reg(&c.src[0], 0, false), c.c32(8*uint32(c.in.OpSel&3))), 8, false))
	}}
	f["dword"] = fn{2, 2, func(c *ictx, a []val) val {
		if int(a[0].n) >= len(c.src) {
			c.fail(errOperand)
			return of(c.c32(0))
		}
		return of(c.reg(&c.src[a[0].n], int(a[1].n), false))
	}}
	f["bitop3"] = fn{3, 3, func(c *ictx, a []val) val { return val{id: c.bitop3(c.num(a...)), k: ir.U32} }}
}

var packKinds = map[string]ir.Kind{"f32": ir.F32, "f16": ir.F16, "bf16": ir.BF16, "fp6": ir.FP6, "bf6": ir.BF6}

// addScaledRules adds the conversions of 32 numbers at once: `@pk32 TO FROM [sr|two]`.
func addScaledRules(r map[string]rule) {
	r["pk32"] = func(c *ictx, args []string) error {
		to, from := packKinds[args[0]], packKinds[args[1]]
		how := ""
		if len(args) > 2 {
			how = args[2]
		}
		if len(c.src) < 2 || len(c.dst) < 1 {
			return errOperand
		}
		scale := of(c.reg(&c.src[len(c.src)-1], 0, false))
		random := ir.NoID
		if how == "sr" {
			random = c.perLane(c.reg(&c.src[1], 0, false))
		}
		width, out := to.Bits(), absent(to.Bits())
		for i := range 32 {
			o, k := &c.src[0], i
			if how == "two" { // the numbers of two sources alternate
				o, k = &c.src[i&1], i/2
			}
			x := c.scaled(val{id: c.bitsAt(o, k*from.Bits(), from.Bits()), k: from}, scale, to == ir.FP6 || to == ir.BF6)
			y := ir.NoID
			if random != ir.NoID {
				y = c.stochastic(x, to, random).id
				random = c.random(random)
			} else {
				y = c.nearest(x, to).id
			}
			at, shift := i*width/32, i*width%32
			put := func(at int, v ir.ID) {
				if out[at] == ir.NoID {
					out[at] = v
				} else {
					out[at] = c.op2(ir.OpOr, out[at], v)
				}
			}
			put(at, c.op2(ir.OpShl, y, c.c32(uint32(shift))))
			if shift+width > 32 {
				put(at+1, c.op2(ir.OpLShr, y, c.c32(uint32(32-shift))))
			}
		}
		c.setRegs(&c.dst[0], 0, out)
		return nil
	}
	r["permlane_swap"] = permlaneSwap
	r["ds_transpose"] = transposeRule
}

// absent is n values that are not there.
func absent(n int) []ir.ID {
	l := make([]ir.ID, n)
	for i := range l {
		l[i] = ir.NoID
	}
	return l
}

// bitsAt reads n bits of operand o's registers from bit pos on.
func (c *ictx) bitsAt(o *isa.Operand, pos, n int) ir.ID {
	x := c.perLane(c.reg(o, pos/32, false))
	if s := pos % 32; s != 0 {
		x = c.op2(ir.OpLShr, x, c.c32(uint32(s)))
		if s+n > 32 {
			x = c.op2(ir.OpOr, x, c.op2(ir.OpShl, c.reg(o, pos/32+1, false), c.c32(uint32(32-s))))
		}
	}
	if n == 32 {
		return x
	}
	return c.extend(x, uint64(n), false)
}

// bitop3 is the function of three inputs whose truth table the instruction has: bit 4*a+2*b+c of it.
func (c *ictx) bitop3(s []ir.ID) ir.ID {
	var of func(s []ir.ID, table uint32) ir.ID
	of = func(s []ir.ID, table uint32) ir.ID {
		n := uint32(1) << (len(s) - 1) // rows for each value of the first input
		all := uint32(1)<<(2*n) - 1
		switch {
		case table&all == 0:
			return c.c32(0)
		case table&all == all:
			return c.c32(^uint32(0))
		}
		lo, hi := table&(1<<n-1), table>>n&(1<<n-1)
		switch {
		case lo == hi:
			return of(s[1:], lo)
		case len(s) == 1 && hi == 1:
			return s[0]
		case len(s) == 1:
			return c.op2(ir.OpNot, s[0])
		}
		x := c.op2(ir.OpAnd, s[0], of(s[1:], hi))
		y := c.op2(ir.OpAnd, c.op2(ir.OpNot, s[0]), of(s[1:], lo))
		return c.op2(ir.OpOr, x, y)
	}
	return of(s, uint32(c.in.Bitop3))
}

// permlaneSwap exchanges the odd rows (the upper half) of the first register with the even rows (the lower half) of the second. Lanes that
// are not active keep what they have; what comes from one is 0 with BOUND_CTRL, its value with FI, else the lane keeps its own.
func permlaneSwap(c *ictx, args []string) error {
	d, s := &c.dst[0], &c.src[0]
	if d.Kind != isa.OperandVGPR || s.Kind != isa.OperandVGPR {
		return errOperand
	}
	n := 16
	if args[0] == "32" {
		n = 32
	}
	var lane [64]int8
	upper := uint64(0)
	for l := range lane {
		lane[l] = int8(l ^ n)
		if l&n != 0 {
			upper |= 1 << l
		}
	}
	exec := c.exec()
	other := func(o *isa.Operand) ir.ID {
		return c.raw(ir.Value{Op: ir.OpPermConst, Type: ir.V32, Aux: &lane}, c.reg(o, 0, true))
	}
	from := c.raw(ir.Value{Op: ir.OpMPerm, Type: ir.M, Aux: &lane}, exec)
	move := func(to int, x ir.ID, lanes uint64) {
		mask := c.opx(ir.OpMAnd, ir.M, c.mask, c.c(ir.M, lanes))
		switch {
		case c.in.FI:
		case c.in.BoundCtrl:
			x = c.opx(ir.OpSelect, ir.V32, from, x, c.c32(0))
		default:
			mask = c.opx(ir.OpMAnd, ir.M, mask, from)
		}
		c.out = append(c.out, write{kind: writeV, reg: to, x: x, mask: mask})
	}
	x, y := other(s), other(d)
	move(int(d.Reg), x, upper)
	move(int(s.Reg), y, ^upper)
	return nil
}

// transposeRule is ds_read_b64_tr_* : sixteen lanes read a matrix whose rows follow each other, sixteen elements a row, and each gets a
// column of it. EXEC should be all ones, says the manual (CDNA4, "MFMA Transpose Load from LDS"); lanes that are not active are not read.
func transposeRule(c *ictx, args []string) error {
	o := c.dataOperand(true)
	if o == nil {
		return errOperand
	}
	width := map[string]int{"b16": 16, "b8": 8, "b6": 6, "b4": 4}[args[0]]
	bytes := 8
	if width == 6 {
		bytes = 12
	}
	raw := c.load(c.ldsAddress(c.ldsOffset()), bytes, false)
	for i, x := range raw {
		raw[i] = c.perLane(x)
	}
	in := c.opx(ir.OpAnd, ir.V32, c.opx(ir.OpLaneID, ir.V32), c.c32(15)) // the column
	each := 8 * bytes / width                                            // elements of a lane, and rows
	pos := c.op2(ir.OpMul, c.op2(ir.OpAnd, in, c.c32(uint32(each-1))), c.c32(uint32(width)))
	word := c.op2(ir.OpLShr, pos, c.c32(5))
	shift := c.op2(ir.OpAnd, pos, c.c32(31))
	out := absent(len(raw))
	for k := range each {
		var lane [64]int8
		for l := range lane {
			lane[l] = int8(l&^15 + k*16/each + l&15/each)
		}
		// The element is at the same place in every row, so the dword is chosen after lanes are exchanged.
		var d [3]ir.ID
		for i, x := range raw {
			d[i] = c.raw(ir.Value{Op: ir.OpPermConst, Type: ir.V32, Aux: &lane}, x)
		}
		lo, hi := d[0], d[1]
		for i := 1; i < len(raw); i++ {
			at := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.EQ}, word, c.c32(uint32(i)))
			lo = c.opx(ir.OpSelect, ir.V32, at, d[i], lo)
			if i+1 < len(raw) {
				hi = c.opx(ir.OpSelect, ir.V32, at, d[i+1], hi)
			}
		}
		x := c.op2(ir.OpLShr, lo, shift)
		if width == 6 {
			x = c.opx(ir.OpFshr, ir.V32, hi, lo, shift)
		}
		x = c.extend(x, uint64(width), false)
		at, s := k*width/32, k*width%32
		y := c.op2(ir.OpShl, x, c.c32(uint32(s)))
		if out[at] == ir.NoID {
			out[at] = y
		} else {
			out[at] = c.op2(ir.OpOr, out[at], y)
		}
		if s+width > 32 {
			out[at+1] = c.op2(ir.OpLShr, x, c.c32(uint32(32-s)))
		}
	}
	c.setRegs(o, 0, out)
	return nil
}
