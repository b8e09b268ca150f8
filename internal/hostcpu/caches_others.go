//go:build !amd64

package hostcpu

// Caches lists the caches of the CPU it runs on: none is known here.
func Caches() []Cache { return nil }
