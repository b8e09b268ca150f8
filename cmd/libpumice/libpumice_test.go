package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/internal/needs"
)

// build makes the stub and the fake library in a directory, once for all tests.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run(t, "make", "-s", "OUT="+dir, dir+"/libpumice-stub.so")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", dir+"/libpumice.so", "./testdata/fakelib")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the fake library: %v\n%s", err, out)
	}
	return dir
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// TestPitfalls runs each program of testdata/pitfalls under the stub: what forks, signals, descriptors and faults of a
// program that knows nothing of Go may do to it.
func TestPitfalls(t *testing.T) {
	needs.Program(t, "gcc") // builds the stub
	dir := build(t)
	sources, err := filepath.Glob("testdata/pitfalls/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no pitfall programs: %v", err)
	}
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(dir, name)
			run(t, "gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Werror", "-D_FILE_OFFSET_BITS=64", "-o", program, source, "-lpthread")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a program that hangs is ended
			defer cancel()
			cmd := exec.CommandContext(ctx, program)
			cmd.Env = append(os.Environ(), "LD_PRELOAD="+dir+"/libpumice-stub.so")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
