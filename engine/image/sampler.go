package image

import "math"

// Clamp is what becomes of a coordinate outside the image.
type Clamp uint8

const (
	Wrap Clamp = iota
	Mirror
	ClampLastTexel
	MirrorOnceLastTexel
	ClampHalfBorder
	MirrorOnceHalfBorder
	ClampBorder
	MirrorOnceBorder
)

// Compare is a depth comparison: reference OP texel.
type Compare uint8

const (
	Never Compare = iota
	Less
	Equal
	LessEqual
	Greater
	NotEqual
	GreaterEqual
	Always
)

// Sampler is what a sampler's descriptor says.
type Sampler struct {
	Clamp          [3]Clamp
	Compare        Compare
	Unnormalized   bool
	Truncate       bool // of a point sample: cut the coordinate rather than round it to 1/256 first
	MagLinear      bool
	MinLinear      bool
	ZPoint         bool // the third dimension is not filtered though the others are
	Border         uint8
	MinLOD, MaxLOD float32
	Bias           float32
}

// ParseSampler reads an S# of generation gen (9 to 12).
func ParseSampler(gen int, d *[4]uint32) Sampler {
	s := Sampler{
		Clamp:        [3]Clamp{Clamp(bits(d[0], 2, 0)), Clamp(bits(d[0], 5, 3)), Clamp(bits(d[0], 8, 6))},
		Compare:      Compare(bits(d[0], 14, 12)),
		Unnormalized: bits(d[0], 15, 15) != 0,
		Truncate:     bits(d[0], 27, 27) != 0,
		MagLinear:    bits(d[2], 21, 20)&1 != 0,
		MinLinear:    bits(d[2], 23, 22)&1 != 0,
		ZPoint:       bits(d[2], 25, 24) == 1,
		Border:       uint8(bits(d[3], 31, 30)),
		MinLOD:       float32(bits(d[1], 11, 0)) / 256,
		MaxLOD:       float32(bits(d[1], 23, 12)) / 256,
		Bias:         float32(int32(d[2]<<18)>>18) / 256,
	}
	if gen >= 12 {
		s.MinLOD, s.MaxLOD = float32(bits(d[1], 12, 0))/256, float32(bits(d[1], 25, 13))/256
	}
	return s
}

// border is the border colour in memory order.
func (s *Sampler) border(f *Format) (v [4]uint32) {
	one := f.One()
	switch s.Border {
	case 1:
		v[3] = one
	case 2:
		v = [4]uint32{one, one, one, one}
	}
	return v
}

// texel maps index i of an axis of size n; ok is false where the border colour stands.
func (c Clamp) texel(i, n int) (int, bool) {
	switch c {
	case Wrap:
		if i %= n; i < 0 {
			i += n
		}
		return i, true
	case Mirror:
		if i %= 2 * n; i < 0 {
			i += 2 * n
		}
		if i >= n {
			i = 2*n - 1 - i
		}
		return i, true
	case MirrorOnceLastTexel, MirrorOnceHalfBorder, MirrorOnceBorder:
		if i < 0 {
			i = -1 - i
		}
	}
	switch c {
	case ClampBorder, MirrorOnceBorder, ClampHalfBorder, MirrorOnceHalfBorder:
		return i, i >= 0 && i < n
	}
	return min(max(i, 0), n-1), true
}

// half takes the coordinate, in texels, of the modes that only show half of the border colour into the range they allow.
func (c Clamp) half(u float64, n int) float64 {
	switch c {
	case ClampHalfBorder:
		return min(max(u, 0), float64(n))
	case MirrorOnceHalfBorder:
		return min(max(math.Abs(u), 0), float64(n))
	}
	return u
}

// axis is the footprint of a sample along one axis: two texels, the second with weight w/256.
type axis struct {
	i [2]int
	w int
}

// footprint finds the texels for coordinate u, in texels.
func footprint(u float64, linear, truncate bool) axis {
	if math.IsNaN(u) {
		u = 0
	}
	u = min(max(u, -1<<30), 1<<30)
	if !linear {
		if !truncate {
			u = math.RoundToEven(u*256) / 256
		}
		i := int(math.Floor(u))
		return axis{[2]int{i, i}, 0}
	}
	f := int(math.RoundToEven((u - 0.5) * 256))
	return axis{[2]int{f >> 8, f>>8 + 1}, f & 255}
}

// Reader reads the bytes of a texel; false stops the sample, the reader knows why.
type Reader func(va uint64, p []byte) bool

// Query is one lane's sample.
type Query struct {
	U, V, W   float32 // coordinates; the slice of an array is the last one
	Offset    [3]int  // in texels
	Compare   bool
	Reference float32
	LOD       float32 // > 0 chooses the minification filter
	Unorm     bool    // the instruction's own bit: coordinates are in texels
}

// place is where a query falls: footprints by axis, and a slice.
type place struct {
	x, y, z axis
	slice   int
}

func (r *Resource) place(s *Sampler, q *Query, linear bool) place {
	var p place
	unnorm := s.Unnormalized || q.Unorm
	one := func(k int, u float32, n int, linear bool) axis {
		c := float64(u)
		if !unnorm {
			c *= float64(n)
		}
		c = s.Clamp[k].half(c+float64(q.Offset[k]), n)
		return footprint(c, linear, s.Truncate)
	}
	slice := func(u float32) {
		if f := math.RoundToEven(float64(u)); f > 0 {
			p.slice = int(min(f, float64(r.Depth-1)))
		}
	}
	switch r.Shape {
	case Shape1D:
		p.x = one(0, q.U, r.Width, linear)
	case Shape1DArray:
		p.x = one(0, q.U, r.Width, linear)
		slice(q.V)
	case Shape2D:
		p.x, p.y = one(0, q.U, r.Width, linear), one(1, q.V, r.Height, linear)
	case Shape2DArray:
		p.x, p.y = one(0, q.U, r.Width, linear), one(1, q.V, r.Height, linear)
		slice(q.W)
	case ShapeCube:
		// Coordinates come from 1 to 2, the face is three bits of the third.
		q := *q
		q.U, q.V = q.U-1, q.V-1
		c := *s
		c.Clamp = [3]Clamp{ClampLastTexel, ClampLastTexel, ClampLastTexel}
		flat := *r
		flat.Shape = Shape2D
		p = flat.place(&c, &q, linear)
		face := int(math.RoundToEven(float64(q.W)))
		p.slice = min(max(face>>3*6+face&7, 0), r.Depth-1)
	case Shape3D:
		p.x, p.y = one(0, q.U, r.Width, linear), one(1, q.V, r.Height, linear)
		p.z = one(2, q.W, r.Depth, linear && !s.ZPoint)
	}
	return p
}

// texel reads texel (x, y, z) with the sampler's rule for what is outside, in memory order.
func (r *Resource) texel(s *Sampler, read Reader, p *place, x, y, z int) ([4]uint32, bool) {
	cl := s.Clamp
	if r.Shape == ShapeCube {
		cl = [3]Clamp{ClampLastTexel, ClampLastTexel, ClampLastTexel}
	}
	x, in := cl[0].texel(x, r.Width)
	if in && r.Height > 1 || in && r.Shape != Shape1D && r.Shape != Shape1DArray {
		y, in = cl[1].texel(y, r.Height)
	}
	if r.Shape != Shape3D {
		z = p.slice
	} else if in {
		z, in = cl[2].texel(z, r.Depth)
	}
	if !in {
		return s.border(r.Format), true
	}
	va, ok := r.Address(x, y, z)
	if !ok {
		return [4]uint32{}, true
	}
	var buf [16]byte
	if !read(va, buf[:r.Format.Bytes]) {
		return [4]uint32{}, false
	}
	return r.Format.Decode(buf[:r.Format.Bytes]), true
}

func (c Compare) holds(ref, x float32) bool {
	switch c {
	case Never:
		return false
	case Less:
		return ref < x
	case Equal:
		return ref == x
	case LessEqual:
		return ref <= x
	case Greater:
		return ref > x
	case NotEqual:
		return ref != x
	case GreaterEqual:
		return ref >= x
	}
	return true
}

// compared replaces x by the outcome of the comparison, where the query asks for one.
func (q *Query) compared(s *Sampler, v [4]uint32) [4]uint32 {
	if q.Compare {
		x := uint32(0)
		if s.Compare.holds(q.Reference, math.Float32frombits(v[0])) {
			x = math.Float32bits(1)
		}
		v[0] = x
	}
	return v
}

// Sample is the value at q as the program sees it: x, y, z, w. False when read refused.
func (r *Resource) Sample(s *Sampler, q *Query, read Reader) ([4]uint32, bool) {
	linear := s.MagLinear
	if q.LOD > 0 {
		linear = s.MinLinear
	}
	linear = linear && !r.Format.Integer()
	p := r.place(s, q, linear)
	if !linear {
		v, ok := r.texel(s, read, &p, p.x.i[0], p.y.i[0], p.z.i[0])
		return r.Selected(q.compared(s, v)), ok
	}
	var sum [4]float64
	for k := range 8 {
		a, b, c := k&1, k>>1&1, k>>2
		w := weight(p.x, a) * weight(p.y, b) * weight(p.z, c)
		if w == 0 {
			continue
		}
		v, ok := r.texel(s, read, &p, p.x.i[a], p.y.i[b], p.z.i[c])
		if !ok {
			return v, false
		}
		v = q.compared(s, v)
		for i := range sum {
			sum[i] += float64(math.Float32frombits(v[i])) * float64(w) / (1 << 24)
		}
	}
	var v [4]uint32
	for i := range v {
		v[i] = math.Float32bits(float32(sum[i]))
	}
	return r.Selected(v), true
}

func weight(a axis, k int) int {
	if k == 0 {
		return 256 - a.w
	}
	return a.w
}

// Gather is one component, chosen by its number in the program's order, of the four texels of a bilinear footprint,
// counter-clockwise from the lower left.
func (r *Resource) Gather(s *Sampler, q *Query, component int, read Reader) (out [4]uint32, ok bool) {
	p := r.place(s, q, true)
	for k, at := range [4][2]int{{0, 1}, {1, 1}, {1, 0}, {0, 0}} {
		v, ok := r.texel(s, read, &p, p.x.i[at[0]], p.y.i[at[1]], 0)
		if !ok {
			return out, false
		}
		out[k] = r.Selected(q.compared(s, v))[component]
	}
	return out, true
}
