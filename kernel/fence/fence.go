// Package fence is completion: dma_fence and dma_resv.
//
// A Fence is a one-shot promise that some work will end. A buffer's reservation object (Resv) is its lock and the list of
// fences of work that uses it, each with a usage class; who waits for a class waits for all classes up to it. Nobody
// asks for a fence's signal to be prepared until somebody waits: the first waiter calls its enable function, once. The
// amdkfd eviction fences live from this: "enable signalling" means "please get off this memory".
//
// The contract: code that leads to a signal must not wait for memory or for locks that may be held while waiting for a
// fence; memory reclaim may wait for fences. Here the contract is part of the lock order. BeginSignalling takes a shared
// place in class Signalling; page allocation takes one in FSReclaim, which ranks lower. So an allocation, or a lock like
// mmap_lock, inside a signalling section is a violation of the lock order, found in any simulated schedule.
//
// Behaviour: kernel-svm §4.3.
package fence

import (
	"sync/atomic"
	"time"

	"github.com/pumice-gpu/pumice/kernel/sched"
)

// Lock classes. See package mm for the order of the ranks.
var (
	ResvClass  = &sched.Class{Name: "dma_resv", Rank: 400, Nests: true}
	Signalling = &sched.Class{Name: "dma_fence signalling", Rank: 650, Nests: true}
	fenceClass = &sched.Class{Name: "dma_fence", Rank: 950}
)

// Context is one machine's fences.
type Context struct {
	world  sched.World
	signal sched.RWSem
	seq    atomic.Uint64
}

// NewContext makes a Context.
func NewContext(w sched.World) *Context {
	return &Context{world: w, signal: w.NewRWSem(Signalling)}
}

// BeginSignalling marks the current task as one whose progress a fence waits for, until EndSignalling.
func (c *Context) BeginSignalling() { c.signal.RLock() }

// EndSignalling ends the section.
func (c *Context) EndSignalling() { c.signal.RUnlock() }

// Fence is a promise that is kept once.
type Fence struct {
	ctx    *Context
	seqno  uint64
	enable func()
	wait   sched.WaitQueue
	done   atomic.Bool

	mu        sched.Mutex
	enabled   bool     // guarded by mu
	callbacks []func() // guarded by mu
}

// New makes an unsignalled fence. enable, if not nil, is called once when the first waiter comes; it must not block.
func (c *Context) New(name string, enable func()) *Fence {
	return &Fence{ctx: c, seqno: c.seq.Add(1), enable: enable, wait: c.world.NewWaitQueue("fence " + name), mu: c.world.NewMutex(fenceClass)}
}

// Signaled reports whether the promise is kept.
func (f *Fence) Signaled() bool { return f.done.Load() }

// Signal keeps the promise; false when it was kept before.
func (f *Fence) Signal() bool {
	if !f.done.CompareAndSwap(false, true) {
		return false
	}
	f.mu.Lock()
	cbs := f.callbacks
	f.callbacks = nil
	f.mu.Unlock()
	for _, cb := range cbs {
		cb()
	}
	f.wait.Wake()
	return true
}

// EnableSignaling asks for the signal without waiting.
func (f *Fence) EnableSignaling() {
	if f.done.Load() {
		return
	}
	f.mu.Lock()
	first := !f.enabled
	f.enabled = true
	f.mu.Unlock()
	if first && f.enable != nil {
		f.enable()
	}
}

// OnSignal calls cb once, at the signal or now.
func (f *Fence) OnSignal(cb func()) {
	f.EnableSignaling()
	f.mu.Lock()
	if !f.done.Load() {
		f.callbacks = append(f.callbacks, cb)
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	cb()
}

// Wait waits for the signal; false when timeout passed first.
func (f *Fence) Wait(timeout time.Duration) bool {
	if f.done.Load() {
		return true
	}
	// A waiter stands in the signaller's way with all locks it holds: check their order as if it were signalling.
	f.ctx.signal.RLock()
	f.ctx.signal.RUnlock() //lint:ignore SA2001 taken for the order alone
	f.EnableSignaling()
	return f.wait.Wait(f.done.Load, timeout)
}

// Usage is why a fence is in a reservation object.
type Usage uint8

const (
	Kernel   Usage = iota // memory moves: everybody waits
	Write                 // implicit synchronisation
	Read                  //
	Bookkeep              // only memory management waits
)

// Resv is a buffer's reservation: its lock and its fences.
type Resv struct {
	sched.Mutex
	fences []entry // guarded by the Mutex
}

type entry struct {
	f *Fence
	u Usage
}

// NewResv makes an unlocked reservation.
func NewResv(w sched.World) *Resv { return &Resv{Mutex: w.NewMutex(ResvClass)} }

// Add puts f in; the reservation is locked.
func (r *Resv) Add(f *Fence, u Usage) {
	r.AssertHeld()
	keep := r.fences[:0]
	for _, e := range r.fences {
		if !e.f.Signaled() && e.f != f {
			keep = append(keep, e)
		}
	}
	r.fences = append(keep, entry{f, u})
}

// Wait waits for all fences of classes up to u; the reservation is locked. False when timeout passed.
func (r *Resv) Wait(u Usage, timeout time.Duration) bool {
	r.AssertHeld()
	for _, e := range r.fences {
		if e.u <= u && !e.f.Wait(timeout) {
			return false
		}
	}
	return true
}
