package hip

import "github.com/pumice-gpu/pumice/runtime/clr"

// Memset stores count elements of size bytes.
func (a *API) Memset(t *Thread, dst uintptr, value uint32, size int, count uint64, s uintptr, async bool) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if a.capturing() {
		done, e := a.capturedOr(t, s, async, func() (nodeOp, Error) {
			return opOf(a.newMemset(&MemsetParams{Dst: dst, ElementSize: uint32(size), Height: 1, Value: value, Width: count}, 1, 0))
		})
		if done {
			return e
		}
	}
	if count == 0 {
		return Success
	}
	if dst == 0 {
		return ErrInvalidValue
	}
	if count > 1<<46/uint64(size) {
		return ErrInvalidValue
	}
	if a.rt.Find(uint64(dst)) == nil && a.rt.HSA.Find(uint64(dst)) == nil {
		return ErrInvalidValue // memory that no device reaches
	}
	_, err := q.Fill(uint64(dst), value, size, clr.Linear(count*uint64(size)), async)
	return a.fromErr(err)
}

// Memset2D stores a byte over rows; depth is 1 for two dimensions, ysize the rows between slices.
func (a *API) Memset2D(t *Thread, dst uintptr, pitch uint64, value byte, width, height, depth, ysize uint64, s uintptr, async bool) Error {
	return a.memsetRows(t, dst, pitch, uint32(value), 1, width, height, depth, pitch*max(ysize, height), s, async)
}

// MemsetRows stores elements of 1, 2 or 4 bytes over rows; width counts elements, pitch bytes.
func (a *API) MemsetRows(t *Thread, dst uintptr, pitch uint64, v uint32, size int, width, height uint64, s uintptr, async bool) Error {
	return a.memsetRows(t, dst, pitch, v, size, width, height, 1, 0, s, async)
}

// memsetRows stores elements of size bytes over depth slices of rows; slice is the bytes from one to the next.
func (a *API) memsetRows(t *Thread, dst uintptr, pitch uint64, v uint32, size int, width, height, depth, slice uint64, s uintptr, async bool) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if a.capturing() {
		done, e := a.capturedOr(t, s, async, func() (nodeOp, Error) {
			return opOf(a.newMemset(&MemsetParams{Dst: dst, ElementSize: uint32(size), Height: height, Pitch: pitch, Value: v, Width: width}, depth, slice))
		})
		if done {
			return e
		}
	}
	if width == 0 || height == 0 || depth == 0 {
		return Success
	}
	row := width * uint64(size)
	if dst == 0 || width > 1<<46 || pitch < row || a.rt.Find(uint64(dst)) == nil {
		return ErrInvalidValue
	}
	_, err := q.Fill(uint64(dst), v, size, clr.Rect{Width: row, Height: height, Depth: depth, DstPitch: pitch, DstSlice: slice}, async)
	return a.fromErr(err)
}
