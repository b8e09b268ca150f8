package sched_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/kernel/sched"
)

var (
	outer = &sched.Class{Name: "outer", Rank: 10}
	inner = &sched.Class{Name: "inner", Rank: 20}
)

// lostUpdate is a counter with a read, a chance for others, and a write.
func lostUpdate(w sched.World) {
	n, left := 0, 2
	done := w.NewWaitQueue("done")
	for range 2 {
		w.Go("adder", false, func() {
			for range 3 {
				v := n
				w.Yield("between load and store")
				n = v + 1
			}
			left--
			done.Wake()
		})
	}
	done.Wait(func() bool { return left == 0 }, sched.Forever)
	if n != 6 {
		w.Fail(fmt.Errorf("n = %d, want 6", n))
	}
}

func TestExploreFindsReplaysAndShrinksARace(t *testing.T) {
	f := sched.Explore(1, 200, sched.SimConfig{}, lostUpdate)
	if f == nil {
		t.Fatal("200 seeds did not find a lost update")
	}
	small := sched.Shrink(f, 500, sched.SimConfig{}, lostUpdate, nil)
	if len(small.Schedule) > len(f.Schedule) {
		t.Errorf("shrunk from %d to %d choices", len(f.Schedule), len(small.Schedule))
	}
	s := sched.NewSim(sched.SimConfig{Seed: small.Seed, Replay: small.Schedule})
	if err := s.Run(func() { lostUpdate(s) }); err == nil {
		t.Error("the shrunk schedule does not fail again")
	}
	s = sched.NewSim(sched.SimConfig{Replay: sched.Schedule{}})
	if err := s.Run(func() { lostUpdate(s) }); err != nil {
		t.Errorf("the schedule without switches fails: %v", err)
	}
}

func TestDeadlockIsFoundAndLockOrderToo(t *testing.T) {
	cross := func(ca, cb *sched.Class) func(sched.World) {
		return func(w sched.World) {
			a, b := w.NewMutex(ca), w.NewMutex(cb)
			both := func(first, second sched.Mutex) {
				first.Lock()
				defer first.Unlock()
				second.Lock()
				defer second.Unlock()
			}
			w.Go("ba", false, func() { both(b, a) })
			both(a, b)
		}
	}
	nests := &sched.Class{Name: "folio", Rank: 5, Nests: true}
	f := sched.Explore(1, 500, sched.SimConfig{}, cross(nests, nests))
	var dead *sched.DeadlockError
	if f == nil || !errors.As(f, &dead) || len(dead.Waiting) != 2 {
		t.Errorf("AB-BA on one nesting class: %v, want a dead-lock of two tasks", f)
	}
	f = sched.Explore(1, 1, sched.SimConfig{}, cross(outer, inner))
	var order *sched.LockOrderError
	if f == nil || !errors.As(f, &order) || order.Want != "outer" {
		t.Errorf("inner before outer: %v, want a lock order error in any schedule", f)
	}
}

func TestSameSeedSameTrace(t *testing.T) {
	var first []byte
	for i := range 50 {
		var b bytes.Buffer
		s := sched.NewSim(sched.SimConfig{Seed: 7, Trace: &b})
		err := s.Run(func() {
			q := sched.NewWorkqueue(s, "restore", true)
			mu := s.NewRWSem(outer)
			for j := range 4 {
				w := q.NewWork(func() { mu.Lock(); s.Yield("work"); mu.Unlock() })
				w.QueueDelayed(time.Duration(s.Rand64()%1000) * time.Microsecond)
				s.Go(fmt.Sprint("reader", j), false, func() { mu.RLock(); s.Sleep(time.Millisecond); mu.RUnlock() })
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = b.Bytes()
		} else if !bytes.Equal(first, b.Bytes()) {
			t.Fatalf("run %d differs from run 0", i)
		}
	}
}

// worlds runs a test in both worlds.
func worlds(t *testing.T, fn func(t *testing.T, w sched.World)) {
	t.Run("live", func(t *testing.T) { fn(t, sched.NewLive()) })
	t.Run("sim", func(t *testing.T) {
		for seed := range uint64(50) {
			s := sched.NewSim(sched.SimConfig{Seed: seed})
			if err := s.Run(func() { fn(t, s) }); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	})
}

func TestWorkRunsAgainWhenQueuedWhileRunning(t *testing.T) {
	worlds(t, func(t *testing.T, w sched.World) {
		q := sched.NewWorkqueue(w, "wq", true)
		mu := w.NewMutex(outer)
		started := w.NewWaitQueue("started")
		runs, go2 := 0, false
		work := q.NewWork(func() {
			mu.Lock()
			runs++
			mu.Unlock()
			started.Wake()
			started.Wait(func() bool { mu.Lock(); defer mu.Unlock(); return go2 }, sched.Forever)
		})
		if !work.Queue() {
			t.Error("first Queue says already pending")
		}
		started.Wait(func() bool { mu.Lock(); defer mu.Unlock(); return runs == 1 }, sched.Forever)
		if !work.Queue() {
			t.Error("Queue of a running work says already pending")
		}
		if work.Queue() {
			t.Error("Queue of a pending work says newly queued")
		}
		mu.Lock()
		go2 = true
		mu.Unlock()
		started.Wake()
		work.Flush()
		mu.Lock()
		defer mu.Unlock()
		if runs != 2 {
			t.Errorf("%d runs, want 2", runs)
		}
	})
}

func TestCancelAndTimeouts(t *testing.T) {
	worlds(t, func(t *testing.T, w sched.World) {
		q := sched.NewWorkqueue(w, "wq", false)
		mu := w.NewMutex(outer)
		ran := false
		work := q.NewWork(func() { mu.Lock(); ran = true; mu.Unlock() })
		work.QueueDelayed(time.Hour)
		if !work.Cancel() || work.Cancel() {
			t.Error("Cancel of a delayed work, twice: want true, false")
		}
		never := w.NewWaitQueue("never")
		before := w.Now()
		if never.Wait(func() bool { return false }, 2*time.Millisecond) {
			t.Error("Wait says that false became true")
		}
		if d := w.Now() - before; d < 2*time.Millisecond {
			t.Errorf("a timeout of 2 ms passed after %v", d)
		}
		work.QueueDelayed(time.Hour)
		work.ModDelayed(0)
		work.Flush()
		mu.Lock()
		defer mu.Unlock()
		if !ran {
			t.Error("work did not run after ModDelayed(0) and Flush")
		}
	})
}

func TestReadersShareWritersDoNot(t *testing.T) {
	worlds(t, func(t *testing.T, w sched.World) {
		sem := w.NewRWSem(outer)
		mu := w.NewMutex(inner)
		end := w.NewWaitQueue("end")
		readers, writers, left := 0, 0, 8
		enter := func(r, wr int) {
			mu.Lock()
			defer mu.Unlock()
			readers += r
			writers += wr
			if writers > 1 || writers == 1 && readers > 0 {
				w.Fail(fmt.Errorf("%d writers and %d readers inside", writers, readers))
			}
		}
		for i := range 8 {
			w.Go("t", false, func() {
				for range 5 {
					if i%4 == 0 {
						sem.Lock()
						enter(0, 1)
						w.Yield("writing")
						enter(0, -1)
						sem.Unlock()
					} else {
						sem.RLock()
						enter(1, 0)
						w.Yield("reading")
						enter(-1, 0)
						sem.RUnlock()
					}
				}
				mu.Lock()
				left--
				mu.Unlock()
				end.Wake()
			})
		}
		end.Wait(func() bool { mu.Lock(); defer mu.Unlock(); return left == 0 }, sched.Forever)
	})
}
