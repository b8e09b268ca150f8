package host

import (
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

// retryDelay is how long a fault waits before it looks again at a page that its device keeps for now.
const retryDelay = 50 * time.Microsecond

// settle makes every page of [start, end) system memory or a device page of owner, because the CPU touched it. The mmap lock is held
// for reading.
func (s *Space) settle(start, end uint64, owner any) error {
	return s.settleFor(start, end, owner, mm.CPUFault)
}

// settleFor is settle for another cause.
func (s *Space) settleFor(start, end uint64, owner any, cause string) error {
	for a := start; a < end; {
		e := s.unsettled(&a, end, owner)
		switch {
		case e.mig != nil:
			s.waitMigrated(a)
		case e.dev != nil:
			if err := s.deviceFault(a, e.dev, cause); err != nil {
				return err
			}
		}
	}
	return nil
}

// unsettled moves a to the first address below end whose page migrates or is a device page, but not of owner, and returns its entry.
func (s *Space) unsettled(a *uint64, end uint64, owner any) entry {
	s.ptl.Lock()
	defer s.ptl.Unlock()
	for *a < end {
		k, i := slot(*a)
		t := s.tables[k]
		if t == nil {
			*a = (k + 1) << 21
			continue
		}
		for ; i < chunkPages && *a < end; i, *a = i+1, *a+mm.PageSize {
			if e := t.e[i]; e.mig != nil || e.dev != nil && (owner == nil || e.dev.pm.owner != owner) {
				return e
			}
		}
	}
	return entry{}
}

// waitMigrated waits until the page at a does not migrate.
func (s *Space) waitMigrated(a uint64) {
	s.migrated.Wait(func() bool {
		s.ptl.Lock()
		defer s.ptl.Unlock()
		return s.get(a).mig == nil
	}, sched.Forever)
}

// deviceFault asks the driver to bring the device page f at a home. Nil does not say that it came.
func (s *Space) deviceFault(a uint64, f *devFolio, cause string) error {
	s.ptl.Lock()
	mine := s.get(a).dev == f && s.get(a).mig == nil && !f.locked
	if mine {
		f.locked = true
		f.ref++
	}
	s.ptl.Unlock()
	if mine {
		err := f.pm.ops.MigrateToRAM(s, a, f, cause)
		s.ptl.Lock()
		f.locked = false
		free := f.drop()
		s.ptl.Unlock()
		free()
		if err != nil {
			return err
		}
	}
	s.ptl.Lock()
	still := s.get(a).dev == f
	s.ptl.Unlock()
	if still {
		s.world.Sleep(retryDelay)
	}
	return nil
}

// Fault is hmm_range_fault.
func (s *Space) Fault(r *mm.FaultRequest) ([]mm.PFN, error) {
	s.mmap.AssertRHeld()
	end := r.Start + uint64(r.Pages)<<mm.PageShift
	for a := r.Start; a < end; {
		v, ok := s.FindVMAIn(a, a, end)
		switch {
		case !ok || v.Start > a || v.Kind == mm.IO || v.Prot&mm.ProtRead == 0:
			return nil, mm.EFAULT
		case r.Write && v.Prot&mm.ProtWrite == 0:
			return nil, mm.EPERM
		}
		to := min(v.End, end)
		if r.Fault {
			if !r.Home && v.Anonymous() && s.watch(a, to, false) == mm.ENOMEM {
				return nil, mm.ENOMEM
			}
			if err := s.settleFor(a, to, r.Owner, r.Cause); err != nil {
				return nil, err
			}
			if !r.Home {
				if err := s.populate(a, to, r.Write); err != nil {
					return nil, err
				}
			}
		}
		a = to
	}
	there := []bool(nil)
	if !r.Fault || r.Home {
		there = present(r.Start, r.Pages)
	}
	out := make([]mm.PFN, r.Pages)
	folios := make([]sysFolio, r.Pages)
	s.ptl.Lock()
	for i := range out {
		a := r.Start + uint64(i)<<mm.PageShift
		e := s.get(a)
		switch {
		case e.mig != nil, r.Fault && e.dev != nil && (r.Owner == nil || e.dev.pm.owner != r.Owner):
			s.ptl.Unlock()
			return nil, mm.EBUSY
		case e.dev != nil:
			if e.dev.pm.owner == r.Owner {
				out[i] = mm.PFN{Folio: e.dev, Writable: true}
			}
		case there == nil || there[i]:
			folios[i].va = a
			out[i] = mm.PFN{Folio: &folios[i], Writable: r.Write}
		}
	}
	s.ptl.Unlock()
	if r.Notifier != nil && r.Notifier.ReadRetry(r.Seq) {
		return nil, mm.EBUSY
	}
	return out, nil
}

// populate makes the system pages of [start, end) present, writable ones for write.
func (s *Space) populate(start, end uint64, write bool) error {
	advice := uintptr(unix.MADV_POPULATE_READ)
	if write {
		advice = unix.MADV_POPULATE_WRITE
	}
	for a := start; a < end; {
		// A run without entries.
		s.ptl.Lock()
		for a < end && s.get(a) != (entry{}) {
			a += mm.PageSize
		}
		to := a
		for to < end && s.get(to) == (entry{}) {
			to += mm.PageSize
		}
		s.ptl.Unlock()
		if a == to {
			break
		}
		if s.missing.Load() {
			s.zeroAbsent(a, to)
		}
		for {
			_, _, e := unix.Syscall(unix.SYS_MADVISE, uintptr(a), uintptr(to-a), advice)
			if e == unix.EINTR || e == unix.EAGAIN {
				continue
			}
			if e == unix.EINVAL { // a kernel without it: what is mapped will do
				break
			}
			if e == unix.ENOMEM && !mappedAt(a, to) || e == unix.EFAULT {
				return mm.EFAULT
			}
			if e != 0 {
				return mm.ENOMEM
			}
			break
		}
		a = to
	}
	return nil
}

// zeroAbsent fills the absent pages of a range that is watched for missing pages, in a few calls where a touch would take a
// fault for each.
func (s *Space) zeroAbsent(start, end uint64) {
	there := present(start, int((end-start)>>mm.PageShift))
	for i := 0; i < len(there); {
		if there[i] {
			i++
			continue
		}
		j := i
		for j < len(there) && !there[j] {
			j++
		}
		for a, to := start+uint64(i)<<mm.PageShift, start+uint64(j)<<mm.PageShift; a < to; {
			n, e := s.u.zero(a, to)
			a += n
			if e == unix.EEXIST && n == 0 {
				a += mm.PageSize
			} else if e != 0 && n == 0 && !s.changing(e) {
				return // not watched
			}
		}
		i = j
	}
}

// present tells which of n pages are resident.
func present(start uint64, n int) []bool {
	vec := make([]byte, n)
	out := make([]bool, n)
	if n == 0 {
		return out
	}
	if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(start), uintptr(n)<<mm.PageShift, uintptr(unsafe.Pointer(&vec[0]))); e != 0 {
		return out
	}
	for i, b := range vec {
		out[i] = b&1 != 0
	}
	return out
}

func mappedAt(start, end uint64) bool {
	vec := make([]byte, (end-start)>>mm.PageShift)
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(start), uintptr(end-start), uintptr(unsafe.Pointer(&vec[0])))
	return e == 0
}
