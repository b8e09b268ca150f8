package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/jit"
	"github.com/pumice-gpu/pumice/internal/needs"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pumice": main})
}

// TestScripts runs testdata/script/*.txtar. In them `pumice` is this build of the command. With the stub beside it a
// program sees virtual GPUs; scripts that need that begin with [!stub] skip.
func TestScripts(t *testing.T) {
	stub := built(t, "bin/libpumice-stub.so")
	examples := built(t, "build/examples/O3/vectoradd")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			if examples != "" {
				e.Setenv("EXAMPLES", filepath.Dir(examples))
			}
			if stub == "" {
				return nil
			}
			// testscript runs pumice from a directory of its own; an installation has the libraries in ../lib/pumice.
			for _, dir := range strings.Split(e.Getenv("PATH"), string(os.PathListSeparator)) {
				if _, err := os.Lstat(filepath.Join(dir, "pumice")); err != nil {
					continue
				}
				for _, name := range []string{"libpumice-stub.so", "libpumice.so", "rocm", "hsa"} {
					if err := os.Symlink(filepath.Join(filepath.Dir(stub), name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
						return err
					}
				}
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "stub":
				return stub != "", nil
			case "examples":
				return stub != "" && examples != "", nil
			case "jit":
				return jit.Supported(), nil
			case "rocminfo":
				_, err := exec.LookPath("rocminfo")
				return err == nil, nil
			}
			return false, nil
		},
	})
}

// built is the absolute path of what `make build examples` has left, or "" when it has not been run. In CI (PUMICE_TEST_ALL)
// it has to be there.
func built(t *testing.T, name string) string {
	path, err := filepath.Abs(filepath.Join("../..", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		if needs.All() {
			t.Fatalf("`make build examples` has not been run: %v", err)
		}
		return ""
	}
	return path
}

func TestParseRun(t *testing.T) {
	for _, test := range []struct {
		args          []string
		gpus, program string
		rest          int
	}{
		{[]string{"prog"}, "mi210", "prog", 0},
		{[]string{"--gpu", "rx6900xt", "--", "prog", "--gpu", "x"}, "rx6900xt", "prog", 2},
		{[]string{"--gpu=mi210,radeonvii", "prog", "-x"}, "mi210,radeonvii", "prog", 1},
		{[]string{"--rocm", "system", "--engine=interp", "--", "--odd"}, "mi210", "--odd", 0},
		{[]string{}, "mi210", "", 0},
	} {
		o, err := parseRun(test.args)
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		if o.gpus != test.gpus || o.program != test.program || len(o.args) != test.rest {
			t.Errorf("%q: got %+v", test.args, o)
		}
	}
	for _, args := range [][]string{{"--gpu"}, {"--gpu", "nope", "x"}, {"--rocm", "7", "x"}, {"--what", "x"}, {"--engine=fast", "x"}} {
		if o, err := parseRun(args); err == nil {
			t.Errorf("%q: no error, %+v", args, o)
		}
	}
}
