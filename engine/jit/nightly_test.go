//go:build linux && amd64

package jit

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// shape is a kind of random program. diff runs the one of a seed on both engines and returns what differs.
type shape struct {
	name  string
	share int // of all programs
	diff  func(t testing.TB, seed uint64) []string
}

// shapes are all kinds of random programs that TestNightly makes.
var shapes = []shape{
	{"operations", 10, func(t testing.TB, seed uint64) []string { return diffEngines(t, seed, engineFunc(seed)) }},
	{"links", 2, func(t testing.TB, seed uint64) []string { diff, _ := linkDiff(t, seed); return diff }},
	{"tileloads", 2, inOrder(tileLoadsFunc)},
	{"columns", 2, inOrder(columnFunc)},
	{"tiles", 2, inOrder(tileFunc)},
	{"loops", 2, inOrder(loopFunc)},
	{"ifs", 3, inOrder(divergeFunc)},
	{"affine", 4, affineDiff},
	{"affinecrew", 2, affineCrewDiff},
	{"strides", 3, func(t testing.TB, seed uint64) []string { _, _, diff := strideDiff(t, seed); return diff }},
	{"faults", 2, func(t testing.TB, seed uint64) []string { diff, _ := faultDiff(t, seed); return diff }},
	{"crew", 2, func(t testing.TB, seed uint64) []string { diff, _, _ := crewDiff(t, seed); return diff }},
	{"crewstrides", 2, func(t testing.TB, seed uint64) []string {
		diff, _, _ := crewDiffOf(t, seed, crewStrideFunc(seed), nil)
		return diff
	}},
	{"crewtiles", 2, func(t testing.TB, seed uint64) []string {
		diff, _, _ := crewDiffOf(t, seed, crewTileFunc(seed), nil)
		return diff
	}},
	{"kinds", 2, kindDiff},
	{"crewkinds", 2, kindCrewDiff},
	{"guests", 12, func(t testing.TB, seed uint64) []string { diff, _ := guestDiff(t, seed); return diff }},
	{"streams", 2, func(t testing.TB, seed uint64) []string {
		r := &recorder{TB: t}
		streamSeed(r, seed)
		return r.diff
	}},
	{"matrices", 4, matricesDiff},
	{"corners", 8, cornerDiff},
	{"cornercrew", 3, cornerCrewDiff},
	{"ends", 14, endsDiff},
	{"ldsends", 8, ldsEndsDiff},
	{"turns", 4, turnsDiff},
	{"batches", 8, func(t testing.TB, seed uint64) []string { diff, _ := batchDiff(t, seed); return diff }},
	{"instructions", 16, instsDiff},
	{"arrays", 5, arraysDiff},
	{"lives", 5, livesDiff(livesFunc, livesTuned)},
	{"strips", 3, livesDiff(stripsFunc, cornerTuned)},
}

// inOrder is the difference of functions of twelve registers, most of whose lanes are on.
func inOrder(f func(seed uint64) *ir.Func) func(testing.TB, uint64) []string {
	return func(t testing.TB, seed uint64) []string {
		return diffEnginesWith(t, seed, f(seed), 12, func(g *rig) {
			if seed%3 == 0 { // memory in pieces that are not contiguous here
				g.space.scatter()
			}
			if seed/16%4 > 0 {
				g.w.SetEXEC(^uint64(0))
			}
		})
	}
}

// recorder keeps the errors of a test.
type recorder struct {
	testing.TB
	diff []string
}

func (r *recorder) Errorf(format string, x ...any) {
	r.diff = append(r.diff, fmt.Sprintf(format, x...))
}

// shapeOf is the shape of a seed's program.
func shapeOf(seed uint64) *shape {
	all := 0
	for _, s := range shapes {
		all += s.share
	}
	n := int((seed * 0x9e3779b97f4a7c15 >> 32) % uint64(all))
	for i := range shapes {
		if n -= shapes[i].share; n < 0 {
			return &shapes[i]
		}
	}
	panic("unreachable")
}

// nightlyTurn is how many programs follow one another for one kind of code: three times for AVX-512, then for AVX2.
const nightlyTurn = 256

// nightlyAVX2 tells whether a seed's program is compiled for AVX2.
func nightlyAVX2(seed uint64) bool { return !wide || seed/nightlyTurn%4 == 3 }

// TestNightly runs random programs of all shapes (or those that NIGHTLY_SHAPES names) on both engines for NIGHTLY_CPU seconds of CPU time (a Go
// duration such as 12h, or seconds), from seed NIGHTLY_SEED on (default: the day, so that each night has its own), or until there are NIGHTLY_DIFFERENCES
// (20), or the process is told to stop. A difference is told with its seed: TestNightlySeed looks at it.
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
	first -= first % nightlyTurn
	only := os.Getenv("NIGHTLY_SHAPES")
	defer func(was bool) { hostAVX2 = was }(hostAVX2)
	var programs, bad atomic.Uint64
	counts := make(map[string]*atomic.Uint64)
	for _, s := range shapes {
		counts[s.name] = new(atomic.Uint64)
	}
	most, err := strconv.ParseUint(os.Getenv("NIGHTLY_DIFFERENCES"), 0, 64)
	if err != nil {
		most = 20
	}
	stop, end := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM) // the hours so far count
	defer end()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a quarter more programs, for 200 MB
	begin, told := cpuUsed(), time.Now()
	going := func() bool { return cpuUsed()-begin < limit && bad.Load() < most && stop.Err() == nil }
	for at := first; going(); at += nightlyTurn {
		hostAVX2 = nightlyAVX2(at)
		var next atomic.Uint64
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for going() {
					n := next.Add(1) - 1
					if n >= nightlyTurn {
						return
					}
					seed := at + n
					s := shapeOf(seed)
					if only != "" && !strings.Contains(","+only+",", ","+s.name+",") {
						continue
					}
					programs.Add(1)
					counts[s.name].Add(1)
					if diff := s.diff(t, seed); len(diff) > 0 {
						bad.Add(1)
						t.Errorf("seed %d (%s):\n  %s", seed, s.name, strings.Join(diff, "\n  "))
					}
				}
			}()
		}
		wg.Wait()
		if time.Since(told) > 10*time.Minute {
			told = time.Now()
			t.Logf("%d programs, %v of %v", programs.Load(), (cpuUsed() - begin).Round(time.Second), limit)
		}
	}
	var each []string
	for _, s := range shapes {
		each = append(each, fmt.Sprintf("%d %s", counts[s.name].Load(), s.name))
	}
	t.Logf("%d programs from seed %d on in %v of CPU time, %d differences: %s", programs.Load(), first, (cpuUsed() - begin).Round(time.Second), bad.Load(),
		strings.Join(each, ", "))
}

// TestNightlySeed runs the program of one seed of TestNightly's: NIGHTLY_SEED.
func TestNightlySeed(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("NIGHTLY_SEED"), 0, 64)
	if err != nil || os.Getenv("NIGHTLY_CPU") != "" {
		t.Skip("set NIGHTLY_SEED to look at a random program")
	}
	needJIT(t)
	defer func(was bool) { hostAVX2 = was }(hostAVX2)
	hostAVX2 = nightlyAVX2(seed)
	s := shapeOf(seed)
	t.Logf("%s, AVX2 %v", s.name, hostAVX2)
	for _, x := range s.diff(t, seed) {
		t.Error(x)
	}
}

// TestShapes runs a few programs of each shape.
func TestShapes(t *testing.T) {
	onEach(t, func(t *testing.T) {
		for _, s := range shapes {
			for seed := range fewer(8) {
				if diff := s.diff(t, seed); len(diff) > 0 {
					t.Errorf("seed %d (%s):\n  %s", seed, s.name, strings.Join(diff, "\n  "))
				}
			}
		}
	})
}

// cpuUsed is what this process has used.
func cpuUsed() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
