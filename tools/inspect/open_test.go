package inspect_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/internal/machine"
	"github.com/pumice-gpu/pumice/internal/needs"
	"github.com/pumice-gpu/pumice/tools/inspect"
)

// archive makes a Unix archive of members; a long name goes into the table of names.
func archive(members ...string) []byte {
	var names, body strings.Builder
	for i := 0; i < len(members); i += 2 {
		name := members[i] + "/"
		if len(name) > 16 {
			name = fmt.Sprintf("/%d", names.Len())
			names.WriteString(members[i] + "/\n")
		}
		fmt.Fprintf(&body, "%-16s%-12d%-6d%-6d%-8o%-10d`\n%s", name, 0, 0, 0, 0o644, len(members[i+1]), members[i+1])
		body.WriteString(strings.Repeat("\n", len(members[i+1])&1))
	}
	head := fmt.Sprintf("!<arch>\n%-48s%-10d`\n%s", "//", names.Len(), names.String())
	return []byte(head + strings.Repeat("\n", names.Len()&1) + body.String())
}

func write(t testing.TB, b []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestOpenArchive(t *testing.T) {
	co := string(machine.Saxpy())
	objs, skipped, err := inspect.Open(write(t, archive("notes.txt", "text", "a-member-with-a-long-name.o", co, "b.co", co, "broken.co", co[:200])), "")
	if err != nil || len(objs) != 2 || len(skipped) != 1 {
		t.Fatalf("%d objects, skipped %v, %v; want 2 objects, 1 skipped", len(objs), skipped, err)
	}
	if !strings.HasSuffix(objs[0].Where, "file(a-member-with-a-long-name.o)") || !strings.Contains(skipped[0].String(), "file(broken.co)") {
		t.Errorf("found %q, skipped %q", objs[0].Where, skipped[0])
	}
	a := archive("a", co)
	for what, b := range map[string][]byte{"thin archive": []byte("!<thin>\n"), "broken archive": a[:len(a)-1], "no code for an AMD GPU": archive("a", "b")} {
		if _, _, err := inspect.Open(write(t, b), ""); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestUnknownTargetIsSkipped: Debian's libraries have code for gfx803, which must not hide the rest.
func TestUnknownTargetIsSkipped(t *testing.T) {
	file := build(t, "gfx803", "gfx90a")
	objs, skipped, err := inspect.Open(file, "")
	if err != nil || len(objs) != 1 || objs[0].Target != "gfx90a" {
		t.Fatalf("%d objects, %v; want gfx90a alone", len(objs), err)
	}
	if len(skipped) != 1 || skipped[0].Target != "gfx803" || skipped[0].Count != 1 {
		t.Errorf("skipped %+v; want gfx803", skipped)
	}
	if uses, err := inspect.Coverage(objs); err != nil || len(uses) == 0 {
		t.Errorf("coverage: %v, %v", uses, err)
	}
	if _, _, err := inspect.Open(file, "gfx803"); err == nil || !strings.Contains(err.Error(), "no instruction tables") {
		t.Errorf("Open for gfx803: %v", err)
	}
}

// TestWaveSizeOfTheKernel: masks of a kernel for wave64 are two registers.
func TestWaveSizeOfTheKernel(t *testing.T) {
	clang := needs.Program(t, "clang-19")
	dir := t.TempDir()
	src := filepath.Join(dir, "k.cl")
	if err := os.WriteFile(src, []byte("kernel void k(global int *p) { int i = __builtin_amdgcn_workitem_id_x(); if (p[i] > 3) p[i] = 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for wave, want := range map[string]string{"-mwavefrontsize64": `v_cmp_\w+ (s\[\d+:\d+\]|vcc),`, "-mno-wavefrontsize64": `v_cmp_\w+ (s\d+|vcc_lo),`} {
		out := filepath.Join(dir, "k.co")
		if b, err := exec.Command(clang, "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1030", wave, "-nogpulib", "-O0", src, "-o", out).CombinedOutput(); err != nil {
			t.Fatalf("clang: %v\n%s", err, b)
		}
		objs, _, err := inspect.Open(out, "")
		if err != nil {
			t.Fatal(err)
		}
		ls, err := inspect.Disasm(objs[0], "")
		if err != nil || len(ls) == 0 {
			t.Fatal(err)
		}
		var b bytes.Buffer
		ls[0].WriteText(&b)
		if !regexp.MustCompile(want).Match(b.Bytes()) {
			t.Errorf("%s: no %q in\n%s", wave, want, b.String())
		}
	}
}

// FuzzOpen looks into broken files as disasm and coverage do.
func FuzzOpen(f *testing.F) {
	co := machine.Saxpy()
	f.Add(co)
	f.Add(archive("a", string(co), "b.txt", "b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		objs, _, err := inspect.Open(write(t, b), "")
		if err != nil {
			return
		}
		for _, o := range objs {
			ls, err := inspect.Disasm(o, "")
			if err != nil {
				t.Fatal(err)
			}
			for i := range ls {
				ls[i].WriteText(new(bytes.Buffer))
			}
		}
		if _, err := inspect.Coverage(objs); err != nil {
			t.Fatal(err)
		}
	})
}
