package hip

import "unsafe"

// Attributes of streams (hipLaunchAttributeID).
const (
	streamAccessPolicy = 1
	streamSyncPolicy   = 3
	streamPriority     = 8
)

// streamAttr is hipLaunchAttributeValue.
type streamAttr [StreamAttributeSize]byte

// StreamAttributeSize is the size of hipStreamAttrValue, in bytes.
const StreamAttributeSize uint32 = 64

// attributed is the stream of a handle: null streams have no attributes of their own.
func (a *API) attributed(t *Thread, s uintptr) (*stream, Error) {
	if x := a.streamOf(t, s); x != nil {
		return x, Success
	}
	return nil, ErrInvalidHandle
}

// StreamSetAttribute sets an attribute of a stream.
func (a *API) StreamSetAttribute(t *Thread, s uintptr, id int32, v uintptr) Error {
	//fidelity: approximate hipStreamSetAttribute: access policy window and synchronization policy are remembered, they change nothing
	x, e := a.attributed(t, s)
	if e != Success {
		return e
	}
	if v == 0 {
		return ErrInvalidValue
	}
	switch id {
	case streamAccessPolicy:
	case streamSyncPolicy:
		if p := *(*int32)(pointer(v)); p < 1 || p > 4 {
			return ErrInvalidValue
		}
	default: // the priority is the stream's for life
		return ErrInvalidValue
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.attrs == nil {
		x.attrs = map[int32]streamAttr{}
	}
	x.attrs[id] = *(*streamAttr)(pointer(v))
	return Success
}

// StreamGetAttribute reads an attribute of a stream.
func (a *API) StreamGetAttribute(t *Thread, s uintptr, id int32, out uintptr) Error {
	x, e := a.attributed(t, s)
	if e != Success {
		return e
	}
	if out == 0 {
		return ErrInvalidValue
	}
	var v streamAttr
	switch id {
	case streamPriority:
		*(*int32)(unsafe.Pointer(&v)) = int32(x.q.Priority)
	case streamAccessPolicy, streamSyncPolicy:
		a.mu.Lock()
		set, known := x.attrs[id]
		a.mu.Unlock()
		v = set
		if !known && id == streamSyncPolicy {
			v[0] = 1 // automatic
		}
	default:
		return ErrInvalidValue
	}
	*(*streamAttr)(pointer(out)) = v
	return Success
}

// StreamCopyAttributes gives a stream the attributes of another one of the same device.
func (a *API) StreamCopyAttributes(t *Thread, dst, src uintptr) Error {
	from, e := a.attributed(t, src)
	if e != Success {
		return e
	}
	to, e := a.attributed(t, dst)
	if e != Success {
		return e
	}
	if from.q.Device() != to.q.Device() {
		return ErrInvalidValue
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	attrs := map[int32]streamAttr{}
	for id, v := range from.attrs {
		attrs[id] = v
	}
	to.attrs = attrs
	return Success
}
