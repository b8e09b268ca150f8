package svm

import (
	"errors"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// needBO says that the caller must come again with video memory, which is allocated without locks.
type needBO struct {
	dev  *Device
	size uint64
}

func (e *needBO) Error() string { return "svm: video memory is to be allocated first" }

// HandleFault serves a retry fault of a GPU (svm_range_restore_pages). Nil: the access is to be tried again. An error makes it final: EFAULT
// nothing is there or XNACK is off, EPERM no right, EACCES the GPU has no access.
func (s *SVM) HandleFault(gpu int, addr uint64, write bool) error {
	s.faults.Add(1)
	defer func() {
		if s.faults.Add(-1) == 0 {
			s.idle.Wake()
		}
	}()
	if s.drain.Load() > 0 {
		return nil // it may be about what is gone; the worker waits
	}
	if !s.cfg.XNACK || s.exiting.Load() {
		return mm.EFAULT
	}
	s.event(gpu, svm.EvFault, addr&^(mm.PageSize-1), addr&^(mm.PageSize-1)+mm.PageSize, rw(write), nil)
	var fresh *bo
	failed := false // video memory is not to be had
	for {
		err := s.faultOnce(gpu, addr, write, fresh, failed)
		var need *needBO
		if !errors.As(err, &need) {
			if fresh != nil {
				fresh.put()
			}
			if (errors.Is(err, mm.EAGAIN) || errors.Is(err, mm.EBUSY)) && !s.cfg.Mistakes.RetryIsFatal {
				return nil
			}
			return err
		}
		if fresh != nil {
			fresh.put()
		}
		fresh, err = s.newBO(need.dev, need.size)
		failed = err != nil
	}
}

func rw(write bool) string {
	if write {
		return "write"
	}
	return "read"
}

// faultOnce is a fault with the locks held; fresh is video memory for the prange, if it was found to need some.
func (s *SVM) faultOnce(gpu int, addr uint64, write bool, fresh *bo, noVRAM bool) error {
	l := s.space.MmapLock()
	l.RLock()
	s.mu.Lock()
	g, ok := s.objects.Find(addr)
	if !ok {
		s.mu.Unlock()
		l.RUnlock()
		l.Lock()
		defer l.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, ok = s.objects.Find(addr); ok {
			return mm.EAGAIN
		}
		return s.createUnregistered(addr) // mapped at the next try
	}
	defer l.RUnlock()
	defer s.mu.Unlock()
	p := g.Value
	p.migrate.Lock()
	defer p.migrate.Unlock()
	p.lock.Lock()
	cut := addr < p.start || addr >= p.end || len(p.children) > 0
	p.lock.Unlock()
	if cut {
		return mm.EAGAIN // the deferred worker is to come by first
	}
	v, ok := s.space.FindVMA(addr)
	if !ok || v.Start > addr {
		return mm.EAGAIN // just unmapped
	}
	if !s.cfg.Mistakes.IgnoreReadOnly && (v.Prot&mm.ProtRead == 0 || write && v.Prot&mm.ProtWrite == 0) || write && p.attrs.Flags&kfd.SVMFlagGPURO != 0 {
		return mm.EPERM
	}
	where, err := s.restoreLoc(p, gpu)
	if err != nil {
		return err
	}
	start, end := p.attrs.window(addr, p.start, p.end)
	start, end = max(start, v.Start), min(end, v.End)
	if s.cfg.Mistakes.CrossVMA {
		start, end = p.attrs.window(addr, p.start, p.end)
	}
	if err := s.moveTo(p, start, end, where, fresh, noVRAM || !v.Anonymous(), "GPU fault"); err != nil {
		return err
	}
	return s.validateAndMap(p, start, end, gpu, "GPU fault")
}

// moveTo moves a part of p, if it is not there. That it does not work out is no error, the pages are used where they are; but needBO
// is returned when there is no video memory yet.
func (s *SVM) moveTo(p *prange, start, end uint64, to *Device, fresh *bo, noVRAM bool, cause string) error {
	at := p.at()
	if to == nil {
		if at != nil {
			_ = s.toRAM(p, start, end, cause)
		}
		return nil
	}
	if noVRAM || at == to && p.bo.evicting.Load() || at == to && p.inVRAM(start, end) == int((end-start)>>mm.PageShift) {
		return nil
	}
	if at != nil && at != to {
		// From one video memory to another by way of system memory.
		_ = s.toRAM(p, p.start, p.end, cause)
		if p.at() != nil {
			return nil
		}
	}
	size := p.end - p.start
	if p.at() == nil && (fresh == nil || fresh.dev != to || uint64(len(fresh.idx))<<mm.PageShift != size) {
		if !s.cfg.Mistakes.AllocUnderLocks {
			return &needBO{to, size}
		}
		var err error
		if fresh, err = s.newBO(to, size); err != nil {
			return nil
		}
		defer fresh.put()
	}
	_ = s.toVRAM(p, start, end, fresh, cause)
	return nil
}

// restoreLoc is where a fault of a GPU brings pages: nil is system memory (svm_range_best_restore_location).
func (s *SVM) restoreLoc(p *prange, gpu int) (*Device, error) {
	here := s.cfg.GPUs[gpu].Device
	bit := uint64(1) << gpu
	if (p.attrs.Access|p.attrs.InPlace)&bit == 0 {
		return nil, errAccess
	}
	if p.attrs.Preferred == kfd.SVMLocationSysmem {
		return nil, nil
	}
	if p.attrs.Preferred != kfd.SVMLocationUndefined {
		d := s.cfg.GPUs[s.gpu(p.attrs.Preferred)].Device
		if d == here || d.Pages.Owner() == here.Pages.Owner() {
			return d, nil
		}
	}
	if p.attrs.Access&bit != 0 {
		return here, nil
	}
	if d := p.at(); d != nil && d.Pages.Owner() == here.Pages.Owner() {
		return d, nil
	}
	return nil, nil
}

// createUnregistered makes a prange for memory whose attributes were never set; the mmap lock is held for writing, and mu. EFAULT nothing
// is there, or a buffer is.
func (s *SVM) createUnregistered(addr uint64) error {
	v, ok := s.space.FindVMA(addr)
	if !ok || v.Start > addr || v.Kind == mm.IO || addr < s.cfg.Start || addr >= s.cfg.Start+s.cfg.Size {
		return mm.EFAULT
	}
	a := s.defaults()
	if v.Kind == mm.Heap || v.Kind == mm.Stack {
		a.Preferred = kfd.SVMLocationSysmem // programs touch them all the time
	}
	lo, hi := v.Start, v.End
	if g, ok := s.objects.Prev(addr); ok {
		lo = max(lo, g.End)
	}
	if g, ok := s.objects.Next(addr); ok {
		hi = min(hi, g.Start)
	}
	start, end := a.window(addr, lo, hi)
	page := addr &^ (mm.PageSize - 1)
	for _, g := range s.cfg.GPUs {
		if g.VM.Overlaps(page, page+mm.PageSize) {
			return mm.EFAULT
		}
		if g.VM.Overlaps(start, end) {
			start, end = page, page+mm.PageSize
		}
	}
	p := s.newPrange(start, end, a)
	if err := p.register(); err != nil {
		return err
	}
	s.enter(p)
	return mm.EAGAIN
}
