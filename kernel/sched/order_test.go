package sched

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLockOrderIsDocumented compares the table in doc.go with the Classes in the sources.
func TestLockOrderIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	last := 0
	for _, m := range regexp.MustCompile(`(?m)^//\t(\d+) +(.*?)  +(kernel/\S+) `).FindAllStringSubmatch(string(doc), -1) {
		listed[m[1]+" "+m[2]+" "+m[3]] = true
		var rank int
		if _, err := fmt.Sscan(m[1], &rank); err != nil || rank < last {
			t.Errorf("%s: out of order", m[0])
		}
		last = rank
	}
	class := regexp.MustCompile(`&(?:sched\.)?Class\{Name: "([^"]+)", Rank: ([^,}]+)`)
	err = filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range class.FindAllStringSubmatch(string(b), -1) {
			rank := strings.Replace(m[2], "1 << 20", "1048576", 1)
			is := rank + " " + m[1] + " kernel" + strings.TrimPrefix(filepath.Dir(path), "..")
			if !listed[is] {
				t.Errorf("%s is not in the table of doc.go", is)
			}
			delete(listed, is)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for x := range listed {
		t.Errorf("%s is in the table of doc.go, but there is no such Class", x)
	}
}
