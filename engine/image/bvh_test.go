package image

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
)

// nodes is the memory of a BVH at address 0x1000.
type nodes []byte

func (n nodes) read(va uint64, p []byte) bool {
	if va < 0x1000 || va+uint64(len(p)) > 0x1000+uint64(len(n)) {
		return false
	}
	copy(p, n[va-0x1000:])
	return true
}

func (n nodes) put(at int, x ...float32) {
	for i, v := range x {
		binary.LittleEndian.PutUint32(n[at+4*i:], math.Float32bits(v))
	}
}

// descriptor is that of a BVH of n nodes at 0x1000.
func descriptor(n int, sorted bool, heuristic uint32, barycentrics bool) *[4]uint32 {
	d := &[4]uint32{0x10, 6<<23 | heuristic<<21, uint32(n - 1), 8 << 28}
	if sorted {
		d[1] |= 1 << 31
	}
	if barycentrics {
		d[3] |= 1 << 24
	}
	return d
}

func ray(origin, dir [3]float64, extent float64) *Ray {
	r := &Ray{Extent: float32(extent)}
	for i := range 3 {
		r.Origin[i], r.Dir[i], r.Inv[i] = float32(origin[i]), float32(dir[i]), float32(1/dir[i])
	}
	return r
}

// TestBoxNodes compares box nodes with where rays enter and leave boxes by geometry: a point of the ray is in the box.
func TestBoxNodes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	mem := make(nodes, 256)
	entered := 0
	for n := range 4000 {
		var lo, hi [4][3]float64
		half := n%2 == 1
		for c := range 4 {
			binary.LittleEndian.PutUint32(mem[64+4*c:], uint32(c*64+5))
			for k := range 3 {
				x, y := float64(rnd.IntN(41)-20)/4, float64(rnd.IntN(41)-20)/4
				lo[c][k], hi[c][k] = min(x, y), max(x, y)+0.25
				if half {
					binary.LittleEndian.PutUint16(mem[80+12*c+2*k:], ToHalf(float32(lo[c][k])))
					binary.LittleEndian.PutUint16(mem[86+12*c+2*k:], ToHalf(float32(hi[c][k])))
				}
			}
		}
		if !half {
			for c := range 4 {
				for k := range 3 {
					mem.put(80+24*c+4*k, float32(lo[c][k]))
					mem.put(92+24*c+4*k, float32(hi[c][k]))
				}
			}
		}
		var o, d [3]float64
		for k := range 3 {
			o[k] = rnd.Float64()*16 - 8
			if d[k] = rnd.Float64()*2 - 1; math.Abs(d[k]) < 0.05 {
				d[k] = 0.05
			}
		}
		extent := 4 + rnd.Float64()*20
		heuristic := uint32(rnd.IntN(3))
		b, err := ParseBVH(11, descriptor(4, n%3 != 0, heuristic, false))
		if err != nil {
			t.Fatal(err)
		}
		kind := uint64(5)
		if half {
			kind = 4
		}
		got, ok := b.Intersect(1<<3|kind, ray(o, d, extent), mem.read)
		if !ok {
			t.Fatal("read")
		}
		type hit struct {
			child uint32
			key   float64
		}
		var want []hit
		doubtful := false
		for c := range 4 {
			// Candidate times are those of the planes; the interval is between the first and the last at which the point is inside.
			in := func(s float64) bool {
				for k := range 3 {
					if x := o[k] + s*d[k]; x < lo[c][k]-1e-9 || x > hi[c][k]+1e-9 {
						return false
					}
				}
				return true
			}
			enter, leave := math.Inf(1), math.Inf(-1)
			for k := range 3 {
				for _, plane := range []float64{lo[c][k], hi[c][k]} {
					if s := (plane - o[k]) / d[k]; in(s) {
						enter, leave = min(enter, s), max(leave, s)
					}
				}
			}
			if enter > leave { // how far off?
				for k := range 3 {
					for _, plane := range []float64{lo[c][k], hi[c][k]} {
						s := (plane - o[k]) / d[k]
						far := 0.0
						for k := range 3 {
							x := o[k] + s*d[k]
							far = max(far, lo[c][k]-x, x-hi[c][k])
						}
						doubtful = doubtful || far < 1e-4
					}
				}
				continue
			}
			from, to := max(enter, 0), min(leave, extent)
			doubtful = doubtful || math.Abs(from-to) < 1e-3 || math.Abs(leave) < 1e-3 || math.Abs(enter-extent) < 1e-3
			if from <= to {
				want = append(want, hit{uint32(c*64 + 5), []float64{from, from - to, enter + leave}[heuristic]})
			}
		}
		if doubtful {
			continue
		}
		entered += len(want)
		var list []uint32
		for _, x := range got {
			if x != invalidNode {
				list = append(list, x)
			}
		}
		if len(list) != len(want) {
			t.Fatalf("node %d: %x, want %v", n, got, want)
		}
		key := map[uint32]float64{}
		for _, h := range want {
			key[h.child] = h.key
		}
		if n%3 == 0 { // unsorted: each in its place
			for i, x := range got {
				if _, hit := key[uint32(i*64+5)]; hit != (x == uint32(i*64+5)) {
					t.Fatalf("node %d: %x, want %v", n, got, want)
				}
			}
			continue
		}
		if !sort.SliceIsSorted(list, func(i, j int) bool { return key[list[i]] < key[list[j]]-1e-4 }) {
			t.Fatalf("node %d: %x is not in order of %v", n, got, want)
		}
		for i := range list {
			if got[i] == invalidNode {
				t.Fatalf("node %d: a gap in %x", n, got)
			}
		}
	}
	if entered < 500 {
		t.Errorf("only %d boxes entered", entered)
	}
}

// TestTriangleNodes shoots at points that are made of chosen weights of a triangle's vertices, and beside it.
func TestTriangleNodes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	mem := make(nodes, 128)
	corners := [4][3]int{{0, 1, 2}, {1, 3, 2}, {2, 3, 4}, {2, 4, 0}}
	hits := 0
	for n := range 4000 {
		var v [5][3]float64
		for i := range v {
			for k := range 3 {
				v[i][k] = float64(float32(rnd.Float64()*8 - 4))
				mem.put(64+12*i+4*k, float32(v[i][k]))
			}
		}
		id := rnd.Uint32()
		rot := rnd.IntN(3)
		kind := rnd.IntN(4)
		id = id&^(15<<(8*kind)) | uint32((rot+1)%3|(rot+2)%3<<2)<<(8*kind)
		binary.LittleEndian.PutUint32(mem[124:], id)
		w := [3]float64{0, rnd.Float64()*1.6 - 0.3, rnd.Float64()*1.6 - 0.3}
		w[0] = 1 - w[1] - w[2]
		inside := true
		for _, x := range w {
			if math.Abs(x) < 0.01 {
				inside = false
			}
		}
		if !inside {
			continue // too near an edge to call
		}
		var target, o, d [3]float64
		dist := rnd.Float64()*6 - 2
		if math.Abs(dist) < 0.1 {
			continue
		}
		for k := range 3 {
			for i, c := range corners[kind] {
				target[k] += w[i] * v[c][k]
			}
			d[k] = rnd.Float64()*2 - 1
		}
		for k := range 3 {
			o[k] = target[k] - dist*d[k]
		}
		// Rays along the triangle's plane, and slivers, have no precision.
		var e1, e2 [3]float64
		for k := range 3 {
			e1[k], e2[k] = v[corners[kind][1]][k]-v[corners[kind][0]][k], v[corners[kind][2]][k]-v[corners[kind][0]][k]
		}
		normal := [3]float64{e1[1]*e2[2] - e1[2]*e2[1], e1[2]*e2[0] - e1[0]*e2[2], e1[0]*e2[1] - e1[1]*e2[0]}
		if facing := normal[0]*d[0] + normal[1]*d[1] + normal[2]*d[2]; math.Abs(facing) < 0.5 {
			continue
		}
		hit := w[0] > 0 && w[1] > 0 && w[2] > 0 && dist > 0
		bary := rnd.IntN(2) == 0
		b, err := ParseBVH(10, descriptor(2, true, 0, bary))
		if err != nil {
			t.Fatal(err)
		}
		r, ok := b.Intersect(1<<3|uint64(kind), ray(o, d, 100), mem.read)
		if !ok {
			t.Fatal("read")
		}
		f := func(i int) float64 { return float64(math.Float32frombits(r[i])) }
		if got := !math.IsInf(f(0), 0); got != hit {
			t.Fatalf("%d: hit %v, want %v: %x, weights %v, distance %v", n, got, hit, r, w, dist)
		}
		if !bary && (r[2] != id || r[3] != map[bool]uint32{true: 1}[hit]) {
			t.Fatalf("%d: %x, want id %#x", n, r, id)
		}
		if !hit {
			continue
		}
		hits++
		near := func(x, y float64) bool { return math.Abs(x-y) < 2e-4 }
		if !near(f(0)/f(1), dist) {
			t.Fatalf("%d: at %v, want %v", n, f(0)/f(1), dist)
		}
		if bary && (!near(f(2)/f(1), w[(rot+1)%3]) || !near(f(3)/f(1), w[(rot+2)%3])) {
			t.Fatalf("%d: barycentrics %v %v, want %v rotated by %d", n, f(2)/f(1), f(3)/f(1), w, rot)
		}
	}
	if hits < 300 {
		t.Errorf("only %d hits", hits)
	}
}

func TestBVHLimits(t *testing.T) {
	mem := make(nodes, 128)
	b, err := ParseBVH(12, descriptor(2, true, 0, false))
	if err != nil {
		t.Fatal(err)
	}
	none := [4]uint32{invalidNode, invalidNode, invalidNode, invalidNode}
	r := ray([3]float64{}, [3]float64{1, 1, 1}, 1)
	for _, node := range []uint64{1<<3 | 6, 7, 2 << 3, 1<<3 | 5, 1 << 60} { // programs' own, beyond the last
		if got, ok := b.Intersect(node, r, mem.read); !ok || got != none {
			t.Errorf("node %#x: %x %v", node, got, ok)
		}
	}
	for bit := 19; bit < 24; bit++ {
		d := descriptor(2, true, 0, false)
		d[3] |= 1 << bit
		if _, err := ParseBVH(12, d); err == nil {
			t.Errorf("bit %d of the last word", bit)
		}
	}
	if _, err := ParseBVH(10, &[4]uint32{}); err == nil {
		t.Error("no type")
	}
}
