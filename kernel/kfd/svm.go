package kfd

import (
	"fmt"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/drm"
	kfdsvm "github.com/pumice-gpu/pumice/kernel/kfd/svm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/segment"
	"golang.org/x/sys/unix"
)

// svmState is the process's shared virtual memory. It keeps the attributes as KFD's interface has them, by GPU id, and answers queries
// from them; what they mean for pages is done by an svmEngine: migrating (svmlive.go, over kernel/mm/host and kernel/amdgpu/svm), or, where
// userfaultfd is not to be had, one that leaves all memory in the host (svmhost.go).
type svmState struct {
	p *process

	mu     sched.Mutex
	attrs  segment.Set[svmAttrs] // guarded by mu
	engine svmEngine             // made at the first use; guarded by mu
}

// svmEngine carries attributes out. Its methods are called without process.mu and svmState.mu.
type svmEngine interface {
	// sync returns when all that the process has unmapped so far is known.
	sync()
	// set is told that attributes of [start, end) changed: a is the list of the call, now what holds on each piece.
	set(start, end uint64, a []kfd.SVMAttribute, now []svmPiece) error
	// newGPU maps what a GPU may access that has joined.
	newGPU(pd *pdd, now []svmPiece) error
	// fault serves a wave that waits for a page. An error makes the fault final.
	fault(pd *pdd, va uint64, write bool, a svmAttrs, known bool, lo, hi uint64) error
	// unmapped is told by NotifyUnmap, and reports whether the attributes are to be forgotten; gone by NotifyGone.
	unmapped(start, end uint64) (forget bool)
	gone(start, end uint64)
	// drm is the same by the attributes of DRM_AMDGPU_GEM_SVM, for one GPU; nil: not by this engine.
	drm(pd *pdd) drm.SVM
	// protected is told by NotifyProtect; now is what is known of the range.
	protected(start, end uint64, now []svmPiece)
	close()
}

// svmPiece is a range with the same attributes throughout.
type svmPiece struct {
	start, end uint64
	old, now   svmAttrs
}

// svmAttrs are the attributes of a range. GPUs are bits by node.
type svmAttrs = kfdsvm.Attrs

const defaultGranularity = 9

func (s *svmState) init(p *process) { s.p, s.mu = p, p.drv.world.NewMutex(svmSetClass) }

// bit is a GPU's place in the masks.
func (pd *pdd) bit() uint64 { return 1 << (pd.node.index - 1) }

// defaults are what a range has whose attributes were never set: with XNACK on, every GPU may fault it in.
func (p *process) defaults() svmAttrs {
	if p.xnack {
		return kfdsvm.Defaults(defaultGranularity, 1<<len(p.pdds)-1)
	}
	return kfdsvm.Defaults(defaultGranularity, 0)
}

// use returns the engine, made if need be. p.mu is not held.
func (s *svmState) use() svmEngine {
	s.mu.Lock()
	e := s.engine
	s.mu.Unlock()
	if e != nil {
		return e
	}
	e = s.p.newSVMEngine()
	s.mu.Lock()
	if s.engine != nil {
		s.mu.Unlock()
		e.close()
		return s.use()
	}
	s.engine = e
	s.mu.Unlock()
	return e
}

// current returns the engine if there is one.
func (s *svmState) current() svmEngine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine
}

// restart makes a new engine after a change of the XNACK mode.
func (s *svmState) restart() error {
	s.mu.Lock()
	e := s.engine
	s.engine = nil
	all := s.pieces(0, ^uint64(0))
	s.mu.Unlock()
	if e == nil {
		return nil
	}
	e.close()
	e = s.use()
	for _, pd := range s.p.pdds {
		if pd.vm != nil {
			if err := e.newGPU(pd, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// pieces lists what is known of [start, end); mu is held.
func (s *svmState) pieces(start, end uint64) (out []svmPiece) {
	for g := range s.attrs.All(start, end) {
		out = append(out, svmPiece{max(g.Start, start), min(g.End, end), g.Value, g.Value})
	}
	return out
}

// overlaps reports whether a registered range lies in [va, va+size).
func (s *svmState) overlaps(va, size uint64) bool {
	if e := s.current(); e != nil {
		e.sync()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.attrs.Next(va)
	return ok && g.Start < va+size
}

// mapped reports whether a GPU has every page of [va, va+size) in its page tables.
func (s *svmState) mapped(pd *pdd, va, size uint64) bool {
	for at := va &^ (pte.PageSize - 1); at < va+size; at += pte.PageSize {
		if _, ok := pd.vm.Lookup(at); !ok {
			return false
		}
	}
	return true
}

// forget drops the attributes of memory that is gone.
func (s *svmState) forget(start, end uint64) {
	s.mu.Lock()
	s.attrs.Clear(start, end)
	s.mu.Unlock()
}

func (s *svmState) close() {
	s.mu.Lock()
	e := s.engine
	s.engine = nil
	s.mu.Unlock()
	if e != nil {
		e.close()
	}
}

// newGPU is called with p.mu held, when a GPU's address space has been acquired. Without an engine there is nothing to map.
func (s *svmState) newGPU(pd *pdd) error {
	e := s.current()
	if e == nil {
		return nil
	}
	s.mu.Lock()
	all := s.pieces(0, ^uint64(0))
	s.mu.Unlock()
	return e.newGPU(pd, all)
}

// svm is AMDKFD_IOC_SVM.
func (p *process) svm(b []byte) error {
	h, attrs, err := kfd.DecodeSVM(b)
	if err != nil {
		return unix.EINVAL
	}
	if h.StartAddr&(pte.PageSize-1) != 0 || h.Size&(pte.PageSize-1) != 0 || h.Size == 0 || h.StartAddr == 0 || h.StartAddr+h.Size < h.StartAddr {
		return unix.EINVAL
	}
	if h.StartAddr+h.Size > amdgpu.MaxVA {
		return unix.EFAULT
	}
	switch h.Op {
	case kfd.SVMOpSetAttr:
		return p.svmSet(h.StartAddr, h.StartAddr+h.Size, attrs)
	case kfd.SVMOpGetAttr:
		if err := p.svmGet(h.StartAddr, h.StartAddr+h.Size, attrs); err != nil {
			return err
		}
		for i, a := range attrs {
			kfd.Encode(b[kfd.SizeofSVMArgs+i*kfd.SizeofSVMAttribute:], a)
		}
		return nil
	}
	return unix.EINVAL
}

// gpuBit is a GPU's bit in the access sets, 0 for an unknown one.
func (p *process) gpuBit(gpuID uint32) uint64 {
	if pd, err := p.pdd(gpuID); err == nil {
		return pd.bit()
	}
	return 0
}

func (p *process) svmSet(start, end uint64, attrs []kfd.SVMAttribute) error {
	if err := kfdsvm.CheckRequest(attrs, p.gpuBit); err != nil {
		return errno(err)
	}
	e := p.ranges.use()
	e.sync()
	pieces, err := p.svmStore(start, end, attrs)
	if err != nil {
		return err
	}
	return e.set(start, end, attrs, pieces)
}

// svmStore checks the range and stores the attributes.
func (p *process) svmStore(start, end uint64, attrs []kfd.SVMAttribute) (pieces []svmPiece, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Every page must be somebody's memory, and no buffer may stand there on a GPU.
	if amdgpu.Mapped(start, end-start) != nil {
		return nil, unix.EFAULT
	}
	for _, pd := range p.pdds {
		if pd.vm != nil && pd.foreign(start, end) {
			return nil, unix.EADDRINUSE
		}
	}
	s := &p.ranges
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attrs.SplitAt(start)
	s.attrs.SplitAt(end)
	known, fresh := []bool{}, uint64(0)
	for g, ok := range s.attrs.Cover(start, end) {
		old := g.Value
		if !ok {
			old = p.defaults()
		}
		pieces = append(pieces, svmPiece{g.Start, g.End, old, old.With(attrs, p.gpuBit)})
		known = append(known, ok)
		if !ok {
			fresh += g.End - g.Start
		}
	}
	if !p.xnack && fresh > 0 && fresh > s.room(fresh) {
		return nil, unix.ENOMEM // with XNACK off a range is resident
	}
	for i, x := range pieces {
		if known[i] {
			s.attrs.Set(x.start, x.now)
		} else {
			s.attrs.Insert(x.start, x.end, x.now)
		}
	}
	return pieces, nil
}

// room is how many bytes of ranges may be registered yet with XNACK off: memory of the machine without a 64th and 192 MiB (amdgpu_amdkfd_gpuvm_init_mem_limits), less
// what is registered. Ranges under 2 MiB are let through without counting the others. mu is held.
//
// fidelity: approximate SVM system memory limit: other memory of KFD is not counted, nor are ranges under 2 MiB when they are made
func (s *svmState) room(fresh uint64) uint64 {
	if fresh < 2<<20 {
		return fresh
	}
	var si unix.Sysinfo_t
	if err := unix.Sysinfo(&si); err != nil {
		return fresh
	}
	limit := uint64(si.Totalram) * uint64(si.Unit)
	limit -= limit >> 6
	limit -= min(limit, 192<<20)
	for g := range s.attrs.All(0, amdgpu.MaxVA) {
		limit -= min(limit, g.End-g.Start)
	}
	return limit
}

// foreign reports whether a buffer is mapped in [start, end).
func (pd *pdd) foreign(start, end uint64) bool {
	for at := start; at < end; {
		s, n, owner, ok := pd.vm.NextMapping(at)
		if !ok || s >= end {
			return false
		}
		if owner != any(svmMapping) {
			return true
		}
		at = s + n
	}
	return false
}

// svmGet answers a query, see kfdsvm.Fold.Answer: of what is registered in the range, or, if nothing is, of the defaults.
func (p *process) svmGet(start, end uint64, list []kfd.SVMAttribute) error {
	if err := kfdsvm.CheckQuery(list, p.gpuBit); err != nil {
		return errno(err)
	}
	if amdgpu.Mapped(start, end-start) != nil {
		return unix.EFAULT
	}
	if e := p.ranges.current(); e != nil {
		e.sync()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranges.mu.Lock()
	defer p.ranges.mu.Unlock()
	var f kfdsvm.Fold
	for g := range p.ranges.attrs.All(start, end) {
		f.Add(g.Value)
	}
	if f.Empty() {
		f.Add(p.defaults())
	}
	f.Answer(list, p.gpuBit)
	return nil
}

// retryFault serves a wave that waits for the page at va.
func (s *svmState) retryFault(pd *pdd, va uint64, write bool) {
	p := s.p
	n := pd.node
	if e, ok := pd.vm.Lookup(va); ok && (!write || e.Is(pte.Write)) {
		pd.vm.Flush() // served meanwhile: only the wave does not know
		return
	}
	n.smi.send(kfd.SMIEventPageFaultStart, fmt.Sprintf("%d -%d @%x(%x) %s\n", clock(unix.CLOCK_BOOTTIME), p.drv.cfg.PID, va>>12, n.id, rw(write)))
	e := s.use()
	p.mu.Lock()
	a, lo, hi := p.defaults(), va, va+pte.PageSize
	xnack := p.xnack
	p.mu.Unlock()
	s.mu.Lock()
	g, known := s.attrs.Find(va)
	s.mu.Unlock()
	if known {
		a, lo, hi = g.Value, g.Start, g.End
	}
	err := error(unix.EFAULT)
	if xnack {
		err = e.fault(pd, va, write, a, known, lo, hi)
	}
	if err != nil {
		// Nobody can bring it: make the fault final.
		_ = pd.vm.SetPage(va, n.dev.PTE.NoRetry())
	}
	pd.vm.Flush()
	how := "M"
	if err != nil {
		how = "U"
	}
	n.smi.send(kfd.SMIEventPageFaultEnd, fmt.Sprintf("%d -%d @%x(%x) %s\n", clock(unix.CLOCK_BOOTTIME), p.drv.cfg.PID, va>>12, n.id, how))
}

func rw(write bool) string {
	if write {
		return "W"
	}
	return "R"
}

// svmOf is the shared virtual memory of an address space of GPU n that the process has acquired, nil for others.
func (d *Driver) svmOf(n *node, vm *amdgpu.VM) drm.SVM {
	d.mu.Lock()
	p := d.proc
	d.mu.Unlock()
	if p == nil {
		return nil
	}
	pd := p.pdds[n.index-1]
	p.mu.Lock()
	acquired := pd.vm == vm
	p.mu.Unlock()
	if !acquired {
		return nil
	}
	e := p.ranges.use()
	e.sync()
	return e.drm(pd)
}

// drmSVM makes an engine's errors unix.Errno.
type drmSVM struct{ drm.SVM }

func (s drmSVM) SetAttrs(start, size uint64, attrs []svm.Attr) error {
	return errno(s.SVM.SetAttrs(start, size, attrs))
}

func (s drmSVM) GetAttrs(start, size uint64) (svm.Attrs, error) {
	a, err := s.SVM.GetAttrs(start, size)
	return a, errno(err)
}

func (s drmSVM) ResetAttrs(start, size uint64) error { return errno(s.SVM.ResetAttrs(start, size)) }

// PrepareFork brings managed memory home, so that a child of fork finds it: to be called before a fork (pthread_atfork).
func (d *Driver) PrepareFork() {
	d.mu.Lock()
	p := d.proc
	d.mu.Unlock()
	if p == nil {
		return
	}
	switch e := p.ranges.current().(type) {
	case *svmLive:
		_ = e.space.BringHome()
	case *svmOld:
		_ = e.space.BringHome()
	}
}

// NotifyProtect tells the driver that the process has changed the rights of [addr, addr+n) of its memory (mprotect): GPUs get those of now.
func (d *Driver) NotifyProtect(addr, n uint64) {
	p, start, end, ok := d.notified(addr, n)
	if !ok {
		return
	}
	e := p.ranges.current()
	if e == nil {
		return
	}
	p.ranges.mu.Lock()
	now := p.ranges.pieces(start, end)
	p.ranges.mu.Unlock()
	e.protected(start, end, now)
}

// NotifyGone tells the driver that the process has unmapped, moved or emptied [addr, addr+n) of its memory: GPUs have nothing of it any more when it returns.
func (d *Driver) NotifyGone(addr, n uint64) {
	p, start, end, ok := d.notified(addr, n)
	if !ok {
		return
	}
	if e := p.ranges.current(); e != nil {
		e.gone(start, end)
	}
}

// notified is the process, and the whole pages of [addr, addr+n).
func (d *Driver) notified(addr, n uint64) (p *process, start, end uint64, ok bool) {
	d.mu.Lock()
	p = d.proc
	d.mu.Unlock()
	if p == nil || n == 0 || addr+n < addr || addr >= amdgpu.MaxVA {
		return nil, 0, 0, false
	}
	return p, addr &^ (pte.PageSize - 1), (addr + n + pte.PageSize - 1) &^ (pte.PageSize - 1), true
}

// NotifyUnmap tells the driver that the process is about to unmap or replace [addr, addr+n) of its own memory: SVM mappings of it end. It is what an MMU notifier
// tells Linux's driver. Where userfaultfd watches, its message does this.
func (d *Driver) NotifyUnmap(addr, n uint64) {
	p, start, end, ok := d.notified(addr, n)
	if !ok {
		return
	}
	if e := p.ranges.current(); e == nil || e.unmapped(start, end) {
		p.ranges.forget(start, end)
	}
}
