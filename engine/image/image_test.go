package image

import (
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Every layout is a bijection between the texels of an image, rounded up to whole blocks, and the bytes of its blocks.
func TestLayoutsAreBijections(t *testing.T) {
	for _, gen := range []int{9, 10, 11, 12} {
		for mode := uint32(1); mode < 32; mode++ {
			for _, threeD := range []bool{false, true} {
				for _, bytes := range []int{1, 2, 4, 8, 16} {
					l, linear, err := layoutOf(gen, mode, threeD, bytes)
					if err != nil {
						continue
					}
					if linear {
						t.Fatalf("gfx%d mode %d is linear", gen, mode)
					}
					if l.w+l.h+l.d+log2(bytes) != l.log2 {
						t.Fatalf("gfx%d mode %d, %d bytes, 3D %v: a block of 2^%d bytes has 2^%d x 2^%d x 2^%d texels", gen, mode,
							bytes, threeD, l.log2, l.w, l.h, l.d)
					}
					if l.log2 > 12 && gen != 9 { // the larger ones differ in their last bits only
						continue
					}
					w, h, d := 2<<l.w, 2<<l.h, 2<<l.d
					seen := make([]bool, w*h*d)
					for z := range d {
						for y := range h {
							for x := range w {
								o := l.offset(x, y, z, w, h)
								if o%uint64(bytes) != 0 || o/uint64(bytes) >= uint64(len(seen)) || seen[o/uint64(bytes)] {
									t.Fatalf("gfx%d mode %d, %d bytes: texel %d,%d,%d at %#x", gen, mode, bytes, x, y, z, o)
								}
								seen[o/uint64(bytes)] = true
							}
						}
					}
				}
			}
		}
	}
}

func log2(n int) (l int) {
	for 1<<l < n {
		l++
	}
	return l
}

// The shape of blocks is what AMD's address library allocates by.
func TestBlockSizes(t *testing.T) {
	for _, c := range []struct {
		gen    int
		mode   uint32
		threeD bool
		bytes  int
		w      [3]int
	}{
		{9, 9, false, 4, [3]int{128, 128, 1}}, {9, 5, false, 4, [3]int{32, 32, 1}}, {9, 10, false, 8, [3]int{128, 64, 1}},
		{9, 9, true, 4, [3]int{32, 32, 16}}, {9, 5, true, 1, [3]int{16, 16, 16}}, {10, 27, false, 4, [3]int{128, 128, 1}},
		{10, 27, true, 4, [3]int{128, 128, 1}}, {10, 9, true, 16, [3]int{16, 16, 16}}, {11, 31, false, 4, [3]int{256, 256, 1}},
	} {
		l, _, err := layoutOf(c.gen, c.mode, c.threeD, c.bytes)
		if got := [3]int{1 << l.w, 1 << l.h, 1 << l.d}; err != nil || got != c.w {
			t.Errorf("gfx%d mode %d, %d bytes: blocks of %v texels (%v), want %v", c.gen, c.mode, c.bytes, got, err, c.w)
		}
	}
}

// formats yields every format of a generation.
func formats(f func(gen int, n uint32, f *Format)) {
	for gen := 10; gen <= 11; gen++ {
		for n := range uint32(256) {
			if x := FormatByNumber(gen, n); x != nil {
				f(gen, n, x)
			}
		}
	}
	for d := range uint32(64) {
		for n := range uint32(16) {
			if x := FormatByPair(d, n); x != nil {
				f(9, d|n<<8, x)
			}
		}
	}
}

// What a format decodes, it encodes to the same bits, but for the second codes of -1 and payloads of NaN.
func TestEncodeUndoesDecode(t *testing.T) {
	formats(func(gen int, n uint32, f *Format) {
		rapid.Check(t, func(t *rapid.T) {
			var p, q, want [16]byte
			binary.LittleEndian.PutUint64(p[:], rapid.Uint64().Draw(t, "lo"))
			binary.LittleEndian.PutUint64(p[8:], rapid.Uint64().Draw(t, "hi"))
			v := f.Decode(p[:f.Bytes])
			for i := range f.N {
				b := int(f.Fields[i].Bits)
				x := math.Float32frombits(v[i])
				if math.IsNaN(float64(x)) || f.Number == SNorm && f.raw(p[:], i) == 1<<(b-1) || f.SharedExp || b >= 24 && f.Number != Float && !f.Integer() {
					return
				}
			}
			f.Encode(v, q[:])
			copy(want[:], p[:f.Bytes])
			if f.N > 0 {
				last := f.Fields[f.N-1]
				for k := int(last.Shift) + int(last.Bits); k < 8*f.Bytes; k++ { // bits of no component
					want[k/8] &^= 1 << (k % 8)
				}
			}
			if q != want {
				t.Fatalf("gfx%d format %d: % x decodes to %x, which encodes to % x", gen, n, want[:f.Bytes], v, q[:f.Bytes])
			}
		})
	})
}

func TestKnownTexels(t *testing.T) {
	one := math.Float32bits(1)
	for _, c := range []struct {
		gen  int
		n    uint32
		in   []byte
		want [4]uint32
	}{
		{10, 56, []byte{255, 0, 51, 255}, [4]uint32{one, 0, math.Float32bits(0.2), one}},
		{10, 57, []byte{127, 129, 128, 0}, [4]uint32{one, math.Float32bits(-1), math.Float32bits(-1), 0}},
		{10, 61, []byte{255, 1, 128, 127}, [4]uint32{0xffffffff, 1, 0xffffff80, 127}},
		{10, 29, []byte{0x00, 0x3c, 0x00, 0xc0}, [4]uint32{one, math.Float32bits(-2), 0, one}},
		{10, 133, []byte{0x1f, 0xf8}, [4]uint32{one, 0, one, one}},
		{10, 50, []byte{0xff, 0x03, 0x00, 0xc0}, [4]uint32{one, 0, 0, one}},
		{10, 36, []byte{0xc0, 0x03, 0x1e, 0x78}, [4]uint32{one, one, one, one}},
		{11, 66, []byte{255, 0, 0, 128}, [4]uint32{one, 0, 0, math.Float32bits(128. / 255)}},
		{11, 22, []byte{0, 0, 0x80, 0x3f}, [4]uint32{one, 0, 0, one}},
		{11, 20, []byte{1, 0, 0, 0}, [4]uint32{1, 0, 0, 1}},
	} {
		f := FormatByNumber(c.gen, c.n)
		if got := f.Decode(c.in); got != c.want {
			t.Errorf("gfx%d format %d: % x is %x, want %x", c.gen, c.n, c.in, got, c.want)
		}
	}
}

// Half-precision numbers agree with a search for the nearest one.
func TestHalf(t *testing.T) {
	for h := range uint32(0x7c00) {
		x := FromHalf(uint16(h))
		if got := ToHalf(x); got != uint16(h) {
			t.Fatalf("%#x is %g, which is %#x", h, x, got)
		}
		if h == 0x7bff {
			break
		}
		mid := float32((float64(x) + float64(FromHalf(uint16(h+1)))) / 2)
		want := uint16(h + h&1)
		if got := ToHalf(mid); got != want {
			t.Fatalf("between %#x and the next: %#x, want %#x", h, got, want)
		}
		if got := ToHalf(math.Nextafter32(mid, 2*mid)); got != uint16(h+1) {
			t.Fatalf("above the middle of %#x and the next: %#x", h, got)
		}
	}
}

func TestClamp(t *testing.T) {
	const n = 5
	for _, c := range []struct {
		mode Clamp
		want string // texels for -7 to 11; . is the border
	}{
		{Wrap, "3401234012340123401"},
		{Mirror, "3443210012344321001"},
		{ClampLastTexel, "0000000012344444444"},
		{MirrorOnceLastTexel, "4443210012344444444"},
		{ClampBorder, ".......01234......."},
		{MirrorOnceBorder, "..4321001234......."},
	} {
		got := ""
		for i := -7; i <= 11; i++ {
			k, ok := c.mode.texel(i, n)
			if !ok {
				got += "."
				continue
			}
			got += string(rune('0' + k))
		}
		if got != c.want {
			t.Errorf("mode %d: %s, want %s", c.mode, got, c.want)
		}
	}
}

// A bilinear sample of a linear image is the weighted mean of four texels.
func TestBilinear(t *testing.T) {
	const w, h = 7, 5
	texels := make([]float32, w*h)
	for i := range texels {
		texels[i] = float32(i*i%37) / 8
	}
	r := &Resource{Format: FormatByNumber(10, 22), Shape: Shape2D, Width: w, Height: h, Depth: 1, Pitch: w, linear: true, Select: [4]uint8{4, 0, 0, 1}}
	read := func(va uint64, p []byte) bool {
		binary.LittleEndian.PutUint32(p, math.Float32bits(texels[va/4]))
		return true
	}
	s := &Sampler{MagLinear: true, MinLinear: true, Clamp: [3]Clamp{ClampLastTexel, ClampLastTexel}, Unnormalized: true}
	rapid.Check(t, func(t *rapid.T) {
		u, v := float32(rapid.IntRange(-512, 2560).Draw(t, "u"))/256, float32(rapid.IntRange(-512, 2048).Draw(t, "v"))/256
		got, _ := r.Sample(s, &Query{U: u, V: v}, read)
		at := func(x, y float64) float64 {
			return float64(texels[int(min(max(y, 0), h-1))*w+int(min(max(x, 0), w-1))])
		}
		x, y := float64(u)-0.5, float64(v)-0.5
		fx, fy := math.Floor(x), math.Floor(y)
		a, b := x-fx, y-fy
		want := (1-b)*((1-a)*at(fx, fy)+a*at(fx+1, fy)) + b*((1-a)*at(fx, fy+1)+a*at(fx+1, fy+1))
		if d := float64(math.Float32frombits(got[0])) - want; math.Abs(d) > 1e-6 {
			t.Fatalf("at %g, %g: %g, want %g", u, v, math.Float32frombits(got[0]), want)
		}
		if got[1] != 0 || got[3] != math.Float32bits(1) {
			t.Fatalf("components %x", got)
		}
	})
}

// A descriptor of any bits gives a resource or an error, and its addresses stay inside what it describes.
func FuzzParseResource(f *testing.F) {
	f.Add(uint8(9), []byte{0x00, 0x30, 0xe4, 0x3d, 0x7f, 0x00, 0xa0, 0x14})
	f.Fuzz(func(t *testing.T, gen uint8, b []byte) {
		var d [8]uint32
		for i := range d {
			if len(b) >= 4*i+4 {
				d[i] = binary.LittleEndian.Uint32(b[4*i:])
			}
		}
		r, err := ParseResource(9+int(gen%4), gen&4 != 0, &d)
		if err != nil {
			return
		}
		s := ParseSampler(9+int(gen%4), &[4]uint32{d[0], d[1], d[2], d[3]})
		r.Sample(&s, &Query{U: math.Float32frombits(d[4]), V: math.Float32frombits(d[5]), W: math.Float32frombits(d[6])},
			func(va uint64, p []byte) bool { return len(p) == r.Format.Bytes })
		r.Gather(&s, &Query{U: math.Float32frombits(d[7])}, int(d[6]&3), func(uint64, []byte) bool { return true })
	})
}
