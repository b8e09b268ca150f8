package sched

import "time"

// Class is a kind of lock, as lockdep has it: all locks of one Class stand at the same place in the lock order.
type Class struct {
	Name string
	Rank int // outermost lowest; a lock may be taken only while every held lock has a lower rank
	// Nests allows several locks of the class at once (folio locks, dma_resv under a ww context).
	Nests bool
}

// World is where tasks live. All methods are safe for concurrent use.
type World interface {
	// Go starts a task. Daemon tasks may be left waiting when everything else has ended; others may not (Sim reports it).
	Go(name string, daemon bool, fn func())
	// Now is the time since the World began: monotonic in Live, virtual in Sim.
	Now() time.Duration
	// Rand64 returns a random number: of the seed in Sim.
	Rand64() uint64
	// Yield is a point where another task may run; label says what is about to happen. It costs nothing in Live.
	Yield(label string)
	// Sleep waits for d.
	Sleep(d time.Duration)
	NewMutex(c *Class) Mutex
	NewRWSem(c *Class) RWSem
	NewWaitQueue(name string) WaitQueue
	// AfterFunc runs fn in a task of its own after d.
	AfterFunc(name string, d time.Duration, fn func()) Timer
	// Fail reports a broken invariant: it ends a Sim run with err and panics in Live.
	Fail(err error)
}

// Mutex is a sleeping lock.
type Mutex interface {
	Lock()
	TryLock() bool
	Unlock()
	// AssertHeld fails the World unless the lock is held (in Sim: by the current task).
	AssertHeld()
}

// RWSem is a reader-writer semaphore. A waiting writer keeps new readers out.
type RWSem interface {
	Lock()
	TryLock() bool
	Unlock()
	RLock()
	TryRLock() bool
	RUnlock()
	// AssertHeld fails the World unless held for writing, AssertRHeld unless held at all.
	AssertHeld()
	AssertRHeld()
}

// WaitQueue is where tasks wait for a condition, like wait_event and wake_up_all.
type WaitQueue interface {
	// Wait returns true when cond is true, false when timeout (if not negative) has passed first. cond is evaluated
	// before waiting and after each Wake, by the waiting task; it does its own locking.
	Wait(cond func() bool, timeout time.Duration) bool
	// Wake makes every waiter look at its condition again.
	Wake()
}

// Timer is a pending AfterFunc.
type Timer interface {
	// Stop cancels it; false when it has fired or been stopped.
	Stop() bool
}

// Forever is the timeout that never passes.
const Forever time.Duration = -1
