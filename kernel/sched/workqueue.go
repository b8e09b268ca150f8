package sched

import "time"

var workqueueClass = &Class{Name: "workqueue", Rank: 1 << 20}

// Workqueue runs Works, like alloc_workqueue. An ordered one runs one Work at a time in the order they were queued.
type Workqueue struct {
	world   World
	name    string
	ordered bool
	wait    WaitQueue

	mu      Mutex
	queue   []*Work // ordered: waiting for the worker; guarded by mu
	running bool    // ordered: the worker task exists; guarded by mu
}

// Work is one work item, with its function fixed. A Work belongs to one Workqueue.
type Work struct {
	wq *Workqueue
	fn func()

	// Guarded by wq.mu.
	pending bool  // queued or waiting for its delay, not yet running
	runs    int   // executions under way
	timer   Timer // delayed work only
}

// NewWorkqueue makes a queue. ordered: WQ of one worker; else each Work runs in a task of its own.
func NewWorkqueue(w World, name string, ordered bool) *Workqueue {
	return &Workqueue{world: w, name: name, ordered: ordered, wait: w.NewWaitQueue(name), mu: w.NewMutex(workqueueClass)}
}

// NewWork makes a Work that runs fn.
func (q *Workqueue) NewWork(fn func()) *Work { return &Work{wq: q, fn: fn} }

// Queue asks for one run of w. False when it is already pending.
func (w *Work) Queue() bool { return w.QueueDelayed(0) }

// QueueDelayed asks for one run of w in d. False when it is already pending (its delay stays what it was).
func (w *Work) QueueDelayed(d time.Duration) bool {
	q := w.wq
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.pending {
		return false
	}
	w.pending = true
	w.arm(d)
	return true
}

// ModDelayed makes w pending with delay d, whatever its delay was. True when it was pending before.
func (w *Work) ModDelayed(d time.Duration) bool {
	q := w.wq
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.pending && (w.timer == nil || !w.timer.Stop()) {
		return true // already on its way to a worker
	}
	was := w.pending
	w.pending = true
	w.arm(d)
	return was
}

// arm is called with wq.mu held and pending set.
func (w *Work) arm(d time.Duration) {
	w.timer = nil
	if d <= 0 {
		w.submit()
		return
	}
	w.timer = w.wq.world.AfterFunc(w.wq.name, d, func() {
		w.wq.mu.Lock()
		w.timer = nil
		w.submit()
		w.wq.mu.Unlock()
	})
}

// submit is called with wq.mu held.
func (w *Work) submit() {
	q := w.wq
	if !q.ordered {
		q.world.Go(q.name, false, func() {
			q.mu.Lock()
			q.run(w)
			q.mu.Unlock()
		})
		return
	}
	q.queue = append(q.queue, w)
	if !q.running {
		q.running = true
		q.world.Go(q.name, false, q.worker)
	}
}

func (q *Workqueue) worker() {
	q.mu.Lock()
	for len(q.queue) > 0 {
		w := q.queue[0]
		q.queue = q.queue[1:]
		q.run(w)
	}
	q.running = false
	q.mu.Unlock()
}

// run executes w; called with mu held, which it drops meanwhile. A cancelled Work does not run.
func (q *Workqueue) run(w *Work) {
	if !w.pending {
		return
	}
	w.pending = false
	w.runs++
	q.mu.Unlock()
	w.fn()
	q.mu.Lock()
	w.runs--
	q.wait.Wake()
}

// Cancel makes w not pending and waits for a running execution, like cancel_work_sync. True when it was pending.
// It must not be called from w itself.
func (w *Work) Cancel() bool {
	q := w.wq
	q.mu.Lock()
	was := w.pending
	w.pending = false
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	q.mu.Unlock()
	q.wait.Wait(func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return w.runs == 0
	}, Forever)
	return was
}

// Flush waits until w is neither pending nor running (flush_work; a delay is cut short as by flush_delayed_work).
// It must not be called from w itself.
func (w *Work) Flush() {
	q := w.wq
	q.mu.Lock()
	if w.timer != nil && w.timer.Stop() {
		w.timer = nil
		w.submit()
	}
	q.mu.Unlock()
	q.wait.Wait(func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return w.runs == 0 && !w.pending
	}, Forever)
}
