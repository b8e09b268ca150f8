package jit

import (
	"math/bits"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/lane"
)

// operands gives Go access to the arguments and results of one helper operation.
type operands struct {
	f     *ir.Func
	h     *helperInfo
	v     *ir.Value
	state unsafe.Pointer
	frame unsafe.Pointer
}

func (o *operands) ptr(p place, off int) unsafe.Pointer {
	base := o.frame
	if p.kind == placeState {
		base = o.state
	}
	return unsafe.Add(base, int(p.off)+off)
}

// read returns lane l of component or value i of argument n, of type t.
func (o *operands) read(n, i, l int) uint64 {
	return o.get(o.h.args[n], o.f.V(o.v.Args[n]).Type, i, l)
}

func (o *operands) get(ps []place, t ir.Type, i, l int) uint64 {
	p := ps[min(i, len(ps)-1)]
	if t == ir.V64 && len(ps) == 2 {
		return o.get(ps[:1], ir.T, 0, l) | o.get(ps[1:], ir.T, 0, l)<<32
	}
	switch p.kind {
	case placeConst:
		if t == ir.M {
			return p.x >> uint(l) & 1
		}
		if t == ir.T || t == ir.TS || t == ir.V32 || t == ir.S32 {
			return uint64(uint32(p.x))
		}
		return p.x
	}
	switch t {
	case ir.V32, ir.T:
		if p.vec {
			return uint64(*(*uint32)(o.ptr(p, l*4)))
		}
		return uint64(*(*uint32)(o.ptr(p, 0)))
	case ir.M:
		return o.mask(p) >> uint(l) & 1
	case ir.S64, ir.V64: // a uniform value may stand for a vector
		return *(*uint64)(o.ptr(p, 0))
	}
	return uint64(*(*uint32)(o.ptr(p, 0)))
}

func (o *operands) mask(p place) uint64 {
	full := ^uint64(0) >> (64 - uint(o.f.Lanes))
	if p.kind == placeConst {
		return p.x & full
	}
	if o.f.Lanes == 32 {
		return uint64(*(*uint32)(o.ptr(p, 0)))
	}
	return *(*uint64)(o.ptr(p, 0))
}

// maskArg returns argument n as a mask.
func (o *operands) maskArg(n int) uint64 { return o.mask(o.h.args[n][0]) }

// write sets lane l of component i of the result.
func (o *operands) write(i, l int, x uint64) {
	switch o.v.Type {
	case ir.V64:
		*(*uint32)(o.ptr(o.h.res[0], l*4)) = uint32(x)
		*(*uint32)(o.ptr(o.h.res[1], l*4)) = uint32(x >> 32)
	case ir.V32, ir.T:
		*(*uint32)(o.ptr(o.h.res[i], l*4)) = uint32(x)
	case ir.S64:
		*(*uint64)(o.ptr(o.h.res[i], 0)) = x
	case ir.M:
		*(*uint64)(o.ptr(o.h.res[i], 0)) = x
	case ir.S1:
		*(*uint32)(o.ptr(o.h.res[i], 0)) = uint32(x) & 1
	default:
		*(*uint32)(o.ptr(o.h.res[i], 0)) = uint32(x)
	}
}

// width is that of the first numeric argument.
func (o *operands) width() int {
	for _, a := range o.v.Args {
		if a != ir.NoID {
			switch o.f.V(a).Type {
			case ir.S32, ir.V32:
				return 32
			case ir.S64, ir.V64:
				return 64
			}
		}
	}
	return 32
}

// pure evaluates an operation without side effects; ok is false when it does not know it.
func (o *operands) pure() (ok bool) {
	v, n := o.v, o.f.Lanes
	full := ^uint64(0) >> (64 - uint(n))
	switch v.Op {
	case ir.OpReadLane:
		o.write(0, 0, o.read(0, 0, int(o.read(1, 0, 0))&(n-1)))
		return true
	case ir.OpReadFirst:
		l := 0
		if m := o.maskArg(1); m != 0 {
			l = bits.TrailingZeros64(m)
		}
		o.write(0, 0, o.read(0, 0, l))
		return true
	case ir.OpWriteLane:
		at, x := int(o.read(2, 0, 0))&(n-1), o.read(1, 0, 0)
		for l := range n {
			y := o.read(0, 0, l)
			if l == at {
				y = x
			}
			o.write(0, l, y)
		}
		return true
	case ir.OpPermConst, ir.OpMPerm:
		t, good := v.Aux.(*[64]int8)
		if !good {
			return false
		}
		var m uint64
		for l := range n {
			x := uint64(0)
			if s := int(t[l]); s >= 0 && s < n {
				x = o.read(0, 0, s)
			}
			if v.Op == ir.OpMPerm {
				m |= x & 1 << uint(l)
			} else {
				o.write(0, l, x)
			}
		}
		if v.Op == ir.OpMPerm {
			o.write(0, 0, m)
		}
		return true
	case ir.OpBPermute:
		m := o.maskArg(2)
		for l := range n {
			s := int(o.read(1, 0, l)) & (n - 1)
			x := uint64(0)
			if m>>uint(s)&1 != 0 {
				x = o.read(0, 0, s)
			}
			o.write(0, l, x)
		}
		return true
	case ir.OpPermute:
		var t [64]uint64
		m := o.maskArg(2)
		for l := range n {
			if m>>uint(l)&1 != 0 {
				t[int(o.read(1, 0, l))&(n-1)] = o.read(0, 0, l)
			}
		}
		for l := range n {
			o.write(0, l, t[l])
		}
		return true
	case ir.OpMbcntLo, ir.OpMbcntHi:
		for l := range n {
			below := uint64(1)<<uint(l) - 1
			if v.Op == ir.OpMbcntHi {
				below >>= 32
			}
			o.write(0, l, uint64(bits.OnesCount32(uint32(o.read(0, 0, l))&uint32(below)))+o.read(1, 0, l))
		}
		return true
	}
	fn := lane.Func(v, o.width())
	if fn == nil {
		return false
	}
	arg := func(i, l int) uint64 {
		if i >= len(v.Args) || v.Args[i] == ir.NoID {
			return 0
		}
		return o.read(i, 0, l)
	}
	switch v.Type {
	case ir.V32, ir.V64:
		for l := range n {
			o.write(0, l, fn(arg(0, l), arg(1, l), arg(2, l), arg(3, l)))
		}
	case ir.M:
		var m uint64
		for l := range n {
			m |= fn(arg(0, l), arg(1, l), arg(2, l), arg(3, l)) & 1 << uint(l)
		}
		o.write(0, 0, m&full)
	case ir.S1, ir.S32, ir.S64:
		o.write(0, 0, fn(arg(0, 0), arg(1, 0), arg(2, 0), arg(3, 0)))
	default:
		return false
	}
	return true
}
