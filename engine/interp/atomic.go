package interp

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// combine returns what an atomic leaves in memory. For CmpSwap a is the new value and b the one compared with; width is
// 32 or 64 bits.
func combine(v *ir.Value, width uint, old, a, b uint64) uint64 {
	s := func(x uint64) int64 { return int64(x<<(64-width)) >> (64 - width) }
	switch v.Atomic {
	case ir.AtomicSwap:
		return a
	case ir.AtomicCmpSwap:
		if v.Kind.Float() { // compared as numbers: -0 is +0, a NaN is nothing
			if fp.Cmp(v.Kind, v.FP, ir.FEQ, old, b) {
				return a
			}
			return old
		}
		if old == b {
			return a
		}
		return old
	case ir.AtomicWrap:
		if old >= a {
			return old - a
		}
		return old + b
	case ir.AtomicAdd:
		return old + a
	case ir.AtomicSub:
		return old - a
	case ir.AtomicRSub:
		return a - old
	case ir.AtomicSMin:
		if s(a) < s(old) {
			return a
		}
		return old
	case ir.AtomicUMin:
		return min(old, a)
	case ir.AtomicSMax:
		if s(a) > s(old) {
			return a
		}
		return old
	case ir.AtomicUMax:
		return max(old, a)
	case ir.AtomicAnd:
		return old & a
	case ir.AtomicOr:
		return old | a
	case ir.AtomicXor:
		return old ^ a
	case ir.AtomicInc:
		if old >= a {
			return 0
		}
		return old + 1
	case ir.AtomicDec:
		if old == 0 || old > a {
			return a
		}
		return old - 1
	case ir.AtomicFAdd:
		return fp.Add(v.Kind, v.FP&^ir.FPRoundMask, old, a)
	case ir.AtomicFMin:
		return fp.Min(v.Kind, v.FP, old, a)
	case ir.AtomicFMax:
		return fp.Max(v.Kind, v.FP, old, a)
	case ir.AtomicPkFAdd:
		e := v.FP &^ ir.FPRoundMask
		return fp.Add(v.Kind, e, old&0xffff, a&0xffff) | fp.Add(v.Kind, e, old>>16&0xffff, a>>16&0xffff)<<16
	case ir.AtomicMskOr:
		return old&^a | b
	case ir.AtomicCSub:
		if old >= a {
			return old - a
		}
		return old
	case ir.AtomicCondSub:
		if old >= a {
			return old - a
		}
		return old
	case ir.AtomicSubClamp:
		return old - min(old, a)
	}
	return old
}

// atomicHost does v at p, which other threads may change at the same time.
// fidelity: approximate atomics-fine-grained: a floating-point atomic on fine-grained host memory is done; CDNA2 hardware drops it
func atomicHost(v *ir.Value, p unsafe.Pointer, a, b uint64) uint64 {
	if v.Width == 8 {
		q := (*uint64)(p)
		switch v.Atomic {
		case ir.AtomicAdd:
			return atomic.AddUint64(q, a) - a
		case ir.AtomicSub:
			return atomic.AddUint64(q, -a) + a
		case ir.AtomicSwap:
			return atomic.SwapUint64(q, a)
		}
		for {
			old := atomic.LoadUint64(q)
			x := combine(v, 64, old, a, b)
			if atomic.CompareAndSwapUint64(q, old, x) {
				return old
			}
		}
	}
	q := (*uint32)(p)
	switch v.Atomic {
	case ir.AtomicAdd:
		return uint64(atomic.AddUint32(q, uint32(a)) - uint32(a))
	case ir.AtomicSub:
		return uint64(atomic.AddUint32(q, -uint32(a)) + uint32(a))
	case ir.AtomicSwap:
		return uint64(atomic.SwapUint32(q, uint32(a)))
	}
	for {
		old := atomic.LoadUint32(q)
		x := uint32(combine(v, 32, uint64(old), a, b))
		if atomic.CompareAndSwapUint32(q, old, x) {
			return uint64(old)
		}
	}
}

// atomicLDS does v on the work-group's own memory. All its waves run on one thread, so nothing is locked.
func (m *machine) atomicLDS(v *ir.Value, at uint64, a, b uint64) uint64 {
	if at+uint64(v.Width) > uint64(len(m.lds)) {
		return 0
	}
	p := unsafe.Pointer(&m.lds[at])
	if v.Width == 8 {
		old := *(*uint64)(p)
		*(*uint64)(p) = combine(v, 64, old, a, b)
		return old
	}
	old := uint64(*(*uint32)(p))
	*(*uint32)(p) = uint32(combine(v, 32, old, a, b))
	return old
}

func (m *machine) dataLane(r []ref, l int, width uint8) uint64 {
	if len(r) == 0 {
		return 0
	}
	x := uint64(m.lanes(r[0])[l])
	if width == 8 && len(r) > 1 {
		x |= uint64(m.lanes(r[1])[l]) << 32
	}
	return x
}

func runAtomic(m *machine, in *inst) bool {
	v := in.v
	if v.Width != 4 && v.Width != 8 {
		return runIllegal(m, in)
	}
	k := m.mask(in.c[0])
	m.addresses(in)
	if !m.translate(in, k, uint64(v.Width), mem.Read|mem.Write, true) {
		return false
	}
	regs := in.x.regs
	direct := in.mask != noRef && in.mask == in.c[0]
	var d [2]*lanes
	for i, r := range regs {
		if i > 1 {
			break
		}
		d[i] = m.lanes(r)
		if !direct || !in.x.fused[i] {
			if in.x.fused[i] {
				d[i] = m.temp(i)
			}
			if k != m.full {
				// Data may live in the same register only when it is fused, and then it is made aside.
				clear(d[i][:m.n])
			}
		}
	}
	for kk := k; kk != 0; kk &= kk - 1 {
		l := bits.TrailingZeros64(kk) & 63
		a, b := m.dataLane(in.x.a, l, v.Width), m.dataLane(in.x.b, l, v.Width)
		var old uint64
		switch m.kind[l] {
		case toHost:
			old = atomicHost(v, hostPtr(uint64(m.host[l])), a, b)
		case toLDS:
			old = m.atomicLDS(v, m.va[l], a, b)
		}
		if d[0] != nil {
			d[0][l] = uint32(old)
			if d[1] != nil {
				d[1][l] = uint32(old >> 32)
			}
		}
	}
	if !direct {
		set := m.mask(in.mask)
		for i, r := range regs {
			if i < 2 && in.x.fused[i] {
				blend(m.lanes(r), d[i], set, m.n)
			}
		}
	}
	return true
}

func (m *machine) dataWord(r []ref, width uint8) uint64 {
	if len(r) == 0 {
		return 0
	}
	x := uint64(m.s32(r[0]))
	if width == 8 && len(r) > 1 {
		x |= uint64(m.s32(r[1])) << 32
	}
	return x
}

func runSAtomic(m *machine, in *inst) bool {
	v := in.v
	if v.Width != 4 && v.Width != 8 {
		return runIllegal(m, in)
	}
	va := m.scalarAddr(in)
	if va&uint64(v.Width-1) != 0 {
		return m.stop(&mem.Fault{VA: va, Access: mem.Write, Kind: mem.FaultUnaligned}, -1)
	}
	p, _, f := m.tlb.Lookup(va, mem.Read|mem.Write)
	if f != nil {
		return m.stop(f, -1)
	}
	old := atomicHost(v, p, m.dataWord(in.x.a, v.Width), m.dataWord(in.x.b, v.Width))
	if len(in.x.regs) > 0 {
		m.setWords(in, []uint32{uint32(old), uint32(old >> 32)}[:v.Width/4])
	}
	return true
}
