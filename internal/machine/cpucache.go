package machine

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/internal/doorc"
	"github.com/pumice-gpu/pumice/internal/hostcpu"
)

// addCPUCaches adds the cache directories of the host's CPUs. The stub asks for them only where the host itself has none.
func addCPUCaches(t *doorc.Tree) {
	const system = "/sys/devices/system"
	// With no caches known the directories are there all the same: without them the thunk gives up on the topology.
	caches := hostcpu.Caches()
	nodes, err := os.ReadDir(system + "/node")
	if err != nil {
		return
	}
	for _, n := range nodes {
		if !numbered(n.Name(), "node") {
			continue
		}
		list, err := os.ReadFile(path.Join(system, "node", n.Name(), "cpulist"))
		if err != nil {
			continue
		}
		for _, cpu := range parseCPUList(strings.TrimSpace(string(list))) {
			for _, dir := range []string{
				fmt.Sprintf("%s/node/%s/cpu%d/cache", system, n.Name(), cpu),
				fmt.Sprintf("%s/cpu/cpu%d/cache", system, cpu),
			} {
				t.AddDir(dir)
				for i, c := range caches {
					addCache(t, fmt.Sprintf("%s/index%d", dir, i), cpu, i, c)
				}
			}
		}
	}
}

func addCache(t *doorc.Tree, dir string, cpu, id int, c hostcpu.Cache) {
	// CPUs are numbered so that those sharing a cache lie side by side; how many really are there may be fewer.
	first := cpu / c.SharedBy * c.SharedBy
	last := min(first+c.SharedBy, numCPUs()) - 1
	text := func(name, value string) { t.AddText(dir+"/"+name, value+"\n") }
	text("id", strconv.Itoa(id))
	text("level", strconv.Itoa(c.Level))
	text("type", c.Type.String())
	text("size", fmt.Sprintf("%dK", c.Size/1024))
	text("coherency_line_size", strconv.Itoa(c.LineSize))
	text("number_of_sets", strconv.Itoa(c.Sets))
	text("ways_of_associativity", strconv.Itoa(c.Ways))
	text("physical_line_partition", "1")
	text("shared_cpu_list", cpuList(first, last))
	text("shared_cpu_map", cpuMask(first, last, numCPUs()))
}

// numbered is whether a name is a stem with a number behind it.
func numbered(name, stem string) bool {
	rest, ok := strings.CutPrefix(name, stem)
	_, err := strconv.ParseUint(rest, 10, 16)
	return ok && err == nil
}

// numCPUs is one more than the highest number of a CPU that the host has online.
func numCPUs() int {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return 1
	}
	n := 1
	for _, cpu := range parseCPUList(strings.TrimSpace(string(b))) {
		n = max(n, cpu+1)
	}
	return n
}

// parseCPUList reads a list such as "0-3,8"; what cannot be read is left out.
func parseCPUList(s string) []int {
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.ParseUint(from, 10, 16)
		b, errB := strconv.ParseUint(to, 10, 16)
		if errA != nil || errB != nil {
			continue
		}
		for cpu := int(a); cpu <= int(b); cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

func cpuList(first, last int) string {
	if first >= last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// cpuMask writes a range of n CPUs as Linux prints masks: words of 32 bits, the highest first, commas between.
func cpuMask(first, last, n int) string {
	words := make([]uint32, (n+31)/32)
	for cpu := first; cpu <= last; cpu++ {
		words[cpu/32] |= 1 << (cpu % 32)
	}
	var b strings.Builder
	for i := len(words) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "%08x", words[i])
		if i > 0 {
			b.WriteByte(',')
		}
	}
	return b.String()
}
