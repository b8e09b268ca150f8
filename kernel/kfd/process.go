package kfd

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/drm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/silicon"
	"golang.org/x/sys/unix"
)

// Apertures of gfx9 and later (kfd_flat_memory.c).
const (
	ldsBase     = 1 << 48
	scratchBase = 2 << 48
	gpuvmBase   = 0x1000000 // below: trap handler and kernel IBs
	gpuvmLimit  = amdgpu.MaxVA - 1
)

// firstPASID is the PASID of the process: there is one.
const firstPASID = 0x8001

// process is a kfd_process.
type process struct {
	drv   *Driver
	pasid uint32
	dead  atomic.Bool

	mu     sched.Mutex
	pdds   []*pdd   // by node; immutable, their content guarded by mu
	xnack  bool     // guarded by mu
	ranges svmState // has its own lock

	qMu      sched.Mutex
	queues   map[uint32]*queue // by id; guarded by qMu, changed with mu held too
	quiesced int               // reasons why no queue may run; guarded by qMu

	evMu sched.Mutex
	ev   eventState // guarded by evMu
}

// pdd is what a process has on one device.
type pdd struct {
	proc *process
	node *node

	file      *drm.File // of ACQUIRE_VM; nil before
	vm        *amdgpu.VM
	doorbells *amdgpu.Doorbells
	doorIDs   [kfd.DoorbellsPerProcess / 64]uint64 // in use
	handles   map[uint32]*buffer
	nextIDR   uint32

	policy   kfd.SetMemoryPolicyArgs
	scratch  uint64 // hidden private base
	tba, tma uint64
	gwsQueue *queue
}

func newProcess(d *Driver) *process {
	p := &process{drv: d, pasid: firstPASID, mu: d.world.NewMutex(processClass), qMu: d.world.NewMutex(dqmClass),
		evMu: d.world.NewMutex(eventClass), queues: map[uint32]*queue{}}
	for _, n := range d.nodes {
		p.pdds = append(p.pdds, &pdd{proc: p, node: n, handles: map[uint32]*buffer{}})
	}
	p.ev.init()
	p.ranges.init(p)
	return p
}

// pdd finds the process's data on a GPU; EINVAL for an unknown one.
func (p *process) pdd(gpuID uint32) (*pdd, error) {
	for _, pd := range p.pdds {
		if pd.node.id == gpuID {
			return pd, nil
		}
	}
	return nil, unix.EINVAL
}

// bound finds the process's data on a GPU whose address space it has acquired: ESRCH when it has not.
func (p *process) bound(gpuID uint32) (*pdd, error) {
	pd, err := p.pdd(gpuID)
	if err != nil {
		return nil, err
	}
	if pd.vm == nil {
		return nil, unix.ESRCH
	}
	return pd, nil
}

// context is what the VMID of the process is to hold on this device; called with p.mu held.
func (pd *pdd) context() silicon.VMContext {
	return silicon.VMContext{PASID: pd.proc.pasid, SharedBase: ldsBase, PrivateBase: scratchBase, Retry: pd.proc.xnack && pd.node.dev.Profile.XNACK,
		TBA: pd.tba, TMA: pd.tma}
}

// refresh programs the VMID anew if there is one; called with p.mu held.
func (pd *pdd) refresh() error {
	if pd.vm == nil || pd.vm.VMID() == 0 {
		return nil
	}
	return pd.node.dev.Bind(pd.vm, pd.context())
}

// slice returns the process's doorbells on the device, taking them when they are first needed; called with p.mu held.
func (pd *pdd) slice() (*amdgpu.Doorbells, error) {
	if pd.doorbells == nil {
		db, err := pd.node.dev.AllocDoorbells()
		if err != nil {
			return nil, err
		}
		pd.doorbells = db
		pd.doorIDs[0] |= 1 // the kernel's
		// SDMA's and what is not the command processor's, and its mirror.
		for i := firstSDMADoorbell; i < firstSDMADoorbell+256; i++ {
			pd.doorIDs[i/64] |= 1 << (i % 64)
			m := i + doorbellMirror
			pd.doorIDs[m/64] |= 1 << (m % 64)
		}
	}
	return pd.doorbells, nil
}

func (p *process) mmap(off, n uint64) ([]amdgpu.Segment, error) {
	ty, id, _ := kfd.SplitMmapOffset(off)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ty {
	case kfd.MmapDoorbell:
		pd, err := p.pdd(id)
		if err != nil || n != kfd.DoorbellSliceSize {
			return nil, unix.EINVAL
		}
		db, err := pd.slice()
		if err != nil {
			return nil, err
		}
		return []amdgpu.Segment{db.Segment()}, nil
	case kfd.MmapEvents:
		return p.mmapEvents(n)
	case kfd.MmapMMIO:
		pd, err := p.pdd(id)
		if err != nil || n != 4096 {
			return nil, unix.EINVAL
		}
		for _, b := range pd.handles {
			if b.bo.Domain == amdgpu.MMIO {
				return b.bo.Segments(0, n)
			}
		}
		return nil, unix.EINVAL
	}
	return nil, unix.EFAULT // reserved memory: only an APU's trap handler pages
}

// exit frees everything: kfd_process_notifier_release.
func (p *process) exit() {
	p.dead.Store(true)
	p.evMu.Lock()
	page := p.ev.close()
	p.evMu.Unlock()
	if page != nil {
		page.Put()
	}
	p.mu.Lock()
	p.qMu.Lock()
	all := p.sortedQueues()
	p.qMu.Unlock()
	for _, q := range all {
		_ = p.drop(q)
	}
	p.mu.Unlock()
	p.ranges.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pd := range p.pdds {
		for id, b := range pd.handles {
			for _, m := range p.pdds {
				if b.mapped[m] {
					_ = m.vm.Unmap(b.va, b.span())
				}
			}
			b.bo.Put()
			delete(pd.handles, id)
		}
	}
	for _, pd := range p.pdds {
		if pd.vm != nil {
			pd.node.dev.Unbind(pd.vm)
			pd.vm.Close()
		}
		if pd.doorbells != nil {
			pd.doorbells.Free()
			pd.doorbells = nil
		}
	}
}

func (p *process) getVersion(a *kfd.GetVersionArgs) error {
	a.MajorVersion, a.MinorVersion = kfd.MajorVersion, kfd.MinorVersion
	return nil
}

func (p *process) setMemoryPolicy(a *kfd.SetMemoryPolicyArgs) error {
	if a.DefaultPolicy > kfd.CachePolicyNonCoherent || a.AlternatePolicy > kfd.CachePolicyNonCoherent {
		return unix.EINVAL
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pd, err := p.pdd(a.GPUID)
	if err != nil {
		return err
	}
	pd.policy = *a
	return nil
}

func (p *process) getClockCounters(a *kfd.GetClockCountersArgs) error {
	a.GPUClockCounter = 0 // of a GPU that is not known
	if n := p.drv.nodeByID(a.GPUID); n != nil {
		a.GPUClockCounter = n.dev.Chip.Clock()
	}
	a.CPUClockCounter = clock(unix.CLOCK_MONOTONIC_RAW)
	a.SystemClockCounter = clock(unix.CLOCK_BOOTTIME)
	a.SystemClockFreq = 1_000_000_000
	return nil
}

func clock(id int32) uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0
	}
	return uint64(ts.Nano())
}

func (pd *pdd) apertures() kfd.ProcessDeviceApertures {
	return kfd.ProcessDeviceApertures{
		LDSBase: ldsBase, LDSLimit: ldsBase | 0xffffffff, ScratchBase: scratchBase, ScratchLimit: scratchBase | 0xffffffff,
		GPUVMBase: gpuvmBase, GPUVMLimit: gpuvmLimit, GPUID: pd.node.id,
	}
}

func (p *process) getApertures(a *kfd.GetProcessAperturesArgs) error {
	a.NumOfNodes = 0
	for i, pd := range p.pdds {
		if i == len(a.ProcessApertures) {
			break
		}
		a.ProcessApertures[i] = pd.apertures()
		a.NumOfNodes++
	}
	return nil
}

func (p *process) getAperturesNew(a *kfd.GetProcessAperturesNewArgs) error {
	if a.NumOfNodes == 0 {
		a.NumOfNodes = uint32(len(p.pdds))
		return nil
	}
	n := min(int(a.NumOfNodes), len(p.pdds))
	for i, pd := range p.pdds[:n] {
		ap := pd.apertures()
		if err := p.drv.mem.Write(a.ProcessDeviceAperturesPtr+uint64(i)*kfd.SizeofProcessDeviceApertures, kfd.Bytes(&ap)); err != nil {
			a.NumOfNodes = 0
			return err
		}
	}
	a.NumOfNodes = uint32(n)
	return nil
}

func (p *process) acquireVM(a *kfd.AcquireVMArgs) error {
	var f *drm.File
	if p.drv.cfg.FD != nil {
		f, _ = p.drv.cfg.FD(int(a.DRMFD)).(*drm.File)
	}
	if f == nil {
		return unix.EINVAL
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pd, err := p.pdd(a.GPUID)
	if err != nil {
		return err
	}
	if pd.file != nil {
		if pd.file == f {
			return nil
		}
		return unix.EBUSY
	}
	if f.Node() != pd.node.drm {
		return unix.EINVAL
	}
	vm := f.AcquireVM()
	if err := pd.node.dev.Bind(vm, pd.context()); err != nil {
		return err
	}
	pd.file, pd.vm = f, vm
	return p.ranges.newGPU(pd)
}

func (p *process) setScratchBackingVA(a *kfd.SetScratchBackingVAArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	pd, err := p.pdd(a.GPUID)
	if err != nil {
		return err
	}
	pd.scratch = a.VAAddr << 16
	return nil
}

func (p *process) getTileConfig(a *kfd.GetTileConfigArgs) error {
	n := p.drv.nodeByID(a.GPUID)
	if n == nil {
		return unix.EINVAL
	}
	a.GBAddrConfig = uint32(n.dev.Profile.GBAddrConfig)
	a.NumTileConfigs, a.NumMacroTileConfigs = 0, 0
	a.NumBanks, a.NumRanks = 0, 0
	return nil
}

func (p *process) setTrapHandler(a *kfd.SetTrapHandlerArgs) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	pd, err := p.bound(a.GPUID)
	if err != nil {
		return err
	}
	pd.tba, pd.tma = a.TBAAddr, a.TMAAddr
	return pd.refresh()
}

func (p *process) setXNACKMode(a *kfd.SetXNACKModeArgs) error {
	changed, err := p.changeXNACK(a)
	if err == nil && changed {
		err = p.ranges.restart()
	}
	return err
}

func (p *process) changeXNACK(a *kfd.SetXNACKModeArgs) (changed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.XNACKEnabled < 0 {
		a.XNACKEnabled = 0
		if p.xnack {
			a.XNACKEnabled = 1
		}
		return false, nil
	}
	p.qMu.Lock()
	busy := len(p.queues) > 0
	p.qMu.Unlock()
	if busy {
		return false, unix.EBUSY
	}
	on := a.XNACKEnabled != 0
	if on {
		for _, pd := range p.pdds {
			if !pd.node.dev.Profile.XNACK {
				return false, unix.EPERM
			}
		}
	}
	changed = p.xnack != on
	p.xnack = on
	for _, pd := range p.pdds {
		if err := pd.refresh(); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// vramGranule is what AVAILABLE_MEMORY counts in (VRAM_AVAILABLITY_ALIGN): each allocation is rounded up to it, and the answer down.
const vramGranule = 2 << 20

// pageTableReserve is VRAM that AVAILABLE_MEMORY does not promise.
func (n *node) pageTableReserve() uint64 { return min(8<<20, n.dev.VRAMTotal()/16) }

func (p *process) availableMemory(a *kfd.AvailableMemoryArgs) error {
	n := p.drv.nodeByID(a.GPUID)
	if n == nil {
		return unix.EINVAL
	}
	free, reserve := n.dev.VRAMFree(), n.pageTableReserve()+n.dev.VRAMRounding()
	a.Available = 0
	if free > reserve {
		a.Available = (free - reserve) &^ (vramGranule - 1)
	}
	return nil
}

func (p *process) runtimeEnable(a *kfd.RuntimeEnableArgs) error {
	if a.ModeMask&^uint32(kfd.RuntimeEnableModeEnable|kfd.RuntimeEnableModeTTMPSave) != 0 {
		return unix.EINVAL
	}
	return unix.EINVAL
}

func (p *process) dbgTrap(a *kfd.DbgTrapArgs) error {
	if a.Op > 14 {
		return unix.EINVAL
	}
	if int(a.PID) != p.drv.cfg.PID {
		return unix.ESRCH
	}
	return unix.EPERM
}
