package hostcpu

import "testing"

func TestParse(t *testing.T) {
	// A 48 KiB, 12-way data cache with 64-byte lines, private to a core of two threads; a fully associative second one.
	leaves := [][4]uint32{
		{1 | 1<<5 | 1<<8 | 1<<14, 11<<22 | 63, 63, 0},
		{3 | 2<<5 | 1<<9, 7<<22 | 63, 2047, 0},
		{0, 0, 0, 0},
	}
	got := parse(func(i uint32) (a, b, c, d uint32) { return leaves[i][0], leaves[i][1], leaves[i][2], leaves[i][3] })
	want := []Cache{
		{Level: 1, Type: Data, Size: 48 << 10, LineSize: 64, Ways: 12, Sets: 64, SharedBy: 2},
		{Level: 2, Type: Unified, Size: 1 << 20, LineSize: 64, Ways: 0, Sets: 2048, SharedBy: 1},
	}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
	endless := parse(func(uint32) (a, b, c, d uint32) { return 1 | 1<<5, 0, 0, 0 })
	if len(endless) != maxCaches {
		t.Errorf("%d caches of a processor that never ends", len(endless))
	}
}

func TestParseOld(t *testing.T) {
	// 32 KiB and 8 ways, twice; 512 KiB and 8 ways; 16 MiB and 16 ways.
	got := parseOld(32<<24|8<<16|64, 32<<24|8<<16|64, 512<<16|6<<12|64, 32<<18|8<<12|64)
	want := Cache{Level: 3, Type: Unified, Size: 16 << 20, LineSize: 64, Ways: 16, Sets: 16384, SharedBy: 1}
	if len(got) != 4 || got[3] != want || got[0].Type != Data || got[1].Type != Instruction || got[2].Size != 512<<10 {
		t.Errorf("got %+v", got)
	}
	if got := parseOld(0, 0, 0, 0); len(got) != 0 {
		t.Errorf("caches of a processor that has none: %+v", got)
	}
}

func TestThisMachine(t *testing.T) {
	for _, c := range Caches() {
		if c.Level < 1 || c.Size < c.LineSize || c.LineSize < 16 {
			t.Errorf("implausible: %+v", c)
		}
		t.Logf("%+v", c)
	}
}
