package interp

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/wave"
)

const atomicLoop = `func 0 lanes=64
b0 @0 insts=1:
  %0:s32 = const imm=0
  %1 = sset %0 imm=8
  jump b1 @0
b1 @4 insts=3:
  %2:s64 = sget64 imm=2
  %3:v32 = vget imm=0
  %4:m = mget imm=126
  %5:v32 = vget imm=1
  %6 = atomic %2, %3, %4, %5 width=4 atomic=add
  %7:s32 = sget imm=8
  %8:s32 = const imm=1
  %9:s32 = add %7, %8
  %10 = sset %9 imm=8
  %11:s32 = sget imm=9
  %12:s1 = icmp %9, %11 pred=ult
  branch %12 b1 b2 @12
b2 @16 insts=1:
  exit endpgm @16
`

// Several workers add to the same words while translations are flushed all the time: nothing is lost, nobody hangs.
func TestWorkersShareMemory(t *testing.T) {
	r := newRig(t, atomicLoop)
	const workers, turns = 4, 300
	var wg sync.WaitGroup
	var done atomic.Bool
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			wk := r.wk.e.NewWorker()
			defer wk.Close()
			state := alignedWords(wave.StateSize(64, 8, 0) / 4)
			w := &wave.Wave{}
			w.Bind(unsafe.Pointer(&state[0]), 64, 8, 0)
			w.Space, w.Target, w.PC, w.Fuel = r.space, testTarget, r.mem.base, 100
			w.SetEXEC(^uint64(0))
			w.S[2], w.S[3], w.S[9] = uint32(r.mem.base), uint32(r.mem.base>>32), turns
			for l := range 64 {
				w.VGPR(0)[l], w.VGPR(1)[l] = uint32(l%8*4), 1
			}
			for {
				switch e := wk.Run(w); e {
				case ir.ExitEndPgm:
					return
				case ir.ExitFuel:
					w.Fuel = 100
				default:
					t.Errorf("%v: %s %v", e, w.Illegal, w.Fault)
					return
				}
			}
		}()
	}
	go func() {
		for !done.Load() {
			r.space.Flush()
		}
	}()
	wg.Wait()
	done.Store(true)
	for i := range 8 {
		if got, want := atomic.LoadUint32(r.mem.word(i*4)), uint32(workers*turns*8); got != want {
			t.Errorf("word %d = %d, want %d", i, got, want)
		}
	}
}

// A run allocates nothing once its code is compiled.
func TestRunAllocatesNothing(t *testing.T) {
	r := newRig(t, atomicLoop)
	r.w.S[2], r.w.S[3], r.w.S[9] = uint32(r.mem.base), uint32(r.mem.base>>32), 20
	start := r.w.PC
	if n := testing.AllocsPerRun(20, func() {
		r.w.PC = start
		r.run(t, ir.ExitEndPgm)
	}); n > 0 {
		t.Errorf("%v allocations in a run", n)
	}
}
