package silicon

import (
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/lift"
)

var gwsChips = []struct{ profile, target string }{{"radeonvii", "gfx906"}, {"mi210", "gfx90a"}, {"rx6900xt", "gfx1030"}}

// TestRealGWS runs clang's ds_gws_* code, with more work-groups than there are worker threads.
func TestRealGWS(t *testing.T) {
	for _, x := range gwsChips {
		t.Run(x.target, func(t *testing.T) {
			c := newCodeOf(t, "gws.hip", x.profile, x.target, "-O2")
			if err := c.d.SetGWS(rigVMID, NumGWS); err != nil {
				t.Fatal(err)
			}
			const groups, rounds = 23, 7
			cell, _ := c.alloc(groups * 4)
			out, ob := c.alloc(groups * 128 * 4)
			for _, rid := range []uint32{0, 5} {
				for i := range words(ob)[:groups*128] {
					words(ob)[i] = 99
				}
				c.run("init", line(1), line(1), uint32(groups-1), rid)
				c.run("rounds", line(groups*128), line(128), cell, out, uint32(groups), uint32(rounds), rid)
				for i, v := range words(ob)[:groups*128] {
					if v != 0 {
						t.Fatalf("resource %d: item %d saw %d values of another round", rid, i, v)
					}
				}
			}
			count, cb := c.alloc(8)
			c.run("init", line(1), line(1), uint32(0), uint32(9))
			c.run("semaphore", line(groups*128), line(128), count, out, uint32(groups), uint32(9))
			if got := words(cb)[:2]; got[0] != groups-1 || got[1] != groups-1 || words(ob)[0] != 3 {
				t.Errorf("semaphore: %d came, %d went, %d before the rest", got[0], got[1], words(ob)[0])
			}
			c.unitsAreFree()
		})
	}
}

// TestGWSPreempt takes waves off the chip that wait for others, and puts them back; then kills such.
func TestGWSPreempt(t *testing.T) {
	c := newCodeOf(t, "gws.hip", "mi210", "gfx90a", "-O2")
	if err := c.d.SetGWS(rigVMID, NumGWS); err != nil {
		t.Fatal(err)
	}
	const groups = 5
	cell, _ := c.alloc(groups * 4)
	out, _ := c.alloc(groups * 128 * 4)
	waiting := func(n int) {
		t.Helper()
		s := &c.d.vms[rigVMID].gws
		c.until(func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.res[1].barrier) == n
		}, "waves at the barrier")
	}
	c.run("init", line(1), line(1), uint32(groups), uint32(1)) // one more than will come
	p, s := c.packet("rounds", line(groups*128), line(128), cell, out, uint32(groups), uint32(1), uint32(1))
	c.q.put(p)
	c.q.ring()
	waiting(groups)
	if err := c.d.UnloadQueue(c.q.id, Preempt); err != nil {
		t.Fatal(err)
	}
	if err := c.d.LoadQueue(c.q.id, unsafe.Pointer(&c.q.mqd[0]), rigVMID); err != nil {
		t.Fatal(err)
	}
	if v := atomic.LoadInt64(&s.Value); v != 1 {
		t.Fatalf("the kernel ended: %d", v)
	}
	c.d.vms[rigVMID].gws.mu.Lock()
	_, released := c.d.vms[rigVMID].gws.res[1].op(lift.GWSBarrier, groups-1, nil)
	c.d.vms[rigVMID].gws.mu.Unlock()
	c.d.cus.release(released)
	c.wait(s)

	c.run("init", line(1), line(1), uint32(groups), uint32(1))
	p, _ = c.packet("rounds", line(groups*128), line(128), cell, out, uint32(groups), uint32(1), uint32(1))
	c.q.put(p)
	c.q.ring()
	waiting(groups)
	if err := c.d.UnloadQueue(c.q.id, Kill); err != nil {
		t.Fatal(err)
	}
	waiting(0)
	c.unitsAreFree()
}

// TestGWSNotAllocated uses GWS in a process that has none.
func TestGWSNotAllocated(t *testing.T) {
	c := newCodeOf(t, "gws.hip", "mi210", "gfx90a", "-O2")
	p, _ := c.packet("init", line(1), line(1), uint32(1), uint32(0))
	c.q.put(p)
	c.q.ring()
	if f := <-c.faults; f.Kind != FaultIllegal || !strings.Contains(f.Text, "ALLOC_QUEUE_GWS") {
		t.Errorf("%+v", f)
	}
}
