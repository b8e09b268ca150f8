// Package hip is the HIP runtime API.
//
// # How the real system works
//
// A HIP program is compiled with its device code inside. Before main, constructors register each fat binary, kernel and variable by
// the address of a host object that stands for it. A launch pushes grid, block, group memory and stream, and calls a stub that
// pops them again and calls hipLaunchKernel with the address. Nearly everything else is a function that works on the calling
// thread's current device and returns a hipError_t, which the thread also remembers.
//
// # This package
//
// API is the C API in Go: one method for each function or family, with the same parameters, on explicit thread state. cmd/libpumice exports them
// under their C names. Addresses and handles are uintptr. What is not there is not exported here: the stub answers hipErrorNotSupported in
// its place.
//
// Go programs use Device, Stream, Event, Module and Buffer, which stand on the same clr objects and return errors as values.
//
// Lock order: API.mu, then the locks of clr. Handle tables and Registry.mu are leaves.
package hip
