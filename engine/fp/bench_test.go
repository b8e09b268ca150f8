package fp

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

func BenchmarkFMA32(b *testing.B) {
	x, y, z := uint32(0x3f800001), uint32(0x3f812345), uint32(0x3f000000)
	for b.Loop() {
		z, _ = FastFMA32(x, y, z)
		z &= 0x3fffffff
	}
}

func BenchmarkFMASlow(b *testing.B) {
	for b.Loop() {
		FMA(ir.F32, 3, 0x3f800001, 0x3f812345, 0x3f000000)
	}
}

func BenchmarkF16(b *testing.B) {
	for b.Loop() {
		FMA(ir.F16, 0, 0x3c01, 0x3c12, 0x3800)
	}
}

func BenchmarkRcp(b *testing.B) {
	for b.Loop() {
		Rcp(ir.F32, 0, 0x3f812345)
	}
}
