package machine

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/kernel/kfd"
)

// live are the machines of this process that programs reach, at most one for each kind of door.
var live [4]atomic.Pointer[Machine]

// forking makes PrepareFork know a machine.
func forking(m *Machine) {
	for i := range live {
		if live[i].CompareAndSwap(nil, m) {
			return
		}
	}
}

// each calls f for the driver of every machine.
func each(f func(*kfd.Driver)) {
	for i := range live {
		if m := live[i].Load(); m != nil {
			f(m.Driver)
		}
	}
}

// MemoryProtected is to be called when the process has changed the rights of its memory.
func MemoryProtected(addr, n uint64) { each(func(d *kfd.Driver) { d.NotifyProtect(addr, n) }) }

// MemoryGoing is to be called before the process unmaps or moves its memory.
func MemoryGoing(addr, n uint64) { each(func(d *kfd.Driver) { d.NotifyUnmap(addr, n) }) }

// MemoryGone is to be called when the process has unmapped, moved or emptied its memory.
func MemoryGone(addr, n uint64) { each(func(d *kfd.Driver) { d.NotifyGone(addr, n) }) }

// PrepareFork is to be called before the process forks: it brings managed memory home to the CPU, so that the child, which has none of this process's GPUs,
// finds its content.
func PrepareFork() {
	each((*kfd.Driver).PrepareFork)
}
