// Package engine runs AMDGPU machine code on this machine's CPU.
//
// isa decodes words to instructions, lift turns instructions into the typed IR of package ir, and an Engine runs the
// IR: interp is the plain one and the oracle, jit the fast one. engine knows nothing of HSA, HIP or KFD; silicon gives
// it waves (package wave) whose memory is an address space (package mem), and gets back the reason why each run ended.
//
// A Worker belongs to one thread. It runs a wave until the wave leaves its code: end of program, barrier, sleep, trap,
// fault, an illegal instruction, or no fuel. Every exit can be resumed by running the wave again (after a fault: from
// the faulting instruction, whose effects have not happened).
package engine

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Engine makes Workers that share lifted and compiled code. Safe for concurrent use.
type Engine interface {
	// Name is "interp" or "jit".
	Name() string
	// NewWorker returns an executor for one thread.
	NewWorker() Worker
	// InvalidateCode tells that instruction memory of space may have changed (s_icache_inv, ACQUIRE_MEM packet, unmap):
	// cached code is compared with memory before its next use and lifted again where it differs.
	InvalidateCode(space *mem.Space)
	// Forget drops all code of a space that goes away.
	Forget(space *mem.Space)
	// Stats returns counters since the start.
	Stats() Stats
}

// Worker runs waves on one thread.
type Worker interface {
	// Run executes w from w.PC until it leaves; w.PC, w.Arg, w.Fault, w.Illegal describe the exit. w.Fuel bounds the
	// guest instructions executed (checked on back-edges and indirect jumps).
	Run(w *wave.Wave) ir.Exit
	// Close releases the worker's TLB and buffers.
	Close()
}

// Holder is a Worker that runs many waves of one address space cheaper when it is told so. Between Hold and Release a
// Flush of the space waits for the next Run, so nothing that may flush is called in between, and Release comes soon.
type Holder interface {
	Hold(space *mem.Space)
	Release()
}

// Batcher is a Worker that runs many waves of a dispatch in one go, when their code allows it. It is used between Hold and Release.
type Batcher interface {
	// RunBatch runs waves of b in order, those of the first work-group, then those of the next, and returns how many have ended.
	// Of the rest no instruction has been executed; the first of them did not fit, or its turn was over. It returns -1 when waves of this
	// dispatch cannot be run so at all.
	RunBatch(b *Batch) (done int)
}

// Batch is a run of work-groups that differ in their id's first component only. All lanes of their waves are active.
type Batch struct {
	// W is set up as the first wave of the first group, but for its VGPRs. Its scalar registers and LDS pointer are those of the
	// others too, except for X and the numbers that only a trap handler looks at (TTMP). Afterwards it holds nothing.
	W      *wave.Wave
	Groups int
	Total  uint64       // groups of the dispatch
	Waves  int          // of a group
	X      []int        // scalar registers that are one more in each group
	Items  []ItemSeries // of the work-item id registers from v0 on
}

// ItemSeries says how a register starts out: First[w] in lane 0 of wave w, Step more in each lane.
type ItemSeries struct {
	First []uint32
	Step  uint32
}

// CrewRunner is a Worker that changes from one wave of a work-group to the next by itself. It is used between Hold and Release.
type CrewRunner interface {
	// RunCrew runs the waves, all of which can go on, as Run does, from the first on, or from the last when down says so: one that arrives at
	// s_barrier gives way to the next, and when all have arrived they go on behind it, from the last on. That ends when a wave
	// leaves for another reason: RunCrew returns its index and the exit, a bit for each wave that has arrived, whose exit is ExitBarrier,
	// and whether they passed a barrier. The index is -1, and nothing has happened, when the waves cannot be run together.
	// Every wave has fuel of its own.
	RunCrew(ws []wave.Wave, down bool) (i int, exit ir.Exit, arrived uint64, passed bool)
}

// Stats counts what an Engine did.
type Stats struct {
	FuncsLifted   uint64
	InstsLifted   uint64
	FuncsCompiled uint64
	LiftNanos     uint64
	CompileNanos  uint64
}
