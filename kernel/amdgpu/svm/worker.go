package svm

import (
	"errors"

	"github.com/pumice-gpu/pumice/kernel/gpusvm"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// runGC takes ranges apart whose addresses were unmapped, and with XNACK off maps again what is left of them.
func (s *SVM) runGC() {
	for !s.exiting.Load() {
		j, ok := s.dequeue(&s.gc)
		if !ok {
			break
		}
		s.svmLock.Lock()
		if j.op&opUnmap != 0 {
			s.collect(j)
		}
		s.svmLock.Unlock()
		if j.op == opRestore { // RESTORE that came by the wrong list
			s.enqueue(j.r, opRestore, 0, 0)
		}
		s.putBack(j.r)
	}
	if s.evicted.Load() > 0 && !s.exiting.Load() {
		s.restore.w.ModDelayed(0)
	}
}

// collect removes an unmapped range and rebuilds its survivors. svmLock is held.
func (s *SVM) collect(j job) {
	r := j.r.r
	if r.Removed() || r.Flags()&gpusvm.FlagUnmapped == 0 {
		return
	}
	partial := r.Flags()&gpusvm.FlagPartialUnmap != 0
	if partial {
		s.g.Evict(r, "munmap") // what is in VRAM outside of the hole must not go with the range
	}
	s.event(EvCollect, r.Start, r.End, "munmap", nil)
	s.removeRange(j.r)
	if !partial || s.cfg.XNACK {
		return
	}
	s.survivors(r.Start, r.End, s.rebuild)
}

// rebuild maps [start, end), inside one VMA, or leaves it to the restore worker.
func (s *SVM) rebuild(start, end uint64, a Attrs) {
	for addr := start; addr < end; {
		r, ro, err := s.insert(addr, start, end, a.Flags&FlagGPURO != 0)
		if err != nil {
			addr += mm.PageSize
			continue
		}
		if err := s.mapRange(r, a, migratePreferred, ro, "rebuild"); err != nil && !permanent(err) {
			s.enqueue(r, opRestore, 0, 0)
			s.beginRestore("rebuild")
		}
		addr = r.r.End
	}
}

// permanent says that trying again cannot help: the address is gone or may not be accessed.
func permanent(err error) bool {
	return errors.Is(err, mm.ENOENT) || errors.Is(err, mm.EFAULT) || errors.Is(err, mm.EPERM) || errors.Is(err, mm.EINVAL)
}

// runRestore maps invalidated ranges again and lets the queues run when nothing is left to do (XNACK off).
func (s *SVM) runRestore() {
	if s.exiting.Load() {
		return
	}
	n := s.evicted.Load()
	if n == 0 {
		return
	}
	if !s.cfg.Space.Get() {
		if s.evicted.Swap(0) > 0 {
			s.resume("process exit")
		}
		return
	}
	defer s.cfg.Space.Put()
	again := false
	for !s.exiting.Load() {
		j, ok := s.dequeue(&s.restore)
		if !ok {
			break
		}
		s.svmLock.Lock()
		err := s.restoreRange(j)
		s.svmLock.Unlock()
		if err != nil {
			s.enqueue(j.r, opRestore, 0, 0)
			again = true
		}
		s.putBack(j.r)
		if err != nil {
			// The rest of the list waits its turn: one range that fails must not keep the others unmapped, but the same
			// range must not be tried in a loop either.
			if s.cfg.Mistakes.HeadOfLine {
				s.toHead(j.r)
				break
			}
			if s.onlyFailed(j.r) {
				break
			}
		}
	}
	if !again {
		s.gc.w.Flush() // UNMAP goes first: survivors of ranges that were taken apart must be mapped too
		if s.endRestore(n) {
			return
		}
	}
	if !s.exiting.Load() {
		s.restore.w.QueueDelayed(restoreDelay)
	}
}

// toHead makes r the next range to be restored: only Mistakes.HeadOfLine wants that.
func (s *SVM) toHead(r *svmRange) {
	s.work.Lock()
	defer s.work.Unlock()
	if r.state == inRestore {
		s.restore.remove(r)
		s.restore.list = append([]*svmRange{r}, s.restore.list...)
	}
}

// onlyFailed reports whether the head of the restore list has come round to r again.
func (s *SVM) onlyFailed(r *svmRange) bool {
	s.work.Lock()
	defer s.work.Unlock()
	return len(s.restore.list) > 0 && s.restore.list[0] == r
}

// endRestore resumes the queues if nothing was invalidated since n evictions were counted. It takes svmLock: who
// dissolves a range has it off the lists for a while, and an empty list means nothing then.
func (s *SVM) endRestore(n int64) bool {
	if !s.cfg.Mistakes.ResumeUnlocked {
		s.svmLock.Lock()
		defer s.svmLock.Unlock()
	}
	s.g.NotifierLock.RLock()
	s.work.Lock()
	ok := s.idle() && s.evicted.CompareAndSwap(n, 0)
	if s.cfg.Mistakes.ResumeEarly && !ok {
		ok = s.evicted.Swap(0) > 0
	}
	s.work.Unlock()
	if ok {
		s.resume("restored")
	}
	s.g.NotifierLock.RUnlock()
	return ok
}

func (s *SVM) resume(cause string) {
	s.running.Store(false)
	s.event(EvResume, 0, 0, cause, nil)
	s.cfg.Queues.Resume()
}

// restoreRange maps one range again, with pages where they are. nil also when it is not wanted any more. svmLock is held.
func (s *SVM) restoreRange(j job) error {
	r := j.r
	if r.r.Removed() || r.r.Flags()&gpusvm.FlagUnmapped != 0 && j.op&opUnmap == 0 && s.gcPending(r) {
		return nil
	}
	a, _, _, _ := s.attrs.at(r.r.Start)
	if a.Access == AccessNone {
		s.unmapRanges(r)
		return nil
	}
	v, ok := s.vma(r.r.Start)
	if !ok || !fits(r, v) {
		_, err := s.dissolve(r, "restore")
		return err
	}
	ro := v.Prot&mm.ProtWrite == 0
	err := s.mapRange(r, a, migrateNone, ro, "restore")
	s.event(EvRestore, r.r.Start, r.r.End, "", err)
	if errors.Is(err, mm.EPERM) { // became read-only between the two looks
		return mm.EAGAIN
	}
	if err != nil && permanent(err) {
		// The entries from before the invalidation must not be there when queues run.
		s.unmapRanges(r)
		return nil
	}
	return err
}

// gcPending reports whether r's UNMAP is still to be processed.
func (s *SVM) gcPending(r *svmRange) bool {
	s.work.Lock()
	defer s.work.Unlock()
	return r.pending&opUnmap != 0
}
