package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/jit"
)

// inlineCommand is a command of pumice in running text.
var inlineCommand = regexp.MustCompile("`(bin/pumice [^`]*)`")

// docCommands are the commands that a document shows: lines of fenced blocks, and bin/pumice with what follows it in running text.
func docCommands(text string) (commands []string) {
	fenced := false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced && (strings.HasPrefix(line, "make ") || strings.Contains(line, "bin/pumice ")):
			commands = append(commands, line)
		case !fenced:
			for _, m := range inlineCommand.FindAllStringSubmatch(line, -1) {
				commands = append(commands, m[1])
			}
		}
	}
	return commands
}

// TestDocs runs the commands that the documents show, where ./app and ./vectoradd are an example. Of a make target it asks only that there is one:
// some of them run this test.
func TestDocs(t *testing.T) {
	app := built(t, "build/examples/O3/vectoradd")
	stub := built(t, "bin/libpumice-stub.so")
	if app == "" || stub == "" {
		t.Skip("needs `make build examples`")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, target := range map[string]string{"bin": filepath.Dir(stub), "app": app, "vectoradd": app} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	docs, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, doc := range append(docs, more...) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range docCommands(string(text)) {
			ran++
			t.Run(filepath.Base(doc)+"/"+command, func(t *testing.T) {
				if strings.Contains(command, "pumice prof") && !jit.Supported() {
					t.Skip("only compiled code can be profiled")
				}
				shell := command
				where := dir
				if strings.HasPrefix(command, "make ") {
					shell, where = strings.Replace(command, "make ", "make -n ", 1), root
				}
				c := exec.Command("sh", "-c", shell)
				c.Dir = where
				if out, err := c.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", command, err, out)
				}
			})
		}
	}
	if ran < 20 {
		t.Errorf("%d commands found in the documents, which have more: does docCommands know how they are written?", ran)
	}
}
