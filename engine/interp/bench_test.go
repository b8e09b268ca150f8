package interp

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// cpuSeconds is the CPU time of this thread: benchmarks often run on a busy machine.
func cpuSeconds() float64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return float64(ts.Nano()) / 1e9
}

// loopOf makes a loop of n turns around body, counted in s8 against s9. turns and lanes say what is reported.
func loopOf(turnBody string) string {
	return `func 0 lanes=64
b0 @0 insts=1:
  %9000:s32 = const imm=0
  %9001 = sset %9000 imm=8
  jump b1 @0
b1 @4 insts=20:
` + turnBody + `
  %9002:s32 = sget imm=8
  %9003:s32 = const imm=1
  %9004:s32 = add %9002, %9003
  %9005 = sset %9004 imm=8
  %9006:s32 = sget imm=9
  %9007:s1 = icmp %9004, %9006 pred=ult
  branch %9007 b1 b2 @12
b2 @16 insts=1:
  exit endpgm @16
`
}

func benchLoop(b *testing.B, text string, vops int, init func(r *rig)) *rig {
	// Large value numbers need a long text.
	r := newRig(b, text+"#"+strings.Repeat(" ", 10000))
	if init != nil {
		init(r)
	}
	const turns = 1000
	r.w.S[9] = turns
	start := r.w.PC
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := cpuSeconds()
	for b.Loop() {
		r.w.PC, r.w.Fuel = start, 1<<40
		if e := r.wk.Run(r.w); e != ir.ExitEndPgm {
			b.Fatalf("%v %s %v", e, r.w.Illegal, r.w.Fault)
		}
	}
	b.ReportMetric(float64(b.N)*turns*float64(vops)*64/(cpuSeconds()-begin)/1e9, "Glane/s")
	return r
}

// BenchmarkFMAChain is eight independent chains.
func BenchmarkFMAChain(b *testing.B) {
	var s strings.Builder
	s.WriteString("  %1:m = mget imm=126\n  %2:v32 = vget imm=20\n  %3:v32 = vget imm=21\n")
	for i := range 8 {
		fmt.Fprintf(&s, "  %%%d:v32 = vget imm=%d\n  %%%d:v32 = fma %%%d, %%2, %%3 kind=f32 fp=rne+ieee+dx10\n  %%%d = vset %%%d, %%1 imm=%d\n",
			10+3*i, i, 11+3*i, 10+3*i, 12+3*i, 11+3*i, i)
	}
	benchLoop(b, loopOf(s.String()), 8, func(r *rig) {
		for l := range 64 {
			for i := range 8 {
				r.v(i)[l] = math.Float32bits(float32(l+i) * 1.37)
			}
			r.v(20)[l], r.v(21)[l] = math.Float32bits(0.9999), math.Float32bits(0.1234)
		}
	})
}

// BenchmarkVectorAdd loads two words, adds, stores: the body of c[i] = a[i] + b[i] after clang.
func BenchmarkVectorAdd(b *testing.B) {
	s := `  %1:m = mget imm=126
  %2:v32 = vget imm=0
  %3:s64 = sget64 imm=2
  %4:s64 = sget64 imm=4
  %5:s64 = sget64 imm=6
  %6:v32 = load %3, %2, %1 width=4
  %7 = vset %6, %1 imm=1
  %8:v32 = load %4, %2, %1 width=4
  %9 = vset %8, %1 imm=2
  %10:v32 = fadd %6, %8 kind=f32
  %11 = vset %10, %1 imm=1
  %12 = store %5, %2, %1, %10 width=4`
	benchLoop(b, loopOf(s), 4, func(r *rig) {
		for i := range 3 {
			va := r.mem.base + uint64(i*8192)
			r.w.S[2+2*i], r.w.S[3+2*i] = uint32(va), uint32(va>>32)
		}
		for l := range 64 {
			r.v(0)[l] = uint32(l * 4)
		}
	})
}

// BenchmarkSGEMM is the inner step of a 64x64 tile: two LDS reads of four floats and 16 FMAs.
func BenchmarkSGEMM(b *testing.B) {
	var s strings.Builder
	s.WriteString(`  %1:m = mget imm=126
  %2:v32 = vget imm=0
  %3:v32 = vget imm=1
  %4:s32 = const imm=0
  %5:t4 = load %4, %2, %1 space=lds width=16
  %6:t4 = load %4, %3, %1 space=lds width=16 imm=2048
`)
	for i := range 4 {
		fmt.Fprintf(&s, "  %%%d:v32 = elem %%5 imm=%d\n  %%%d:v32 = elem %%6 imm=%d\n", 10+i, i, 20+i, i)
	}
	for i := range 16 {
		fmt.Fprintf(&s, "  %%%d:v32 = vget imm=%d\n  %%%d:v32 = fma %%%d, %%%d, %%%d kind=f32 fp=rne+ieee+dx10\n  %%%d = vset %%%d, %%1 imm=%d\n",
			30+3*i, 40+i, 31+3*i, 10+i/4, 20+i%4, 30+3*i, 32+3*i, 31+3*i, 40+i)
	}
	begin := cpuSeconds()
	benchLoop(b, loopOf(s.String()), 18, func(r *rig) {
		for i := range r.lds {
			if i%4 == 3 {
				r.lds[i] = 0x3f
			} else {
				r.lds[i] = byte(i)
			}
		}
		for l := range 64 {
			r.v(0)[l], r.v(1)[l] = uint32(l/16*16), uint32(l%16*16)
		}
	})
	b.ReportMetric(float64(b.N)*1000*16*64*2/(cpuSeconds()-begin)/1e9, "GFLOP/s")
}

// BenchmarkAddressing is the integer work around a memory access.
func BenchmarkAddressing(b *testing.B) {
	s := `  %1:m = mget imm=126
  %2:v32 = vget imm=0
  %3:s32 = sget imm=2
  %4:v32 = mul %2, %3
  %5:v32 = const imm=2
  %6:v32 = shl %4, %5
  %7:v32 = vget imm=1
  %8:v32 = add %6, %7
  %9:m = carryadd %6, %7
  %10:v32 = const imm=0
  %11:v32 = select %9, %2, %10
  %12 = vset %8, %1 imm=4
  %13 = vset %11, %1 imm=5
  %14:m = icmp %8, %2 pred=slt
  %15:m = mand %14, %1
  %16 = mset %15 imm=106`
	benchLoop(b, loopOf(s), 6, nil)
}

// BenchmarkFMA64 is four independent chains in f64.
func BenchmarkFMA64(b *testing.B) {
	var s strings.Builder
	s.WriteString("  %1:m = mget imm=126\n  %2:v32 = vget imm=20\n  %3:v32 = vget imm=21\n  %4:v64 = pair %2, %3\n")
	for i := range 4 {
		n := 10 + 10*i
		fmt.Fprintf(&s, "  %%%d:v32 = vget imm=%d\n  %%%d:v32 = vget imm=%d\n  %%%d:v64 = pair %%%d, %%%d\n", n, 2*i, n+1, 2*i+1, n+2, n, n+1)
		fmt.Fprintf(&s, "  %%%d:v64 = fma %%%d, %%4, %%4 kind=f64\n  %%%d:v32 = lo %%%d\n  %%%d:v32 = hi %%%d\n", n+3, n+2, n+4, n+3, n+5, n+3)
		fmt.Fprintf(&s, "  %%%d = vset %%%d, %%1 imm=%d\n  %%%d = vset %%%d, %%1 imm=%d\n", n+6, n+4, 2*i, n+7, n+5, 2*i+1)
	}
	benchLoop(b, loopOf(s.String()), 4, func(r *rig) {
		for l := range 64 {
			for i := range 4 {
				x := math.Float64bits(float64(l+i) * 1.37)
				r.v(2 * i)[l], r.v(2*i + 1)[l] = uint32(x), uint32(x>>32)
			}
			x := math.Float64bits(0.7)
			r.v(20)[l], r.v(21)[l] = uint32(x), uint32(x>>32)
		}
	})
}
