package machine

import (
	"testing"

	"github.com/pumice-gpu/pumice/runtime/hip"
)

// A thread has one default stream for each device, which stays the same and ends with the thread.
func TestPerThreadStreams(t *testing.T) {
	a, th := newHIP(t, "mi210,mi210", 5)
	var seen [2]uintptr
	for round := range 3 {
		for d := range int32(2) {
			var got int32
			if e := a.SetDevice(th, d); e != hip.Success {
				t.Fatal(e)
			}
			if e := a.StreamGetDevice(th, hip.StreamPerThread, &got); e != hip.Success || got != d {
				t.Fatalf("device %d: %v, %d", d, e, got)
			}
			if round > 0 && th.Streams[d] != seen[d] {
				t.Errorf("device %d has another stream", d)
			}
			seen[d] = th.Streams[d]
		}
	}
	a.ThreadEnd(th)
	for _, s := range seen {
		if e := a.StreamQuery(&hip.Thread{}, s); e != hip.ErrContextIsDestroyed {
			t.Errorf("stream of a thread that has ended: %v", e)
		}
	}
}
