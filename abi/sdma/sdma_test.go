package sdma

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func length(t *rapid.T, w []uint32) {
	count := uint32(0)
	if len(w) > 3 {
		count = w[3]
	}
	if n, ok := Dwords(Header(w[0]), count); !ok || n != len(w) {
		t.Fatalf("%s: %d dwords, said %d %v", Header(w[0]).Op(), len(w), n, ok)
	}
}

func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u64 := func(n string) uint64 { return rapid.Uint64().Draw(t, n) }
		u32 := func(n string, lo, hi uint32) uint32 { return rapid.Uint32Range(lo, hi).Draw(t, n) }
		c := Copy{Src: u64("src"), Dst: u64("dst"), Dst2: u64("dst2"), Bytes: u32("n", 1, 1<<30)}
		w := c.Append(nil)
		length(t, w)
		if got := ReadCopy(w); got != c {
			t.Fatalf("%+v %+v", c, got)
		}
		win := func(n string) Window {
			return Window{Addr: u64(n), X: u32(n+"x", 0, 0x3fff), Y: u32(n+"y", 0, 0x3fff), Z: u32(n+"z", 0, 0x1fff), Pitch: u32(n+"p", 1, 1<<19), Slice: u32(n+"s", 1, 1<<28)}
		}
		r := CopyRect{ElementLog2: uint8(u32("e", 0, 4)), Src: win("s"), Dst: win("d"), X: u32("x", 1, 1<<14), Y: u32("y", 1, 1<<14), Z: u32("z", 1, 1<<13)}
		w = r.Append(nil)
		length(t, w)
		if got := ReadCopyRect(w); got != r {
			t.Fatalf("%+v %+v", r, got)
		}
		f := Fill{Dst: u64("fd"), Data: u32("data", 0, 1<<32-1), Size: uint8(u32("size", 0, 2)), Bytes: 4 * u32("fn", 1, 1<<28)}
		w = f.Append(nil)
		length(t, w)
		if got := ReadFill(w); got != f {
			t.Fatalf("%+v %+v", f, got)
		}
		p := Poll{Addr: u64("pa"), Ref: u32("ref", 0, 1<<32-1), Mask: u32("mask", 0, 1<<32-1), Func: Compare(u32("f", 0, 7)), Memory: true, Interval: 10, Retries: 0xfff}
		w = p.Append(nil)
		length(t, w)
		if got := ReadPoll(w); got != p {
			t.Fatalf("%+v %+v", p, got)
		}
		a := Atomic{Op: AtomicAdd64, Addr: u64("aa"), Src: u64("as"), Cmp: u64("ac"), Loop: rapid.Bool().Draw(t, "loop")}
		w = a.Append(nil)
		length(t, w)
		if got := ReadAtomic(w); got != a {
			t.Fatalf("%+v %+v", a, got)
		}
		data := rapid.SliceOfN(rapid.Uint32(), 1, 9).Draw(t, "data")
		w = AppendWrite(nil, u64("wd"), data)
		length(t, w)
		if !reflect.DeepEqual(w[4:], data) {
			t.Fatal(w)
		}
		for _, w := range [][]uint32{AppendFence(nil, 1, 2), AppendTrap(nil, 3), AppendTimestamp(nil, 4), AppendIndirect(nil, 5, 6), AppendCondExe(nil, 7, 8, 9),
			AppendHDPFlush(nil), AppendGCR(nil, 0x7ffff), AppendNop(nil, 1+rapid.IntRange(0, 20).Draw(t, "nop"))} {
			length(t, w)
		}
	})
}

// What ROCr's packets look like in memory (kernel-abi.md §5.5).
func TestAsMeasured(t *testing.T) {
	if w := AppendHDPFlush(nil); !reflect.DeepEqual(w, []uint32{8, 0, 0x80000000, 0, 0, 0}) {
		t.Errorf("%#x", w)
	}
	if w := (Atomic{Op: 47, Addr: 0x10, Src: ^uint64(0)}).Append(nil); w[0] != 10|47<<25 || w[3] != 0xffffffff {
		t.Errorf("%#x", w)
	}
	if w := (Copy{Bytes: 0x3fffe0}).Append(nil); w[0] != 1 || w[1] != 0x3fffdf || len(w) != 7 {
		t.Errorf("%#x", w)
	}
}

func TestAtomicApply(t *testing.T) {
	for _, c := range []struct {
		op                  AtomicOp
		old, src, cmp, want uint64
	}{
		{AtomicAdd64, 1, ^uint64(0), 0, 0},
		{AtomicAdd32, 0xffffffff, 2, 0, 1},
		{AtomicSMin32, 0xffffffff, 2, 0, 0xffffffff},
		{AtomicUMin32, 0xffffffff, 2, 0, 2},
		{AtomicSMax32 + Atomic64, ^uint64(0), 2, 0, 2},
		{AtomicInc32, 5, 5, 0, 0}, {AtomicInc32, 4, 5, 0, 5},
		{AtomicDec32, 0, 5, 0, 5}, {AtomicDec32, 7, 5, 0, 5}, {AtomicDec32, 3, 5, 0, 2},
		{AtomicCmpSwap32, 3, 5, 3, 5}, {AtomicCmpSwap32, 3, 5, 4, 3},
		{AtomicSwap32 + 64, 3, 5, 4, 5},
	} {
		if got := c.op.Apply(c.old, c.src, c.cmp); got != c.want {
			t.Errorf("%d(%#x, %#x): %#x, want %#x", c.op, c.old, c.src, got, c.want)
		}
	}
}
