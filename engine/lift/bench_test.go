package lift

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/isa"
)

// BenchmarkLift lifts a block of ordinary vector code.
func BenchmarkLift(b *testing.B) {
	code := assemble(b, "gfx90a", `
s_load_dwordx4 s[0:3], s[4:5], 0x0
v_lshlrev_b32_e32 v0, 2, v0
s_waitcnt lgkmcnt(0)
v_cmp_gt_u32_e32 vcc, s8, v0
s_and_saveexec_b64 s[10:11], vcc
global_load_dword v1, v0, s[0:1]
global_load_dword v2, v0, s[2:3]
s_waitcnt vmcnt(0)
v_add_f32_e32 v1, v1, v2
v_fma_f32 v3, v1, v2, v1
v_fma_f32 v4, v3, v2, v1
v_lshl_add_u32 v5, v4, 2, v0
v_mul_lo_u32 v6, v5, s9
v_add_co_u32_e32 v7, vcc, s0, v6
v_addc_co_u32_e32 v8, vcc, 0, v6, vcc
s_add_u32 s0, s0, 4
s_addc_u32 s1, s1, 0
s_cmp_lt_u32 s0, s9
global_store_dword v0, v1, s[2:3]
s_endpgm`)
	n := 0
	b.ReportAllocs()
	t := isa.TargetByName("gfx90a")
	for b.Loop() {
		f, err := Func(bytesAt{0x1000, code}, t, 0x1000, hipMode, 64)
		if err != nil {
			b.Fatal(err)
		}
		n += f.Blocks[0].Insts
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/inst")
}

// BenchmarkMeanings reads what all instructions mean.
func BenchmarkMeanings(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readMeanings(); err != nil {
			b.Fatal(err)
		}
	}
}
