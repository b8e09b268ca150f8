package notify

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

func inWorld(t *testing.T, fn func(w sched.World, s *Set, ptl sched.Mutex)) {
	t.Helper()
	for seed := range uint64(20) {
		w := sched.NewSim(sched.SimConfig{Seed: seed})
		ptl := w.NewMutex(mm.PTL)
		s := New(ptl, w.NewWaitQueue("invalidation"))
		if err := w.Run(func() { fn(w, s, ptl) }); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *Set) insert(start, end uint64, fn mm.InvalidateFunc) mm.Notifier {
	s.ptl.Lock()
	defer s.ptl.Unlock()
	return s.Insert(start, end, fn)
}

// ReadBegin waits for the end of an invalidation of the range, and a sequence from before one never passes ReadRetry.
func TestReadersWait(t *testing.T) {
	inWorld(t, func(w sched.World, s *Set, _ sched.Mutex) {
		n := s.insert(0x1000, 0x3000, func(_ *mm.Invalidation, setSeq func()) bool { setSeq(); return true })
		aside := s.insert(0x3000, 0x4000, func(*mm.Invalidation, func()) bool { t.Error("called for another range"); return true })
		seq := n.ReadBegin()
		end := s.Invalidate(&mm.Invalidation{Start: 0x2000, End: 0x3000})
		ended := false
		w.Go("changer", false, func() { ended = true; end() })
		if !n.ReadRetry(seq) || aside.ReadRetry(aside.ReadBegin()) {
			t.Error("an invalidation must be seen in its range, and there only")
		}
		now := n.ReadBegin()
		if !ended {
			t.Error("ReadBegin came back while an invalidation was under way")
		}
		if now == seq || n.ReadRetry(now) {
			t.Errorf("sequence %d after %d", now, seq)
		}
	})
}

// Remove comes back when no callback runs, and none runs later.
func TestRemoveWaitsForCallbacks(t *testing.T) {
	inWorld(t, func(w sched.World, s *Set, _ sched.Mutex) {
		q, in, out := w.NewWaitQueue("callback"), false, false
		n := s.insert(0, 0x1000, func(*mm.Invalidation, func()) bool {
			in = true
			q.Wake()
			w.Sleep(time.Millisecond)
			out = true
			return true
		})
		w.Go("changer", false, func() { s.Invalidate(&mm.Invalidation{End: 0x1000})() })
		q.Wait(func() bool { return in }, sched.Forever)
		n.Remove()
		if !out {
			t.Error("Remove came back in a callback")
		}
		s.Invalidate(&mm.Invalidation{End: 0x1000})()
	})
}

// TestCalls compares who is called with all pairs of ranges.
func TestCalls(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	inWorld(t, func(_ sched.World, s *Set, ptl sched.Mutex) {
		type one struct {
			start, end uint64
			calls      int
			n          mm.Notifier
		}
		var all []*one
		for range 300 {
			start := rnd.Uint64N(64)
			switch end := start + 1 + rnd.Uint64N(8); {
			case len(all) > 0 && rnd.IntN(3) == 0:
				i := rnd.IntN(len(all))
				all[i].n.Remove()
				all = append(all[:i], all[i+1:]...)
			case rnd.IntN(2) == 0:
				o := &one{start: start, end: end}
				o.n = s.insert(start, end, func(*mm.Invalidation, func()) bool { o.calls++; return true })
				all = append(all, o)
			default:
				s.Invalidate(&mm.Invalidation{Start: start, End: end})()
				met := false
				for _, o := range all {
					want := 0
					if o.start < end && start < o.end {
						want, met = 1, true
					}
					if o.calls != want {
						t.Fatalf("[%d, %d) called %d times for [%d, %d)", o.start, o.end, o.calls, start, end)
					}
					o.calls = 0
				}
				ptl.Lock()
				if s.Any(start, end) != met {
					t.Errorf("Any(%d, %d) = %v", start, end, !met)
				}
				ptl.Unlock()
			}
		}
	})
}
