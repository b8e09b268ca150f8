package ir

import "strconv"

func itoa(n int) string { return strconv.Itoa(n) }

var typeNames = [...]string{Void: "void", S1: "s1", S32: "s32", S64: "s64", V32: "v32", V64: "v64", M: "m", T: "t", TS: "ts"}

// String returns the type's name in text form.
func (t Type) String() string { return name(typeNames[:], int(t), "type") }

// Uniform reports whether a value of type t is the same for all lanes.
func (t Type) Uniform() bool { return t == S1 || t == S32 || t == S64 || t == TS }

// Width returns the bits of a numeric type, else 0.
func (t Type) Width() int {
	switch t {
	case S32, V32:
		return 32
	case S64, V64:
		return 64
	}
	return 0
}

var kindNames = [...]string{KindNone: "none", F16: "f16", BF16: "bf16", F32: "f32", F64: "f64", I8: "i8", U8: "u8", I16: "i16",
	U16: "u16", I32: "i32", U32: "u32", I64: "i64", U64: "u64", FP8: "fp8", BF8: "bf8", I4: "i4", U4: "u4", FP4: "fp4", FP6: "fp6", BF6: "bf6"}

func (k Kind) String() string { return name(kindNames[:], int(k), "kind") }

// Bits returns the width of an element of kind k.
func (k Kind) Bits() int {
	switch k {
	case I4, U4, FP4:
		return 4
	case FP6, BF6:
		return 6
	case I8, U8, FP8, BF8:
		return 8
	case F16, BF16, I16, U16:
		return 16
	case F32, I32, U32:
		return 32
	case F64, I64, U64:
		return 64
	}
	return 0
}

// Float reports whether k is a floating-point format.
func (k Kind) Float() bool {
	return k >= F16 && k <= F64 || k == FP8 || k == BF8 || k >= FP4 && k <= BF6
}

// Signed reports whether k is a signed integer.
func (k Kind) Signed() bool { return k == I4 || k == I8 || k == I16 || k == I32 || k == I64 }

var spaceNames = [...]string{Global: "global", Flat: "flat", LDS: "lds", Scratch: "scratch", Const: "const", GDS: "gds"}

func (s Space) String() string { return name(spaceNames[:], int(s), "space") }

var predNames = [...]string{EQ: "eq", NE: "ne", ULT: "ult", ULE: "ule", UGT: "ugt", UGE: "uge", SLT: "slt", SLE: "sle", SGT: "sgt",
	SGE: "sge", FFalse: "ffalse", FLT: "flt", FEQ: "feq", FLE: "fle", FGT: "fgt", FLG: "flg", FGE: "fge", FO: "fo", FU: "fu",
	FNGE: "fnge", FNLG: "fnlg", FNGT: "fngt", FNLE: "fnle", FNEQ: "fneq", FNLT: "fnlt", FTrue: "ftrue"}

func (p Pred) String() string { return name(predNames[:], int(p), "pred") }

var atomicNames = [...]string{AtomicSwap: "swap", AtomicCmpSwap: "cmpswap", AtomicAdd: "add", AtomicSub: "sub", AtomicRSub: "rsub",
	AtomicSMin: "smin", AtomicUMin: "umin", AtomicSMax: "smax", AtomicUMax: "umax", AtomicAnd: "and", AtomicOr: "or",
	AtomicXor: "xor", AtomicInc: "inc", AtomicDec: "dec", AtomicFAdd: "fadd", AtomicFMin: "fmin", AtomicFMax: "fmax",
	AtomicPkFAdd: "pkfadd", AtomicMskOr: "mskor", AtomicCSub: "csub", AtomicCondSub: "condsub", AtomicSubClamp: "subclamp", AtomicWrap: "wrap"}

func (a AtomicOp) String() string { return name(atomicNames[:], int(a), "atomic") }

var exitNames = [...]string{ExitNone: "none", ExitEndPgm: "endpgm", ExitBarrier: "barrier", ExitSleep: "sleep", ExitTrap: "trap",
	ExitHalt: "halt", ExitMode: "mode", ExitIllegal: "illegal", ExitIndirect: "indirect", ExitFetch: "fetch", ExitFuel: "fuel",
	ExitFault: "fault", ExitMsg: "msg", ExitICache: "icache", ExitBarrierSignal: "barriersignal", ExitGWS: "gws"}

func (e Exit) String() string { return name(exitNames[:], int(e), "exit") }

var fpNames = [...]string{"flushin", "flushout", "ieee", "dx10", "ovfl", "ocp"} // bits 2 up

var roundNames = [...]string{"rne", "rup", "rdn", "rtz"}

// String lists rounding and flags: "rne+ieee".
func (f FP) String() string {
	s := roundNames[f&3]
	for i, n := range fpNames {
		if f&(FPFlushIn<<i) != 0 {
			s += "+" + n
		}
	}
	return s
}

var orderNames = [...]string{"glc", "slc", "dlc", "volatile", "return"}

// String lists the bits: "glc+return".
func (o Order) String() string {
	s := ""
	for i, n := range orderNames {
		if o&(1<<i) != 0 {
			if s != "" {
				s += "+"
			}
			s += n
		}
	}
	return s
}

func name(t []string, i int, what string) string {
	if i < len(t) && t[i] != "" {
		return t[i]
	}
	return what + itoa(i)
}
