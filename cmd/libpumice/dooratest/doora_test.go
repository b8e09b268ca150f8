// Package dooratest tests door A from the side of C programs: the stub of ../hipstub and what is behind it. It needs what `make build` leaves.
package dooratest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/internal/needs"
)

// library returns the directory of the libraries and the path of libamdhip64.
func library(t *testing.T) (dir, lib string) {
	t.Helper()
	dir = os.Getenv("PUMICE_TEST_ROCM") // of another build
	if dir == "" {
		dir = "../../../bin/rocm"
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	lib = filepath.Join(dir, "libamdhip64.so.5")
	if _, err := os.Stat(lib); err != nil {
		needs.Missing(t, "`make build` has not been run")
	}
	return dir, lib
}

// run runs a program on the GPUs of a list, and returns what it prints.
func run(t *testing.T, dir, gpus, prog string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(prog, args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "PUMICE_GPU="+gpus)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(100*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Wait()
	return out.String(), errs.String(), err
}

// TestPrograms compiles and runs HIP programs that test one family of functions each. Their calls are of the header of HIP 5.2, or are declared by them. Those whose name ends with 7
// are linked with the library of HIP 7.
func TestPrograms(t *testing.T) {
	dir, lib := library(t)
	needs.Program(t, "hipcc")
	sources, err := filepath.Glob("testdata/hip/*.hip")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, src := range sources {
		name := strings.TrimSuffix(filepath.Base(src), ".hip")
		t.Run(name, func(t *testing.T) {
			prog, lib := filepath.Join(t.TempDir(), name), lib
			if strings.HasSuffix(name, "7") {
				lib = strings.TrimSuffix(lib, "5") + "7"
			}
			if out, err := exec.Command("hipcc", "-std=c++17", "-O1", "-Wall", "-Wno-unused-function", "-Wno-unused-command-line-argument", "--offload-arch=gfx90a",
				"-x", "hip", src, "-x", "none", lib, "-o", prog).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, errs, err := run(t, dir, "mi210,mi210", prog)
			if err != nil || !strings.HasSuffix(out, "PASSED\n") {
				t.Errorf("%v\n%s%s", err, out, errs)
			}
		})
	}
}

func TestDoorA(t *testing.T) {
	dir, lib := library(t)
	prog := filepath.Join(t.TempDir(), "doora")
	if out, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "testdata/doora.c", lib, "-o", prog, "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"idle", "use", "fork_before", "fork_after", "threads", "missing", "timer", "timer_late"} {
		t.Run(name, func(t *testing.T) {
			out, errs, err := run(t, dir, "mi210,mi210", prog, name)
			if err != nil || out != "OK\n" {
				t.Errorf("%v\n%s%s", err, out, errs)
			}
			if name == "missing" && strings.Count(errs, "hipGLGetDevices") != 1 {
				t.Errorf("the missing function is not named once:\n%s", errs)
			}
		})
	}
}

// Memory and signals of HSA in two processes.
func TestHSAProcesses(t *testing.T) {
	dir, _ := library(t)
	if _, err := os.Stat("/usr/include/hsa/hsa.h"); err != nil {
		needs.Missing(t, "no headers of HSA")
	}
	prog := filepath.Join(t.TempDir(), "hsaipc")
	if out, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "testdata/hsaipc.c", filepath.Join(dir, "libhsa-runtime64.so.1"), "-o", prog).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, errs, err := run(t, dir, "mi210", prog)
	if err != nil || out != "OK\n" {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
}

// The rest of HSA by testdata/hsafull.c. With PUMICE_TEST_AMD set AMD's own library must answer the same.
func TestHSA(t *testing.T) {
	dir, _ := library(t)
	if _, err := os.Stat("/usr/include/hsa/hsa.h"); err != nil {
		needs.Missing(t, "no headers of HSA")
	}
	prog, object := filepath.Join(t.TempDir(), "hsafull"), filepath.Join(t.TempDir(), "saxpy")
	need(t, "gcc", "-O1", "-Wall", "-Werror", "-Wno-deprecated-declarations", "testdata/hsafull.c", filepath.Join(dir, "libhsa-runtime64.so.1"), "-o", prog)
	need(t, "hipcc", "--genco", "--offload-arch=gfx90a", "-x", "hip", "testdata/saxpy.hip", "-o", object+".bundle")
	need(t, "/usr/lib/llvm-15/bin/clang-offload-bundler", "-unbundle", "-type=o", "-targets=hipv4-amdgcn-amd-amdhsa--gfx90a", "-input="+object+".bundle", "-output="+object)
	for _, mask := range []string{"", "0:4-7"} {
		if mask != "" {
			t.Setenv("HSA_CU_MASK", mask)
		}
		out, errs, err := run(t, dir, "mi210", prog, object)
		if err != nil || out != "OK\n" {
			t.Errorf("HSA_CU_MASK=%s: %v\n%s%s", mask, err, out, errs)
		}
		if os.Getenv("PUMICE_TEST_AMD") != "" {
			out, err := exec.Command(filepath.Join(binaries(t), "pumice"), "run", "--rocm", "system", "--gpu", "mi210", "--", prog, object, "amd").CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "OK\n") {
				t.Errorf("AMD's library, HSA_CU_MASK=%s: %v\n%s", mask, err, out)
			}
		}
	}
}
