package silicon

import (
	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// MaxWorkgroup is the largest number of work-items of a work-group.
const MaxWorkgroup = 1024

// dispatch is one kernel launch that was taken from a queue. What the work-groups need is worked out once and does not change;
// the rest belongs to the scheduler (cus).
type dispatch struct {
	DispatchInfo
	q      *queue
	aql    *aqlQueue // nil: launched by PM4
	shader *shaderState
	packet *packet
	vm     *vm
	state  *vmState
	target *isa.Target

	desc       codeobj.Descriptor
	lanes      int
	nvgpr      int // architectural
	nacc       int
	waves      int // of a full work-group
	lds        int // bytes allocated
	stateSize  int // of one wave, 64-byte aligned
	block      int // bytes of a work-group's memory
	slot       uint64
	record     uint64
	user       []uint32 // user SGPRs, the same for all waves
	proto      [isa.NumSRegs]uint32
	ids        *itemIDs // of a full work-group
	batch      batchPlan
	mode       uint32
	status     uint32
	private    uint32
	scratch    scratchState
	perWave    uint64 // bytes of scratch
	groups     [3]uint32
	total      uint64
	cost       cuCost
	completion aql.SignalHandle

	sched dispatchSched
	kept  []*group // of the dispatch that the object was before, all with blocks of keptBlock bytes
	keptN int      // bytes of their blocks
}

// Queues run the same few kernels again and again, and a dispatch is some kilobytes that the garbage collector would look at: a queue keeps
// the objects of the last dispatches, with their work-groups, for the next ones.

// maxKept is how many dispatches a queue keeps.
const maxKept = 4

// newDispatch returns a zero dispatch; q.mu is held.
func (q *queue) newDispatch() *dispatch {
	n := len(q.free) - 1
	if n < 0 {
		return new(dispatch)
	}
	k := q.free[n]
	q.free = q.free[:n]
	*k = dispatch{user: k.user[:0], kept: k.kept, keptN: k.keptN}
	return k
}

// keep takes back a dispatch that nobody knows any more; q.mu is held.
func (q *queue) keep(k *dispatch) {
	// Hooks may go on looking at what they were told.
	if h := &q.dev.cfg.Hooks; len(q.free) < maxKept && !q.dead && h.DispatchBegin == nil && h.DispatchEnd == nil {
		q.free = append(q.free, k)
		return
	}
	k.dropKept(q.dev)
}

// reuse makes the work-groups of the dispatch before k's, when they are as large as k's own.
func (k *dispatch) reuse() {
	if len(k.kept) == 0 {
		return
	}
	if k.keptN != k.block || len(k.kept[0].waves) != k.waves {
		k.dropKept(k.q.dev)
		return
	}
	for _, g := range k.kept {
		g.renew(k)
	}
	k.sched.spare, k.kept = k.kept, nil
}

func (k *dispatch) dropKept(d *Device) {
	for _, g := range k.kept {
		d.pool.put(g.block, k.keptN)
	}
	k.kept = nil
}

// dispatch takes a KERNEL_DISPATCH packet. taken is false while it waits for scratch.
func (a *aqlQueue) dispatch(p *aql.DispatchPacket, slot uint64, x *packet) (taken bool, err error) {
	k := a.q.newDispatch()
	if taken, err = a.prepare(k, p, slot, x); !taken {
		a.q.keep(k)
	}
	return
}

func (a *aqlQueue) prepare(k *dispatch, p *aql.DispatchPacket, slot uint64, x *packet) (taken bool, err error) {
	q, d := a.q, a.q.dev
	dims := p.Dimensions()
	if dims == 0 {
		return false, refuse(aql.ErrInvalidDim, "dispatch %d: 0 dimensions", a.next)
	}
	grid := [3]uint32{p.GridSizeX, p.GridSizeY, p.GridSizeZ}
	wg := [3]uint32{uint32(p.WorkgroupSizeX), uint32(p.WorkgroupSizeY), uint32(p.WorkgroupSizeZ)}
	for i := range 3 {
		if i >= dims {
			grid[i], wg[i] = 1, 1
		}
		if grid[i] == 0 || wg[i] == 0 {
			return false, refuse(aql.ErrInvalidDim, "dispatch %d: grid %v, work-group %v: a size is 0", a.next, grid, wg)
		}
	}
	if p.KernelObject == 0 || p.KernelObject&63 != 0 {
		return false, refuse(aql.ErrInvalidCode, "dispatch %d: kernel object %#x", a.next, p.KernelObject)
	}
	if d.cfg.Engine == nil || d.cus.target == nil {
		return false, refuse(aql.ErrInvalidCode, "dispatch %d: no engine runs %s code", a.next, d.profile.Target)
	}
	b := &a.descriptor
	if err := q.vm.read(p.KernelObject, b[:]); err != nil {
		if retryable(err) {
			return false, err
		}
		return false, refuse(aql.ErrInvalidCode, "dispatch %d: kernel object: %v", a.next, err)
	}
	desc, err := codeobj.ParseDescriptor(b[:])
	if err != nil {
		return false, refuse(aql.ErrInvalidCode, "dispatch %d: %v", a.next, err)
	}
	k.q, k.aql, k.shader, k.packet, k.desc, k.slot, k.record = q, a, &a.shaderState, x, desc, slot, a.record
	k.private, k.completion = p.PrivateSegmentSize, p.CompletionSignal
	if err := k.size(a.next, grid, wg, p.GroupSegmentSize); err != nil {
		return false, err
	}
	if k.private > 0 {
		bytes := (uint64(k.private)*uint64(k.lanes) + 1023) &^ 1023
		if d.profile.GfxTargetVersion >= 110000 {
			bytes = (uint64(k.private)*uint64(k.lanes) + 255) &^ 255
		}
		s, ready, err := a.needScratch(bytes, k.lanes)
		if err != nil || !ready {
			return false, err
		}
		k.scratch, k.perWave = s, d.scratchWaveBytes(s.tmpring)
		if !a.slots.set(d, s, k.perWave, len(a.flight) == 0) {
			return false, nil // scratch moved while waves use the old one
		}
		if a.slots.n < k.waves {
			return false, refuse(aql.ErrScratch, "dispatch %d: scratch for %d waves, a work-group has %d", a.next, a.slots.n, k.waves)
		}
	}
	entry := p.KernelObject + uint64(desc.EntryOffset)
	if err := k.userSGPRs(p, a.next); err != nil {
		return false, err
	}
	if desc.KernargPreloadLength() > 0 {
		entry += 256
	}
	k.KernelObject, k.Kernarg = p.KernelObject, p.KernargAddress
	k.start(a.next, entry, grid, wg)
	return true, nil
}

// size works out what a work-group needs, from k.desc and k.private.
func (k *dispatch) size(index uint64, grid, wg [3]uint32, lds uint32) error {
	q, d := k.q, k.q.dev
	items := uint64(wg[0]) * uint64(wg[1]) * uint64(wg[2])
	if items > MaxWorkgroup {
		return refuse(aql.ErrGroupTooLarge, "dispatch %d: work-group %v has %d work-items, more than %d", index, wg, items, MaxWorkgroup)
	}
	if lds > uint32(d.profile.Shape.LDSPerCU) {
		return refuse(aql.ErrInvalidGroupMem, "dispatch %d: %d bytes of LDS for a work-group, more than %d", index, lds, d.profile.Shape.LDSPerCU)
	}
	k.vm, k.state, k.target = q.vm, q.vm.ctx.Load(), d.cus.target
	if k.state == nil {
		return refuse(aql.ErrInvalidCode, "dispatch %d: VMID %d is off", index, q.vm.id)
	}
	k.lanes = 64
	if k.desc.Wavefront32() {
		k.lanes = 32
	}
	if k.lanes == 32 && !k.target.Wave32 {
		return refuse(aql.ErrInvalidCode, "dispatch %d: a wave32 kernel on %s", index, k.target.Name)
	}
	k.target = k.target.Wave(k.lanes)
	k.nvgpr, k.nacc = int(k.desc.ArchVGPRs(d.cus.proc)), int(k.desc.AccVGPRs(d.cus.proc))
	k.waves = (int(items) + k.lanes - 1) / k.lanes
	k.lds = int(lds+511) &^ 511
	k.stateSize = (wave.StateSize(k.lanes, k.nvgpr, k.nacc) + 63) &^ 63
	k.block = k.waves*k.stateSize + k.lds + 256
	k.total = 1
	for i := range 3 {
		k.groups[i] = uint32((uint64(grid[i]) + uint64(wg[i]) - 1) / uint64(wg[i]))
		hi := k.total * uint64(k.groups[i])
		if k.groups[i] != 0 && hi/uint64(k.groups[i]) != k.total {
			return refuse(aql.ErrInvalidDim, "dispatch %d: grid %v is too large", index, grid)
		}
		k.total = hi
	}
	k.cost = d.cus.costOf(k)
	if !d.cus.fits(k.cost) {
		return refuse(aql.ErrOutOfRegisters, "dispatch %d: %d waves of %d VGPRs and %d bytes of LDS do not fit a compute unit", index, k.waves, k.nvgpr+k.nacc, k.lds)
	}
	return nil
}

// start hands k, whose user SGPRs are laid out, to the compute units.
func (k *dispatch) start(index, entry uint64, grid, wg [3]uint32) {
	q, d, desc := k.q, k.q.dev, &k.desc
	k.mode = desc.ModeBits()
	if d.cus.proc.Major < 12 {
		if desc.DX10Clamp() {
			k.mode |= 1 << 8
		}
		if desc.IEEEMode() {
			k.mode |= 1 << 9
		}
	}
	if desc.FP16Overflow() {
		k.mode |= 1 << 23
	}
	k.mode |= desc.ExceptionMask() << 12
	k.status = statusValid
	if k.waves > 1 {
		k.status |= statusInTG
	}
	if k.state.TBA != 0 {
		k.status |= statusTrapEn
	}
	k.proto = newProto(k)
	object, kernarg := k.KernelObject, k.Kernarg
	k.DispatchInfo = DispatchInfo{
		Queue: q.id, Doorbell: q.doorbell, VMID: q.vm.id, PASID: k.state.PASID, PacketIndex: index,
		KernelObject: object, Entry: entry, Grid: grid, Workgroup: wg, Kernarg: kernarg,
		LDS: uint32(k.lds), Private: k.private, Lanes: k.lanes, VGPRs: k.nvgpr + k.nacc, Waves: k.total * uint64(k.waves), Begin: k.packet.start,
	}
	// A queue often runs the same kernel again.
	if q.ids == nil || q.ids.size != wg || q.ids.key != newItemKey(k) {
		q.ids = newItemIDs(k, wg)
	}
	k.ids = q.ids
	k.batch.init(k)
	k.reuse()
	q.pending = append(q.pending, k)
	if h := d.cfg.Hooks.DispatchBegin; h != nil {
		h(&k.DispatchInfo)
	}
	d.cus.add(k)
}

// userSGPRs lays out what COMPUTE_USER_DATA gives every wave, dense in the order of the property bits.
func (k *dispatch) userSGPRs(p *aql.DispatchPacket, index uint64) error {
	u := k.user[:0]
	put64 := func(v uint64) { u = append(u, uint32(v), uint32(v>>32)) }
	props := k.desc.Properties
	if props&codeobj.EnablePrivateSegmentBuffer != 0 {
		srd := k.scratch.srd
		// The packet processor fills INDEX_STRIDE (bits 22:21: 2 for 32 lanes, 3 for 64) and ADD_TID_ENABLE (bit 23).
		srd[3] &^= 7 << 21
		srd[3] |= 1<<23 | 2<<21
		if k.lanes == 64 {
			srd[3] |= 1 << 21
		}
		u = append(u, srd[:]...)
	}
	if props&codeobj.EnableDispatchPtr != 0 {
		put64(k.slot)
	}
	if props&codeobj.EnableQueuePtr != 0 {
		put64(k.record)
	}
	if props&codeobj.EnableKernargSegmentPtr != 0 {
		put64(p.KernargAddress)
	}
	if props&codeobj.EnableDispatchID != 0 {
		put64(index)
	}
	if props&codeobj.EnableFlatScratchInit != 0 {
		put64(k.scratch.location)
	}
	if n := k.desc.KernargPreloadLength(); n > 0 {
		for i := range uint64(n) {
			w, err := k.vm.load32(p.KernargAddress + 4*(uint64(k.desc.KernargPreloadOffset())+i))
			if err != nil {
				if retryable(err) {
					return err
				}
				return refuse(aql.ErrInvalidCode, "dispatch %d: kernarg preload: %v", index, err)
			}
			u = append(u, w)
		}
	}
	if props&codeobj.EnablePrivateSegmentSize != 0 {
		u = append(u, k.private)
	}
	// System SGPRs start at the count, whatever the sum of the enabled fields is.
	n := int(k.desc.UserSGPRCount())
	if len(u) > n {
		u = u[:n]
	}
	for len(u) < n {
		u = append(u, 0)
	}
	k.user = u
	return nil
}

// scratchSlots hands parts of a queue's scratch to waves. A slot is WAVESIZE bytes.
type scratchSlots struct {
	n     int
	state scratchState
	free  []int32 // guarded by cus.mu
}

// set lays the slots out for state; it reports false when that changes under running waves.
func (s *scratchSlots) set(d *Device, state scratchState, perWave uint64, idle bool) bool {
	if s.n > 0 && s.state == state {
		return true
	}
	if !idle {
		return false
	}
	n := int(state.tmpring & 0xfff)
	if d.profile.GfxTargetVersion >= 110000 {
		n *= d.profile.Shape.ShaderEngines / d.profile.Shape.XCCs
	}
	n = min(n, int(state.bytes/perWave))
	d.cus.mu.Lock()
	s.n, s.state, s.free = n, state, s.free[:0]
	for i := n - 1; i >= 0; i-- {
		s.free = append(s.free, int32(i))
	}
	d.cus.mu.Unlock()
	return true
}
