package isa

import "testing"

// TestLoad reads all rows and builds the decoders of all targets.
func TestLoad(t *testing.T) {
	tb := newTables()
	for _, x := range tb.targets {
		if x.decoder() == nil {
			t.Errorf("%s has no decoder", x.Name)
		}
	}
	all := tb.all()
	for _, line := range lines(readTab("vopd.isa")) {
		if name := word(line, 0); all.byName[name] == nil {
			t.Errorf("vopd.isa: unknown instruction %q", name)
		}
	}
	for id, op := range all.ops {
		if op.ID != id {
			t.Errorf("%s: ID %d at %d", op.Name, op.ID, id)
		}
	}
}

// BenchmarkLoad makes the decoder of one target.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, x := range newTables().targets {
			if x.Name == "gfx90a" {
				x.decoder()
			}
		}
	}
}
