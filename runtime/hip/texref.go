package hip

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Texture references: the older way, in which the program has a variable that is a texture. The variable is there twice, on the host
// and on the device. Binding it makes a texture object from its fields, puts the handle into the host's variable, and copies that to the
// device's. References of modules have a host variable that the runtime makes.

// textureReference is the host's variable.
type textureReference struct {
	Normalized       int32
	ReadMode         uint32
	FilterMode       uint32
	AddressMode      [3]uint32
	Channel          ChannelFormatDesc
	SRGB             int32
	MaxAnisotropy    uint32
	MipmapFilterMode uint32
	MipmapLevelBias  float32
	MinLevel         float32
	MaxLevel         float32
	Object           uintptr
	NumChannels      int32
	Format           uint32
}

var _ = [88]byte{}[unsafe.Sizeof(textureReference{})-1]

// moduleTexture is a module's reference: what hipModuleGetTexRef made.
type moduleTexture struct {
	host *clr.Object
	dev  *clr.Device
	addr uint64 // of the device's variable
	size uint64
}

var (
	moduleTextures sync.Map // *moduleTexture by host address
	moduleRefs     sync.Map // host address by refKey
)

type refKey struct {
	module uintptr
	name   string
}

// refAt reads a reference, which is a variable of the program; nil where there is none.
func refAt(p uintptr) *textureReference {
	x, ok := load[textureReference](p)
	if !ok {
		return nil
	}
	return &x
}

// ModuleGetTexRef is hipModuleGetTexRef.
func (a *API) ModuleGetTexRef(out *uintptr, m uintptr, name string) Error {
	if out == nil || name == "" {
		return ErrInvalidValue
	}
	x := a.modules.get(m)
	if x == nil {
		return ErrInvalidHandle
	}
	if v, ok := moduleRefs.Load(refKey{m, name}); ok {
		*out = v.(uintptr)
		return Success
	}
	addr, n, err := x.prog.Variable(x.dev, name)
	if err != nil {
		return a.fromErr(err)
	}
	if n != uint64(unsafe.Sizeof(textureReference{})) { // another kind of variable
		return ErrNotFound
	}
	o, err := x.dev.NewObject()
	if err != nil {
		return a.fromErr(err)
	}
	h := uintptr(o.Host)
	*(*textureReference)(pointer(h)) = textureReference{AddressMode: [3]uint32{1, 1, 1}, NumChannels: 1, Format: formatF32, ReadMode: 1}
	moduleTextures.Store(h, &moduleTexture{o, x.dev, addr, n})
	moduleRefs.Store(refKey{m, name}, h)
	*out = h
	return Success
}

// GetTextureReference is hipGetTextureReference.
func (a *API) GetTextureReference(out *uintptr, sym uintptr) Error {
	if out == nil || sym == 0 {
		return ErrInvalidValue
	}
	if a.reg.variable(sym) == nil {
		return ErrInvalidValue
	}
	*out = sym
	return Success
}

// bind makes the reference's texture of a resource.
func (a *API) bind(t *Thread, ref uintptr, r *ResourceDesc, readMode uint32) Error {
	x := refAt(ref)
	if x == nil {
		return ErrInvalidValue
	}
	var dev *clr.Device
	var addr, size uint64
	if v, ok := moduleTextures.Load(ref); ok {
		m := v.(*moduleTexture)
		dev, addr, size = m.dev, m.addr, m.size
	} else {
		var e Error
		if dev, e = a.device(t); e != Success {
			return e
		}
		if addr, size, e = a.symbolAddress(t, ref); e != Success {
			return ErrInvalidSymbol
		}
	}
	if x.Object != 0 {
		_ = a.destroyTexture(x.Object, false)
		x.Object = 0
		if e := store(ref, *x); e != Success {
			return e
		}
	}
	d := TextureDesc{AddressMode: x.AddressMode, FilterMode: x.FilterMode, ReadMode: readMode, SRGB: x.SRGB, NormalizedCoords: x.Normalized}
	var h uintptr
	if e := a.CreateTextureObject(t, &h, r, &d, nil); e != Success {
		return e
	}
	x.Object = h
	if e := store(ref, *x); e != Success {
		_ = a.destroyTexture(h, false)
		return e
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(x)), unsafe.Sizeof(*x))
	return a.fromErr(dev.Write(addr, b[:min(size, uint64(len(b)))]))
}

// linearOffset is how far behind an aligned address p lies: images begin at aligned ones, and a program adds the rest to its coordinates.
func linearOffset(p uintptr, c channel) (uintptr, bool) {
	off := p % textureAlign
	return off, off%uintptr(c.size()) == 0
}

// BindTexture is hipBindTexture: plain memory as an array of texels.
func (a *API) BindTexture(t *Thread, offset *uint64, ref, p uintptr, d *ChannelFormatDesc, size uint64) Error {
	x := refAt(ref)
	if x == nil || p == 0 || d == nil {
		return ErrInvalidValue
	}
	c, ok := channelOf(d)
	if !ok {
		return ErrInvalidValue
	}
	off, whole := linearOffset(p, c)
	if !whole || off != 0 && offset == nil {
		return ErrInvalidValue
	}
	if offset != nil {
		*offset = uint64(off)
	}
	p -= off
	size += uint64(off)
	// A size of "all there is" ends with the allocation.
	if m := a.rt.Find(uint64(p)); m != nil && size > m.Ptr+m.Size-uint64(p) {
		size = m.Ptr + m.Size - uint64(p)
	}
	return a.bind(t, ref, &ResourceDesc{Type: resourceLinear, Ptr: p, Desc: *d, Size: [3]uint64{size}}, x.ReadMode)
}

// BindTexture2D is hipBindTexture2D: plain memory with a pitch.
func (a *API) BindTexture2D(t *Thread, offset *uint64, ref, p uintptr, d *ChannelFormatDesc, width, height, pitch uint64) Error {
	x := refAt(ref)
	if x == nil || p == 0 || d == nil {
		return ErrInvalidValue
	}
	if offset != nil {
		*offset = 0
	}
	return a.bind(t, ref, &ResourceDesc{Type: resourcePitch2D, Ptr: p, Desc: *d, Size: [3]uint64{width, height, pitch}}, x.ReadMode)
}

// BindTextureToArray is hipBindTextureToArray.
func (a *API) BindTextureToArray(t *Thread, ref, array uintptr, d *ChannelFormatDesc) Error {
	x := refAt(ref)
	if x == nil || array == 0 || d == nil {
		return ErrInvalidValue
	}
	return a.bind(t, ref, &ResourceDesc{Type: resourceArray, Ptr: array}, x.ReadMode)
}

// UnbindTexture is hipUnbindTexture.
func (a *API) UnbindTexture(ref uintptr) Error {
	x := refAt(ref)
	if x == nil {
		return ErrInvalidValue
	}
	if x.Object == 0 {
		return Success
	}
	h := x.Object
	x.Object = 0
	if e := store(ref, *x); e != Success {
		return e
	}
	return a.destroyTexture(h, false)
}

// TextureAlignmentOffset is hipGetTextureAlignmentOffset; what is bound is always aligned.
func (a *API) TextureAlignmentOffset(out *uint64, ref uintptr) Error {
	if x := refAt(ref); out == nil || x == nil || x.Object == 0 {
		return ErrInvalidValue
	}
	*out = 0
	return Success
}

// The driver's functions set fields of a reference, and bind it.

// driverReadMode is what the reference's format and fields say about reading.
func (x *textureReference) driverReadMode() uint32 {
	if x.Format == formatU32 || x.Format == formatI32 {
		return 0
	}
	return x.ReadMode
}

// TexRefSetArray is hipTexRefSetArray: the format is the array's.
func (a *API) TexRefSetArray(t *Thread, ref, array uintptr, flags uint32) Error {
	x := refAt(ref)
	if x == nil || array == 0 || flags != 1 { // HIP_TRSA_OVERRIDE_FORMAT
		return ErrInvalidValue
	}
	r := arrayOf(array)
	if r == nil {
		return ErrInvalidValue
	}
	x.Format, x.NumChannels = r.c.format, int32(r.c.channels)
	if e := store(ref, *x); e != Success {
		return e
	}
	return a.bind(t, ref, &ResourceDesc{Type: resourceArray, Ptr: array}, x.driverReadMode())
}

// TexRefSetAddress is hipTexRefSetAddress.
func (a *API) TexRefSetAddress(t *Thread, offset *uint64, ref, p uintptr, n uint64) Error {
	x := refAt(ref)
	if x == nil || p == 0 {
		return ErrInvalidValue
	}
	c, ok := channelOfFormat(x.Format, uint32(x.NumChannels))
	if !ok {
		return ErrInvalidValue
	}
	off, whole := linearOffset(p, c)
	if !whole || off != 0 && offset == nil {
		return ErrInvalidValue
	}
	if offset != nil {
		*offset = uint64(off)
	}
	return a.bind(t, ref, &ResourceDesc{Type: resourceLinear, Ptr: p - off, Desc: c.desc(), Size: [3]uint64{n + uint64(off)}}, x.driverReadMode())
}

// TexRefSetAddress2D is hipTexRefSetAddress2D.
func (a *API) TexRefSetAddress2D(t *Thread, ref uintptr, d *ArrayDescriptor, p uintptr, pitch uint64) Error {
	x := refAt(ref)
	if x == nil || p == 0 || d == nil {
		return ErrInvalidValue
	}
	c, ok := channelOfFormat(d.Format, d.NumChannels)
	if !ok {
		return ErrInvalidValue
	}
	x.Format, x.NumChannels = d.Format, int32(d.NumChannels)
	if e := store(ref, *x); e != Success {
		return e
	}
	return a.bind(t, ref, &ResourceDesc{Type: resourcePitch2D, Ptr: p, Desc: c.desc(), Size: [3]uint64{d.Width, d.Height, pitch}}, x.driverReadMode())
}

// TexRefSet sets what of a reference takes effect when it is bound.
func (a *API) TexRefSet(ref uintptr, f func(x *textureReference) bool) Error {
	x := refAt(ref)
	if x == nil || !f(x) {
		return ErrInvalidValue
	}
	return store(ref, *x)
}

// TexRefSetAddressMode is hipTexRefSetAddressMode.
func (a *API) TexRefSetAddressMode(ref uintptr, dim int32, mode uint32) Error {
	return a.TexRefSet(ref, func(x *textureReference) bool {
		if dim < 0 || dim > 2 || mode >= uint32(len(addressModes)) {
			return false
		}
		x.AddressMode[dim] = mode
		return true
	})
}

// TexRefSetFilterMode is hipTexRefSetFilterMode.
func (a *API) TexRefSetFilterMode(ref uintptr, mode uint32) Error {
	return a.TexRefSet(ref, func(x *textureReference) bool { x.FilterMode = mode; return mode <= 1 })
}

// TexRefSetFlags is hipTexRefSetFlags.
func (a *API) TexRefSetFlags(ref uintptr, f uint32) Error {
	return a.TexRefSet(ref, func(x *textureReference) bool {
		b := func(on bool) int32 {
			if on {
				return 1
			}
			return 0
		}
		x.ReadMode = uint32(b(f&readAsInteger == 0))
		x.Normalized, x.SRGB = b(f&normalizedCoordinates != 0), b(f&flagSRGB != 0)
		return true
	})
}

// TexRefSetFormat is hipTexRefSetFormat.
func (a *API) TexRefSetFormat(ref uintptr, format uint32, n int32) Error {
	return a.TexRefSet(ref, func(x *textureReference) bool {
		if _, ok := channelOfFormat(format, uint32(n)); !ok {
			return false
		}
		x.Format, x.NumChannels = format, n
		return true
	})
}

// TexRefGetAddress is hipTexRefGetAddress, TexRefGetArray hipTexRefGetArray.
func (a *API) TexRefGetAddress(out *uintptr, ref uintptr, array bool) Error {
	r := refAt(ref)
	if out == nil || r == nil {
		return ErrInvalidValue
	}
	x := textureOf(r.Object, false)
	if x == nil || (x.res.Type == resourceArray) != array {
		return ErrInvalidValue
	}
	*out = x.res.Ptr
	return Success
}

// TexRefGetAddressMode is hipTexRefGetAddressMode.
func (a *API) TexRefGetAddressMode(out *uint32, ref uintptr, dim int32) Error {
	x := refAt(ref)
	if out == nil || x == nil || dim < 0 || dim > 2 {
		return ErrInvalidValue
	}
	*out = x.AddressMode[dim]
	return Success
}

// TexRefGetFilterMode is hipTexRefGetFilterMode.
func (a *API) TexRefGetFilterMode(out *uint32, ref uintptr) Error {
	x := refAt(ref)
	if out == nil || x == nil {
		return ErrInvalidValue
	}
	*out = x.FilterMode
	return Success
}

// TexRefGetFlags is hipTexRefGetFlags.
func (a *API) TexRefGetFlags(out *uint32, ref uintptr) Error {
	x := refAt(ref)
	if out == nil || x == nil {
		return ErrInvalidValue
	}
	*out = 0
	if x.ReadMode == 0 {
		*out |= readAsInteger
	}
	if x.Normalized != 0 {
		*out |= normalizedCoordinates
	}
	if x.SRGB != 0 {
		*out |= flagSRGB
	}
	return Success
}

// TexRefGetFormat is hipTexRefGetFormat.
func (a *API) TexRefGetFormat(format *uint32, n *int32, ref uintptr) Error {
	x := refAt(ref)
	if format == nil || n == nil || x == nil {
		return ErrInvalidValue
	}
	*format, *n = x.Format, x.NumChannels
	return Success
}

// TexRefMipmap is what a reference says of filtering between levels and along slanted surfaces.
type TexRefMipmap struct {
	MaxAnisotropy, FilterMode     uint32
	LevelBias, MinLevel, MaxLevel float32
}

// TexRefMipmap reads and writes it: f sees what it is, and changes it.
func (a *API) TexRefMipmap(ref uintptr, f func(m *TexRefMipmap)) Error {
	return a.TexRefSet(ref, func(x *textureReference) bool {
		m := TexRefMipmap{x.MaxAnisotropy, x.MipmapFilterMode, x.MipmapLevelBias, x.MinLevel, x.MaxLevel}
		f(&m)
		x.MaxAnisotropy, x.MipmapFilterMode, x.MipmapLevelBias, x.MinLevel, x.MaxLevel = m.MaxAnisotropy, m.FilterMode, m.LevelBias, m.MinLevel, m.MaxLevel
		return true
	})
}
