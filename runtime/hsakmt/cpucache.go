package hsakmt

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// The driver reports no caches of CPUs, and the thunk fills them in from what Linux says of the machine: /sys/devices/system/cpu/cpuN/cache. tree is rooted at "/"; a tree without
// those files leaves the nodes as they are.
func addCPUCaches(tree fs.FS, nodes []*Node) {
	const cpus = "sys/devices/system/cpu"
	first := true
	for _, n := range nodes {
		if n.IsGPU() || len(n.Caches) > 0 {
			continue
		}
		list, err := fs.ReadFile(tree, fmt.Sprintf("sys/devices/system/node/node%d/cpulist", n.ID))
		if err != nil && first {
			list, err = fs.ReadFile(tree, cpus+"/online")
		}
		first = false
		if err != nil {
			continue
		}
		for _, cpu := range cpuList(string(list)) {
			dir := path.Join(cpus, "cpu"+strconv.Itoa(cpu), "cache")
			for i := 0; ; i++ {
				c, here, ok := readCPUCache(tree, path.Join(dir, "index"+strconv.Itoa(i)), cpu)
				if !ok {
					break
				}
				if here {
					n.Caches = append(n.Caches, c)
				}
			}
		}
	}
}

// readCPUCache reads a cache of cpu; ok is false when there is none. One that several processors share is the first one's: it is not here, and
// not read, for the others. Each file is several calls into the host's kernel, and big machines have thousands.
func readCPUCache(tree fs.FS, dir string, cpu int) (c Cache, here, ok bool) {
	text := func(name string) string {
		b, err := fs.ReadFile(tree, path.Join(dir, name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	num := func(s string) uint64 {
		v, _ := strconv.ParseUint(s, 10, 64)
		return v
	}
	if c.Level = num(text("level")); c.Level == 0 {
		return c, false, false
	}
	if shared := cpuList(text("shared_cpu_list")); len(shared) > 0 && shared[0] != cpu {
		return c, false, true
	}
	size, unit := text("size"), uint64(1)
	if s, mega := strings.CutSuffix(size, "M"); mega {
		size, unit = s, 1024
	}
	c = Cache{
		ProcessorIDLow: uint64(cpu), Level: c.Level, Size: num(strings.TrimSuffix(size, "K")) * unit, LineSize: num(text("coherency_line_size")),
		LinesPerTag: num(text("physical_line_partition")), Associativity: num(text("ways_of_associativity")), Type: kfd.CacheTypeCPU,
	}
	switch text("type") {
	case "Data":
		c.Type |= kfd.CacheTypeData
	case "Instruction":
		c.Type |= kfd.CacheTypeInstruction
	default:
		c.Type |= kfd.CacheTypeData | kfd.CacheTypeInstruction
	}
	return c, true, true
}

// cpuList reads Linux's form of a set of processors: 0-3,8.
func cpuList(s string) (ids []int) {
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		a, b, isRange := strings.Cut(part, "-")
		if !isRange {
			b = a
		}
		lo, err1 := strconv.Atoi(a)
		hi, err2 := strconv.Atoi(b)
		if err1 != nil || err2 != nil || hi-lo > 1<<14 {
			return ids
		}
		for i := lo; i <= hi; i++ {
			ids = append(ids, i)
		}
	}
	return ids
}
