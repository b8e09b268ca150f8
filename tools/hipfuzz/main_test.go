package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
)

// TestProgram runs a random program on two chips, of wave64 and wave32, with compiled code and without.
func TestProgram(t *testing.T) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	needs.File(t, filepath.Join(top, "bin/rocm/libamdhip64.so.5"), "`make build`")
	needs.File(t, "/usr/lib/llvm-19/bin/clang", "scripts/install-deps")
	f := &fuzz{top: top, gpus: []string{"mi210", "rx7900xtx"}, engines: []string{"jit", "interp"}, dir: t.TempDir()}
	runs, diffs, err := f.try(2, 12, -1)
	if err != nil {
		t.Fatal(err)
	}
	if want := 12 * 4; runs != want {
		t.Errorf("%d runs of a kernel, not %d", runs, want)
	}
	for _, d := range diffs {
		t.Errorf("%s: %s", d.Kernel, d.text())
	}
}

// TestSameSeedSameProgram: a difference is told by its seed.
func TestSameSeedSameProgram(t *testing.T) {
	for seed := range uint64(50) {
		p := program(seed, 8, -1)
		if p != program(seed, 8, -1) {
			t.Fatalf("seed %d makes two programs", seed)
		}
		one := program(seed, 8, 5)
		_, kernel, _ := strings.Cut(one, "void k5(")
		if !strings.Contains(p, kernel[:strings.Index(kernel, "\n}\n")]) {
			t.Errorf("seed %d: kernel 5 alone is another", seed)
		}
	}
}

func TestDiffer(t *testing.T) {
	for _, c := range []struct {
		results map[string]string
		want    bool
	}{
		{map[string]string{"mi210/jit": "1a", "mi210/interp": "1a"}, false},
		{map[string]string{"mi210/jit": "1a", "mi210/interp": "1b"}, true},
		{map[string]string{"mi210/jit": "1a 1b", "mi210/interp": "1a 1b"}, true}, // another result the second time
	} {
		if differ(c.results) != c.want {
			t.Errorf("%v: %v", c.results, !c.want)
		}
	}
	d := &difference{Results: map[string]string{"b/jit": "1", "a/jit": "2", "a/interp": "1"}}
	if got := d.text(); got != "a/interp b/jit: 1; a/jit: 2" {
		t.Errorf("text: %s", got)
	}
}
