package clr

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Images. An array is an image with memory of its own; a texture is what kernels get to read one, or plain memory, through a
// sampler: an object of descriptors in memory that host and devices see, whose address is the kernel's handle.

// ImageDesc describes an image.
type ImageDesc = hsa.ImageDesc

// ImageLayout is how it lies in memory.
type ImageLayout = hsa.ImageLayout

// SamplerDesc describes a sampler.
type SamplerDesc = hsa.SamplerDesc

// Geometries.
const (
	Image1D      = hsa.Image1D
	Image2D      = hsa.Image2D
	Image3D      = hsa.Image3D
	Image1DArray = hsa.Image1DArray
	Image2DArray = hsa.Image2DArray
	ImageBuffer  = hsa.ImageBuffer
)

// Image is an image with memory of its own.
type Image struct {
	Desc   ImageDesc
	Layout ImageLayout
	Memory *Memory
	Device *Device
}

// HasImages reports whether the device has texture units.
func (d *Device) HasImages() bool { return d.Agent.HasImages() }

// imageError gives an error of the image extension this package's kind.
func imageError(err error) error {
	switch hsa.StatusOf(err) {
	case hsa.StatusInvalidAgent:
		return fail(ErrNotSupported, "%v", err)
	case hsa.StatusImageFormatUnsupported, hsa.StatusImageSizeUnsupported, hsa.StatusImagePitchUnsupported, hsa.StatusInvalidArgument:
		return fail(ErrInvalidValue, "%v", err)
	}
	return err
}

// LayoutImage says how an image lies in memory; a row pitch of 0 is the smallest.
func (d *Device) LayoutImage(desc *ImageDesc, rowPitch uint64) (ImageLayout, error) {
	l, err := d.Agent.LayoutImage(desc, rowPitch, 0)
	if err != nil {
		return l, imageError(err)
	}
	return l, nil
}

// NewImage allocates an image.
func (d *Device) NewImage(desc ImageDesc) (*Image, error) {
	l, err := d.LayoutImage(&desc, 0)
	if err != nil {
		return nil, err
	}
	m, err := d.Alloc(l.Size)
	if err != nil {
		return nil, err
	}
	return &Image{Desc: desc, Layout: l, Memory: m, Device: d}, nil
}

// Free frees an image's memory.
func (i *Image) Free() error { return i.Device.rt.Free(i.Memory) }

// Object is a small piece of memory that host and devices see.
type Object struct {
	Ptr, Host uint64 // its address, for devices and for the CPU

	pool *objectPool
}

// objectSize is the size of an Object in bytes.
const objectSize = 256

// objectPool holds the Objects of a runtime.
type objectPool struct {
	mu   sync.Mutex
	free []Object // guarded by mu
}

var objectPools sync.Map // *Runtime to *objectPool

// NewObject returns an Object, zeroed.
func (d *Device) NewObject() (*Object, error) {
	v, _ := objectPools.LoadOrStore(d.rt, &objectPool{})
	p := v.(*objectPool)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		m, err := d.AllocHost(16*hsa.Granule, HostMemory, true)
		if err != nil {
			return nil, err
		}
		for off := m.Size - objectSize; ; off -= objectSize {
			p.free = append(p.free, Object{Ptr: m.Ptr + off, Host: m.Host + off, pool: p})
			if off == 0 {
				break
			}
		}
	}
	o := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	clear(o.Words())
	return &o, nil
}

// Free gives an Object back.
func (o *Object) Free() {
	o.pool.mu.Lock()
	defer o.pool.mu.Unlock()
	o.pool.free = append(o.pool.free, *o)
}

// Words is the Object's content.
func (o *Object) Words() []uint32 {
	return unsafe.Slice((*uint32)(*(*unsafe.Pointer)(unsafe.Pointer(&o.Host))), objectSize/4)
}

// NewTexture makes the object of an image at data: 12 words of the image, and 8 of the sampler if there is one.
func (d *Device) NewTexture(desc *ImageDesc, l *ImageLayout, data uint64, s *SamplerDesc) (*Object, error) {
	var image [hsa.ImageWords]uint32
	var samp [hsa.SamplerWords]uint32
	if err := d.Agent.DescribeImage(desc, l, data, &image); err != nil {
		return nil, imageError(err)
	}
	if s != nil {
		if err := d.Agent.DescribeSampler(*s, &samp); err != nil {
			return nil, imageError(err)
		}
	}
	o, err := d.NewObject()
	if err != nil {
		return nil, err
	}
	copy(o.Words(), image[:])
	copy(o.Words()[len(image):], samp[:])
	return o, nil
}

// Address modes.
const (
	AddressClampToEdge    = hsa.AddressClampToEdge
	AddressClampToBorder  = hsa.AddressClampToBorder
	AddressRepeat         = hsa.AddressRepeat
	AddressMirroredRepeat = hsa.AddressMirroredRepeat
)

// Channel orders and types.
const (
	OrderR     = hsa.OrderR
	OrderRG    = hsa.OrderRG
	OrderRGBA  = hsa.OrderRGBA
	OrderSRGBA = hsa.OrderSRGBA

	SNormInt8     = hsa.SNormInt8
	SNormInt16    = hsa.SNormInt16
	UNormInt8     = hsa.UNormInt8
	UNormInt16    = hsa.UNormInt16
	SignedInt8    = hsa.SignedInt8
	SignedInt16   = hsa.SignedInt16
	SignedInt32   = hsa.SignedInt32
	UnsignedInt8  = hsa.UnsignedInt8
	UnsignedInt16 = hsa.UnsignedInt16
	UnsignedInt32 = hsa.UnsignedInt32
	HalfFloat     = hsa.HalfFloat
	Float32       = hsa.Float32
)

// ChannelOrder and ChannelType are a format's.
type (
	ChannelOrder = hsa.ChannelOrder
	ChannelType  = hsa.ChannelType
	AddressMode  = hsa.AddressMode
)
