package interp

import (
	"math"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
)

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

// TestSignedOffsetsChangeSign: lanes one behind the other whose offsets go from 2^31-1 to -2^31 are not one range.
func TestSignedOffsetsChangeSign(t *testing.T) {
	r := newRig(t, body("64", `
  %0:s64 = sget64 imm=2
  %1:v32 = vget imm=0
  %2:m = mget imm=126
  %3:v32 = load %0, %1, %2 width=4 imm=0x8000000000000000 @12
  %4 = vset %3, %2 imm=1`))
	base := r.mem.base + 4096 - 0x7fffff80
	r.w.S[2], r.w.S[3] = uint32(base), uint32(base>>32)
	for l := range 64 {
		r.v(0)[l] = 0x7fffff80 + 4*uint32(l)
	}
	r.run(t, ir.ExitFault)
	if want := r.mem.base + 4096 + 128 - 1<<32; r.w.Fault.Lane != 32 || r.w.Fault.VA != want {
		t.Fatalf("fault %+v, want one of lane 32 at %#x", r.w.Fault, want)
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
