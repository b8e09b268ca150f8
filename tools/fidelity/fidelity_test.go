package fidelity_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pumice-gpu/pumice/tools/fidelity"
)

// FIDELITY.md must be what the tags say now.
func TestPageIsCurrent(t *testing.T) {
	tags, err := fidelity.Scan(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../FIDELITY.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fidelity.Page(tags); string(page) != want {
		t.Error("FIDELITY.md is not what the code says; run `go generate ./tools/fidelity`")
	}
}

func TestScan(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	tags, err := fidelity.Scan(fstest.MapFS{
		"kernel/b.go":          file("x\n//fidelity: refused DBG_TRAP: EPERM, no debugger\n// fidelity: exact GET_VERSION\ny"),
		"engine/a.go":          file("\t// fidelity: approximate nan: which one\n\t// wins is not published\n\n// other"),
		"engine/testdata/x.go": file("//fidelity: nonsense"),
		"README.md":            file("//fidelity: nonsense"),
	})
	if err != nil || len(tags) != 3 {
		t.Fatalf("%v, %v; want three tags", tags, err)
	}
	if tags[0].Why != "which one wins is not published" || tags[1].Name != "DBG_TRAP" || tags[2].Class != "exact" {
		t.Errorf("tags: %+v", tags)
	}
	if p := fidelity.Page(tags); !strings.Contains(p, "| nan | `engine` | which one wins is not published |") {
		t.Errorf("page:\n%s", p)
	}
	for _, bad := range []string{"refused X", "exactly X: y", "approximate"} {
		if _, err := fidelity.Scan(fstest.MapFS{"a.go": file("//fidelity: " + bad)}); err == nil || !strings.Contains(err.Error(), "a.go:1") {
			t.Errorf("%q: %v, want an error with the place", bad, err)
		}
	}
}
