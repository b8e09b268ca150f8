// Package x86 encodes x86-64 instructions for the code generator of engine/jit.
//
// It is an encoder, not an assembler: there is no text form, no instruction selection and no relaxation. The caller names
// an instruction from the tables (one line each: vtable*.go for VEX and EVEX, gtable.go for general registers), gives
// operands, and the bytes are appended to an [Asm]. Labels and rip-relative operands are fixed up when they are bound.
//
// # Encodings
//
// General instructions use the legacy scheme: optional 66/F2/F3 prefix, REX, opcode map, opcode, ModRM, SIB, displacement,
// immediate (Intel SDM volume 2, chapter 2). Vector instructions use VEX (128 and 256 bits, 16 registers) or EVEX (also
// 512 bits, 32 registers, a mask k1–k7 that merges or zeroes, broadcast of one memory element, and a rounding mode or
// exception suppression in the instruction itself).
//
// EVEX scales an 8-bit displacement by N, the size of the memory operand, so that disp8 reaches ±127·N bytes. N follows
// from the instruction's tuple kind (full vector, half, one element, …) and from broadcast; each table line names its
// tuple. The encoder always picks the shortest displacement.
//
// # Errors
//
// A combination that cannot be encoded (a zmm in VEX, broadcast with an instruction that has none, a jump out of reach)
// is recorded once in [Asm.Err] and nothing more is trusted; the code generator then discards the block and the
// interpreter runs it.
package x86
