package hip

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Copies with arrays. Arrays are linear in memory, so all of them are copies of boxes.

// side is one side of a copy of a box: where its first byte is, and how far rows and slices are apart.
type side struct {
	addr, pitch, slice uint64
}

// arraySide is a box of an array: x and width in bytes.
func (a *API) arraySide(h uintptr, x, y, z, width, rows, slices uint64) (side, Error) {
	r := arrayOf(h)
	if r == nil {
		return side{}, ErrInvalidValue
	}
	at, ok := r.at(x, y, z, width, rows, slices)
	if !ok {
		return side{}, ErrInvalidValue
	}
	return side{at, r.img.Layout.RowPitch, r.img.Layout.SlicePitch}, Success
}

// linearSide is a box of plain memory.
func linearSide(p uintptr, pitch, ysize, x, y, z, width, rows uint64) (side, Error) {
	if p == 0 {
		return side{}, ErrInvalidValue
	}
	if pitch < width {
		return side{}, ErrInvalidPitchValue
	}
	slice := pitch * max(ysize, rows)
	return side{uint64(p) + x + y*pitch + z*slice, pitch, slice}, Success
}

func box(dst, src side, width, rows, slices uint64) clr.Rect {
	return clr.Rect{Width: width, Height: rows, Depth: slices, DstPitch: dst.pitch, SrcPitch: src.pitch, DstSlice: dst.slice, SrcSlice: src.slice}
}

// placeArrays is place3D with an array on either side: the extent and positions in arrays count texels, those in plain memory bytes.
func (a *API) placeArrays(p *Memcpy3DParms) (dst, src uint64, rect clr.Rect, _ Error) {
	if p.SrcArray != 0 && p.SrcPtr.Ptr != 0 || p.DstArray != 0 && p.DstPtr.Ptr != 0 {
		return 0, 0, rect, ErrInvalidValue
	}
	texel := uint64(0)
	for _, h := range []uintptr{p.SrcArray, p.DstArray} {
		if h == 0 {
			continue
		}
		x := arrayOf(h)
		if x == nil || texel != 0 && x.img.Layout.TexelSize != texel {
			return 0, 0, rect, ErrInvalidValue
		}
		texel = x.img.Layout.TexelSize
	}
	x := p.Extent
	if x.Width == 0 || x.Height == 0 || x.Depth == 0 {
		return 0, 0, rect, Success
	}
	width := x.Width * texel
	one := func(h uintptr, ptr PitchedPtr, pos Pos) (side, Error) {
		if h != 0 {
			return a.arraySide(h, pos.X*texel, pos.Y, pos.Z, width, x.Height, x.Depth)
		}
		return linearSide(ptr.Ptr, ptr.Pitch, ptr.YSize, pos.X, pos.Y, pos.Z, width, x.Height)
	}
	s, e := one(p.SrcArray, p.SrcPtr, p.SrcPos)
	if e != Success {
		return 0, 0, rect, e
	}
	d, e := one(p.DstArray, p.DstPtr, p.DstPos)
	if e != Success {
		return 0, 0, rect, e
	}
	return d.addr, s.addr, box(d, s, width, x.Height, x.Depth), Success
}

// MemcpyBox copies a box in bytes between two sides, of which either may be an array.
func (a *API) memcpyBox(t *Thread, d, s side, width, rows, slices uint64, k Kind, stream uintptr, async bool) Error {
	q, e := a.queue(t, stream)
	if e != Success {
		return e
	}
	if a.capturing() {
		// As a copy of plain memory: the array's memory does not move.
		done, e := a.capturedOr(t, stream, async, func() (nodeOp, Error) {
			return opOf(a.newCopy3D(&Memcpy3DParms{SrcPtr: PitchedPtr{Ptr: uintptr(s.addr), Pitch: s.pitch, YSize: s.slice / max(s.pitch, 1)},
				DstPtr: PitchedPtr{Ptr: uintptr(d.addr), Pitch: d.pitch, YSize: d.slice / max(d.pitch, 1)}, Extent: Extent{width, rows, slices}, Kind: k}))
		})
		if done {
			return e
		}
	}
	if width == 0 || rows == 0 || slices == 0 {
		return Success
	}
	_, err := q.Copy(d.addr, s.addr, box(d, s, width, rows, slices), async)
	return a.fromErr(err)
}

// arrayArgs checks the array, the memory and the direction of a copy. A null array is an invalid handle, as in AMD's runtime.
func arrayArgs(array, mem uintptr, k Kind) Error {
	switch {
	case array == 0:
		return ErrInvalidHandle
	case mem == 0:
		return ErrInvalidValue
	case !k.ok():
		return ErrInvalidMemcpyDirection
	}
	return Success
}

// Memcpy2DToArray copies rows to an array; offsets and widths are in bytes.
func (a *API) Memcpy2DToArray(t *Thread, dst uintptr, x, y uint64, src uintptr, spitch, width, height uint64, k Kind, s uintptr, async bool) Error {
	if e := arrayArgs(dst, src, k); e != Success {
		return e
	}
	d, e := a.arraySide(dst, x, y, 0, width, height, 1)
	if e != Success {
		return e
	}
	if spitch == 0 {
		return ErrInvalidPitchValue
	}
	if spitch < width {
		return ErrInvalidValue
	}
	return a.memcpyBox(t, d, side{uint64(src), spitch, spitch * height}, width, height, 1, k, s, async)
}

// Memcpy2DFromArray copies rows from an array.
func (a *API) Memcpy2DFromArray(t *Thread, dst uintptr, dpitch uint64, src uintptr, x, y, width, height uint64, k Kind, s uintptr, async bool) Error {
	if e := arrayArgs(src, dst, k); e != Success {
		return e
	}
	r, e := a.arraySide(src, x, y, 0, width, height, 1)
	if e != Success {
		return e
	}
	if dpitch == 0 {
		return ErrInvalidPitchValue
	}
	if dpitch < width {
		return ErrInvalidValue
	}
	return a.memcpyBox(t, side{uint64(dst), dpitch, dpitch * height}, r, width, height, 1, k, s, async)
}

// Memcpy2DArrayToArray copies rows between arrays.
func (a *API) Memcpy2DArrayToArray(t *Thread, dst uintptr, dx, dy uint64, src uintptr, sx, sy, width, height uint64, k Kind) Error {
	if dst == 0 || src == 0 {
		return ErrInvalidValue
	}
	if !k.ok() {
		return ErrInvalidMemcpyDirection
	}
	d, e := a.arraySide(dst, dx, dy, 0, width, height, 1)
	if e != Success {
		return e
	}
	s, e := a.arraySide(src, sx, sy, 0, width, height, 1)
	if e != Success {
		return e
	}
	return a.memcpyBox(t, d, s, width, height, 1, k, 0, false)
}

// MemcpyToArray copies n bytes to an array from byte x of row y on, to the end of the row and into those behind it.
//
// fidelity: approximate hipMemcpyToArray, hipMemcpyFromArray: parts of an array row after row, as CUDA documents; AMD's 5.2 copies a box
func (a *API) MemcpyToArray(t *Thread, dst uintptr, x, y uint64, src uintptr, n uint64, k Kind) Error {
	return a.memcpyRows(t, dst, x, y, src, n, k, true)
}

// MemcpyFromArray copies n bytes from an array.
func (a *API) MemcpyFromArray(t *Thread, dst, src uintptr, x, y, n uint64, k Kind) Error {
	return a.memcpyRows(t, src, x, y, dst, n, k, false)
}

// MemcpyArrayLinear copies n bytes between an array, from byte x of its first row on, and memory: to the array, or from it, in the order of a stream.
func (a *API) MemcpyArrayLinear(t *Thread, array uintptr, x uint64, mem uintptr, n uint64, to bool, s uintptr, async bool) Error {
	r := arrayOf(array)
	if r == nil || mem == 0 {
		return ErrInvalidValue
	}
	d, e := a.arraySide(array, x, 0, 0, n, 1, 1)
	if e != Success {
		return e
	}
	m := side{uint64(mem), n, n}
	if !to {
		d, m = m, d
	}
	return a.memcpyBox(t, d, m, n, 1, 1, Default, s, async)
}

// MemcpyAtoA copies n bytes between the first rows of two arrays.
func (a *API) MemcpyAtoA(t *Thread, dst uintptr, dx uint64, src uintptr, sx, n uint64) Error {
	d, e := a.arraySide(dst, dx, 0, 0, n, 1, 1)
	if e != Success {
		return e
	}
	s, e := a.arraySide(src, sx, 0, 0, n, 1, 1)
	if e != Success {
		return e
	}
	return a.memcpyBox(t, d, s, n, 1, 1, DeviceToDevice, 0, false)
}

func (a *API) memcpyRows(t *Thread, array uintptr, x, y uint64, mem uintptr, n uint64, k Kind, to bool) Error {
	r := arrayOf(array)
	if r == nil || mem == 0 {
		return ErrInvalidValue
	}
	if !k.ok() {
		return ErrInvalidMemcpyDirection
	}
	row := r.width * r.img.Layout.TexelSize
	for n > 0 {
		w, rows := min(n, row-min(x, row)), uint64(1)
		if x == 0 && n >= row {
			w, rows = row, n/row
		}
		if w == 0 {
			return ErrInvalidValue
		}
		s, e := a.arraySide(array, x, y, 0, w, rows, 1)
		if e != Success {
			return e
		}
		m := side{uint64(mem), w, w * rows}
		if to {
			e = a.memcpyBox(t, s, m, w, rows, 1, k, 0, false)
		} else {
			e = a.memcpyBox(t, m, s, w, rows, 1, k, 0, false)
		}
		if e != Success {
			return e
		}
		n -= w * rows
		mem += uintptr(w * rows)
		x, y = 0, y+rows
	}
	return Success
}

// driverSide is one side of a driver copy, whose memory type chooses among three places.
func (a *API) driverSide(typ uint32, host, device, array uintptr, pitch, height, x, y, z, width, rows, slices uint64) (side, Error) {
	hostType := uint32(0)
	if a.Face > 5 {
		hostType = 1
	}
	switch {
	case typ == a.arrayMemoryType():
		if array == 0 {
			return side{}, ErrInvalidValue
		}
		return a.arraySide(array, x, y, z, width, rows, slices)
	case typ == hostType:
		device = host
	case device == 0: // unified
		device = host
	}
	if pitch == 0 {
		pitch = x + width
	}
	if pitch < x+width {
		return side{}, ErrInvalidPitchValue
	}
	return linearSide(device, pitch, height, x, y, z, width, rows)
}

// DrvMemcpy3D is HIP_MEMCPY3D as later faces have it: sizes are 64 bits wide.
type DrvMemcpy3D struct {
	SrcX, SrcY, SrcZ, SrcLOD uint64
	SrcType                  uint32
	SrcHost, SrcDevice       uintptr
	SrcArray                 uintptr
	SrcPitch, SrcHeight      uint64
	DstX, DstY, DstZ, DstLOD uint64
	DstType                  uint32
	DstHost, DstDevice       uintptr
	DstArray                 uintptr
	DstPitch, DstHeight      uint64
	Width, Height, Depth     uint64
}

// drvMemcpy3D5 is HIP_MEMCPY3D up to HIP 5.
type drvMemcpy3D5 struct {
	SrcX, SrcY, SrcZ, SrcLOD uint32
	SrcType                  uint32
	SrcHost, SrcDevice       uintptr
	SrcArray                 uintptr
	SrcPitch, SrcHeight      uint32
	DstX, DstY, DstZ, DstLOD uint32
	DstType                  uint32
	DstHost, DstDevice       uintptr
	DstArray                 uintptr
	DstPitch, DstHeight      uint32
	Width, Height, Depth     uint32
}

// DrvMemcpy3DSize is the size of HIP_MEMCPY3D for a SONAME version, in bytes.
func DrvMemcpy3DSize(face int) uint32 {
	if face > 5 {
		return uint32(unsafe.Sizeof(DrvMemcpy3D{}))
	}
	return uint32(unsafe.Sizeof(drvMemcpy3D5{}))
}

// readDrvMemcpy3D reads a HIP_MEMCPY3D of the face's layout.
func (a *API) readDrvMemcpy3D(at uintptr) (p DrvMemcpy3D, _ Error) {
	if at == 0 {
		return p, ErrInvalidValue
	}
	if a.Face > 5 {
		p = *(*DrvMemcpy3D)(pointer(at))
	} else {
		o := (*drvMemcpy3D5)(pointer(at))
		p = DrvMemcpy3D{uint64(o.SrcX), uint64(o.SrcY), uint64(o.SrcZ), uint64(o.SrcLOD), o.SrcType, o.SrcHost, o.SrcDevice, o.SrcArray,
			uint64(o.SrcPitch), uint64(o.SrcHeight), uint64(o.DstX), uint64(o.DstY), uint64(o.DstZ), uint64(o.DstLOD), o.DstType, o.DstHost,
			o.DstDevice, o.DstArray, uint64(o.DstPitch), uint64(o.DstHeight), uint64(o.Width), uint64(o.Height), uint64(o.Depth)}
	}
	if p.SrcLOD != 0 || p.DstLOD != 0 {
		return p, ErrInvalidValue
	}
	return p, Success
}

// writeDrvMemcpy3D is the reverse of readDrvMemcpy3D.
func (a *API) writeDrvMemcpy3D(at uintptr, p *DrvMemcpy3D) {
	if a.Face > 5 {
		*(*DrvMemcpy3D)(pointer(at)) = *p
		return
	}
	*(*drvMemcpy3D5)(pointer(at)) = drvMemcpy3D5{uint32(p.SrcX), uint32(p.SrcY), uint32(p.SrcZ), uint32(p.SrcLOD), p.SrcType, p.SrcHost, p.SrcDevice, p.SrcArray,
		uint32(p.SrcPitch), uint32(p.SrcHeight), uint32(p.DstX), uint32(p.DstY), uint32(p.DstZ), uint32(p.DstLOD), p.DstType, p.DstHost,
		p.DstDevice, p.DstArray, uint32(p.DstPitch), uint32(p.DstHeight), uint32(p.Width), uint32(p.Height), uint32(p.Depth)}
}

// drvSides are the two sides of a driver copy.
func (a *API) drvSides(p *DrvMemcpy3D) (d, s side, e Error) {
	s, e = a.driverSide(p.SrcType, p.SrcHost, p.SrcDevice, p.SrcArray, p.SrcPitch, p.SrcHeight, p.SrcX, p.SrcY, p.SrcZ, p.Width, p.Height, p.Depth)
	if e != Success {
		return d, s, e
	}
	d, e = a.driverSide(p.DstType, p.DstHost, p.DstDevice, p.DstArray, p.DstPitch, p.DstHeight, p.DstX, p.DstY, p.DstZ, p.Width, p.Height, p.Depth)
	return d, s, e
}

// DrvMemcpy3DAt copies what the HIP_MEMCPY3D at p says.
func (a *API) DrvMemcpy3DAt(t *Thread, at uintptr, stream uintptr, async bool) Error {
	p, e := a.readDrvMemcpy3D(at)
	if e != Success {
		return e
	}
	if p.Width == 0 || p.Height == 0 || p.Depth == 0 {
		return Success
	}
	d, s, e := a.drvSides(&p)
	if e != Success {
		return e
	}
	return a.memcpyBox(t, d, s, p.Width, p.Height, p.Depth, Default, stream, async)
}

// memcpyParam2DArrays is MemcpyParam2D with an array on either side.
func (a *API) memcpyParam2DArrays(t *Thread, p *Memcpy2DParms, stream uintptr, async bool) Error {
	if p.WidthBytes == 0 || p.Height == 0 {
		return Success
	}
	s, e := a.driverSide(p.SrcType, p.SrcHost, p.SrcDevice, p.SrcArray, p.SrcPitch, 0, p.SrcX, p.SrcY, 0, p.WidthBytes, p.Height, 1)
	if e != Success {
		return e
	}
	d, e := a.driverSide(p.DstType, p.DstHost, p.DstDevice, p.DstArray, p.DstPitch, 0, p.DstX, p.DstY, 0, p.WidthBytes, p.Height, 1)
	if e != Success {
		return e
	}
	return a.memcpyBox(t, d, s, p.WidthBytes, p.Height, 1, Default, stream, async)
}
