// Command bench measures Pumice against its peers in one run: native C and hand-written AVX-512 on one core of this
// machine, pocl running the same kernels, and Pumice's engines under an unmodified HIP program. It prints a table and
// appends one JSON object for each figure to bench/results.jsonl. Machines are noisy: read the ratios.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// result is one line of results.jsonl.
type result struct {
	Time  string  `json:"time"`
	Name  string  `json:"name"`
	Impl  string  `json:"impl"` // "jit gfx90a", "pocl", "native", "avx512"
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Peer  string  `json:"peer,omitempty"`  // what Ratio is against
	Ratio float64 `json:"ratio,omitempty"` // above 1: better than the peer
	Cores int     `json:"cores"`
}

// peers are what a figure is compared with, the first that was measured.
var peers = []string{"avx512", "native", "pocl"}

// newer are the profiles that hipcc does not know: scripts/hip-clang compiles for them.
var newer = map[string]bool{"mi300x": true, "rx7900xtx": true}

type config struct {
	root, build, pumice, rocm string
	gpus, engines             []string
	names                     []string
	cores                     string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var c config
	var gpus, engines string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&c.root, "root", ".", "root of the repository")
	fs.StringVar(&gpus, "gpus", "mi210,rx7900xtx", "profiles, comma-separated")
	fs.StringVar(&engines, "engines", "jit,interp", "engines, comma-separated")
	fs.StringVar(&c.rocm, "rocm", "pumice", "whose user space runs the HIP program: system or pumice")
	fs.StringVar(&c.cores, "cpus", "0", "CPUs to use, as taskset takes them: figures are per core with one")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c.names = fs.Args()
	c.gpus, c.engines = strings.Split(gpus, ","), strings.Split(engines, ",")
	c.build = filepath.Join(c.root, "build", "bench")
	c.pumice = filepath.Join(c.root, "bin", "pumice")
	if err := os.MkdirAll(c.build, 0o755); err != nil {
		return err
	}
	results, err := c.measure()
	if err != nil {
		return err
	}
	compare(results)
	table(results)
	return appendResults(filepath.Join(c.root, "bench", "results.jsonl"), results)
}

// measure builds and runs everything; a peer that cannot be built is left out with a note.
func (c *config) measure() ([]result, error) {
	if slices.Equal(c.names, []string{"svm"}) {
		return c.svm()
	}
	var all []result
	stamp := time.Now().UTC().Format(time.RFC3339)
	add := func(impl string, cmd *exec.Cmd) error {
		fmt.Fprintf(os.Stderr, "bench: %s\n", impl)
		rs, err := c.figures(cmd)
		for i := range rs {
			rs[i].Time, rs[i].Impl, rs[i].Cores = stamp, impl, c.coreCount()
			if n, ok := strings.CutSuffix(rs[i].Name, "_avx512"); ok {
				rs[i].Name, rs[i].Impl = n, "avx512"
			}
			if rs[i].Name == "copy_memcpy" {
				rs[i].Impl = "native"
			}
		}
		all = append(all, rs...)
		return err
	}
	src := filepath.Join(c.root, "bench")
	native := filepath.Join(c.build, "native")
	if err := build("clang-15", "-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-mprefer-vector-width=512",
		filepath.Join(src, "native", "native.c"), "-lm", "-o", native); err != nil {
		return nil, err
	}
	if err := add("native", c.pinned(native)); err != nil {
		return nil, err
	}
	ocl := filepath.Join(c.build, "ocl")
	if err := build("clang-15", "-O2", filepath.Join(src, "opencl", "ocl.c"), "-lOpenCL", "-o", ocl); err != nil {
		fmt.Fprintf(os.Stderr, "bench: without pocl (scripts/install-deps bench installs it): %v\n", err)
	} else if err := add("pocl", c.pinned(ocl)); err != nil {
		return nil, err
	}
	hips := map[bool]string{false: filepath.Join(c.build, "hip"), true: filepath.Join(c.build, "hip-newer")}
	hip := hips[false]
	if err := build("hipcc", "-O3", "--offload-arch=gfx90a", "--offload-arch=gfx906", "--offload-arch=gfx1030", "-Wno-unused-command-line-argument",
		filepath.Join(src, "hip", "bench.hip"), "-o", hip); err != nil {
		return nil, err
	}
	for _, g := range c.gpus {
		if newer[g] {
			if err := build(filepath.Join(c.root, "scripts", "hip-clang"), "-O3", "--offload-arch=gfx942", "--offload-arch=gfx1100",
				filepath.Join(src, "hip", "bench.hip"), "-o", hips[true]); err != nil {
				return nil, err
			}
			break
		}
	}
	for _, g := range c.gpus {
		rocm := c.rocm
		if newer[g] { // AMD's user space of that age does not know them either
			rocm = "pumice"
		}
		for _, e := range c.engines {
			cmd := c.pinned(c.pumice, append([]string{"run", "--gpu", g, "--engine", e, "--rocm", rocm, "--", hips[newer[g]]}, c.names...)...)
			if e == "interp" {
				cmd.Env = append(os.Environ(), "BENCH_SCALE=16")
			}
			if err := add(e+" "+g, cmd); err != nil {
				return nil, err
			}
		}
	}
	if err := c.twoCores(add, &all, hips[false]); err != nil {
		return nil, err
	}
	if len(c.names) == 0 {
		rs, err := c.svm()
		if err != nil {
			return nil, err
		}
		all = append(all, rs...)
	}
	tool := filepath.Join(c.build, "engine")
	if err := build("go", "build", "-C", c.root, "-o", absolute(tool), "./bench/engine"); err != nil {
		return nil, err
	}
	return all, add("compiler", c.pinned(tool, hip))
}

// twoCores runs what scales by itself on two CPUs, next to what one gave.
func (c *config) twoCores(add func(string, *exec.Cmd) error, all *[]result, hip string) error {
	g := c.gpus[0]
	if newer[g] || c.coreCount() != 1 || runtime.NumCPU() < 2 || !slices.Contains(c.engines, "jit") {
		return nil
	}
	var names []string
	for _, n := range []string{"sgemm", "nbody"} {
		if len(c.names) == 0 || slices.Contains(c.names, n) {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return nil
	}
	one := map[string]float64{}
	for _, r := range *all {
		if r.Impl == "jit "+g {
			one[r.Name] = r.Value
		}
	}
	two := *c
	two.cores = "0,1"
	n := len(*all)
	err := add("jit "+g+" on 2 cores", two.pinned(c.pumice, append([]string{"run", "--gpu", g, "--engine", "jit", "--rocm", c.rocm, "--", hip}, names...)...))
	for i := n; i < len(*all); i++ {
		r := &(*all)[i]
		r.Cores, r.Peer, r.Ratio = 2, "1 core", r.Value/one[r.Name]
	}
	return err
}

func absolute(p string) string {
	if a, err := filepath.Abs(p); err == nil {
		return a
	}
	return p
}

// pinned runs a command on the chosen CPUs.
func (c *config) pinned(name string, args ...string) *exec.Cmd {
	return exec.Command("taskset", append([]string{"-c", c.cores, name}, args...)...)
}

func (c *config) coreCount() int {
	if strings.ContainsAny(c.cores, "-,") {
		return runtime.NumCPU()
	}
	return 1
}

func build(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// figures runs cmd and reads its lines "name value unit".
func (c *config) figures(cmd *exec.Cmd) ([]result, error) {
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, errOut.Bytes())
		}
		return nil, err
	}
	var rs []result
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) != 3 {
			continue
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return nil, fmt.Errorf("%s printed %q", cmd.Args[len(cmd.Args)-1], sc.Text())
		}
		rs = append(rs, result{Name: f[0], Value: v, Unit: f[2]})
	}
	return rs, nil
}

// compare fills in peers and ratios. Times are better when smaller.
func compare(rs []result) {
	by := map[string]map[string]result{}
	for _, r := range rs {
		if by[r.Name] == nil {
			by[r.Name] = map[string]result{}
		}
		by[r.Name][r.Impl] = r
	}
	for i := range rs {
		r := &rs[i]
		if r.Peer != "" { // it knows by itself
			continue
		}
		if m, ok := by["fma"][r.Impl]; ok && r.Name == "fma_denormal" {
			r.Peer, r.Ratio = "fma", r.Value/m.Value
			continue
		}
		if strings.HasPrefix(r.Name, "copy_") && r.Name != "copy_memcpy" {
			if m, ok := by["copy_memcpy"]["native"]; ok {
				r.Peer, r.Ratio = "memcpy", r.Value/m.Value
			}
			continue
		}
		for _, p := range peers {
			m, ok := by[strings.TrimSuffix(r.Name, "_example")][p]
			if !ok || p == r.Impl {
				continue
			}
			r.Peer, r.Ratio = p, r.Value/m.Value
			if r.Unit == "us" {
				r.Ratio = 1 / r.Ratio
			}
			break
		}
	}
}

func table(rs []result) {
	sorted := append([]result(nil), rs...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Name < sorted[j].Name })
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "name\timplementation\tvalue\tunit\tratio\tagainst\t")
	for _, r := range sorted {
		ratio := ""
		if r.Peer != "" {
			ratio = fmt.Sprintf("%.3f", r.Ratio)
		}
		fmt.Fprintf(w, "%s\t%s\t%.4g\t%s\t%s\t%s\t\n", r.Name, r.Impl, r.Value, r.Unit, ratio, r.Peer)
	}
	w.Flush()
}

func appendResults(file string, rs []result) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	for _, r := range rs {
		if err := e.Encode(r); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}
