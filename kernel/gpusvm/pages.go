package gpusvm

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
)

// hmmTimeout bounds how long Get tries while the pages keep changing (HMM_RANGE_DEFAULT_TIMEOUT).
const hmmTimeout = time.Second

// Pages flags, one word like Range's.
const (
	pagesDevmem   uint32 = 1 << iota // has device pages
	pagesDMA                         // has DMA mappings
	pagesUnmapped                    // mirror of FlagUnmapped
)

// Pages are the addresses of one range as one device sees them.
type Pages struct {
	r   *Range
	dev pagemap.Device

	flags atomic.Uint32

	// Guarded by NotifierLock (written under read, by one getter at a time: DriverLock orders them).
	addr    []pagemap.Addr
	devmem  *pagemap.Pagemap // where device pages are
	written bool             // the pages may be written through addr
}

// NewPages hangs a set of addresses for dev on r.
func (r *Range) NewPages(dev pagemap.Device) *Pages {
	p := &Pages{r: r, dev: dev}
	r.Pages = append(r.Pages, p)
	return p
}

// Mapped reports whether any DMA mapping or device page is held.
func (p *Pages) Mapped() bool { return p.flags.Load()&(pagesDevmem|pagesDMA) != 0 }

// InDevmem reports whether the pages are device memory of pm.
func (p *Pages) InDevmem(pm *pagemap.Pagemap) bool {
	return p.flags.Load()&pagesDevmem != 0 && p.devmem == pm
}

// Writable reports whether the pages were got for writing.
func (p *Pages) Writable() bool { return p.written }

// Addrs returns the address of each page. It holds while NotifierLock is held and Valid is true.
func (p *Pages) Addrs() []pagemap.Addr { return p.addr }

// Valid reports whether the addresses are still what the process has there; NotifierLock is held. A driver asks last,
// right before it writes page-table entries. The driver's Invalidate unmaps what it concerns, so that being mapped is
// being valid; the notifier's sequence number cannot tell, since it moves for every change in the window.
func (p *Pages) Valid() bool {
	p.r.svm.NotifierLock.AssertRHeld()
	return p.Mapped()
}

// GetOptions of Pages.Get.
type GetOptions struct {
	ReadOnly   bool
	Owner      any    // device pages of this owner may be used where they are
	Cause      string // why other device pages must come home
	DevmemOnly bool   // system pages are an error
	AllowMixed bool   // device and system pages in one range are fine
}

// Get makes the addresses valid: it brings the process's pages in and maps them for the device. DriverLock is held.
//
// Errors: EFAULT the range is unmapped or may not be accessed, EPERM not writable, EBUSY it kept changing for a second,
// EOPNOTSUPP pages in places that may not be mixed (the driver evicts the range and tries again), ENOMEM.
func (p *Pages) Get(o GetOptions) error {
	g := p.r.svm
	g.cfg.DriverLock.AssertHeld()
	s := g.cfg.Space
	deadline := g.world.Now() + hmmTimeout
	for {
		n := p.r.window.notifier
		seq := n.ReadBegin()
		g.NotifierLock.RLock()
		if p.Valid() && (o.ReadOnly || p.written) {
			g.NotifierLock.RUnlock()
			return nil
		}
		p.unmap() // got for reading only; the driver has cleared its entries
		g.NotifierLock.RUnlock()

		if !s.Get() {
			return mm.EFAULT
		}
		s.MmapLock().RLock()
		pfns, err := s.Fault(&mm.FaultRequest{Notifier: n, Seq: seq, Start: p.r.Start, Pages: p.r.NumPages(), Fault: true,
			Write: !o.ReadOnly, Owner: o.Owner, Cause: o.Cause})
		s.MmapLock().RUnlock()
		s.Put()
		if errors.Is(err, mm.EBUSY) {
			if g.world.Now() > deadline {
				return mm.EBUSY
			}
			g.world.Sleep(time.Microsecond)
			continue
		}
		if err != nil {
			return err
		}

		g.NotifierLock.RLock()
		switch {
		case p.flags.Load()&pagesUnmapped != 0:
			err = mm.EFAULT
		case n.ReadRetry(seq):
			err = mm.EAGAIN
		default:
			err = p.mapAll(pfns, o)
		}
		if err == nil {
			p.written = !o.ReadOnly
		} else if g.cfg.Mistakes.MapErrorLeaks {
			p.forget()
		} else {
			p.unmap()
		}
		g.NotifierLock.RUnlock()
		if !errors.Is(err, mm.EAGAIN) {
			return err
		}
	}
}

// mapAll fills addr; NotifierLock is held for reading. On an error the caller unmaps what was mapped.
func (p *Pages) mapAll(pfns []mm.PFN, o GetOptions) error {
	p.addr = make([]pagemap.Addr, 0, len(pfns))
	var zdd any
	system := false
	for _, pfn := range pfns {
		pm := pagemap.Of(pfn.Folio)
		if pm == nil {
			if o.DevmemOnly {
				return mm.EFAULT
			}
			if p.devmem != nil && !o.AllowMixed {
				return mm.EOPNOTSUPP
			}
			system = true
			a, err := p.dev.MapPage(pfn.Folio, !o.ReadOnly)
			if err != nil {
				return mm.EFAULT
			}
			p.addr = append(p.addr, a)
			p.flags.Store(p.flags.Load() | pagesDMA)
			continue
		}
		z := pfn.Folio.ZoneDeviceData()
		switch {
		case p.devmem != nil && pm != p.devmem, // one device's memory at a time
			!o.AllowMixed && (system || zdd != nil && z != zdd):
			return mm.EOPNOTSUPP
		}
		zdd = z
		_, idx := pfn.Folio.Device()
		a, err := pm.Ops.DeviceMap(p.dev, idx)
		if err != nil {
			return mm.EOPNOTSUPP
		}
		p.devmem = pm
		p.addr = append(p.addr, a)
		p.flags.Store(p.flags.Load() | pagesDevmem)
	}
	return nil
}

// Unmap gives all addresses up. In a notifier callback NotifierLock is held for writing already; elsewhere it is taken.
func (p *Pages) Unmap(inNotifier bool) {
	l := p.r.svm.NotifierLock
	if inNotifier {
		l.AssertHeld()
	} else {
		l.RLock()
		defer l.RUnlock()
	}
	p.unmap()
}

// UnmapLocked is Unmap for callers that hold NotifierLock for reading.
func (p *Pages) UnmapLocked() {
	p.r.svm.NotifierLock.AssertRHeld()
	p.unmap()
}

// Abandon is UnmapLocked for a driver that has got addresses and could not use them.
func (p *Pages) Abandon() {
	p.r.svm.NotifierLock.AssertRHeld()
	if p.r.svm.cfg.Mistakes.KeepsAddresses {
		p.forget()
		return
	}
	p.unmap()
}

// unmap is called with NotifierLock held.
func (p *Pages) unmap() {
	for _, a := range p.addr {
		if a.Proto == pagemap.System {
			p.dev.UnmapPage(a)
		} else {
			p.devmem.Ops.DeviceUnmap(p.dev, a)
		}
	}
	p.forget()
}

// forget drops the addresses without giving them up.
func (p *Pages) forget() {
	p.addr, p.devmem = nil, nil
	p.flags.Store(p.flags.Load() &^ (pagesDevmem | pagesDMA))
}

// Evict makes every device page of the range come home, by touching it as the CPU would; cause is told to whose pages they
// are. ETIME when it does not settle within a second.
func (g *SVM) Evict(r *Range, cause string) error {
	s := g.cfg.Space
	if !s.Get() {
		return mm.EFAULT
	}
	var err error
	defer func() {
		if err == nil || !g.cfg.Mistakes.EvictLeaksSpace {
			s.Put()
		}
	}()
	deadline := g.world.Now() + hmmTimeout
	for {
		n := r.window.notifier
		seq := n.ReadBegin()
		s.MmapLock().RLock()
		err = nil
		// Mapping by mapping: a part that is not mapped any more has nothing to bring home, nor has one that may not be accessed.
		for a := r.Start; a < r.End && err == nil; {
			v, ok := s.FindVMAIn(a, a, r.End)
			if !ok || v.Start >= r.End {
				break
			}
			a = max(a, v.Start)
			to := min(v.End, r.End)
			_, err = s.Fault(&mm.FaultRequest{Notifier: n, Seq: seq, Start: a, Pages: int((to - a) >> mm.PageShift), Fault: true, Home: true, Cause: cause})
			if errors.Is(err, mm.EFAULT) {
				err = nil
			}
			a = to
		}
		s.MmapLock().RUnlock()
		if !errors.Is(err, mm.EBUSY) {
			return err
		}
		if g.world.Now() > deadline {
			err = mm.ETIME
			return err
		}
		g.world.Sleep(time.Microsecond)
	}
}
