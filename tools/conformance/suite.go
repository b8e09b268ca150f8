package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
)

// suite is a set of test programs in Debian's packages.
type suite struct {
	name     string
	release  string   // of Debian
	packages []string // with all libraries that the programs need, but libamdhip64
	programs string   // glob under the root
	env      []string
}

// The tests of rocRAND and hipRAND make strings of these variables whether they are set or not.
var noHMM = []string{"ROCRAND_USE_HMM=0", "HIPRAND_USE_HMM=0"}

var suites = []suite{
	{
		name: "rocrand", release: "trixie", // ROCm 5.7.1: libamdhip64.so.5
		packages: []string{"librocrand1-tests", "librocrand1", "libc6", "libstdc++6", "libgcc-s1"},
		programs: "usr/libexec/rocm/librocrand1-tests/test_*",
		env:      noHMM,
	},
	{
		name: "rocrand6", release: "sid", // ROCm 6.4.3: libamdhip64.so.6
		packages: []string{"librocrand1-tests", "librocrand1", "libc6", "libstdc++6", "libgcc-s1"},
		programs: "usr/libexec/rocm/librocrand1-tests/test_*",
		env:      noHMM,
	},
	{
		name: "rocprim", release: "trixie", // ROCm 5.7.1
		packages: []string{"librocprim-tests", "libc6", "libstdc++6", "libgcc-s1"},
		programs: "usr/libexec/rocm/librocprim-tests/test_*",
	},
	{
		name: "hiprand", release: "trixie", // hipRAND of ROCm 5.7.1 on rocRAND
		packages: []string{"libhiprand1-tests", "libhiprand1", "librocrand1", "libc6", "libstdc++6", "libgcc-s1"},
		programs: "usr/libexec/rocm/libhiprand1-tests/test_*",
		env:      noHMM,
	},
	{
		name: "hipcub", release: "trixie", // ROCm 5.7.1
		packages: []string{"libhipcub-tests", "libc6", "libstdc++6", "libgcc-s1"},
		programs: "usr/libexec/rocm/libhipcub-tests/test_*",
	},
	{
		name: "rocthrust", release: "trixie", // ROCm 5.7.1
		packages: []string{"librocthrust-tests", "libc6", "libstdc++6", "libgcc-s1"},
		programs: "usr/libexec/rocm/librocthrust-tests/test_*",
	},
}

func findSuite(name string) (*suite, error) {
	var all []string
	for i := range suites {
		if suites[i].name == name {
			return &suites[i], nil
		}
		all = append(all, suites[i].name)
	}
	return nil, fmt.Errorf("no suite %q; there are %q", name, all)
}

// unpack makes the suite's root under dir, if it is not there yet.
func (s *suite) unpack(top, dir string) (root string, err error) {
	root = filepath.Join(dir, s.name)
	args := append([]string{"unpack", s.release, root}, s.packages...)
	cmd := exec.Command(filepath.Join(top, "scripts/install-deps"), args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("suite %s: its packages cannot be had: %w", s.name, err)
	}
	return root, nil
}

// list gives the programs whose names match pattern.
func (s *suite) list(root, pattern string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(root, s.programs))
	if err != nil {
		return nil, err
	}
	var some []string
	for _, p := range all {
		ok, err := filepath.Match(pattern, filepath.Base(p))
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if ok {
			some = append(some, p)
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("suite %s has no program %q in %s", s.name, pattern, root)
	}
	sort.Strings(some)
	return some, nil
}

// command starts a program of the root on the HIP runtime in lib.
func (s *suite) command(root, lib, program string, args ...string) *exec.Cmd {
	loader := filepath.Join(root, "usr/lib64/ld-linux-x86-64.so.2")
	path := lib + ":" + filepath.Join(root, "usr/lib/x86_64-linux-gnu")
	cmd := exec.Command(loader, append([]string{"--library-path", path, program}, args...)...)
	cmd.Env = append(os.Environ(), s.env...)
	return cmd
}
