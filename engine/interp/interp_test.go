package interp

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
)

func TestVectorAddMasked(t *testing.T) {
	for _, lanes := range []int{32, 64} {
		r := newRig(t, body(fmt.Sprint(lanes), `
  %0:v32 = vget imm=0
  %1:v32 = vget imm=1
  %2:m = mget imm=126
  %3:v32 = add %0, %1
  %4 = vset %3, %2 imm=1
  %5:v32 = vget imm=1
  %6:v32 = add %5, %5
  %7 = vset %6, %2 imm=2`))
		r.w.SetEXEC(0xf0f0f0f0_0ff00ff0 & (^uint64(0) >> (64 - uint(lanes))))
		for l := range lanes {
			r.v(0)[l], r.v(1)[l], r.v(2)[l] = uint32(l), 1000, 7
		}
		r.run(t, ir.ExitEndPgm)
		for l := range lanes {
			want1, want2 := uint32(1000), uint32(7)
			if r.w.EXEC()>>uint(l)&1 != 0 {
				want1 = 1000 + uint32(l)
				want2 = 2 * want1
			}
			if r.v(1)[l] != want1 || r.v(2)[l] != want2 {
				t.Fatalf("wave%d lane %d: v1 = %d, v2 = %d; want %d, %d", lanes, l, r.v(1)[l], r.v(2)[l], want1, want2)
			}
		}
	}
}

// A register that is overwritten while its old value is still wanted must be copied; a fused write must not come early.
func TestRegisterReuse(t *testing.T) {
	r := newRig(t, body("64", `
  %0:v32 = vget imm=0
  %1:v32 = vget imm=1
  %2:m = mget imm=126
  %3:v32 = add %0, %1
  %4:v32 = sub %0, %1
  %5 = vset %3, %2 imm=0
  %6 = vset %4, %2 imm=1
  %7:v32 = xor %0, %1
  %8 = vset %7, %2 imm=2`))
	for l := range 64 {
		r.v(0)[l], r.v(1)[l] = uint32(l*3), uint32(l)
	}
	r.run(t, ir.ExitEndPgm)
	for l := range uint32(64) {
		if r.v(0)[l] != l*4 || r.v(1)[l] != l*2 || r.v(2)[l] != l*3^l {
			t.Fatalf("lane %d: %d %d %d", l, r.v(0)[l], r.v(1)[l], r.v(2)[l])
		}
	}
}

// Reversing lanes in place: the result is the operand's register.
func TestCrossLaneInPlace(t *testing.T) {
	var rev []string
	for l := range 64 {
		rev = append(rev, fmt.Sprint(63-l))
	}
	r := newRig(t, body("64", `
  %0:v32 = vget imm=0
  %1:m = mget imm=126
  %2:v32 = permconst %0 perm=`+strings.Join(rev, ",")+`
  %3 = vset %2, %1 imm=0
  %4:v32 = vget imm=0
  %5:s32 = const imm=5
  %6:s32 = readlane %4, %5
  %7 = sset %6 imm=3
  %8:s32 = readfirst %4, %1
  %9 = sset %8 imm=4
  %10:v32 = const imm=8
  %11:v32 = laneid
  %12:v32 = add %11, %10
  %13:v32 = bpermute %4, %12, %1
  %14 = vset %13, %1 imm=1
  %15:v32 = permute %4, %12, %1
  %16 = vset %15, %1 imm=2
  %17:s32 = const imm=4294967295
  %18:v32 = const imm=0
  %19:v32 = mbcntlo %17, %18
  %20:v32 = mbcnthi %17, %19
  %21 = vset %20, %1 imm=3`))
	for l := range 64 {
		r.v(0)[l] = uint32(l)
	}
	r.w.SetEXEC(^uint64(1))
	r.run(t, ir.ExitEndPgm)
	for l := range uint32(64) {
		want := 63 - l
		if l == 0 {
			want = 0
		}
		if r.v(0)[l] != want || l > 0 && r.v(3)[l] != l {
			t.Fatalf("lane %d: v0 %d want %d, mbcnt %d", l, r.v(0)[l], want, r.v(3)[l])
		}
		src := (l + 8) & 63
		w1 := 63 - src
		if src == 0 {
			w1 = 0 // inactive source
		}
		if l > 0 && r.v(1)[l] != w1 {
			t.Fatalf("bpermute lane %d = %d, want %d", l, r.v(1)[l], w1)
		}
		from := (l - 8) & 63
		w2 := 63 - from
		if from == 0 {
			w2 = 0 // lane 0 pushes nothing
		}
		if l > 0 && r.v(2)[l] != w2 {
			t.Fatalf("permute lane %d = %d, want %d", l, r.v(2)[l], w2)
		}
	}
	if r.w.S[3] != 58 || r.w.S[4] != 62 {
		t.Errorf("readlane %d, readfirst %d", r.w.S[3], r.w.S[4])
	}
}

const loop = `func 0 lanes=64
b0 @0 insts=1:
  %0:s32 = const imm=0
  %1 = sset %0 imm=8
  jump b1 @0
b1 @4 insts=3:
  %2:s32 = sget imm=8
  %3:s32 = const imm=1
  %4:s32 = add %2, %3
  %5 = sset %4 imm=8
  %6:s32 = sget imm=9
  %7:s1 = icmp %4, %6 pred=ult
  branch %7 b1 b2 @12
b2 @16 insts=1:
  exit endpgm @16
`

func TestFuelAndResume(t *testing.T) {
	r := newRig(t, loop)
	r.w.S[9] = 1000
	for runs := 1; ; runs++ {
		r.w.Fuel = 300
		got := r.wk.Run(r.w)
		if got == ir.ExitEndPgm {
			if r.w.S[8] != 1000 || runs != 10 {
				t.Errorf("counted to %d in %d runs", r.w.S[8], runs)
			}
			return
		}
		if got != ir.ExitFuel || r.w.PC != r.mem.base+4 {
			t.Fatalf("exit %v at %#x", got, r.w.PC)
		}
	}
}

func TestExits(t *testing.T) {
	r := newRig(t, `func 0 lanes=64
b0 @0 insts=1:
  exit barrier next=4 @0
b1 @4 insts=1:
  exit trap imm=2 next=8 @4
b2 @8 insts=1:
  %0:s64 = sget64 imm=0
  exit indirect %0 next=12 @8
b3 @12 insts=1:
  exit illegal text="v_bogus" next=16 @12
`)
	r.run(t, ir.ExitBarrier)
	if r.w.PC != r.mem.base+4 {
		t.Fatalf("barrier resumes at %#x", r.w.PC)
	}
	r.run(t, ir.ExitTrap)
	if r.w.PC != r.mem.base+4 || r.w.Arg != 2 {
		t.Fatalf("trap %d at %#x", r.w.Arg, r.w.PC)
	}
	r.w.PC += 4
	target := r.mem.base + 12
	r.w.S[0], r.w.S[1] = uint32(target), uint32(target>>32)
	r.run(t, ir.ExitIllegal)
	if r.w.PC != target || r.w.Illegal != "v_bogus" {
		t.Fatalf("illegal %q at %#x", r.w.Illegal, r.w.PC)
	}
	r.w.PC = 0x1000
	r.run(t, ir.ExitFault)
	if r.w.Fault.Access != mem.Exec || r.w.Fault.VA != 0x1000 {
		t.Fatalf("fault %+v", r.w.Fault)
	}
}

func TestUnknownAndOutOfRangeStop(t *testing.T) {
	r := newRig(t, body("64", `
  %0:v32 = const imm=1
  %1:v32 = sad %0, %0, %0 kind=f64 @4`))
	r.run(t, ir.ExitIllegal)
	if !strings.Contains(r.w.Illegal, "sad") || r.w.PC != r.mem.base+4 {
		t.Errorf("%q at %#x", r.w.Illegal, r.w.PC)
	}
	r = newRig(t, body("64", `
  %0:v32 = vget imm=300
  %1:m = mget imm=126
  %2 = vset %0, %1 imm=0`))
	r.run(t, ir.ExitIllegal)
	if !strings.Contains(r.w.Illegal, "v300") {
		t.Errorf("%q", r.w.Illegal)
	}
}

func TestSplitMasksAndScalars(t *testing.T) {
	r := newRig(t, body("64", `
  %0:m = mget imm=126
  %1:v32 = vget imm=0
  %2:s32 = const imm=32
  %3:m = icmp %1, %2 pred=ult
  %4:m = mand %3, %0
  %5:s64 = mtos %4
  %6 = sset64 %5 imm=10
  %7:s64 = popcnt %5
  %8:s32 = lo %7
  %9 = sset %8 imm=12
  %10:m = mnot %4
  %11 = mset %10 imm=14
  %12:s32 = hi %5
  %13 = sset %12 imm=16
  %14:s1 = misz %4
  %15:s32 = btos %14
  %16 = sset %15 imm=17
  %17:s64 = pair %12, %8
  %18 = sset64 %17 imm=18`))
	for l := range 64 {
		r.v(0)[l] = uint32(l) * 5 % 64
	}
	var want uint64
	for l := range 64 {
		if r.v(0)[l] < 32 {
			want |= 1 << uint(l)
		}
	}
	r.run(t, ir.ExitEndPgm)
	s := func(n int) uint64 { return uint64(r.w.S[n]) | uint64(r.w.S[n+1])<<32 }
	if s(10) != want || r.w.S[12] != uint32(bits.OnesCount64(want)) || s(14) != ^want || r.w.S[16] != uint32(want>>32) || r.w.S[17] != 0 ||
		s(18) != want>>32|32<<32 {
		t.Errorf("masks: %#x count %d not %#x hi %#x misz %d pair %#x; mask should be %#x", s(10), r.w.S[12], s(14), r.w.S[16], r.w.S[17], s(18), want)
	}
}
