package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/pumice-gpu/pumice/internal/machine"
	"github.com/pumice-gpu/pumice/tools/explain"
)

// explainProgram runs a program as `pumice run` does, and tells afterwards what became of its launches, pages and handles.
func explainProgram(stdout, stderr io.Writer, args []string) (err error) {
	o, err := parseRun(args)
	switch {
	case err != nil:
		return err
	case o.program == "":
		return usageErrorf("no program given")
	}
	asJSON := o.json
	o.json = o.json && o.trace // what is left of it is the trace's
	path, err := findProgram(o.program)
	if err != nil {
		return err
	}
	if err := o.makeFiles(); err != nil {
		return err
	}
	env, err := programEnv(os.Environ(), o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pumice-explain-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "events")
	cmd := exec.Command(path, o.args...)
	cmd.Args[0] = o.program
	cmd.Env = append(env, machine.ExplainVariable+"="+file)
	// The explanation is this command's output; the program's own stays apart from it.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stderr, stderr
	status := wait(cmd)
	f, err := os.Open(file)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) && status == nil {
			return fmt.Errorf("%s ended without using a GPU", o.program)
		}
		return errors.Join(status, err)
	}
	defer f.Close()
	events, err := explain.Read(f)
	if err != nil {
		return err
	}
	j := explain.Compose(events)
	if asJSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		err = e.Encode(j)
	} else {
		err = j.Print(stdout)
	}
	return errors.Join(status, err)
}

// wait runs a program to its end. Signals that ask this process to end are the program's affair: it gets them from the terminal too.
func wait(cmd *exec.Cmd) error {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(ignored)
	err := cmd.Run()
	var x *exec.ExitError
	if !errors.As(err, &x) {
		return err
	}
	if s, ok := x.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return &exitError{128 + int(s.Signal()), fmt.Errorf("%s: %v", cmd.Path, s.Signal())}
	}
	return &exitError{x.ExitCode(), fmt.Errorf("%s: exit status %d", cmd.Path, x.ExitCode())}
}
