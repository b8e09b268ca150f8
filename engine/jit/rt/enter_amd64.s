#include "textflag.h"

// func Enter(addr uintptr, a, b unsafe.Pointer, c uint64, mxcsr uint32) uint64
//
// The callee keeps RSP only: RBP is saved by the prologue, which is why there is a stack frame. So nothing may be cached in registers across
// the call; what is needed after it is read again from the argument slots. R14 (g) and X15 (zero) are restored by the ABI wrapper.
TEXT ·Enter(SB), NOSPLIT, $8-48
	MOVQ addr+0(FP), AX
	MOVQ a+8(FP), DI
	MOVQ b+16(FP), SI
	MOVQ c+24(FP), DX
	MOVL mxcsr+32(FP), CX
	CMPL CX, $0x1f80
	JNE  special
	CALL AX
	VZEROUPPER
	STMXCSR mxcsr+32(FP)
	MOVL mxcsr+32(FP), CX
	ANDL $0x12, CX
	JNE  denormals
	MOVQ AX, ret+40(FP)
	RET
denormals:
	SHLQ $32, CX
	ORQ  CX, AX
	MOVQ AX, ret+40(FP)
	MOVL $0x1f80, mxcsr+32(FP)
	LDMXCSR mxcsr+32(FP)
	RET
special:
	LDMXCSR mxcsr+32(FP)
	CALL AX
	VZEROUPPER
	MOVL $0x1f80, mxcsr+32(FP)
	LDMXCSR mxcsr+32(FP)
	MOVQ AX, ret+40(FP)
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() uint64
TEXT ·xgetbv(SB), NOSPLIT, $0-8
	XORL CX, CX
	XGETBV
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
