//go:build linux && amd64

package jit

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/ir"
)

// divide does s on the registers in the frame.
func (s *scaledFMA) divide(frame unsafe.Pointer) {
	save := unsafe.Add(frame, s.save)
	mask := *(*uint16)(unsafe.Add(save, scaledMasks+8*int(s.mask)))
	for l := range 16 {
		h, at := 0, 4*l
		if s.kind == ir.F64 {
			h, at = l/8, 8*(l%8)
		}
		lane := func(z uint8) unsafe.Pointer { return unsafe.Add(save, 64*int(z)+at) }
		var x [3]uint64
		for n := range x {
			if p := lane(s.args[n][h]); s.kind == ir.F64 {
				x[n] = *(*uint64)(p)
			} else {
				x[n] = uint64(*(*uint32)(p))
			}
		}
		y := fp.DivFmas(s.kind, s.fp, x[0], x[1], x[2], mask>>l&1 != 0)
		if p := lane(s.out[h]); s.kind == ir.F64 {
			*(*uint64)(p) = y
		} else {
			*(*uint32)(p) = uint32(y)
		}
	}
}
