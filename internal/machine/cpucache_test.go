package machine

import (
	"slices"
	"testing"
)

func TestCPUListsAndMasks(t *testing.T) {
	if got := parseCPUList("0-2,5,x,7-7"); !slices.Equal(got, []int{0, 1, 2, 5, 7}) {
		t.Errorf("parseCPUList: %v", got)
	}
	for _, test := range []struct {
		first, last, n int
		mask, list     string
	}{
		{0, 0, 2, "00000001", "0"},
		{0, 1, 2, "00000003", "0-1"},
		{31, 33, 40, "00000003,80000000", "31-33"},
	} {
		if got := cpuMask(test.first, test.last, test.n); got != test.mask {
			t.Errorf("mask of %d-%d: %s, want %s", test.first, test.last, got, test.mask)
		}
		if got := cpuList(test.first, test.last); got != test.list {
			t.Errorf("list of %d-%d: %s, want %s", test.first, test.last, got, test.list)
		}
	}
}
