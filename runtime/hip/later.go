package hip

import "github.com/pumice-gpu/pumice/runtime/clr"

// EventRecordWithFlags records an event; with flag 1, external, a record in a capturing stream becomes a node that records the event when the graph runs.
func (a *API) EventRecordWithFlags(t *Thread, ev, s uintptr, flags uint32) Error {
	const external = 1
	if flags&^external != 0 {
		return ErrInvalidValue
	}
	if flags == external && a.capturing() {
		x := a.events.get(ev)
		if x == nil {
			return ErrInvalidHandle
		}
		if done, e := a.captured(t, s, func() (nodeOp, Error) { return &eventRecordOp{ev, x}, Success }); done {
			return e
		}
	}
	return a.EventRecord(t, ev, s)
}

// StreamID returns a number that no other stream of the process has.
func (a *API) StreamID(t *Thread, s uintptr, out *uint64) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if out == nil {
		return ErrInvalidValue
	}
	if q.Null() {
		*out = uint64(q.Device().Index) + 1 // handles begin far above
		return Success
	}
	if s == StreamPerThread {
		s = t.Streams[min(t.Device, maxThreadStreams-1)]
	}
	*out = uint64(s)
	return Success
}

// MemsetRows stores elements of 1, 2 or 4 bytes over rows; width counts elements, pitch bytes.
func (a *API) MemsetRows(t *Thread, dst uintptr, pitch uint64, v uint32, size int, width, height uint64, s uintptr, async bool) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if a.capturing() {
		done, e := a.capturedOr(t, s, async, func() (nodeOp, Error) {
			return opOf(a.newMemset(&MemsetParams{Dst: dst, ElementSize: uint32(size), Height: height, Pitch: pitch, Value: v, Width: width}, 1, 0))
		})
		if done {
			return e
		}
	}
	if width == 0 || height == 0 {
		return Success
	}
	row := width * uint64(size)
	if dst == 0 || width > 1<<46 || pitch < row || a.rt.Find(uint64(dst)) == nil {
		return ErrInvalidValue
	}
	_, err := q.Fill(uint64(dst), v, size, clr.Rect{Width: row, Height: height, Depth: 1, DstPitch: pitch}, async)
	return a.fromErr(err)
}

// Memcpy3DPeerParms is hipMemcpy3DPeerParms.
type Memcpy3DPeerParms struct {
	SrcArray  uintptr
	SrcPos    Pos
	SrcPtr    PitchedPtr
	SrcDevice int32
	_         int32
	DstArray  uintptr
	DstPos    Pos
	DstPtr    PitchedPtr
	DstDevice int32
	_         int32
	Extent    Extent
}

// Memcpy3DPeer copies a box between devices.
func (a *API) Memcpy3DPeer(t *Thread, p *Memcpy3DPeerParms, s uintptr, async bool) Error {
	if p == nil {
		return ErrInvalidValue
	}
	_, e1 := a.deviceAt(p.SrcDevice)
	_, e2 := a.deviceAt(p.DstDevice)
	if e1 != Success || e2 != Success {
		return ErrInvalidDevice
	}
	return a.Memcpy3D(t, &Memcpy3DParms{SrcArray: p.SrcArray, SrcPos: p.SrcPos, SrcPtr: p.SrcPtr, DstArray: p.DstArray, DstPos: p.DstPos, DstPtr: p.DstPtr, Extent: p.Extent, Kind: Default}, s, async)
}

// AvailableShared returns how much dynamic shared memory a block may have so that a number of blocks still fits on a multiprocessor.
func (a *API) AvailableShared(t *Thread, out *uint64, key uintptr, blocks, size int32) Error {
	if out == nil || blocks <= 0 || size <= 0 {
		return ErrInvalidValue
	}
	k, e := a.kernelByKey(t, key)
	if e != Success {
		return e
	}
	per := a.unitsPerMultiprocessor(k)
	units := (uint32(blocks) + per - 1) / per
	if k.Occupancy(uint32(size), 0) < units {
		*out = 0
		return Success
	}
	each := k.Device().Agent.LDSSize / units
	*out = uint64(each - min(each, k.GroupSegmentFixedSize))
	return Success
}

// CtxEnablePeer and CtxDisablePeer are the calls of that name by context.
func (a *API) CtxEnablePeer(t *Thread, ctx uintptr, flags uint32) Error {
	d, e := a.ctxDevice(ctx)
	if e != Success {
		return e
	}
	return a.DeviceEnablePeerAccess(t, d, flags)
}

// CtxDisablePeer takes it back.
func (a *API) CtxDisablePeer(t *Thread, ctx uintptr) Error {
	d, e := a.ctxDevice(ctx)
	if e != Success {
		return e
	}
	return a.DeviceDisablePeerAccess(t, d)
}

// SetupArgument stores an argument for LaunchByPtr.
func (a *API) SetupArgument(t *Thread, p uintptr, n, off uint64) Error {
	if p == 0 || n > uint64(len(t.Arguments)) || off > uint64(len(t.Arguments))-n {
		return ErrInvalidValue
	}
	if !LoadMemory(t.Arguments[off:off+n], p) {
		return ErrInvalidValue
	}
	t.ArgSize = max(t.ArgSize, off+n)
	return Success
}

// LaunchByPtr launches a registered kernel with the configuration and arguments that were set up.
func (a *API) LaunchByPtr(t *Thread, key uintptr) Error {
	c, e := a.PopConfig(t)
	if e != Success {
		return e
	}
	b := append([]byte{}, t.Arguments[:t.ArgSize]...)
	t.ArgSize = 0
	return a.LaunchKey(t, key, &Launch{Grid: c.Grid, Block: c.Block, Shared: uint32(c.Shared), Stream: c.Stream, Packed: b})
}
