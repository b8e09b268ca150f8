package ir

// Op is an operation. Each has one line in opTable with its arguments and result.
type Op uint8

const (
	OpInvalid Op = iota

	// Values from nothing.
	OpConst  // S1/S32/S64/M: Imm; V32/V64: Imm in every lane
	OpPC     // S64: Func.PC + int32(Imm)
	OpLaneID // V32: 0, 1, 2, ...
	OpUndef  // any: unspecified but fixed bits (an engine may use 0)

	// Architectural state. Imm is the canonical SGPR number (isa.SReg*), or the VGPR number; AccVGPR n is 256+n.
	OpSGet   // S32
	OpSGet64 // S64: Imm, Imm+1
	OpSSet   // (S32)
	OpSSet64 // (S64)
	OpVGet   // V32
	OpVSet   // (V32, M): lanes outside the mask keep their value
	OpMGet   // M: SGPR pair (wave64) or single (wave32)
	OpMSet   // (M)
	OpHWGet  // S32: hardware register Imm (hwreg id) that is not kept in SGPRs; asks the wave's Env
	OpHWSet  // (S32)
	OpTime   // S64: Imm 0 s_memtime, 1 s_memrealtime, 2 shader cycles
	OpMsg    // (S32 m0): s_sendmsg Imm; side effect through the wave's Env
	OpMsgRtn // S64: s_sendmsg_rtn Imm

	// Reshaping.
	OpSplat // V32(S32), V64(S64); vector ops also take S operands directly, each standing for its splat
	OpPair  // S64(S32 lo, S32 hi), V64(V32, V32)
	OpLo    // S32(S64), V32(V64)
	OpHi    //
	OpTuple // T(V32...), TS(S32...)
	OpElem  // V32(T) or S32(TS): element Imm
	OpZext  // same type, keep the low Imm bits
	OpSext  // same type, sign-extend from the low Imm bits
	OpMToS  // S64(M) in wave64, S32(M) in wave32
	OpSToM  // M(S64 or S32)
	OpBToS  // S32(S1): 0 or 1
	OpSToB  // S1(S32 or S64): != 0
	OpMToV  // V32(M): 0 or 1 in each lane
	OpZext64
	OpSext64 // S64(S32), V64(V32)

	// Integer, on S32, S64, V32, V64 (result type = argument type). Shift counts are taken modulo the width.
	OpAdd
	OpSub
	OpMul
	OpMulHiU
	OpMulHiS
	OpMulU64 // 64(32, 32): full product, unsigned
	OpMulS64
	OpAnd
	OpOr
	OpXor
	OpNot
	OpShl  // count is 32 bits wide also for 64-bit values
	OpLShr //
	OpAShr //
	OpMinU
	OpMaxU
	OpMinS
	OpMaxS
	OpAbs
	OpClz // all-ones when the value is 0
	OpCtz // all-ones when the value is 0
	OpPopcnt
	OpBrev
	OpFshr     // low 32 bits of (a<<32 | b) >> (c&31)
	OpPermB    // v_perm_b32(a, b, sel)
	OpCarryAdd // carry of a+b+c: (x, x, cin) -> S1 or M; cin may be NoID
	OpBorrow   // borrow of a-b-c
	OpOvfAdd   // signed overflow of a+b: S1 or M
	OpOvfSub   //
	OpAddSatU  // Kind gives the width inside V32: U8? U16 or U32
	OpSubSatU
	OpAddSatS
	OpSubSatS
	OpICmp   // (x, x) by Pred -> S1 or M
	OpSelect // (S1 or M, x, x)
	OpSad    // Kind U8/U16/U32: sum of absolute differences (a, b) + c
	OpDot    // (a, b, c): sum of products of the elements of a and b, plus c. From = kind of a's elements, Kind = kind of b's elements (I8, U8, I4, U4, I16, U16, F16, BF16); Imm bit 0: clamp

	// Logic on lane masks and truth values (M or S1).
	OpMAnd
	OpMOr
	OpMXor
	OpMNot  // within the lane count
	OpMIsZ  // S1(M)
	OpMFull // S1(M): all lanes

	// Floating point: Kind F16, BF16, F32 on V32/S32, F64 on V64/S64; FP is the environment.
	OpFAdd
	OpFSub
	OpFMul
	OpFMulLegacy // 0 * anything = 0
	OpFMA
	OpFMALegacy
	OpFMad  // two roundings; flushes denormals whatever MODE says
	OpFMin  // minNum by FPIEEE (v_min_*)
	OpFMax  //
	OpFMinP // minimum: NaN propagates, -0 < +0 (v_minimum_*)
	OpFMaxP
	OpFMed3
	OpFNeg
	OpFAbs
	OpFClamp // to [0, 1], NaN by FPDX10
	OpFCanon // flush and quiet
	OpFOmod  // Imm: 1 *2, 2 *4, 3 /2, with the flush and -0 rule of output modifiers
	OpFRcp   //
	OpFRcpIFlag
	OpFRsq         //
	OpFSqrt        //
	OpFExp2        //
	OpFLog2        //
	OpFSin         // of turns
	OpFCos         //
	OpFFract       //
	OpFTrunc       //
	OpFCeil        //
	OpFFloor       //
	OpFRndne       //
	OpFLdexp       // (x, V32 exponent)
	OpFMant        // frexp_mant
	OpFExp         // frexp_exp: V32 integer (for F16: sign-extended to 32 bits)
	OpFClass       // (x, V32 class mask) -> M/S1
	OpFCmp         // (x, x) by Pred -> M/S1
	OpFDivScale    // (src0, src1 denominator, src2 numerator) -> x
	OpFDivScaleVCC // same arguments -> M
	OpFDivFmas     // (a, b, c, M)
	OpFDivFixup    // (quotient, denominator, numerator)
	OpFTrigPreop   // (f64, V32 segment)
	OpFCubeID
	OpFCubeSC
	OpFCubeTC
	OpFCubeMA
	OpCvt      // From -> Kind, saturating and NaN -> 0 for integers; rounding by FP for float results, toward zero for integers
	OpCvtRpi   // F32 -> I32: floor(x + 0.5)
	OpCvtFlr   // F32 -> I32: floor
	OpCvtNorm  // F16/F32 (From) -> I16/U16 (Kind) normalised
	OpCvtPkRTZ // V32 of two F16 (F32, F32), toward zero
	OpCvtSR    // (x, V32 random): stochastic rounding From -> Kind
	OpCvtOff4  // v_cvt_off_f32_i4

	// Across lanes.
	OpReadLane  // S32(V32, S32 lane modulo lanes)
	OpReadFirst // S32(V32, M): first active lane, lane 0 when none
	OpWriteLane // V32(V32 old, S32 value, S32 lane)
	OpPermConst // V32(V32): Aux *[64]int8 source lanes; -1 gives 0
	OpMPerm     // M(M): Aux likewise; -1 gives 0
	OpBPermute  // V32(V32 data, V32 lane index modulo lanes, M active): inactive source gives 0
	OpPermute   // V32(V32 data, V32 lane index, M active): push; highest lane wins, unwritten 0
	OpMbcntLo   // V32(S32 mask or V32 mask, V32 add)
	OpMbcntHi   //

	// Memory. Args: [base, off, mask, data, data2]; absent ones are NoID. The address of lane l is
	// base (S64, or S32 for Scratch/LDS/Const offsets) + off (V32: unsigned unless Sign64 in Imm's bit 63; or V64) + int32(Imm).
	OpLoad   // -> V32, V64 or T; lanes outside the mask read 0
	OpStore  //
	OpAtomic // -> V32 or V64 old value (Type Void when not wanted)
	OpSLoad  // [base S64, off S32 or NoID] -> S32, S64 or TS; address low 2 bits ignored when Width is 4 or more
	OpSStore // [base, off, data]
	OpSAtomic
	OpBufAddr // [TS(4) descriptor, vindex V32, voffset V32, soffset S32] -> V64: address by the buffer rules; Imm = byte offset | flags
	OpBufOK   // same arguments -> M: lanes in bounds for an access of Width bytes
	OpImage   // [TS(8) resource, TS(4) sampler, T address, M, T data] -> T, or Void for stores: Aux *Image
	OpFormat  // [TS(4) buffer, S32 soffset, T(2) index and offset, M, T data] -> likewise: a buffer access with conversion
	OpFence   // ordering mark (waitcnt, cache writeback/invalidate); Imm for the trace

	// Matrix.
	OpMFMA // T(T a, T b, T c): Aux *Matrix

	NumOps
)

// Matrix describes an MFMA or WMMA.
type Matrix struct {
	M, N, K, Blocks int
	A, B, C         Kind  // element kinds; C is also the result's
	CBSZ, ABID      uint8 // ABID of WMMA: the index key of a sparse one; on gfx11 the half of the registers that 16-bit C and D are in
	BLGP            uint8
	WMMA            bool  // gfx11/gfx12 lane layout
	Gen             uint8 // numerics: 1 CDNA1, 2 CDNA2, 3 CDNA3, 11, 12
	Neg             uint8 // WMMA neg modifiers a, b, c
	NegHi           uint8
	Sparse          bool
	Clamp           bool
	XF32            bool // A and B are f32 cut to ten fraction bits
	F8F6F4          bool // 32 elements of 8, 6 or 4 bits in a lane; A and B may differ
	// Scaled: the last registers of A and of B hold exponents, of which byte ScaleA (ScaleB) is that of 32 elements: a lane's is of
	// its row and, lanes counted in groups of M (N), of the group's run of k.
	Scaled         bool
	ScaleA, ScaleB uint8
}

// BufAddr flags in Imm's high half; the low 32 bits are the byte offset.
const (
	BufIdxEn uint64 = 1 << (32 + iota)
	BufOffEn
	BufGFX10 // bounds by OOB_SELECT (gfx10+), else by the gfx9 rule
	BufGFX11
	BufGFX12
)

// OffSigned in a memory op's Imm (bit 63) says that a V32 off is sign-extended, not zero-extended. The low 32 bits of
// Imm are the signed byte offset.
const OffSigned uint64 = 1 << 63
