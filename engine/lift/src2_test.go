package lift_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// TestSrc2 runs LDS instructions whose second operand is in LDS, with both ways to say where.
func TestSrc2(t *testing.T) {
	f32 := func(b uint64) float64 { return float64(math.Float32frombits(uint32(b))) }
	for _, c := range []struct {
		name  string
		bytes int
		want  func(a, b uint64) uint64
	}{
		{"ds_add_src2_u32", 4, func(a, b uint64) uint64 { return a + b }},
		{"ds_sub_src2_u32", 4, func(a, b uint64) uint64 { return a - b }},
		{"ds_rsub_src2_u32", 4, func(a, b uint64) uint64 { return b - a }},
		{"ds_min_src2_i32", 4, func(a, b uint64) uint64 { return uint64(min(int32(a), int32(b))) }},
		{"ds_max_src2_u64", 8, func(a, b uint64) uint64 { return max(a, b) }},
		{"ds_xor_src2_b64", 8, func(a, b uint64) uint64 { return a ^ b }},
		{"ds_write_src2_b32", 4, func(_, b uint64) uint64 { return b }},
		{"ds_write_src2_b64", 8, func(_, b uint64) uint64 { return b }},
		{"ds_max_src2_f32", 4, func(a, b uint64) uint64 { return uint64(math.Float32bits(float32(max(f32(a), f32(b))))) }},
		{"ds_add_src2_f32", 4, func(a, b uint64) uint64 { return uint64(math.Float32bits(float32(f32(a) + f32(b)))) }},
	} {
		for _, cpu := range []string{"gfx906", "gfx1010"} {
			for _, dwords := range []int{256, -200} {
				for _, inAddress := range []bool{false, true} {
					m := newMachine(t, cpu, 64)
					lds := m.lds
					rnd := rand.New(rand.NewPCG(1, uint64(len(c.name))))
					for i := 0; i+4 <= len(lds); i += 4 {
						binary.LittleEndian.PutUint32(lds[i:], math.Float32bits(rnd.Float32()*100)^rnd.Uint32()&0x80000000)
					}
					get := func(at int) uint64 {
						if c.bytes == 8 {
							return binary.LittleEndian.Uint64(lds[at:])
						}
						return uint64(binary.LittleEndian.Uint32(lds[at:]))
					}
					var want [64]uint64
					off := dwords & 0x7fff
					for l := range 64 {
						at := 1024 + l*8
						m.w.VGPR(1)[l] = uint32(at)
						if inAddress {
							m.w.VGPR(1)[l] |= uint32(dwords) << 17
							off = 0x8000
						}
						want[l] = c.want(get(at), get(at+4*dwords))
					}
					tg := isa.TargetByName(cpu).Wave(64)
					code, err := isa.Assemble(tg, fmt.Sprintf("%s v1 offset:%d", c.name, off))
					if err != nil {
						t.Fatal(err)
					}
					end, _ := isa.Assemble(tg, "s_endpgm")
					m.w.SetEXEC(^uint64(0))
					if x := m.run(append(code, end...)); x != ir.ExitEndPgm {
						t.Fatalf("%s: %v %s", c.name, x, m.w.Illegal)
					}
					for l := range 64 {
						w := want[l]
						if c.bytes == 4 {
							w = uint64(uint32(w))
						}
						if got := get(1024 + l*8); got != w {
							t.Fatalf("%s on %s, %d dwords on: lane %d is %#x, want %#x", c.name, cpu, dwords, l, got, w)
						}
					}
				}
			}
		}
	}
}
