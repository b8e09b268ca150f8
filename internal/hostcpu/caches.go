package hostcpu

// Type is a cache's type, numbered as CPUID does.
type Type uint32

// Types of caches.
const (
	Data        Type = 1
	Instruction Type = 2
	Unified     Type = 3
)

// String is what sysfs calls it.
func (t Type) String() string {
	switch t {
	case Data:
		return "Data"
	case Instruction:
		return "Instruction"
	}
	return "Unified"
}

// Cache is one cache that a CPU sees.
type Cache struct {
	Level    int
	Type     Type
	Size     int // bytes
	LineSize int // bytes
	Ways     int // 0: fully associative
	Sets     int
	SharedBy int // logical CPUs that can share it, at most
}

// maxCaches bounds the walk on a hypervisor whose CPUID never says "no more".
const maxCaches = 16

// parse reads cache descriptors until the one of type 0.
func parse(leaf func(index uint32) (a, b, c, d uint32)) []Cache {
	var caches []Cache
	for i := uint32(0); i < maxCaches; i++ {
		a, b, c, _ := leaf(i)
		t := Type(a & 31)
		if t < Data || t > Unified {
			break
		}
		ways, partitions, line, sets := int(b>>22)+1, int(b>>12&0x3ff)+1, int(b&0xfff)+1, int(c)+1
		k := Cache{Level: int(a >> 5 & 7), Type: t, LineSize: line, Ways: ways, Sets: sets, SharedBy: int(a>>14&0xfff) + 1}
		k.Size = ways * partitions * line * sets
		if a>>9&1 != 0 {
			k.Ways = 0
		}
		caches = append(caches, k)
	}
	return caches
}

// parseOld reads AMD's older descriptors (leaves 0x80000005 and 0x80000006), which some hypervisors leave alone. They do
// not say who shares a cache.
func parseOld(data, instruction, l2, l3 uint32) []Cache {
	// Codes of the two outer levels for their number of ways; the other codes stand for 0 or for fully associative.
	ways := [16]int{1: 1, 2: 2, 4: 4, 5: 6, 6: 8, 8: 16, 10: 32, 11: 48, 12: 64, 13: 96, 14: 128}
	var caches []Cache
	add := func(level int, t Type, size, ways int, line uint32) {
		if size == 0 || line == 0 {
			return
		}
		c := Cache{Level: level, Type: t, Size: size, LineSize: int(line), Ways: ways, SharedBy: 1}
		c.Sets = size / (max(ways, 1) * int(line))
		caches = append(caches, c)
	}
	add(1, Data, int(data>>24)<<10, int(data>>16&0xff), data&0xff)
	add(1, Instruction, int(instruction>>24)<<10, int(instruction>>16&0xff), instruction&0xff)
	add(2, Unified, int(l2>>16)<<10, ways[l2>>12&15], l2&0xff)
	add(3, Unified, int(l3>>18)<<19, ways[l3>>12&15], l3&0xff)
	return caches
}
