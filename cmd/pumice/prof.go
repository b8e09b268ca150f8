package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pumice-gpu/pumice/internal/observe"
	"github.com/pumice-gpu/pumice/tools/prof"
)

// profOptions are those of `pumice prof` that are not also run's.
type profOptions struct {
	interval int // µs
	top      int
}

func (o *profOptions) table() []option {
	return []option{
		{"pc-sampling", "", "sample the program counter (the default: there is no other kind of profile)", switchOption(new(bool))},
		{"interval", "US", "microseconds between samples (1000)", numberOption(&o.interval, 1, 1_000_000)},
		{"top", "N", "how many kernels, lines and instructions are listed (10)", numberOption(&o.top, 1, 1_000_000)},
	}
}

// profile runs a program as `pumice run` does, and says where its kernels spent their time.
func profile(stdout, stderr io.Writer, args []string) (err error) {
	p := &profOptions{interval: 1000, top: 10}
	o, err := parseRun(args, p.table()...)
	switch {
	case err != nil:
		return err
	case o.engine == "interp":
		return usageErrorf("prof looks at compiled code: --engine interp runs none")
	}
	interval := time.Duration(p.interval) * time.Microsecond
	w, err := watchProgram(stderr, o, observe.ProfileVariable, func(dir string) string { return dir })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	stop, done := make(chan struct{}), make(chan *prof.Samples)
	go func() { done <- prof.Watch(w.dir, interval, stop) }()
	status := w.run()
	close(stop)
	samples := <-done
	r, err := samples.Report(w.dir, w.cmd.Args, interval)
	if err != nil {
		return errors.Join(status, fmt.Errorf("the profile: %w", err))
	}
	if w.asJSON {
		err = r.WriteJSON(stdout)
	} else {
		err = r.WriteText(stdout, p.top)
	}
	return errors.Join(status, err)
}
