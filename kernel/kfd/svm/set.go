package svm

import (
	"errors"
	"time"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// request is one SetAttrs: what survives a retry.
type request struct {
	start, end uint64
	list       []kfd.SVMAttribute
	fresh      *bo             // video memory for the next prange that needs some
	noVRAM     bool            // the last allocation failed
	moved      map[uint64]bool // pranges whose move was tried, by start: once each, or two that do not fit take turns
}

// SetAttrs gives [start, start+size) attributes and does what they ask for.
func (s *SVM) SetAttrs(start, size uint64, list []kfd.SVMAttribute) error {
	if err := CheckRequest(list, s.bit); err != nil {
		return err
	}
	r := &request{start: start, end: start + size, list: list, moved: map[uint64]bool{}}
	defer func() {
		if r.fresh != nil {
			r.fresh.put()
		}
	}()
	for tries := 1; ; tries++ {
		err := s.setOnce(r)
		var need *needBO
		switch {
		case errors.As(err, &need):
			if r.fresh != nil {
				r.fresh.put()
			}
			r.fresh, err = s.newBO(need.dev, need.size)
			r.noVRAM = err != nil
		case errors.Is(err, mm.EAGAIN), errors.Is(err, mm.EBUSY):
			s.world.Sleep(time.Duration(min(tries, 20)) * 10 * time.Microsecond)
		case errors.Is(err, mm.ErrSIGBUS): // a page that could not be brought home: as hmm_range_fault has it
			return mm.EFAULT
		default:
			return err
		}
		if s.exiting.Load() {
			return mm.EFAULT
		}
	}
}

// setOnce goes through the call once. The attributes are stored even if a mapping fails; there is no way back.
func (s *SVM) setOnce(r *request) error {
	s.info.Lock()
	defer s.info.Unlock()
	s.flushAndLock()
	defer s.space.MmapLock().Unlock()
	if err := s.checkRange(r.start, r.end-r.start); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	update, remap, err := s.add(r.start, r.end, r.list)
	if err != nil {
		return err
	}
	var failed error
	for _, p := range update {
		if err := s.carryOut(p, r); err != nil {
			failed = err
			var need *needBO
			if errors.As(err, &need) {
				return err
			}
		}
	}
	for _, p := range remap {
		p.migrate.Lock()
		err := s.validateAndMap(p, p.start, p.end, allGPUs, "split")
		p.migrate.Unlock()
		if err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

// carryOut moves and maps one prange as its attributes, which have just been set, want it.
func (s *SVM) carryOut(p *prange, r *request) error {
	p.migrate.Lock()
	defer p.migrate.Unlock()
	old := p.attrs
	next := old.With(r.list, s.bit)
	p.lock.Lock()
	p.attrs = next
	mapped := p.mapped
	p.lock.Unlock()
	if lost := (old.Access | old.InPlace) &^ (next.Access | next.InPlace); lost != 0 && !s.cfg.Mistakes.LoseAccessNoop {
		s.take(p, lost)
	}
	if (old.Flags^next.Flags)&pteFlags != 0 && s.cfg.XNACK && !s.cfg.Mistakes.StaleFlags {
		s.take(p, s.all) // they ask again
	}
	moved := false
	if prefetches(r.list) && !r.moved[p.start] {
		before := p.inVRAM(p.start, p.end)
		err := s.moveTo(p, p.start, p.end, s.prefetchLoc(p), r.fresh, r.noVRAM, "prefetch")
		if err != nil {
			return err
		}
		r.moved[p.start], r.noVRAM = true, false
		if r.fresh != nil {
			r.fresh.put() // the prange has its own reference
			r.fresh = nil
		}
		moved = p.inVRAM(p.start, p.end) != before
	}
	if moved && mapped && (!s.cfg.XNACK || next.Flags&kfd.SVMFlagGPUAlwaysMapped != 0) {
		return nil // the move has invalidated it: the restore worker comes
	}
	if !moved && !s.updates(r.list) {
		return nil
	}
	return s.validateAndMap(p, p.start, p.end, allGPUs, "ioctl")
}

// prefetchLoc is where a prefetch brings p: nil is system memory (svm_range_best_prefetch_location). With XNACK off all GPUs that may access
// p must reach it there.
func (s *SVM) prefetchLoc(p *prange) *Device {
	i := s.gpu(p.attrs.Prefetch)
	if i < 0 {
		return nil
	}
	d := s.cfg.GPUs[i].Device
	if !s.cfg.XNACK {
		s.each(p.attrs.Access|p.attrs.InPlace, func(_ int, g *GPU) {
			if d != nil && g.Device.Pages.Owner() != d.Pages.Owner() {
				d = nil
			}
		})
	}
	return d
}

// same reports whether the attributes are p's already and there is nothing to do.
func (s *SVM) same(p *prange, list []kfd.SVMAttribute) bool {
	return p.attrs.With(list, s.bit) == p.attrs && !prefetches(list)
}

// add makes pranges over [start, end) whose bounds fit (svm_range_add): new ones in holes, copies of those that cross a bound. It returns
// those that attributes are to be applied to, and pieces whose entries are to be written anew because huge ones may have covered both.
// The mmap lock is held for writing, and mu.
func (s *SVM) add(start, end uint64, list []kfd.SVMAttribute) (update, remap []*prange, err error) {
	type hole struct{ start, end uint64 }
	var holes []hole
	var old []*prange
	for g, ok := range s.objects.Cover(start, end) {
		if ok {
			old = append(old, g.Value)
		} else {
			holes = append(holes, hole{g.Start, g.End})
		}
	}
	for _, p := range old {
		p.lock.Lock()
		mapped, complete := p.mapped, p.complete
		p.lock.Unlock()
		if s.same(p, list) && mapped && complete {
			continue
		}
		if p.start >= start && p.end <= end {
			update = append(update, p)
			continue
		}
		inside, other, err := s.copy(p, start, end)
		if err != nil {
			return nil, nil, err
		}
		update = append(update, inside)
		for _, q := range other {
			granule := uint64(mm.PageSize) << min(p.attrs.Granularity, 20)
			if mapped && (start > q.start && start&(granule-1) != 0 || end > q.start && end&(granule-1) != 0) {
				remap = append(remap, q)
			}
		}
	}
	for _, h := range holes {
		for at := h.start; at < h.end; {
			to := min(h.end, at&^(s.cfg.MaxRange-1)+s.cfg.MaxRange)
			to, charged := s.chargeable(at, to)
			p := s.newPrange(at, to, s.defaults())
			if charged {
				if err := p.charge(); err != nil {
					return nil, nil, err
				}
			}
			if err := p.register(); err != nil {
				p.uncharge()
				return nil, nil, err
			}
			s.enter(p)
			update = append(update, p)
			at = to
		}
	}
	return update, remap, nil
}

// copy replaces p by copies that end at the bounds (svm_range_clone and its splits): the one inside [start, end) and the others.
func (s *SVM) copy(p *prange, start, end uint64) (inside *prange, other []*prange, err error) {
	// A copy of all of p that is split as p would be. Notifiers first, then state: what comes in between reaches p, who passes it on.
	bounds := []uint64{p.start}
	for _, at := range []uint64{start, end} {
		if at > p.start && at < p.end {
			bounds = append(bounds, at)
		}
	}
	bounds = append(bounds, p.end)
	var pieces []*prange
	for i := range len(bounds) - 1 {
		q := s.newPrange(bounds[i], bounds[i+1], p.attrs)
		if err := q.register(); err != nil {
			return nil, nil, err
		}
		pieces = append(pieces, q)
	}
	w, b := p.watch, p.bo
	p.lock.Lock()
	for _, q := range pieces {
		q.lock.Lock()
		lo, hi := (q.start-p.start)>>mm.PageShift, (q.end-p.start)>>mm.PageShift
		for i, d := range p.dma {
			if d != nil {
				q.dma[i] = d[lo:hi:hi]
			}
		}
		q.mapped, q.complete, q.flags, q.charged = p.mapped, p.complete, p.flags, p.charged
		if !s.cfg.Mistakes.SplitForgetsInvalid {
			q.invalid.Store(p.invalid.Load())
		}
		if b != nil {
			q.bo, q.offset = b, p.offset+lo
			b.addRange(q)
		}
		q.recount()
		q.queues = p.queues
		q.lock.Unlock()
	}
	w.retired, w.heirs = true, pieces
	p.dma, p.bo, p.mapped, p.charged = make([][]busAddr, len(p.dma)), nil, false, false
	p.lock.Unlock()
	s.removeObject(p)
	if b != nil {
		b.removeRange(p)
	}
	for _, q := range pieces {
		s.enter(q)
		if q.start >= start && q.end <= end {
			inside = q
		} else {
			other = append(other, q)
		}
	}
	w.n.Remove()
	return inside, other, nil
}
