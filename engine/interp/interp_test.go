package interp

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lane"
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

func TestGlobalMemory(t *testing.T) {
	for _, c := range []struct {
		name   string
		off    func(l int) uint32
		exec   uint64
		start  uint64
		stride int
	}{
		{"contiguous", func(l int) uint32 { return uint32(l * 16) }, ^uint64(0), 0, 16},
		{"contiguous over a page seam", func(l int) uint32 { return uint32(l * 16) }, ^uint64(0), 4096 - 100, 16},
		{"masked", func(l int) uint32 { return uint32(l * 16) }, 0x00ff00ff_f00f1248, 4096 - 256, 16},
		{"scattered", func(l int) uint32 { return uint32((l * 37 % 64) * 16) }, ^uint64(0), 64, 16},
		{"unaligned over a seam", func(l int) uint32 { return uint32(l * 33) }, ^uint64(0), 4096*2 - 331, 33},
	} {
		r := newRig(t, body("64", `
  %0:s64 = sget64 imm=2
  %1:v32 = vget imm=0
  %2:m = mget imm=126
  %3:t4 = load %0, %1, %2 width=16 @4
  %4:v32 = elem %3 imm=0
  %5:v32 = elem %3 imm=1
  %6:v32 = elem %3 imm=2
  %7:v32 = elem %3 imm=3
  %8 = vset %4, %2 imm=0
  %9 = vset %5, %2 imm=1
  %10 = vset %6, %2 imm=2
  %11 = vset %7, %2 imm=3
  %12:v32 = vget imm=10
  %13:s64 = sget64 imm=4
  %14 = store %13, %12, %2, %3 width=16 @8`))
		va, dst := r.mem.base+c.start, r.mem.base+32*4096+c.start
		r.w.S[2], r.w.S[3], r.w.S[4], r.w.S[5] = uint32(va), uint32(va>>32), uint32(dst), uint32(dst>>32)
		for i := range r.mem.buf[:16*4096] {
			r.mem.buf[i] = byte(i*7 + i>>8)
		}
		r.w.SetEXEC(c.exec)
		for l := range 64 {
			r.v(0)[l], r.v(10)[l] = c.off(l), c.off(l)
			r.v(1)[l] = 0xdead
		}
		r.run(t, ir.ExitEndPgm)
		for l := range 64 {
			at := int(c.start) + int(c.off(l))
			if c.exec>>uint(l)&1 == 0 {
				if r.v(1)[l] != 0xdead || r.v(0)[l] != c.off(l) {
					t.Fatalf("%s: inactive lane %d was written", c.name, l)
				}
				continue
			}
			for i := range 4 {
				if want := *r.mem.word(at + 4*i); r.v(i)[l] != want {
					t.Fatalf("%s: lane %d register %d = %#x, want %#x", c.name, l, i, r.v(i)[l], want)
				}
				if got, want := *r.mem.word(32*4096 + at + 4*i), r.v(i)[l]; got != want {
					t.Fatalf("%s: lane %d stored %#x, want %#x", c.name, l, got, want)
				}
			}
		}
		for l := range 64 {
			if c.exec>>uint(l)&1 == 0 && c.stride == 16 {
				if got := *r.mem.word(32*4096 + int(c.start) + int(c.off(l))); got != 0 {
					t.Fatalf("%s: inactive lane %d stored %#x", c.name, l, got)
				}
			}
		}
	}
}

// A fault says lane, address and PC, changes nothing, and the run resumes once the page is there.
func TestFaultIsPreciseAndResumes(t *testing.T) {
	r := newRig(t, `func 0 lanes=64
b0 @0 insts=2:
  %0:m = mget imm=126
  %1:v32 = vget imm=5
  %2:v32 = add %1, %1
  %3 = vset %2, %0 imm=6
  jump b1 @0
b1 @4 insts=1:
  %4:s64 = sget64 imm=2
  %5:v32 = vget imm=0
  %6:m = mget imm=126
  %7:v32 = load %4, %5, %6 width=4 @4
  %8 = vset %7, %6 imm=0
  %9:v32 = load %4, %5, %6 width=2 sign=1 @4
  exit endpgm @8
`)
	va := r.mem.base + 4096
	r.w.S[2], r.w.S[3] = uint32(va), uint32(va>>32)
	r.mem.hole[2] = true
	for l := range 64 {
		r.v(0)[l] = uint32(l * 80) // reaches the hole at lane 52
		*r.mem.word(4096 + l*80) = uint32(l) + 9
		r.v(5)[l] = 4
	}
	r.run(t, ir.ExitFault)
	want := mem.Fault{VA: va + 4160, Access: mem.Read, Kind: mem.FaultNotPresent, Lane: 52}
	if r.w.Fault != want || r.w.PC != r.mem.base+4 {
		t.Fatalf("fault %+v at %#x, want %+v at +4", r.w.Fault, r.w.PC, want)
	}
	for l := range 64 {
		if r.v(0)[l] != uint32(l*80) || r.v(6)[l] != 8 {
			t.Fatalf("lane %d: v0 = %d, v6 = %d after the fault", l, r.v(0)[l], r.v(6)[l])
		}
	}
	r.mem.hole[2] = false
	r.run(t, ir.ExitEndPgm)
	for l := range 64 {
		if r.v(0)[l] != uint32(l)+9 {
			t.Fatalf("lane %d: v0 = %d after resuming", l, r.v(0)[l])
		}
	}
}

func TestStoreFaultsBeforeWriting(t *testing.T) {
	r := newRig(t, body("64", `
  %0:s64 = sget64 imm=2
  %1:v32 = vget imm=0
  %2:m = mget imm=126
  %3 = store %0, %1, %2, %1 width=4 imm=0xffffffff00000000 @12`))
	va := r.mem.base
	r.w.S[2], r.w.S[3] = uint32(va), uint32(va>>32)
	r.mem.ro[1] = true
	for l := range 64 {
		r.v(0)[l] = uint32(l*64 + 1024)
	}
	r.run(t, ir.ExitFault)
	if r.w.Fault.Lane != 48 || r.w.Fault.Kind != mem.FaultReadOnly || r.w.PC != va+12 {
		t.Fatalf("fault %+v at %#x", r.w.Fault, r.w.PC)
	}
	for i := range 4096 {
		if r.mem.buf[i] != 0 {
			t.Fatalf("byte %d was written before the fault", i)
		}
	}
}

func TestFlatApertures(t *testing.T) {
	r := newRig(t, body("64", `
  %0:v32 = vget imm=0
  %1:v32 = vget imm=1
  %2:v64 = pair %0, %1
  %3:m = mget imm=126
  %4:v32 = vget imm=2
  %5 = store _, %2, %3, %4 space=flat width=4 imm=4
  %6:v32 = load _, %2, %3 space=flat width=4 imm=4
  %7 = vset %6, %3 imm=3
  %8:s32 = const imm=0
  %9:v32 = vget imm=4
  %10:v32 = load %8, %9, %3 space=lds width=4
  %11 = vset %10, %3 imm=5
  %12:v32 = atomic _, %2, %3, %4 space=flat width=4 atomic=add imm=4
  %13 = vset %12, %3 imm=6`))
	scratch := r.mem.base + 8*4096
	r.w.S[isa.SRegFlatScratchLo], r.w.S[isa.SRegFlatScratchHi] = uint32(scratch), uint32(scratch>>32)
	for l := range 64 {
		var a uint64
		switch l % 3 {
		case 0:
			a = r.mem.base + uint64(l*4)
		case 1:
			a = r.space.SharedBase + uint64(l*4)
		case 2:
			a = r.space.PrivateBase + 8
		}
		r.v(0)[l], r.v(1)[l], r.v(2)[l] = uint32(a), uint32(a>>32), uint32(l+1)
		r.v(4)[l] = uint32(l*4 + 4)
	}
	r.v(4)[1] = 4094 // not whole in LDS: reads 0
	r.v(4)[63] = 1 << 20
	r.run(t, ir.ExitEndPgm)
	for l := range 64 {
		if r.v(3)[l] != uint32(l+1) || r.v(6)[l] != uint32(l+1) {
			t.Errorf("lane %d read back %d, atomic old %d", l, r.v(3)[l], r.v(6)[l])
		}
		at := 8*4096 + 12*64 + l*4
		if got := *r.mem.word(at); l%3 == 2 && got != uint32(2*(l+1)) {
			t.Errorf("scratch lane %d holds %d at the swizzled place", l, got)
		}
		want := uint32(0)
		if l%3 == 1 && l != 1 {
			want = uint32(l + 1)
		}
		if r.v(5)[l] != want {
			t.Errorf("lane %d: LDS has %d, want %d", l, r.v(5)[l], want)
		}
	}
}

func TestAtomicsAddUp(t *testing.T) {
	r := newRig(t, body("64", `
  %0:s64 = sget64 imm=2
  %1:v32 = const imm=0
  %2:m = mget imm=126
  %3:v32 = vget imm=0
  %4:v32 = atomic %0, %1, %2, %3 width=4 atomic=add
  %5 = vset %4, %2 imm=1
  %6 = atomic %0, %1, %2, %3 width=4 atomic=fadd kind=f32 imm=8
  %7:v32 = atomic %0, %1, %2, %3 width=4 atomic=umax imm=16
  %8:s32 = const imm=64
  %9 = atomic %8, %1, %2, %3 space=lds width=4 atomic=inc`))
	r.w.S[2], r.w.S[3] = uint32(r.mem.base), uint32(r.mem.base>>32)
	r.w.SetEXEC(0x5555555555555555)
	for l := range 64 {
		r.v(0)[l] = math.Float32bits(1)
	}
	r.run(t, ir.ExitEndPgm)
	if got, want := *r.mem.word(0), uint32(32*0x3f800000&0xffffffff); got != want {
		t.Errorf("add left %#x, want %#x", got, want)
	}
	if got := math.Float32frombits(*r.mem.word(8)); got != 32 {
		t.Errorf("fadd left %v", got)
	}
	if r.lds[64] != 32 {
		t.Errorf("inc left %d", r.lds[64])
	}
	sum := uint32(0)
	for l := 0; l < 64; l += 2 {
		if r.v(1)[l] != sum {
			t.Fatalf("lane %d got old %#x, want %#x", l, r.v(1)[l], sum)
		}
		sum += 0x3f800000
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

func TestBlockParametersSwap(t *testing.T) {
	r := newRig(t, `func 0 lanes=64
b0 @0 insts=1:
  %0:v32 = vget imm=0
  %1:v32 = vget imm=1
  %2:s32 = const imm=3
  jump b1(%0, %1, %2) @0
b1 @4 insts=1 (%3:v32, %4:v32, %5:s32):
  %6:s32 = const imm=1
  %7:s32 = sub %5, %6
  %8:s1 = stob %7
  branch %8 b1(%4, %3, %7) b2(%3, %4) @4
b2 @8 insts=1 (%9:v32, %10:v32):
  %11:m = mget imm=126
  %12 = vset %9, %11 imm=2
  %13 = vset %10, %11 imm=3
  exit endpgm @8
`)
	for l := range 64 {
		r.v(0)[l], r.v(1)[l] = 10, 20
	}
	r.run(t, ir.ExitEndPgm)
	if r.v(2)[5] != 10 || r.v(3)[5] != 20 {
		t.Errorf("got %d %d after two swaps", r.v(2)[5], r.v(3)[5])
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

// The fast loops agree with package lane, for all arguments and under any mask, whether fused with a write or not.
func TestFastLoops(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func() uint32 {
		edge := []uint32{0, 1, 0x80000000, 0x7fffffff, 0xffffffff, 0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001, 0x3f800000, 31, 32, 0x4f000000, 0xcf000001, 0x4f7fffff, 0x7fefffff, 0x7ff00000, 1 << 22}
		if rnd.IntN(3) == 0 {
			return edge[rnd.IntN(len(edge))]
		}
		return rnd.Uint32() >> (rnd.UintN(4) * 8 & 31)
	}
	n := 0
	for op := ir.OpSplat; op < ir.NumOps; op++ {
		if !op.Pure() || op.Cross() {
			continue
		}
		for _, at := range []ir.Type{ir.V32, ir.V64} {
			for _, kind := range []ir.Kind{ir.KindNone, ir.F32, ir.F64, ir.F16, ir.I32, ir.U32} {
				if kind != 0 && !op.Float() {
					continue
				}
				for _, from := range []ir.Kind{ir.KindNone, ir.I32, ir.U32, ir.F32} {
					if from != 0 && op != ir.OpCvt || op == ir.OpCvt && (from == 0 || kind == 0) {
						continue
					}
					for _, rt := range []ir.Type{ir.V32, ir.V64, ir.M} {
						if tryOp(t, rnd, word, op, at, rt, kind, from) {
							n++
						}
					}
				}
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d operations were tested", n)
	}
}

// tryOp builds one operation over v0:v1, v2:v3, v4:v5 into v6:v7 and compares; it reports whether such an operation exists.
func tryOp(t *testing.T, rnd *rand.Rand, word func() uint32, op ir.Op, at, rt ir.Type, kind, from ir.Kind) bool {
	var text strings.Builder
	text.WriteString("  %0:m = mget imm=126\n")
	for i := range 6 {
		fmt.Fprintf(&text, "  %%%d:v32 = vget imm=%d\n", i+1, i)
	}
	for i := range 3 {
		fmt.Fprintf(&text, "  %%%d:v64 = pair %%%d, %%%d\n", 10+i, 1+2*i, 2+2*i)
	}
	v := ir.Value{Op: op, Type: rt, Kind: kind, From: from, Imm: uint64(rnd.IntN(31) + 1), Pred: ir.Pred(rnd.IntN(10))}
	if op == ir.OpFCmp {
		v.Pred = ir.FFalse + ir.Pred(rnd.IntN(16))
	}
	argType := []ir.Type{at, at, at, ir.M}
	if op == ir.OpSelect {
		argType = []ir.Type{ir.M, at, at}
	}
	if (op == ir.OpShl || op == ir.OpLShr || op == ir.OpAShr || op == ir.OpFLdexp) && at == ir.V64 {
		argType[1] = ir.V32
	}
	if op == ir.OpCarryAdd || op == ir.OpBorrow {
		argType[2] = ir.M
	}
	// The arity that verifies.
	var f *ir.Func
	arity := 0
	for ; arity <= 4; arity++ {
		var args []string
		for i, a := range argType[:min(arity, len(argType))] {
			switch a {
			case ir.V32:
				args = append(args, fmt.Sprintf("%%%d", 1+2*i))
			case ir.V64:
				args = append(args, fmt.Sprintf("%%%d", 10+i))
			case ir.M:
				args = append(args, "%0")
			}
		}
		s := text.String() + fmt.Sprintf("  %%20:%s = %s %s imm=%d pred=%s kind=%s from=%s\n", rt, op, strings.Join(args, ", "), v.Imm, v.Pred, kind, from)
		switch rt {
		case ir.V32:
			s += "  %21 = vset %20, %0 imm=6\n"
		case ir.V64:
			s += "  %22:v32 = lo %20\n  %23:v32 = hi %20\n  %24 = vset %22, %0 imm=6\n  %25 = vset %23, %0 imm=7\n"
		case ir.M:
			s += "  %21 = mset %20 imm=20\n"
		}
		g, err := ir.Parse(body("64", s))
		if err != nil {
			t.Fatal(err)
		}
		if ir.Verify(g) == nil {
			f = g
			break
		}
	}
	width := at.Width()
	if f == nil {
		return false
	}
	fn := lane.Func(&v, width)
	if fn == nil {
		return false
	}
	r := newRig(t, f.String())
	for _, exec := range []uint64{^uint64(0), 0x8000000f_fff0f001, 0} {
		for i := range 8 {
			for l := range 64 {
				r.v(i)[l] = word()
			}
		}
		if op == ir.OpFMA && kind == ir.F32 { // numbers of like size
			for i := range 6 {
				for l := range 40 {
					r.v(i)[l] = math.Float32bits(float32(rnd.IntN(9)-4) * 0.75)
				}
			}
		}
		var before [2][64]uint32
		copy(before[0][:], r.v(6))
		copy(before[1][:], r.v(7))
		r.w.SetEXEC(exec)
		r.w.PC = r.mem.base
		if e := r.wk.Run(r.w); e != ir.ExitEndPgm {
			t.Fatalf("%v: %s in\n%s", e, r.w.Illegal, f)
		}
		for l := range 64 {
			on := exec>>uint(l)&1 != 0
			var args [4]uint64
			for i := range arity {
				switch argType[i] {
				case ir.V32:
					args[i] = uint64(r.v(2 * i)[l])
				case ir.V64:
					args[i] = uint64(r.v(2 * i)[l]) | uint64(r.v(2*i + 1)[l])<<32
				case ir.M:
					args[i] = exec >> uint(l) & 1
				}
			}
			want := fn(args[0], args[1], args[2], args[3])
			var got uint64
			switch rt {
			case ir.M:
				got, want = (uint64(r.w.S[20])|uint64(r.w.S[21])<<32)>>uint(l)&1, want&1
			case ir.V32:
				got, want = uint64(r.v(6)[l]), uint64(uint32(want))
				if !on {
					want = uint64(before[0][l])
				}
			case ir.V64:
				got = uint64(r.v(6)[l]) | uint64(r.v(7)[l])<<32
				if !on {
					want = uint64(before[0][l]) | uint64(before[1][l])<<32
				}
			}
			if got != want {
				t.Errorf("%s %s->%s kind=%s from=%s imm=%d pred=%s lane %d exec %v: %#x %#x %#x gave %#x, want %#x", op, at, rt, kind, from, v.Imm, v.Pred, l, on, args[0], args[1], args[2], got, want)
				return true
			}
		}
	}
	return true
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

func TestScalarLoads(t *testing.T) {
	r := newRig(t, body("64", `
  %0:s64 = sget64 imm=2
  %1:ts4 = sload %0 space=const width=16 imm=0x1002
  %2:s32 = elem %1 imm=3
  %3 = sset %2 imm=10
  %4:s64 = sload %0 space=const width=8 imm=0x0ffc
  %5 = sset64 %4 imm=12
  %6:s32 = sload %0 space=const width=4 imm=0x99000 @40`))
	r.w.S[2], r.w.S[3] = uint32(r.mem.base), uint32(r.mem.base>>32)
	for i := range 8 {
		*r.mem.word(0xffc + i*4) = uint32(i + 1)
	}
	r.run(t, ir.ExitFault)
	if r.w.S[10] != 5 || r.w.S[12] != 1 || r.w.S[13] != 2 {
		t.Errorf("loads gave %d %d %d", r.w.S[10], r.w.S[12], r.w.S[13])
	}
	if r.w.Fault.Lane != -1 || r.w.PC != r.mem.base+40 {
		t.Errorf("fault %+v at %#x", r.w.Fault, r.w.PC)
	}
}
