package sched

import (
	"fmt"
	"time"
)

// acquire checks the lock order for the current task and records the lock. Try-locks cannot dead-lock, so they are
// recorded but not checked, as in lockdep.
func (s *Sim) acquire(c *Class, lock any, read, try bool) {
	t := s.cur
	if !try {
		for _, h := range t.held {
			if h.class.Rank > c.Rank || h.class.Rank == c.Rank && !(h.class == c && c.Nests) {
				s.Fail(&LockOrderError{Task: t.name, Want: c.Name, Held: t.heldNames()})
			}
		}
	}
	t.held = append(t.held, &heldLock{class: c, lock: lock, read: read})
}

func (s *Sim) release(c *Class, lock any, read bool) {
	t := s.cur
	for i := len(t.held) - 1; i >= 0; i-- {
		if h := t.held[i]; h.lock == lock && h.read == read {
			t.held = append(t.held[:i], t.held[i+1:]...)
			return
		}
	}
	s.Fail(fmt.Errorf("sched: task %s unlocks %s, which it does not hold", t.name, c.Name))
}

// wait blocks the current task on a lock's queue.
func (s *Sim) wait(q *[]*simTask, why string) {
	*q = append(*q, s.cur)
	s.block(why)
}

// wakeAll makes every task of a queue runnable; each looks at the lock again.
func wakeAll(q *[]*simTask) {
	for _, t := range *q {
		t.blocked = false
	}
	*q = nil
}

type simMutex struct {
	sim   *Sim
	class *Class
	owner *simTask
	queue []*simTask
}

func (s *Sim) NewMutex(c *Class) Mutex { return &simMutex{sim: s, class: c} }

func (m *simMutex) Lock() {
	s := m.sim
	if s.over {
		return
	}
	s.Yield("lock " + m.class.Name)
	if m.owner == s.cur {
		s.Fail(fmt.Errorf("sched: task %s locks %s twice", s.cur.name, m.class.Name))
	}
	s.acquire(m.class, m, false, false)
	for m.owner != nil {
		s.wait(&m.queue, m.class.Name+" (held by "+m.owner.name+")")
	}
	m.owner = s.cur
}

func (m *simMutex) TryLock() bool {
	s := m.sim
	if s.over {
		return true
	}
	s.Yield("trylock " + m.class.Name)
	if m.owner != nil {
		return false
	}
	s.acquire(m.class, m, false, true)
	m.owner = s.cur
	return true
}

func (m *simMutex) Unlock() {
	s := m.sim
	if s.over {
		return
	}
	s.release(m.class, m, false)
	m.owner = nil
	wakeAll(&m.queue)
	s.Yield("unlock " + m.class.Name)
}

func (m *simMutex) AssertHeld() {
	if !m.sim.over && m.owner != m.sim.cur {
		m.sim.Fail(fmt.Errorf("sched: task %s does not hold %s", m.sim.cur.name, m.class.Name))
	}
}

type simRWSem struct {
	sim     *Sim
	class   *Class
	writer  *simTask
	readers map[*simTask]int
	waiting int // writers in the queue
	queue   []*simTask
}

func (s *Sim) NewRWSem(c *Class) RWSem {
	return &simRWSem{sim: s, class: c, readers: map[*simTask]int{}}
}

func (m *simRWSem) Lock() {
	s := m.sim
	if s.over {
		return
	}
	s.Yield("write-lock " + m.class.Name)
	s.acquire(m.class, m, false, false)
	for m.writer != nil || len(m.readers) > 0 {
		m.waiting++
		s.wait(&m.queue, m.class.Name+" for writing")
		m.waiting--
	}
	m.writer = s.cur
}

func (m *simRWSem) TryLock() bool {
	s := m.sim
	if s.over {
		return true
	}
	s.Yield("write-trylock " + m.class.Name)
	if m.writer != nil || len(m.readers) > 0 {
		return false
	}
	s.acquire(m.class, m, false, true)
	m.writer = s.cur
	return true
}

func (m *simRWSem) Unlock() {
	s := m.sim
	if s.over {
		return
	}
	s.release(m.class, m, false)
	m.writer = nil
	wakeAll(&m.queue)
	s.Yield("write-unlock " + m.class.Name)
}

func (m *simRWSem) RLock() {
	s := m.sim
	if s.over {
		return
	}
	s.Yield("read-lock " + m.class.Name)
	s.acquire(m.class, m, true, false)
	for m.writer != nil || m.waiting > 0 {
		s.wait(&m.queue, m.class.Name+" for reading")
	}
	m.readers[s.cur]++
}

func (m *simRWSem) TryRLock() bool {
	s := m.sim
	if s.over {
		return true
	}
	s.Yield("read-trylock " + m.class.Name)
	if m.writer != nil || m.waiting > 0 {
		return false
	}
	s.acquire(m.class, m, true, true)
	m.readers[s.cur]++
	return true
}

func (m *simRWSem) RUnlock() {
	s := m.sim
	if s.over {
		return
	}
	s.release(m.class, m, true)
	if m.readers[s.cur]--; m.readers[s.cur] <= 0 {
		delete(m.readers, s.cur)
	}
	wakeAll(&m.queue)
	s.Yield("read-unlock " + m.class.Name)
}

func (m *simRWSem) AssertHeld() {
	if !m.sim.over && m.writer != m.sim.cur {
		m.sim.Fail(fmt.Errorf("sched: task %s does not hold %s for writing", m.sim.cur.name, m.class.Name))
	}
}

func (m *simRWSem) AssertRHeld() {
	if !m.sim.over && m.writer != m.sim.cur && m.readers[m.sim.cur] == 0 {
		m.sim.Fail(fmt.Errorf("sched: task %s does not hold %s", m.sim.cur.name, m.class.Name))
	}
}

type simWaitQueue struct {
	sim   *Sim
	name  string
	queue []*simTask
}

func (s *Sim) NewWaitQueue(name string) WaitQueue { return &simWaitQueue{sim: s, name: name} }

func (q *simWaitQueue) Wait(cond func() bool, timeout time.Duration) bool {
	s := q.sim
	if s.over {
		return false
	}
	s.Yield("wait " + q.name)
	expired := false
	if timeout >= 0 {
		t := s.cur
		timer := s.at(timeout, q.name, func() {
			expired = true
			t.blocked = false
		})
		defer timer.Stop()
	}
	for {
		// cond may take locks and so let others run: put the task on the queue first, or a Wake in between is lost.
		q.queue = append(q.queue, s.cur)
		if cond() {
			q.remove(s.cur)
			return true
		}
		if s.over {
			return false
		}
		if expired {
			q.remove(s.cur)
			return false
		}
		if !q.has(s.cur) { // woken while cond was evaluated
			continue
		}
		s.block(q.name)
		q.remove(s.cur)
	}
}

func (q *simWaitQueue) has(t *simTask) bool {
	for _, x := range q.queue {
		if x == t {
			return true
		}
	}
	return false
}

func (q *simWaitQueue) remove(t *simTask) {
	for i, x := range q.queue {
		if x == t {
			q.queue = append(q.queue[:i], q.queue[i+1:]...)
			return
		}
	}
}

func (q *simWaitQueue) Wake() {
	s := q.sim
	if s.over {
		return
	}
	for _, t := range q.queue {
		// A task that is evaluating its condition is on the queue too, perhaps blocked on another lock: only those that
		// wait here are made runnable.
		if t.blocked && t.why == q.name {
			t.blocked = false
		}
	}
	q.queue = nil
	s.Yield("wake " + q.name)
}
