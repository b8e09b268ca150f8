package lift

import (
	"errors"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// fn is one function of the expression language.
type fn struct {
	min, max int
	eval     func(c *ictx, a []val) val
}

var (
	errOperand = errors.New("operand of a kind that this instruction does not take")
	errClamp   = errors.New("clamp is not defined for this integer operation")
)

var (
	funcs     map[string]fn
	sources   map[string]node
	operators map[string]func(c *ictx, a, b val) val
	rules     map[string]rule
)

// num returns the numbers of an operation's arguments: literals take the width of the widest other argument.
func (c *ictx) num(a ...val) []ir.ID {
	wide := false
	for _, x := range a {
		wide = wide || !x.isLit && is64(c.typ(x.id))
	}
	out := c.ids(len(a))
	for i, x := range a {
		out[i] = c.materialize(x, wide)
		if t := c.typ(out[i]); t == ir.S1 || t == ir.M {
			out[i] = c.w32(of(out[i]))
		}
		if wide && !is64(c.typ(out[i])) {
			out[i] = c.w64(of(out[i]))
		}
	}
	return out
}

// kind is the number format of the first argument that has one.
func kindFrom(a []val) ir.Kind {
	for _, x := range a {
		if x.k != ir.KindNone {
			return x.k
		}
	}
	return ir.KindNone
}

// floatOf is the float format of an operation on a.
func (c *ictx) floatOf(a []val) ir.Kind {
	k := kindFrom(a)
	if isFloat(k) {
		return k
	}
	wide := false
	for _, x := range a {
		wide = wide || !x.isLit && is64(c.typ(x.id))
	}
	if wide {
		return ir.F64
	}
	if k == ir.U16 || k == ir.I16 {
		return ir.F16
	}
	return ir.F32
}

// isMask reports whether v is a mask or a truth value.
func (c *ictx) isMask(v val) bool {
	if v.isLit {
		return false
	}
	t := c.typ(v.id)
	return t == ir.M || t == ir.S1
}

func (c *ictx) not(v val) val {
	if c.isMask(v) {
		return of(c.opx(ir.OpMNot, c.typ(v.id), v.id))
	}
	return val{id: c.op2(ir.OpNot, c.num(v)...), k: v.k}
}

func (c *ictx) sub(a, b val) val {
	return val{id: c.op2(ir.OpSub, c.num(a, b)...), k: kindFrom([]val{a, b})}
}

// logic is a bitwise operator, on integers or masks.
func logic(io, mo ir.Op) func(c *ictx, a, b val) val {
	return func(c *ictx, a, b val) val {
		if c.isMask(a) || c.isMask(b) {
			t := ir.S1
			if !a.isLit && c.typ(a.id) == ir.M || !b.isLit && c.typ(b.id) == ir.M {
				t = ir.M
			}
			conv := c.truth
			if t == ir.M {
				conv = c.laneMask
			}
			return of(c.opx(mo, t, conv(a), conv(b)))
		}
		return val{id: c.op2(io, c.num(a, b)...), k: kindFrom([]val{a, b})}
	}
}

func arith(o ir.Op) func(c *ictx, a, b val) val {
	return func(c *ictx, a, b val) val {
		return val{id: c.op2(o, c.num(a, b)...), k: kindFrom([]val{a, b})}
	}
}

// shift is a shift: the count is 32 bits wide and does not widen the value.
func shift(o ir.Op) func(c *ictx, a, b val) val {
	return func(c *ictx, a, b val) val {
		x := c.materialize(a, false)
		n := c.w32(b)
		return val{id: c.opx(o, typeOf(isVec(c.typ(x)) || isVec(c.typ(n)), is64(c.typ(x))), x, n), k: a.k}
	}
}

// intFn is an integer operation whose result has the type of its arguments.
func intFn(n int, o ir.Op) fn {
	return fn{n, n, func(c *ictx, a []val) val { return val{id: c.op2(o, c.num(a...)...), k: kindFrom(a)} }}
}

// narrow refuses an operation in a saturating computation it was not made for.
func narrow(f fn) fn {
	g := f.eval
	f.eval = func(c *ictx, a []val) val {
		if c.wide {
			c.fail(errClamp)
		}
		return g(c, a)
	}
	return f
}

// predicate is the type of a comparison's result here.
func (c *ictx) predicate() ir.Type {
	if c.vec {
		return ir.M
	}
	return ir.S1
}

func cmpFn(p ir.Pred) fn {
	return fn{2, 2, func(c *ictx, a []val) val {
		if !c.vec && (p == ir.EQ || p == ir.NE) && a[1].isLit && a[1].n == 0 {
			return of(c.zeroTest(p, c.num(a[0])[0]))
		}
		return of(c.pure(ir.Value{Op: ir.OpICmp, Type: c.predicate(), Pred: p}, c.num(a...)...))
	}}
}

// zeroTest compares a scalar with 0; a scalar that stands for a lane mask is tested as a mask.
func (c *ictx) zeroTest(p ir.Pred, x ir.ID) ir.ID {
	if m, ok := c.maskView(x, 4); ok && !c.isOp(x, ir.OpConst) {
		z := c.opx(ir.OpMIsZ, ir.S1, m)
		if p == ir.NE {
			z = c.opx(ir.OpMNot, ir.S1, z)
		}
		return z
	}
	zero := c.c(c.typ(x), 0)
	return c.pure(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: p}, x, zero)
}

func fcmpFn(p ir.Pred) fn {
	return fn{2, 2, func(c *ictx, a []val) val {
		k := c.floatOf(a)
		return of(c.pure(ir.Value{Op: ir.OpFCmp, Type: c.predicate(), Kind: k, FP: c.fp(k), Pred: p}, c.num(a...)...))
	}}
}

// floatFn is a float operation in the format of its first argument.
func floatFn(n int, o ir.Op) fn {
	return fn{n, n, func(c *ictx, a []val) val { return c.float(o, c.floatOf(a), a) }}
}

// float emits a float operation of kind k.
func (c *ictx) float(o ir.Op, k ir.Kind, a []val) val {
	ids := c.ids(len(a))
	for i, x := range a {
		ids[i] = c.materialize(x, k == ir.F64)
	}
	return val{id: c.pure(ir.Value{Op: o, Type: typeOf(c.vec, k == ir.F64), Kind: k, FP: c.fp(k)}, ids...), k: k}
}

// floatWith is a float operation whose result is an integer in 32 bits.
func floatInt(o ir.Op) fn {
	return fn{1, 1, func(c *ictx, a []val) val {
		k := c.floatOf(a)
		return val{id: c.pure(ir.Value{Op: o, Type: typeOf(c.vec, false), Kind: k, FP: c.fp(k)}, a[0].id), k: ir.I32}
	}}
}

// cvtFn converts from the format of its argument.
func cvtFn(to ir.Kind) fn {
	return fn{1, 1, func(c *ictx, a []val) val { return c.convert(a[0], to) }}
}

func (c *ictx) convert(v val, to ir.Kind) val {
	x := c.materialize(v, false)
	wide := to == ir.F64 || to == ir.I64 || to == ir.U64
	return val{id: c.pure(ir.Value{Op: ir.OpCvt, Type: typeOf(c.vec, wide), Kind: to, From: v.k, FP: c.cvtFP(v.k, to)}, x), k: to}
}

// asFn changes the number format of a value without touching its bits.
func asFn(k ir.Kind) fn {
	return fn{1, 1, func(_ *ictx, a []val) val { a[0].k = k; return a[0] }}
}

// extFn extends from the low n bits, n a literal second argument.
func extFn(sign bool) fn {
	return fn{2, 2, func(c *ictx, a []val) val {
		return val{id: c.extend(c.materialize(a[0], false), a[1].n, sign), k: a[0].k}
	}}
}

// fpSource makes a node of a source operand.
func srcNode(i int) node { return func(c *ictx) val { return c.source(i) } }

func maskNode(reg int) node { return func(c *ictx) val { return of(c.mget(reg)) } }

func init() {
	operators = map[string]func(c *ictx, a, b val) val{
		"|": logic(ir.OpOr, ir.OpMOr), "^": logic(ir.OpXor, ir.OpMXor), "&": logic(ir.OpAnd, ir.OpMAnd),
		"<<": shift(ir.OpShl), ">>": shift(ir.OpLShr),
		"+": arith(ir.OpAdd), "-": arith(ir.OpSub), "*": arith(ir.OpMul),
	}
	sources = map[string]node{
		"s0": srcNode(0), "s1": srcNode(1), "s2": srcNode(2), "s3": srcNode(3),
		"d":  func(c *ictx) val { return c.old() },
		"ci": func(c *ictx) val { return of(c.carryIn()) },
		"simm": func(c *ictx) val {
			return of(c.c32(uint32(int32(int16(c.in.Raw[0])))))
		},
		"scc":    func(c *ictx) val { return of(c.getSCC()) },
		"vcc":    maskNode(isa.SRegVCCLo),
		"exec":   maskNode(isa.SRegEXECLo),
		"exec64": func(c *ictx) val { return of(c.sget64(isa.SRegEXECLo)) },
		"exec32": func(c *ictx) val { return of(c.sget(isa.SRegEXECLo)) },
		"m0":     func(c *ictx) val { return of(c.sget(isa.SRegM0)) },
		"pc":     func(c *ictx) val { return of(c.pcAt(c.next)) },
	}
	funcs = map[string]fn{
		// Integers.
		"ashr": {2, 2, func(c *ictx, a []val) val { return shift(ir.OpAShr)(c, a[0], a[1]) }},
		"umin": intFn(2, ir.OpMinU), "umax": intFn(2, ir.OpMaxU), "smin": intFn(2, ir.OpMinS), "smax": intFn(2, ir.OpMaxS),
		"abs": intFn(1, ir.OpAbs), "brev": intFn(1, ir.OpBrev),
		"mulhu": narrow(intFn(2, ir.OpMulHiU)), "mulhs": narrow(intFn(2, ir.OpMulHiS)),
		"fshr": narrow(intFn(3, ir.OpFshr)), "permb": narrow(intFn(3, ir.OpPermB)),
		"clz":    {1, 1, func(c *ictx, a []val) val { return c.count(ir.OpClz, a[0]) }},
		"ctz":    {1, 1, func(c *ictx, a []val) val { return c.count(ir.OpCtz, a[0]) }},
		"popcnt": {1, 1, func(c *ictx, a []val) val { return c.count(ir.OpPopcnt, a[0]) }},
		"mulu64": {2, 2, func(c *ictx, a []val) val { return c.mul64(ir.OpMulU64, a) }},
		"muls64": {2, 2, func(c *ictx, a []val) val { return c.mul64(ir.OpMulS64, a) }},
		"zext":   extFn(false), "sext": extFn(true),
		"zext64": {1, 1, func(c *ictx, a []val) val { return of(c.w64(a[0])) }},
		"sext64": {1, 1, func(c *ictx, a []val) val {
			x := c.w32(a[0])
			return of(c.opx(ir.OpSext64, typeOf(isVec(c.typ(x)), true), x))
		}},
		"lo":   {1, 1, func(c *ictx, a []val) val { x := c.w64(a[0]); return of(c.opx(ir.OpLo, half(c.typ(x)), x)) }},
		"hi":   {1, 1, func(c *ictx, a []val) val { x := c.w64(a[0]); return of(c.opx(ir.OpHi, half(c.typ(x)), x)) }},
		"pair": {2, 2, func(c *ictx, a []val) val { return of(c.pair(c.w32(a[0]), c.w32(a[1]))) }},
		"pack": {2, 2, func(c *ictx, a []val) val {
			lo, hi := c.extend(c.w32(a[0]), 16, false), c.op2(ir.OpShl, c.w32(a[1]), c.c32(16))
			return val{id: c.op2(ir.OpOr, lo, hi), k: ir.U32}
		}},
		"carry":  {2, 3, func(c *ictx, a []val) val { return c.carry(ir.OpCarryAdd, a) }},
		"borrow": {2, 3, func(c *ictx, a []val) val { return c.carry(ir.OpBorrow, a) }},
		"ovfadd": {2, 2, func(c *ictx, a []val) val { return of(c.opx(ir.OpOvfAdd, c.predicate(), c.num(a...)...)) }},
		"ovfsub": {2, 2, func(c *ictx, a []val) val { return of(c.opx(ir.OpOvfSub, c.predicate(), c.num(a...)...)) }},
		"sad8":   sadFn(ir.U8), "sad16": sadFn(ir.U16), "sad32": sadFn(ir.U32),
		"eq": cmpFn(ir.EQ), "ne": cmpFn(ir.NE), "ult": cmpFn(ir.ULT), "ule": cmpFn(ir.ULE), "ugt": cmpFn(ir.UGT), "uge": cmpFn(ir.UGE),
		"slt": cmpFn(ir.SLT), "sle": cmpFn(ir.SLE), "sgt": cmpFn(ir.SGT), "sge": cmpFn(ir.SGE),
		"sel":   {3, 3, func(c *ictx, a []val) val { return c.sel(a[0], a[1], a[2]) }},
		"false": {0, 0, func(c *ictx, _ []val) val { return of(c.c(c.predicate(), 0)) }},
		"true":  {0, 0, func(c *ictx, _ []val) val { return of(c.c(c.predicate(), ^uint64(0))) }},
		"bool":  {1, 1, func(c *ictx, a []val) val { return of(c.truth(a[0])) }},
		"any":   {1, 1, func(c *ictx, a []val) val { return c.not(of(c.opx(ir.OpMIsZ, ir.S1, c.laneMask(a[0])))) }},
		"int":   {1, 1, func(c *ictx, a []val) val { return of(c.w32(a[0])) }},

		// Floating point.
		"fadd": floatFn(2, ir.OpFAdd), "fsub": floatFn(2, ir.OpFSub), "fmul": floatFn(2, ir.OpFMul), "fmul_legacy": floatFn(2, ir.OpFMulLegacy),
		"fma": floatFn(3, ir.OpFMA), "fma_legacy": floatFn(3, ir.OpFMALegacy), "fmad": floatFn(3, ir.OpFMad),
		"fmin": floatFn(2, ir.OpFMin), "fmax": floatFn(2, ir.OpFMax), "fminp": floatFn(2, ir.OpFMinP), "fmaxp": floatFn(2, ir.OpFMaxP),
		"fmed3": floatFn(3, ir.OpFMed3), "fneg": floatFn(1, ir.OpFNeg), "fabs": floatFn(1, ir.OpFAbs), "fcanon": floatFn(1, ir.OpFCanon),
		"rcp": floatFn(1, ir.OpFRcp), "rcp_iflag": floatFn(1, ir.OpFRcpIFlag), "rsq": floatFn(1, ir.OpFRsq), "sqrt": floatFn(1, ir.OpFSqrt),
		"exp2": floatFn(1, ir.OpFExp2), "log2": floatFn(1, ir.OpFLog2), "sin": floatFn(1, ir.OpFSin), "cos": floatFn(1, ir.OpFCos),
		"fract": floatFn(1, ir.OpFFract), "trunc": floatFn(1, ir.OpFTrunc), "ceil": floatFn(1, ir.OpFCeil), "floor": floatFn(1, ir.OpFFloor),
		"rndne": floatFn(1, ir.OpFRndne), "frexp_mant": floatFn(1, ir.OpFMant), "frexp_exp": floatInt(ir.OpFExp),
		"ldexp": {2, 2, func(c *ictx, a []val) val {
			k := c.floatOf(a[:1])
			x, n := c.materialize(a[0], k == ir.F64), c.w32(a[1])
			return val{id: c.pure(ir.Value{Op: ir.OpFLdexp, Type: typeOf(c.vec, k == ir.F64), Kind: k, FP: c.fp(k)}, x, n), k: k}
		}},
		"fclass": {2, 2, func(c *ictx, a []val) val {
			k := c.floatOf(a[:1])
			return of(c.pure(ir.Value{Op: ir.OpFClass, Type: c.predicate(), Kind: k}, a[0].id, c.w32(a[1])))
		}},
		"div_scale": floatFn(3, ir.OpFDivScale),
		"div_scale_vcc": {3, 3, func(c *ictx, a []val) val {
			k := c.floatOf(a)
			return of(c.pure(ir.Value{Op: ir.OpFDivScaleVCC, Type: ir.M, Kind: k, FP: c.fp(k)}, c.num(a...)...))
		}},
		"div_fmas": {4, 4, func(c *ictx, a []val) val {
			k := c.floatOf(a[:3])
			ids := append(c.num(a[:3]...), c.laneMask(a[3]))
			return val{id: c.pure(ir.Value{Op: ir.OpFDivFmas, Type: typeOf(true, k == ir.F64), Kind: k, FP: c.fp(k)}, ids...), k: k}
		}},
		"div_fixup": floatFn(3, ir.OpFDivFixup),
		"trig_preop": {2, 2, func(c *ictx, a []val) val {
			return val{id: c.pure(ir.Value{Op: ir.OpFTrigPreop, Type: ir.V64, Kind: ir.F64, FP: c.fp(ir.F64)}, a[0].id, c.w32(a[1])), k: ir.F64}
		}},
		"cubeid": floatFn(3, ir.OpFCubeID), "cubesc": floatFn(3, ir.OpFCubeSC), "cubetc": floatFn(3, ir.OpFCubeTC), "cubema": floatFn(3, ir.OpFCubeMA),
		"as_f16": asFn(ir.F16), "as_bf16": asFn(ir.BF16), "as_f32": asFn(ir.F32), "as_f64": asFn(ir.F64), "as_i32": asFn(ir.I32), "as_u32": asFn(ir.U32),
		"as_i16": asFn(ir.I16), "as_u16": asFn(ir.U16), "as_u8": asFn(ir.U8), "as_fp8": asFn(ir.FP8), "as_bf8": asFn(ir.BF8),
		"to_f16": cvtFn(ir.F16), "to_bf16": cvtFn(ir.BF16), "to_f32": cvtFn(ir.F32), "to_f64": cvtFn(ir.F64), "to_i32": cvtFn(ir.I32), "to_u32": cvtFn(ir.U32),
		"to_i16": cvtFn(ir.I16), "to_u16": cvtFn(ir.U16), "to_fp8": cvtFn(ir.FP8), "to_bf8": cvtFn(ir.BF8),
		"to_u8": cvtFn(ir.U8),
		"cvt_rpi": {1, 1, func(c *ictx, a []val) val {
			return val{id: c.pure(ir.Value{Op: ir.OpCvtRpi, Type: ir.V32, Kind: ir.I32, From: ir.F32, FP: c.fp(ir.F32)}, a[0].id), k: ir.I32}
		}},
		"cvt_flr": {1, 1, func(c *ictx, a []val) val {
			return val{id: c.pure(ir.Value{Op: ir.OpCvtFlr, Type: ir.V32, Kind: ir.I32, From: ir.F32, FP: c.fp(ir.F32)}, a[0].id), k: ir.I32}
		}},
		"cvt_off4": {1, 1, func(c *ictx, a []val) val {
			return val{id: c.opx(ir.OpCvtOff4, ir.V32, a[0].id), k: ir.F32}
		}},
		"snorm16": normFn(ir.I16), "unorm16": normFn(ir.U16),
		"pkrtz": {2, 2, func(c *ictx, a []val) val {
			return val{id: c.pure(ir.Value{Op: ir.OpCvtPkRTZ, Type: typeOf(c.vec, false), Kind: ir.F16, From: ir.F32, FP: c.cvtFP(ir.F32, ir.F16)&^ir.FPRoundMask | 3}, c.num(a...)...), k: ir.U32}
		}},
		"sr_fp8": srFn(ir.FP8), "sr_bf8": srFn(ir.BF8),

		// Lane masks and lanes.
		"readlane": {2, 2, func(c *ictx, a []val) val {
			if isVec(c.typ(a[1].id)) { // nothing says which lane's number it is
				c.fail(errOperand)
				return of(c.c32(0))
			}
			n := c.op2(ir.OpAnd, c.w32(a[1]), c.c32(uint32(c.lanes-1)))
			return of(c.opx(ir.OpReadLane, ir.S32, c.fullSource(0), n))
		}},
		"readfirst": {0, 0, func(c *ictx, a []val) val { return of(c.opx(ir.OpReadFirst, ir.S32, c.fullSource(0), c.exec())) }},
		"mbcnt_lo":  {2, 2, func(c *ictx, a []val) val { return of(c.opx(ir.OpMbcntLo, ir.V32, c.num(a...)...)) }},
		"mbcnt_hi":  {2, 2, func(c *ictx, a []val) val { return of(c.opx(ir.OpMbcntHi, ir.V32, c.num(a...)...)) }},
		"mix":       {1, 1, func(c *ictx, a []val) val { return c.mixed(int(a[0].n)) }},

		"clamped": {1, 1, func(c *ictx, a []val) val { return val{id: c.floatResult(a[0].id, a[0].k, a[0].k), k: a[0].k} }},

		// Parts of registers that op_sel chooses.
		"src_byte": {1, 1, func(c *ictx, a []val) val {
			// gfx12 numbers the byte by op_sel bits 1, 0; SDWA has chosen it before on gfx940.
			sel := uint32(0)
			if c.gen >= isa.GFX12 && c.in.Fmt == isa.VOP3 {
				sel = uint32(c.in.OpSel>>1&1 | c.in.OpSel&1<<1)
			}
			return of(c.extend(c.op2(ir.OpLShr, c.w32(a[0]), c.c32(8*sel)), 8, false))
		}},
		"src_half": {1, 1, func(c *ictx, a []val) val {
			x := c.w32(a[0])
			if c.in.Fmt == isa.VOP3 && c.in.OpSel&1 != 0 {
				x = c.op2(ir.OpLShr, x, c.c32(16))
			}
			return of(x)
		}},
		// A shift amount in the third source: from gfx11 on, in the half that op_sel chooses.
		"amount": {1, 1, func(c *ictx, a []val) val {
			if c.in.Fmt == isa.VOP3 && c.gen >= isa.GFX11 && c.in.OpSel&4 != 0 {
				return of(c.op2(ir.OpLShr, c.w32(a[0]), c.c32(16)))
			}
			return a[0]
		}},
		"into_half": {1, 1, func(c *ictx, a []val) val { return c.into(a[0], uint64(c.in.OpSel>>3&1)*16, 16) }},
		"into_byte": {1, 1, func(c *ictx, a []val) val { return c.into(a[0], uint64(c.in.OpSel>>2&3)*8, 8) }},

		"dot_f16": dotFn(ir.F16), "dot_bf16": dotFn(ir.BF16), "dot_i16": dotFn(ir.I16), "dot_u16": dotFn(ir.U16),
		"dot_i8": dotFn(ir.I8), "dot_u8": dotFn(ir.U8), "dot_i4": dotFn(ir.I4), "dot_u4": dotFn(ir.U4),
		"dot_iu8": {3, 3, func(c *ictx, a []val) val {
			return c.dot(a, signOf(c.in.Neg&1, ir.I8, ir.U8), signOf(c.in.Neg>>1&1, ir.I8, ir.U8))
		}},
		"dot_iu4": {3, 3, func(c *ictx, a []val) val {
			return c.dot(a, signOf(c.in.Neg&1, ir.I4, ir.U4), signOf(c.in.Neg>>1&1, ir.I4, ir.U4))
		}},

		// Raw operands.
		"full": {1, 1, func(c *ictx, a []val) val { return of(c.fullSource(int(a[0].n))) }},
	}
	for _, k := range []struct {
		n string
		p ir.Pred
	}{{"f", ir.FFalse}, {"lt", ir.FLT}, {"eq", ir.FEQ}, {"le", ir.FLE}, {"gt", ir.FGT}, {"lg", ir.FLG}, {"ge", ir.FGE}, {"o", ir.FO}, {"u", ir.FU},
		{"nge", ir.FNGE}, {"nlg", ir.FNLG}, {"ngt", ir.FNGT}, {"nle", ir.FNLE}, {"neq", ir.FNEQ}, {"nlt", ir.FNLT}, {"tru", ir.FTrue}} {
		funcs["fcmp_"+k.n] = fcmpFn(k.p)
	}
	rules = map[string]rule{}
	addControlRules(rules)
	addMemoryRules(rules)
	addLDSRules(rules)
	addLaneRules(rules)
	addMatrixRules(rules)
	addRelativeRules(rules)
	addForkRules(rules)
	addBlockRules(rules)
	addImageRules(rules)
	addScaledRules(rules)
	scaledFns(funcs)
}

// fullSource reads source i in all lanes, without modifiers.
func (c *ictx) fullSource(i int) ir.ID {
	if i >= len(c.src) {
		c.fail(errOperand)
		return c.c32(0)
	}
	return c.reg(&c.src[i], 0, true)
}

// count is clz, ctz or popcnt: the result of a 64-bit argument is 32 bits wide.
func (c *ictx) count(o ir.Op, v val) val {
	x := c.materialize(v, false)
	r := c.op2(o, x)
	if is64(c.typ(r)) {
		r = c.opx(ir.OpLo, half(c.typ(r)), r)
	}
	return val{id: r, k: ir.U32}
}

func (c *ictx) mul64(o ir.Op, a []val) val {
	if c.wide {
		return arith(ir.OpMul)(c, a[0], a[1])
	}
	x, y := c.w32(a[0]), c.w32(a[1])
	return of(c.opx(o, typeOf(isVec(c.typ(x)) || isVec(c.typ(y)), true), x, y))
}

// carry is the carry (borrow) out of a +- b +- c.
func (c *ictx) carry(o ir.Op, a []val) val {
	if c.wide {
		r := arith(ir.OpAdd)
		if o == ir.OpBorrow {
			r = arith(ir.OpSub)
		}
		x := r(c, a[0], a[1])
		if len(a) > 2 {
			x = r(c, x, a[2])
		}
		return of(c.pure(ir.Value{Op: ir.OpICmp, Type: c.predicate(), Pred: ir.UGT}, x.id, c.c(ir.S64, 0xffffffff)))
	}
	ids := append(c.num(a[:2]...), ir.NoID)
	if len(a) > 2 {
		if c.vec {
			ids[2] = c.laneMask(a[2])
		} else {
			ids[2] = c.truth(a[2])
		}
	}
	return of(c.opx(o, c.predicate(), ids...))
}

// sel is cond ? a : b.
func (c *ictx) sel(cond, a, b val) val {
	ids := c.num(a, b)
	m := ir.NoID
	if c.vec {
		m = c.laneMask(cond)
	} else {
		m = c.truth(cond)
	}
	t := c.same(ids...)
	if c.typ(m) == ir.M {
		t = typeOf(true, is64(t))
	}
	return val{id: c.opx(ir.OpSelect, t, m, ids[0], ids[1]), k: kindFrom([]val{a, b})}
}

func sadFn(k ir.Kind) fn {
	return narrow(fn{3, 3, func(c *ictx, a []val) val {
		ids := c.num(a...)
		return val{id: c.pure(ir.Value{Op: ir.OpSad, Type: c.same(ids...), Kind: k}, ids...), k: ir.U32}
	}})
}

func normFn(k ir.Kind) fn {
	return fn{1, 1, func(c *ictx, a []val) val {
		return val{id: c.pure(ir.Value{Op: ir.OpCvtNorm, Type: ir.V32, Kind: k, From: a[0].k, FP: c.cvtFP(a[0].k, k)}, a[0].id), k: ir.U16}
	}}
}

func srFn(k ir.Kind) fn {
	return fn{2, 2, func(c *ictx, a []val) val {
		return val{id: c.pure(ir.Value{Op: ir.OpCvtSR, Type: ir.V32, Kind: k, From: ir.F32, FP: c.cvtFP(ir.F32, k)}, a[0].id, c.w32(a[1])), k: k}
	}}
}

// into puts the low n bits of v into the old destination at bit pos.
func (c *ictx) into(v val, pos, n uint64) val {
	m := uint32(1<<n-1) << pos
	old := c.reg(&c.dst[0], 0, false)
	x := c.op2(ir.OpShl, c.extend(c.w32(v), n, false), c.c32(uint32(pos)))
	return val{id: c.op2(ir.OpOr, c.op2(ir.OpAnd, old, c.c32(^m)), x), k: ir.U32}
}

func signOf(neg uint8, s, u ir.Kind) ir.Kind {
	if neg != 0 {
		return s
	}
	return u
}

func dotFn(k ir.Kind) fn {
	return fn{3, 3, func(c *ictx, a []val) val { return c.dot(a, k, k) }}
}

// dot is a dot product of the elements of two registers, plus the third argument.
func (c *ictx) dot(a []val, from, kind ir.Kind) val {
	v := ir.Value{Op: ir.OpDot, Type: ir.V32, From: from, Kind: kind, FP: c.fp(ir.F32)}
	rk := ir.I32
	if isFloat(from) {
		rk = ir.F32
	} else if c.in.Clamp {
		v.Imm = 1
		if kind == ir.U16 || kind == ir.U8 || kind == ir.U4 {
			rk = ir.U32
		}
	}
	x, y := c.w32(a[0]), c.w32(a[1])
	if c.in.Fmt == isa.VOP3P && isFloat(from) {
		x, y = c.dotSource(x, 0, from), c.dotSource(y, 1, from)
	}
	z := c.w32(a[2])
	if c.in.Fmt == isa.VOP3P && isFloat(from) {
		if c.in.NegHi>>2&1 != 0 {
			z = c.pure(ir.Value{Op: ir.OpFAbs, Type: ir.V32, Kind: ir.F32}, z)
		}
		if c.in.Neg>>2&1 != 0 {
			z = c.pure(ir.Value{Op: ir.OpFNeg, Type: ir.V32, Kind: ir.F32}, z)
		}
	}
	return val{id: c.pure(v, x, y, z), k: rk}
}

// dotSource applies op_sel and neg to the halves of a source.
func (c *ictx) dotSource(x ir.ID, i int, k ir.Kind) ir.ID {
	lo, hi := c.in.OpSel>>i&1, c.in.OpSelHi>>i&1
	nl, nh := c.in.Neg>>i&1, c.in.NegHi>>i&1
	if lo == 0 && hi == 1 && nl == 0 && nh == 0 {
		return x
	}
	part := func(sel, neg uint8) ir.ID {
		h := c.extend(x, 16, false)
		if sel == 1 {
			h = c.op2(ir.OpLShr, x, c.c32(16))
		}
		if neg == 1 {
			h = c.op2(ir.OpXor, h, c.c32(0x8000))
		}
		return h
	}
	return c.op2(ir.OpOr, part(lo, nl), c.op2(ir.OpShl, part(hi, nh), c.c32(16)))
}
