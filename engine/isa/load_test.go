package isa

import "testing"

// BenchmarkLoad makes the tables of all targets, and the decoder of one.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		t, err := loadTables()
		if err != nil {
			b.Fatal(err)
		}
		for _, x := range t.targets {
			if x.Name == "gfx90a" {
				x.decoder()
			}
		}
	}
}
