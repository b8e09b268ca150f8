package hip

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Textures and surfaces. An object's handle is the address of its descriptors, which kernels load: twelve words of the image, and for
// a texture eight of the sampler.
//
//fidelity: approximate hipTextureDesc: the first address mode holds for all dimensions and the border is black, as in AMD's 5.2 runtime

// Types of resources (hipResourceType).
const (
	resourceArray   = 0
	resourceMipmap  = 1
	resourceLinear  = 2
	resourcePitch2D = 3
)

// textureAlign is the alignment of images in memory, hipDeviceProp_t's textureAlignment.
const textureAlign = 256

// ResourceDesc is hipResourceDesc. The union's parts are read by the type.
type ResourceDesc struct {
	Type uint32
	_    uint32
	Ptr  uintptr // array, or memory
	Desc ChannelFormatDesc
	_    uint32
	Size [3]uint64 // linear: bytes; pitch2D: width, height, pitch
}

// TextureDesc is hipTextureDesc.
type TextureDesc struct {
	AddressMode      [3]uint32
	FilterMode       uint32
	ReadMode         uint32
	SRGB             int32
	BorderColor      [4]float32
	NormalizedCoords int32
	MaxAnisotropy    uint32
	MipmapFilterMode uint32
	MipmapLevelBias  float32
	MinLevel         float32
	MaxLevel         float32
}

// ResourceViewDesc is hipResourceViewDesc.
type ResourceViewDesc struct {
	Format                uint32
	_                     uint32
	Width, Height, Depth  uint64
	FirstLevel, LastLevel uint32
	FirstLayer, LastLayer uint32
}

// texture is one texture or surface object.
type texture struct {
	obj     *clr.Object
	device  *clr.Device
	surface bool
	res     ResourceDesc
	tex     TextureDesc
	view    ResourceViewDesc
	viewed  bool
}

// textures by handle.
var textures sync.Map

func textureOf(h uintptr, surface bool) *texture {
	if v, ok := textures.Load(h); ok && v.(*texture).surface == surface {
		return v.(*texture)
	}
	return nil
}

// viewChannel is the format that a resource view names; block-compressed ones have none.
func viewChannel(f uint32) (channel, bool) {
	formats := [...]uint32{formatU8, formatI8, formatU16, formatI16, formatU32, formatI32, formatHalf, formatF32}
	if f == 0 || int(f-1)/3 >= len(formats) {
		return channel{}, false
	}
	return channel{formats[(f-1)/3], [3]uint32{1, 2, 4}[(f-1)%3]}, true
}

var addressModes = [...]clr.AddressMode{clr.AddressRepeat, clr.AddressClampToEdge, clr.AddressMirroredRepeat, clr.AddressClampToBorder}

// sampler is a texture descriptor's sampler.
func (d *TextureDesc) sampler() (s clr.SamplerDesc, ok bool) {
	if d.AddressMode[0] >= uint32(len(addressModes)) || d.FilterMode > 1 || d.ReadMode > 1 {
		return s, false
	}
	return clr.SamplerDesc{Normalized: d.NormalizedCoords != 0, Linear: d.FilterMode == 1, Mode: addressModes[d.AddressMode[0]]}, true
}

// image finds what image a resource is: its description, layout and address.
func (a *API) image(dev *clr.Device, r *ResourceDesc, normalized, srgb bool, view *ResourceViewDesc) (desc clr.ImageDesc, l clr.ImageLayout, data uint64, e Error) {
	var c channel
	var ok bool
	pitch := uint64(0)
	switch r.Type {
	case resourceArray:
		x := arrayOf(r.Ptr)
		if x == nil {
			return desc, l, 0, ErrInvalidValue
		}
		c, desc, data = x.c, x.img.Desc, x.img.Memory.Ptr
		if view != nil && view.Format != 0 {
			v, ok := viewChannel(view.Format)
			if !ok {
				return desc, l, 0, ErrNotSupported
			}
			if v.size() != c.size() {
				return desc, l, 0, ErrInvalidValue
			}
			c = v
		}
	case resourceLinear:
		if c, ok = channelOf(&r.Desc); !ok || r.Ptr == 0 {
			return desc, l, 0, ErrInvalidValue
		}
		desc = clr.ImageDesc{Geometry: clr.ImageBuffer, Width: r.Size[0] / c.size()}
		data = uint64(r.Ptr)
	case resourcePitch2D:
		if c, ok = channelOf(&r.Desc); !ok || r.Ptr == 0 || r.Size[0] == 0 || r.Size[1] == 0 || r.Size[2] < r.Size[0]*c.size() {
			return desc, l, 0, ErrInvalidValue
		}
		desc = clr.ImageDesc{Geometry: clr.Image2D, Width: r.Size[0], Height: r.Size[1]}
		data, pitch = uint64(r.Ptr), r.Size[2]
	case resourceMipmap:
		return desc, l, 0, ErrNotSupported
	default:
		return desc, l, 0, ErrInvalidValue
	}
	if r.Type != resourceArray && r.Ptr%textureAlign != 0 {
		return desc, l, 0, ErrInvalidValue
	}
	if desc.Order, desc.Type, ok = c.image(normalized, srgb); !ok {
		desc.Order, desc.Type, _ = c.image(false, false) // 32-bit integers are never normalised
	}
	l, err := dev.LayoutImage(&desc, pitch)
	if err != nil {
		return desc, l, 0, a.fromErr(err)
	}
	return desc, l, data, Success
}

// CreateTextureObject is hipCreateTextureObject.
func (a *API) CreateTextureObject(t *Thread, out *uintptr, r *ResourceDesc, d *TextureDesc, v *ResourceViewDesc) Error {
	dev, e := a.device(t)
	if e != Success {
		return e
	}
	if out == nil || r == nil || d == nil {
		return ErrInvalidValue
	}
	if !dev.HasImages() {
		return ErrNotSupported
	}
	if v != nil && (r.Type == resourceLinear || r.Type == resourcePitch2D) {
		return ErrInvalidValue
	}
	s, ok := d.sampler()
	if !ok {
		return ErrInvalidValue
	}
	if d.MaxAnisotropy > 1 || d.MipmapLevelBias != 0 || d.MinLevel != 0 || d.MaxLevel != 0 {
		//fidelity: refused hipTextureDesc levels: anisotropy, level bias and level clamps, as in AMD's runtime
		return ErrNotSupported
	}
	desc, l, data, e := a.image(dev, r, d.ReadMode == 1, d.SRGB != 0, v)
	if e != Success {
		return e
	}
	obj, err := dev.NewTexture(&desc, &l, data, &s)
	if err != nil {
		return a.fromErr(err)
	}
	x := &texture{obj: obj, device: dev, res: *r, tex: *d}
	if v != nil {
		x.view, x.viewed = *v, true
	}
	*out = uintptr(obj.Ptr)
	textures.Store(*out, x)
	return Success
}

// DestroyTextureObject is hipDestroyTextureObject; it waits for kernels that may use the object. A null handle is no error.
func (a *API) DestroyTextureObject(h uintptr) Error {
	if h == 0 {
		return Success
	}
	return a.destroyTexture(h, false)
}

func (a *API) destroyTexture(h uintptr, surface bool) Error {
	x := textureOf(h, surface)
	if x == nil || !textures.CompareAndDelete(h, x) {
		return ErrInvalidValue
	}
	if err := x.device.Synchronize(); err != nil {
		return a.fromErr(err)
	}
	x.obj.Free()
	return Success
}

// TextureResourceDesc, TextureDesc and TextureViewDesc return what a texture object was made from.
func (a *API) TextureResourceDesc(out *ResourceDesc, h uintptr) Error {
	x := textureOf(h, false)
	if out == nil || x == nil {
		return ErrInvalidValue
	}
	*out = x.res
	return Success
}

// TextureTextureDesc is hipGetTextureObjectTextureDesc.
func (a *API) TextureTextureDesc(out *TextureDesc, h uintptr) Error {
	x := textureOf(h, false)
	if out == nil || x == nil {
		return ErrInvalidValue
	}
	*out = x.tex
	return Success
}

// TextureViewDesc is hipGetTextureObjectResourceViewDesc.
func (a *API) TextureViewDesc(out *ResourceViewDesc, h uintptr) Error {
	x := textureOf(h, false)
	if out == nil || x == nil || !x.viewed {
		return ErrInvalidValue
	}
	*out = x.view
	return Success
}

// CreateSurfaceObject is hipCreateSurfaceObject: of an array.
func (a *API) CreateSurfaceObject(t *Thread, out *uintptr, r *ResourceDesc) Error {
	dev, e := a.device(t)
	if e != Success {
		return e
	}
	if out == nil || r == nil {
		return ErrInvalidValue
	}
	if !dev.HasImages() {
		return ErrNotSupported
	}
	if r.Type != resourceArray || arrayOf(r.Ptr) == nil {
		return ErrInvalidValue
	}
	desc, l, data, e := a.image(dev, r, false, false, nil)
	if e != Success {
		return e
	}
	obj, err := dev.NewTexture(&desc, &l, data, nil)
	if err != nil {
		return a.fromErr(err)
	}
	*out = uintptr(obj.Ptr)
	textures.Store(*out, &texture{obj: obj, device: dev, surface: true, res: *r})
	return Success
}

// DestroySurfaceObject is hipDestroySurfaceObject.
func (a *API) DestroySurfaceObject(h uintptr) Error {
	if h == 0 {
		return Success
	}
	return a.destroyTexture(h, true)
}

// Texture1DLinearMaxWidth is hipDeviceGetTexture1DLinearMaxWidth.
func (a *API) Texture1DLinearMaxWidth(out *uint64, d *ChannelFormatDesc, device int32) Error {
	if _, e := a.deviceAt(device); e != Success {
		return e
	}
	if out == nil || d == nil {
		return ErrInvalidValue
	}
	c, ok := channelOf(d)
	if !ok {
		return ErrInvalidValue
	}
	dev, _ := a.deviceAt(device)
	*out = uint64(properties(dev).MaxTexture1DLinear) / c.size()
	return Success
}

// The driver's descriptors.

// drvResource is HIP_RESOURCE_DESC.
type drvResource struct {
	Type     uint32
	_        uint32
	Ptr      uintptr
	Format   uint32
	Channels uint32
	Size     [3]uint64
	_        [22]int32
	Flags    uint32
	_        uint32
}

// drvTexture is HIP_TEXTURE_DESC.
type drvTexture struct {
	AddressMode        [3]uint32
	FilterMode         uint32
	Flags              uint32
	MaxAnisotropy      uint32
	MipmapFilterMode   uint32
	MipmapLevelBias    float32
	MinLevel, MaxLevel float32
	BorderColor        [4]float32
	_                  [12]int32
}

// Flags of texture references and driver textures.
const (
	readAsInteger         = 0x01
	normalizedCoordinates = 0x02
	flagSRGB              = 0x10
)

// Sizes of HIP_RESOURCE_DESC and HIP_TEXTURE_DESC, in bytes.
const (
	DrvResourceSize = uint32(unsafe.Sizeof(drvResource{}))
	DrvTextureSize  = uint32(unsafe.Sizeof(drvTexture{}))
)

// TexObjectCreate is hipTexObjectCreate.
func (a *API) TexObjectCreate(t *Thread, out *uintptr, res, tex, view uintptr) Error {
	if out == nil || res == 0 || tex == 0 {
		return ErrInvalidValue
	}
	r, d := (*drvResource)(pointer(res)), (*drvTexture)(pointer(tex))
	x := ResourceDesc{Type: r.Type, Ptr: r.Ptr, Size: r.Size}
	switch r.Type {
	case resourceLinear, resourcePitch2D:
		c, ok := channelOfFormat(r.Format, r.Channels)
		if !ok {
			return ErrInvalidValue
		}
		x.Desc = c.desc()
	}
	y := TextureDesc{AddressMode: d.AddressMode, FilterMode: d.FilterMode, BorderColor: d.BorderColor, MaxAnisotropy: d.MaxAnisotropy,
		MipmapFilterMode: d.MipmapFilterMode, MipmapLevelBias: d.MipmapLevelBias, MinLevel: d.MinLevel, MaxLevel: d.MaxLevel}
	y.setFlags(d.Flags, x.integer32())
	return a.CreateTextureObject(t, out, &x, &y, (*ResourceViewDesc)(pointer(view)))
}

// setFlags takes the driver's flags: without readAsInteger, integers of 8 and 16 bits read as normalised floats.
func (d *TextureDesc) setFlags(f uint32, wide bool) {
	if f&readAsInteger == 0 && !wide {
		d.ReadMode = 1
	}
	if f&normalizedCoordinates != 0 {
		d.NormalizedCoords = 1
	}
	if f&flagSRGB != 0 {
		d.SRGB = 1
	}
}

// integer32 reports whether the resource has 32-bit integers, which are never normalised.
func (r *ResourceDesc) integer32() bool {
	d := r.Desc
	if r.Type == resourceArray {
		x := arrayOf(r.Ptr)
		if x == nil {
			return false
		}
		d = x.c.desc()
	}
	return d.X == 32 && d.F != kindFloat
}

// TexObjectResourceDesc is hipTexObjectGetResourceDesc.
func (a *API) TexObjectResourceDesc(out, h uintptr) Error {
	x := textureOf(h, false)
	if out == 0 || x == nil {
		return ErrInvalidValue
	}
	r := (*drvResource)(pointer(out))
	*r = drvResource{Type: x.res.Type, Ptr: x.res.Ptr, Size: x.res.Size}
	if c, ok := channelOf(&x.res.Desc); ok && x.res.Type >= resourceLinear {
		r.Format, r.Channels = c.format, c.channels
	}
	return Success
}

// TexObjectTextureDesc is hipTexObjectGetTextureDesc.
func (a *API) TexObjectTextureDesc(out, h uintptr) Error {
	x := textureOf(h, false)
	if out == 0 || x == nil {
		return ErrInvalidValue
	}
	d := drvTexture{AddressMode: x.tex.AddressMode, FilterMode: x.tex.FilterMode, MaxAnisotropy: x.tex.MaxAnisotropy, MipmapFilterMode: x.tex.MipmapFilterMode,
		MipmapLevelBias: x.tex.MipmapLevelBias, MinLevel: x.tex.MinLevel, MaxLevel: x.tex.MaxLevel, BorderColor: x.tex.BorderColor}
	if x.tex.ReadMode == 0 {
		d.Flags |= readAsInteger
	}
	if x.tex.NormalizedCoords != 0 {
		d.Flags |= normalizedCoordinates
	}
	if x.tex.SRGB != 0 {
		d.Flags |= flagSRGB
	}
	*(*drvTexture)(pointer(out)) = d
	return Success
}
