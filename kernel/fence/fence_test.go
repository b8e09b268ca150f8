package fence_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/kernel/fence"
	"github.com/pumice-gpu/pumice/kernel/mm/sim"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

func run(t *testing.T, fn func(w sched.World, c *fence.Context)) error {
	t.Helper()
	for seed := range uint64(30) {
		s := sched.NewSim(sched.SimConfig{Seed: seed})
		if err := s.Run(func() { fn(s, fence.NewContext(s)) }); err != nil {
			return err
		}
	}
	return nil
}

func TestEnableOnceSignalOnce(t *testing.T) {
	err := run(t, func(w sched.World, c *fence.Context) {
		enabled, called, waiters := 0, 0, 3
		var f *fence.Fence
		f = c.New("f", func() { enabled++; w.Go("worker", false, func() { f.Signal() }) })
		end := w.NewWaitQueue("end")
		if f.Wait(0) && enabled == 0 {
			t.Error("signalled before anybody asked")
		}
		for range 3 {
			w.Go("waiter", false, func() {
				if !f.Wait(time.Second) {
					t.Error("timed out")
				}
				waiters--
				end.Wake()
			})
		}
		f.OnSignal(func() { called++ })
		end.Wait(func() bool { return waiters == 0 }, sched.Forever)
		if enabled != 1 || called != 1 || f.Signal() {
			t.Errorf("enable ran %d times, callback %d, second Signal must be false", enabled, called)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUsageClasses(t *testing.T) {
	err := run(t, func(w sched.World, c *fence.Context) {
		r := fence.NewResv(w)
		r.Lock()
		defer r.Unlock()
		r.Add(c.New("eviction", nil), fence.Bookkeep)
		if !r.Wait(fence.Read, time.Millisecond) {
			t.Error("waiting for readers waited for a bookkeeping fence")
		}
		if r.Wait(fence.Bookkeep, time.Millisecond) {
			t.Error("an unsignalled bookkeeping fence was not waited for")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Allocation and mmap_lock inside a signalling section break the fence contract, in every schedule.
func TestContract(t *testing.T) {
	for name, bad := range map[string]func(m *sim.Memory, s *sim.Space){
		"allocation": func(m *sim.Memory, s *sim.Space) { m.AllocFolio() },
		"mmap_lock":  func(m *sim.Memory, s *sim.Space) { s.MmapLock().RLock() },
	} {
		err := run(t, func(w sched.World, c *fence.Context) {
			m := sim.New(w, sim.Config{})
			s := m.NewSpace("p")
			c.BeginSignalling()
			bad(m, s)
		})
		var order *sched.LockOrderError
		if !errors.As(err, &order) {
			t.Errorf("%s while signalling: %v, want a lock order error", name, err)
		}
	}
}
