package lift

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Global wave sync operations, in bits 47:32 of ExitGWS's argument. Bits 31:16 are the vector register (AccVGPR k is
// 256+k) whose first active lane holds the operation's count, GWSNoRegister when there is none; bits 15:0 are the
// instruction's offset. The resource is number (M0[21:16] + offset) mod 64 of the wave's VMID.
const (
	GWSInit           uint64 = iota // the counter becomes the count
	GWSBarrier                      // waits for counter more waves; the last one sets the counter to its count
	GWSSemaV                        // counter plus 1
	GWSSemaBR                       // counter plus the count
	GWSSemaP                        // waits until the counter is above 0, and takes 1
	GWSSemaReleaseAll               // lets all waves that wait in a semaphore go
)

// GWSNoRegister says that an operation has no count.
const GWSNoRegister = 0xffff

var gwsOps = map[string]uint64{"init": GWSInit, "barrier": GWSBarrier, "sema_v": GWSSemaV, "sema_br": GWSSemaBR,
	"sema_p": GWSSemaP, "sema_release_all": GWSSemaReleaseAll}

// gwsRule is ds_gws_*: the compute unit does it, because a wave may have to wait for waves of other work-groups.
func gwsRule(c *ictx, args []string) error {
	op, ok := gwsOps[args[0]]
	if !ok {
		return errReserved
	}
	reg := uint64(GWSNoRegister)
	for i := range c.src {
		switch o := &c.src[i]; o.Kind {
		case isa.OperandVGPR:
			reg = uint64(o.Reg)
		case isa.OperandAcc:
			reg = 256 + uint64(o.Reg)
		}
	}
	c.leave(ir.ExitGWS, op<<32|reg<<16|uint64(c.ldsOffset()))
	return nil
}
