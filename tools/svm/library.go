package svm

import (
	"embed"
	"fmt"
	"os"
	"strings"
)

//go:embed scenarios/*.svm
var files embed.FS

// Library returns the scenarios that come with Pumice, in order of name.
func Library() ([]*Scenario, error) {
	dir, err := files.ReadDir("scenarios")
	if err != nil {
		return nil, err
	}
	var out []*Scenario
	for _, e := range dir {
		sc, err := Open(strings.TrimSuffix(e.Name(), ".svm"))
		if err != nil {
			return nil, err
		}
		out = append(out, sc)
	}
	return out, nil
}

// Open reads a scenario: one of the library by name, or a file.
func Open(name string) (*Scenario, error) {
	if text, err := files.ReadFile("scenarios/" + name + ".svm"); err == nil {
		return Parse(name, string(text))
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w (and no scenario of that name comes with Pumice; see `pumice svm list`)", err)
	}
	return Parse(name, string(text))
}
