package sched

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// SimConfig sets up one simulated run.
type SimConfig struct {
	Seed uint64
	// Replay, when not nil, decides the scheduling choices instead of the seed; when it runs out, the running task goes on.
	Replay Schedule
	// MaxSteps ends a run that does not stop by itself; 0 means a million.
	MaxSteps int
	// SwitchOdds is the chance of 1 in n that a yield considers another task; 0 means 3.
	SwitchOdds int
	// Trace, when not nil, gets one line for each step: time, task, label.
	Trace io.Writer
}

// Schedule is the list of choices of a run: at each decision, 0 keeps the running task (or takes the first runnable
// one), k takes the k-th other runnable task in order of creation.
type Schedule []int32

// Sim is the deterministic World. All tasks of a Sim run one at a time; a task that never calls the World is never
// interrupted. Sim's own fields need no lock: they belong to the running task, and the hand-over orders them.
type Sim struct {
	cfg   SimConfig
	rng   *rand.Rand // of scheduling choices
	data  *rand.Rand // of Rand64: what is random besides stays what it was when a schedule is replayed or shrunk
	now   time.Duration
	tasks []*simTask // those that have not ended, in order of creation
	made  int        // tasks ever created
	cur   *simTask
	timer timerHeap
	seq   uint64 // orders timers of the same time

	schedule Schedule // choices taken
	steps    int
	err      error
	over     bool
	ended    chan struct{}
	stopper  *simTask // the task that ended the run
}

type simTask struct {
	id      int
	name    string
	daemon  bool
	run     chan struct{} // one token: go on
	dead    chan struct{} // closed when the goroutine has ended
	blocked bool
	done    bool
	why     string // what it waits for
	held    []*heldLock
}

type heldLock struct {
	class *Class
	lock  any
	read  bool
}

// NewSim makes a World; Run starts it.
func NewSim(cfg SimConfig) *Sim {
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = 1_000_000
	}
	if cfg.SwitchOdds == 0 {
		cfg.SwitchOdds = 3
	}
	return &Sim{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15)),
		data: rand.New(rand.NewPCG(cfg.Seed, 0xbf58476d1ce4e5b9)), ended: make(chan struct{})}
}

// DeadlockError says that no task can run and some are not daemons.
type DeadlockError struct{ Waiting []string }

func (e *DeadlockError) Error() string {
	return "sched: dead-lock: " + strings.Join(e.Waiting, "; ")
}

// LockOrderError says that a task took a lock against the order of ranks.
type LockOrderError struct {
	Task, Want string
	Held       []string
}

func (e *LockOrderError) Error() string {
	return fmt.Sprintf("sched: lock order: task %s takes %s while holding %s", e.Task, e.Want, strings.Join(e.Held, ", "))
}

// ErrSteps says that a run took more than SimConfig.MaxSteps steps.
var ErrSteps = errors.New("sched: too many steps (live-lock, or MaxSteps is too small)")

// Run runs main and all that it starts until every task has ended or only daemons wait. It returns the first failure.
func (s *Sim) Run(main func()) error {
	s.Go("main", false, main)
	first := s.tasks[0]
	s.cur = first
	first.run <- struct{}{}
	<-s.ended
	<-s.stopper.dead
	// What still waits is woken to die, one at a time; its deferred calls run with the World switched off.
	for _, t := range s.tasks {
		if t != s.stopper && !t.done {
			t.run <- struct{}{}
			<-t.dead
		}
	}
	return s.err
}

// Schedule returns the choices taken so far, for SimConfig.Replay.
func (s *Sim) Schedule() Schedule { return append(Schedule(nil), s.schedule...) }

// Steps returns how many steps the run took.
func (s *Sim) Steps() int { return s.steps }

func (s *Sim) Go(name string, daemon bool, fn func()) {
	if s.over {
		return
	}
	t := &simTask{id: s.made, name: name, daemon: daemon, run: make(chan struct{}, 1), dead: make(chan struct{})}
	s.made++
	s.tasks = append(s.tasks, t)
	go func() {
		defer close(t.dead)
		<-t.run
		if s.over {
			return
		}
		defer func() {
			if r := recover(); r != nil && s.err == nil && !s.over {
				s.stop(fmt.Errorf("sched: task %s panics: %v\n%s", t.name, r, debug.Stack()))
			}
			if s.over {
				return
			}
			s.exit(t)
		}()
		fn()
	}()
}

// exit ends task t and hands over to another.
func (s *Sim) exit(t *simTask) {
	t.done = true
	if len(t.held) > 0 {
		s.stop(fmt.Errorf("sched: task %s ends holding %s", t.name, strings.Join(t.heldNames(), ", ")))
		return
	}
	i := slices.Index(s.tasks, t)
	s.tasks = slices.Delete(s.tasks, i, i+1)
	if next := s.pick(nil); next != nil {
		s.cur = next
		next.run <- struct{}{}
	}
}

// stop ends the run with err (nil: normally). The caller must not touch Sim afterwards.
func (s *Sim) stop(err error) {
	if s.over {
		return
	}
	s.err = err
	s.over = true
	s.stopper = s.cur
	close(s.ended)
}

func (s *Sim) Fail(err error) {
	if s.over {
		return
	}
	s.stop(err)
	runtime.Goexit()
}

func (s *Sim) Now() time.Duration { return s.now }
func (s *Sim) Rand64() uint64     { return s.data.Uint64() }

func (s *Sim) Yield(label string) {
	if s.over {
		return
	}
	t := s.cur
	s.step(label)
	if next := s.pick(t); next != t {
		s.handOver(t, next)
	}
}

func (s *Sim) Sleep(d time.Duration) {
	if s.over {
		return
	}
	t := s.cur
	s.at(d, "", func() { t.blocked = false })
	s.block("sleep")
}

func (s *Sim) step(label string) {
	s.steps++
	if s.cfg.Trace != nil {
		fmt.Fprintf(s.cfg.Trace, "%9d %s#%d %s\n", s.now.Microseconds(), s.cur.name, s.cur.id, label)
	}
	if s.steps > s.cfg.MaxSteps {
		s.Fail(ErrSteps)
	}
}

// block makes the current task wait until somebody clears its blocked flag.
func (s *Sim) block(why string) {
	t := s.cur
	t.blocked, t.why = true, why
	s.step("waits: " + why)
	next := s.pick(nil)
	if next == nil { // the run is over
		runtime.Goexit()
	}
	if next != t {
		s.handOver(t, next)
	}
}

func (s *Sim) handOver(from, to *simTask) {
	s.cur = to
	to.run <- struct{}{}
	<-from.run
	if s.over {
		runtime.Goexit()
	}
}

// pick chooses who runs next; cur, if not nil, may go on. Nil means that the run is over.
func (s *Sim) pick(cur *simTask) *simTask {
	for {
		var others []*simTask
		for _, t := range s.tasks {
			if !t.done && !t.blocked && t != cur {
				others = append(others, t)
			}
		}
		n := len(others)
		if cur != nil {
			n++
		}
		switch {
		case n == 1 && cur != nil:
			return cur
		case n >= 1:
			return s.choose(cur, others)
		}
		if len(s.timer) == 0 {
			s.stop(s.deadlock())
			return nil
		}
		// What is due at the same time happens at the same time: the schedule decides who is first.
		for s.now = max(s.now, s.timer[0].when); len(s.timer) > 0 && s.timer[0].when <= s.now; {
			e := heap.Pop(&s.timer).(*simTimer)
			e.fired = true
			e.fn()
		}
	}
}

func (s *Sim) choose(cur *simTask, others []*simTask) *simTask {
	var c int32
	if s.cfg.Replay != nil {
		if len(s.schedule) < len(s.cfg.Replay) {
			c = s.cfg.Replay[len(s.schedule)]
		}
	} else if cur == nil || s.rng.IntN(s.cfg.SwitchOdds) == 0 {
		c = int32(s.rng.IntN(len(others) + 1))
	}
	s.schedule = append(s.schedule, c)
	if cur != nil {
		if c == 0 {
			return cur
		}
		c--
	}
	return others[int(c)%len(others)]
}

func (s *Sim) deadlock() error {
	var waiting []string
	for _, t := range s.tasks {
		if !t.done && !t.daemon {
			w := fmt.Sprintf("%s waits for %s", t.name, t.why)
			if len(t.held) > 0 {
				w += " holding " + strings.Join(t.heldNames(), ", ")
			}
			waiting = append(waiting, w)
		}
	}
	if waiting == nil {
		return nil
	}
	return &DeadlockError{Waiting: waiting}
}

func (t *simTask) heldNames() []string {
	var names []string
	for _, h := range t.held {
		names = append(names, h.class.Name)
	}
	return names
}

// simTimer is one pending AfterFunc or timeout; fn runs in whoever advances time and must not block.
type simTimer struct {
	sim   *Sim
	when  time.Duration
	seq   uint64
	index int
	fired bool
	fn    func()
}

func (s *Sim) at(d time.Duration, name string, fn func()) *simTimer {
	s.seq++
	e := &simTimer{sim: s, when: s.now + max(d, 0), seq: s.seq, fn: fn}
	heap.Push(&s.timer, e)
	return e
}

func (s *Sim) AfterFunc(name string, d time.Duration, fn func()) Timer {
	return s.at(d, name, func() { s.Go(name, false, fn) })
}

func (e *simTimer) Stop() bool {
	if e.fired || e.sim.over {
		return false
	}
	e.fired = true
	heap.Remove(&e.sim.timer, e.index)
	return true
}

type timerHeap []*simTimer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].when != h[j].when {
		return h[i].when < h[j].when
	}
	return h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	e := x.(*simTimer)
	e.index = len(*h)
	*h = append(*h, e)
}
func (h *timerHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}
