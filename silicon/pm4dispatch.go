package silicon

import (
	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/abi/pm4"
)

// launch is DISPATCH_DIRECT: a grid from the registers that SET_SH_REG has written. Its waves get what COMPUTE_USER_DATA holds, and the
// system SGPRs and VGPRs that COMPUTE_PGM_RSRC2 asks for, as with AQL.
func (p *pm4Queue) launch(dim [3]uint32, initiator uint32) (wait bool, err error) {
	q, d := p.q, p.q.dev
	if initiator&pm4.DispatchShaderEnable == 0 {
		return false, nil
	}
	if d.cfg.Engine == nil || d.cus.target == nil {
		return false, refuse(aql.ErrInvalidCode, "PM4 DISPATCH_DIRECT: no engine runs %s code", d.profile.Target)
	}
	reg := func(at int) uint32 { return p.regs[at-pm4.ShRegBase] }
	var grid, wg [3]uint32
	for i := range 3 {
		wg[i] = reg(pm4.ComputeNumThreadX+i) & 0xffff
		if wg[i] == 0 || dim[i] == 0 {
			return false, refuse(aql.ErrInvalidDim, "PM4 DISPATCH_DIRECT: %v, work-group %v: a size is 0", dim, wg)
		}
		if reg(pm4.ComputeStartX+i) != 0 {
			//fidelity: refused pm4-dispatch-start: COMPUTE_START of a dispatch other than 0
			return false, refuse(aql.ErrInvalidDim, "PM4 DISPATCH_DIRECT: COMPUTE_START is not 0")
		}
		grid[i] = dim[i]
		if initiator&pm4.DispatchThreadDimensions == 0 {
			if uint64(dim[i])*uint64(wg[i]) > 1<<32-1 {
				return false, refuse(aql.ErrInvalidDim, "PM4 DISPATCH_DIRECT: %v work-groups of %v are too many", dim, wg)
			}
			grid[i] *= wg[i]
		}
	}
	desc := codeobj.Descriptor{RSRC1: reg(pm4.ComputePgmRsrc1), RSRC2: reg(pm4.ComputePgmRsrc2), RSRC3: reg(pm4.ComputePgmRsrc3)}
	if d.profile.GfxTargetVersion < 100000 {
		desc.RSRC3 = reg(pm4.ComputePgmRsrc3GFX9)
	}
	if d.profile.GfxTargetVersion >= 100000 && initiator&pm4.DispatchWave32 != 0 {
		desc.Properties |= codeobj.EnableWavefrontSize32
	}
	k := &dispatch{q: q, shader: &p.shaderState, packet: &packet{start: d.Clock()}, desc: desc}
	if err := k.size(p.rptr, grid, wg, desc.LDSGranules()*512); err != nil {
		return false, err
	}
	if desc.PrivateSegment() {
		s := scratchState{tmpring: reg(pm4.ComputeTmpringSize),
			location: uint64(reg(pm4.ComputeScratchBaseLo))<<8 | uint64(reg(pm4.ComputeScratchBaseHi))<<40}
		k.perWave = d.scratchWaveBytes(s.tmpring)
		s.bytes = k.perWave * uint64(s.tmpring&0xfff)
		k.scratch, k.private = s, uint32(k.perWave/uint64(k.lanes))
		if k.perWave > 0 && !p.slots.set(d, s, k.perWave, len(q.pending) == 0) {
			return true, nil // it changes under waves that use the old one
		}
		if k.perWave > 0 && p.slots.n < k.waves {
			return false, refuse(aql.ErrScratch, "PM4 DISPATCH_DIRECT: scratch for %d waves, a work-group has %d", p.slots.n, k.waves)
		}
	}
	n := int(desc.UserSGPRCount())
	k.user = append([]uint32(nil), p.regs[pm4.ComputeUserData0-pm4.ShRegBase:][:n]...)
	entry := (uint64(reg(pm4.ComputePgmLo)) | uint64(reg(pm4.ComputePgmHi)&0xff)<<32) << 8
	k.start(p.rptr, entry, grid, wg)
	return false, nil
}
