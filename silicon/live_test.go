package silicon

import (
	"testing"
	"time"
)

// TestLiveParker: an Unpark is not lost, whichever way the sleeper sleeps, and several count as one.
func TestLiveParker(t *testing.T) {
	for _, limit := range []time.Duration{10 * time.Microsecond, time.Hour, -1} {
		p := Live().NewParker()
		p.Unpark()
		p.Unpark()
		if !p.Park(limit) {
			t.Errorf("limit %v: an Unpark that came first is lost", limit)
		}
		if p.Park(10 * time.Microsecond) {
			t.Errorf("limit %v: two count as two", limit)
		}
		for range 1000 {
			go p.Unpark()
			for !p.Park(limit) {
			}
		}
		if p.Park(0) {
			t.Errorf("limit %v: more came out than went in", limit)
		}
	}
}
