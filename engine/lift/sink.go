package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

//fidelity: approximate barrier-sinks: a wave that waits at an s_barrier and is looked at may already have done the f32 arithmetic behind it; its PC says so

// A loop over tiles in the LDS often ends with the last step's multiply-adds behind the barrier, whose operands were read before it. Nobody but the
// wave can tell when they are done. So the wave does them first and stops behind them, and neither operands nor partial sums go through the
// state block while other waves run. A barrier sinks so below arithmetic on VGPRs where nothing but control flow follows that.

// sinkLeast is how many arithmetic instructions a barrier must have behind it to sink.
const sinkLeast = 4

// sink is the offset at which a wave that comes to the barrier before next stops.
func (l *lifter) sink(next uint32) uint32 {
	if l.mode&modeVSkip != 0 {
		return next
	}
	var in isa.Inst
	n := 0
	for off := next; ; off += uint32(in.Size) {
		w := l.code.at(l.addr(off))
		if w == nil || isa.Decode(l.t, w, &in) != nil {
			return next
		}
		m := meaningOf(in.Op)
		switch {
		case m == nil:
			return next
		case m.flow != 0:
			to := off + uint32(in.Size) + uint32(int32(int16(in.Raw[0])))*4
			if n < sinkLeast || m.flow&flowBranch != 0 && to-next <= off-next { // or a loop of what is behind the barrier
				return next
			}
			return off
		case l.arithmetic(&in):
			n++
		case !waits[in.Op.Name]:
			return next
		}
	}
}

// waits are the instructions that stand between arithmetic and have no effect.
var waits = map[string]bool{"s_nop": true, "s_waitcnt": true, "s_delay_alu": true}

// arithmetic tells whether in computes f32 from VGPRs, scalars and constants, and does nothing else.
func (l *lifter) arithmetic(in *isa.Inst) bool {
	switch in.Fmt {
	case isa.VOP2, isa.VOP3, isa.VOP3P, isa.VOPD:
	default:
		return false
	}
	if !sinks[in.Op.Name] || in.Y != nil && !sinks[in.Y.Name] {
		return false
	}
	for i := range in.NSrc {
		if in.Src[i].Kind == isa.OperandLDSDirect {
			return false
		}
	}
	return true
}

// sinks are arithmetic.
var sinks = map[string]bool{"v_fma_f32": true, "v_fmac_f32": true, "v_mac_f32": true, "v_mad_f32": true, "v_mul_f32": true, "v_add_f32": true, "v_sub_f32": true,
	"v_pk_fma_f32": true, "v_pk_mul_f32": true, "v_pk_add_f32": true}

// stopSunk ends b with its barrier if off is where it stops the wave, or where another block begins.
func (l *lifter) stopSunk(b *ir.Block, off uint32) bool {
	if _, ok := l.at.blockAt(off); !ok && off != l.sunk {
		return false
	}
	l.stop(b, off)
	return true
}

// stop ends b with the barrier that sinks, at off.
func (l *lifter) stop(b *ir.Block, off uint32) {
	l.pc = l.sunkPC
	l.exit(b, ir.ExitBarrier, 0, off)
}
