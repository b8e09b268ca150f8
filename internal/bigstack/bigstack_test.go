package bigstack

import "testing"

func BenchmarkReserve(b *testing.B) {
	for b.Loop() {
		Reserve()
	}
}
