package hostcpu

// cpuid is the instruction.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// Caches lists the caches of the CPU it runs on, nearest first; none when the processor does not tell.
func Caches() []Cache {
	const intel, amd = 4, 0x8000001d
	if top, _, _, _ := cpuid(0x80000000, 0); top >= amd {
		if _, _, c, _ := cpuid(0x80000001, 0); c>>22&1 != 0 { // topology extensions
			return parse(func(i uint32) (a, b, c, d uint32) { return cpuid(amd, i) })
		}
	}
	if top, _, _, _ := cpuid(0, 0); top >= intel {
		if caches := parse(func(i uint32) (a, b, c, d uint32) { return cpuid(intel, i) }); len(caches) > 0 {
			return caches
		}
	}
	const old = 0x80000006
	if top, _, _, _ := cpuid(0x80000000, 0); top >= old {
		_, _, data, instruction := cpuid(old-1, 0)
		_, _, l2, l3 := cpuid(old, 0)
		return parseOld(data, instruction, l2, l3)
	}
	return nil
}
