package interval

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestModel compares a tree with a list.
func TestModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var tree Tree[int]
	var list []*Node[int]
	for i := range 20_000 {
		switch start := uint64(r.IntN(500)); {
		case len(list) == 0 || len(list) < 200 && r.IntN(2) == 0:
			list = append(list, tree.Insert(start, start+1+uint64(r.IntN(40)), i))
		case r.IntN(2) == 0:
			k := r.IntN(len(list))
			if !tree.Remove(list[k]) || tree.Remove(list[k]) {
				t.Fatalf("operation %d: [%d, %d) was not in once", i, list[k].Start, list[k].End)
			}
			list = slices.Delete(list, k, k+1)
		default:
			end := start + 1 + uint64(r.IntN(60))
			var want []*Node[int]
			for _, n := range list {
				if n.Start < end && start < n.End {
					want = append(want, n)
				}
			}
			slices.SortFunc(want, func(a, b *Node[int]) int {
				if a.before(b) {
					return -1
				}
				return 1
			})
			if got := slices.Collect(tree.Overlapping(start, end)); !slices.Equal(got, want) {
				t.Fatalf("operation %d: [%d, %d) meets %d ranges, want %d", i, start, end, len(got), len(want))
			}
			for range tree.Overlapping(start, end) { // may be left early
				break
			}
		}
		if tree.Len() != len(list) {
			t.Fatalf("operation %d: %d ranges, want %d", i, tree.Len(), len(list))
		}
	}
}

// TestCost counts the nodes that operations look at: a small multiple of log n.
func TestCost(t *testing.T) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		r := rand.New(rand.NewPCG(1, 2))
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
			var tree Tree[int]
			nodes := make([]*Node[int], n)
			for i, x := range at {
				nodes[i] = tree.Insert(uint64(4*x), uint64(4*x+4), i)
			}
			for _, x := range at {
				for range tree.Overlapping(uint64(4*x), uint64(4*x+5)) {
				}
			}
			for _, nd := range nodes {
				tree.Remove(nd)
			}
			per := float64(tree.Steps()) / float64(3*n)
			t.Logf("%d ranges, %s: %.1f steps for each operation", n, order, per)
			if limit := 4 * bits.Len(uint(n)); per > float64(limit) {
				t.Errorf("%d ranges, %s: %.1f steps for each operation, more than %d", n, order, per, limit)
			}
		}
	}
}
