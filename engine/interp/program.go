package interp

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/lane"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// ref says where a value lives: a base in the top two bits and a byte offset. Per-lane values take 4 bytes a lane;
// uniform ones and masks 8 bytes in the frame, of which S32 values read 4.
type ref uint32

const (
	baseFrame ref = iota << 30
	baseWave
	baseConst
	offMask ref = 1<<30 - 1

	noRef = ^ref(0)
)

// lanes is the storage of one per-lane 32-bit value. Waves of 32 use the first half.
type lanes = [64]uint32

const laneBytes = 256 // of a lanes

// Frame layout: scratch room for results of masked operations, then scalar slots, then vector slots.
const (
	tempRegs   = 64 // the widest result: a 32-register matrix, and room for its operands
	scalarBase = tempRegs * laneBytes
)

// inst is one operation, ready to run. run returns false when the wave leaves (m.fault says why).
type inst struct {
	run  func(m *machine, in *inst) bool
	d    [2]ref // result, first two registers
	a    [2]ref // arguments
	b    [2]ref
	c    [2]ref
	e    [2]ref
	mask ref // lanes that results fused with register writes go to; noRef: all

	k32 func(d, a, b, c *lanes, n int)
	k64 func(d0, d1, a0, a1, b0, b1, c0, c1 *lanes, n int)
	km  func(a, b *lanes, n int) uint64
	fn  lane.Fn
	imm uint64
	pc  uint32
	w   [4]uint8 // how generic code reads arguments: argNone...
	res uint8    // and writes the result
	v   *ir.Value
	x   *extra
}

// extra is for operations with many registers.
type extra struct {
	regs  []ref // result registers
	fused []bool
	a     []ref // data registers
	b     []ref
	c     []ref
	s     []ref // scalar words of a sampler or an offset

	matrix *matrixPlan
}

// Ways to read an argument or write a result, for generic code.
const (
	argNone uint8 = iota
	arg32         // uniform, 4 bytes
	arg64         // uniform or mask, 8 bytes
	argV32
	argV64
	argM // one bit of a mask
)

// block is one compiled ir.Block.
type block struct {
	code  []inst
	insts int64
	pc    uint64
	term  *ir.Term
	cond  ref
	back  [2]bool // Then, Else go back
}

// program is one compiled Func.
type program struct {
	f      *ir.Func
	lanes  int
	full   uint64
	blocks []block
	consts []uint32       // aligned storage of constants
	frame  int            // bytes of frame it needs
	regs   wave.Registers // that it uses
	bad    string         // why it cannot run
}

func alignedWords(n int) []uint32 {
	b := make([]uint32, n+16)
	skew := -uintptr(unsafe.Pointer(&b[0])) & 63
	return b[skew/4:][:n:n]
}
