package hip

import (
	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Flags of host memory.
const (
	hostMallocPortable      = 0x1
	hostMallocMapped        = 0x2
	hostMallocWriteCombined = 0x4
	hostMallocNumaUser      = 0x20000000
	hostMallocCoherent      = 0x40000000
	hostMallocNonCoherent   = 0x80000000

	deviceMallocFinegrained = 0x1
	mallocSignalMemory      = 0x2
	deviceMallocUncached    = 0x3
)

// pinned is memory of the program that hipHostRegister has pinned.
type pinned struct {
	mem   *clr.Memory
	flags uint32
}

// Malloc is hipMalloc: 0 bytes give a null pointer.
func (a *API) Malloc(t *Thread, out *uintptr, size uint64) Error {
	return a.ExtMalloc(t, out, size, 0)
}

// ExtMalloc is hipExtMallocWithFlags.
func (a *API) ExtMalloc(t *Thread, out *uintptr, size uint64, flags uint32) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	if out == nil {
		return ErrInvalidValue
	}
	if e := a.refuseUnsafe(t); e != Success {
		return e
	}
	*out = 0
	if size == 0 {
		return Success
	}
	switch flags {
	case 0, deviceMallocFinegrained, deviceMallocUncached:
	case mallocSignalMemory:
		if size != 8 {
			return ErrInvalidValue
		}
		m, err := d.AllocHost(4096, clr.HostMemory, true)
		if err == nil {
			m.Signal = true
			*out = uintptr(m.Ptr)
		}
		return a.fromErr(err)
	default:
		return ErrInvalidValue
	}
	if total, _ := d.Agent.Node.LocalMemory(); size > total {
		return ErrOutOfMemory
	}
	m, err := d.Alloc(size)
	if err != nil {
		return a.fromErr(err)
	}
	*out = uintptr(m.Ptr)
	return Success
}

// Free is hipFree: null is no error; the pointer must be the start of device or managed memory.
func (a *API) Free(t *Thread, p uintptr) Error {
	if p == 0 {
		return Success
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	if e := a.refuseImplicit(); e != Success {
		return e
	}
	m := a.rt.Find(uint64(p))
	if m == nil || m.Ptr != uint64(p) || m.Kind == clr.RegisteredMemory || m.Mapped || m.Attached && !a.pooled(m) {
		return ErrInvalidValue
	}
	if m.Kind == clr.HostMemory && !m.Signal {
		return ErrInvalidDevicePointer
	}
	if mine, e := a.freeGraphMemory(m); mine {
		return e
	}
	if a.pooled(m) {
		if err := m.Device.Synchronize(); err != nil {
			return a.fromErr(err)
		}
		_, e := a.freeToPool(nil, m)
		return e
	}
	return a.fromErr(a.rt.Free(m))
}

// HostMalloc is hipHostMalloc.
func (a *API) HostMalloc(t *Thread, out *uintptr, size uint64, flags uint32) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	if out == nil {
		return ErrInvalidValue
	}
	if e := a.refuseUnsafe(t); e != Success {
		return e
	}
	*out = 0
	if size == 0 {
		return Success
	}
	const all = hostMallocPortable | hostMallocMapped | hostMallocWriteCombined | hostMallocNumaUser | hostMallocCoherent | hostMallocNonCoherent
	if flags&^uint32(all) != 0 || flags&(hostMallocCoherent|hostMallocNonCoherent) == hostMallocCoherent|hostMallocNonCoherent {
		return ErrInvalidValue
	}
	m, err := d.AllocHost(size, clr.HostMemory, flags&hostMallocNonCoherent == 0)
	if err != nil {
		return a.fromErr(err)
	}
	m.Flags = flags
	*out = uintptr(m.Host)
	return Success
}

// HostFree is hipHostFree.
func (a *API) HostFree(t *Thread, p uintptr) Error {
	if p == 0 {
		return Success
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	if e := a.refuseUnsafe(t); e != Success {
		return e
	}
	m := a.rt.Find(uint64(p))
	if m == nil || m.Host != uint64(p) || m.Kind != clr.HostMemory {
		return ErrInvalidValue
	}
	return a.fromErr(a.rt.Free(m))
}

// HostGetDevicePointer returns the address by which devices reach host memory.
func (a *API) HostGetDevicePointer(t *Thread, out *uintptr, host uintptr, flags uint32) Error {
	if _, e := a.device(t); e != Success {
		return e
	}
	if out == nil || host == 0 || flags != 0 {
		return ErrInvalidValue
	}
	*out = 0
	m := a.rt.Find(uint64(host))
	if m == nil || m.Host == 0 || m.Kind == clr.DeviceMemory {
		return ErrInvalidValue
	}
	off := uint64(host) - m.Host
	if off >= m.Size {
		off = uint64(host) - m.Ptr
	}
	*out = uintptr(m.Ptr + off)
	return Success
}

// HostGetFlags returns the flags that host memory was made with.
func (a *API) HostGetFlags(t *Thread, out *uint32, host uintptr) Error {
	if _, e := a.device(t); e != Success {
		return e
	}
	if out == nil || host == 0 {
		return ErrInvalidValue
	}
	m := a.rt.Find(uint64(host))
	if m == nil || m.Kind != clr.HostMemory && m.Kind != clr.RegisteredMemory {
		return ErrInvalidValue
	}
	*out = m.Flags
	return Success
}

// HostRegister pins memory of the program.
func (a *API) HostRegister(t *Thread, host uintptr, size uint64, flags uint32) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	if host == 0 || size == 0 || flags > 15 {
		return ErrInvalidValue
	}
	if e := a.refuseUnsafe(t); e != Success {
		return e
	}
	if m := a.rt.Find(uint64(host)); m != nil {
		if m.Kind == clr.RegisteredMemory && m.Host == uint64(host) && size <= m.Size {
			return Success // stays as it was registered first, and is unregistered once, as in AMD's runtime
		}
		return ErrHostMemoryAlreadyRegistered
	}
	if !clr.CheckHost(uint64(host), size, false) {
		return ErrOutOfMemory // its pages cannot be pinned
	}
	m, err := d.Register(uint64(host), size)
	if err != nil {
		return a.fromErr(err)
	}
	m.Flags = flags
	a.mu.Lock()
	a.hosts[uint64(host)] = &pinned{m, flags}
	a.mu.Unlock()
	return Success
}

// HostUnregister takes it back. The pointer must be the one that was registered.
func (a *API) HostUnregister(t *Thread, host uintptr) Error {
	if _, e := a.device(t); e != Success {
		return e
	}
	if host == 0 {
		return ErrInvalidValue
	}
	a.mu.Lock()
	p := a.hosts[uint64(host)]
	delete(a.hosts, uint64(host))
	a.mu.Unlock()
	if p == nil {
		return ErrHostMemoryNotRegistered
	}
	return a.fromErr(a.rt.Free(p.mem))
}

// pitchAlign is the alignment of rows in pitched memory.
const pitchAlign = 256

// MallocPitch is hipMallocPitch; depth is 1 for two dimensions.
func (a *API) MallocPitch(t *Thread, out *uintptr, pitch *uint64, width, height, depth uint64) Error {
	if out == nil || pitch == nil {
		return ErrInvalidValue
	}
	if width == 0 || height == 0 || depth == 0 {
		*out, *pitch = 0, 0
		return Success
	}
	p := (width + pitchAlign - 1) &^ (pitchAlign - 1)
	if p < width || height > 1<<40/p || depth > 1<<46/(p*height) {
		return ErrOutOfMemory
	}
	if e := a.Malloc(t, out, p*height*depth); e != Success {
		return e
	}
	*pitch = p
	return Success
}

// Extent and PitchedPtr are the structures of 3D memory.
type Extent struct{ Width, Height, Depth uint64 }

// PitchedPtr is hipPitchedPtr.
type PitchedPtr struct {
	Ptr          uintptr
	Pitch        uint64
	XSize, YSize uint64
}

// Malloc3D is hipMalloc3D.
func (a *API) Malloc3D(t *Thread, out *PitchedPtr, x Extent) Error {
	if out == nil {
		return ErrInvalidValue
	}
	var p uintptr
	var pitch uint64
	if e := a.MallocPitch(t, &p, &pitch, x.Width, x.Height, x.Depth); e != Success {
		return e
	}
	*out = PitchedPtr{p, pitch, x.Width, x.Height}
	return Success
}

// MemGetInfo returns free and total video memory of the current device.
func (a *API) MemGetInfo(t *Thread, free, total *uint64) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	if free == nil && total == nil {
		return Success
	}
	f, n, err := d.Available()
	if err != nil {
		return a.fromErr(err)
	}
	if free != nil {
		*free = f
	}
	if total != nil {
		*total = n
	}
	return Success
}

// MemGetAddressRange returns start and size of the allocation that contains a device address.
func (a *API) MemGetAddressRange(base *uintptr, size *uint64, p uintptr) Error {
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	m := a.rt.Find(uint64(p))
	if m == nil {
		return ErrInvalidDevicePointer
	}
	if base != nil {
		*base = uintptr(m.Ptr)
	}
	if size != nil {
		*size = m.Size
	}
	return Success
}

// MemPtrGetInfo returns the size of the allocation that starts at an address.
func (a *API) MemPtrGetInfo(p uintptr, size *uint64) Error {
	if size == nil {
		return ErrInvalidValue
	}
	if p == 0 {
		*size = 0
		return Success
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	m := a.rt.Find(uint64(p))
	if m == nil {
		return ErrInvalidValue
	}
	*size = m.Size
	return Success
}

// PointerAttributes is hipPointerAttribute_t.
type PointerAttributes struct {
	Type            uint32
	Device          int32
	DevicePointer   uintptr
	HostPointer     uintptr
	IsManaged       int32
	AllocationFlags uint32
}

// memoryType numbers hipMemoryType by face: it changed with HIP 6.
func (a *API) memoryType(k clr.Kind) uint32 {
	five := map[clr.Kind]uint32{clr.DeviceMemory: 1, clr.HostMemory: 0, clr.RegisteredMemory: 0, clr.ManagedMemory: 3}
	six := map[clr.Kind]uint32{clr.DeviceMemory: 2, clr.HostMemory: 1, clr.RegisteredMemory: 1, clr.ManagedMemory: 3}
	if a.Face <= 5 {
		if k == clr.ManagedMemory {
			return 1 // 5.2 reports managed memory as device memory, with isManaged set
		}
		return five[k]
	}
	return six[k]
}

// arrayMemoryType is hipMemoryTypeArray.
func (a *API) arrayMemoryType() uint32 {
	if a.Face <= 5 {
		return 2
	}
	return 10
}

// PointerGetAttributes describes the memory at an address. Memory unknown to the runtime is an error up to HIP 5, and "unregistered" from 6 on.
func (a *API) PointerGetAttributes(out *PointerAttributes, p uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	if p == 0 && a.Face < 7 {
		return ErrInvalidValue
	}
	m := a.rt.Find(uint64(p))
	if m == nil {
		if a.Face <= 5 {
			return ErrInvalidValue
		}
		*out = PointerAttributes{Device: -2}
		return Success
	}
	off := uint64(p) - m.Ptr
	if off >= m.Size {
		off = uint64(p) - m.Host
	}
	*out = PointerAttributes{Type: a.memoryType(m.Kind), Device: int32(m.Device.Index), DevicePointer: uintptr(m.Ptr + off), AllocationFlags: m.Flags}
	if m.Kind != clr.DeviceMemory {
		out.HostPointer = uintptr(m.Host + off)
	}
	if m.Kind == clr.ManagedMemory {
		out.IsManaged = 1
	}
	return Success
}
