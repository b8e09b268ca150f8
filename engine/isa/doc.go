// Package isa knows the AMDGPU instruction sets: which words are which instructions, and how they are spelled.
//
// An AMDGPU program is a stream of 32-bit words. The first word's high bits select an encoding family (SOP2, VOP3,
// DS, ...); the family fixes where the opcode and the operand fields are, and how many words follow (a second
// encoding word, a literal, an SDWA or DPP word). Families and opcodes differ between generations; names mostly stay.
//
// # The tables
//
// The files in tab/ hold one text line for each instruction:
//
//	name|older@generations  op op op op op  dst : src ; flags
//
// The name is the newest spelling; "|ds_read_b32@9,94,10" gives the spelling of older generations (9 is gfx900 to
// gfx90c, 94 gfx940 to gfx950, 10, 11, 12). The five columns are the opcode in hexadecimal on gfx9, gfx940, gfx10,
// gfx11 and gfx12, "-" where absent; "3b@906/908/90a" restricts it to some processors. Operands are types: u32, f16,
// v2f16, b96, f32x16 (sixteen of them), mask (a lane mask); "s." before a type marks a scalar destination, "a." an
// AccVGPR, "k." a literal that is part of the encoding; words such as label, waitcnt or hwreg are immediates and how
// they are spelled. Flags: m=FFn says of each source whether its VOP3 form has neg/abs (F), ignores those bits (h) or
// must have them zero (n); clamp, omod, op_sel ...; rdst: reads its destination; wscc, rvcc, ...: implicit operands;
// no64, nosdwa, nodpp: forms that do not exist ("nodpp@9,10": on those generations). Two lines may share a name
// where families or operand shapes differ between generations; each is an Op of its own.
//
// VOP3 promotion, SDWA, DPP8, DPP16 and VOPD are rules of the decoder, not lines: an instruction of VOP1, VOP2 or
// VOPC has a 64-bit form at opcode + 0x140 (0x180 from gfx10), + 0x100 or + 0. formats.isa gives the encodings as
// fields, targets.isa the processors, names.isa the numbers that text writes as names, vopd.isa the halves of dual
// issue. All are parsed once, at first use. What an instruction means is not known here: engine/lift gives meanings,
// keyed by the same names.
//
// # Names
//
// Op.Name is the newest spelling: ds_load_b32, global_load_b32, s_load_b32, v_add_nc_u32 (gfx9: v_add_u32),
// v_add_co_ci_u32 (gfx9: v_addc_co_u32), v_min_num_f32 (until gfx11: v_min_f32), v_mul_dx9_zero_f32
// (v_mul_legacy_f32), v_clz_i32_u32 (v_ffbh_u32). v_add_co_u32 keeps its name everywhere: it is VOP2 on gfx9 and
// VOP3 from gfx10. Lookup accepts any spelling; a disassembly uses the target's own.
//
// # Operand order
//
// Decode gives operands in one order whatever the encoding, so that e32, e64, SDWA and DPP forms look alike:
//
//   - Dst[0] is vdst or sdst. Dst[1] is the mask of a VOP3B (v_div_scale, v_mad_u64_u32), the carry-out of
//     v_add_co_u32 and its kin (VCC spelled out when the encoding implies it), or the second register of v_swap.
//   - A carry-in is the last source: Src[2] of v_add_co_ci_u32 and v_cndmask_b32, VCC when implied.
//   - VOPC: Dst[0] is the mask: VCC in the 32-bit form, an SGPR pair in the others, EXEC for v_cmpx from gfx10 on. On
//     gfx9 v_cmpx writes Dst[0] and EXEC (FlagWritesEXEC).
//   - fmac, dot2c and other accumulating instructions have FlagReadsDst and no operand for it. v_fmamk has its
//     constant as Src[1], v_fmaak as Src[2].
//   - FLAT, GLOBAL, SCRATCH: Src is [vaddr, vdata, saddr]; absent ones are OperandNone.
//   - DS: [addr, data0, data1]. MUBUF, MTBUF: [vaddr, vdata, srsrc, soffset]; vaddr has two registers when both
//     index and offset are enabled (index first). SMEM: [sbase, soffset, sdata].
//   - Images: [vaddr, vdata, srsrc, ssamp]; Address has all registers of the address, of which vaddr is the first run.
//   - Loads put their result in Dst[0]; atomics have Dst[0] only when they return the old value. Loads to LDS (LDS
//     set) have no destination.
//   - SOPP and SOPK immediates are OperandImm; branch offsets are in words, sign-extended (see BranchTarget).
//     s_setreg has [source, hwreg]; s_getreg [hwreg].
//   - Matrix instructions: [A, B, C], A and B with OperandAcc where the acc bits say so; an inline constant C is one
//     element, for all. smfmac and swmmac have the index as Src[2] and FlagReadsDst.
//   - Implicit EXEC and SCC are flags only.
//
// Lane masks are two SGPRs for a target in wave64 and one in wave32: decode wave64 code of gfx10+ with
// Target.Wave(64).
//
// # Halves of registers
//
// From gfx11 on a 16-bit operand in a VGPR is half of it (true16). In a 32-bit encoding register numbers from 128 on are the high halves of
// v0 to v127: Operand.Hi. In VOP3 op_sel has a bit for each operand: Inst.OpSel, bit 3 for the destination. LLVM 19 has neither but for
// a few instructions; it prints "v_and_b16 v1, v2, v3" whatever op_sel is. We print what it prints while all halves are low,
// and otherwise "v_and_b16 v1, v2, v3 op_sel:[0,1,1]" and "v_add_f16_e32 v1.h, v2, v3". LLVM 21 writes the half of every operand, as in
// "v_and_b16 v1.h, v2.l, v3.h op_sel:[0,1,1]": Assemble reads that too.
//
// # Strictness
//
// Decode refuses words that LLVM's tables refuse: reserved operand codes and nonzero bits in fields an instruction
// does not use. It also refuses what LLVM 19 prints with a complaint or decodes wrongly; oracle_test.go lists those.
package isa
