package hip

import "github.com/pumice-gpu/pumice/runtime/clr"

// Contexts. HIP's driver API has them for the sake of CUDA programs: each device has one, and making one current makes the device current. A handle is the
// device's number plus ctxBase.

const ctxBase = 0x7000

func ctxOf(d int32) uintptr { return ctxBase + 16*uintptr(d) }

func (a *API) ctxDevice(c uintptr) (int32, Error) {
	d := int32(c-ctxBase) / 16
	if c < ctxBase || (c-ctxBase)%16 != 0 || int(d) >= len(a.devices()) {
		return 0, ErrInvalidContext
	}
	return d, Success
}

// CtxCreate is hipCtxCreate: the device's context becomes current.
func (a *API) CtxCreate(t *Thread, out *uintptr, flags uint32, d int32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if _, e := a.deviceAt(d); e != Success {
		return e
	}
	t.Device = d
	*out = ctxOf(d)
	return Success
}

// CtxDestroy is hipCtxDestroy.
func (a *API) CtxDestroy(t *Thread, c uintptr) Error {
	if _, e := a.ctxDevice(c); e != Success {
		return ErrInvalidValue
	}
	return Success
}

// CtxGetCurrent returns the current device's context.
func (a *API) CtxGetCurrent(t *Thread, out *uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if _, e := a.device(t); e != Success {
		return e
	}
	*out = ctxOf(t.Device)
	return Success
}

// CtxSetCurrent makes a context's device current; null changes nothing.
func (a *API) CtxSetCurrent(t *Thread, c uintptr) Error {
	if c == 0 {
		return Success
	}
	d, e := a.ctxDevice(c)
	if e == Success {
		t.Device = d
	}
	return e
}

// CtxPush makes a context current.
func (a *API) CtxPush(t *Thread, c uintptr) Error {
	if c == 0 {
		return ErrInvalidContext
	}
	return a.CtxSetCurrent(t, c)
}

// CtxPop returns the current context.
func (a *API) CtxPop(t *Thread, out *uintptr) Error {
	if _, e := a.device(t); e != Success {
		return e
	}
	if out != nil {
		*out = ctxOf(t.Device)
	}
	return Success
}

// CtxAPIVersion is hipCtxGetApiVersion.
func (a *API) CtxAPIVersion(c uintptr, out *int32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	*out = 4
	return Success
}

// PrimaryRetain returns a device's context.
func (a *API) PrimaryRetain(out *uintptr, d int32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if _, e := a.deviceAt(d); e != Success {
		return e
	}
	*out = ctxOf(d)
	return Success
}

// PrimaryRelease checks the device.
func (a *API) PrimaryRelease(d int32) Error {
	_, e := a.deviceAt(d)
	return e
}

// PrimaryState reports flags, and that the context is active.
func (a *API) PrimaryState(d int32, flags *uint32, active *int32) Error {
	if flags == nil || active == nil {
		return ErrInvalidValue
	}
	if _, e := a.deviceAt(d); e != Success {
		return e
	}
	*flags, *active = 0, 1
	return Success
}

// PrimarySetFlags refuses: a primary context is always active.
func (a *API) PrimarySetFlags(d int32, flags uint32) Error {
	if _, e := a.deviceAt(d); e != Success {
		return e
	}
	return ErrContextAlreadyInUse
}

// What GetConfig answers: no preference of cache, and banks of four bytes.
const (
	CachePreferNone  = 0
	SharedMemBankOf4 = 1
)

// GetConfig is the answer to questions after cache and bank configuration, which AMD devices do not have: always the same.
func (a *API) GetConfig(t *Thread, out *int32, answer int32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if _, e := a.device(t); e != Success {
		return e
	}
	*out = answer
	return Success
}

// SetConfig accepts any cache or bank configuration: it is only a hint, has no meaning on AMD devices, and AMD's runtime does not look
// at it.
func (a *API) SetConfig(t *Thread, c int32) Error {
	_, e := a.device(t)
	return e
}

// DeviceSetLimit changes a limit.
func (a *API) DeviceSetLimit(t *Thread, limit uint32, v uint64) Error {
	//fidelity: approximate hipDeviceSetLimit: remembered; the stack of kernels of unknown depth has a fixed size
	if _, e := a.device(t); e != Success {
		return e
	}
	if limit > limitMallocHeap {
		return ErrInvalidValue
	}
	a.mu.Lock()
	a.limits[limit] = v
	a.mu.Unlock()
	return Success
}

// DeviceGetP2PAttribute describes a pair of devices.
func (a *API) DeviceGetP2PAttribute(out *int32, attr, src, dst int32) Error {
	if out == nil || attr < 0 || attr > 3 {
		return ErrInvalidValue
	}
	var can int32
	if e := a.DeviceCanAccessPeer(&can, src, dst); e != Success {
		return e
	}
	if src == dst {
		return ErrInvalidDevice
	}
	*out = 0
	if attr == 1 || attr == 2 { // access, native atomics
		*out = can
	}
	return Success
}

// LinkTypeAndHops is hipExtGetLinkTypeAndHopCount: 2 is PCIe, 4 is xGMI.
func (a *API) LinkTypeAndHops(d1, d2 int32, link, hops *uint32) Error {
	if link == nil || hops == nil || d1 == d2 {
		return ErrInvalidValue
	}
	x, e1 := a.deviceAt(d1)
	y, e2 := a.deviceAt(d2)
	if e1 != Success || e2 != Success {
		if d1 < 0 || d2 < 0 {
			return ErrInvalidValue
		}
		return ErrInvalidDevice
	}
	*link, *hops = 2, 2
	if l, ok := x.Agent.Node.LinkTo(y.Agent.Node.ID); ok {
		*hops = 1
		if l.Type == 11 {
			*link = 4
		}
	}
	return Success
}

// StreamAttachMem is hipStreamAttachMemAsync: a hint about managed memory.
func (a *API) StreamAttachMem(t *Thread, s, p uintptr, n uint64, flags uint32) Error {
	if _, e := a.queue(t, s); e != Success {
		return e
	}
	if p == 0 || flags != 1 && flags != 2 && flags != 4 {
		return ErrInvalidValue
	}
	m := a.rt.Find(uint64(p))
	if m == nil || m.Kind != clr.ManagedMemory || n != 0 && n != m.Size {
		return ErrInvalidValue // a part of an allocation cannot be attached
	}
	return Success
}

// CtxEnablePeer lets the current device of the thread use the memory of the device that a context is of.
func (a *API) CtxEnablePeer(t *Thread, ctx uintptr, flags uint32) Error {
	d, e := a.ctxDevice(ctx)
	if e != Success {
		return e
	}
	return a.DeviceEnablePeerAccess(t, d, flags)
}

// CtxDisablePeer takes back what CtxEnablePeer gave.
func (a *API) CtxDisablePeer(t *Thread, ctx uintptr) Error {
	d, e := a.ctxDevice(ctx)
	if e != Success {
		return e
	}
	return a.DeviceDisablePeerAccess(t, d)
}
