package interp

import (
	"math/bits"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/mem"
)

func runStore(m *machine, in *inst) bool {
	k := m.mask(in.c[0])
	if k == 0 {
		return true
	}
	v := in.v
	data := in.x.a
	if k == m.full && v.Width >= 4 {
		if va, ok := m.contiguous(in, uint32(v.Width)); ok {
			if a, b, ok := m.window(in, va, int(v.Width)*m.n, mem.Write); ok {
				m.storeRun(in, a, b)
				return true
			}
		}
	}
	m.addresses(in)
	if !m.translate(in, k, uint64(v.Width), mem.Write, false) {
		return false
	}
	w := int(v.Width)
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		switch m.kind[l] {
		case toHost:
			p := hostPtr(uint64(m.host[l]))
			switch w {
			case 4:
				*(*uint32)(p) = m.lanes(data[0])[l]
			case 1:
				*(*byte)(p) = byte(m.lanes(data[0])[l])
			case 2:
				*(*uint16)(p) = uint16(m.lanes(data[0])[l])
			default:
				i := 0
				for ; i+1 < w/4; i += 2 {
					*(*uint64)(unsafe.Add(p, i*4)) = uint64(m.lanes(data[i])[l]) | uint64(m.lanes(data[i+1])[l])<<32
				}
				if i < w/4 {
					*(*uint32)(unsafe.Add(p, i*4)) = m.lanes(data[i])[l]
				}
			}
		case toLDS:
			m.storeLDS(l, w, data)
		case toSplit:
			var buf [64]byte
			for i := range w {
				buf[i] = byte(m.lanes(data[i/4])[l] >> (8 * (i & 3)))
			}
			m.split(l, buf[:w], true)
		}
	}
	return true
}

func (m *machine) storeLDS(l, w int, data []ref) {
	at := m.va[l]
	if w < 4 {
		p := unsafe.Pointer(&m.lds[at]) // in range as a whole
		if w == 2 {
			*(*uint16)(p) = uint16(m.lanes(data[0])[l])
		} else {
			*(*byte)(p) = byte(m.lanes(data[0])[l])
		}
		return
	}
	for i := range w / 4 {
		if at+4 <= uint64(len(m.lds)) {
			*(*uint32)(unsafe.Pointer(&m.lds[at])) = m.lanes(data[i])[l]
		}
		at += 4
	}
}

func (m *machine) storeRun(in *inst, a, b []byte) {
	data := in.x.a
	stride := int(in.v.Width) / 4
	if stride == 1 {
		s := unsafe.Slice((*byte)(m.p(data[0])), m.n*4)
		copy(a, s)
		copy(b, s[min(len(a), len(s)):])
		return
	}
	dst := a
	if len(b) > 0 {
		dst = unsafe.Slice((*byte)(m.temps(0)), m.n*stride*4)
	}
	d := unsafe.Slice((*uint32)(unsafe.Pointer(&dst[0])), m.n*stride)
	i := 0
	for ; i+1 < stride; i += 2 {
		s0, s1 := m.lanes(data[i])[:m.n], m.lanes(data[i+1])[:m.n]
		for l := range s0 {
			*(*uint64)(unsafe.Pointer(&d[l*stride+i])) = uint64(s0[l]) | uint64(s1[l])<<32
		}
	}
	if i < stride {
		s := m.lanes(data[i])[:m.n]
		for l := range s {
			d[l*stride+i] = s[l]
		}
	}
	if len(b) > 0 {
		copy(a, dst)
		copy(b, dst[len(a):])
	}
}
