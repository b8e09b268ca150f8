package rt

import "unsafe"

// Denormals are the bits of Enter's result that tell that a denormal operand or an inexact denormal result occurred. Under a mxcsr that is not the
// default they are 0.
const Denormals = 0x12 << 32

// Enter runs the code at addr with RDI = a, RSI = b, RDX = c under mxcsr, and returns its RAX, the low half of which is the code's, with
// Denormals.
//
//go:noescape
func Enter(addr uintptr, a, b unsafe.Pointer, c uint64, mxcsr uint32) uint64

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() uint64
