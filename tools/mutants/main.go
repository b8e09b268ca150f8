// Command mutants sees whether the nightly fuzz of package jit finds faults: those of a table (engine/jit/testdata/mutants.txt) are
// built into one test binary, each behind a test of a variable, and the fuzz runs with each of them until it finds a difference or its time
// is over. Without any of them it must find nothing in that time: that is tried first.
//
//	go run ./tools/mutants [-cpu 60s] [-only 3,7]
//
// Nothing of it is in the tree: go build gets changed files by -overlay. A fault that is not found says that the programs lack a shape, or that it
// cannot be seen: docs/fuzz.md tells which.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mutant is a fault: what was in the file, and what is there instead.
type mutant struct {
	what, file, old, new string
	expr                 bool
}

const (
	dir = "engine/jit"
	// hooks is the file that the mutants need.
	hooks = `package jit

import (
	"os"
	"strconv"
)

var mutant, _ = strconv.Atoi(os.Getenv("JIT_MUTANT"))

func mutated[T any](n int, is, was T) T {
	if mutant == n {
		return is
	}
	return was
}
`
)

func main() {
	log.SetFlags(0)
	cpu := flag.Duration("cpu", time.Minute, "CPU time for each fault")
	only := flag.String("only", "", "numbers of faults")
	flag.Parse()
	list, err := read(filepath.Join(dir, "testdata/mutants.txt"))
	if err != nil {
		log.Fatal(err)
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	bin := filepath.Join(tmp, "mutated")
	if err := build(list, tmp, bin); err != nil {
		log.Fatal(err)
	}
	if by := run(bin, 0, *cpu); by != "" {
		log.Fatalf("without any fault: %s", by)
	}
	found, tried := 0, 0
	for i, m := range list {
		n := i + 1
		if *only != "" && !slices.Contains(strings.Split(*only, ","), strconv.Itoa(n)) {
			continue
		}
		tried++
		by := run(bin, n, *cpu)
		if by != "" {
			found++
		} else {
			by = "not found"
		}
		fmt.Printf("| %d | %s | %s | %s |\n", n, m.what, m.file, by)
	}
	fmt.Printf("%d of %d found\n", found, tried)
}

// read reads a table of faults.
func read(name string) (list []mutant, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for _, p := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
		var l []string
		for _, s := range strings.Split(p, "\n") {
			if !strings.HasPrefix(s, "#") {
				l = append(l, s)
			}
		}
		if len(l) == 0 {
			continue
		}
		if len(l) < 3 || len(l[2]) < 3 {
			return nil, fmt.Errorf("%s: %q is no fault", name, p)
		}
		m := mutant{what: l[0], file: l[1], old: l[2][2:], expr: l[2][0] == '<'}
		if len(l) > 3 {
			m.new = l[3][2:]
		}
		list = append(list, m)
	}
	return list, nil
}

// seed returns the text of the files of package jit, which is in dir, with all faults in them. The text of each must be there once.
func seed(list []mutant, dir string) (map[string]string, error) {
	text := map[string]string{"mutant_hooks.go": hooks}
	for i, m := range list {
		s, ok := text[m.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(dir, m.file))
			if err != nil {
				return nil, err
			}
			s = string(b)
		}
		if n := strings.Count(s, m.old); n != 1 {
			return nil, fmt.Errorf("%d: %s: %q is there %d times", i+1, m.file, m.old, n)
		}
		with := fmt.Sprintf("if mutant == %d {\n%s\n} else {\n%s\n}", i+1, m.new, m.old)
		if m.expr {
			with = fmt.Sprintf("mutated(%d, %s, %s)", i+1, m.new, m.old)
		}
		text[m.file] = strings.Replace(s, m.old, with, 1)
	}
	return text, nil
}

// build builds the test binary with all faults in it.
func build(list []mutant, tmp, bin string) error {
	here, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	text, err := seed(list, dir)
	if err != nil {
		return err
	}
	overlay := map[string]string{}
	for name, s := range text {
		at := filepath.Join(tmp, name)
		if err := os.WriteFile(at, []byte(s), 0o644); err != nil {
			return err
		}
		overlay[filepath.Join(here, name)] = at
	}
	b, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return err
	}
	config := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(config, b, 0o644); err != nil {
		return err
	}
	c := exec.Command("go", "test", "-c", "-overlay", config, "-o", bin, "./"+dir)
	c.Stderr = os.Stderr
	return c.Run()
}

var byShape = regexp.MustCompile(`seed \d+ \((\w+)\)`)
var programs = regexp.MustCompile(`(\d+) programs from`)

// run fuzzes with fault n and tells what found it; nothing did when that is empty. A program that does not end takes more CPU time than is allowed.
func run(bin string, n int, cpu time.Duration) string {
	limit := int(cpu.Seconds()) + 60
	c := exec.Command("bash", "-c", fmt.Sprintf(`ulimit -t %d; exec "$0" -test.run '^TestNightly$' -test.v -test.timeout 0`, limit), bin)
	c.Dir = dir
	c.Env = append(os.Environ(), "JIT_MUTANT="+strconv.Itoa(n), "NIGHTLY_CPU="+cpu.String(), "NIGHTLY_DIFFERENCES=1", "NIGHTLY_SEED=1")
	out, err := c.CombinedOutput()
	if err == nil {
		return ""
	}
	shape, count := "a crash, or no end", ""
	if m := byShape.FindSubmatch(out); m != nil {
		shape = string(m[1])
	}
	if m := programs.FindSubmatch(out); m != nil {
		count = ", program " + string(m[1])
	}
	return shape + count
}
