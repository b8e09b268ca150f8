#include "textflag.h"

// Loops over eight lanes at a time with AVX2 and FMA. n is 32 or 64. The macros come first: go vet checks argument names
// against the function above a line.

#define LOAD4 \
	MOVQ d+0(FP), DI \
	MOVQ a+8(FP), SI \
	MOVQ b+16(FP), DX \
	MOVQ n+32(FP), CX \
	XORQ AX, AX \
	SHLQ $2, CX

// BIN is d = OP(a, b).
#define BIN(OP) \
	LOAD4 \
loop: \
	VMOVDQU (SI)(AX*1), Y0 \
	VMOVDQU 32(SI)(AX*1), Y1 \
	OP (DX)(AX*1), Y0, Y0 \
	OP 32(DX)(AX*1), Y1, Y1 \
	VMOVDQU Y0, (DI)(AX*1) \
	VMOVDQU Y1, 32(DI)(AX*1) \
	ADDQ $64, AX \
	CMPQ AX, CX \
	JLT loop \
	VZEROUPPER \
	RET

// SHIFT is d = OP(a, b & 31).
#define SHIFT(OP) \
	LOAD4 \
	MOVL $31, BX \
	MOVD BX, X2 \
	VPBROADCASTD X2, Y2 \
loop: \
	VMOVDQU (SI)(AX*1), Y0 \
	VPAND (DX)(AX*1), Y2, Y1 \
	OP Y1, Y0, Y0 \
	VMOVDQU Y0, (DI)(AX*1) \
	ADDQ $32, AX \
	CMPQ AX, CX \
	JLT loop \
	VZEROUPPER \
	RET

// FBIN is d = OP(a, b) in f32 from lane `from` on. It stops before eight lanes of which one gives a NaN, and returns the
// first of them.
#define FBIN(OP) \
	MOVQ d+0(FP), DI \
	MOVQ a+8(FP), SI \
	MOVQ b+16(FP), DX \
	MOVQ from+24(FP), AX \
	MOVQ n+32(FP), CX \
	SHLQ $2, AX \
	SHLQ $2, CX \
loop: \
	VMOVUPS (SI)(AX*1), Y0 \
	OP (DX)(AX*1), Y0, Y0 \
	VCMPPS $3, Y0, Y0, Y1 \
	VMOVMSKPS Y1, BX \
	TESTL BX, BX \
	JNZ out \
	VMOVUPS Y0, (DI)(AX*1) \
	ADDQ $32, AX \
	CMPQ AX, CX \
	JLT loop \
out: \
	SHRQ $2, AX \
	MOVQ AX, ret+40(FP) \
	VZEROUPPER \
	RET

// CMP is a mask of OP(x, y) in eight lanes a step.
#define CMP(OP, X, Y) \
	MOVQ a+0(FP), SI \
	MOVQ b+8(FP), DX \
	MOVQ n+16(FP), CX \
	XORQ AX, AX \
	XORQ R8, R8 \
loop: \
	VMOVDQU (X)(AX*4), Y0 \
	OP (Y)(AX*4), Y0, Y0 \
	VMOVMSKPS Y0, BX \
	MOVQ AX, R9 \
	SHLXQ R9, BX, BX \
	ORQ BX, R8 \
	ADDQ $8, AX \
	CMPQ AX, CX \
	JLT loop \
	MOVQ R8, ret+24(FP) \
	VZEROUPPER \
	RET

// Unsigned comparisons: x >= y where max(x, y) == x.
#define CMPU(X, Y) \
	MOVQ a+0(FP), SI \
	MOVQ b+8(FP), DX \
	MOVQ n+16(FP), CX \
	XORQ AX, AX \
	XORQ R8, R8 \
loop: \
	VMOVDQU (X)(AX*4), Y0 \
	VPMAXUD (Y)(AX*4), Y0, Y1 \
	VPCMPEQD Y1, Y0, Y0 \
	VMOVMSKPS Y0, BX \
	MOVQ AX, R9 \
	SHLXQ R9, BX, BX \
	ORQ BX, R8 \
	ADDQ $8, AX \
	CMPQ AX, CX \
	JLT loop \
	MOVQ R8, ret+24(FP) \
	VZEROUPPER \
	RET

// FCMP is a mask by a VCMPPS predicate.
#define FCMP(P) \
	MOVQ a+0(FP), SI \
	MOVQ b+8(FP), DX \
	MOVQ n+16(FP), CX \
	XORQ AX, AX \
	XORQ R8, R8 \
loop: \
	VMOVUPS (SI)(AX*4), Y0 \
	VCMPPS P, (DX)(AX*4), Y0, Y0 \
	VMOVMSKPS Y0, BX \
	MOVQ AX, R9 \
	SHLXQ R9, BX, BX \
	ORQ BX, R8 \
	ADDQ $8, AX \
	CMPQ AX, CX \
	JLT loop \
	MOVQ R8, ret+24(FP) \
	VZEROUPPER \
	RET

// 64-bit operands come as two registers, low and high words. LOAD64 makes of eight lanes four and four 64-bit numbers (in an
// order that is the same for all operands), SPLIT64 takes results apart again.
#define LOAD64(LO, HI, A, B) \
	VMOVUPS (LO)(AX*1), Y8 \
	VMOVUPS (HI)(AX*1), Y9 \
	VUNPCKLPS Y9, Y8, A \
	VUNPCKHPS Y9, Y8, B

#define STORE64(A, B, LO, HI) \
	VSHUFPS $0x88, B, A, Y8 \
	VSHUFPS $0xdd, B, A, Y9 \
	VMOVUPS Y8, (LO)(AX*1) \
	VMOVUPS Y9, (HI)(AX*1)

// IBIN64 is d = OP(a, b) on 64-bit integers.
#define IBIN64(OP) \
	MOVQ d0+0(FP), DI \
	MOVQ d1+8(FP), R8 \
	MOVQ a0+16(FP), SI \
	MOVQ a1+24(FP), R9 \
	MOVQ b0+32(FP), DX \
	MOVQ b1+40(FP), R10 \
	MOVQ n+64(FP), CX \
	XORQ AX, AX \
	SHLQ $2, CX \
loop: \
	LOAD64(SI, R9, Y0, Y1) \
	LOAD64(DX, R10, Y2, Y3) \
	OP Y2, Y0, Y0 \
	OP Y3, Y1, Y1 \
	STORE64(Y0, Y1, DI, R8) \
	ADDQ $32, AX \
	CMPQ AX, CX \
	JLT loop \
	VZEROUPPER \
	RET

// FBIN64 is FBIN in f64.
#define FBIN64(OP) \
	MOVQ d0+0(FP), DI \
	MOVQ d1+8(FP), R8 \
	MOVQ a0+16(FP), SI \
	MOVQ a1+24(FP), R9 \
	MOVQ b0+32(FP), DX \
	MOVQ b1+40(FP), R10 \
	MOVQ from+48(FP), AX \
	MOVQ n+56(FP), CX \
	SHLQ $2, AX \
	SHLQ $2, CX \
loop: \
	LOAD64(SI, R9, Y0, Y1) \
	LOAD64(DX, R10, Y2, Y3) \
	OP Y2, Y0, Y0 \
	OP Y3, Y1, Y1 \
	VCMPPD $3, Y1, Y0, Y4 \
	VMOVMSKPD Y4, BX \
	TESTL BX, BX \
	JNZ out \
	STORE64(Y0, Y1, DI, R8) \
	ADDQ $32, AX \
	CMPQ AX, CX \
	JLT loop \
out: \
	SHRQ $2, AX \
	MOVQ AX, ret+64(FP) \
	VZEROUPPER \
	RET

TEXT ·avxAdd(SB), NOSPLIT, $0-40
	BIN(VPADDD)

TEXT ·avxSub(SB), NOSPLIT, $0-40
	BIN(VPSUBD)

TEXT ·avxMul(SB), NOSPLIT, $0-40
	BIN(VPMULLD)

TEXT ·avxAnd(SB), NOSPLIT, $0-40
	BIN(VPAND)

TEXT ·avxOr(SB), NOSPLIT, $0-40
	BIN(VPOR)

TEXT ·avxXor(SB), NOSPLIT, $0-40
	BIN(VPXOR)

TEXT ·avxMinU(SB), NOSPLIT, $0-40
	BIN(VPMINUD)

TEXT ·avxMaxU(SB), NOSPLIT, $0-40
	BIN(VPMAXUD)

TEXT ·avxMinS(SB), NOSPLIT, $0-40
	BIN(VPMINSD)

TEXT ·avxMaxS(SB), NOSPLIT, $0-40
	BIN(VPMAXSD)

TEXT ·avxShl(SB), NOSPLIT, $0-40
	SHIFT(VPSLLVD)

TEXT ·avxLShr(SB), NOSPLIT, $0-40
	SHIFT(VPSRLVD)

TEXT ·avxAShr(SB), NOSPLIT, $0-40
	SHIFT(VPSRAVD)

TEXT ·avxFAdd(SB), NOSPLIT, $0-48
	FBIN(VADDPS)

TEXT ·avxFSub(SB), NOSPLIT, $0-48
	FBIN(VSUBPS)

TEXT ·avxFMul(SB), NOSPLIT, $0-48
	FBIN(VMULPS)

// func avxFMA(d, a, b, c *lanes, from, n int) int
TEXT ·avxFMA(SB), NOSPLIT, $0-56
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ c+24(FP), R8
	MOVQ from+32(FP), AX
	MOVQ n+40(FP), CX
	SHLQ $2, AX
	SHLQ $2, CX
loop:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (R8)(AX*1), Y2
	VFMADD231PS (DX)(AX*1), Y0, Y2
	VCMPPS $3, Y2, Y2, Y1
	VMOVMSKPS Y1, BX
	TESTL BX, BX
	JNZ out
	VMOVUPS Y2, (DI)(AX*1)
	ADDQ $32, AX
	CMPQ AX, CX
	JLT loop
out:
	SHRQ $2, AX
	MOVQ AX, ret+48(FP)
	VZEROUPPER
	RET

// func avxSplat(d *lanes, x uint32)
TEXT ·avxSplat(SB), NOSPLIT, $0-12
	MOVQ d+0(FP), DI
	MOVL x+8(FP), AX
	MOVD AX, X0
	VPBROADCASTD X0, Y0
	VMOVDQU Y0, (DI)
	VMOVDQU Y0, 32(DI)
	VMOVDQU Y0, 64(DI)
	VMOVDQU Y0, 96(DI)
	VMOVDQU Y0, 128(DI)
	VMOVDQU Y0, 160(DI)
	VMOVDQU Y0, 192(DI)
	VMOVDQU Y0, 224(DI)
	VZEROUPPER
	RET

// bit<> selects one mask bit in each of eight lanes.
DATA bit<>+0(SB)/4, $1
DATA bit<>+4(SB)/4, $2
DATA bit<>+8(SB)/4, $4
DATA bit<>+12(SB)/4, $8
DATA bit<>+16(SB)/4, $16
DATA bit<>+20(SB)/4, $32
DATA bit<>+24(SB)/4, $64
DATA bit<>+28(SB)/4, $128
GLOBL bit<>(SB), RODATA|NOPTR, $32

// func avxSelect(d, a, b *lanes, mask uint64, n int): d = mask bit ? a : b
TEXT ·avxSelect(SB), NOSPLIT, $0-40
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ mask+24(FP), BX
	MOVQ n+32(FP), CX
	XORQ AX, AX
	SHLQ $2, CX
	VMOVDQU bit<>(SB), Y3
loop:
	MOVQ BX, X0
	VPBROADCASTD X0, Y0
	VPAND Y3, Y0, Y0
	VPCMPEQD Y3, Y0, Y0
	VMOVDQU (DX)(AX*1), Y1
	VPBLENDVB Y0, (SI)(AX*1), Y1, Y1
	VMOVDQU Y1, (DI)(AX*1)
	SHRQ $8, BX
	ADDQ $32, AX
	CMPQ AX, CX
	JLT loop
	VZEROUPPER
	RET

TEXT ·avxEQ(SB), NOSPLIT, $0-32
	CMP(VPCMPEQD, SI, DX)

TEXT ·avxSGT(SB), NOSPLIT, $0-32
	CMP(VPCMPGTD, SI, DX)

TEXT ·avxSLT(SB), NOSPLIT, $0-32
	CMP(VPCMPGTD, DX, SI)

TEXT ·avxUGE(SB), NOSPLIT, $0-32
	CMPU(SI, DX)

TEXT ·avxULE(SB), NOSPLIT, $0-32
	CMPU(DX, SI)

TEXT ·avxFLT(SB), NOSPLIT, $0-32
	FCMP($1)

TEXT ·avxFEQ(SB), NOSPLIT, $0-32
	FCMP($0)

TEXT ·avxFLE(SB), NOSPLIT, $0-32
	FCMP($2)

TEXT ·avxFU(SB), NOSPLIT, $0-32
	FCMP($3)

// func avxStride(a *lanes, step uint32, n int) bool: a[l] == a[0] + l*step in all lanes
TEXT ·avxStride(SB), NOSPLIT, $0-25
	MOVQ a+0(FP), SI
	MOVL step+8(FP), BX
	MOVQ n+16(FP), CX
	MOVD BX, X1
	VPBROADCASTD X1, Y1
	VPMULLD iota<>(SB), Y1, Y2
	VPBROADCASTD (SI), Y0
	VPADDD Y2, Y0, Y0
	VPSLLD $3, Y1, Y1
	VPXOR Y4, Y4, Y4
	XORQ AX, AX
loop:
	VPXOR (SI)(AX*4), Y0, Y3
	VPOR Y3, Y4, Y4
	VPADDD Y1, Y0, Y0
	ADDQ $8, AX
	CMPQ AX, CX
	JLT loop
	VPTEST Y4, Y4
	SETEQ ret+24(FP)
	VZEROUPPER
	RET

DATA iota<>+0(SB)/4, $0
DATA iota<>+4(SB)/4, $1
DATA iota<>+8(SB)/4, $2
DATA iota<>+12(SB)/4, $3
DATA iota<>+16(SB)/4, $4
DATA iota<>+20(SB)/4, $5
DATA iota<>+24(SB)/4, $6
DATA iota<>+28(SB)/4, $7
GLOBL iota<>(SB), RODATA|NOPTR, $32

TEXT ·avxAdd64(SB), NOSPLIT, $0-72
	IBIN64(VPADDQ)

TEXT ·avxSub64(SB), NOSPLIT, $0-72
	IBIN64(VPSUBQ)

TEXT ·avxFAdd64(SB), NOSPLIT, $0-72
	FBIN64(VADDPD)

TEXT ·avxFMul64(SB), NOSPLIT, $0-72
	FBIN64(VMULPD)

// func avxFMA64(d0, d1, a0, a1, b0, b1, c0, c1 *lanes, from, n int) int
TEXT ·avxFMA64(SB), NOSPLIT, $0-88
	MOVQ d0+0(FP), DI
	MOVQ d1+8(FP), R8
	MOVQ a0+16(FP), SI
	MOVQ a1+24(FP), R9
	MOVQ b0+32(FP), DX
	MOVQ b1+40(FP), R10
	MOVQ c0+48(FP), R11
	MOVQ c1+56(FP), R12
	MOVQ from+64(FP), AX
	MOVQ n+72(FP), CX
	SHLQ $2, AX
	SHLQ $2, CX
loop:
	LOAD64(SI, R9, Y0, Y1)
	LOAD64(DX, R10, Y2, Y3)
	LOAD64(R11, R12, Y4, Y5)
	VFMADD231PD Y2, Y0, Y4
	VFMADD231PD Y3, Y1, Y5
	VCMPPD $3, Y5, Y4, Y6
	VMOVMSKPD Y6, BX
	TESTL BX, BX
	JNZ out
	STORE64(Y4, Y5, DI, R8)
	ADDQ $32, AX
	CMPQ AX, CX
	JLT loop
out:
	SHRQ $2, AX
	MOVQ AX, ret+80(FP)
	VZEROUPPER
	RET
