package image

import "math"

// Ray tracing: the texture units of gfx10.3 and later test a ray against one node of a bounding volume hierarchy (image_bvh_intersect_ray).
//
// A node pointer counts 64-byte units of the hierarchy's memory; its low three bits say what the node is: one of the up to four
// triangles of a triangle node (0 to 3), a box node with four children whose bounds are halves (4) or floats (5), or a
// node that programs deal with themselves (6 and 7), for which all four results are ~0.
//
//	triangle node   v0 to v4, of three floats each, then at byte 60 the id: triangle n has byte n, whose bits 1:0 and 3:2 say which
//	                vertices the barycentrics I and J belong to. The triangles are v0 v1 v2, v1 v3 v2, v2 v3 v4, v2 v4 v0
//	box node        four node pointers, then the bounds of each child: least x, y, z and greatest x, y, z
//
// Of a box node the pointers of the children that the ray enters come back, nearest first when the descriptor says so, ~0 for the
// rest; of a triangle the numerator and denominator of the hit's distance, an infinite one without a hit, and either those of
// the barycentrics or the node's id and whether it is a hit.
//
// The node layouts are those of the RDNA 2 to 4 manuals ("Ray Tracing") and of Mesa's RADV; the arithmetic follows what AMD's
// gpurt does on chips without the unit.
//
// fidelity: approximate bvh-arithmetic: each step of the ray tests is rounded to f32; what precision the unit has is not published
// fidelity: refused bvh-options: descriptors with pointer flags, triangles first, eight children, instance nodes or compressed nodes
const (
	invalidNode = 0xffffffff
)

// BVH is what the descriptor of a bounding volume hierarchy says.
type BVH struct {
	Base         uint64
	Last         uint64 // number of the last node of 64 bytes
	Grow         uint32 // 2^-24ths by which the far end of a box's interval is moved
	Sort         bool
	Heuristic    uint8 // what is sorted by: 0 the near end, 1 the interval's length, the longest first, 2 its middle, 3 nothing
	Barycentrics bool  // triangle_return_mode
}

// ParseBVH reads the descriptor of generation gen.
func ParseBVH(gen int, d *[4]uint32) (*BVH, error) {
	if bits(d[3], 31, 28) != 8 {
		return nil, &Error{"a descriptor that is not of a BVH"}
	}
	b := &BVH{Base: uint64(d[0])<<8 | uint64(bits(d[1], 7, 0))<<40, Last: uint64(d[2]) | uint64(bits(d[3], 9, 0))<<32,
		Grow: bits(d[1], 30, 23), Sort: d[1]>>31 != 0, Barycentrics: bits(d[3], 24, 24) != 0}
	b.Base = uint64(int64(b.Base<<16) >> 16)
	if gen >= 11 {
		b.Heuristic = uint8(bits(d[1], 22, 21))
	}
	if bits(d[3], 23, 19) != 0 || bits(d[1], 20, 20) != 0 {
		return nil, &Error{"pointer flags and node formats of a BVH are not implemented"}
	}
	return b, nil
}

// Ray is a ray and how far it goes.
type Ray struct {
	Extent           float32
	Origin, Dir, Inv [3]float32
}

// Intersect tests a ray against a node; read fetches memory and reports false when it cannot.
func (b *BVH) Intersect(node uint64, ray *Ray, read func(va uint64, p []byte) bool) (r [4]uint32, ok bool) {
	none := [4]uint32{invalidNode, invalidNode, invalidNode, invalidNode}
	kind := node & 7
	size := uint64(64)
	if kind == 5 {
		size = 128
	}
	if kind > 5 || node>>3+size/64-1 > b.Last {
		return none, true
	}
	var buf [128]byte
	if !read(b.Base+node>>3*64, buf[:size]) {
		return r, false
	}
	word := func(at int) uint32 {
		return uint32(buf[at]) | uint32(buf[at+1])<<8 | uint32(buf[at+2])<<16 | uint32(buf[at+3])<<24
	}
	vector := func(at int) (v [3]float32) {
		for i := range v {
			v[i] = math.Float32frombits(word(at + 4*i))
		}
		return v
	}
	if kind < 4 {
		at := [4][3]int{{0, 12, 24}, {12, 36, 24}, {24, 36, 48}, {24, 48, 0}}[kind]
		return b.triangle(ray, vector(at[0]), vector(at[1]), vector(at[2]), word(60), uint(8*kind)), true
	}
	var boxes [4]box
	for i := range boxes {
		x := &boxes[i]
		x.child = word(4 * i)
		if kind == 5 {
			x.low, x.high = vector(16+24*i), vector(28+24*i)
			continue
		}
		for k := range 3 {
			at := 16 + 12*i + 2*k
			x.low[k] = FromHalf(uint16(buf[at]) | uint16(buf[at+1])<<8)
			x.high[k] = FromHalf(uint16(buf[at+6]) | uint16(buf[at+7])<<8)
		}
	}
	return b.boxes(ray, &boxes), true
}

// box is a child of a box node.
type box struct {
	child     uint32
	low, high [3]float32
	key       float32
}

// less and more are the smaller and the larger of two numbers, or the one that is a number.
func less(x, y float32) float32 {
	if x != x || y < x {
		return y
	}
	return x
}

func more(x, y float32) float32 {
	if x != x || y > x {
		return y
	}
	return x
}

func (b *BVH) boxes(ray *Ray, boxes *[4]box) (r [4]uint32) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for i := range boxes {
		x := &boxes[i]
		enter, leave := nan, nan
		for k := range 3 {
			near := (x.low[k] - ray.Origin[k]) * ray.Inv[k]
			far := (x.high[k] - ray.Origin[k]) * ray.Inv[k]
			if !(ray.Inv[k] >= 0) {
				near, far = far, near
			}
			enter, leave = more(enter, near), less(leave, far)
		}
		from, to := more(enter, 0), less(leave, ray.Extent)
		if enter != enter || leave != leave {
			from, to = inf, -inf
		}
		if enter != enter {
			enter = 0
		}
		if leave != leave {
			leave = inf
		}
		switch b.Heuristic {
		case 1:
			x.key = from - to
		case 2:
			x.key = enter + leave
		default:
			x.key = from
		}
		grown := 1 + float32(b.Grow)*0x1p-24
		if !(from <= to*grown) {
			x.child = invalidNode
		}
	}
	if b.Sort && b.Heuristic != 3 {
		// A network of five exchanges; children that are not entered go last.
		for _, p := range [5][2]int{{0, 2}, {1, 3}, {0, 1}, {2, 3}, {1, 2}} {
			x, y := &boxes[p[0]], &boxes[p[1]]
			if y.child != invalidNode && y.key < x.key || x.child == invalidNode {
				*x, *y = *y, *x
			}
		}
	}
	for i := range r {
		r[i] = boxes[i].child
	}
	return r
}

func sub3(x, y [3]float32) [3]float32 { return [3]float32{x[0] - y[0], x[1] - y[1], x[2] - y[2]} }

// Products are converted, so that they are rounded before they are added (Go may fuse otherwise).
func dot3(x, y [3]float32) float32 {
	return float32(float32(x[0]*y[0])+float32(x[1]*y[1])) + float32(x[2]*y[2])
}

func cross3(x, y [3]float32) [3]float32 {
	return [3]float32{float32(x[1]*y[2]) - float32(x[2]*y[1]), float32(x[2]*y[0]) - float32(x[0]*y[2]), float32(x[0]*y[1]) - float32(x[1]*y[0])}
}

// triangle is the test of Möller and Trumbore, without its divisions.
func (b *BVH) triangle(ray *Ray, v0, v1, v2 [3]float32, id uint32, shift uint) (r [4]uint32) {
	e1, e2, o := sub3(v1, v0), sub3(v2, v0), sub3(ray.Origin, v0)
	p, q := cross3(ray.Dir, e2), cross3(o, e1)
	t, det := dot3(e2, q), dot3(p, e1)
	i, j := dot3(o, p), dot3(ray.Dir, q)
	u, v := i/det, j/det
	hit := !(u < 0 || u > 1 || v < 0 || u+v > 1 || t/det < 0)
	bary := [4]float32{det - i - j, i, j}
	if !hit {
		t, det = float32(math.Inf(1)), 1
	}
	r[0], r[1] = math.Float32bits(t), math.Float32bits(det)
	if !b.Barycentrics {
		r[2] = id
		if hit {
			r[3] = 1
		}
		return r
	}
	r[2] = math.Float32bits(bary[id>>shift&3])
	r[3] = math.Float32bits(bary[id>>(shift+2)&3])
	return r
}
