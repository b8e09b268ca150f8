package interp

import (
	"github.com/pumice-gpu/pumice/engine/ir"
)

// A buffer descriptor (V#), as far as addresses go. Positions by generation: gfx9 has stride in [61:48] and swizzle
// enable in bit 63; gfx10 the same with OOB_SELECT in dword 3 [29:28] and add_tid in dword 3 bit 23; gfx11 widens swizzle to
// two bits, dword 1 [31:30].
type buffer struct {
	base    uint64
	stride  uint64
	records uint64
	swizzle uint64 // element size in bytes, 0: linear
	index   uint64 // index stride in lanes
	addTID  bool
	oob     uint32
	imm     uint64
}

func (m *machine) buffer(in *inst) buffer {
	var d [4]uint32
	for i := range d {
		d[i] = m.s32(in.x.a[i])
	}
	return newBuffer(&d, in.imm)
}

// newBuffer reads a descriptor; imm holds flags and the byte offset.
func newBuffer(d *[4]uint32, imm uint64) buffer {
	b := buffer{imm: imm, base: uint64(d[0]) | uint64(d[1]&0xffff)<<32, stride: uint64(d[1]) >> 16 & 0x3fff, records: uint64(d[2])}
	b.base = uint64(int64(b.base<<16) >> 16)
	b.addTID = d[3]>>23&1 != 0
	b.index = 8 << (d[3] >> 21 & 3)
	b.oob = d[3] >> 28 & 3
	switch {
	case imm&(ir.BufGFX11|ir.BufGFX12) != 0:
		if s := d[1] >> 30; s != 0 {
			b.swizzle = []uint64{0, 4, 8, 16}[s]
		}
	case imm&ir.BufGFX10 != 0:
		if d[1]>>31 != 0 {
			b.swizzle = 4
		}
	default:
		if d[1]>>31 != 0 {
			b.swizzle = 4 // the field that gave another size ended with gfx8: gfx9 has no ELEMENT_SIZE
		}
		if b.addTID { // the data-format field extends the stride
			b.stride |= uint64(d[3]) >> 15 & 15 << 14
		}
	}
	return b
}

// lane returns index and offset of lane l.
func (m *machine) bufferLane(b *buffer, vi, vo *lanes, l int) (index, off uint64) {
	if b.imm&ir.BufIdxEn != 0 && vi != nil {
		index = uint64(vi[l])
	}
	if b.addTID {
		index += uint64(l)
	}
	off = uint64(uint32(b.imm))
	if b.imm&ir.BufOffEn != 0 && vo != nil {
		off += uint64(vo[l])
	}
	return index, off
}

func (b *buffer) offset(index, off uint64) uint64 {
	if b.swizzle == 0 {
		return index*b.stride + off
	}
	msb, lsb := index/b.index, index%b.index
	omsb, olsb := off/b.swizzle, off%b.swizzle
	return (msb*b.stride+omsb*b.swizzle)*b.index + lsb*b.swizzle + olsb
}

func runBufAddr(m *machine, in *inst) bool {
	b := m.buffer(in)
	base := b.base
	if in.c[0] != noRef {
		base += uint64(m.s32(in.c[0]))
	}
	vi, vo := m.optional(in.a[0]), m.optional(in.b[0])
	d0, d1 := m.lanes(in.d[0]), m.lanes(in.d[1])
	k := m.mask(in.mask)
	for l := range m.n {
		if k>>uint(l)&1 == 0 {
			continue
		}
		index, off := m.bufferLane(&b, vi, vo, l)
		x := base + b.offset(index, off)
		d0[l&63], d1[l&63] = uint32(x), uint32(x>>32)
	}
	return true
}

// runBufOK finds the lanes whose access of Width bytes is in bounds. gfx9: a buffer with a stride that is indexed
// checks the index, any other the byte offset. gfx10 and later choose by OOB_SELECT: 0 index and offset, 1 index, 2 only
// that there are records, 3 raw offset.
func runBufOK(m *machine, in *inst) bool {
	b := m.buffer(in)
	vi, vo := m.optional(in.a[0]), m.optional(in.b[0])
	var so uint64
	if in.c[0] != noRef {
		so = uint64(m.s32(in.c[0]))
	}
	width := uint64(max(in.v.Width, 1))
	var r uint64
	for l := range m.n {
		index, off := m.bufferLane(&b, vi, vo, l)
		r |= b2u(b.within(index, off, so, width)) << uint(l)
	}
	m.set64(in.d[0], r)
	return true
}

// within reports whether an access of width bytes is in bounds.
func (b *buffer) within(index, off, so, width uint64) bool {
	if b.imm&(ir.BufGFX10|ir.BufGFX11|ir.BufGFX12) == 0 {
		if b.stride != 0 && b.imm&ir.BufIdxEn != 0 {
			return index < b.records
		}
		return off+so+width <= b.records
	}
	switch b.oob {
	case 0:
		return index < b.records && off+width <= b.stride
	case 1:
		return index < b.records
	case 2:
		return b.records != 0
	}
	if b.swizzle != 0 && b.stride != 0 {
		return off+width <= b.stride && index < b.records
	}
	return b.offset(index, off)+so+width <= b.records
}
