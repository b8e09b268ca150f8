// Package caller reaches the memory of the C program that has called: what its pointers say, and where it wants results.
//
// Go code must not touch it with a load or a store. The page may be managed memory that has gone to a GPU: the goroutine would stop in the fault with
// its P, the garbage collector would wait for it, and the task that brings the page home for the collector. And a bad address would be a fault of Go's, which
// ends the process with Go's words. C may fault: Go does not count a thread that is in C.
//
// A copy fails at a bad address where no handler of the program takes the fault: process.c, whose handler it then is, sends it to the end of the copy. A program with a handler of its own
// for SIGSEGV gets its signal, as it would with AMD's runtime.
package caller

/*
#include "copy.h"
#cgo noescape pumice_copy
#cgo nocallback pumice_copy
#cgo noescape pumice_readable
#cgo nocallback pumice_readable
#cgo noescape pumice_writable
#cgo nocallback pumice_writable
#cgo noescape pumice_length
#cgo nocallback pumice_length
*/
import "C"

import "unsafe"

// MaxText is the length of the longest string that Text reads, in bytes.
const MaxText = 1 << 28

func pointer(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// Load copies n bytes of the program's at src to dst, which is Go memory. It returns false for a bad address.
func Load(dst unsafe.Pointer, src, n uintptr) bool {
	return C.pumice_copy(dst, pointer(src), C.size_t(n)) == 0
}

// Store copies n bytes of Go memory to the program's at dst. It returns false for a bad address; a part may have been written.
func Store(dst uintptr, src unsafe.Pointer, n uintptr) bool {
	return C.pumice_copy(pointer(dst), src, C.size_t(n)) == 0
}

// Put stores v at p; it returns false for a bad address, of which 0 is one.
func Put[T any](p *T, v T) bool {
	return p != nil && Store(uintptr(unsafe.Pointer(p)), unsafe.Pointer(&v), unsafe.Sizeof(v))
}

// Get loads what is at p; ok is false for a bad address, of which 0 is one.
func Get[T any](p *T) (v T, ok bool) {
	ok = p != nil && Load(unsafe.Pointer(&v), uintptr(unsafe.Pointer(p)), unsafe.Sizeof(v))
	return v, ok
}

// Writable reports whether n bytes at p may be written, and leaves them as they are.
func Writable(p, n uintptr) bool {
	return n == 0 || p+n-1 >= p && C.pumice_writable(pointer(p), C.size_t(n)) == 0
}

// Readable reports whether n bytes at p may be read.
func Readable(p, n uintptr) bool {
	return n == 0 || p+n-1 >= p && C.pumice_readable(pointer(p), C.size_t(n)) == 0
}

// Text reads a C string; ok is false for a bad address and for one that is longer than MaxText.
func Text(p uintptr) (s string, ok bool) {
	if p == 0 {
		return "", false
	}
	n := C.pumice_length((*C.char)(pointer(p)), MaxText)
	if n < 0 || n == MaxText {
		return "", false
	}
	b := make([]byte, n)
	if n > 0 && !Load(unsafe.Pointer(&b[0]), p, uintptr(n)) {
		return "", false
	}
	return string(b), true
}
