// Package dooratest tests door A from the side of C programs: the stub of ../hipstub and what is behind it. It needs what `make build` leaves.
package dooratest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDoorA(t *testing.T) {
	dir, err := filepath.Abs("../../../bin/rocm")
	if err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(dir, "libamdhip64.so.5")
	if _, err := os.Stat(lib); err != nil {
		if os.Getenv("PUMICE_TEST_ALL") != "" {
			t.Fatal("`make build` has not been run")
		}
		t.Skip("`make build` has not been run")
	}
	prog := filepath.Join(t.TempDir(), "doora")
	if out, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "testdata/doora.c", lib, "-o", prog, "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"idle", "use", "fork_before", "fork_after", "threads", "missing", "timer", "timer_late"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(prog, name)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "PUMICE_GPU=mi210,mi210")
			var out, errs strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(100*time.Second, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
			if err := cmd.Wait(); err != nil || out.String() != "OK\n" {
				t.Errorf("%v\n%s%s", err, out.String(), errs.String())
			}
			if name == "missing" && strings.Count(errs.String(), "hipGLGetDevices") != 1 {
				t.Errorf("the missing function is not named once:\n%s", errs.String())
			}
		})
	}
}
