// Package isa knows the AMDGPU instruction sets: which words are which instructions, and how they are spelled.
//
// An AMDGPU program is a stream of 32-bit words. The first word's high bits select an encoding family (SOP2, VOP3,
// DS, ...); the family fixes where the opcode and the operand fields are, and how many words follow (a second
// encoding word, a literal, an SDWA or DPP word). Families and opcodes differ between generations; names mostly stay.
//
// The tables in tab/ hold one text line for each instruction: its name, its opcode in each generation, its operand
// types and flags. They are parsed once, at first use. VOP3 promotion, SDWA, DPP and VOPD are rules of the decoder,
// not lines. What an instruction means is not known here: engine/lift gives meanings, keyed by the same names.
package isa
