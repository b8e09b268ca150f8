package hip

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Arrays. An array is an image in device memory, which kernels reach through textures and surfaces and the host by copies. Its
// handle is the address of a hipArray, whose fields programs up to HIP 5 may read.

// ChannelFormatDesc is hipChannelFormatDesc: bits of each component, and their kind.
type ChannelFormatDesc struct {
	X, Y, Z, W int32
	F          uint32
}

// Kinds of channel formats.
const (
	kindSigned   = 0
	kindUnsigned = 1
	kindFloat    = 2
)

// Array formats (hipArray_Format).
const (
	formatU8   = 0x01
	formatU16  = 0x02
	formatU32  = 0x03
	formatI8   = 0x08
	formatI16  = 0x09
	formatI32  = 0x0a
	formatHalf = 0x10
	formatF32  = 0x20
)

// Flags of arrays.
const (
	arrayLayered   = 0x01
	arraySurface   = 0x02
	arrayCubemap   = 0x04
	arrayGather    = 0x08
	arrayAllFlags  = arrayLayered | arraySurface | arrayCubemap | arrayGather
	tex1D          = 0x01
	tex2D          = 0x02
	tex3D          = 0x03
	texCube        = 0x0c
	tex1DLayered   = 0xf1
	tex2DLayered   = 0xf2
	texCubeLayered = 0xfc
)

// channel is a format in the runtime's terms.
type channel struct {
	format   uint32 // hipArray_Format
	channels uint32
}

// size is the bytes of a texel.
func (c channel) size() uint64 {
	switch c.format {
	case formatU8, formatI8:
		return uint64(c.channels)
	case formatU16, formatI16, formatHalf:
		return 2 * uint64(c.channels)
	}
	return 4 * uint64(c.channels)
}

// channelOf checks a hipChannelFormatDesc: one, two or four components of the same 8, 16 or 32 bits.
func channelOf(d *ChannelFormatDesc) (c channel, ok bool) {
	n, bits := uint32(0), d.X
	for i, b := range [4]int32{d.X, d.Y, d.Z, d.W} {
		if b == 0 {
			continue
		}
		if b != bits || int(n) != i {
			return c, false
		}
		n++
	}
	if n != 1 && n != 2 && n != 4 {
		return c, false
	}
	f, ok := map[[2]int32]uint32{{8, kindSigned}: formatI8, {16, kindSigned}: formatI16, {32, kindSigned}: formatI32, {8, kindUnsigned}: formatU8,
		{16, kindUnsigned}: formatU16, {32, kindUnsigned}: formatU32, {16, kindFloat}: formatHalf, {32, kindFloat}: formatF32}[[2]int32{bits, int32(d.F)}]
	return channel{f, n}, ok
}

// channelOfFormat checks a driver format.
func channelOfFormat(format, channels uint32) (channel, bool) {
	switch format {
	case formatU8, formatU16, formatU32, formatI8, formatI16, formatI32, formatHalf, formatF32:
		return channel{format, channels}, channels == 1 || channels == 2 || channels == 4
	}
	return channel{}, false
}

// desc is the format as a hipChannelFormatDesc.
func (c channel) desc() (d ChannelFormatDesc) {
	bits := int32(c.size() / uint64(c.channels) * 8)
	for i, p := range []*int32{&d.X, &d.Y, &d.Z, &d.W} {
		if i < int(c.channels) {
			*p = bits
		}
	}
	switch c.format {
	case formatU8, formatU16, formatU32:
		d.F = kindUnsigned
	case formatHalf, formatF32:
		d.F = kindFloat
	}
	return d
}

// image is the format as an image's: plain, or normalised to [0, 1] or [-1, 1]. Only 8 and 16 bits can be normalised.
func (c channel) image(normalized, srgb bool) (o clr.ChannelOrder, t clr.ChannelType, ok bool) {
	o = map[uint32]clr.ChannelOrder{1: clr.OrderR, 2: clr.OrderRG, 4: clr.OrderRGBA}[c.channels]
	switch {
	case c.format == formatHalf:
		return o, clr.HalfFloat, true
	case c.format == formatF32:
		return o, clr.Float32, true
	case normalized:
		t, ok = map[uint32]clr.ChannelType{formatU8: clr.UNormInt8, formatU16: clr.UNormInt16, formatI8: clr.SNormInt8, formatI16: clr.SNormInt16}[c.format]
		if srgb && t == clr.UNormInt8 && c.channels == 4 && ok {
			o = clr.OrderSRGBA
		}
		return o, t, ok
	}
	t, ok = map[uint32]clr.ChannelType{formatU8: clr.UnsignedInt8, formatU16: clr.UnsignedInt16, formatU32: clr.UnsignedInt32, formatI8: clr.SignedInt8,
		formatI16: clr.SignedInt16, formatI32: clr.SignedInt32}[c.format]
	return o, t, ok
}

// arrayHead is hipArray as programs see it.
type arrayHead struct {
	Data                 uintptr
	Desc                 ChannelFormatDesc
	Type                 uint32
	Width, Height, Depth uint32
	Format               uint32
	NumChannels          uint32
	IsDrv                bool
	_                    [3]byte
	TextureType          uint32
}

// array is one array.
type array struct {
	img           *clr.Image
	obj           *clr.Object
	c             channel
	width, height uint64 // as asked: 0 where there is no such dimension
	depth         uint64
	flags         uint32
}

// arrays by the address of their hipArray.
var arrays sync.Map

func arrayOf(h uintptr) *array {
	if v, ok := arrays.Load(h); ok {
		return v.(*array)
	}
	return nil
}

// newArray allocates an array: a depth makes it three-dimensional, or layers.
func (a *API) newArray(t *Thread, out *uintptr, c channel, w, h, z uint64, flags uint32, driver bool) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	if !d.HasImages() {
		return ErrNotSupported
	}
	layered := flags&arrayLayered != 0
	switch {
	case w == 0, flags&^uint32(arrayAllFlags) != 0, layered && z == 0, h == 0 && z != 0 && !layered:
		return ErrInvalidValue
	case flags&arrayCubemap != 0:
		if w != h || z == 0 || z%6 != 0 || !layered && z != 6 {
			return ErrInvalidValue
		}
	}
	o, ct, ok := c.image(false, false)
	if !ok {
		return ErrInvalidValue
	}
	desc := clr.ImageDesc{Width: w, Height: h, Type: ct, Order: o}
	typ := uint32(tex2D)
	switch {
	case flags&arrayCubemap != 0:
		desc.Geometry, desc.Layers, typ = clr.Image2DArray, z, texCube
		if layered {
			typ = texCubeLayered
		}
	case layered && h == 0:
		desc.Geometry, desc.Layers, typ = clr.Image1DArray, z, tex1DLayered
	case layered:
		desc.Geometry, desc.Layers, typ = clr.Image2DArray, z, tex2DLayered
	case z != 0:
		desc.Geometry, desc.Depth, typ = clr.Image3D, z, tex3D
	case h == 0:
		desc.Geometry, typ = clr.Image1D, tex1D
	default:
		desc.Geometry = clr.Image2D
	}
	img, err := d.NewImage(desc)
	if err != nil {
		return a.fromErr(err)
	}
	obj, err := d.NewObject()
	if err != nil {
		_ = img.Free()
		return a.fromErr(err)
	}
	x := &array{img: img, obj: obj, c: c, width: w, height: h, depth: z, flags: flags}
	*(*arrayHead)(pointer(uintptr(obj.Host))) = arrayHead{Data: uintptr(img.Memory.Ptr), Desc: c.desc(), Type: typ, Width: uint32(w), Height: uint32(h),
		Depth: uint32(z), Format: c.format, NumChannels: c.channels, IsDrv: driver, TextureType: typ}
	*out = uintptr(obj.Host)
	arrays.Store(*out, x)
	return Success
}

var _ = [256 - unsafe.Sizeof(arrayHead{})]byte{} // hipArray fits an Object

// MallocArray is hipMallocArray and hipMalloc3DArray: extents are in texels, 0 for dimensions that are not there.
func (a *API) MallocArray(t *Thread, out *uintptr, d *ChannelFormatDesc, w, h, z uint64, flags uint32) Error {
	if out == nil || d == nil {
		return ErrInvalidValue
	}
	if a.capturing() {
		if e := a.refuseUnsafe(t); e != Success {
			return e
		}
	}
	c, ok := channelOf(d)
	if !ok {
		return ErrInvalidValue
	}
	return a.newArray(t, out, c, w, h, z, flags, false)
}

// ArrayDescriptor is HIP_ARRAY_DESCRIPTOR, Array3DDescriptor HIP_ARRAY3D_DESCRIPTOR.
type ArrayDescriptor struct {
	Width, Height uint64
	Format        uint32
	NumChannels   uint32
}

// Array3DDescriptor is HIP_ARRAY3D_DESCRIPTOR.
type Array3DDescriptor struct {
	Width, Height, Depth uint64
	Format               uint32
	NumChannels          uint32
	Flags                uint32
}

// ArrayCreate is hipArrayCreate and hipArray3DCreate.
func (a *API) ArrayCreate(t *Thread, out *uintptr, d *Array3DDescriptor) Error {
	if out == nil || d == nil {
		return ErrInvalidValue
	}
	c, ok := channelOfFormat(d.Format, d.NumChannels)
	if !ok {
		return ErrInvalidValue
	}
	return a.newArray(t, out, c, d.Width, d.Height, d.Depth, d.Flags, true)
}

// FreeArray is hipFreeArray and hipArrayDestroy. It waits for what uses the array.
func (a *API) FreeArray(h uintptr) Error {
	if h == 0 {
		return ErrInvalidValue
	}
	v, ok := arrays.LoadAndDelete(h)
	if !ok {
		return ErrContextIsDestroyed
	}
	x := v.(*array)
	if err := x.img.Device.Synchronize(); err != nil {
		return a.fromErr(err)
	}
	x.obj.Free()
	return a.fromErr(x.img.Free())
}

// GetChannelDesc returns an array's format.
func (a *API) GetChannelDesc(out *ChannelFormatDesc, h uintptr) Error {
	x := arrayOf(h)
	if out == nil || h == 0 {
		return ErrInvalidValue
	}
	if x == nil {
		return ErrInvalidHandle
	}
	*out = x.c.desc()
	return Success
}

// ArrayGetDescriptor is hipArrayGetDescriptor, and hipArray3DGetDescriptor where threeD.
func (a *API) ArrayGetDescriptor(out uintptr, h uintptr, threeD bool) Error {
	if out == 0 || h == 0 {
		return ErrInvalidValue
	}
	x := arrayOf(h)
	if x == nil {
		return ErrInvalidHandle
	}
	if threeD {
		*(*Array3DDescriptor)(pointer(out)) = Array3DDescriptor{x.width, x.height, x.depth, x.c.format, x.c.channels, x.flags}
		return Success
	}
	*(*ArrayDescriptor)(pointer(out)) = ArrayDescriptor{x.width, x.height, x.c.format, x.c.channels}
	return Success
}

// ArrayGetInfo is hipArrayGetInfo; any of the results may be absent.
func (a *API) ArrayGetInfo(desc *ChannelFormatDesc, extent *Extent, flags *uint32, h uintptr) Error {
	if h == 0 {
		return ErrInvalidHandle
	}
	x := arrayOf(h)
	if x == nil {
		return ErrInvalidHandle
	}
	if desc != nil {
		*desc = x.c.desc()
	}
	if extent != nil {
		*extent = Extent{x.width, x.height, x.depth}
	}
	if flags != nil {
		*flags = x.flags
	}
	return Success
}

// at is where byte xb of row y of slice z lies, when n bytes of rows and slices from there are inside.
func (x *array) at(xb, y, z, n, rows, slices uint64) (uint64, bool) {
	l := &x.img.Layout
	row := x.width * l.TexelSize
	h, d := max(x.height, 1), max(x.depth, 1)
	if xb > row || n > row-xb || y > h || rows > h-y || z > d || slices > d-z {
		return 0, false
	}
	return x.img.Memory.Ptr + z*l.SlicePitch + y*l.RowPitch + xb, true
}
