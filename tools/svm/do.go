package svm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	driver "github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
	"github.com/pumice-gpu/pumice/kernel/ttm"
)

// do does what s says. The value is a load's.
func (r *runner) do(s *Step) (value uint64, err error) {
	switch s.op {
	case opProcess:
		p, err := r.m.NewProcess(s.process)
		if err == nil {
			r.procs = append(r.procs, &proc{name: s.process, space: p.Space, p: p, queues: map[string]*svmsim.Queue{}, events: map[string]*svmsim.Event{}})
		}
		return 0, err
	case opSleep:
		r.sim.Sleep(s.wait)
		return 0, nil
	case opSettle:
		return 0, r.settle()
	case opPressure:
		b, err := r.m.GPUs[s.gpu].TTM.NewBO(uint64(s.n)<<mm.PageShift, false, pinned{})
		if err == nil {
			r.held[s.gpu] = append(r.held[s.gpu], b)
		}
		return 0, err
	case opRelax:
		r.relax(s.gpu)
		return 0, nil
	case opFail:
		r.fails[svmsim.FailPoint(s.value)] = s.n + 1
		return 0, nil
	case opExpectEvent, opExpectNoEvent, opExpectCount:
		return 0, r.expect(s, nil)
	}
	p := r.proc(s.process)
	if p == nil || p.exited {
		return 0, errGone
	}
	switch s.op {
	case opExit:
		r.exit(p)
	case opKill:
		p.exited = true
		p.p.Kill()
	case opQueue, opDestroy, opSubmit, opDoorbell, opEvent, opWait:
		return 0, r.queue(p, s)
	case opFork:
		r.procs = append(r.procs, &proc{name: s.name, space: p.space.Fork(s.name)})
	case opMap:
		return 0, p.space.Mmap(s.start, s.size, s.prot, s.kind)
	case opMunmap:
		return 0, p.space.Munmap(s.start, s.size)
	case opMprotect:
		return 0, p.space.Mprotect(s.start, s.size, s.prot)
	case opDontNeed:
		return 0, p.space.DontNeed(s.start, s.size)
	case opReclaim:
		p.space.Reclaim(s.start, s.size, int(s.size>>mm.PageShift))
	case opSet, opReset, opPrefetch:
		return 0, r.attributes(p, s)
	case opLoad, opStore:
		return r.access(p, s)
	default:
		return 0, r.expect(s, p)
	}
	return 0, nil
}

func (r *runner) attributes(p *proc, s *Step) error {
	for i, c := range p.p.On {
		if s.gpu >= 0 && i != s.gpu {
			continue
		}
		var err error
		switch s.op {
		case opReset:
			err = c.SVM.ResetAttrs(s.start, s.size)
		case opPrefetch:
			err = c.SVM.SetAttrs(s.start, s.size, []driver.Attr{{Type: driver.AttrPrefetchLoc, Value: uint32(s.value)}})
		default:
			err = c.SVM.SetAttrs(s.start, s.size, s.attrs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) access(p *proc, s *Step) (v uint64, err error) {
	off := s.start & (mm.PageSize - 1)
	switch {
	case s.gpu >= 0 && s.op == opStore:
		err = p.p.On[s.gpu].Access(s.start, true, func(b []byte) { binary.LittleEndian.PutUint64(b[off:], s.value) })
	case s.gpu >= 0:
		err = p.p.On[s.gpu].Access(s.start, false, func(b []byte) { v = binary.LittleEndian.Uint64(b[off:]) })
	case s.op == opStore:
		err = p.space.Store64(s.start, s.value)
	default:
		v, err = p.space.Load64(s.start)
	}
	if s.op == opStore {
		v = s.value
	}
	return v, err
}

var (
	errNoQueue = errors.New("the queue was never made")
	errNoEvent = errors.New("the event was never made")
)

// queue does a step that concerns a user queue or an event.
func (r *runner) queue(p *proc, s *Step) error {
	tell := func(what string) { r.frame("event", p.name+" "+s.name+": "+what, "", 0) }
	switch s.op {
	case opQueue:
		q, err := p.p.NewQueue(s.gpu, s.start)
		if err == nil {
			q.Observe = tell
			p.queues[s.name] = q
		}
		return err
	case opEvent:
		e := p.p.NewEvent()
		e.Observe = tell
		p.events[s.name] = e
		return nil
	case opWait:
		e := p.events[s.name]
		if e == nil {
			return errNoEvent
		}
		return e.Wait(s.wait)
	}
	q := p.queues[s.name]
	if q == nil {
		return errNoQueue
	}
	switch s.op {
	case opDestroy:
		q.Close()
	case opDoorbell:
		q.Doorbell()
	case opSubmit:
		id := 0
		if s.other != "" {
			e := p.events[s.other]
			if e == nil {
				return errNoEvent
			}
			id = e.ID
		}
		return q.Submit(s.start, s.value, id)
	}
	return nil
}

// settleTime bounds how long settle waits.
const settleTime = time.Second

// settle waits until no driver has work to do.
func (r *runner) settle() error {
	for until := r.sim.Now() + settleTime; ; r.sim.Sleep(time.Millisecond) {
		busy := ""
		for _, p := range r.procs {
			if p.p == nil || p.exited {
				continue
			}
			for _, c := range p.p.On {
				if in := c.SVM.Inspect(); !in.Idle || in.Evicted > 0 {
					busy = p.name
				}
			}
		}
		if busy == "" {
			return nil
		}
		if r.sim.Now() > until {
			return fmt.Errorf("the workers of %s still have work after %v", busy, settleTime)
		}
	}
}

// pinned is a buffer that cannot be evicted.
type pinned struct{}

func (pinned) EvictFlags(*ttm.BO) []ttm.Domain { return []ttm.Domain{ttm.VRAM} }
func (pinned) Move(*ttm.BO, ttm.Domain) error  { return mm.EBUSY }
func (pinned) Valuable(*ttm.BO) bool           { return false }
func (r *runner) relax(gpu int) {
	for _, b := range r.held[gpu] {
		b.Free()
	}
	r.held[gpu] = nil
}

// number writes a value as scenarios have it: small ones in decimal.
func number(v uint64) string {
	if v < 1<<16 {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%#x", v)
}
