package interp

import (
	"math/bits"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// Where a lane's access goes, in machine.kind.
const (
	toHost  uint8 = iota // machine.host is the address of all of it
	toSplit              // it crosses a page: piece by piece through the TLB
	toLDS                // machine.va is the byte offset
	toNone               // out of range: reads 0, writes nothing
)

const pageMask = mem.PageSize - 1

// hostPtr turns an address outside the Go heap into a pointer.
func hostPtr(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// base returns the uniform part of an address: base plus immediate.
func (m *machine) baseAddr(in *inst) uint64 {
	return m.arg(in.a[0], in.w[0]) + uint64(int64(int32(in.imm)))
}

// addresses fills m.va for the active lanes.
func (m *machine) addresses(in *inst) {
	base := m.baseAddr(in)
	switch {
	case in.w[1] == argNone:
		for l := range m.n {
			m.va[l&63] = base
		}
	case in.w[1] == argV64:
		lo, hi := m.lanes(in.b[0])[:m.n], m.lanes(in.b[1])[:m.n]
		for l := range lo {
			m.va[l&63] = base + (uint64(lo[l]) | uint64(hi[l])<<32)
		}
	case in.imm&ir.OffSigned != 0:
		lo := m.lanes(in.b[0])[:m.n]
		for l := range lo {
			m.va[l&63] = base + uint64(int64(int32(lo[l])))
		}
	default:
		lo := m.lanes(in.b[0])[:m.n]
		for l := range lo {
			m.va[l&63] = base + uint64(lo[l])
		}
	}
	switch in.v.Space {
	case ir.LDS, ir.GDS, ir.Scratch:
		for l := range m.n {
			m.va[l&63] &= 0xffffffff
		}
	}
}

// translate finds where the accesses of lanes k, at m.va, go: m.kind and m.host. It faults before anything is changed.
// whole asks for each access to be in one piece (atomics).
func (m *machine) translate(in *inst, k uint64, width uint64, acc mem.Access, whole bool) bool {
	space := in.v.Space
	m.allHost = true
	if space == ir.LDS {
		m.translateLDS(k, width, whole)
		return true
	}
	if space == ir.GDS {
		return m.translateGDS(k, width, acc, whole)
	}
	lastPage, delta := ^uint64(0), uint64(0)
	for kk := k; kk != 0; kk &= kk - 1 {
		l := bits.TrailingZeros64(kk) & 63
		va := m.va[l]
		if space == ir.Flat {
			switch hi := va &^ 0xffffffff; {
			case hi == m.shared && hi != 0:
				m.va[l] = va & 0xffffffff
				m.kind[l] = toLDS
				m.allHost = false
				if m.va[l]+width > uint64(len(m.lds)) {
					m.kind[l] = m.partLDS(m.va[l], width)
				}
				continue
			case hi == m.private && hi != 0:
				if !m.scratchLane(l, va&0xffffffff, width, acc, whole) {
					return false
				}
				continue
			}
		} else if space == ir.Scratch {
			if !m.scratchLane(l, va, width, acc, whole) {
				return false
			}
			continue
		}
		if whole && va&(width-1) != 0 {
			return m.stop(&mem.Fault{VA: va, Access: acc, Kind: mem.FaultUnaligned}, l)
		}
		if page := va >> mem.PageShift; page != lastPage {
			host, _, f := m.tlb.Lookup(va, acc)
			if f != nil {
				return m.stop(f, l)
			}
			lastPage, delta = page, uint64(uintptr(host))-va
		}
		if va&pageMask+width > mem.PageSize {
			if _, _, f := m.tlb.Lookup(va+width-1, acc); f != nil {
				return m.stop(f, l)
			}
			m.kind[l] = toSplit
			m.allHost = false
			continue
		}
		m.kind[l] = toHost
		m.host[l] = uintptr(va + delta)
	}
	return true
}

// translateGDS is for the global data share, which all work-groups of an address space see.
func (m *machine) translateGDS(k, width uint64, acc mem.Access, whole bool) bool {
	gds := m.w.Space.GDS
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		va := m.va[l]
		switch {
		case va+width > uint64(len(gds)):
			m.kind[l] = toNone
			m.allHost = false
		case whole && va&(width-1) != 0:
			return m.stop(&mem.Fault{VA: va, Access: acc, Kind: mem.FaultUnaligned}, l)
		default:
			m.kind[l], m.host[l] = toHost, uintptr(unsafe.Pointer(&gds[va]))
		}
	}
	return true
}

func (m *machine) translateLDS(k, width uint64, whole bool) {
	size := uint64(len(m.lds))
	in := toHost
	if whole {
		in = toLDS // atomics need not lock
	}
	base := m.ldsBase
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		va := m.va[l]
		m.kind[l], m.host[l] = in, base+uintptr(va)
		if va+width > size {
			m.kind[l] = m.partLDS(va, width)
			m.allHost = false
		}
	}
}

// partLDS says how an access that is not all in range goes: dword by dword when its start is.
func (m *machine) partLDS(va, width uint64) uint8 {
	if width > 4 && va+4 <= uint64(len(m.lds)) {
		return toLDS
	}
	return toNone
}

// scratchAddr is where byte off of a lane's private memory lives: dwords of the lanes are interleaved.
func (m *machine) scratchAddr(l int, off uint64) uint64 {
	base := uint64(m.w.S[isa.SRegFlatScratchLo]) | uint64(m.w.S[isa.SRegFlatScratchHi])<<32
	return base + (off&^3)*uint64(m.n) + uint64(l)*4 + off&3
}

// scratchLane translates an access to private memory. One that is not inside a dword is split.
func (m *machine) scratchLane(l int, off, width uint64, acc mem.Access, whole bool) bool {
	if off&3+width <= 4 {
		va := m.scratchAddr(l, off)
		host, _, f := m.tlb.Lookup(va, acc)
		if f != nil {
			return m.stop(f, l)
		}
		m.va[l], m.kind[l], m.host[l] = va, toHost, uintptr(host)
		return true
	}
	if whole {
		return m.stop(&mem.Fault{VA: m.scratchAddr(l, off), Access: acc, Kind: mem.FaultUnaligned}, l)
	}
	for o := off; o < off+width; o = o&^3 + 4 {
		if _, _, f := m.tlb.Lookup(m.scratchAddr(l, o), acc); f != nil {
			return m.stop(f, l)
		}
	}
	m.va[l], m.kind[l] = off|scratchMark, toSplit
	m.allHost = false
	return true
}

// scratchMark tells an offset in private memory from an address, in m.va of a split access. No canonical address has it.
const scratchMark = 1 << 60

// split moves a split access between memory and buf, a byte at a time across its seams.
func (m *machine) split(l int, buf []byte, write bool) {
	va := m.va[l]
	acc := mem.Read
	if write {
		acc = mem.Write
	}
	for i := range buf {
		a := va + uint64(i)
		if va&scratchMark != 0 {
			a = m.scratchAddr(l, va&^scratchMark+uint64(i))
		}
		p, _, f := m.tlb.Lookup(a, acc)
		if f != nil {
			return // a page went away after translate: the access is lost, as on a chip whose TLB was flushed
		}
		if write {
			*(*byte)(p) = buf[i]
		} else {
			buf[i] = *(*byte)(p)
		}
	}
}

// contiguous reports whether all lanes' accesses are next to each other in one address range, and returns its start.
// Offsets are tested rather than addresses: it is the common form and half the work.
func (m *machine) contiguous(in *inst, width uint32) (uint64, bool) {
	if in.w[1] == argNone {
		return 0, false
	}
	lo := m.lanes(in.b[0])[:m.n]
	first := lo[0]
	if lo[1]-first != width || lo[len(lo)-1]-first != width*uint32(len(lo)-1) || first+width*uint32(len(lo)) < first {
		return 0, false
	}
	var diff uint32
	if haveAVX {
		if !avxStride(m.lanes(in.b[0]), width, m.n) {
			return 0, false
		}
	} else {
		want := first
		for _, x := range lo {
			diff |= x ^ want
			want += width
		}
		if diff != 0 {
			return 0, false
		}
	}
	base := m.baseAddr(in)
	switch {
	case in.w[1] == argV64:
		hi := m.lanes(in.b[1])[:m.n]
		h := hi[0]
		for _, x := range hi {
			diff |= x ^ h
		}
		if diff != 0 {
			return 0, false
		}
		return base + (uint64(first) | uint64(h)<<32), true
	case in.imm&ir.OffSigned != 0:
		if int32(first^(first+width*uint32(len(lo)-1))) < 0 { // the sign changes on the way, up or down
			return 0, false
		}
		return base + uint64(int64(int32(first))), true
	}
	return base + uint64(first), true
}

// window returns host memory for n bytes from va when it lies in one or two pages: the first part and, if need be, the
// second.
func (m *machine) window(in *inst, va uint64, n int, acc mem.Access) (a, b []byte, ok bool) {
	switch in.v.Space {
	case ir.LDS:
		va &= 0xffffffff
		if va+uint64(n) > uint64(len(m.lds)) {
			return nil, nil, false
		}
		return m.lds[va : va+uint64(n)], nil, true
	case ir.Flat:
		if hi := va &^ 0xffffffff; hi == m.shared || hi == m.private {
			return nil, nil, false
		}
	case ir.Global:
	default:
		return nil, nil, false
	}
	p, left, f := m.tlb.Lookup(va, acc)
	if f != nil {
		return nil, nil, false // the slow way finds the lane
	}
	if n <= left {
		return unsafe.Slice((*byte)(p), n), nil, true
	}
	q, left2, f := m.tlb.Lookup(va+uint64(left), acc)
	if f != nil || n-left > left2 {
		return nil, nil, false
	}
	return unsafe.Slice((*byte)(p), left), unsafe.Slice((*byte)(q), n-left), true
}

func runLoad(m *machine, in *inst) bool {
	k := m.mask(in.c[0])
	v := in.v
	if k == m.full && v.Width >= 4 && (in.mask == noRef || in.mask == in.c[0]) {
		if va, ok := m.contiguous(in, uint32(v.Width)); ok {
			if a, b, ok := m.window(in, va, int(v.Width)*m.n, mem.Read); ok {
				m.loadRun(in, a, b)
				return true
			}
		}
	}
	m.addresses(in)
	if !m.translate(in, k, uint64(v.Width), mem.Read, false) {
		return false
	}
	// The lanes written are those of the load's mask when every result register is written under it, else results are made
	// aside: inactive lanes read 0.
	direct := in.mask != noRef && in.mask == in.c[0]
	regs := in.x.regs
	if m.allHost && k == m.full && (direct || in.mask == noRef) && v.Width >= 4 {
		m.gather(regs, int(v.Width)/4)
		return true
	}
	if v.Width >= 8 && v.Width <= 16 {
		m.loadQuads(k, int(v.Width)/8)
	}
	set := m.mask(in.mask)
	for i, r := range regs {
		d := m.lanes(r)
		aside := false
		if !direct || !in.x.fused[i] {
			if aside = in.x.fused[i]; aside {
				d = m.temp(i & (tempRegs - 1))
			}
			if k != m.full {
				clear(d[:m.n])
			}
		}
		if i*4 < int(v.Width) {
			m.loadReg(in, k, i, d)
		} else {
			clear(d[:m.n])
		}
		if aside {
			blend(m.lanes(r), d, set, m.n)
		}
	}
	return true
}

// loadQuads reads n times eight bytes of each lane of k that has them in host memory, into m.quad. A lane's aligned quadword is one access, though its
// registers are written one after the other: programs hand a flag and a value to each other in one.
func (m *machine) loadQuads(k uint64, n int) {
	for ; k != 0; k &= k - 1 {
		if l := bits.TrailingZeros64(k) & 63; m.kind[l] == toHost {
			for i := range n {
				m.quad[i&1][l] = *(*uint64)(hostPtr(uint64(m.host[l]) + 8*uint64(i)))
			}
		}
	}
}

// gather loads all lanes from host memory.
func (m *machine) gather(regs []ref, words int) {
	host := m.host[:m.n]
	switch words {
	case 1:
		d := m.lanes(regs[0])[:m.n]
		for l, h := range host {
			d[l] = *(*uint32)(hostPtr(uint64(h)))
		}
	case 2:
		d0, d1 := m.lanes(regs[0])[:m.n], m.lanes(regs[1])[:m.n]
		for l, h := range host {
			x := *(*uint64)(hostPtr(uint64(h)))
			d0[l], d1[l] = uint32(x), uint32(x>>32)
		}
	case 4:
		d0, d1, d2, d3 := m.lanes(regs[0])[:m.n], m.lanes(regs[1])[:m.n], m.lanes(regs[2])[:m.n], m.lanes(regs[3])[:m.n]
		for l, h := range host {
			p := (*[2]uint64)(hostPtr(uint64(h)))
			x, y := p[0], p[1]
			d0[l], d1[l], d2[l], d3[l] = uint32(x), uint32(x>>32), uint32(y), uint32(y>>32)
		}
	default:
		i := 0
		for ; i+1 < words; i += 2 {
			d0, d1 := m.lanes(regs[i])[:m.n], m.lanes(regs[i+1])[:m.n]
			for l, h := range host {
				x := *(*uint64)(hostPtr(uint64(h) + uint64(i*4)))
				d0[l], d1[l] = uint32(x), uint32(x>>32)
			}
		}
		if i < words {
			d := m.lanes(regs[i])[:m.n]
			for l, h := range host {
				d[l] = *(*uint32)(hostPtr(uint64(h) + uint64(i*4)))
			}
		}
	}
}

// loadReg loads register i of the result for lanes k.
func (m *machine) loadReg(in *inst, k uint64, i int, d *lanes) {
	v := in.v
	off := uintptr(i * 4)
	size := min(int(v.Width)-i*4, 4)
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		var x uint32
		switch m.kind[l] {
		case toHost:
			if v.Width <= 16 && i|1 < int(v.Width)/4 {
				d[l] = uint32(m.quad[i>>1&1][l] >> (32 * (i & 1)))
				continue
			}
			p := hostPtr(uint64(m.host[l] + off))
			switch size {
			case 4:
				d[l] = *(*uint32)(p)
				continue
			case 2:
				x = uint32(*(*uint16)(p))
			default:
				x = uint32(*(*byte)(p))
			}
		case toLDS:
			at := m.va[l] + uint64(off)
			if at+uint64(size) <= uint64(len(m.lds)) {
				switch p := unsafe.Pointer(&m.lds[at]); size {
				case 4:
					d[l] = *(*uint32)(p)
					continue
				case 2:
					x = uint32(*(*uint16)(p))
				default:
					x = uint32(*(*byte)(p))
				}
			}
		case toSplit:
			var buf [64]byte
			m.split(l, buf[:v.Width], false)
			x = uint32(buf[off]) | uint32(buf[off+1])<<8
			if size == 4 {
				x |= uint32(buf[off+2])<<16 | uint32(buf[off+3])<<24
			}
		}
		if v.Sign {
			if size == 2 {
				x = uint32(int32(int16(x)))
			} else if size == 1 {
				x = uint32(int32(int8(x)))
			}
		}
		d[l] = x
	}
}

// loadRun takes the registers of all lanes from one run of memory.
func (m *machine) loadRun(in *inst, a, b []byte) {
	regs := in.x.regs
	stride := int(in.v.Width) / 4
	if stride == 1 {
		d := unsafe.Slice((*byte)(m.p(regs[0])), m.n*4)
		copy(d, a)
		copy(d[len(a):], b)
		return
	}
	src := a
	if len(b) > 0 {
		if stride > 16 {
			stride = 16
		}
		buf := unsafe.Slice((*byte)(m.temps(0)), m.n*stride*4)
		copy(buf, a)
		copy(buf[len(a):], b)
		src = buf
	}
	s := unsafe.Slice((*uint32)(unsafe.Pointer(&src[0])), m.n*stride)
	switch stride {
	case 2:
		d0, d1 := m.lanes(regs[0])[:m.n], m.lanes(regs[1])[:m.n]
		q := unsafe.Slice((*uint64)(unsafe.Pointer(&src[0])), m.n)
		for l := range d0 {
			x := q[l]
			d0[l], d1[l] = uint32(x), uint32(x>>32)
		}
	case 4:
		d0, d1, d2, d3 := m.lanes(regs[0])[:m.n], m.lanes(regs[1])[:m.n], m.lanes(regs[2])[:m.n], m.lanes(regs[3])[:m.n]
		q := unsafe.Slice((*uint64)(unsafe.Pointer(&src[0])), 2*m.n)
		for l := range d0 {
			x, y := q[2*l], q[2*l+1]
			d0[l], d1[l], d2[l], d3[l] = uint32(x), uint32(x>>32), uint32(y), uint32(y>>32)
		}
	default:
		i := 0
		for ; i+1 < stride; i += 2 {
			d0, d1 := m.lanes(regs[i])[:m.n], m.lanes(regs[i+1])[:m.n]
			for l := range d0 {
				x := *(*uint64)(unsafe.Pointer(&s[l*stride+i]))
				d0[l], d1[l] = uint32(x), uint32(x>>32)
			}
		}
		if i < stride {
			d := m.lanes(regs[i])[:m.n]
			for l := range d {
				d[l] = s[l*stride+i]
			}
		}
	}
}
