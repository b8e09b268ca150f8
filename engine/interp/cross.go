package interp

import (
	"math/bits"
)

// Operations across lanes. Results that go to a register under a mask, or over an operand, are made aside first.

// out returns where to make a result, and done puts it in its place.
func (m *machine) out(in *inst) (d *lanes, aside bool) {
	if m.mask(in.mask) != m.full {
		return m.temp(0), true
	}
	return m.lanes(in.d[0]), false
}

func (m *machine) done(in *inst, d *lanes, aside bool) bool {
	if aside {
		blend(m.lanes(in.d[0]), d, m.mask(in.mask), m.n)
	}
	return true
}

func runReadLane(m *machine, in *inst) bool {
	m.set64(in.d[0], uint64(m.lanes(in.a[0])[int(m.s32(in.b[0]))&(m.n-1)&63]))
	return true
}

func runReadFirst(m *machine, in *inst) bool {
	l := 0
	if k := m.mask(in.b[0]); k != 0 {
		l = bits.TrailingZeros64(k)
	}
	m.set64(in.d[0], uint64(m.lanes(in.a[0])[l&63]))
	return true
}

func runWriteLane(m *machine, in *inst) bool {
	d, aside := m.out(in)
	copy(d[:m.n], m.lanes(in.a[0])[:m.n])
	d[int(m.s32(in.c[0]))&(m.n-1)&63] = m.s32(in.b[0])
	return m.done(in, d, aside)
}

func runPermConst(m *machine, in *inst) bool {
	t := in.v.Aux.(*[64]int8)
	d, aside := m.out(in)
	a := m.lanes(in.a[0])
	for l := range m.n {
		var x uint32
		if s := t[l&63]; s >= 0 {
			x = a[int(s)&(m.n-1)&63]
		}
		d[l&63] = x
	}
	return m.done(in, d, aside)
}

func runMPerm(m *machine, in *inst) bool {
	t := in.v.Aux.(*[64]int8)
	a := m.s64(in.a[0])
	var r uint64
	for l := range m.n {
		if s := t[l&63]; s >= 0 {
			r |= a >> (uint(s) & uint(m.n-1)) & 1 << uint(l)
		}
	}
	m.set64(in.d[0], r)
	return true
}

func runBPermute(m *machine, in *inst) bool {
	d, aside := m.out(in)
	a, idx, k := m.lanes(in.a[0]), m.lanes(in.b[0]), m.mask(in.c[0])
	for l := range m.n {
		s := int(idx[l&63]) & (m.n - 1) & 63
		var x uint32
		if k>>uint(s)&1 != 0 {
			x = a[s]
		}
		d[l&63] = x
	}
	return m.done(in, d, aside)
}

func runPermute(m *machine, in *inst) bool {
	d, aside := m.out(in)
	a, idx, k := m.lanes(in.a[0]), m.lanes(in.b[0]), m.mask(in.c[0])
	clear(d[:m.n])
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		d[int(idx[l])&(m.n-1)&63] = a[l]
	}
	return m.done(in, d, aside)
}
