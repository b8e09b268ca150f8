package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// A watched program runs as `pumice run` runs it, as a child, and leaves what it tells of itself in a folder of its own. What a command makes of
// that is the command's output; the program's own goes to standard error.
type watched struct {
	cmd    *exec.Cmd
	dir    string
	asJSON bool // --json, which is the command's and not the trace's
}

// watchProgram prepares the program that run's options name. variable is added to its environment with the value that value gives for the folder.
// close takes the folder away.
func watchProgram(stderr io.Writer, o *runOptions, variable string, value func(dir string) string) (w *watched, err error) {
	if o.program == "" {
		return nil, usageErrorf("no program given")
	}
	w = &watched{asJSON: o.json}
	o.json = o.json && o.trace // what is left of it is the trace's
	path, err := findProgram(o.program)
	if err != nil {
		return nil, err
	}
	if err := o.makeFiles(); err != nil {
		return nil, err
	}
	env, err := programEnv(os.Environ(), o)
	if err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp("", "pumice-"); err != nil {
		return nil, err
	}
	w.cmd = exec.Command(path, o.args...)
	w.cmd.Args[0] = o.program
	w.cmd.Env = append(env, variable+"="+value(w.dir))
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = os.Stdin, stderr, stderr
	return w, nil
}

func (w *watched) close() error { return os.RemoveAll(w.dir) }

// run runs the program to its end. Signals that ask this process to end are the program's affair: it gets them from the terminal too.
func (w *watched) run() error {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(ignored)
	err := w.cmd.Run()
	var x *exec.ExitError
	if err == nil {
		return nil
	}
	if !errors.As(err, &x) {
		return cannotStart(w.cmd.Path, errors.Unwrap(err))
	}
	if s, ok := x.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return &exitError{code: 128 + int(s.Signal()), err: fmt.Errorf("%s: %v", w.cmd.Path, s.Signal())}
	}
	return &exitError{code: x.ExitCode(), err: fmt.Errorf("%s: exit status %d", w.cmd.Path, x.ExitCode())}
}
