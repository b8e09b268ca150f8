// Package fidelity collects what the code says of its own exactness.
//
// Nothing in Pumice pretends: what is not done is refused with the documented error, and what is done in another way than
// the hardware or driver does it says so. Each such place has a comment of the form
//
//	//fidelity: <exact|approximate|refused> <name>: <why>
//
// beside the code that makes it true. FIDELITY.md is written from these comments (go generate ./tools/fidelity), and a
// test compares it with them, so the page cannot say what the code does not.
package fidelity

import (
	"bufio"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strings"
)

// Tag is one statement.
type Tag struct {
	Class string // "exact", "approximate" or "refused"
	Name  string // ioctl, API, instruction or feature
	Why   string
	File  string // slash-separated path from the root of the module
}

// Classes in the order of the page, with what they mean.
var Classes = []struct{ Name, Means string }{
	{"refused", "Not there: fails with the documented error, and has no other effect."},
	{"approximate", "There, with a difference that a program might see."},
	{"exact", "As the real one does it, tested against it or its specification."},
}

var tagLine = regexp.MustCompile(`^\s*//\s?fidelity:\s*(.*)$`)

var tagForm = regexp.MustCompile(`^(exact|approximate|refused) ([^:]+)(?:: (.+))?$`)

// Scan reads the Go, C and assembly files of root. A tag that does not have the form is an error naming file and line.
func Scan(root fs.FS) ([]Tag, error) {
	var tags []Tag
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n != "." && (strings.HasPrefix(n, ".") || n == "testdata" || n == "build" || n == "bin") || file == "tools/fidelity" {
				return fs.SkipDir
			}
			return nil
		}
		switch strings.TrimPrefix(path.Ext(file), ".") {
		case "go", "c", "h", "s":
		default:
			return nil
		}
		f, err := root.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		var open *Tag // a tag whose reason goes on in the next comment line
		for n := 1; sc.Scan(); n++ {
			line := sc.Text()
			m := tagLine.FindStringSubmatch(line)
			if m == nil {
				rest, isComment := strings.CutPrefix(strings.TrimSpace(line), "// ")
				if open != nil && isComment && rest != "" {
					open.Why += " " + strings.TrimSpace(rest)
				} else {
					open = nil
				}
				continue
			}
			p := tagForm.FindStringSubmatch(m[1])
			if p == nil || p[1] != "exact" && p[3] == "" {
				return fmt.Errorf("%s:%d: fidelity tag %q: want `<exact|approximate|refused> <name>: <why>`", file, n, m[1])
			}
			tags = append(tags, Tag{Class: p[1], Name: p[2], Why: p[3], File: file})
			open = &tags[len(tags)-1]
		}
		return sc.Err()
	})
	sort.SliceStable(tags, func(i, j int) bool {
		if a, b := dir(tags[i].File), dir(tags[j].File); a != b {
			return a < b
		}
		return tags[i].Name < tags[j].Name
	})
	return tags, err
}

func dir(p string) string { return path.Dir(p) }

// Page renders tags as Markdown.
func Page(tags []Tag) string {
	var b strings.Builder
	b.WriteString("# Fidelity\n\nWhat Pumice does as the real thing does it, what it does differently, and what it refuses. This page is written\nfrom `fidelity:` comments in the code by `go generate ./tools/fidelity`; edit those.\n")
	for _, c := range Classes {
		n := 0
		for _, t := range tags {
			if t.Class == c.Name {
				n++
			}
		}
		if n == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s (%d)\n\n%s\n\n| what | where | why |\n|---|---|---|\n", strings.ToUpper(c.Name[:1])+c.Name[1:], n, c.Means)
		for _, t := range tags {
			if t.Class == c.Name {
				fmt.Fprintf(&b, "| %s | `%s` | %s |\n", cell(t.Name), dir(t.File), cell(t.Why))
			}
		}
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
