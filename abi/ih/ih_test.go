package ih

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.Uint32()
		e := Entry{
			Client: Client(u.Draw(t, "client")), Source: Source(u.Draw(t, "source")), RingID: uint8(u.Draw(t, "ring")),
			VMID: uint8(u.Draw(t, "vmid")) & 15, VMHub: rapid.Bool().Draw(t, "hub"), PASID: uint16(u.Draw(t, "pasid")),
			Timestamp: rapid.Uint64Range(0, 1<<48-1).Draw(t, "ts"), Node: uint8(u.Draw(t, "node")),
			Data: [4]uint32{u.Draw(t, "0"), u.Draw(t, "1"), u.Draw(t, "2"), u.Draw(t, "3")},
		}
		var b [EntryBytes]byte
		e.Encode(b[:])
		if got := Decode(b[:]); got != e {
			t.Fatalf("%+v became %+v", e, got)
		}
		m0 := u.Draw(t, "m0") & 0xffffff
		sq := SQMessage(8, 1, m0)
		if d, enc := sq.SQData(); d != m0 || enc != SQWave {
			t.Fatalf("m0 %#x became %#x, encoding %d", m0, d, enc)
		}
		va := rapid.Uint64Range(0, 1<<36-1).Draw(t, "va") << 12
		f := VMFault(8, 1, va, FaultNotPresent, FaultWrite|FaultRetry)
		if f.FaultVA() != va {
			t.Fatalf("fault at %#x became %#x", va, f.FaultVA())
		}
	})
}

func TestKnownWords(t *testing.T) {
	e := VMFault(8, 0x8001, 0x7f12_3456_7000, FaultNotPresent, FaultWrite)
	var b [EntryBytes]byte
	e.Encode(b[:])
	want := [EntryBytes]byte{0x1b, 0, 8, 8, 12: 1, 13: 0x80, 16: 0x67, 17: 0x45, 18: 0x23, 19: 0xf1, 20: 0x27}
	if b != want {
		t.Errorf("% x\nwant % x", b, want)
	}
}
