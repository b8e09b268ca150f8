package machine

import "github.com/pumice-gpu/pumice/abi/codeobj"

// Saxpy returns a gfx90a code object with one kernel, for a demonstration that needs no compiler. It is of version 4, which AMD's 5.2.3 takes too:
//
//	__global__ void saxpy(const float *x, float *y, float a, unsigned n) {
//		unsigned i = blockIdx.x * 256 + threadIdx.x;
//		if (i < n) y[i] = a * x[i] + y[i];
//	}
func Saxpy() []byte {
	target, err := codeobj.ParseTarget("gfx90a")
	if err != nil {
		panic(err) // it is in the table
	}
	b := codeobj.Builder{Target: target, Version: 4, Kernels: []codeobj.BuiltKernel{{
		Name: "saxpy",
		Code: []uint32{
			0xc0060002, 0x00000010, // s_load_dwordx2 s[0:1], s[4:5], 0x10      a, n
			0xd1fd0000, 0x04011006, // v_lshl_add_u32 v0, s6, 8, v0             i
			0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
			0x7d980001,             // v_cmp_gt_u32 vcc, s1, v0
			0xbe82206a,             // s_and_saveexec_b64 s[2:3], vcc
			0xbf880014,             // s_cbranch_execz end
			0xc00a0102, 0x00000000, // s_load_dwordx4 s[4:7], s[4:5], 0x0       x, y
			0x7e020280,             // v_mov_b32 v1, 0
			0xd28f0000, 0x00020082, // v_lshlrev_b64 v[0:1], 2, v[0:1]
			0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
			0x7e060205,             // v_mov_b32 v3, s5
			0x32040004,             // v_add_co_u32 v2, vcc, s4, v0
			0x38060303,             // v_addc_co_u32 v3, vcc, v3, v1, vcc
			0xdc508000, 0x027f0002, // global_load_dword v2, v[2:3], off        x[i]
			0x7e060207,             // v_mov_b32 v3, s7
			0x32000006,             // v_add_co_u32 v0, vcc, s6, v0
			0x38020303,             // v_addc_co_u32 v1, vcc, v3, v1, vcc
			0xdc508000, 0x037f0000, // global_load_dword v3, v[0:1], off        y[i]
			0xbf8c0f70,             // s_waitcnt vmcnt(0)
			0x76060400,             // v_fmac_f32 v3, s0, v2
			0xdc708000, 0x007f0300, // global_store_dword v[0:1], v3, off
			0xbf810000, // end: s_endpgm
		},
		// 8 VGPRs, 16 SGPRs, denormals kept, IEEE mode; 6 user SGPRs: private segment buffer, kernarg pointer; work-group id x.
		Desc: codeobj.Descriptor{RSRC1: 0x00af0040, RSRC2: 0x8c, Properties: codeobj.EnablePrivateSegmentBuffer | codeobj.EnableKernargSegmentPtr},
		Args: []codeobj.Arg{
			{Offset: 0, Size: 8, Kind: codeobj.GlobalBuffer}, {Offset: 8, Size: 8, Kind: codeobj.GlobalBuffer},
			{Offset: 16, Size: 4, Kind: codeobj.ByValue}, {Offset: 20, Size: 4, Kind: codeobj.ByValue},
		},
	}}}
	return b.Bytes()
}
