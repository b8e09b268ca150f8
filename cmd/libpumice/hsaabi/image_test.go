package hsaabi

import (
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/image"
	"github.com/pumice-gpu/pumice/runtime/hsa"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// TestDescriptorsAgree describes images of every format, geometry and generation by the runtime, and lets the engine read the
// descriptors: size, texel size, kind of numbers, and where every texel lies must be what was asked for.
func TestDescriptorsAgree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, version := range []uint64{90000, 90006, 90010, 100100, 100300, 110000, 110501, 120001} {
		a := &hsa.Agent{Node: &hsakmt.Node{Props: map[string]uint64{"gfx_target_version": version, "simd_count": 4}, GPUID: 1}}
		gen, pitched := a.ImageGeneration()
		if gen != int(version/10000) {
			t.Fatalf("gfx version %d: generation %d", version, gen)
		}
		formats := 0
		for order := range hsa.OrderDepthStencil + 1 {
			for typ := range hsa.Float32 + 1 {
				for geo := range hsa.Image2DArrayDepth + 1 {
					d := &hsa.ImageDesc{Geometry: geo, Width: 1 + rnd.Uint64N(300), Height: 1 + rnd.Uint64N(90), Depth: 1 + rnd.Uint64N(9),
						Layers: 1 + rnd.Uint64N(9), Type: typ, Order: order}
					if r, _ := a.ImageSupported(d); !r {
						continue
					}
					formats++
					describe(t, a, gen, pitched, d, rnd)
				}
			}
		}
		if formats < 400 {
			t.Errorf("gfx version %d: %d formats", version, formats)
		}
	}
	if g, _ := (&hsa.Agent{Node: &hsakmt.Node{Props: map[string]uint64{"gfx_target_version": 90402, "simd_count": 4}, GPUID: 1}}).ImageGeneration(); g != 0 {
		t.Errorf("gfx942 has texture units")
	}
}

func describe(t *testing.T, a *hsa.Agent, gen int, pitched bool, d *hsa.ImageDesc, rnd *rand.Rand) {
	t.Helper()
	l, err := a.LayoutImage(d, 0, 0)
	if err != nil {
		t.Errorf("gfx%d %+v: %v", gen, *d, err)
		return
	}
	data := uint64(0x7f12_3456_7800)
	var w [hsa.ImageWords]uint32
	if err := a.DescribeImage(d, &l, data, &w); err != nil {
		t.Errorf("gfx%d %+v: %v", gen, *d, err)
		return
	}
	integer := d.Type >= hsa.SignedInt8 && d.Type <= hsa.UnsignedInt32
	if d.Geometry == hsa.ImageBuffer {
		b, err := image.ParseBuffer(gen, w[3], false, 0)
		if err != nil || uint64(b.Format.Bytes) != l.TexelSize || b.Format.Integer() != integer {
			t.Errorf("gfx%d %+v: %+v, %v", gen, *d, b, err)
		}
		return
	}
	r, err := image.ParseResource(gen, pitched, (*[8]uint32)(w[:8]))
	if err != nil {
		t.Errorf("gfx%d %+v: %v", gen, *d, err)
		return
	}
	size := [3]int{int(d.Width), 1, 1}
	switch d.Geometry {
	case hsa.Image2D, hsa.Image2DDepth:
		size[1] = int(d.Height)
	case hsa.Image3D:
		size[1], size[2] = int(d.Height), int(d.Depth)
	case hsa.Image1DArray:
		size[2] = int(d.Layers)
	case hsa.Image2DArray, hsa.Image2DArrayDepth:
		size[1], size[2] = int(d.Height), int(d.Layers)
	}
	if [3]int{r.Width, r.Height, r.Depth} != size || uint64(r.Format.Bytes) != l.TexelSize || r.Format.Integer() != integer {
		t.Errorf("gfx%d %+v: %dx%dx%d texels of %d bytes, want %v of %d", gen, *d, r.Width, r.Height, r.Depth, r.Format.Bytes, size, l.TexelSize)
		return
	}
	for range 20 {
		x, y, z := rnd.IntN(size[0]), rnd.IntN(size[1]), rnd.IntN(size[2])
		got, in := r.Address(x, y, z)
		want := data + uint64(z)*l.SlicePitch + uint64(y)*l.RowPitch + uint64(x)*l.TexelSize
		if !in || got != want {
			t.Errorf("gfx%d %+v: texel %d,%d,%d at %#x (%v), want %#x", gen, *d, x, y, z, got, in, want)
			return
		}
	}
	for _, c := range [][3]int{{size[0], 0, 0}, {0, size[1], 0}, {0, 0, size[2]}, {-1, 0, 0}} {
		if _, in := r.Address(c[0], c[1], c[2]); in {
			t.Errorf("gfx%d %+v: %v is inside", gen, *d, c)
		}
	}
}
