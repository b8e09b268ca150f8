// Package wave holds the architectural state of a wavefront.
//
// A wavefront is 32 or 64 work-items that share one program counter, scalar registers and an EXEC mask. All of it that
// code can see is kept in one block of memory outside the Go heap, with fixed offsets, so that interpreter, compiled
// code, debugger and checkers read the same bytes.
package wave

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// Header is the start of a wave's state block. Compiled code addresses it by offset; keep the order.
type Header struct {
	S      [isa.NumSRegs]uint32 // scalar state by canonical number
	PC     uint64               // guest PC of the next instruction (of the faulting one after ExitFault)
	Fuel   int64                // guest instructions left before ExitFuel
	Exit   uint32               // ir.Exit of the last run
	_      uint32
	Arg    uint64 // Exit's argument: trap id, sleep count, indirect target
	LDS    uint64 // host address of the work-group's LDS
	LDSLen uint64 // bytes allocated to it; accesses beyond read 0 and write nothing
	TLB    uint64 // host address of the worker's mem.TLB entries
	Resume uint64 // engine-private resume point
	Spare  [16]uint64
}

// VGPROffset is the byte offset of v0 in the state block. Register n, lane l is at VGPROffset + n*Lanes*4 + l*4;
// AccVGPR n is register 256+n when present.
const VGPROffset = 1024

var _ [VGPROffset - unsafe.Sizeof(Header{})]byte // Header fits below v0

// Env is what a wave can ask of its compute unit.
type Env interface {
	// HWReg returns hardware register id (isa hwreg number of the wave's target) as s_getreg sees it.
	HWReg(w *Wave, id uint32) uint32
	// SetHWReg is s_setreg on a register that is not plain wave state.
	SetHWReg(w *Wave, id, value uint32)
	// Time returns a counter: 0 core clock, 1 constant 100 MHz clock, 2 shader cycles.
	Time(which uint64) uint64
	// Msg is s_sendmsg; m0 is M0's value.
	Msg(w *Wave, msg uint32, m0 uint32)
	// MsgRtn is s_sendmsg_rtn.
	MsgRtn(w *Wave, msg uint32) uint64
}

// Wave is one wavefront. One thread runs it at a time.
type Wave struct {
	*Header
	Base   unsafe.Pointer // of the state block
	Size   int            // bytes of the state block
	Lanes  int            // 32 or 64
	NVGPR  int            // architectural VGPRs allocated
	NAcc   int            // AccVGPRs allocated
	Target *isa.Target
	Space  *mem.Space
	Env    Env

	// Fault describes the access of the last ExitFault, Illegal the text of the last ExitIllegal.
	Fault   mem.Fault
	Illegal string

	Wild  bool // an engine ran code that names registers between the architectural ones and the AccVGPRs; the owner zeroes all of the block
	Group any  // owner's work-group, opaque to engines
	Index int  // wave number in its work-group
}

// StateSize returns the bytes of a state block for the given registers: arch VGPRs, AccVGPRs (at 256 when any).
func StateSize(lanes, nvgpr, nacc int) int {
	n := nvgpr
	if nacc > 0 {
		n = 256 + nacc
	}
	return VGPROffset + n*lanes*4
}

// Bind makes w use the state block at base (64-byte aligned, zeroed by the caller, StateSize bytes).
func (w *Wave) Bind(base unsafe.Pointer, lanes, nvgpr, nacc int) {
	w.Header = (*Header)(base)
	w.Base, w.Lanes, w.NVGPR, w.NAcc = base, lanes, nvgpr, nacc
	w.Size = StateSize(lanes, nvgpr, nacc)
}

// VGPR returns register n (AccVGPR k is 256+k) as a slice over its lanes; nil if it is not allocated.
func (w *Wave) VGPR(n int) []uint32 {
	off := VGPROffset + n*w.Lanes*4
	if n < 0 || off+w.Lanes*4 > w.Size {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Add(w.Base, off)), w.Lanes)
}

// Registers is how many VGPRs code names: of each kind, one more than the highest number.
type Registers struct{ Arch, Acc int }

// Use adds register n (AccVGPR k is 256+k).
func (r *Registers) Use(n int) {
	if n < 256 {
		r.Arch = max(r.Arch, n+1)
	} else {
		r.Acc = max(r.Acc, n-255)
	}
}

// Holds reports whether r lies within w's allocation.
func (w *Wave) Holds(r Registers) bool { return r.Arch <= w.NVGPR && r.Acc <= w.NAcc }

// Admit reports whether w's memory has the registers r, and notes in w.Wild when that is more than its allocation: a function may have
// blocks, behind a trap say, that are no code.
func (w *Wave) Admit(r Registers) bool {
	if w.Holds(r) {
		return true
	}
	n := r.Arch
	if r.Acc > 0 {
		n = 256 + r.Acc
	}
	if VGPROffset+n*w.Lanes*4 > w.Size {
		return false
	}
	w.Wild = true
	return true
}

// EXEC returns the execution mask.
func (w *Wave) EXEC() uint64 {
	m := uint64(w.S[isa.SRegEXECLo])
	if w.Lanes == 64 {
		m |= uint64(w.S[isa.SRegEXECHi]) << 32
	}
	return m
}

// SetEXEC sets the execution mask.
func (w *Wave) SetEXEC(m uint64) {
	w.S[isa.SRegEXECLo] = uint32(m)
	w.S[isa.SRegEXECHi] = uint32(m >> 32)
}
