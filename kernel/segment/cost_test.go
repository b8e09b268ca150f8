package segment

import (
	"math/rand/v2"
	"testing"
)

// TestCost counts what insertions, splits and removals move: no more than some hundred entries each, however many segments there are. (To
// find one takes two binary searches.)
func TestCost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, order := range []string{"up", "down", "random"} {
			at := r.Perm(n)
			for i := range at {
				switch order {
				case "up":
					at[i] = i
				case "down":
					at[i] = n - 1 - i
				}
			}
			var s Set[int]
			for i, x := range at {
				s.Insert(uint64(4*x), uint64(4*x+4), i)
				s.SplitAt(uint64(4*x + 2))
			}
			if s.Len() != 2*n {
				t.Fatalf("%d segments", s.Len())
			}
			for _, x := range at {
				s.Clear(uint64(4*x), uint64(4*x+4))
			}
			if per := s.moved / (4 * n); s.Len() != 0 || per > 2*chunkMax {
				t.Errorf("%d segments, %s: %d entries moved for each change; %d left", n, order, per, s.Len())
			} else {
				t.Logf("%d segments, %s: %d entries moved for each change", n, order, per)
			}
		}
	}
}
