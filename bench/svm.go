package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// svmFigures are what the benchmarks of the kernel's shared virtual memory report (kernel/kfd/svmbench_test.go): the line of go test, the metric, the peer's metric, and the
// name here. Migration is by CPU time, which other processes do not change; of a fault the latency counts.
var svmFigures = []struct{ line, metric, peer, name string }{
	{"BenchmarkMigrate", "µs-CPU-up/2MiB", "µs-CPU-memcpy/2MiB", "svm_to_vram_2MiB"},
	{"BenchmarkMigrate", "µs-CPU-home/2MiB", "µs-CPU-memcpy/2MiB", "svm_to_ram_2MiB"},
	{"BenchmarkFault/4KiB", "µs-gpu-fault", "µs-memcpy", "svm_gpu_fault_4KiB"},
	{"BenchmarkFault/4KiB", "µs-cpu-touch", "µs-memcpy", "svm_cpu_touch_4KiB"},
	{"BenchmarkFault/2MiB", "µs-gpu-fault", "µs-memcpy", "svm_gpu_fault_2MiB"},
	{"BenchmarkFault/2MiB", "µs-cpu-touch", "µs-memcpy", "svm_cpu_touch_2MiB"},
}

// svm measures what it costs to move managed memory, against memcpy of the same bytes in the same run.
func (c *config) svm() ([]result, error) {
	fmt.Fprintln(os.Stderr, "bench: svm")
	cmd := exec.Command("go", "test", "-C", c.root, "./kernel/kfd", "-run", "^$", "-bench", "^Benchmark(Migrate|Fault)$", "-benchtime", "8x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	metrics := map[string]map[string]float64{}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		line := f[0][:max(strings.LastIndex(f[0], "-"), 0)] // without the number of CPUs
		metrics[line] = map[string]float64{}
		for i := 2; i+1 < len(f); i += 2 {
			if metrics[line][f[i+1]], err = strconv.ParseFloat(f[i], 64); err != nil {
				return nil, fmt.Errorf("go test printed %q", sc.Text())
			}
		}
	}
	stamp := time.Now().UTC().Format(time.RFC3339)
	var rs []result
	for _, x := range svmFigures {
		v, p := metrics[x.line][x.metric], metrics[x.line][x.peer]
		if v == 0 {
			return nil, fmt.Errorf("go test has no %s of %s:\n%s", x.metric, x.line, out)
		}
		rs = append(rs, result{Time: stamp, Name: x.name, Impl: "kernel", Value: v, Unit: "us", Peer: "memcpy", Ratio: p / v, Cores: 2})
	}
	return rs, nil
}
