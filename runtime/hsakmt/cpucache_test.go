package hsakmt

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

func TestCPUCaches(t *testing.T) {
	tree := fstest.MapFS{"sys/devices/system/cpu/online": {Data: []byte("0-1\n")}}
	for cpu := range 2 {
		for i, c := range [][4]string{{"1", "48K", "Data", ""}, {"1", "32K", "Instruction", ""}, {"3", "2M", "Unified", "0-1"}} {
			dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/cache/index%d/", cpu, i)
			if c[3] == "" {
				c[3] = fmt.Sprint(cpu)
			}
			for name, v := range map[string]string{"level": c[0], "size": c[1], "type": c[2], "shared_cpu_list": c[3], "coherency_line_size": "64", "ways_of_associativity": "12"} {
				tree[dir+name] = &fstest.MapFile{Data: []byte(v + "\n")}
			}
		}
	}
	cpu, gpu := &Node{}, &Node{ID: 1, GPUID: 7, Props: Properties{"simd_count": 4}}
	addCPUCaches(tree, []*Node{cpu, gpu})
	if len(gpu.Caches) != 0 || len(cpu.Caches) != 5 {
		t.Fatalf("%d caches of the CPU, must be 5; %d of the GPU", len(cpu.Caches), len(gpu.Caches))
	}
	if c := cpu.Caches[2]; c.Level != 3 || c.Size != 2048 || c.LineSize != 64 || c.Associativity != 12 || c.Type != kfd.CacheTypeCPU|kfd.CacheTypeData|kfd.CacheTypeInstruction {
		t.Errorf("%+v", c)
	}
	if c := cpu.Caches[0]; c.Size != 48 || c.Type != kfd.CacheTypeCPU|kfd.CacheTypeData {
		t.Errorf("%+v", c)
	}
	addCPUCaches(fstest.MapFS{}, []*Node{{}})
}
