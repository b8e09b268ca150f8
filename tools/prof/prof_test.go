package prof

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/jit"
	"github.com/pumice-gpu/pumice/internal/needs"
)

// kernel compiles testdata/kernel.hip with debug information.
func kernel(t *testing.T) []byte {
	out := filepath.Join(t.TempDir(), "kernel.co")
	b, err := exec.Command(needs.Program(t, "clang-15"), "-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpulib", "-nogpuinc", "-O1", "-g", "-mcode-object-version=4",
		"--no-gpu-bundle-output", "testdata/kernel.hip", "-o", out).CombinedOutput()
	if err != nil {
		t.Fatalf("clang-15: %v\n%s", err, b)
	}
	if b, err = os.ReadFile(out); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestReport has one worker in a kernel that it knows, one in a function without a name, and an idle one.
func TestReport(t *testing.T) {
	code := kernel(t)
	o, err := codeobj.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	k, err := o.Kernel("scale")
	if err != nil {
		t.Fatal(err)
	}
	var mul uint64 // offset of the multiplication
	for off := uint64(0); mul == 0; off += 4 {
		if l, ok := o.Line(k.EntryVA + off); ok && l.Line == 4 {
			mul = off
		}
	}
	const base, pid = 0x7000_0000, 77
	dir := t.TempDir()
	cells := make([]byte, 3*pageSize)
	worker := func(page int, fn, pc, slow uint32) {
		b := cells[page*pageSize:]
		binary.LittleEndian.PutUint32(b[jit.CellLive:], 1)
		binary.LittleEndian.PutUint32(b[jit.CellOffset:], pc)
		binary.LittleEndian.PutUint32(b[jit.CellOffset+4:], fn)
		binary.LittleEndian.PutUint32(b[jit.CellOffset+8:], slow)
	}
	worker(0, 1, uint32(mul), 0)
	worker(1, 0, 44, 0)
	worker(2, 2, 8, 1)
	var funcs []byte
	for _, f := range []jit.SampledFunc{{ID: 1, PC: base + k.EntryVA, Target: "gfx90a"}, {ID: 2, PC: 0x1234000, Target: "gfx90a"}} {
		b, _ := json.Marshal(f)
		funcs = append(append(funcs, b...), '\n')
	}
	for name, b := range map[string][]byte{fmt.Sprintf("cells.%d", pid): cells, fmt.Sprintf("funcs.%d", pid): funcs, fmt.Sprintf("code.%d.%x", pid, base): code} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &Samples{counts: map[place]*count{}}
	known := map[string]bool{}
	files := newCells(dir, known)
	if len(files) != 1 || len(newCells(dir, known)) != 0 {
		t.Fatalf("%d files", len(files))
	}
	for range 3 {
		s.looks++
		s.look(files[0])
	}
	r, err := s.Report(dir, []string{"prog", "x"}, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if r.Samples != 6 || r.Workers != 2 || len(r.Funcs) != 2 {
		t.Fatalf("%+v", r)
	}
	var text strings.Builder
	if err := r.WriteText(&text, 5); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PC samples of prog x: 6", "3  50.0%  kernel scale (gfx90a), 0.0% of it in the helper", "kernel.hip:4\n", fmt.Sprintf("+%#x", mul),
		"function at 0x1234000 (gfx90a), 100.0% of it in the helper", "+0x8", "[helper 100%]"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if i := r.Funcs[1].Instructions[0]; r.Funcs[1].Name != "scale" || i.Line != 4 || i.Text != "s_waitcnt lgkmcnt(0)" {
		t.Errorf("%+v", i)
	}
	var out strings.Builder
	var back Report
	if err := r.WriteJSON(&out); err != nil || json.Unmarshal([]byte(out.String()), &back) != nil || back.Funcs[0].Instructions[0].Samples != 3 {
		t.Errorf("%v: %s", err, out.String())
	}
}
