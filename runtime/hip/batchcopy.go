package hip

// hipMemcpy3DBatchAsync: many copies of boxes by one call, in order of the stream.

// Operand is hipMemcpy3DOperand: a pointer, the elements of a row, the rows of a layer and a location; or an array and an offset.
type Operand struct {
	Type  uint32
	_     uint32
	Words [4]uint64
}

const (
	operandPointer = 1
	operandArray   = 2
)

// CopyBox is hipMemcpy3DBatchOp.
type CopyBox struct {
	Src, Dst    Operand
	Extent      Extent
	AccessOrder uint32
	Flags       uint32
}

// side takes an operand apart: an array and a position, or pitched memory of elements of size bytes.
func (o *Operand) side(x Extent, size uint64) (array uintptr, at Pos, p PitchedPtr, e Error) {
	switch o.Type {
	case operandArray:
		if arrayOf(uintptr(o.Words[0])) == nil {
			e = ErrInvalidValue
		}
		return uintptr(o.Words[0]), Pos{o.Words[1], o.Words[2], o.Words[3]}, p, e
	case operandPointer:
		row, rows := o.Words[1], o.Words[2]
		if row == 0 { // tight
			row = x.Width
		}
		if rows == 0 {
			rows = x.Height
		}
		if o.Words[0] == 0 || row < x.Width || rows < x.Height || row > 1<<40 {
			return 0, at, p, ErrInvalidValue
		}
		return 0, at, PitchedPtr{Ptr: uintptr(o.Words[0]), Pitch: row * size, XSize: row * size, YSize: rows}, Success
	}
	return 0, at, p, ErrInvalidValue
}

// Memcpy3DBatch copies boxes. The result with an error is the number of the copy that could not be made.
func (a *API) Memcpy3DBatch(t *Thread, boxes []CopyBox, flags uint64, s uintptr) (failed uint64, e Error) {
	const orderStream, orderAny = 1, 3
	if len(boxes) == 0 || flags != 0 {
		return ^uint64(0), ErrInvalidValue
	}
	for i := range boxes {
		b := &boxes[i]
		if b.AccessOrder < orderStream || b.AccessOrder > orderAny || b.Flags != 0 {
			return uint64(i), ErrInvalidValue
		}
		// Extents count elements where an array takes part, else bytes.
		size := uint64(1)
		for _, o := range []*Operand{&b.Src, &b.Dst} {
			if x := arrayOf(uintptr(o.Words[0])); o.Type == operandArray && x != nil {
				size = x.c.size()
			}
		}
		p := Memcpy3DParms{Extent: b.Extent, Kind: Default}
		var e1, e2 Error
		p.SrcArray, p.SrcPos, p.SrcPtr, e1 = b.Src.side(b.Extent, size)
		p.DstArray, p.DstPos, p.DstPtr, e2 = b.Dst.side(b.Extent, size)
		if e1 != Success || e2 != Success {
			return uint64(i), ErrInvalidValue
		}
		if e := a.Memcpy3D(t, &p, s, true); e != Success {
			return uint64(i), e
		}
	}
	return ^uint64(0), Success
}
