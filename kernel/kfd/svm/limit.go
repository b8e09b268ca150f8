package svm

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/kernel/mm"
)

// Limit bounds the system memory that is mapped for good on the GPUs of a machine (kfd_mem_limit). With XNACK off all registered memory is:
// it is charged when it is registered and given back when it goes. Files are not charged: their pages can be written back and dropped, and a
// large model that is mapped and copied would meet the limit at once (Linux charges them; kernel-svm §17, 20).
type Limit struct {
	Max  int64 // bytes
	used atomic.Int64
}

// Used returns the bytes charged.
func (l *Limit) Used() int64 { return l.used.Load() }

// charge reserves bytes; ENOMEM when there are not as many left.
func (l *Limit) charge(bytes uint64) error {
	if l.used.Add(int64(bytes)) > l.Max {
		l.used.Add(-int64(bytes))
		return mm.ENOMEM
	}
	return nil
}

// chargeable cuts [start, end), a hole between pranges, where files begin and end, and says whether the piece is charged; the mmap lock is held.
func (s *SVM) chargeable(start, end uint64) (to uint64, charged bool) {
	if s.cfg.Limit == nil || s.cfg.XNACK {
		return end, false
	}
	for at := start; at < end; {
		v, ok := s.space.FindVMA(at)
		if !ok {
			break
		}
		is := v.Kind != mm.File || s.cfg.Mistakes.ChargeFiles
		if at > start && is != charged {
			return at, charged
		}
		charged, at = is, v.End
	}
	return end, charged
}

// charge charges p for the limit, if it counts.
func (p *prange) charge() error {
	if err := p.s.cfg.Limit.charge(p.end - p.start); err != nil {
		return err
	}
	p.charged = true
	return nil
}

// uncharge gives back what p was charged for; a piece of it takes its own part along.
func (p *prange) uncharge() {
	if p.charged {
		p.s.cfg.Limit.used.Add(-int64(p.end - p.start))
		p.charged = false
	}
}
