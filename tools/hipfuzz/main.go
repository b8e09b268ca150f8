// Command hipfuzz makes random HIP programs, compiles them with a real compiler for several chips, and runs them on all engines. What a kernel leaves in
// memory must not depend on the engine; and because the programs are free of races, of undefined behaviour and of anything that depends on the wave
// size, it must not depend on the chip either. So it looks at the compiled engine behind what compilers really emit (loops over arrays, tiles in the LDS,
// reductions, divergence, calls, scratch), and at the meaning of each generation's instructions too: a wrong one is likely to be wrong on one generation only.
//
//	go run ./tools/hipfuzz [-seed 1] [-files 1] [-kernels 16] [-gpus mi210,rx6900xt,rx7900xtx] [-only 3] [-keep DIR] [-json]
//
// A difference is told with the seed, the kernel and who disagrees; the program is kept. It needs what scripts/install-deps installs, and bin/pumice.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// difference is a kernel whose results are not all the same.
type difference struct {
	Seed    uint64            `json:"seed"`
	Kernel  string            `json:"kernel"`
	Results map[string]string `json:"results"` // by run
	Program string            `json:"program"`
}

// report is the tool's output with -json.
type report struct {
	First       uint64        `json:"first"` // seed
	Files       int           `json:"files"`
	Kernels     int           `json:"kernels"`
	Runs        int           `json:"runs"`     // of a kernel on an engine and chip
	Failures    []string      `json:"failures"` // programs that did not compile or did not run to their end, and why
	Differences []*difference `json:"differences"`
}

func main() {
	log.SetFlags(0)
	seed := flag.Uint64("seed", uint64(time.Now().Unix()/86400)<<20, "seed of the first program")
	files := flag.Int("files", 1, "programs")
	kernels := flag.Int("kernels", 16, "kernels of each program")
	gpus := flag.String("gpus", "mi210,rx6900xt,rx7900xtx", "chips, as `pumice gpus` lists them")
	engines := flag.String("engines", "jit,jit-avx2,interp", "engines")
	only := flag.Int("only", -1, "run only the kernel of this number")
	keep := flag.String("keep", "build/hipfuzz", "folder for programs")
	asJSON := flag.Bool("json", false, "write JSON")
	printText := flag.Bool("print", false, "only print the first program")
	flag.Parse()
	if *printText {
		fmt.Print(program(*seed, *kernels, *only))
		return
	}
	f := &fuzz{top: ".", gpus: strings.Split(*gpus, ","), engines: strings.Split(*engines, ","), dir: *keep}
	for _, g := range f.gpus {
		if targets[g] == "" {
			log.Fatalf("hipfuzz: -gpus %s: it is none of %s", g, strings.Join(slices.Sorted(maps.Keys(targets)), ", "))
		}
	}
	r := &report{First: *seed, Failures: []string{}, Differences: []*difference{}}
	for i := range *files {
		s := *seed + uint64(i)
		n, diffs, err := f.try(s, *kernels, *only)
		if err != nil {
			r.Failures = append(r.Failures, fmt.Sprintf("seed %d: %v", s, err))
			if !*asJSON {
				fmt.Println(r.Failures[len(r.Failures)-1])
			}
		}
		r.Files++
		r.Runs += n
		r.Kernels += *kernels
		r.Differences = append(r.Differences, diffs...)
		for _, d := range diffs {
			if !*asJSON {
				fmt.Printf("seed %d, %s: %s\n  look: go run ./tools/hipfuzz -seed %d -kernels %d -only %s, %s\n", d.Seed, d.Kernel, d.text(), d.Seed, *kernels,
					strings.TrimPrefix(d.Kernel, "k"), d.Program)
			}
		}
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		_ = e.Encode(r)
	} else {
		fmt.Printf("%d programs from seed %d on, %d kernels, %d runs of a kernel, %d failures, %d differences\n", r.Files, r.First, r.Kernels, r.Runs, len(r.Failures), len(r.Differences))
	}
	if len(r.Differences)+len(r.Failures) > 0 {
		os.Exit(1)
	}
}

// text names who got what, those who agree together.
func (d *difference) text() string {
	by := map[string][]string{}
	for run, v := range d.Results {
		by[v] = append(by[v], run)
	}
	var all []string
	for v, runs := range by {
		slices.Sort(runs)
		all = append(all, fmt.Sprintf("%s: %s", strings.Join(runs, " "), v))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// fuzz is what all programs share.
type fuzz struct {
	top           string // of the repository
	gpus, engines []string
	dir           string
}

// try makes, compiles and runs the program of a seed. runs counts kernels.
func (f *fuzz) try(seed uint64, kernels, only int) (runs int, diffs []*difference, err error) {
	dir := filepath.Join(f.dir, fmt.Sprint(seed))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, nil, err
	}
	source := filepath.Join(dir, "program.hip")
	if err := os.WriteFile(source, []byte(program(seed, kernels, only)), 0o644); err != nil {
		return 0, nil, err
	}
	results := map[string]map[string]string{} // of a kernel, by run
	var order []string
	for _, gpu := range f.gpus {
		exe := filepath.Join(dir, gpu)
		c := exec.Command(filepath.Join(f.top, "scripts/hip-clang"), append(options(seed, targets[gpu]), source, "-o", exe)...)
		if out, err := c.CombinedOutput(); err != nil {
			return runs, nil, fmt.Errorf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
		}
		for _, engine := range f.engines {
			c := exec.Command(filepath.Join(f.top, "bin/pumice"), "run", "--gpu", gpu, "--engine", engine, "--", exe)
			c.Env = append(os.Environ(), variables(seed, gpu, engine)...)
			var errs strings.Builder
			c.Stderr = &errs
			out, err := c.Output()
			name := gpu + "/" + engine
			for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
				k, v, _ := strings.Cut(l, " ")
				if results[k] == nil {
					results[k] = map[string]string{}
					order = append(order, k)
				}
				results[k][name] = v
				runs++
			}
			if err != nil {
				return runs, nil, fmt.Errorf("%s: %v\n%s%s", strings.Join(c.Args, " "), err, out, errs.String())
			}
		}
	}
	for _, k := range order {
		if differ(results[k]) {
			diffs = append(diffs, &difference{Seed: seed, Kernel: k, Results: results[k], Program: source})
		}
	}
	if len(diffs) == 0 {
		err = os.RemoveAll(dir)
	}
	return runs, diffs, err
}

// variables are what the program's runs differ in, that results do not depend on: compiled kernels run often, so that they get the better code, and
// arrays lie in different memory, of which managed memory comes when it is touched.
func variables(seed uint64, gpu, engine string) []string {
	v := []string{"HIPFUZZ_MEMORY=device"}
	if engine != "interp" {
		v = []string{"HIPFUZZ_WARM=20", "HIPFUZZ_MEMORY=" + []string{"device", "managed", "device", "host"}[(seed+uint64(len(gpu+engine)))%4]}
	}
	if seed%2 == 0 { // retry faults
		v = append(v, "HSA_XNACK=1")
	}
	return v
}

// differ tells whether runs left different things, or one run did when it was done again: then its result is two numbers.
func differ(results map[string]string) bool {
	first := ""
	for _, v := range results {
		if first == "" {
			first = v
		}
		if v != first || strings.Contains(v, " ") {
			return true
		}
	}
	return false
}

// targets are the chips' names for compilers. vega64 (gfx900) is not among them: for it clang flushes denormal floats, so results are others.
var targets = map[string]string{
	"radeonvii": "gfx906", "mi100": "gfx908", "mi210": "gfx90a", "mi300x": "gfx942", "rx5700xt": "gfx1010", "rx6900xt": "gfx1030",
	"rx7900xtx": "gfx1100", "strixhalo": "gfx1151", "rx9070xt": "gfx1201",
}

// options are a program's compiler options: the same for all chips, but for the wave size, which no result depends on.
func options(seed uint64, target string) []string {
	level := []string{"-O3", "-O2", "-O3", "-O1", "-O3", "-O0"}[seed%6]
	o := []string{"--offload-arch=" + target, level, "-w", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing"}
	if (strings.HasPrefix(target, "gfx11") || strings.HasPrefix(target, "gfx12")) && seed/6%3 == 2 { // HIP's headers refuse it for gfx10
		o = append(o, "-mwavefrontsize64")
	}
	if seed/18%4 == 3 {
		o = append(o, "-fno-unroll-loops")
	}
	return o
}
