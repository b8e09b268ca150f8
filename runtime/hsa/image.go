package hsa

import (
	"fmt"
)

// Images. A kernel reaches an image by a resource descriptor (T#, eight words; a buffer's, V#, four) and reads it through a
// sampler descriptor (S#, four). This is what the image extension makes of an application's description: words in the layout of
// the agent's generation, and the size and alignment of the memory behind them. Images are linear in memory: rows, one behind
// the other at a pitch, in slices. AMD's runtime chooses tiled layouts for opaque images; nobody may look.
//
//fidelity: approximate hsa_ext_image_create: opaque images are linear too

// ImageGeometry is hsa_ext_image_geometry_t.
type ImageGeometry uint32

// Geometries.
const (
	Image1D ImageGeometry = iota
	Image2D
	Image3D
	Image1DArray
	Image2DArray
	ImageBuffer // of one dimension, over plain memory
	Image2DDepth
	Image2DArrayDepth
)

// ChannelType is hsa_ext_image_channel_type_t.
type ChannelType uint32

// Channel types.
const (
	SNormInt8 ChannelType = iota
	SNormInt16
	UNormInt8
	UNormInt16
	UNormInt24
	UNormShort555
	UNormShort565
	UNormInt101010
	SignedInt8
	SignedInt16
	SignedInt32
	UnsignedInt8
	UnsignedInt16
	UnsignedInt32
	HalfFloat
	Float32
)

// ChannelOrder is hsa_ext_image_channel_order_t.
type ChannelOrder uint32

// Channel orders.
const (
	OrderA ChannelOrder = iota
	OrderR
	OrderRX
	OrderRG
	OrderRGX
	OrderRA
	OrderRGB
	OrderRGBX
	OrderRGBA
	OrderBGRA
	OrderARGB
	OrderABGR
	OrderSRGB
	OrderSRGBX
	OrderSRGBA
	OrderSBGRA
	OrderIntensity
	OrderLuminance
	OrderDepth
	OrderDepthStencil
)

// ImageDesc describes an image: sizes are in texels, and 0 where the geometry has no such dimension.
type ImageDesc struct {
	Geometry             ImageGeometry
	Width, Height, Depth uint64
	Layers               uint64
	Type                 ChannelType
	Order                ChannelOrder
}

// ImageLayout is how an image lies in memory.
type ImageLayout struct {
	TexelSize  uint64 // bytes
	RowPitch   uint64
	SlicePitch uint64
	Size       uint64
	Align      uint64
}

// Alignments of linear images in bytes.
const (
	ImagePitchAlign = 256
	ImageBaseAlign  = 256
)

// Largest sizes of images in texels.
const (
	MaxImageSize   = 16384
	MaxImageDepth  = 8192
	MaxImageLayers = 8192
	MaxImageBuffer = 1<<32 - 1
)

// ImageWords and SamplerWords are the sizes of the objects that handles point at: descriptor, channel type, order, width, and
// a spare word; and a sampler's descriptor in twice its size.
const (
	ImageWords   = 12
	SamplerWords = 8
)

// texelLayout names a layout as hardware does, most significant component first.
type texelLayout struct {
	name                string
	data9               uint32 // data format of gfx9
	first10, first11    uint32 // number of the layout's first number format in gfx10's and gfx11's list
	numbers10, number11 string // its number formats, in order: u unorm, s snorm, U uscaled, S sscaled, I uint, i sint, f float
	bytes               uint64
	components          int
}

var texelLayouts = []texelLayout{
	{"8", 1, 1, 1, "usUSIi", "usUSIi", 1, 1},
	{"16", 2, 7, 7, "usUSIif", "usUSIif", 2, 1},
	{"8_8", 3, 14, 14, "usUSIi", "usUSIi", 2, 2},
	{"32", 4, 20, 20, "Iif", "Iif", 4, 1},
	{"16_16", 5, 23, 23, "usUSIif", "usUSIif", 4, 2},
	{"2_10_10_10", 9, 50, 36, "usUSIi", "usUSIi", 4, 3},
	{"8_8_8_8", 10, 56, 42, "usUSIi", "usUSIi", 4, 4},
	{"32_32", 11, 62, 48, "Iif", "Iif", 8, 2},
	{"16_16_16_16", 12, 65, 51, "usUSIif", "usUSIif", 8, 4},
	{"32_32_32_32", 14, 75, 61, "Iif", "Iif", 16, 4},
	{"5_6_5", 16, 133, 68, "u", "u", 2, 3},
	{"1_5_5_5", 17, 134, 69, "u", "u", 2, 3},
	{"8_8_8_8", 10, 130, 66, "r", "r", 4, 4}, // sRGB
}

var numbers9 = map[byte]uint32{'u': 0, 's': 1, 'U': 2, 'S': 3, 'I': 4, 'i': 5, 'f': 7, 'r': 9}

// channelTypes gives each type's bits and number format; packed types name a layout instead.
var channelTypes = [...]struct {
	bits   int
	number byte
	packed string
}{
	SNormInt8: {8, 's', ""}, SNormInt16: {16, 's', ""}, UNormInt8: {8, 'u', ""}, UNormInt16: {16, 'u', ""},
	UNormShort555: {0, 'u', "1_5_5_5"}, UNormShort565: {0, 'u', "5_6_5"}, UNormInt101010: {0, 'u', "2_10_10_10"},
	SignedInt8: {8, 'i', ""}, SignedInt16: {16, 'i', ""}, SignedInt32: {32, 'i', ""},
	UnsignedInt8: {8, 'I', ""}, UnsignedInt16: {16, 'I', ""}, UnsignedInt32: {32, 'I', ""},
	HalfFloat: {16, 'f', ""}, Float32: {32, 'f', ""},
}

// orders gives each order's components and where the program's x, y, z and w come from: a digit is a constant, a letter a
// component of memory.
var orders = map[ChannelOrder]struct {
	components int
	sel        string
}{
	OrderA: {1, "000x"}, OrderR: {1, "x001"}, OrderRG: {2, "xy01"}, OrderRA: {2, "x00y"}, OrderRGB: {3, "zyx1"},
	OrderRGBA: {4, "xyzw"}, OrderBGRA: {4, "zyxw"}, OrderARGB: {4, "yzwx"}, OrderSRGBA: {4, "xyzw"},
	OrderIntensity: {1, "xxxx"}, OrderLuminance: {1, "xxx1"}, OrderDepth: {1, "x000"},
}

// imageFormat is a format in hardware's terms.
type imageFormat struct {
	l      *texelLayout
	number byte
	sel    uint32
}

// formatOf finds the format of a channel order and type, for a geometry.
func formatOf(d *ImageDesc) (imageFormat, bool) {
	var f imageFormat
	o, ok := orders[d.Order]
	if !ok || int(d.Type) >= len(channelTypes) {
		return f, false
	}
	depth := d.Geometry == Image2DDepth || d.Geometry == Image2DArrayDepth
	if depth != (d.Order == OrderDepth) {
		return f, false
	}
	t := channelTypes[d.Type]
	name := t.packed
	f.number = t.number
	switch {
	case t.number == 0:
		return f, false
	case (name != "") != (o.components == 3) || name != "" && d.Geometry == ImageBuffer && t.bits == 0 && d.Type != UNormInt101010:
		return f, false
	case d.Order == OrderSRGBA:
		if d.Type != UNormInt8 || d.Geometry == ImageBuffer {
			return f, false
		}
		f.number = 'r'
	case d.Order == OrderBGRA || d.Order == OrderARGB:
		if t.bits != 8 {
			return f, false
		}
	case d.Order == OrderIntensity || d.Order == OrderLuminance:
		if t.number == 'i' || t.number == 'I' {
			return f, false
		}
	case d.Order == OrderDepth:
		if d.Type != UNormInt16 && d.Type != Float32 {
			return f, false
		}
	}
	if name == "" {
		for i := range o.components {
			if i > 0 {
				name += "_"
			}
			name += fmt.Sprint(t.bits)
		}
	}
	for i := range o.sel {
		var s uint32
		switch c := o.sel[i]; c {
		case '0', '1':
			s = uint32(c - '0')
		case 'w':
			s = 7
		default:
			s = uint32(c-'x') + 4
		}
		f.sel |= s << (3 * i)
	}
	for i := range texelLayouts {
		if l := &texelLayouts[i]; l.name == name && index(l.numbers10, f.number) >= 0 {
			f.l = l
			return f, true
		}
	}
	return f, false
}

func index(s string, c byte) int {
	for i := range len(s) {
		if s[i] == c {
			return i
		}
	}
	return -1
}

// combined is the format's number from gfx10 on.
func (f *imageFormat) combined(gen int) uint32 {
	if gen >= 11 {
		return f.l.first11 + uint32(index(f.l.number11, f.number))
	}
	return f.l.first10 + uint32(index(f.l.numbers10, f.number))
}

// ImageGeneration is the generation of the agent's image descriptors, 9 to 12, and whether those of two dimensions hold a pitch; 0 without texture
// units.
func (a *Agent) ImageGeneration() (gen int, pitched bool) {
	if !a.IsGPU() {
		return 0, false
	}
	v := uint32(a.Node.Props["gfx_target_version"])
	if a.rt != nil && a.rt.opts.OverrideVersion != 0 {
		v = a.rt.opts.OverrideVersion
	}
	major, minor := int(v/10000), int(v/100%100)
	switch {
	case major == 9 && minor >= 4: // gfx940 and later
		return 0, false
	case major < 9 || major > 12:
		return 0, false
	}
	return major, major >= 11 || major == 10 && minor >= 3
}

// HasImages reports whether the agent has texture units.
func (a *Agent) HasImages() bool {
	g, _ := a.ImageGeneration()
	return g != 0
}

// ImageSupported reports whether the agent has a format for a geometry; its sRGB images are read-only.
func (a *Agent) ImageSupported(d *ImageDesc) (read, write bool) {
	if !a.HasImages() || d.Geometry > Image2DArrayDepth {
		return false, false
	}
	f, ok := formatOf(d)
	return ok, ok && f.number != 'r'
}

// LayoutImage says how an image lies in memory. A row pitch of 0 is the smallest; else it must be one that hardware can have. So the slice
// pitch.
func (a *Agent) LayoutImage(d *ImageDesc, rowPitch, slicePitch uint64) (ImageLayout, error) {
	var l ImageLayout
	gen, pitched := a.ImageGeneration()
	if gen == 0 {
		return l, fail("ext_image_create", StatusInvalidAgent, "%s has no texture units", a.Name)
	}
	f, ok := formatOf(d)
	if !ok {
		return l, fail("ext_image_create", StatusImageFormatUnsupported, "channel order %d, type %d, geometry %d", d.Order, d.Type, d.Geometry)
	}
	w, h, z := d.Width, max(d.Height, 1), uint64(1)
	limitW := uint64(MaxImageSize)
	switch d.Geometry {
	case ImageBuffer:
		limitW = MaxImageBuffer
	case Image3D:
		z = max(d.Depth, 1)
	case Image1DArray, Image2DArray, Image2DArrayDepth:
		z = max(d.Layers, 1)
	}
	switch d.Geometry {
	case Image1D, Image1DArray, ImageBuffer:
		h = 1
	}
	if w == 0 || w > limitW || h > MaxImageSize || z > MaxImageDepth {
		return l, fail("ext_image_create", StatusImageSizeUnsupported, "%d x %d x %d texels", w, h, z)
	}
	l = ImageLayout{TexelSize: f.l.bytes, Align: ImageBaseAlign}
	if d.Geometry == ImageBuffer {
		l.RowPitch = w * l.TexelSize
		l.SlicePitch, l.Size, l.Align = l.RowPitch, l.RowPitch, l.TexelSize
		return l, nil
	}
	l.RowPitch = (w*l.TexelSize + ImagePitchAlign - 1) &^ (ImagePitchAlign - 1)
	if rowPitch != 0 {
		ok := rowPitch >= w*l.TexelSize && rowPitch%ImagePitchAlign == 0 && rowPitch/l.TexelSize <= MaxImageSize
		if !ok || rowPitch != l.RowPitch && gen != 9 && !(pitched && z == 1) {
			return l, fail("ext_image_create", StatusImagePitchUnsupported, "a row pitch of %d bytes for %d texels of %d", rowPitch, w, l.TexelSize)
		}
		l.RowPitch = rowPitch
	}
	l.SlicePitch = l.RowPitch * h
	if slicePitch != 0 && slicePitch != l.SlicePitch && z > 1 {
		return l, fail("ext_image_create", StatusImagePitchUnsupported, "a slice pitch of %d bytes, not %d", slicePitch, l.SlicePitch)
	}
	l.Size = l.SlicePitch * z
	return l, nil
}

// resource types of descriptors.
var imageShapes = [...]uint32{Image1D: 8, Image2D: 9, Image3D: 10, Image1DArray: 12, Image2DArray: 13, Image2DDepth: 9, Image2DArrayDepth: 13}

// DescribeImage fills an image object: the descriptor of an image at data, and what kernels ask of it.
func (a *Agent) DescribeImage(d *ImageDesc, l *ImageLayout, data uint64, out *[ImageWords]uint32) error {
	gen, pitched := a.ImageGeneration()
	f, ok := formatOf(d)
	if gen == 0 || !ok {
		return fail("ext_image_create", StatusImageFormatUnsupported, "channel order %d, type %d, geometry %d", d.Order, d.Type, d.Geometry)
	}
	if data%l.Align != 0 {
		return fail("ext_image_create", StatusInvalidArgument, "image data at %#x, alignment %d", data, l.Align)
	}
	*out = [ImageWords]uint32{8: uint32(d.Type), 9: uint32(d.Order), 10: uint32(d.Width)}
	if d.Geometry == ImageBuffer {
		out[0] = uint32(data)
		out[1] = uint32(data>>32)&0xffff | uint32(l.TexelSize)<<16
		out[2] = uint32(d.Width)
		out[3] = f.sel
		switch gen {
		case 9:
			out[3] |= numbers9[f.number]<<12 | f.l.data9<<15
		case 10:
			out[3] |= f.combined(gen)<<12 | 1<<24
		default:
			out[3] |= f.combined(gen) << 12
		}
		return nil
	}
	w, h, z := uint32(d.Width)-1, uint32(max(d.Height, 1))-1, uint32(0)
	switch d.Geometry {
	case Image1D, Image1DArray:
		h = 0
	}
	switch d.Geometry {
	case Image3D:
		z = uint32(max(d.Depth, 1)) - 1
	case Image1DArray, Image2DArray, Image2DArrayDepth:
		z = uint32(max(d.Layers, 1)) - 1
	}
	pitch := uint32(l.RowPitch/l.TexelSize) - 1
	out[0], out[1] = uint32(data>>8), uint32(data>>40)&0xff
	out[3] = f.sel | imageShapes[d.Geometry]<<28
	flat := d.Geometry == Image1D || d.Geometry == Image2D || d.Geometry == Image2DDepth
	switch gen {
	case 9:
		out[1] |= f.l.data9<<20 | numbers9[f.number]<<26
		out[2] = w | h<<14
		out[4] = z | pitch<<13
	case 10, 11:
		out[1] |= f.combined(gen)<<20 | w<<30
		out[2] = w>>2 | h<<14
		if gen == 10 {
			out[2] |= 1 << 31
		}
		out[4] = z
		if pitched && flat {
			out[4] = pitch
		}
	default:
		out[1] |= f.combined(gen)<<17 | w<<30
		out[2] = w>>2 | h<<14
		out[4] = z
		if flat {
			out[4] = pitch
		}
	}
	return nil
}

// AddressMode is hsa_ext_sampler_addressing_mode_t.
type AddressMode uint32

// Addressing modes.
const (
	AddressUndefined AddressMode = iota
	AddressClampToEdge
	AddressClampToBorder
	AddressRepeat
	AddressMirroredRepeat
)

// SamplerDesc describes a sampler.
type SamplerDesc struct {
	Normalized bool
	Linear     bool
	Mode       AddressMode     // of every dimension, unless Modes says otherwise
	Modes      *[3]AddressMode // one for each dimension
}

// DescribeSampler fills a sampler object.
func (a *Agent) DescribeSampler(d SamplerDesc, out *[SamplerWords]uint32) error {
	gen, _ := a.ImageGeneration()
	if gen == 0 {
		return fail("ext_sampler_create", StatusInvalidAgent, "%s has no texture units", a.Name)
	}
	modes := [3]AddressMode{d.Mode, d.Mode, d.Mode}
	if d.Modes != nil {
		modes = *d.Modes
	}
	*out = [SamplerWords]uint32{1: 0xfff << 12}
	for i, m := range modes {
		var clamp uint32
		switch m {
		case AddressClampToEdge:
			clamp = 2
		case AddressClampToBorder:
			clamp = 6
		case AddressUndefined, AddressRepeat:
		case AddressMirroredRepeat:
			clamp = 1
		default:
			return fail("ext_sampler_create", StatusInvalidArgument, "addressing mode %d", m)
		}
		out[0] |= clamp << (3 * i)
	}
	if gen >= 12 {
		out[1] = 0xfff << 13
	}
	if !d.Normalized {
		out[0] |= 1 << 15
	}
	if d.Linear {
		out[2] = 1<<20 | 1<<22
	}
	return nil
}
