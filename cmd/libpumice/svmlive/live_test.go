// Package svmlive tests shared virtual memory under real programs: a HIP program compiled by hipcc, by AMD's runtime (door C) and by Pumice's own (door A), with XNACK on
// and off, on both drivers, with 64 MiB of video memory. It needs what `make build` leaves.
package svmlive

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
)

// check is one run of testdata/live.hip.
type check struct {
	args  string
	abort bool   // the GPU may not do this: the runtime ends the program
	only  string // a --rocm
	once  bool   // nothing in it depends on the driver of shared virtual memory
}

var checks = []check{
	{args: "oversubscribe"},
	{args: "threads"},
	{args: "unmap"},
	{args: "advise"},
	{args: "remap"},
	{args: "protect"},
	{args: "protect read early"},
	{args: "protect write", abort: true},
	{args: "protect write early", abort: true},
	{args: "anywhere"},
	{args: "signals", once: true},
	{args: "children"},
	{args: "gem", only: "system"},
	{args: "results", only: "pumice"},
	{args: "fork_first", once: true},
	// A child that uses AMD's runtime after its parent has used it fails as it does with the real driver: it finds its parent's state.
	{args: "fork_later", only: "pumice", once: true},
	{args: "fork_later only", only: "pumice", once: true},
	{args: "fork_later only_exit", once: true},
}

var setups = []struct{ name, rocm, engine, xnack string }{
	{"drm/pumice/on", "pumice", "drm", "1"},
	{"drm/pumice/off", "pumice", "drm", "0"},
	{"drm/system/on", "system", "drm", "1"},
	{"drm/system/off", "system", "drm", "0"},
	{"kfd/pumice/on", "pumice", "kfd", "1"},
	{"kfd/system/off", "system", "kfd", "0"},
}

// The program is compiled once for all tests.
var compiled struct {
	dir, program string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if compiled.dir != "" {
		_ = os.RemoveAll(compiled.dir)
	}
	os.Exit(code)
}

// tools finds pumice and compiles the program.
func tools(t *testing.T) (pumice, program string) {
	t.Helper()
	bin := os.Getenv("PUMICE_TEST_BIN")
	if bin == "" {
		bin = "../../../bin"
	}
	pumice, err := filepath.Abs(filepath.Join(bin, "pumice"))
	if err == nil {
		_, err = os.Stat(pumice)
	}
	if err != nil {
		needs.Missing(t, "`make build` has not been run: %v", err)
	}
	needs.Program(t, "hipcc")
	if compiled.program != "" {
		return pumice, compiled.program
	}
	if compiled.dir, err = os.MkdirTemp("", "svmlive"); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(compiled.dir, "live")
	out, err := exec.Command("hipcc", "-std=c++17", "-O1", "-Wall", "-Wno-unused-command-line-argument", "--offload-arch=gfx90a", "-x", "hip", "testdata/live.hip", "-o", program,
		"-lhsa-runtime64").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	compiled.program = program
	return pumice, program
}

// run runs the program with 64 MiB of video memory.
func run(pumice, program, rocm, engine, xnack string, options, args []string) (string, error) {
	all := []string{"-c", `ulimit -c 0; exec "$@"`, "sh", pumice, "run", "--rocm", rocm, "--svm-engine", engine, "--gpu", "testdata/small.json"}
	all = append(append(append(all, options...), "--", program), args...)
	cmd := exec.Command("sh", all...)
	cmd.Env = append(os.Environ(), "HSA_XNACK="+xnack)
	if len(args) > 0 && args[0] == "results" {
		cmd.Env = append(cmd.Env, "GOGC=1") // of Pumice's runtime
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mib is how much memory oversubscribe uses: `make svm-live` takes a GiB.
func mib() string {
	if s := os.Getenv("PUMICE_TEST_SVM_MIB"); s != "" {
		return s
	}
	return "96"
}

func TestLive(t *testing.T) {
	pumice, program := tools(t)
	for _, s := range setups {
		for _, c := range checks {
			if c.only != "" && c.only != s.rocm || c.once && (s.engine != "drm" || s.xnack == "0") {
				continue
			}
			t.Run(s.name+"/"+strings.ReplaceAll(c.args, " ", "_"), func(t *testing.T) {
				t.Parallel()
				args := strings.Fields(c.args)
				if c.args == "oversubscribe" {
					args = append(args, mib())
				}
				out, err := run(pumice, program, s.rocm, s.engine, s.xnack, nil, args)
				var exit *exec.ExitError
				switch {
				case c.abort && (!errors.As(err, &exit) || !strings.Contains(out, "emory access fault") && !strings.Contains(out, "GPU memory access fault")):
					t.Errorf("not ended by a memory fault: %v\n%s", err, out)
				case !c.abort && (err != nil || !strings.HasSuffix(out, "OK\n")):
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// The trace tells of each move, and why.
func TestTrace(t *testing.T) {
	pumice, program := tools(t)
	for _, engine := range []string{"drm", "kfd"} {
		t.Run(engine, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "trace")
			if out, err := run(pumice, program, "pumice", engine, "1", []string{"--svm-trace=" + file, "--json"}, []string{"oversubscribe", "96", "1"}); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			seen := map[[2]string]int{}
			for sc := bufio.NewScanner(f); sc.Scan(); {
				var e struct{ Event, Cause string }
				if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
					t.Fatalf("%v: %s", err, sc.Text())
				}
				seen[[2]string{e.Event, e.Cause}]++
			}
			for _, want := range [][2]string{{"migrate to VRAM", "prefetch"}, {"migrate to VRAM", "GPU fault"}, {"evict", "TTM eviction"}, {"migrate to RAM", "CPU fault"}, {"unmap", ""}} {
				if seen[want] == 0 {
					t.Errorf("no %v in %v", want, seen)
				}
			}
		})
	}
}
