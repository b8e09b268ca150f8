package hip

// Pools by location and kind of memory, since HIP 7.2. Pools are of devices' pinned memory here, as those of hipMemPoolCreate are.

// poolDevice is the device of a location that has a pool.
func (a *API) poolDevice(l *Location, kind int32) (int32, Error) {
	if l == nil || l.Type != locationDevice || kind != allocPinned {
		return 0, ErrInvalidValue
	}
	if _, e := a.deviceAt(l.ID); e != Success {
		return 0, ErrInvalidValue
	}
	return l.ID, Success
}

// LocationSetPool makes a pool the one of a location (hipMemSetMemPool).
func (a *API) LocationSetPool(l *Location, kind int32, pool uintptr) Error {
	d, e := a.poolDevice(l, kind)
	if e != Success {
		return e
	}
	return a.DeviceSetPool(d, pool)
}

// LocationGetPool returns the pool of a location (hipMemGetMemPool).
func (a *API) LocationGetPool(out *uintptr, l *Location, kind int32) Error {
	d, e := a.poolDevice(l, kind)
	if e != Success {
		return e
	}
	return a.DeviceGetPool(out, d, false)
}
