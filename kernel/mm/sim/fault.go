package sim

import (
	"encoding/binary"
	"time"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

// retryDelay is how long a CPU takes to run the faulting instruction again when a driver asked for that.
const retryDelay = 10 * time.Microsecond

// resolve makes the page of addr accessible to the CPU (handle_mm_fault, until it succeeds). mmap_lock is held for
// reading. keepDevice, if not nil, accepts a device-private entry of that owner as it is; cause is
// told to the drivers of others.
func (s *Space) resolve(addr uint64, write bool, keepDevice any, cause string) error {
	m := s.mem
	page := addr >> mm.PageShift
	for {
		v, ok := s.vmaAt(addr)
		if !ok || v.Prot == 0 {
			return mm.EFAULT
		}
		if write && v.Prot&mm.ProtWrite == 0 {
			return mm.EPERM
		}
		m.ptl.Lock()
		p := s.ptes[page]
		var err error
		switch {
		case p == nil, p.state == pteSwap:
			m.unlock()
			err = s.fill(page, p, v.Prot&mm.ProtWrite != 0)
		case p.state == pteMigration:
			m.unlock()
			m.migrated.Wait(func() bool {
				m.ptl.Lock()
				defer m.unlock()
				q := s.ptes[page]
				return q == nil || q.state != pteMigration
			}, sched.Forever)
		case p.state == pteDevice && keepDevice != nil && p.folio.pm.owner == keepDevice && (!write || p.writable):
			m.unlock()
			return nil
		case p.state == pteDevice:
			err = s.deviceFault(addr, p, cause)
		case write && !p.writable:
			err = s.writeFault(page, p)
		default:
			m.unlock()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// fill brings in a zero page or a swapped one.
func (s *Space) fill(page uint64, old *pte, writable bool) error {
	f, err := s.mem.alloc()
	if err != nil {
		return err
	}
	s.mem.ptl.Lock()
	if s.ptes[page] == old {
		if old != nil {
			copy(f.data, old.swap)
			writable = old.writable
			delete(s.ptes, page)
		}
		s.install(page, f, writable)
	}
	s.mem.unlock()
	s.mem.PutFolio(f)
	return nil
}

// writeFault breaks copy-on-write; called with the PTL held, returns without.
func (s *Space) writeFault(page uint64, p *pte) error {
	m := s.mem
	if p.folio.maps == 1 && p.folio.ref == 1 {
		p.writable = true
		m.unlock()
		return nil
	}
	old := p.folio
	old.ref++
	m.unlock()
	defer func() {
		m.ptl.Lock()
		m.put(old)
		m.unlock()
	}()
	f, err := m.alloc()
	if err != nil {
		return err
	}
	a := page << mm.PageShift
	end := s.notifiers.Invalidate(&mm.Invalidation{Start: a, End: a + mm.PageSize, Event: mm.EventClear, Blockable: true})
	m.ptl.Lock()
	if s.ptes[page] == p && p.state == ptePresent && p.folio == old {
		copy(f.data, old.data)
		s.zap(page)
		s.install(page, f, true)
	}
	m.unlock()
	end()
	m.PutFolio(f)
	return nil
}

// deviceFault asks the driver to bring a device-private page back; called with the PTL held, returns without.
func (s *Space) deviceFault(addr uint64, p *pte, cause string) error {
	m := s.mem
	f := p.folio
	f.ref++
	m.unlock()
	locked := f.lock.TryLock()
	if locked {
		m.ptl.Lock()
		same := s.ptes[addr>>mm.PageShift] == p && p.state == pteDevice
		m.unlock()
		var err error
		if same {
			err = f.pm.ops.MigrateToRAM(s, addr, f, cause)
		}
		f.lock.Unlock()
		if err != nil {
			s.drop(f)
			return mm.ErrSIGBUS
		}
	}
	s.drop(f)
	m.ptl.Lock()
	again := s.ptes[addr>>mm.PageShift] == p && p.state == pteDevice
	m.unlock()
	if again { // the driver wants the instruction to be run again, or another task has the page
		m.world.Sleep(retryDelay)
	}
	return nil
}

func (s *Space) drop(f *folio) {
	s.mem.ptl.Lock()
	s.mem.put(f)
	s.mem.unlock()
}

// absent reports whether the CPU's page table has nothing, or a swap entry, for addr.
func (s *Space) absent(addr uint64) bool {
	s.mem.ptl.Lock()
	defer s.mem.unlock()
	p := s.ptes[addr>>mm.PageShift]
	return p == nil || p.state == pteSwap
}

// Fault is hmm_range_fault.
func (s *Space) Fault(r *mm.FaultRequest) ([]mm.PFN, error) {
	s.mmap.AssertRHeld()
	out := make([]mm.PFN, r.Pages)
	for i := range out {
		addr := r.Start + uint64(i)<<mm.PageShift
		if v, ok := s.vmaAt(addr); !ok || v.Kind == mm.IO {
			return nil, mm.EFAULT
		}
		if r.Fault && !(r.Home && s.absent(addr)) {
			if err := s.resolve(addr, r.Write, r.Owner, r.Cause); err != nil {
				return nil, err
			}
		}
	}
	s.mem.ptl.Lock()
	for i := range out {
		p := s.ptes[r.Start>>mm.PageShift+uint64(i)]
		switch {
		case p == nil, p.state == pteSwap:
			if r.Fault && !r.Home {
				s.mem.unlock()
				return nil, mm.EBUSY
			}
			continue
		case p.state == pteMigration, r.Fault && r.Write && !p.writable:
			s.mem.unlock()
			return nil, mm.EBUSY
		case p.state == pteDevice && p.folio.pm.owner != r.Owner:
			if r.Fault {
				s.mem.unlock()
				return nil, mm.EBUSY
			}
			continue
		}
		out[i] = mm.PFN{Folio: p.folio, Writable: p.writable}
	}
	s.mem.unlock()
	if r.Notifier != nil && r.Notifier.ReadRetry(r.Seq) {
		return nil, mm.EBUSY
	}
	return out, nil
}

// access runs fn on the page's bytes as the CPU would, faulting as needed.
func (s *Space) access(addr uint64, write bool, fn func(b []byte)) error {
	s.mmap.RLock()
	defer s.mmap.RUnlock()
	for {
		switch err := s.resolve(addr, write, nil, mm.CPUFault); err {
		case nil:
		case mm.EFAULT, mm.EPERM:
			return mm.ErrSIGSEGV
		default:
			return err
		}
		s.mem.ptl.Lock()
		p := s.ptes[addr>>mm.PageShift]
		if p == nil || p.state != ptePresent || write && !p.writable { // changed since; fault again
			s.mem.unlock()
			continue
		}
		fn(p.folio.data)
		s.mem.unlock()
		return nil
	}
}

// Load64 is a CPU load of 8 aligned bytes.
func (s *Space) Load64(addr uint64) (v uint64, err error) {
	err = s.access(addr, false, func(b []byte) { v = binary.LittleEndian.Uint64(b[addr&(mm.PageSize-1)&^7:]) })
	return v, err
}

// Store64 is a CPU store of 8 aligned bytes.
func (s *Space) Store64(addr, v uint64) error {
	return s.access(addr, true, func(b []byte) { binary.LittleEndian.PutUint64(b[addr&(mm.PageSize-1)&^7:], v) })
}
