package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pumice-gpu/pumice/internal/observe"
	"github.com/pumice-gpu/pumice/tools/explain"
)

// explainProgram runs a program as `pumice run` does, and tells afterwards what became of its launches, pages and handles.
func explainProgram(stdout, stderr io.Writer, args []string) (err error) {
	o, err := parseRun(args)
	if err != nil {
		return err
	}
	events := func(dir string) string { return filepath.Join(dir, "events") }
	w, err := watchProgram(stderr, o, observe.ExplainVariable, events)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	status := w.run()
	f, err := os.Open(events(w.dir))
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return errors.Join(status, err)
		}
		if status != nil { // it has told nothing
			return status
		}
		return fmt.Errorf("%s ended without using a GPU", w.cmd.Args[0])
	}
	defer f.Close()
	told, err := explain.Read(f)
	if err != nil {
		return errors.Join(status, err)
	}
	j := explain.Compose(told)
	if w.asJSON {
		err = writeJSON(stdout, j)
	} else {
		err = j.Print(stdout)
	}
	return errors.Join(status, err)
}
