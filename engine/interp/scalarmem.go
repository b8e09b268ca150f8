package interp

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/mem"
)

// Scalar memory. Addresses are dword-aligned by dropping their low bits.

func (m *machine) scalarAddr(in *inst) uint64 {
	va := m.arg(in.a[0], in.w[0]) + uint64(int64(int32(in.imm)))
	if in.b[0] != noRef {
		va += uint64(m.s32(in.b[0]))
	}
	return va &^ 3
}

func runSLoad(m *machine, in *inst) bool {
	va := m.scalarAddr(in)
	words := int(in.v.Width) / 4
	sub := in.v.Width < 4
	if sub { // s_load_u8 and the like of gfx12 address bytes
		va = m.arg(in.a[0], in.w[0]) + uint64(int64(int32(in.imm)))
		if in.b[0] != noRef {
			va += uint64(m.s32(in.b[0]))
		}
		words = 1
	}
	var buf [64]uint32
	words = min(words, len(buf))
	for i := 0; i < words; {
		p, left, f := m.tlb.Lookup(va+uint64(i*4), mem.Read)
		if f != nil {
			return m.stop(f, -1)
		}
		if sub {
			if in.v.Width == 2 {
				buf[0] = uint32(*(*byte)(p))
				if left > 1 {
					buf[0] = uint32(*(*uint16)(p))
				}
				if in.v.Sign {
					buf[0] = uint32(int32(int16(buf[0])))
				}
			} else {
				buf[0] = uint32(*(*byte)(p))
				if in.v.Sign {
					buf[0] = uint32(int32(int8(buf[0])))
				}
			}
			break
		}
		for ; left >= 4 && i < words; left -= 4 {
			buf[i] = *(*uint32)(p)
			p = unsafe.Add(p, 4)
			i++
		}
	}
	m.setWords(in, buf[:words])
	return true
}

// setWords writes uniform results.
func (m *machine) setWords(in *inst, w []uint32) {
	for i, r := range in.x.regs {
		if i >= len(w) {
			break
		}
		if in.res == arg32 {
			m.set64(r, uint64(w[i]))
		} else {
			*(*uint32)(m.p(r)) = w[i]
		}
	}
}

func runSStore(m *machine, in *inst) bool {
	va := m.scalarAddr(in)
	words := min(int(in.v.Width)/4, len(in.x.a))
	for i := range words { // all pages first
		if _, _, f := m.tlb.Lookup(va+uint64(i*4), mem.Write); f != nil {
			return m.stop(f, -1)
		}
	}
	for i := range words {
		p, _, f := m.tlb.Lookup(va+uint64(i*4), mem.Write)
		if f != nil {
			return m.stop(f, -1)
		}
		*(*uint32)(p) = m.s32(in.x.a[i])
	}
	return true
}
