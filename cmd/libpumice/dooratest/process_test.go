package dooratest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
)

// TestProcess runs the checks of testdata/process.c: what a process may do around HIP.
func TestProcess(t *testing.T) {
	bin := os.Getenv("PUMICE_TEST_BIN")
	if bin == "" {
		var err error
		if bin, err = filepath.Abs("../../../bin"); err != nil {
			t.Fatal(err)
		}
	}
	needs.File(t, filepath.Join(bin, "rocm/libamdhip64.so.5"), "`make build`")
	prog := filepath.Join(t.TempDir(), "process")
	if out, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "testdata/process.c", "-o", prog, "-lpthread", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"late_segv", "own_fault", "late_alarm", "early_alarm", "late_urgent", "early_urgent", "early_child", "late_child", "early_profile", "late_profile", "fork_managed", "split_stack", "exec_after", "spawn", "dl",
		"at_the_end", "threads_end", "exit_busy"} {
		for door, args := range map[string][]string{
			"library": {prog, name},
			"run":     {filepath.Join(bin, "pumice"), "run", "--", prog, name},
		} {
			if (name == "late_profile" || name == "late_child") && door == "library" {
				continue // needs the stub that `pumice run` preloads
			}
			t.Run(name+"/"+door, func(t *testing.T) {
				cmd := exec.Command("sh", append([]string{"-c", `ulimit -c 0; exec "$@"`, "sh"}, args...)...)
				cmd.Env = os.Environ()
				if door == "library" {
					cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+filepath.Join(bin, "rocm"))
				}
				out, err := cmd.CombinedOutput()
				// A program that the check starts says OK itself.
				if err != nil || strings.ReplaceAll(string(out), "OK\n", "") != "" {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
