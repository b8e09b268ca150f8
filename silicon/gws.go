package silicon

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Global wave sync (GWS): the barriers of a grid.
//
// The chip has 64 resources that waves of different work-groups, on any compute unit, meet at (Vega ISA manual, "DS_GWS_*";
// the RDNA 1 manual has the same). The GDS_GWS_VMIDn register says how many of them a VMID may use; the driver sets it when a
// process allocates GWS to one of its queues (ALLOC_QUEUE_GWS). A resource is a counter that works in one of two ways:
//
//   - barrier: ds_gws_init sets the counter to the number of participants less one. Each ds_gws_barrier that finds it above 0
//     takes one and waits; the one that finds 0 lets all go and sets the counter to its own operand, for the next round.
//   - semaphore: sema_v adds one, sema_br its operand; sema_p waits until there is one to take; sema_release_all lets those
//     go that wait now.
//
// Participants are whole waves: by convention one wave of each work-group comes, between two s_barriers. Nothing checks that
// all participants are resident. A runtime must launch no more work-groups than fit the chip at once (cooperative launch);
// those that wait keep their compute unit, so a grid that is too large never ends.
//
//fidelity: approximate gws-exec-zero: a ds_gws_* with EXEC 0 does nothing

// NumGWS is the number of GWS resources of a chip.
const NumGWS = 64

// gws is what one VMID has.
type gws struct {
	size atomic.Int32 // resources that may be used: 0 or NumGWS

	mu  sync.Mutex
	res [NumGWS]gwsResource // guarded by mu
}

type gwsResource struct {
	counter int
	barrier []*gwsWait
	sema    []*gwsWait // oldest first
}

// gwsWait is one wave that waits.
type gwsWait struct {
	g       *group
	release atomic.Bool
}

// SetGWS lets a VMID use n GWS resources from number 0 on; their counters become 0.
func (d *Device) SetGWS(vmid uint32, n int) error {
	if vmid >= NumVMIDs || n < 0 || n > NumGWS {
		return fmt.Errorf("silicon: %d GWS resources for VMID %d, there are %d and %d VMIDs", n, vmid, NumGWS, NumVMIDs)
	}
	s := &d.vms[vmid].gws
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size.Store(int32(n))
	for i := range s.res {
		s.res[i].counter = 0 // those that wait go on waiting, as on the chip
	}
	return nil
}

// op carries out one operation for a wave of g; wait is not nil when the wave has to wait for it. waiters of whom it is the
// turn are returned.
func (r *gwsResource) op(op uint64, count int, g *group) (wait *gwsWait, go1 []*gwsWait) {
	switch op {
	case lift.GWSInit:
		r.counter = count
		return nil, nil
	case lift.GWSBarrier:
		if r.counter > 0 {
			r.counter--
			wait = &gwsWait{g: g}
			r.barrier = append(r.barrier, wait)
			return wait, nil
		}
		r.counter = count
		go1, r.barrier = r.barrier, nil
		return nil, go1
	case lift.GWSSemaV:
		r.counter++
	case lift.GWSSemaBR:
		r.counter += count
	case lift.GWSSemaReleaseAll:
		r.counter = len(r.sema)
	case lift.GWSSemaP:
		if r.counter <= 0 || len(r.sema) > 0 {
			wait = &gwsWait{g: g}
			r.sema = append(r.sema, wait)
			return wait, nil
		}
		r.counter--
	}
	n := min(max(r.counter, 0), len(r.sema))
	go1 = append(go1, r.sema[:n]...)
	r.sema = append(r.sema[:0:0], r.sema[n:]...)
	r.counter -= n
	return nil, go1
}

// drop forgets the waves of a dispatch that will not go on.
func (s *gws) drop(k *dispatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.res {
		for _, l := range []*[]*gwsWait{&s.res[i].barrier, &s.res[i].sema} {
			keep := (*l)[:0]
			for _, w := range *l {
				if w.g.k != k {
					keep = append(keep, w)
				}
			}
			*l = keep
		}
	}
}

// gws carries out ExitGWS of a wave; arg is the exit's.
func (g *group) gws(w *wave.Wave, arg uint64) {
	op, reg, off := arg>>32&0xffff, int(arg>>16&0xffff), uint32(arg)
	s := &g.k.vm.gws
	exec := w.EXEC()
	if exec == 0 {
		return
	}
	id := (w.S[isa.SRegM0]>>16&0x3f + off) % NumGWS
	if int32(id) >= s.size.Load() {
		g.illegal(w, fmt.Sprintf("ds_gws_* on resource %d: the process has %d (ALLOC_QUEUE_GWS)", id, s.size.Load()))
		return
	}
	count := 0
	if reg != lift.GWSNoRegister {
		if v := w.VGPR(reg); v != nil {
			count = int(v[bits.TrailingZeros64(exec)])
		}
	}
	s.mu.Lock()
	wait, released := s.res[id].op(op, count, g)
	s.mu.Unlock()
	if wait != nil {
		if g.waits == nil {
			g.waits = map[int]*gwsWait{}
		}
		g.waits[w.Index] = wait
		g.states[w.Index] = waveGWS
	}
	if len(released) > 0 {
		g.k.q.dev.cus.release(released)
	}
}

// released makes waves ready whose wait for GWS is over; it reports whether there were any.
func (g *group) released() (any bool) {
	for i, w := range g.waits {
		if w.release.Load() {
			delete(g.waits, i)
			g.states[i] = waveReady
			any = true
		}
	}
	return any
}

// release lets waves go on. The group of one may be running now: it finds out itself, at the end of its turn at the latest.
func (c *cus) release(l []*gwsWait) {
	for _, w := range l {
		w.release.Store(true)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range l {
		s := &w.g.k.sched
		for i, g := range s.blocked {
			if g == w.g {
				if g.pages {
					c.parked.Add(-1)
					g.unpage()
				}
				s.blocked = append(s.blocked[:i], s.blocked[i+1:]...)
				s.ready = append(s.ready, g)
				break
			}
		}
	}
	c.seq.Add(1)
	c.wake()
}
