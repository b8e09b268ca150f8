package machine

import "sync/atomic"

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

// Protected is to be called when the process has changed the rights of its memory.
func Protected(addr, n uint64) {
	for i := range live {
		if m := live[i].Load(); m != nil {
			m.Driver.NotifyProtect(addr, n)
		}
	}
}

// PrepareFork is to be called before the process forks: it brings managed memory home to the CPU, so that the child, which has none of this process's GPUs,
// finds its content.
func PrepareFork() {
	for i := range live {
		if m := live[i].Load(); m != nil {
			m.Driver.PrepareFork()
		}
	}
}
