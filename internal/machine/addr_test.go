package machine

import "unsafe"

// addr returns the address of heap memory that the test keeps alive.
func addr(p *byte) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }
