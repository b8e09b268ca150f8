package image

import "fmt"

// Shape is a resource's type, as encoded in its descriptor.
type Shape uint8

const (
	Shape1D          Shape = 8
	Shape2D          Shape = 9
	Shape3D          Shape = 10
	ShapeCube        Shape = 11
	Shape1DArray     Shape = 12
	Shape2DArray     Shape = 13
	Shape2DMSAA      Shape = 14
	Shape2DMSAAArray Shape = 15
)

// Resource is what an image's descriptor says.
type Resource struct {
	Base                 uint64
	Format               *Format
	Shape                Shape
	Width, Height, Depth int // in texels; Depth is slices where the shape has them
	Pitch                int // in texels, of a linear image
	Select               [4]uint8
	FirstSlice           int
	Levels               int

	linear bool
	tile   tile
}

// Descriptor selectors of a component.
const (
	Select0 = 0
	Select1 = 1
	SelectX = 4
)

// Error is why an image cannot be used.
type Error struct{ What string }

func (e *Error) Error() string { return e.What }

func bits(w uint32, hi, lo int) uint32 { return w >> lo & (1<<(hi-lo+1) - 1) }

// ParseResource reads a T# of generation gen (9 to 12). has13 says that a pitch is in the depth field (gfx10.3 and later).
func ParseResource(gen int, pitched bool, d *[8]uint32) (*Resource, error) {
	r := &Resource{Base: uint64(d[0])<<8 | uint64(bits(d[1], 7, 0))<<40}
	r.Base = uint64(int64(r.Base<<16) >> 16)
	r.Shape = Shape(bits(d[3], 31, 28))
	for i := range r.Select {
		r.Select[i] = uint8(bits(d[3], 3*i+2, 3*i))
	}
	var mode, level, last uint32
	compressed := false
	if gen <= 9 {
		r.Format = FormatByPair(bits(d[1], 25, 20), bits(d[1], 29, 26))
		r.Width, r.Height = int(bits(d[2], 13, 0)), int(bits(d[2], 27, 14))
		r.Depth, r.Pitch = int(bits(d[4], 12, 0)), int(bits(d[4], 28, 13))+1
		r.FirstSlice = int(bits(d[5], 12, 0))
		level, last, mode = bits(d[3], 15, 12), bits(d[3], 19, 16), bits(d[3], 24, 20)
		compressed = bits(d[6], 21, 21) != 0
	} else {
		level, last, mode = bits(d[3], 15, 12), bits(d[3], 19, 16), bits(d[3], 24, 20)
		r.Width, r.Height = int(bits(d[1], 31, 30)|bits(d[2], 11, 0)<<2), int(bits(d[2], 27, 14))
		r.Depth, r.FirstSlice = int(bits(d[4], 12, 0)), int(bits(d[4], 28, 16))
		pitch := int(bits(d[4], 13, 0))
		compressed = bits(d[6], 21, 21) != 0
		switch gen {
		case 10:
			r.Format = FormatByNumber(gen, bits(d[1], 28, 20))
		case 11:
			r.Format = FormatByNumber(gen, bits(d[1], 27, 20))
		default:
			r.Format = FormatByNumber(gen, bits(d[1], 24, 17))
			r.Width, r.Height = int(bits(d[1], 31, 30)|bits(d[2], 13, 0)<<2), int(bits(d[2], 29, 14))
			r.Depth, r.FirstSlice = int(bits(d[4], 13, 0)), int(bits(d[4], 29, 16))
			pitch = int(bits(d[4], 15, 0))
			level, last = bits(d[1], 29, 25), bits(d[3], 19, 15)
			compressed = false
		}
		if pitched && (r.Shape == Shape1D || r.Shape == Shape2D) {
			r.Pitch, r.Depth = pitch+1, 0
		}
	}
	r.Width++
	r.Height++
	r.Depth++
	r.Levels = int(last) - int(level) + 1
	switch r.Shape {
	case Shape1D:
		r.Height, r.Depth = 1, 1
	case Shape2D:
		r.Depth = 1
	case Shape1DArray:
		r.Height = 1
	case Shape3D:
		r.FirstSlice = 0
	case ShapeCube, Shape2DArray:
	case Shape2DMSAA, Shape2DMSAAArray:
		return nil, &Error{"images with several samples in a texel are not implemented"}
	default:
		return nil, &Error{fmt.Sprintf("no image descriptor: type %d", r.Shape)}
	}
	if r.Shape == Shape1DArray || r.Shape == Shape2DArray || r.Shape == ShapeCube {
		if r.Depth -= r.FirstSlice; r.Depth <= 0 { // the field is the last slice
			r.Depth = 1
		}
	}
	switch {
	case r.Format == nil:
		return nil, &Error{fmt.Sprintf("image format %#x is reserved or not implemented", d[1])}
	case last != 0 || level != 0:
		return nil, &Error{"images with more than one mipmap level are not implemented"}
	case compressed:
		return nil, &Error{"images with compressed colours are not implemented"}
	}
	var err error
	if r.tile, r.linear, err = layoutOf(gen, mode, r.Shape == Shape3D, r.Format.Bytes); err != nil {
		return nil, err
	}
	if r.Pitch == 0 {
		r.Pitch = r.Width
		if r.linear {
			r.Pitch = up(r.Width, max(1, 256/r.Format.Bytes))
		}
	}
	return r, nil
}

func up(x, to int) int { return (x + to - 1) / to * to }

// Address is where texel (x, y, z) lies; z is the slice of an array. False when it is outside the image.
func (r *Resource) Address(x, y, z int) (uint64, bool) {
	if uint(x) >= uint(r.Width) || uint(y) >= uint(r.Height) || uint(z) >= uint(r.Depth) {
		return 0, false
	}
	z += r.FirstSlice
	if r.linear {
		return r.Base + uint64((z*r.Height+y)*r.Pitch+x)*uint64(r.Format.Bytes), true
	}
	return r.Base + r.tile.offset(x, y, z, r.Pitch, r.Height), true
}

// Selected is the program's x, y, z and w of a texel.
func (r *Resource) Selected(v [4]uint32) (out [4]uint32) {
	for i, s := range r.Select {
		switch {
		case s == Select1:
			out[i] = r.Format.One()
		case s >= SelectX:
			out[i] = v[s-SelectX]
		}
	}
	return out
}

// Stored is the texel in memory order of the program's x, y, z and w.
func (r *Resource) Stored(v [4]uint32) (out [4]uint32) {
	for i := 3; i >= 0; i-- {
		if s := r.Select[i]; s >= SelectX {
			out[s-SelectX] = v[i]
		}
	}
	return out
}

// Buffer is what a typed buffer's descriptor says beyond its addressing.
type Buffer struct {
	Format *Format
	Select [4]uint8
}

// ParseBuffer reads the format of a V#. A typed instruction brings its own format instead: typed, and the number.
func ParseBuffer(gen int, d3 uint32, typed bool, number uint32) (*Buffer, error) {
	b := &Buffer{}
	for i := range b.Select {
		b.Select[i] = uint8(bits(d3, 3*i+2, 3*i))
	}
	switch {
	case typed && gen <= 9:
		b.Format = FormatByPair(number&15, number>>4)
	case typed:
		b.Format = FormatByNumber(gen, number)
	case gen <= 9:
		b.Format = FormatByPair(bits(d3, 18, 15), bits(d3, 14, 12))
	case gen == 10:
		b.Format = FormatByNumber(gen, bits(d3, 18, 12))
	default:
		b.Format = FormatByNumber(gen, bits(d3, 17, 12))
	}
	if b.Format == nil {
		return nil, &Error{fmt.Sprintf("buffer format of %#x is reserved or not implemented", d3)}
	}
	return b, nil
}
