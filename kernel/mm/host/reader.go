package host

import (
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

// reader reads the descriptor until the Space is closed. It waits for nothing but messages.
func (s *Space) reader() {
	buf := make([]byte, 64*msgBytes)
	fds := []unix.PollFd{{Fd: int32(s.u.fd), Events: unix.POLLIN}, {Fd: int32(s.eventFD), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return
		}
		for {
			s.reading.Store(true)
			ms := s.u.read(buf)
			for _, m := range ms {
				if m.event == evPagefault {
					s.fault(m.b &^ (mm.PageSize - 1))
					continue
				}
				s.Events.Add(1)
				s.ptl.Lock()
				s.pending++
				s.events = append(s.events, m)
				s.ptl.Unlock()
				s.work.Wake()
			}
			s.reading.Store(false)
			if len(ms) == 0 {
				break
			}
		}
		if fds[1].Revents != 0 {
			var b [8]byte
			_, _ = unix.Read(s.eventFD, b[:])
			// What was read before the poke is in the queue: the tokens stand behind it.
			s.ptl.Lock()
			for _, t := range s.tokens {
				s.events = append(s.events, message{event: evToken, a: uint64(len(s.waiting))})
				s.waiting = append(s.waiting, t)
			}
			s.tokens = nil
			s.ptl.Unlock()
			s.work.Wake()
			if s.closed.Load() {
				_ = unix.Close(s.u.fd)
				return
			}
		}
	}
}

// evToken marks a Sync in the queue of events.
const evToken = 0xff

// fault serves a CPU touch of an absent page.
func (s *Space) fault(a uint64) {
	s.ptl.Lock()
	e := s.get(a)
	wait := e.mig != nil || s.pending > 0 && s.overtakes(a, e.dev != nil)
	s.ptl.Unlock()
	switch {
	case wait:
		// Woken when the migration, or the event, is done with.
	case e.dev != nil:
		s.Faults.Add(1)
		s.world.Go("cpu fault", true, func() { s.serve(a) })
	default:
		s.Zeroes.Add(1)
		if _, err := s.u.zero(a, a+mm.PageSize); err != 0 {
			s.u.wake(a, a+mm.PageSize) // it has come meanwhile, or the VMA is gone
		}
	}
}

// overtakes reports whether a fault at a must wait for an event that came before it: content that was given up must not come back, and
// content that mremap moves must not be taken for absent. The PTL is held.
func (s *Space) overtakes(a uint64, device bool) bool {
	for _, m := range append(s.events, s.current) {
		switch m.event {
		case evUnmap, evRemove:
			if device && a >= m.a && a < m.b {
				return true
			}
		case evRemap:
			if a >= m.b && a < m.b+m.c {
				return true
			}
		}
	}
	return false
}

// serve brings the device page at a home.
func (s *Space) serve(a uint64) {
	s.mmap.RLock()
	err := s.settle(a, a+mm.PageSize, nil)
	s.mmap.RUnlock()
	if err != nil {
		// do_swap_page would raise SIGBUS.
		s.u.poison(a)
	}
	s.u.wake(a, a+mm.PageSize)
}

// worker carries out events in the order in which they happened.
func (s *Space) worker() {
	for {
		var m message
		s.work.Wait(func() bool {
			s.ptl.Lock()
			defer s.ptl.Unlock()
			if len(s.events) == 0 {
				return s.closed.Load()
			}
			m = s.events[0]
			s.events = s.events[1:]
			s.current = m
			return true
		}, sched.Forever)
		switch m.event {
		case 0:
			return
		case evToken:
			s.ptl.Lock()
			t := s.waiting[0]
			s.waiting = s.waiting[1:]
			s.ptl.Unlock()
			close(t)
		case evUnmap:
			s.gone(m.a, m.b, mm.EventUnmap)
		case evRemove:
			s.gone(m.a, m.b, mm.EventClear)
		case evRemap:
			s.remapped(m.a, m.b, m.c)
		}
		if s.OnUnmap != nil && (m.event == evUnmap || m.event == evRemap) && !s.stage.contains(m.a) {
			end := m.b
			if m.event == evRemap {
				end = m.a + m.c
			}
			s.OnUnmap(m.a, end)
		}
		if m.event != evToken {
			s.ptl.Lock()
			s.pending--
			s.current = message{}
			s.ptl.Unlock()
			if m.event == evRemap {
				s.u.wake(m.b, m.b+m.c)
			} else {
				s.u.wake(m.a, m.b)
			}
		}
	}
}

// gone takes in that the process has given [start, end) up.
func (s *Space) gone(start, end uint64, ev mm.Event) {
	if s.stage.contains(start) {
		return
	}
	s.mmap.Lock()
	defer s.mmap.Unlock()
	done := s.notifiers.Invalidate(&mm.Invalidation{Start: start, End: end, Event: ev, Blockable: true})
	for _, free := range s.cut(start, end) {
		free()
	}
	done()
}

// cut removes all device entries of [start, end). Evictions under way are waited for.
func (s *Space) cut(start, end uint64) (frees []func()) {
	for _, a := range s.entries(start, end) {
		s.waitMigrated(a)
		s.ptl.Lock()
		if f := s.get(a).dev; f != nil && s.get(a).mig == nil {
			s.set(a, entry{})
			f.va = 0
			frees = append(frees, f.drop())
		}
		s.ptl.Unlock()
	}
	return frees
}

// entries lists the addresses in [start, end) that have an entry, in order.
func (s *Space) entries(start, end uint64) (out []uint64) {
	s.ptl.Lock()
	defer s.ptl.Unlock()
	for k := start >> 21; k <= (end-1)>>21; k++ {
		if len(s.tables) == 0 {
			return out
		}
		t := s.tables[k]
		if t == nil {
			continue
		}
		for i := range t.e {
			if a := k<<21 | uint64(i)<<mm.PageShift; a >= start && a < end && t.e[i] != (entry{}) {
				out = append(out, a)
			}
		}
	}
	return out
}

// remapped takes in that mremap has moved [from, from+n) to to: device pages move along, mirrors of the old place end.
func (s *Space) remapped(from, to, n uint64) {
	s.mmap.Lock()
	defer s.mmap.Unlock()
	done := s.notifiers.Invalidate(&mm.Invalidation{Start: from, End: from + n, Event: mm.EventUnmap, Blockable: true})
	for _, a := range s.entries(from, from+n) {
		s.waitMigrated(a)
		s.ptl.Lock()
		if f := s.get(a).dev; f != nil {
			s.set(a, entry{})
			f.va = to + (a - from)
			s.set(f.va, entry{dev: f})
		}
		s.ptl.Unlock()
	}
	done()
}

func (s *Space) poke() {
	b := [8]byte{1}
	_, _ = unix.Write(s.eventFD, b[:])
}

// Sync returns when every change of the address space that was over when it was called has been taken in.
func (s *Space) Sync() {
	if s.closed.Load() {
		return
	}
	t := make(chan struct{})
	s.ptl.Lock()
	s.tokens = append(s.tokens, t)
	s.ptl.Unlock()
	s.poke()
	<-t
}
