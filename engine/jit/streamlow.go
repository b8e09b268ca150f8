package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
)

// v_mad_u64_u32 adds to a pair of registers, and compilers use it for 32-bit indexes too: then the pair's high register holds anything, and nobody
// looks at the high half of the sum. So a 64-bit value whose high half makes it one of no order waits until somebody wants it.

// pairWithLow makes a 64-bit value of its halves; nil when they are general vectors.
func (s *stream) pairWithLow(id ir.ID, v *ir.Value, lo, hi *sval) *sval {
	if lo.input != 0 && hi.input == lo.input+1 {
		return s.pair(lo, hi)
	}
	waits := hi.kind == kLazy && hi.carry == nil && hi.high == nil && hi.sum == nil && hi.of == nil && hi.signs == nil // a register that is not set
	item := hi == s.items[1] || hi == s.items[2]                                                                       // if they are at all
	if waits || item || hi.kind == kAffine && (lo.kind == kUniform || lo.kind == kAffine) {
		return &sval{kind: kLazy, wide: true, low: lo, lazy: func() *sval {
			s.force(hi)
			if x := s.pair(lo, hi); x != nil {
				return x
			}
			return s.general(id, v)
		}}
	}
	if x := s.pair(lo, hi); x != nil {
		return x
	}
	return s.general(id, v)
}

// addWithLow adds 64-bit values when one of them waits; nil when none does.
func (s *stream) addWithLow(id ir.ID, v *ir.Value, x, y *sval) *sval {
	if x.kind != kLazy || x.low == nil {
		x, y = y, x
	}
	if x.kind != kLazy || x.low == nil || y.kind != kUniform && y.kind != kAffine {
		return nil
	}
	a, b := s.force(x.low), s.loOf(y)
	if a.kind != kUniform && a.kind != kAffine {
		return nil
	}
	z := s.addPlain(id, v, a, b)
	z.sum = &[2]*sval{a, b}
	return &sval{kind: kLazy, wide: true, low: z, lazy: func() *sval { return s.general(id, v) }}
}
