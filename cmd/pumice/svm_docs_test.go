package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSVMTutorial runs the console blocks of docs/svm.md. A line that begins with "$ " is a command, those after it are parts of what it prints, in
// order: each of one line of it, "..." stands for any. "cat FILE" shows a file that the next commands use.
func TestSVMTutorial(t *testing.T) {
	text, err := os.ReadFile("../../docs/svm.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	ran := 0
	for i, block := range strings.Split(string(text), "```console\n") {
		if i == 0 {
			continue
		}
		block, _, _ = strings.Cut(block, "```")
		for _, shown := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(shown, "\n")
			ran++
			if file, ok := strings.CutPrefix(command, "cat "); ok {
				if err := os.WriteFile(filepath.Base(file), []byte(want+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			args, ok := strings.CutPrefix(command, "pumice svm ")
			if !ok {
				t.Errorf("%q is no command of pumice svm", command)
				continue
			}
			var out bytes.Buffer
			doMain(&out, &out, strings.Fields("svm "+args))
			rest := strings.Split(out.String(), "\n")
			for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
				line = strings.TrimSpace(line)
				if line == "..." {
					continue
				}
				k := 0
				for k < len(rest) && !strings.Contains(rest[k], line) {
					k++
				}
				if k == len(rest) {
					t.Errorf("%s does not print %q, or not in this order:\n%s", command, line, out.String())
					break
				}
				rest = rest[k+1:]
			}
		}
	}
	if ran < 15 {
		t.Errorf("%d commands", ran)
	}
}
