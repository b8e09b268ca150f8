package hsaabi

/*
// The functions of the extension's table, in its order; by name, because their declarations come from here.
extern char image_f0[] __asm__("hsa_ext_image_get_capability");
extern char image_f1[] __asm__("hsa_ext_image_data_get_info");
extern char image_f2[] __asm__("hsa_ext_image_create");
extern char image_f3[] __asm__("hsa_ext_image_destroy");
extern char image_f4[] __asm__("hsa_ext_image_copy");
extern char image_f5[] __asm__("hsa_ext_image_import");
extern char image_f6[] __asm__("hsa_ext_image_export");
extern char image_f7[] __asm__("hsa_ext_image_clear");
extern char image_f8[] __asm__("hsa_ext_sampler_create");
extern char image_f9[] __asm__("hsa_ext_sampler_destroy");
extern char image_f10[] __asm__("hsa_ext_image_get_capability_with_layout");
extern char image_f11[] __asm__("hsa_ext_image_data_get_info_with_layout");
extern char image_f12[] __asm__("hsa_ext_image_create_with_layout");
static void *image_function(int i) {
    static char *const all[] = {image_f0, image_f1, image_f2, image_f3, image_f4, image_f5, image_f6, image_f7, image_f8, image_f9, image_f10, image_f11, image_f12};
    return all[i];
}
*/
import "C"

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/engine/image"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// The image extension. The handle of an image or sampler is the address of its descriptors, which programs copy to where kernels load them.

// imageDescriptor is hsa_ext_image_descriptor_t.
type imageDescriptor struct {
	geometry             uint32
	_                    uint32
	width, height, depth uint64
	layers               uint64
	typ, order           uint32
}

func (d *imageDescriptor) desc() *hsa.ImageDesc {
	return &hsa.ImageDesc{Geometry: hsa.ImageGeometry(d.geometry), Width: d.width, Height: d.height, Depth: d.depth, Layers: d.layers,
		Type: hsa.ChannelType(d.typ), Order: hsa.ChannelOrder(d.order)}
}

// imageObject is what a handle stands for.
type imageObject struct {
	agent  *hsa.Agent
	words  [hsa.ImageWords]uint32
	data   uint64
	desc   hsa.ImageDesc
	layout hsa.ImageLayout
}

var (
	images   sync.Map // *imageObject by handle
	samplers sync.Map // handles
	slots    struct {
		mu   sync.Mutex
		free []uint64 // guarded by mu
	}
)

// slotSize is the memory of one descriptor object.
const slotSize = 64

// slot allocates memory that host and GPUs see.
func slot() (uint64, error) {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	if len(slots.free) == 0 {
		r := rt()
		m, err := r.CPU().Pool(hsa.PoolKernarg).Allocate(4*hsa.Granule, 0, 0)
		if err != nil {
			return 0, err
		}
		if err := r.AllowAccess(m, r.GPUs()...); err != nil {
			return 0, err
		}
		for off := uint64(0); off < m.Size; off += slotSize {
			slots.free = append(slots.free, m.Host+off)
		}
	}
	s := slots.free[len(slots.free)-1]
	slots.free = slots.free[:len(slots.free)-1]
	return s, nil
}

func freeSlot(s uint64) {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	slots.free = append(slots.free, s)
}

const (
	canRead       = 1
	canWrite      = 2
	canBoth       = 4
	sameLayout    = 16
	dimensionLast = hsa.Image2DArrayDepth
)

//export hsa_ext_image_get_capability
func hsa_ext_image_get_capability(agent uint64, geometry uint32, format uintptr, out *uint32) int32 {
	return hsa_ext_image_get_capability_with_layout(agent, geometry, format, 0, out)
}

//export hsa_ext_image_get_capability_with_layout
func hsa_ext_image_get_capability_with_layout(agent uint64, geometry uint32, format uintptr, layout uint32, out *uint32) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if format == 0 || out == nil || layout > 1 || hsa.ImageGeometry(geometry) > dimensionLast {
		return badArg
	}
	f, good := caller.Get((*[2]uint32)(ptr(uint64(format))))
	if !good {
		return badArg
	}
	r, w := a.ImageSupported(&hsa.ImageDesc{Geometry: hsa.ImageGeometry(geometry), Type: hsa.ChannelType(f[0]), Order: hsa.ChannelOrder(f[1])})
	var can uint32
	if r {
		can |= canRead | sameLayout
	}
	if w {
		can |= canWrite | canBoth
	}
	return give(out, can)
}

//export hsa_ext_image_data_get_info
func hsa_ext_image_data_get_info(agent uint64, d uintptr, access uint32, out uintptr) int32 {
	return hsa_ext_image_data_get_info_with_layout(agent, d, access, 0, 0, 0, out)
}

//export hsa_ext_image_data_get_info_with_layout
func hsa_ext_image_data_get_info_with_layout(agent uint64, d uintptr, access, layout uint32, row, slice uint64, out uintptr) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if d == 0 || out == 0 {
		return badArg
	}
	l, err := a.LayoutImage((*imageDescriptor)(ptr(uint64(d))).desc(), row, slice)
	if err != nil {
		return code(err)
	}
	return put(out, [2]uint64{l.Size, l.Align})
}

//export hsa_ext_image_create
func hsa_ext_image_create(agent uint64, d, data uintptr, access uint32, out *uint64) int32 {
	return hsa_ext_image_create_with_layout(agent, d, data, access, 0, 0, 0, out)
}

//export hsa_ext_image_create_with_layout
func hsa_ext_image_create_with_layout(agent uint64, d, data uintptr, access, layout uint32, row, slice uint64, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if d == 0 || data == 0 || out == nil || access < 1 || access > 3 {
		return badArg
	}
	desc, good := caller.Get((*imageDescriptor)(ptr(uint64(d))))
	if !good {
		return badArg
	}
	x := &imageObject{agent: a, data: uint64(data), desc: *desc.desc()}
	var err error
	if x.layout, err = a.LayoutImage(&x.desc, row, slice); err != nil {
		return code(err)
	}
	if err := a.DescribeImage(&x.desc, &x.layout, x.data, &x.words); err != nil {
		return code(err)
	}
	s, err := slot()
	if err != nil {
		return code(err)
	}
	*(*[hsa.ImageWords]uint32)(ptr(s)) = x.words
	images.Store(s, x)
	return give(out, s)
}

//export hsa_ext_image_destroy
func hsa_ext_image_destroy(agent, h uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if agents.get(agent) == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if _, found := images.LoadAndDelete(h); !found {
		return badArg
	}
	freeSlot(h)
	return ok
}

//export hsa_amd_image_create
func hsa_amd_image_create(agent uint64, d, vendor, data uintptr, access uint32, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if agents.get(agent) == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	//fidelity: refused hsa_amd_image_create: images of another driver's layout
	return badArg
}

//export hsa_amd_image_get_info_max_dim
func hsa_amd_image_get_info_max_dim(agent uint64, attr uint32, out uintptr) int32 {
	if attr < 0x3000 || attr > 0x300c {
		return badArg
	}
	return hsa_agent_get_info(agent, int32(attr), out)
}

// samplerDescriptor is hsa_ext_sampler_descriptor_t.
type samplerDescriptor struct{ coordinates, filter, address uint32 }

//export hsa_ext_sampler_create
func hsa_ext_sampler_create(agent uint64, d uintptr, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if d == 0 || out == nil {
		return badArg
	}
	x := (*samplerDescriptor)(ptr(uint64(d)))
	m := hsa.AddressMode(x.address)
	return newSampler(a, x.coordinates, x.filter, [3]hsa.AddressMode{m, m, m}, out)
}

// newSampler fills a sampler object.
func newSampler(a *hsa.Agent, coordinates, filter uint32, modes [3]hsa.AddressMode, out *uint64) int32 {
	if coordinates > 1 || filter > 1 {
		return badArg
	}
	var words [hsa.SamplerWords]uint32
	if err := a.DescribeSampler(hsa.SamplerDesc{Normalized: coordinates == 1, Linear: filter == 1, Modes: &modes}, &words); err != nil {
		return code(err)
	}
	s, err := slot()
	if err != nil {
		return code(err)
	}
	*(*[hsa.SamplerWords]uint32)(ptr(s)) = words
	samplers.Store(s, true)
	return give(out, s)
}

// hsa_ext_sampler_create_v2 is that of ROCr 6.4: an addressing mode for each dimension.
//
//export hsa_ext_sampler_create_v2
func hsa_ext_sampler_create_v2(agent uint64, d uintptr, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if d == 0 || out == nil {
		return badArg
	}
	x := (*[5]uint32)(ptr(uint64(d)))
	return newSampler(a, x[0], x[1], [3]hsa.AddressMode{hsa.AddressMode(x[2]), hsa.AddressMode(x[3]), hsa.AddressMode(x[4])}, out)
}

//export hsa_ext_sampler_destroy
func hsa_ext_sampler_destroy(agent, h uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if agents.get(agent) == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if _, found := samplers.LoadAndDelete(h); !found {
		return badArg
	}
	freeSlot(h)
	return ok
}

// dim3 is hsa_dim3_t.
type dim3 struct{ x, y, z uint32 }

// region is hsa_ext_image_region_t.
type region struct{ offset, extent dim3 }

// rows calls f for each row of a region of the image: its address, its bytes, and its row and slice within the region.
func (x *imageObject) rows(r *region, f func(at, n, row, slice uint64) int32) int32 {
	l := &x.layout
	size := [3]uint64{x.desc.Width, max(x.desc.Height, 1), 1}
	o, e := [3]uint64{uint64(r.offset.x), uint64(r.offset.y), uint64(r.offset.z)}, [3]uint64{uint64(r.extent.x), uint64(max(r.extent.y, 1)), uint64(max(r.extent.z, 1))}
	switch x.desc.Geometry {
	case hsa.Image1D, hsa.ImageBuffer:
		size[1], o[1], o[2], e[1], e[2] = 1, 0, 0, 1, 1
	case hsa.Image1DArray: // its layers are the second dimension
		size[1], size[2] = 1, max(x.desc.Layers, 1)
		o[2], e[2], o[1], e[1] = o[1], e[1], 0, 1
	case hsa.Image2DArray, hsa.Image2DArrayDepth:
		size[2] = max(x.desc.Layers, 1)
	case hsa.Image3D:
		size[2] = max(x.desc.Depth, 1)
	default:
		o[2], e[2] = 0, 1
	}
	for i := range size {
		if o[i] > size[i] || e[i] > size[i]-o[i] || e[i] == 0 {
			return badArg
		}
	}
	for z := range e[2] {
		for y := range e[1] {
			at := x.data + (o[2]+z)*l.SlicePitch + (o[1]+y)*l.RowPitch + o[0]*l.TexelSize
			if s := f(at, e[0]*l.TexelSize, y, z); s != ok {
				return s
			}
		}
	}
	return ok
}

// imageOf is an image by its handle.
func imageOf(agent, h uint64) (*imageObject, int32) {
	if rt() == nil {
		return nil, notInit
	}
	if agents.get(agent) == nil {
		return nil, int32(hsa.StatusInvalidAgent)
	}
	v, found := images.Load(h)
	if !found {
		return nil, badArg
	}
	return v.(*imageObject), ok
}

// imageArgs checks what the functions that move image data have in common.
func imageArgs(agent, h uint64, r uintptr) (*imageObject, *region, int32) {
	x, st := imageOf(agent, h)
	if st != ok {
		return nil, nil, st
	}
	at, good := caller.Get((*region)(ptr(uint64(r))))
	if !good {
		return nil, nil, badArg
	}
	return x, &at, ok
}

// linear moves between an image and memory with pitches; a pitch of 0 is the region's own size.
func linear(agent, h uint64, mem uintptr, row, slice uint64, rg uintptr, to bool) int32 {
	x, r, s := imageArgs(agent, h, rg)
	if s != ok {
		return s
	}
	if mem == 0 {
		return badArg
	}
	row = max(row, uint64(r.extent.x)*x.layout.TexelSize)
	slice = max(slice, row*uint64(max(r.extent.y, 1)))
	if x.desc.Geometry == hsa.Image1DArray {
		slice = row
	}
	return x.rows(r, func(at, n, y, z uint64) int32 {
		m := uint64(mem) + z*slice + y*row
		if to {
			return hsa_memory_copy(uintptr(at), uintptr(m), n)
		}
		return hsa_memory_copy(uintptr(m), uintptr(at), n)
	})
}

//export hsa_ext_image_import
func hsa_ext_image_import(agent uint64, src uintptr, row, slice uint64, dst uint64, rg uintptr) int32 {
	return linear(agent, dst, src, row, slice, rg, true)
}

//export hsa_ext_image_export
func hsa_ext_image_export(agent, src uint64, dst uintptr, row, slice uint64, rg uintptr) int32 {
	return linear(agent, src, dst, row, slice, rg, false)
}

//export hsa_ext_image_copy
func hsa_ext_image_copy(agent, src uint64, srcAt uintptr, dst uint64, dstAt, extent uintptr) int32 {
	if srcAt == 0 || dstAt == 0 || extent == 0 {
		return badArg
	}
	e, good1 := caller.Get((*dim3)(ptr(uint64(extent))))
	f, good2 := caller.Get((*dim3)(ptr(uint64(srcAt))))
	g, good3 := caller.Get((*dim3)(ptr(uint64(dstAt))))
	if !good1 || !good2 || !good3 {
		return badArg
	}
	from, to := region{f, e}, region{g, e}
	s, status := imageOf(agent, src)
	if status != ok {
		return status
	}
	d, status := imageOf(agent, dst)
	if status != ok {
		return status
	}
	if s.desc.Type != d.desc.Type || s.desc.Order != d.desc.Order {
		return badArg
	}
	var ats []uint64
	if status := s.rows(&from, func(at, n, y, z uint64) int32 { ats = append(ats, at); return ok }); status != ok {
		return status
	}
	i := 0
	return d.rows(&to, func(at, n, y, z uint64) int32 {
		if i == len(ats) {
			return badArg
		}
		i++
		return hsa_memory_copy(uintptr(at), uintptr(ats[i-1]), n)
	})
}

//export hsa_ext_image_clear
func hsa_ext_image_clear(agent, h uint64, value, rg uintptr) int32 {
	x, r, s := imageArgs(agent, h, rg)
	if s != ok {
		return s
	}
	if value == 0 {
		return badArg
	}
	gen, pitched := x.agent.ImageGeneration()
	v, good := caller.Get((*[4]uint32)(ptr(uint64(value))))
	if !good {
		return badArg
	}
	texel := make([]byte, x.layout.TexelSize)
	if x.desc.Geometry == hsa.ImageBuffer {
		b, err := image.ParseBuffer(gen, x.words[3], false, 0)
		if err != nil {
			return failure
		}
		b.Format.Encode((&image.Resource{Format: b.Format, Select: b.Select}).Stored(v), texel)
	} else {
		d, err := image.ParseResource(gen, pitched, (*[8]uint32)(x.words[:8]))
		if err != nil {
			return failure
		}
		d.Format.Encode(d.Stored(v), texel)
	}
	row := make([]byte, int(r.extent.x)*len(texel))
	for i := 0; i+len(texel) <= len(row); i += len(texel) {
		copy(row[i:], texel)
	}
	if len(row) == 0 {
		return badArg
	}
	return x.rows(r, func(at, n, y, z uint64) int32 {
		return hsa_memory_copy(uintptr(at), uintptr(unsafe.Pointer(&row[0])), n)
	})
}

// imageTable fills the table of the extension's functions.
func imageTable(n uint64, table uintptr) int32 {
	for i := 0; i < 13 && uint64(i)*8+8 <= n; i++ {
		put(table+uintptr(i)*8, C.image_function(C.int(i)))
	}
	return ok
}
