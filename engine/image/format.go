package image

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// Number is how the bits of a component are read.
type Number uint8

const (
	UNorm Number = iota
	SNorm
	UScaled
	SScaled
	UInt
	SInt
	Float
	SRGB // UNorm, of which x, y and z are gamma-encoded
)

// Field is where a component lies in a texel.
type Field struct{ Shift, Bits uint8 }

// Format is the layout and the numbers of a texel.
type Format struct {
	Fields    [4]Field // x, y, z, w in memory order
	N         int      // components
	Bytes     int      // of a texel
	Number    Number
	SharedExp bool // 5_9_9_9: three 9-bit mantissas and an exponent
}

// Integer reports whether components are integers to the program.
func (f *Format) Integer() bool { return f.Number == UInt || f.Number == SInt }

// layout reads a layout as AMD writes it, most significant component first: "2_10_10_10".
func layout(s string) Format {
	var f Format
	parts := strings.Split(s, "_")
	shift := 0
	for i := len(parts) - 1; i >= 0; i-- {
		n, _ := strconv.Atoi(parts[i])
		f.Fields[f.N] = Field{uint8(shift), uint8(n)}
		f.N++
		shift += n
	}
	f.Bytes = (shift + 7) / 8
	return f
}

// run is consecutive format numbers: one layout with one number format after the other.
type run struct {
	first   int
	layout  string
	numbers []Number
}

var (
	norm6 = []Number{UNorm, SNorm, UScaled, SScaled, UInt, SInt}
	all7  = []Number{UNorm, SNorm, UScaled, SScaled, UInt, SInt, Float}
	wide3 = []Number{UInt, SInt, Float}
)

// The formats of gfx10 and of gfx11 and later, as one number; those from 128 (64) on are for images only.
var gfx10Runs = []run{
	{1, "8", norm6}, {7, "16", all7}, {14, "8_8", norm6}, {20, "32", wide3}, {23, "16_16", all7}, {30, "10_11_11", all7},
	{37, "11_11_10", all7}, {44, "10_10_10_2", norm6}, {50, "2_10_10_10", norm6}, {56, "8_8_8_8", norm6},
	{62, "32_32", wide3}, {65, "16_16_16_16", all7}, {72, "32_32_32", wide3}, {75, "32_32_32_32", wide3},
	{128, "8", []Number{SRGB}}, {129, "8_8", []Number{SRGB}}, {130, "8_8_8_8", []Number{SRGB}},
	{132, "5_9_9_9", []Number{Float}}, {133, "5_6_5", []Number{UNorm}}, {134, "1_5_5_5", []Number{UNorm}},
	{135, "5_5_5_1", []Number{UNorm}}, {136, "4_4_4_4", []Number{UNorm}}, {137, "4_4", []Number{UNorm}},
	{141, "8_24", []Number{UNorm, UInt}}, {143, "24_8", []Number{UNorm, UInt}},
}

var gfx11Runs = []run{
	{1, "8", norm6}, {7, "16", all7}, {14, "8_8", norm6}, {20, "32", wide3}, {23, "16_16", all7},
	{30, "10_11_11", []Number{Float}}, {31, "11_11_10", []Number{Float}},
	{32, "10_10_10_2", []Number{UNorm, SNorm, UInt, SInt}}, {36, "2_10_10_10", norm6}, {42, "8_8_8_8", norm6},
	{48, "32_32", wide3}, {51, "16_16_16_16", all7}, {58, "32_32_32", wide3}, {61, "32_32_32_32", wide3},
	{64, "8", []Number{SRGB}}, {65, "8_8", []Number{SRGB}}, {66, "8_8_8_8", []Number{SRGB}},
	{67, "5_9_9_9", []Number{Float}}, {68, "5_6_5", []Number{UNorm}}, {69, "1_5_5_5", []Number{UNorm}},
	{70, "5_5_5_1", []Number{UNorm}}, {71, "4_4_4_4", []Number{UNorm}}, {72, "4_4", []Number{UNorm}},
	{76, "8_24", []Number{UNorm, UInt}}, {78, "24_8", []Number{UNorm, UInt}},
}

// gfx9 has a number for the layout and one for the numbers.
var gfx9Layouts = map[uint32]string{
	1: "8", 2: "16", 3: "8_8", 4: "32", 5: "16_16", 6: "10_11_11", 7: "11_11_10", 8: "10_10_10_2", 9: "2_10_10_10",
	10: "8_8_8_8", 11: "32_32", 12: "16_16_16_16", 13: "32_32_32", 14: "32_32_32_32", 16: "5_6_5", 17: "1_5_5_5",
	18: "5_5_5_1", 19: "4_4_4_4", 20: "8_24", 21: "24_8", 34: "5_9_9_9",
}

var gfx9Numbers = map[uint32]Number{0: UNorm, 1: SNorm, 2: UScaled, 3: SScaled, 4: UInt, 5: SInt, 7: Float, 9: SRGB}

// tables holds the formats of gfx10 and of gfx11 and later by number.
var tables = func() (t [2]map[uint32]*Format) {
	for i, runs := range [2][]run{gfx10Runs, gfx11Runs} {
		t[i] = map[uint32]*Format{}
		for _, r := range runs {
			for k, n := range r.numbers {
				t[i][uint32(r.first+k)] = newFormat(r.layout, n)
			}
		}
	}
	return t
}()

var gfx9Table = func() map[[2]uint32]*Format {
	t := map[[2]uint32]*Format{}
	for d, l := range gfx9Layouts {
		for n, num := range gfx9Numbers {
			t[[2]uint32{d, n}] = newFormat(l, num)
		}
	}
	return t
}()

func newFormat(l string, n Number) *Format {
	f := layout(l)
	f.Number = n
	f.SharedExp = l == "5_9_9_9"
	return &f
}

// FormatByNumber is the format that a descriptor of gfx10 or later, or a typed buffer instruction, names; nil when it is
// reserved or not implemented.
func FormatByNumber(gen int, n uint32) *Format { return tables[min(max(gen-10, 0), 1)][n] }

// FormatByPair is gfx9's, of a data format and a number format.
func FormatByPair(data, number uint32) *Format { return gfx9Table[[2]uint32{data, number}] }

// One is the value that stands for 1 in a format.
func (f *Format) One() uint32 {
	if f.Integer() {
		return 1
	}
	return math.Float32bits(1)
}

// raw is the bits of component i of a texel.
func (f *Format) raw(p []byte, i int) uint32 {
	s, n := int(f.Fields[i].Shift), int(f.Fields[i].Bits)
	var b [8]byte
	copy(b[:], p[s/8:min(s/8+5, len(p))])
	return uint32(binary.LittleEndian.Uint64(b[:]) >> (s % 8) & (1<<n - 1))
}

// Decode reads a texel of f.Bytes bytes: four values in memory order. Components that the format has not are 0, w is 1.
func (f *Format) Decode(p []byte) (v [4]uint32) {
	v[3] = f.One()
	if f.SharedExp {
		e := int(f.raw(p, 3)) - 15 - 9
		for i := range 3 {
			v[i] = math.Float32bits(float32(math.Ldexp(float64(f.raw(p, i)), e)))
		}
		return v
	}
	for i := range f.N {
		v[i] = f.component(f.raw(p, i), int(f.Fields[i].Bits), i)
	}
	return v
}

func (f *Format) component(x uint32, n, i int) uint32 {
	signed := int32(x<<(32-n)) >> (32 - n)
	fl := math.Float32bits
	switch f.Number {
	case UNorm:
		return fl(float32(float64(x) / float64(uint64(1)<<n-1)))
	case SRGB:
		u := float64(x) / float64(uint64(1)<<n-1)
		if i < 3 {
			u = fromSRGB(u)
		}
		return fl(float32(u))
	case SNorm:
		if n == 1 {
			return fl(float32(signed))
		}
		return fl(float32(max(-1, float64(signed)/float64(uint64(1)<<(n-1)-1))))
	case UScaled:
		return fl(float32(x))
	case SScaled:
		return fl(float32(signed))
	case SInt:
		return uint32(signed)
	case Float:
		switch n {
		case 16:
			return fl(float32(smallFloat(x, 10, true)))
		case 11:
			return fl(float32(smallFloat(x, 6, false)))
		case 10:
			return fl(float32(smallFloat(x, 5, false)))
		}
	}
	return x
}

// smallFloat is a float with a 5-bit exponent and m fraction bits.
func smallFloat(x uint32, m uint, signed bool) float64 {
	frac := float64(x&(1<<m-1)) / float64(uint32(1)<<m)
	e := int(x >> m & 31)
	var v float64
	switch {
	case e == 0:
		v = math.Ldexp(frac, -14)
	case e < 31:
		v = math.Ldexp(1+frac, e-15)
	case frac == 0:
		v = math.Inf(1)
	default:
		return math.NaN()
	}
	if signed && x>>15&1 != 0 {
		v = -v
	}
	return v
}

func fromSRGB(u float64) float64 {
	if u <= 0.04045 {
		return u / 12.92
	}
	return math.Pow((u+0.055)/1.055, 2.4)
}

func toSRGB(u float64) float64 {
	if u <= 0.0031308 {
		return u * 12.92
	}
	return 1.055*math.Pow(u, 1/2.4) - 0.055
}

// Encode writes a texel from four values in memory order. Normalised values are clamped and rounded to the nearest, even
// on a tie; integers are clamped to the component.
func (f *Format) Encode(v [4]uint32, p []byte) {
	clear(p[:f.Bytes])
	if f.SharedExp {
		f.encodeShared(v, p)
		return
	}
	for i := range f.N {
		s, n := int(f.Fields[i].Shift), int(f.Fields[i].Bits)
		x := uint64(f.bits(v[i], n, i)) & (1<<n - 1) << (s % 8)
		for k := s / 8; x != 0; k++ {
			p[k] |= byte(x)
			x >>= 8
		}
	}
}

func (f *Format) bits(v uint32, n, i int) uint32 {
	x := float64(math.Float32frombits(v))
	clamp := func(lo, hi float64) float64 {
		if !(x > lo) { // NaN too
			return lo
		}
		return min(x, hi)
	}
	switch f.Number {
	case UNorm, SRGB:
		u := clamp(0, 1)
		if f.Number == SRGB && i < 3 {
			u = toSRGB(u)
		}
		return uint32(math.RoundToEven(u * float64(uint64(1)<<n-1)))
	case SNorm:
		if math.IsNaN(x) {
			return 0
		}
		return uint32(int32(math.RoundToEven(clamp(-1, 1) * float64(uint64(1)<<(n-1)-1))))
	case UScaled:
		return uint32(math.Trunc(clamp(0, float64(uint64(1)<<n-1))))
	case SScaled:
		return uint32(int32(math.Trunc(clamp(-float64(uint64(1)<<(n-1)), float64(uint64(1)<<(n-1)-1)))))
	case UInt:
		return uint32(min(uint64(v), uint64(1)<<n-1))
	case SInt:
		lim := int64(1) << (n - 1)
		return uint32(int32(min(max(int64(int32(v)), -lim), lim-1)))
	case Float:
		switch n {
		case 16:
			return uint32(ToHalf(math.Float32frombits(v)))
		case 11:
			return unsignedFloat(x, 6)
		case 10:
			return unsignedFloat(x, 5)
		}
	}
	return v
}

// unsignedFloat encodes x with 5 exponent bits, m fraction bits and no sign, toward zero.
func unsignedFloat(x float64, m uint) uint32 {
	inf := uint32(31) << m
	switch {
	case math.IsNaN(x):
		return inf | 1
	case !(x > 0):
		return 0
	case math.IsInf(x, 1):
		return inf
	}
	fr, e := math.Frexp(x) // x = fr * 2^e, fr in [0.5, 1)
	e--
	if e < -14 {
		return uint32(math.Ldexp(x, 14+int(m)))
	}
	if e > 15 {
		return inf - 1 // the largest finite
	}
	return uint32(e+15)<<m | uint32(math.Ldexp(2*fr-1, int(m)))
}

func (f *Format) encodeShared(v [4]uint32, p []byte) {
	var c [3]float64
	top := 0.0
	for i := range c {
		c[i] = float64(math.Float32frombits(v[i]))
		if !(c[i] > 0) {
			c[i] = 0
		}
		c[i] = min(c[i], 65408)
		top = max(top, c[i])
	}
	e := -15 - 1
	if top > 0 {
		_, x := math.Frexp(top)
		e = max(e, x-1)
	}
	e++
	if math.RoundToEven(math.Ldexp(top, 9-e)) == 512 {
		e++
	}
	x := uint32(e+15) << 27
	for i := range c {
		x |= uint32(math.RoundToEven(math.Ldexp(c[i], 9-e))) << (9 * i)
	}
	binary.LittleEndian.PutUint32(p, x)
}

// ToHalf rounds to the nearest half-precision number, even on a tie.
func ToHalf(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b >> 16 & 0x8000)
	abs := math.Float64frombits(math.Float64bits(float64(x)) &^ (1 << 63))
	switch {
	case math.IsNaN(abs):
		return sign | 0x7e00
	case abs >= 65520:
		return sign | 0x7c00
	case abs < 0x1p-14:
		return sign | uint16(math.RoundToEven(math.Ldexp(abs, 24)))
	}
	fr, e := math.Frexp(abs)
	m := uint16(math.RoundToEven(math.Ldexp(fr, 11))) // 1024..2048
	return sign | uint16((e+14)<<10) + m - 1024
}

// FromHalf is the value of a half-precision number.
func FromHalf(h uint16) float32 { return float32(smallFloat(uint32(h), 10, true)) }
