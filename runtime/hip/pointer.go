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
	if attr == ptrMemoryType && arrayOf(p) != nil {
		return store(out, a.arrayMemoryType())
	}
	m := a.rt.Find(uint64(p))
	if m == nil {
		return ErrInvalidValue
	}
	off := uint64(p) - m.Ptr
	if off >= m.Size {
		off = uint64(p) - m.Host
	}
	flag := func(v bool) Error { return store(out, v) } // one byte, as in AMD's runtime: what is next to it is the program's
	switch attr {
	case ptrMemoryType:
		return store(out, a.memoryType(m.Kind))
	case ptrDevicePointer:
		return store(out, m.Ptr+off)
	case ptrHostPointer:
		if m.Kind == clr.DeviceMemory {
			_ = store(out, uint64(0))
			return ErrInvalidValue
		}
		return store(out, m.Host+off)
	case ptrSyncMemops:
		return flag(false)
	case ptrBufferID:
		return store(out, uint32(m.ID))
	case ptrIsManaged:
		return flag(m.Kind == clr.ManagedMemory)
	case ptrDeviceOrdinal:
		return store(out, uint32(m.Device.Index))
	case ptrRangeStart:
		return store(out, m.Ptr)
	case ptrRangeSize:
		return store(out, uint32(m.Size)) // 32 bits in AMD's runtime too
	case ptrMapped:
		return flag(true)
	case ptrAccessFlags:
		return store(out, uint32(3))
	case ptrContext, ptrP2PTokens, ptrLegacyIPC, ptrHandleTypes, ptrRDMACapable, ptrMemPool:
		return ErrNotSupported // as AMD's runtime answers
	}
	return ErrInvalidValue
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
				e = store(out[i], uint64(0))
			case ptrDeviceOrdinal:
				e = store(out[i], int32(invalidDevice))
			default:
				e = store(out[i], uint32(0))
			}
			if e != Success {
				return e
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
