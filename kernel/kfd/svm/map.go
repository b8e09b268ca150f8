package svm

import (
	"errors"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
)

// mapping is the cause of faults of our own.
const mapping = "kfd mapping"

// allGPUs asks validateAndMap for those that the attributes name.
const allGPUs = -1

// targets are the GPUs on which p is to be mapped. With XNACK on: those that access it in place, and the one that has it; if that is nobody
// and it was mapped or is always to be, all that may. A fault maps it for one.
func (s *SVM) targets(p *prange, gpu int) uint64 {
	switch {
	case gpu != allGPUs:
		return 1 << gpu
	case !s.cfg.XNACK:
		return p.attrs.Access | p.attrs.InPlace
	}
	set := p.attrs.InPlace
	if d := p.at(); d != nil {
		if i := s.gpu(s.loc(d)); i >= 0 {
			set |= p.attrs.Access & (1 << i)
		}
	}
	if set == 0 && (p.mapped || p.attrs.Flags&kfd.SVMFlagGPUAlwaysMapped != 0) {
		set = p.attrs.Access
	}
	return set
}

// owner is who may use device pages in place on all GPUs of a set; nil when they have none in common.
func (s *SVM) owner(set uint64) (o any) {
	first := true
	s.each(set, func(_ int, g *GPU) {
		if first {
			o, first = g.Device.Pages.Owner(), false
		} else if o != g.Device.Pages.Owner() {
			o = nil
		}
	})
	return o
}

// wanted are the properties of page-table entries that attributes ask for.
func (a *Attrs) wanted(readOnly bool) svm.PTEFlags {
	return svm.PTEFlags{Write: !readOnly && a.Flags&kfd.SVMFlagGPURO == 0, Exec: a.Flags&kfd.SVMFlagGPUExec != 0,
		Coherent: a.Flags&kfd.SVMFlagCoherent != 0, ExtCoherent: a.Flags&kfd.SVMFlagExtCoherent != 0}
}

// validateAndMap makes [start, end) of p accessible to GPUs: one, or allGPUs that attributes name. The mmap lock, mu and p.migrate are held.
// EAGAIN: the process changed meanwhile, nothing is lost by trying again; EFAULT, EPERM: not its memory (any more).
func (s *SVM) validateAndMap(p *prange, start, end uint64, gpu int, cause string) error {
	set := s.targets(p, gpu)
	if set == 0 {
		return nil
	}
	s.each(set, func(_ int, g *GPU) { g.VM.Resv().Lock() })
	defer s.each(set, func(_ int, g *GPU) { g.VM.Resv().Unlock() })
	p.lock.Lock()
	all := start == p.start && end == p.end
	p.complete = p.complete && !all
	p.lock.Unlock()
	owner := s.owner(set)
	if d := p.at(); d != nil && d.Pages.Owner() != owner {
		// Somebody of them cannot reach it there.
		if err := s.leaveVRAM(p, d, cause); err != nil {
			return err
		}
	}
	for at := start; at < end; {
		v, ok := s.space.FindVMAIn(at, at, end)
		if !ok || v.Start > at {
			return mm.EFAULT
		}
		to := min(end, v.End)
		readOnly := v.Prot&mm.ProtWrite == 0 && !s.cfg.Mistakes.IgnoreReadOnly
		if s.cfg.Mistakes.CrossVMA {
			to = end
		}
		if err := s.mapChunk(p, at, to, set, owner, readOnly); err != nil {
			return err
		}
		at = to
	}
	p.lock.Lock()
	p.complete = p.complete || all
	p.mapped = p.mapped || s.cfg.Mistakes.MappedAtEnd
	p.lock.Unlock()
	s.each(set, func(i int, _ *GPU) {
		s.event(i, svm.EvMap, start, end, cause, nil)
	})
	return nil
}

// leaveVRAM moves p's pages home from d. EAGAIN when one could not move. What only children of a fork have there stays: to move would invalidate p,
// and so keep the restore worker, which is where we come from, from ever ending.
func (s *SVM) leaveVRAM(p *prange, d *Device, cause string) error {
	if s.uses(d, p.start, p.end) {
		if err := s.toRAM(p, p.start, p.end, cause); err != nil {
			return err
		}
		if s.uses(d, p.start, p.end) {
			return mm.EAGAIN
		}
	}
	p.lock.Lock()
	b := p.bo
	p.bo = nil
	p.lock.Unlock()
	if b != nil {
		b.removeRange(p)
	}
	return nil
}

// uses reports whether the process has pages of d in [start, end), or may have. Pages of a prange's buffer that live need not be the process's any
// more: a child of a fork can have kept them. The mmap lock is held.
func (s *SVM) uses(d *Device, start, end uint64) bool {
	for at := start; at < end; {
		v, ok := s.space.FindVMAIn(at, at, end)
		if !ok || v.Start >= end {
			break
		}
		lo, hi := max(at, v.Start), min(end, v.End)
		at = hi
		pfns, err := s.space.Fault(&mm.FaultRequest{Start: lo, Pages: int((hi - lo) >> mm.PageShift), Owner: d.Pages.Owner()})
		if errors.Is(err, mm.EBUSY) {
			return true // one of them moves
		}
		for _, x := range pfns {
			if x.Folio == nil {
				continue
			}
			if pm, _ := x.Folio.Device(); pm != nil {
				return true
			}
		}
	}
	return false
}

// mapChunk maps a part of p that lies in one VMA.
func (s *SVM) mapChunk(p *prange, start, end uint64, set uint64, owner any, readOnly bool) error {
	n := p.watch.n
	seq := n.ReadBegin()
	pfns, err := s.space.Fault(&mm.FaultRequest{Notifier: n, Seq: seq, Start: start, Pages: int((end - start) >> mm.PageShift), Fault: true,
		Write: !readOnly, Owner: owner, Cause: mapping})
	switch {
	case errors.Is(err, mm.EBUSY):
		return mm.EAGAIN
	case err == mm.EPERM && !readOnly && s.cfg.Mistakes.IgnoreReadOnly:
		pfns, err = s.space.Fault(&mm.FaultRequest{Notifier: n, Seq: seq, Start: start, Pages: int((end - start) >> mm.PageShift), Fault: true,
			Owner: owner, Cause: mapping})
		fallthrough
	default:
		if err != nil {
			return err
		}
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if n.ReadRetry(seq) || len(p.children) > 0 || start < p.start || end > p.end {
		return mm.EAGAIN
	}
	flags := p.attrs.wanted(readOnly)
	// First all bus addresses, then the entries, then the old addresses go: on an error everything is as it was.
	fresh := make([][]busAddr, len(s.cfg.GPUs))
	s.each(set, func(i int, g *GPU) {
		if err == nil {
			fresh[i], err = s.busAddrs(pfns, g, flags.Write)
		}
	})
	first := (start - p.start) >> mm.PageShift
	s.each(set, func(i int, g *GPU) {
		if err == nil {
			list := make([]pagemap.Addr, len(pfns))
			for k := range list {
				list[k] = fresh[i][k].Addr
			}
			if err = g.VM.Update(start, list, flags); err == nil {
				if p.dma[i] == nil {
					p.dma[i] = make([]busAddr, p.pages())
				}
				for k := range fresh[i] {
					p.dma[i][int(first)+k], fresh[i][k] = fresh[i][k], p.dma[i][int(first)+k]
				}
				p.mapped = p.mapped || !s.cfg.Mistakes.MappedAtEnd
				g.VM.FlushTLB() // an entry that allowed more, or led elsewhere, may be remembered
			}
		}
		if err != nil && s.cfg.Mistakes.UpdateErrorLeaks {
			return
		}
		for k := range fresh[i] {
			g.unmapPage(&fresh[i][k])
		}
	})
	p.flags = flags
	return err
}

// busAddrs makes pages reachable for a GPU. On an error those come back that were.
func (s *SVM) busAddrs(pfns []mm.PFN, g *GPU, write bool) (out []busAddr, err error) {
	out = make([]busAddr, 0, len(pfns))
	for _, x := range pfns {
		a := busAddr{ok: true}
		if pm, idx := x.Folio.Device(); pm != nil {
			a.dev = s.deviceOf(pm)
			a.Addr, err = a.dev.Mem.DeviceMap(g.Device.Mem, idx)
		} else {
			a.Addr, err = g.Device.Mem.MapPage(x.Folio, write)
		}
		if err != nil {
			return out, mm.EFAULT
		}
		out = append(out, a)
	}
	return out, nil
}

func (s *SVM) deviceOf(pm mm.Pagemap) *Device {
	for _, g := range s.cfg.GPUs {
		if g.Device.Pages == pm {
			return g.Device
		}
	}
	return nil
}

// zap clears the entries of [start, end) of p on all GPUs; p.lock is held.
func (s *SVM) zap(p *prange, start, end uint64) {
	if !p.mapped {
		return
	}
	if start == p.start && end == p.end {
		p.mapped = false
	}
	for i, g := range s.cfg.GPUs {
		if p.dma[i] == nil {
			continue
		}
		g.VM.Clear(start, end)
		if !s.cfg.Mistakes.SkipTLBFlush {
			g.VM.FlushTLB()
		}
		s.event(i, svm.EvUnmap, start, end, "", nil)
	}
}

// take makes p unusable for the GPUs of set, for good or until they ask again.
func (s *SVM) take(p *prange, set uint64) {
	p.lock.Lock()
	defer p.lock.Unlock()
	s.each(set, func(i int, g *GPU) {
		if p.dma[i] == nil {
			return
		}
		g.VM.Clear(p.start, p.end)
		g.VM.FlushTLB()
		for k := range p.dma[i] {
			g.unmapPage(&p.dma[i][k])
		}
		p.dma[i] = nil
		s.event(i, svm.EvUnmap, p.start, p.end, "attributes", nil)
	})
}
