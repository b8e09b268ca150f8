// Package hostcpu describes this machine's CPU caches as Linux's /sys/devices/system/cpu/cpuN/cache does.
//
// AMD's thunk gives up on the whole topology when a CPU has no such directory, and virtual machines often lack it. The
// numbers come from the CPUID instruction: leaf 4 on Intel, 0x8000001D on AMD processors, which have one layout.
package hostcpu
