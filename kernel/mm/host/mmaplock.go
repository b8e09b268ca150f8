package host

import (
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

// mmapLock is the mmap lock as callers of Space see it.
//
// In Linux whoever holds the mmap lock sees every munmap, mremap and madvise that is over: they held it too. Here the process changes
// its memory by itself and a message tells of it later: munmap returns once the message is read, not once it is carried out. Memory that
// was mapped anew at the same address could then migrate first, and the old message would take its pages. So the lock is had only when
// nothing is under way; the worker, which carries messages out, takes the plain semaphore.
type mmapLock struct {
	sched.RWSem
	s *Space
}

func (l mmapLock) Lock() {
	for {
		l.RWSem.Lock()
		if l.s.quiet() {
			return
		}
		l.RWSem.Unlock()
		l.s.Sync()
	}
}

func (l mmapLock) RLock() {
	for {
		l.RWSem.RLock()
		if l.s.quiet() {
			return
		}
		l.RWSem.RUnlock()
		l.s.Sync()
	}
}

func (l mmapLock) TryLock() bool {
	if !l.RWSem.TryLock() {
		return false
	}
	if l.s.quiet() {
		return true
	}
	l.RWSem.Unlock()
	return false
}

func (l mmapLock) TryRLock() bool {
	if !l.RWSem.TryRLock() {
		return false
	}
	if l.s.quiet() {
		return true
	}
	l.RWSem.RUnlock()
	return false
}

// quiet reports that every change of the address space whose system call has returned is carried out. The order of the looks matters: a
// message is in the descriptor, then in the reader's hands, then among the pending ones.
func (s *Space) quiet() bool {
	if s.closed.Load() {
		return true
	}
	fds := []unix.PollFd{{Fd: int32(s.u.fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 0); n != 0 || err != nil || s.reading.Load() {
		return false
	}
	s.ptl.Lock()
	defer s.ptl.Unlock()
	return s.pending == 0
}
