// Package ir is the intermediate form between AMDGPU machine code and the engines that run it.
//
// A wavefront is one instruction stream with scalar state (SGPRs, SCC, one 64-bit EXEC mask) and vector state (VGPRs:
// one 32-bit value for each of 32 or 64 lanes). Control flow is uniform: branches look only at scalar state, and the
// compiler has already turned divergence into EXEC arithmetic. So the IR needs no divergence analysis: it has uniform
// values (S1, S32, S64), per-lane values (V32, V64), lane masks (M), and tuples of registers for wide memory and
// matrix operands (T, TS).
//
// A Func is what is reachable by direct branches from one entry PC under one MODE. Values are in SSA form inside a
// Block; architectural registers are read by sget/vget/mget and written by sset/vset/mset, in program order, so that
// at every operation that can fault or leave, the wave's state is exactly that before the guest instruction. Nothing but registers
// passes from one Block to another.
//
// EXEC is not special: it is the mask operand of each operation that has a side effect, read by "mget 126". A masked
// register write is "vset n, value, mask".
//
// An instruction's reads all come before its writes, and its writes all come after its last possible fault: a guest
// instruction that faults has changed nothing and can be run again (XNACK replay). Atomics translate every active
// lane's address before the first lane is changed.
//
// Floating-point operations carry the MODE they run under (FP); a Func is lifted for one MODE, and an instruction that
// changes MODE ends its block with ExitMode (but for s_set_gpr_idx mode, MODE's bit 27, which may be on inside a block).
package ir
