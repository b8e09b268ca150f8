package silicon

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// waveState is what a wave waits for.
type waveState uint8

const (
	waveReady   waveState = iota
	waveBarrier           // at s_barrier
	wavePage              // for a page (retry fault)
	waveGWS               // at a barrier or semaphore of the grid
	waveHalted            // for ever: fault, or s_sethalt
	waveEnded
)

// group is one resident work-group. One worker at a time runs it.
type group struct {
	k       *dispatch
	block   unsafe.Pointer // wave states, then LDS
	unit    int
	index   uint64 // in the grid
	share   uint64 // work-groups from index+1 on that follow in the same turn
	ended   uint64 // of the share, since the turn began
	id      [3]uint32
	size    [3]uint32 // smaller than the dispatch's at the edges of the grid
	scratch []int32   // slot of each wave
	fresh   bool      // registers are to be set up
	run     engine.Batch
	skip    int      // waves that have ended before the launch: a batch ran them
	used    bool     // block is of this dispatch already: what never changes is in place
	layout  layout   // of the block, when it is used
	clean   bool     // no VGPR holds what another dispatch left
	edge    *itemIDs // of the last smaller size

	waves   []wave.Wave
	states  []waveState
	n       int    // waves of this group
	live    int    // not ended
	down    bool   // a barrier has completed: the last wave goes first
	passed  bool   // one has in this pass over the waves
	pages   bool   // some wave waits for a page
	flushes uint64 // of the VMID when the turn began

	barriers [numBarriers]barrier
	waits    map[int]*gwsWait // of the waves in state waveGWS

	untold map[int]aql.QueueError // fatal traps that the trap handler was entered for, by wave, until it sends its message
}

func newGroup(k *dispatch, block unsafe.Pointer) *group {
	return &group{k: k, block: block, waves: make([]wave.Wave, k.waves), states: make([]waveState, k.waves)}
}

// renew makes g, of an earlier dispatch with as large work-groups, as good as new for k.
func (g *group) renew(k *dispatch) {
	edge := g.edge
	if edge != nil && edge.key != newItemKey(k) {
		edge = nil
	}
	*g = group{k: k, block: g.block, waves: g.waves, states: g.states, edge: edge, layout: g.layout, used: g.used && g.layout == newLayout(k)}
}

// layout is what bind depends on, beside the number of waves.
type layout struct {
	target                  *isa.Target
	space                   *mem.Space
	lanes, nvgpr, nacc, lds int
}

func newLayout(k *dispatch) layout {
	return layout{k.target, k.state.space, k.lanes, k.nvgpr, k.nacc, k.lds}
}

// fuel is the guest instructions of one run of a wave.
const fuel = 1 << 15

// turn runs each wave until it waits or its fuel is out, and when all have ended the next work-group of g's share.
func (g *group) turn(e engine.Worker) outcome {
	h := hold{}
	h.worker, _ = e.(engine.Holder)
	defer h.drop()
	for {
		if g.fresh && g.batch(e, &h) {
			return groupFinished
		}
		o := g.once(e, &h)
		if o != groupFinished {
			return o
		}
		g.ended++
		if g.share == 0 || g.k.sched.stop.Load() {
			return groupFinished
		}
		g.share--
		g.index++
		g.fresh = true
	}
}

// hold is the hold of a worker on the address space of the waves that it runs one after the other.
type hold struct {
	worker engine.Holder // nil: it has none
	on     bool
}

func (h *hold) take(s *mem.Space) {
	if h.worker != nil && !h.on {
		h.worker.Hold(s)
		h.on = true
	}
}

func (h *hold) drop() {
	if h.on {
		h.worker.Release()
		h.on = false
	}
}

// once is the turn of one work-group.
func (g *group) once(e engine.Worker, h *hold) outcome {
	if g.fresh {
		clear(g.untold)
		clear(g.waits)
		g.down = false
		g.launch()
		g.fresh = false
	}
	k := g.k
	for {
		yields := false
		g.flushes = k.vm.flushes.Load()
		g.released()
		g.passed = false
		yields = g.together(e, h)
		for i := range g.n {
			if g.passed {
				break // all that waited for the barrier go on, from the last wave on
			}
			if g.down {
				i = g.n - 1 - i
			}
			if g.states[i] != waveReady {
				continue
			}
			w := &g.waves[i]
			w.Fuel = fuel
			h.take(w.Space)
			x := e.Run(w)
			if x != ir.ExitEndPgm && x != ir.ExitBarrier || halted(w) {
				h.drop() // what follows may flush
			}
			yields = g.exit(e, i, x) || yields
		}
		g.down = g.down || g.passed
		if g.live == 0 {
			return groupFinished
		}
		for i := range g.n {
			if g.states[i] == waveReady {
				if !yields && !k.sched.stop.Load() {
					break
				}
				return groupYields
			}
		}
		if !g.ready() {
			return groupBlocked
		}
	}
}

// halted reports whether STATUS halts a wave that is not in the trap handler.
func halted(w *wave.Wave) bool { return w.S[isa.SRegSTATUS]&(statusHalt|statusPriv) == statusHalt }

// exit does what wave i left its code for; yields tells that it may go on, but others should have their turn first.
func (g *group) exit(e engine.Worker, i int, x ir.Exit) (yields bool) {
	k, w := g.k, &g.waves[i]
	for x == ir.ExitBarrierSignal && g.split(w, w.Arg) {
		x = e.Run(w)
	}
	if halted(w) {
		// A trap handler halts a wave by its STATUS, and leaves: the exit is of code that the wave never gets to.
		g.states[i] = waveHalted
		if code, ok := g.untold[i]; ok {
			delete(g.untold, i)
			g.answer(w, code)
		}
		return false
	}
	switch x {
	case ir.ExitEndPgm:
		g.end(i)
	case ir.ExitBarrier:
		g.arrive(barrierWorkgroup)
		g.await(i, barrierWorkgroup)
	case ir.ExitBarrierSignal: // waits
	case ir.ExitGWS:
		g.gws(w, w.Arg)
	case ir.ExitSleep, ir.ExitFuel, ir.ExitMsg:
		return true
	case ir.ExitTrap:
		g.trap(w, uint32(w.Arg))
	case ir.ExitHalt:
		g.states[i] = waveHalted
	case ir.ExitFault:
		g.fault(w)
	case ir.ExitIllegal:
		g.illegal(w, w.Illegal)
	case ir.ExitICache:
		k.q.dev.cfg.Engine.InvalidateCode(k.state.space)
		return true
	case ir.ExitNone, ir.ExitMode, ir.ExitIndirect, ir.ExitFetch:
		return true // the engine wants to be called again
	default:
		g.illegal(w, "exit "+x.String()+" is not implemented by the compute unit")
	}
	return false
}

func (g *group) ready() bool {
	for i := range g.n {
		if g.states[i] == waveReady {
			return true
		}
	}
	return false
}

// unpage makes waves that wait for a page ready.
func (g *group) unpage() {
	for i := range g.n {
		if g.states[i] == wavePage {
			g.states[i] = waveReady
		}
	}
	g.pages = false
}

// workItem returns the id in the work-group of a lane of w.
func (g *group) workItem(w *wave.Wave, lane int) [3]uint32 {
	n := uint32(w.Index*g.k.lanes + lane)
	return [3]uint32{n % g.size[0], n / g.size[0] % g.size[1], n / g.size[0] / g.size[1]}
}

// fault handles ExitFault.
func (g *group) fault(w *wave.Wave) {
	k := g.k
	f := w.Fault
	switch f.Kind {
	case mem.FaultRetry:
		g.states[w.Index] = wavePage
		g.pages = true
		k.q.dev.faultIRQ(k.vm, &f)
		return
	case mem.FaultAperture, mem.FaultUnaligned:
		g.report(w, FaultViolation, f.Error())
		w.S[isa.SRegTRAPSTS] |= trapstsMemViol
		g.exception(w, memoryViolation)
		return
	}
	g.report(w, FaultMemory, f.Error())
	g.stop(w)
	k.q.dev.faultIRQ(k.vm, &f)
}

// report calls the fault hook.
func (g *group) report(w *wave.Wave, kind FaultKind, text string) {
	k := g.k
	h := k.q.dev.cfg.Hooks.WaveFault
	if h == nil {
		return
	}
	f := &FaultInfo{DispatchInfo: k.DispatchInfo, Kind: kind, Text: text, PC: w.PC, WorkgroupID: g.id, Wave: w.Index, Lane: -1,
		State: func() *WaveState { return g.state(w) }}
	if kind == FaultMemory || kind == FaultViolation {
		f.VA, f.Lane = w.Fault.VA, w.Fault.Lane
		f.Write, f.Exec = w.Fault.Access&mem.Write != 0, w.Fault.Access&mem.Exec != 0
		if kind == FaultMemory {
			f.NotPresent, _, _ = k.vm.missing(&w.Fault)
		}
	}
	if f.Lane >= 0 {
		f.WorkItem = g.workItem(w, f.Lane)
	}
	if kind == FaultTrap {
		f.TrapID = uint32(w.Arg)
	}
	h(f)
}

// stop halts a wave for good and with it its dispatch and queue.
func (g *group) stop(w *wave.Wave) {
	g.states[w.Index] = waveHalted
	g.k.q.dev.cus.halt(g.k)
}
