package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pumice-gpu/pumice/internal/machine"
	"github.com/pumice-gpu/pumice/tools/prof"
)

// profOptions are those of `pumice prof` that are not also run's.
type profOptions struct {
	sampling bool // --pc-sampling: the one kind of profile that there is
	interval time.Duration
	top      int
	run      []string // run's options, the program, its arguments
}

// parseProf takes prof's own options out of args.
func parseProf(args []string) (*profOptions, error) {
	o := &profOptions{interval: time.Millisecond, top: 10}
	for len(args) > 0 {
		arg := args[0]
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if arg == "--" || !strings.HasPrefix(arg, "-") {
			break
		}
		args = args[1:]
		switch name {
		case "pc-sampling":
			o.sampling = true
			continue
		case "interval", "top":
		default:
			o.run = append(o.run, arg)
			if options[name] != nil && !given && len(args) > 0 {
				o.run, args = append(o.run, args[0]), args[1:]
			}
			continue
		}
		if !given {
			if len(args) == 0 {
				return nil, usageErrorf("%s needs a value", arg)
			}
			value, args = args[0], args[1:]
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 1_000_000 {
			return nil, usageErrorf("--%s: %q is not a number from 1 to 1000000", name, value)
		}
		if name == "top" {
			o.top = n
		} else {
			o.interval = time.Duration(n) * time.Microsecond
		}
	}
	o.run = append(o.run, args...)
	if !o.sampling {
		return nil, usageErrorf("prof needs --pc-sampling")
	}
	return o, nil
}

// profile runs a program as `pumice run` does, and says where its kernels spent their time.
func profile(stdout, stderr io.Writer, args []string) (err error) {
	p, err := parseProf(args)
	if err != nil {
		return err
	}
	w, err := watchProgram(stderr, p.run, func(o *runOptions) error {
		if o.engine == "interp" {
			return usageErrorf("prof looks at compiled code: --engine interp runs none")
		}
		return nil
	}, machine.ProfileVariable, func(dir string) string { return dir })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	stop, done := make(chan struct{}), make(chan *prof.Samples)
	go func() { done <- prof.Watch(w.dir, p.interval, stop) }()
	status := w.run()
	close(stop)
	samples := <-done
	r, err := samples.Report(w.dir, w.cmd.Args, p.interval)
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
