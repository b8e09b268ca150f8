//go:build linux && amd64

package jit

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// A function has up to three lives. A large one begins in the interpreter, until it is compiled. Functions that are not small
// are compiled quickly at first (Options.Quick), which takes two thirds of the time and serves kernels that run once. One
// that has run long enough to earn it is compiled once more, with all that the compiler can do, while it goes on running: waves
// change over when they next enter code, at a block, where the state is exact.

const (
	// quickFunc is how many guest instructions a function has for which the first compilation is the quick one: compiling
	// fewer with everything takes less than a millisecond.
	quickFunc = 300
	// largeFunc is how many make it start in the interpreter: compiling takes milliseconds.
	largeFunc = 1000
	// hotTimes is how many times a function's length in instructions it has run when it is compiled again. At some
	// nanoseconds an instruction of a wave it has run then for about as long as that takes.
	hotTimes = 200
)

// insts is the number of guest instructions in f.
func insts(f *ir.Func) int {
	n := 0
	for _, b := range f.Blocks {
		n += b.Insts
	}
	return n
}

// promotion is how quick code becomes better code.
type promotion struct {
	quick   bool         // immutable
	hot     int64        // instructions to run before it is compiled again; immutable
	ran     atomic.Int64 // instructions run in quick code
	started atomic.Bool
	better  atomic.Pointer[installed]
}

// earn notes that n instructions of ip, quick code, have run, and returns what is to run in its place from now on, if there is such.
func (e *Engine) earn(ip *installed, n int64) *installed {
	if b := ip.better.Load(); b != nil {
		return b
	}
	if ip.ran.Add(n) >= ip.hot && !ip.started.Swap(true) {
		go func() {
			if b, ok := e.compile(ip.Func, Options{}, ip.ID).(*installed); ok {
				ip.better.Store(b)
				e.forms.Add(1)
				e.promoted.Add(1)
			}
		}()
	}
	return nil
}
