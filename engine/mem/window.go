package mem

import "unsafe"

// Window is a piece of address space that is contiguous in host memory too and may be accessed in one way everywhere. Accesses whose lanes
// have addresses of their own are translated all at once when they lie inside one. Compiled code reads it and counts Skip down, so its
// layout is fixed.
type Window struct {
	Base  uint64 // first address, of a page
	Size  uint64 // bytes
	Delta uint64 // host address minus virtual address
	Skip  int64  // accesses outside that do not ask for the window to be moved
	_     [4]uint64
}

// NumWindows is the number of a TLB's Windows. The users of one agree on the access that it is for.
const NumWindows = 64

// Layout of TLB.Windows for compiled code.
const (
	WindowsOffset = int32(unsafe.Offsetof(TLB{}.Windows))
	WindowSize    = int32(unsafe.Sizeof(Window{}))
)

// A window is looked for windowPieces pieces of contiguous memory far, and a growing one as far as it was large, up to windowMost.
const (
	windowPieces = 64
	windowMost   = 4096
)

// MoveWindow makes window i hold the addresses first to last (inclusive) for access a, with what follows, and what it held before when
// that goes on with it. It reports false, and leaves the window, when they are not contiguous or may not all be accessed.
func (t *TLB) MoveWindow(i int, first, last uint64, a Access) bool {
	first &^= PageSize - 1
	host, n, _, f := t.space.Translate(first, a)
	if f != nil {
		return false
	}
	w := Window{Base: first, Delta: uint64(uintptr(host)) - first}
	end := first + n
	old := t.Windows[i]
	if old.Delta != w.Delta {
		old = Window{}
	}
	pieces := windowPieces
	if old.Size > 0 {
		pieces = int(min(max(windowPieces, old.Size/PageSize), windowMost))
		// What lies between, as other rows of an array do, is taken in.
		for from := old.Base + old.Size; from < first && first-from <= uint64(pieces)*PageSize; {
			host, n, _, f := t.space.Translate(from, a)
			if f != nil || uint64(uintptr(host))-from != w.Delta {
				break
			}
			from += n
			old.Size = from - old.Base
		}
	}
	for range pieces {
		if old.Size > 0 && end >= old.Base && end < old.Base+old.Size {
			end = old.Base + old.Size
		}
		host, n, _, f := t.space.Translate(end, a)
		if f != nil || uint64(uintptr(host))-end != w.Delta {
			break
		}
		end += n
	}
	if end <= last {
		return false
	}
	if old.Size > 0 && old.Base < first && old.Base+old.Size >= first {
		w.Base = old.Base
	}
	w.Size = end - w.Base
	t.Windows[i] = w
	return true
}
