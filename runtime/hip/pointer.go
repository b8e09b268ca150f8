package hip

import (
	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Attributes of pointers (hipPointer_attribute).
const (
	ptrContext       = 1
	ptrMemoryType    = 2
	ptrDevicePointer = 3
	ptrHostPointer   = 4
	ptrP2PTokens     = 5
	ptrSyncMemops    = 6
	ptrBufferID      = 7
	ptrIsManaged     = 8
	ptrDeviceOrdinal = 9
	ptrLegacyIPC     = 10
	ptrRangeStart    = 11
	ptrRangeSize     = 12
	ptrMapped        = 13
	ptrHandleTypes   = 14
	ptrRDMACapable   = 15
	ptrAccessFlags   = 16
	ptrMemPool       = 17
)

// PointerGetAttribute writes one attribute of the memory at an address to out.
func (a *API) PointerGetAttribute(out uintptr, attr int32, p uintptr) Error {
	if out == 0 || p == 0 {
		return ErrInvalidValue
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	m := a.rt.Find(uint64(p))
	if m == nil {
		return ErrInvalidValue
	}
	off := uint64(p) - m.Ptr
	if off >= m.Size {
		off = uint64(p) - m.Host
	}
	put32 := func(v uint32) { *(*uint32)(pointer(out)) = v }
	put64 := func(v uint64) { *(*uint64)(pointer(out)) = v }
	flag := func(v bool) {
		put32(0)
		if v {
			put32(1)
		}
	}
	switch attr {
	case ptrContext:
		put64(uint64(ctxOf(int32(m.Device.Index))))
	case ptrMemoryType:
		put32(a.memoryType(m.Kind))
	case ptrDevicePointer:
		put64(m.Ptr + off)
	case ptrHostPointer:
		if m.Kind == clr.DeviceMemory {
			put64(0)
			return ErrInvalidValue
		}
		put64(m.Host + off)
	case ptrSyncMemops, ptrLegacyIPC, ptrRDMACapable:
		flag(attr == ptrLegacyIPC && m.Kind == clr.DeviceMemory && !m.Mapped)
	case ptrBufferID:
		put32(uint32(m.ID))
	case ptrIsManaged:
		flag(m.Kind == clr.ManagedMemory)
	case ptrDeviceOrdinal:
		put32(uint32(m.Device.Index))
	case ptrRangeStart:
		put64(m.Ptr)
	case ptrRangeSize:
		put64(m.Size)
	case ptrMapped:
		flag(true)
	case ptrHandleTypes:
		put32(handleNone)
		a.mu.Lock()
		if x := a.mapped[m]; x != nil {
			put32(uint32(x.prop.Handles))
		}
		a.mu.Unlock()
	case ptrAccessFlags:
		put32(3)
	case ptrMemPool:
		put64(uint64(a.poolOf(m)))
	case ptrP2PTokens:
		return ErrNotSupported
	default:
		return ErrInvalidValue
	}
	return Success
}

// PointerGetAttributesDrv is hipDrvPointerGetAttributes: several attributes; one that does not apply gives 0, which is no error.
func (a *API) PointerGetAttributesDrv(attrs []int32, out []uintptr, p uintptr) Error {
	if len(attrs) == 0 || p == 0 {
		return ErrInvalidValue
	}
	for i, x := range attrs {
		if x < ptrContext || x > ptrMemPool || out[i] == 0 {
			return ErrInvalidValue
		}
	}
	for i, x := range attrs {
		if e := a.PointerGetAttribute(out[i], x, p); e != Success {
			switch x {
			case ptrContext, ptrDevicePointer, ptrHostPointer, ptrRangeStart, ptrRangeSize, ptrMemPool:
				*(*uint64)(pointer(out[i])) = 0
			case ptrDeviceOrdinal:
				*(*int32)(pointer(out[i])) = invalidDevice
			default:
				*(*uint32)(pointer(out[i])) = 0
			}
		}
	}
	return Success
}

// PointerSetAttribute would set the one attribute that can be: that copies of an allocation are always synchronous.
func (a *API) PointerSetAttribute(v uintptr, attr int32, p uintptr) Error {
	if v == 0 || p == 0 || attr != ptrSyncMemops {
		return ErrInvalidValue
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	if m := a.rt.Find(uint64(p)); m == nil || m.Kind != clr.DeviceMemory {
		return ErrInvalidDevicePointer
	}
	//fidelity: refused hipPointerSetAttribute: copies of a marked allocation would have to be synchronous
	return ErrNotSupported
}

// poolOf returns the handle of the pool that memory is of, 0 if it is no pool's.
func (a *API) poolOf(m *clr.Memory) uintptr {
	a.memMu.Lock()
	defer a.memMu.Unlock()
	for p := range a.poolSet {
		if p.used[m.Ptr] != nil {
			return p.handle
		}
	}
	return 0
}
