package image

import "testing"

// TestCompareHolds has every function of a depth comparison, with a reference below the texel, at it and above it.
func TestCompareHolds(t *testing.T) {
	for f, want := range map[Compare][3]bool{
		Never: {}, Less: {true, false, false}, Equal: {false, true, false}, LessEqual: {true, true, false},
		Greater: {false, false, true}, NotEqual: {true, false, true}, GreaterEqual: {false, true, true}, Always: {true, true, true},
	} {
		for i, ref := range []float32{0.25, 0.5, 0.75} {
			if got := f.holds(ref, 0.5); got != want[i] {
				t.Errorf("function %d of %v with 0.5: %v", f, ref, got)
			}
		}
	}
}
