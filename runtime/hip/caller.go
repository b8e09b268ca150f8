package hip

import "unsafe"

// Memory of the C program that calls. Methods whose parameters are Go pointers read and write them as Go does: the C face lends them Go memory where the program's
// own must not be touched. What such a structure points to in turn, and what has a size that only the method knows, is read and written by load and store.

// LoadMemory copies len(dst) bytes of the program's memory at src, and StoreMemory copies src there. They return false for a bad address. They are variables so that the C
// face can put checked copies of C here: a page of the program may be served by a fault handler that a Go copy must not wait for.
var (
	LoadMemory  = func(dst []byte, src uintptr) bool { copy(dst, bytesAt(src, len(dst))); return true }
	StoreMemory = func(dst uintptr, src []byte) bool { copy(bytesAt(dst, len(src)), src); return true }
)

// Near reports whether Go may touch n bytes of the program's memory at p: they lie in the thread's stack, close above the call. Nothing is near no thread.
func (t *Thread) Near(p, n uintptr) bool {
	return t != nil && p >= t.StackLow && p <= t.StackHigh && n <= t.StackHigh-p
}

// load reads a value at p.
func load[T any](p uintptr) (v T, ok bool) {
	ok = p != 0 && LoadMemory(structBytes(&v), p)
	return v, ok
}

// store writes a value at p.
func store[T any](p uintptr, v T) Error {
	if p == 0 || !StoreMemory(p, structBytes(&v)) {
		return ErrInvalidValue
	}
	return Success
}

// Memory of C that is this runtime's own, and which Go may touch.

func pointer(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

func bytesAt(a uintptr, n int) []byte { return unsafe.Slice((*byte)(pointer(a)), n) }

// structBytes is the memory of a structure.
func structBytes[T any](x *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(x)), unsafe.Sizeof(*x))
}

// cstring reads a C string; at most max bytes.
func cstring(a uintptr) string {
	const max = 1 << 16
	if a == 0 {
		return ""
	}
	n := 0
	for n < max && *(*byte)(pointer(a + uintptr(n))) != 0 {
		n++
	}
	return string(bytesAt(a, n))
}
