// Package interp is the plain engine: it runs IR on the lanes of a wave, one operation after the other, in Go.
//
// It is the oracle for the JIT and the engine of hosts without one, so its first duty is to be right, and its second not
// to be slow: an operation is dispatched once for 64 lanes, and the loops over lanes are the cost.
//
// # Form of a program
//
// A Func is compiled once, block by block, to a list of [inst]. An operand is a [ref]: an offset into one of three
// memories, the frame of the worker, the state block of the wave, or the constants of the program. So there is no copying
// where the IR only renames:
//
//   - pair, lo, hi, tuple, elem and the wave64 conversions between masks and scalars cost nothing;
//   - a register read whose register is not written before the value's last use is a ref into the state block;
//   - a value whose only use is a register write is made in the register itself, under the write's mask. With all lanes
//     active that is direct; otherwise the result is made aside and the active lanes are copied.
//
// Uniform operands of vector operations are spread over the lanes once in a block (constants once in a program).
//
// # Precision
//
// Register writes happen in the order of the IR, except that a write moves up to the operation that makes its value, and
// then only when nothing between the two can fault or sees the register. A memory operation finds the host addresses of
// all its lanes before it changes anything. So a fault leaves the wave exactly at the faulting instruction.
//
// What an operation computes in a lane is package lane's to say; vector.go has faster loops for the common ones, tested
// against it.
package interp
