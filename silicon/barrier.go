package silicon

import (
	"fmt"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Barriers of a work-group. Before gfx12 there is one, and s_barrier arrives and waits in one instruction. gfx12 splits the
// two: s_barrier_signal arrives, s_barrier_wait waits; barrier -1 is the work-group's, -2 the trap handler's, 0 is none.
// A barrier completes when all waves that have not ended have arrived; each of them then holds a completion that its next
// wait takes, so that a wave may arrive long before it waits.
//
// fidelity: refused named-barriers: ids 1 to 16, with join, init, leave and s_wakeup_barrier: LLVM assembles them for gfx12, the chips have them from gfx12.5 on; the RDNA 4 manual has the two of the work-group only
type barrier struct {
	arrived int
	done    uint32 // by wave: completed, not yet waited for
	waiting uint32
}

const (
	barrierWorkgroup = iota
	barrierTrap
	numBarriers
)

// arrive counts one wave.
func (g *group) arrive(n int) {
	b := &g.barriers[n]
	b.arrived++
	g.settle(n)
}

// settle completes barrier n if all live waves have arrived.
func (g *group) settle(n int) {
	b := &g.barriers[n]
	if b.arrived == 0 || b.arrived < g.live {
		return
	}
	b.arrived = 0
	g.passed = true
	for i := range g.n {
		switch {
		case g.states[i] == waveEnded:
		case b.waiting>>i&1 != 0:
			g.states[i] = waveReady
		default:
			b.done |= 1 << i
		}
	}
	b.waiting = 0
}

// await makes wave i wait for barrier n; it reports whether the wave may go on.
func (g *group) await(i, n int) bool {
	b := &g.barriers[n]
	if b.done>>i&1 != 0 {
		b.done &^= 1 << i
		return true
	}
	b.waiting |= 1 << i
	g.states[i] = waveBarrier
	return false
}

// end takes wave i out of all barriers: it counts as arrived from now on.
func (g *group) end(i int) {
	g.states[i] = waveEnded
	g.live--
	for n := range g.barriers {
		g.settle(n)
	}
}

// split carries out one of gfx12's barrier instructions; false means that the wave has to wait.
func (g *group) split(w *wave.Wave, arg uint64) (goOn bool) {
	op, id := arg>>32&0xff, int32(uint32(arg))
	if uint32(arg) == lift.BarrierM0 {
		id = int32(w.S[isa.SRegM0] & 0x1f)
	}
	n := barrierWorkgroup
	switch id {
	case -1:
	case -2:
		n = barrierTrap
	case 0: // the null barrier
		if op == lift.BarrierSignalIsFirst {
			w.S[isa.SRegSCC] = 0
		}
		if op == lift.BarrierSignal || op == lift.BarrierSignalIsFirst || op == lift.BarrierWait || op == lift.BarrierJoin {
			return true
		}
		fallthrough
	default:
		g.illegal(w, fmt.Sprintf("operation %d on named barrier %d", op, id))
		return false
	}
	switch op {
	case lift.BarrierSignalIsFirst:
		w.S[isa.SRegSCC] = 0
		if g.barriers[n].arrived == 0 {
			w.S[isa.SRegSCC] = 1
		}
		g.arrive(n)
	case lift.BarrierSignal:
		g.arrive(n)
	case lift.BarrierWait:
		return g.await(w.Index, n)
	case lift.BarrierGetState:
		// Valid, members, arrived.
		if r := arg >> 40 & 0xff; r < isa.NumSRegs && r != isa.SRegNull {
			w.S[r] = 1 | uint32(g.live)<<4 | uint32(g.barriers[n].arrived)<<16
		}
	default:
		g.illegal(w, fmt.Sprintf("operation %d on barrier %d", op, id))
		return false
	}
	return true
}
