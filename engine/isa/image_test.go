package isa

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestImageAddressForms assembles image instructions with llvm-mc and reads them back: scattered and partly scattered
// addresses, rays, 16-bit addresses and data. Random words seldom make these.
func TestImageAddressForms(t *testing.T) {
	requireLLVM(t)
	lines := map[string][]string{
		"gfx900": {
			"image_load v[4:6], v237, s[28:35] dmask:0x7 unorm",
			"image_load v4, v237, s[28:35] dmask:0x3 d16",
			"image_store v[4:7], v0, s[0:7] dmask:0xf unorm da",
			"image_sample v[4:7], v2, s[28:35], s[4:7] dmask:0x7 unorm glc slc tfe lwe da",
			"image_get_resinfo v[4:6], v2, s[28:35] dmask:0x7",
		},
		"gfx1030": {
			"image_load v[4:6], [v2, v5, v7], s[28:35] dmask:0x7 dim:SQ_RSRC_IMG_2D_ARRAY unorm",
			"image_load v[4:6], v2, s[28:35] dmask:0x7 dim:SQ_RSRC_IMG_2D unorm a16 tfe d16",
			"image_sample v[4:6], [v2, v9], s[28:35], s[4:7] dmask:0x7 dim:SQ_RSRC_IMG_2D",
			"image_sample_c_d_cl_o v[0:3], [v0, v1, v2, v3, v4, v5, v6, v7, v9, v8, v20, v30], s[28:35], s[4:7] dmask:0xf dim:SQ_RSRC_IMG_3D",
			"image_sample_d_g16 v[0:3], v[0:3], s[28:35], s[4:7] dmask:0xf dim:SQ_RSRC_IMG_2D",
			"image_bvh_intersect_ray v[4:7], v[9:19], s[4:7]",
			"image_bvh_intersect_ray v[4:7], [v9, v10, v11, v13, v14, v16, v17, v19], s[4:7] a16",
			"image_bvh64_intersect_ray v[4:7], v[9:20], s[4:7]",
		},
		"gfx1100": {
			"image_load v[4:6], [v2, v5, v7], s[28:35] dmask:0x7 dim:SQ_RSRC_IMG_2D_ARRAY unorm",
			"image_sample_c_d_cl_o v[0:3], [v0, v1, v2, v3, v[4:11]], s[28:35], s[4:7] dmask:0xf dim:SQ_RSRC_IMG_3D",
			"image_bvh_intersect_ray v[4:7], [v9, v10, v[11:13], v[14:16], v[17:19]], s[4:7]",
			"image_bvh64_intersect_ray v[4:7], [v[9:10], v10, v[11:13], v[14:16]], s[4:7] a16",
			"image_msaa_load v[1:4], v[5:7], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA",
		},
		"gfx1200": {
			"image_load v[4:6], [v2, v5, v7], s[28:35] dmask:0x7 dim:SQ_RSRC_IMG_2D_ARRAY",
			"image_sample_c_d_cl_o v[0:3], [v0, v1, v2, v[4:12]], s[28:35], s[4:7] dmask:0xf dim:SQ_RSRC_IMG_3D",
			"image_bvh_intersect_ray v[4:7], [v9, v10, v[11:13], v[14:16], v[17:19]], s[4:7]",
			"image_bvh64_intersect_ray v[4:7], [v[9:10], v10, v[11:13], v[14:16]], s[4:7] a16",
			"image_atomic_add_flt v1, [v2, v3], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D th:TH_ATOMIC_RETURN",
		},
	}
	enc := regexp.MustCompile(`encoding: \[([^\]]*)\]`)
	for name, want := range lines {
		tg := TargetByName(name)
		cmd := exec.Command("llvm-mc-19", "--show-encoding", "--triple=amdgcn-amd-amdhsa", "--mcpu="+name)
		cmd.Stdin = strings.NewReader(strings.Join(want, "\n"))
		out, err := cmd.Output()
		found := enc.FindAllSubmatch(out, -1)
		if err != nil || len(found) != len(want) {
			t.Errorf("%s: llvm-mc-19 assembled %d of %d lines: %v", name, len(found), len(want), err)
			continue
		}
		for i, m := range found {
			var code []byte
			for _, b := range strings.Split(string(m[1]), ",") {
				v, _ := strconv.ParseUint(b, 0, 8)
				code = append(code, byte(v))
			}
			var in Inst
			err := Decode(tg, code, &in)
			got := Disasm(&in, tg, 0)
			w := want[i]
			if err != nil || int(in.Size) != len(code) || got != w {
				t.Errorf("%s: % x: %v, %d bytes\n got  %s\n want %s", name, code, err, in.Size, got, w)
			}
		}
	}
}
