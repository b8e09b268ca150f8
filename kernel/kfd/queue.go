package kfd

import (
	"fmt"
	"math/bits"
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/silicon"
	"github.com/pumice-gpu/pumice/silicon/profile"
	"golang.org/x/sys/unix"
)

// Doorbell ids of a process's slice that belong to SDMA: engine e has ten, and the second queue of a pair stands half a
// slice further (KFD_QUEUE_DOORBELL_MIRROR_OFFSET).
const (
	firstSDMADoorbell = 0x100
	sdmaDoorbells     = 10
	doorbellMirror    = 512
)

// queue is a user queue. Guarded by process.mu; what load and unload touch, also by process.qMu.
type queue struct {
	id       uint32
	pd       *pdd
	args     kfd.CreateQueueArgs
	hqd      silicon.QueueID
	doorbell uint32 // id in the slice
	mqd      *amdgpu.BO
	mem      unsafe.Pointer // of the MQD
	loaded   bool           // on the hardware
	evicted  int            // reasons why it is off the hardware
	cuMask   []uint32       // of SET_CU_MASK; nil: all
	buffers  []*buffer      // held
	gws      bool
}

// active is QUEUE_IS_ACTIVE.
func (q *queue) active() bool {
	return q.args.RingSize > 0 && q.args.RingBaseAddress != 0 && q.args.QueuePercentage&kfd.QueuePercentageMask > 0 && q.evicted == 0
}

func (p *process) sortedQueues() []*queue {
	out := make([]*queue, 0, len(p.queues))
	for _, q := range p.queues {
		out = append(out, q)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// checkRing is what CREATE and UPDATE check of a ring.
func checkRing(addr uint64, size, percent, priority uint32) error {
	if percent&kfd.QueuePercentageMask > kfd.MaxQueuePercentage || priority > kfd.MaxQueuePriority {
		return unix.EINVAL
	}
	if addr >= amdgpu.MaxVA {
		return unix.EFAULT
	}
	if size&(size-1) != 0 {
		return unix.EINVAL
	}
	return nil
}

// createQueue is CREATE_QUEUE.
func (p *process) createQueue(a *kfd.CreateQueueArgs) error {
	if err := p.checkCreate(a); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pd, err := p.bound(a.GPUID)
	if err != nil {
		return err
	}
	id := p.freeQueueID()
	if id == 0 {
		return unix.ENOSPC
	}
	q := &queue{id: id, pd: pd, args: *a}
	if err := q.placement(); err != nil {
		return err
	}
	if err := q.enter(); err != nil {
		q.release()
		q.giveBack()
		return err
	}
	a.QueueID = id
	a.DoorbellOffset = kfd.MmapOffset(kfd.MmapDoorbell, pd.node.id, uint64(q.doorbell)*kfd.DoorbellSize)
	return nil
}

// checkCreate refuses what no queue can be made of.
func (p *process) checkCreate(a *kfd.CreateQueueArgs) error {
	if err := checkRing(a.RingBaseAddress, a.RingSize, a.QueuePercentage, a.QueuePriority); err != nil {
		return err
	}
	for _, addr := range []uint64{a.ReadPointerAddress, a.WritePointerAddress} {
		var b [8]byte
		if err := p.drv.mem.Read(addr, b[:]); err != nil {
			return err
		}
	}
	if a.EOPBufferAddress >= amdgpu.MaxVA || a.CtxSaveRestoreAddress >= amdgpu.MaxVA {
		return unix.EFAULT
	}
	return nil
}

// enter gives a queue that has its slot the rest: memory that is held for it, a doorbell, an MQD. Then it goes to the hardware and into the process's
// list. After an error the caller gives back what it has got so far. p.mu is held.
func (q *queue) enter() error {
	p, dev := q.pd.proc, q.pd.node.dev
	if err := q.acquire(); err != nil {
		return err
	}
	db, err := q.pd.slice()
	if err != nil {
		return err
	}
	if q.doorbell, err = q.pd.takeDoorbell(q.hqd); err != nil {
		return err
	}
	// The MQD is the driver's own memory.
	if q.mqd, err = dev.NewBO(amdgpu.GTT, mqd.ComputeBytes); err != nil {
		return err
	}
	q.mem, _ = q.mqd.Host(0)
	if q.initMQD(db.Dword(q.doorbell)) != nil {
		return unix.EINVAL
	}
	p.qMu.Lock()
	defer p.qMu.Unlock()
	if p.quiesced > 0 {
		q.evicted = 1
	}
	if q.load() != nil {
		return unix.EINVAL
	}
	p.queues[q.id] = q
	return nil
}

// giveBack frees what the hardware and the driver have of a queue, as far as it was taken; p.mu is held. The chip does not have it any more.
func (q *queue) giveBack() {
	dev := q.pd.node.dev
	if q.mqd != nil {
		dev.Chip.DropSaved(q.mem)
		q.mqd.Put()
	}
	dev.FreeQueue(q.hqd)
	if q.hqd.Class == silicon.Compute && q.doorbell != 0 {
		q.pd.doorIDs[q.doorbell/64] &^= 1 << (q.doorbell % 64)
	}
}

// freeQueueID returns the lowest id that is free from 1 on, 0 when there are too many queues.
func (p *process) freeQueueID() uint32 {
	p.qMu.Lock()
	defer p.qMu.Unlock()
	for id := uint32(1); id < kfd.MaxQueuesPerProcess; id++ {
		if p.queues[id] == nil {
			return id
		}
	}
	return 0
}

// placement takes a hardware slot for the queue's type.
func (q *queue) placement() error {
	dev := q.pd.node.dev
	ok := true
	switch q.args.QueueType {
	case kfd.QueueTypeCompute, kfd.QueueTypeComputeAQL:
		q.hqd = dev.AllocHQD()
	case kfd.QueueTypeSDMA:
		q.hqd, ok = dev.AllocSDMA(-1, false)
	case kfd.QueueTypeSDMAXGMI:
		q.hqd, ok = dev.AllocSDMA(-1, true)
	case kfd.QueueTypeSDMAByEngID:
		if int(q.args.SDMAEngineID) >= dev.Profile.SDMA.Engines+dev.Profile.SDMA.XGMIEngines {
			return unix.EINVAL
		}
		q.hqd, ok = dev.AllocSDMA(int(q.args.SDMAEngineID), false)
	default:
		return unix.EOPNOTSUPP
	}
	if !ok {
		return unix.ENOMEM
	}
	return nil
}

// takeDoorbell gives a queue its doorbell id: any free one for compute, the engine's own for SDMA.
func (pd *pdd) takeDoorbell(id silicon.QueueID) (uint32, error) {
	if id.Class == silicon.SDMA {
		n := uint32(firstSDMADoorbell + id.Engine*sdmaDoorbells + id.Slot/2)
		if id.Slot&1 != 0 {
			n += doorbellMirror
		}
		if n >= kfd.DoorbellsPerProcess {
			return 0, unix.ENOSPC
		}
		return n, nil
	}
	for i, w := range pd.doorIDs {
		if w != ^uint64(0) {
			b := uint32(bits.TrailingZeros64(^w))
			pd.doorIDs[i] |= 1 << b
			return uint32(i)*64 + b, nil
		}
	}
	return 0, unix.ENOSPC
}

// acquire holds the buffers that the hardware will use, so that they cannot be freed under it. What is not in a buffer (a
// ring in SVM memory) is not held. Addresses that are mapped nowhere are refused.
func (q *queue) acquire() error {
	a := &q.args
	for _, x := range []struct{ addr, size uint64 }{
		{a.RingBaseAddress, uint64(a.RingSize)}, {a.ReadPointerAddress &^ 4095, 8}, {a.WritePointerAddress &^ 4095, 8},
		{a.EOPBufferAddress, a.EOPBufferSize}, {a.CtxSaveRestoreAddress, uint64(a.CtxSaveRestoreSize)},
	} {
		if x.addr == 0 || x.size == 0 {
			continue
		}
		b, rest := q.pd.at(x.addr)
		if b == nil {
			if q.pd.proc.ranges.mapped(q.pd, x.addr, x.size) {
				continue
			}
			return unix.EINVAL
		}
		if rest < x.size {
			return unix.EINVAL
		}
		b.queues++
		q.buffers = append(q.buffers, b)
	}
	return nil
}

func (q *queue) release() {
	for _, b := range q.buffers {
		b.queues--
	}
	q.buffers = nil
}

// initMQD fills the MQD of a new queue.
func (q *queue) initMQD(dword uint32) error {
	dev := q.pd.node.dev
	a := &q.args
	if q.hqd.Class == silicon.SDMA {
		s := mqd.SDMA{RingBase: a.RingBaseAddress, RingBytes: a.RingSize, RptrAddr: a.ReadPointerAddress, WptrAddr: a.WritePointerAddress,
			DoorbellDword: dword, VMID: q.pd.vm.VMID(), Active: true, Engine: uint32(q.hqd.Engine), Queue: uint32(q.hqd.Slot)}
		// An SDMA doorbell holds a write pointer: it starts where the ring does.
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&q.pd.doorbells.Mem()[q.doorbell*8])), 0)
		return s.Encode(dev.MQD, q.words(mqd.SDMAWords))
	}
	c := mqd.Compute{
		MQDAddr: uint64(uintptr(q.mem)), RingBase: a.RingBaseAddress, RingBytes: a.RingSize, RptrAddr: a.ReadPointerAddress,
		WptrAddr: a.WritePointerAddress, DoorbellDword: dword, VMID: q.pd.vm.VMID(), AQL: a.QueueType == kfd.QueueTypeComputeAQL,
		EOPBase: a.EOPBufferAddress, EOPBytes: uint32(a.EOPBufferSize), CtxSaveBase: a.CtxSaveRestoreAddress,
		CtxSaveBytes: a.CtxSaveRestoreSize, CtlStackBytes: a.CtlStackSize, CtlStackOffset: a.CtlStackSize,
		WGStateOffset: a.CtxSaveRestoreSize, QueuePriority: uint8(a.QueuePriority), PipePriority: pipePriority(a.QueuePriority), Active: true,
		CUMask: seMasks(&dev.Profile.Shape, q.cuMask),
	}
	c.NoUpdateRptr = c.AQL && dev.Profile.GCVersion != "9.4.3"
	if c.EOPBytes&(c.EOPBytes-1) != 0 {
		return unix.EINVAL
	}
	return c.Encode(dev.MQD, q.words(mqd.ComputeWords))
}

func (q *queue) words(n int) []uint32 { return unsafe.Slice((*uint32)(q.mem), n) }

// pipePriority maps KFD's sixteen priorities to three.
func pipePriority(p uint32) uint8 {
	switch {
	case p <= 6:
		return 0
	case p <= 10:
		return 1
	}
	return 2
}

// seMasks deals a mask of compute units out to shader engines, round robin over engines and then arrays, as mqd_symmetrically_map_cu_mask
// does. nil is all units. On RDNA neighbouring bits are the two halves of a WGP and stay together.
func seMasks(s *profile.Shape, mask []uint32) (m [8]uint32) {
	if mask == nil {
		for i := range m {
			m[i] = ^uint32(0)
		}
		return m
	}
	unit := 1
	if s.SIMDsPerCU == 2 {
		unit = 2
	}
	engines := min(s.ShaderEngines, 8)
	i := 0
	for cu := 0; cu < s.CUsPerArray; cu += unit {
		for sh := range s.ArraysPerEngine {
			for se := range engines {
				for u := range unit {
					if i+u < 32*len(mask) && mask[(i+u)/32]>>((i+u)%32)&1 != 0 {
						m[se] |= 1 << (cu + u + sh*16)
					}
				}
				i += unit
			}
		}
	}
	return m
}

// load puts the queue on the hardware if it is active; called with p.qMu held.
func (q *queue) load() error {
	if q.loaded || !q.active() {
		return nil
	}
	if err := q.pd.node.dev.Chip.LoadQueue(q.hqd, q.mem, uint32(q.pd.vm.VMID())); err != nil {
		return err
	}
	q.loaded = true
	return nil
}

// unload takes it off; called with p.qMu held. ETIME when the chip does not: then its waves may go on, and it counts as loaded.
func (q *queue) unload(how silicon.Unload) error {
	if !q.loaded {
		return nil
	}
	if err := q.pd.node.dev.Chip.UnloadQueue(q.hqd, how); err != nil {
		q.warn("does not leave the hardware", err)
		return unix.ETIME
	}
	q.loaded = false
	return nil
}

func (q *queue) warn(what string, err error) {
	if w := q.pd.proc.drv.cfg.Warn; w != nil {
		w(fmt.Sprintf("queue %d of GPU %d %s: %v", q.id, q.pd.node.id, what, err))
	}
}

// drop destroys a queue; called with p.mu held. When the chip does not let it go (ETIME) it is gone for the program all the same, as in
// pqm_destroy_queue, but its slot, its doorbell and its MQD stay taken: the chip may go on using them.
func (p *process) drop(q *queue) error {
	p.qMu.Lock()
	err := q.unload(silicon.Kill)
	delete(p.queues, q.id)
	p.qMu.Unlock()
	if q.pd.gwsQueue == q {
		q.pd.gwsQueue = nil
		_ = q.pd.setGWS(false)
	}
	q.release()
	if err != nil {
		return err
	}
	q.giveBack()
	return nil
}

// queue finds a queue by id; called with p.mu held.
func (p *process) queue(id uint32) *queue {
	p.qMu.Lock()
	defer p.qMu.Unlock()
	return p.queues[id]
}

// destroyQueue is DESTROY_QUEUE.
func (p *process) destroyQueue(a *kfd.DestroyQueueArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(a.QueueID)
	if q == nil {
		return unix.EINVAL
	}
	return p.drop(q)
}

// updateQueue is UPDATE_QUEUE.
func (p *process) updateQueue(a *kfd.UpdateQueueArgs) error {
	if err := checkRing(a.RingBaseAddress, a.RingSize, a.QueuePercentage, a.QueuePriority); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(a.QueueID)
	if q == nil {
		return unix.EFAULT
	}
	p.qMu.Lock()
	defer p.qMu.Unlock()
	if err := q.unload(silicon.Preempt); err != nil {
		return err
	}
	old := q.args
	q.args.RingBaseAddress, q.args.RingSize = a.RingBaseAddress, a.RingSize
	q.args.QueuePercentage, q.args.QueuePriority = a.QueuePercentage, a.QueuePriority
	if q.active() {
		if err := q.patch(); err != nil {
			q.args = old
			_ = q.load()
			return unix.EINVAL
		}
	}
	if err := q.load(); err != nil {
		return unix.EINVAL
	}
	return nil
}

// patch changes what UPDATE_QUEUE and SET_CU_MASK can in an MQD that is off the hardware: pointers and saved state stay.
func (q *queue) patch() error {
	dev := q.pd.node.dev
	if q.hqd.Class == silicon.SDMA {
		s, err := mqd.DecodeSDMA(dev.MQD, q.words(mqd.SDMAWords))
		if err != nil {
			return err
		}
		if s.RingBase != q.args.RingBaseAddress || s.RingBytes != q.args.RingSize {
			dev.Chip.DropSaved(q.mem)
		}
		s.RingBase, s.RingBytes = q.args.RingBaseAddress, q.args.RingSize
		return s.Encode(dev.MQD, q.words(mqd.SDMAWords))
	}
	c, err := mqd.DecodeCompute(dev.MQD, q.words(mqd.ComputeWords))
	if err != nil {
		return err
	}
	if c.RingBase != q.args.RingBaseAddress || c.RingBytes != q.args.RingSize {
		dev.Chip.DropSaved(q.mem)
	}
	c.RingBase, c.RingBytes = q.args.RingBaseAddress, q.args.RingSize
	c.QueuePriority, c.PipePriority = uint8(q.args.QueuePriority), pipePriority(q.args.QueuePriority)
	c.CUMask = seMasks(&dev.Profile.Shape, q.cuMask)
	return c.Encode(dev.MQD, q.words(mqd.ComputeWords))
}

// setCUMask is SET_CU_MASK.
func (p *process) setCUMask(a *kfd.SetCUMaskArgs) error {
	if a.NumCUMask == 0 || a.NumCUMask%32 != 0 {
		return unix.EINVAL
	}
	n := min(a.NumCUMask, 1024) // KFD cuts longer masks at its own maximum
	b := make([]byte, n/8)
	if err := p.drv.mem.Read(a.CUMaskPtr, b); err != nil {
		return err
	}
	mask := make([]uint32, n/32)
	for i := range mask {
		mask[i] = uint32(b[4*i]) | uint32(b[4*i+1])<<8 | uint32(b[4*i+2])<<16 | uint32(b[4*i+3])<<24
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(a.QueueID)
	if q == nil {
		return unix.EFAULT
	}
	if q.hqd.Class == silicon.SDMA {
		return unix.EINVAL
	}
	p.qMu.Lock()
	defer p.qMu.Unlock()
	if err := q.unload(silicon.Preempt); err != nil {
		return err
	}
	q.cuMask = mask
	if err := q.patch(); err != nil {
		return unix.EINVAL
	}
	if err := q.load(); err != nil {
		return unix.EINVAL
	}
	return nil
}

// getQueueWaveState is GET_QUEUE_WAVE_STATE: only an inactive compute queue with a save area has one to give.
func (p *process) getQueueWaveState(a *kfd.GetQueueWaveStateArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(a.QueueID)
	if q == nil || q.hqd.Class == silicon.SDMA || q.active() || q.args.CtxSaveRestoreAddress == 0 {
		return unix.EINVAL
	}
	c, err := mqd.DecodeCompute(q.pd.node.dev.MQD, q.words(mqd.ComputeWords))
	if err != nil {
		return unix.EINVAL
	}
	a.CtlStackUsedSize = c.CtlStackBytes - c.CtlStackOffset
	a.SaveAreaUsedSize = 0
	if c.WGStateOffset > c.CtlStackBytes && c.WGStateOffset != c.CtxSaveBytes {
		a.SaveAreaUsedSize = c.WGStateOffset - c.CtlStackBytes
	}
	h := kfd.ContextSaveAreaHeader{ControlStackOffset: c.CtlStackOffset, ControlStackSize: a.CtlStackUsedSize,
		WaveStateOffset: c.WGStateOffset, WaveStateSize: a.SaveAreaUsedSize}
	return p.drv.mem.Write(a.CtlStackAddress, kfd.Bytes(&h)[:16])
}

// usesGWS reports whether a chip's cooperative kernels meet at GWS resources. On gfx9.4.3 and from gfx11 on they use memory: there
// ALLOC_QUEUE_GWS is a formality that gives nothing (pqm_set_gws, kfd_process_queue_manager.c).
func usesGWS(gfxTargetVersion int) bool {
	return gfxTargetVersion < 90400 || gfxTargetVersion >= 100000 && gfxTargetVersion < 110000
}

// setGWS gives a process's VMID all GWS resources of the chip, or none.
func (pd *pdd) setGWS(on bool) error {
	pr := pd.node.dev.Profile
	n := 0
	if on && usesGWS(pr.GfxTargetVersion) {
		n = pr.Shape.GWS
	}
	return pd.node.dev.Chip.SetGWS(uint32(pd.vm.VMID()), n)
}

// allocQueueGWS is ALLOC_QUEUE_GWS: any number but 0 means all of the chip's.
func (p *process) allocQueueGWS(a *kfd.AllocQueueGWSArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(a.QueueID)
	if q == nil {
		return unix.EINVAL
	}
	if q.pd.node.dev.Profile.Shape.GWS == 0 {
		return unix.ENODEV
	}
	holder := q.pd.gwsQueue
	switch {
	case a.NumGWS == 0:
		if holder != q {
			return unix.EINVAL
		}
		if err := q.pd.setGWS(false); err != nil {
			return unix.EINVAL
		}
		q.pd.gwsQueue, q.gws = nil, false
	case holder != nil:
		return unix.EBUSY
	default:
		if err := q.pd.setGWS(true); err != nil {
			return unix.EINVAL
		}
		q.pd.gwsQueue, q.gws = q, true
	}
	a.FirstGWS = 0
	return nil
}

// Quiesce takes all queues of the process off the hardware: no wave runs when it returns nil. Counted, also when it fails; each needs a
// Resume. ETIME when the chip does not let one go, which the next Quiesce tries again. It implements svm.Queues and is called in notifiers.
func (p *process) Quiesce() error {
	p.qMu.Lock()
	defer p.qMu.Unlock()
	p.quiesced++
	var failed error
	for _, q := range p.sortedQueues() {
		if p.quiesced == 1 {
			q.evicted++
		}
		if err := q.unload(silicon.Preempt); err != nil {
			failed = err
		}
	}
	return failed
}

// Resume undoes one Quiesce.
func (p *process) Resume() {
	p.qMu.Lock()
	defer p.qMu.Unlock()
	p.quiesced--
	if p.quiesced > 0 {
		return
	}
	for _, q := range p.sortedQueues() {
		if q.evicted > 0 {
			q.evicted--
			if err := q.load(); err != nil {
				q.warn("does not come back to the hardware", err)
			}
		}
	}
}
