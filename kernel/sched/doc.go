// Package sched is the one place where kernel and silicon get tasks, locks, waiting, time and randomness.
//
// In Linux a driver is a set of concurrent activities: ioctls on application threads, work items on workqueue threads,
// interrupt handlers, notifier callbacks in whoever changes an address space. What goes wrong between them depends on
// who runs when, on a real machine by chance. Here all of them go through a World:
//
//   - Live is goroutines, sync and the monotonic clock.
//   - Sim runs one task at a time. At every lock, wait, wake and Yield a seed picks who runs next; time is virtual and
//     moves only when everybody waits. The same seed gives the same run. Sim finds dead-locks, violations of the lock
//     order (every lock has a Class with a rank), tasks that never end, and a failing schedule can be replayed and
//     shrunk (Explore).
//
// Code above cannot tell which World it is in. It must not use go statements, sync, time or math/rand itself.
//
// The vocabulary is Linux's: Mutex, RWSem, WaitQueue, Workqueue with Work and delayed work (a Work queued while it runs
// runs again; queued twice before it runs, it runs once), Timer.
//
// Lock order: the ranks of Classes, outermost lowest. Live checks nothing.
package sched
