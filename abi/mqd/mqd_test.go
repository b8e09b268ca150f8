package mqd

import (
	"testing"

	"pgregory.net/rapid"
)

var gens = []Gen{V9, V10, V11, V12}

func TestComputeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(gens).Draw(t, "gen")
		u64 := func(n string, shift uint) uint64 { return rapid.Uint64Range(0, 1<<40-1).Draw(t, n) << shift }
		u32 := func(n string) uint32 { return rapid.Uint32().Draw(t, n) }
		c := Compute{
			MQDAddr: u64("mqd", 0), RingBase: u64("ring", 8), RingBytes: 1 << rapid.IntRange(3, 31).Draw(t, "size"),
			RptrAddr: u64("rptr", 3), WptrAddr: u64("wptr", 3), DoorbellDword: rapid.Uint32Range(0, 1<<26-1).Draw(t, "db"),
			VMID: uint8(rapid.IntRange(0, 15).Draw(t, "vmid")), AQL: rapid.Bool().Draw(t, "aql"),
			PipePriority: 2, QueuePriority: 15, EOPBase: u64("eop", 8), EOPBytes: 1 << rapid.IntRange(4, 13).Draw(t, "eopsize"),
			CtxSaveBase: u64("cwsr", 0), CtxSaveBytes: u32("cs"), CtlStackBytes: u32("ctl"), CtlStackOffset: u32("cso"),
			WGStateOffset: u32("wgo"), CUMask: [8]uint32{u32("m0"), 1, 2, 3, 4, 5, 6, u32("m7")},
			Active: rapid.Bool().Draw(t, "active"), Rptr: u32("rp"), Wptr: u64("wp", 0),
		}
		c.NoUpdateRptr = c.AQL && rapid.Bool().Draw(t, "nur")
		w := make([]uint32, ComputeWords)
		if err := c.Encode(g, w); err != nil {
			t.Fatal(err)
		}
		got, err := DecodeCompute(g, w)
		if err != nil || got != c {
			t.Fatalf("%v\n%+v became\n%+v", err, c, got)
		}
	})
}

func TestSDMARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(gens).Draw(t, "gen")
		u64 := func(n string, shift uint) uint64 { return rapid.Uint64Range(0, 1<<40-1).Draw(t, n) << shift }
		s := SDMA{
			RingBase: u64("ring", 8), RingBytes: 1 << rapid.IntRange(2, 31).Draw(t, "size"), RptrAddr: u64("r", 0), WptrAddr: u64("w", 0),
			DoorbellDword: rapid.Uint32Range(0, 1<<26-1).Draw(t, "db"), VMID: 9, Active: rapid.Bool().Draw(t, "a"),
			Engine: 1, Queue: 7, Rptr: u64("rp", 0), Wptr: u64("wp", 0),
		}
		w := make([]uint32, SDMAWords)
		if err := s.Encode(g, w); err != nil {
			t.Fatal(err)
		}
		got, err := DecodeSDMA(g, w)
		if err != nil || got != s {
			t.Fatalf("%v\n%+v became\n%+v", err, s, got)
		}
	})
}

// Word numbers as compiled from v9_structs.h to v12_structs.h.
func TestOffsets(t *testing.T) {
	c := Compute{RingBase: 0x1_0000_0100, RingBytes: 4096 * 64, RptrAddr: 0x2_0000_0080, WptrAddr: 0x2_0000_0038,
		DoorbellDword: 0x402, VMID: 8, AQL: true, NoUpdateRptr: true, EOPBytes: 4096, CUMask: [8]uint32{4: 0xaa}}
	w := make([]uint32, ComputeWords)
	for _, g := range gens {
		if err := c.Encode(g, w); err != nil {
			t.Fatal(err)
		}
		se4 := 39
		if g >= V11 {
			se4 = 44
		}
		for i, v := range map[int]uint32{0: 0xC0310800, 131: 8, 136: 0x1000001, 139: 0x80, 140: 2, 141: 0x38, 142: 2, 181: 1,
			143: 0x402<<2 | 1<<30 | 2, 145: 15 | 5<<8 | 1<<14 | 1<<16 | 2<<18 | 1<<27, 167: 9, se4: 0xaa, 135: 0x111} {
			if w[i] != v {
				t.Errorf("v%d word %d: %#x, want %#x", g, i, w[i], v)
			}
		}
	}
	s := SDMA{RptrAddr: 0x5_0000_0008, WptrAddr: 0x6_0000_0010, RingBytes: 1 << 20}
	at := map[Gen][6]int{V9: {9, 8, 29, 28, 18, 22}, V10: {9, 8, 29, 28, 18, 22}, V11: {8, 7, 27, 26, 17, 19}, V12: {9, 10, 27, 26, 15, 17}}
	for g, a := range at {
		if err := s.Encode(g, w); err != nil {
			t.Fatal(err)
		}
		if w[a[0]] != 8 || w[a[1]] != 5 || w[a[2]] != 0x10 || w[a[3]] != 6 || w[a[4]] != 1<<28 {
			t.Errorf("v%d: %v", g, w[:32])
		}
		if w[0] != 18<<1|1<<12|6<<16 {
			t.Errorf("v%d: RB_CNTL %#x", g, w[0])
		}
	}
}

func TestBadMQD(t *testing.T) {
	w := make([]uint32, ComputeWords)
	if _, err := DecodeCompute(V9, w); err == nil {
		t.Error("an MQD without header was accepted")
	}
	if _, err := DecodeCompute(V9, w[:10]); err == nil {
		t.Error("a short MQD was accepted")
	}
	if err := (&Compute{RingBytes: 3}).Encode(V9, w); err == nil {
		t.Error("a ring of 3 bytes was accepted")
	}
	if err := (&SDMA{}).Encode(8, w); err == nil {
		t.Error("generation 8 was accepted")
	}
}
