//go:build linux && amd64

package jit

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// TestNightly runs random programs of every operation and MODE on both engines for NIGHTLY_CPU seconds of CPU time (a Go
// duration such as 12h, or seconds), from seed NIGHTLY_SEED on (default: the day, so that each night has its own). A
// difference is told with its seed: ENGINE_SEED=N go test -run TestEngineSeed shows the program; two of sixteen are of tileLoadsFunc, columnFunc and
// tileFunc, by turns.
func TestNightly(t *testing.T) {
	budget := os.Getenv("NIGHTLY_CPU")
	if budget == "" {
		t.Skip("set NIGHTLY_CPU, as `make nightly` does")
	}
	needJIT(t)
	limit, err := time.ParseDuration(budget)
	if err != nil {
		s, e := strconv.Atoi(budget)
		if e != nil {
			t.Fatalf("NIGHTLY_CPU: %v", err)
		}
		limit = time.Duration(s) * time.Second
	}
	first := uint64(time.Now().Unix()/86400) << 32
	if s := os.Getenv("NIGHTLY_SEED"); s != "" {
		if first, err = strconv.ParseUint(s, 0, 64); err != nil {
			t.Fatalf("NIGHTLY_SEED: %v", err)
		}
	}
	var next, bad atomic.Uint64
	begin, told := cpuUsed(), time.Now()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for cpuUsed()-begin < limit && bad.Load() < 20 {
				seed := first + next.Add(1) - 1
				var diff []string
				switch seed % 16 {
				case 15:
					diff, _ = linkDiff(t, seed) // SEED=N go test -run TestLinkRandom
				case 3, 7: // what random programs seldom have: tiles in the LDS
					f := [](func(uint64) *ir.Func){tileLoadsFunc, columnFunc, tileFunc}[seed/16%3](seed)
					diff = diffEnginesWith(t, seed, f, 12, func(g *rig) {
						if seed/16%4 > 0 {
							g.w.SetEXEC(^uint64(0))
						}
					})
				default:
					diff = diffEngines(t, seed, engineFunc(seed))
				}
				if len(diff) > 0 {
					bad.Add(1)
					t.Errorf("seed %d:\n  %s", seed, strings.Join(diff, "\n  "))
				}
			}
		}()
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-done:
			t.Logf("%d programs from seed %d on in %v of CPU time, %d differences", next.Load(), first, (cpuUsed() - begin).Round(time.Second), bad.Load())
			return
		case <-tick.C:
			if time.Since(told) > 10*time.Minute {
				told = time.Now()
				t.Logf("%d programs, %v of %v", next.Load(), (cpuUsed() - begin).Round(time.Second), limit)
			}
		}
	}
}

// cpuUsed is what this process has used.
func cpuUsed() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
