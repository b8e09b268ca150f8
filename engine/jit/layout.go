package jit

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/wave"
)

// Offsets into wave.Header, which RDI points to.
const (
	offS      = int32(unsafe.Offsetof(wave.Header{}.S))
	offPC     = int32(unsafe.Offsetof(wave.Header{}.PC))
	offFuel   = int32(unsafe.Offsetof(wave.Header{}.Fuel))
	offExit   = int32(unsafe.Offsetof(wave.Header{}.Exit))
	offArg    = int32(unsafe.Offsetof(wave.Header{}.Arg))
	offLDS    = int32(unsafe.Offsetof(wave.Header{}.LDS))
	offLDSLen = int32(unsafe.Offsetof(wave.Header{}.LDSLen))
	offTLB    = int32(unsafe.Offsetof(wave.Header{}.TLB))
	offV      = int32(wave.VGPROffset)
)

// The frame, which RSI points to: what code and Go tell each other, tables, then values.
const (
	frameOp      = 0  // helper operation (ir.ID), or block reached for an exit
	frameWay     = 4  // crewDown while a crew goes through its list backward, else 0
	frameResume  = 8  // where code goes on after a helper
	frameShared  = 16 // high halves of the flat addresses that reach LDS and scratch; a number no address has when there are none
	framePrivate = 24
	framePC      = 32  // for a sampler (Options.Sample): offset of the guest instruction
	frameFunc    = 36  // its Program.ID while code runs, else 0
	frameSlow    = 40  // 1 while a helper operation is done
	frameLeft    = 44  // waves of a crew that are not at the barrier yet
	frameWave    = 48  // state block of the wave that runs
	frameTurn    = 56  // number of the barrier's turn
	frameLane    = 64  // laneid table: 64 dwords
	frameBelowLo = 320 // mbcnt tables: bits below the lane in the low and high mask word
	frameBelowHi = 576
	frameTmp     = 832  // scratch of one wave operation: 768 bytes
	frameBases   = 1600 // SH_MEM_BASES, and 1 above it when the wave has an environment to ask
	frameArgs    = 1608 // what a routine is told: 8 quadwords
	frameOrder   = 1672 // 1 when a wave of the crew has arrived at a barrier behind which the order of waves can show
	frameTile    = 1676 // the number of the version of a region whose loads are kept before the frame (ldstile.go), or 0
	frameLinks   = 1680 // table of links
	frameAffine  = 1688 // memory of runs of affine addresses
	frameAVX2    = 1728 // state of package avx2, where that is used; then values
)

// keptRoom is how many bytes there are before the frame for what all strips of the waves load from the LDS (ldstile.go).
const keptRoom = 8192

// Reasons in the low bits of RAX when code returns to Go.
const (
	retExit   = iota // a block's exit: header's Exit, PC, Arg are set
	retHelper        // frameOp holds the operation
	retFuel          // PC is set
	retWindow        // frameOp holds a global access that wants its window moved, and to begin again
	retRows          // the same, of one that has another way
	retScaled        // frameOp holds the number of one of Program.scaled
	retAffine        // the same, of one in a run of affine addresses (affine.go)
)
