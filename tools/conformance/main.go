package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "conformance:", err)
		}
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	limits
	top, dir, lib, gpu string
	logs, known        string
	slice              string
	jobs               int
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.top, "top", ".", "Pumice's source `directory`")
	flags.StringVar(&o.dir, "dir", "", "unpack packages in this `directory` (default TOP/build/conformance)")
	flags.StringVar(&o.lib, "lib", "", "`directory` of libamdhip64 (default TOP/bin/rocm)")
	flags.StringVar(&o.gpu, "gpu", "mi210", "GPU `profile`")
	flags.StringVar(&o.logs, "logs", "", "keep each program's output in this `directory`")
	flags.StringVar(&o.known, "known", "", "`file` of cases that are known to fail (default TOP/docs/conformance/SUITE.failed)")
	flags.StringVar(&o.slice, "slice", "", "`file` of cases to run, all of which must pass")
	flags.IntVar(&o.jobs, "jobs", 1, "programs at a time")
	flags.DurationVar(&o.perCase, "limit", time.Minute, "processor `time` for a case")
	flags.DurationVar(&o.perProgram, "budget", 20*time.Minute, "processor `time` for a program")
	flags.DurationVar(&o.quiet, "quiet", 10*time.Minute, "a process that uses no processor for this `time` hangs")
	memory := flags.Int64("memory", 8192, "`MiB` of memory for a process")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.memory = *memory << 20
	if o.dir == "" {
		o.dir = filepath.Join(o.top, "build/conformance")
	}
	if o.lib == "" {
		o.lib = filepath.Join(o.top, "bin/rocm")
	}
	for _, p := range []*string{&o.dir, &o.lib} {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	if _, err := os.Stat(filepath.Join(o.lib, "libamdhip64.so.5")); err != nil {
		return fmt.Errorf("no libamdhip64 (make build): %w", err)
	}
	if o.logs != "" {
		if err := os.MkdirAll(o.logs, 0o777); err != nil {
			return err
		}
	}
	switch {
	case o.slice != "" && flags.NArg() == 0:
		return o.runSlice(ctx, stdout)
	case o.slice == "" && (flags.NArg() == 1 || flags.NArg() == 2):
		pattern := "*"
		if flags.NArg() == 2 {
			pattern = flags.Arg(1)
		}
		return o.runSuite(ctx, flags.Arg(0), pattern, stdout, stderr)
	}
	return errors.New("want SUITE [PATTERN], or -slice FILE")
}

func (o *options) runner(s *suite, root, gpu string) *runner {
	return &runner{
		limits: o.limits, logs: o.logs, poll: 200 * time.Millisecond,
		command: func(program string, args ...string) *exec.Cmd {
			c := s.command(root, o.lib, program, args...)
			c.Env = append(c.Env, "PUMICE_GPU="+gpu)
			return c
		},
	}
}

// job is one program with its filter, and later its results.
type job struct {
	prepare func() (*runner, string, error) // the program's path
	filter  string
	results []result
	err     error
	done    chan struct{}
}

func (j *job) run(ctx context.Context) {
	defer close(j.done)
	r, path, err := j.prepare()
	if err != nil {
		j.err = err
		return
	}
	j.results, j.err = r.program(ctx, path, j.filter)
}

// start runs jobs, o.jobs at a time, in order. The function that it returns ends them.
func (o *options) start(ctx context.Context, jobs []*job) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	next := make(chan *job)
	go func() {
		for _, j := range jobs {
			next <- j
		}
		close(next)
	}()
	for range max(o.jobs, 1) {
		wg.Go(func() {
			for j := range next {
				j.run(ctx)
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

func (o *options) runSuite(ctx context.Context, name, pattern string, stdout, stderr io.Writer) error {
	s, err := findSuite(name)
	if err != nil {
		return err
	}
	list := o.known
	if list == "" {
		list = filepath.Join(o.top, "docs/conformance", name+".failed")
	}
	fails, err := readKnown(list)
	if err != nil && (o.known != "" || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	root, err := s.unpack(o.top, o.dir)
	if err != nil {
		return err
	}
	programs, err := s.list(root, pattern)
	if err != nil {
		return err
	}
	var jobs []*job
	for _, p := range programs {
		prepare := func() (*runner, string, error) { return o.runner(s, root, o.gpu), p, nil }
		jobs = append(jobs, &job{prepare: prepare, done: make(chan struct{})})
	}
	stop := o.start(ctx, jobs)
	defer stop()
	io.WriteString(stdout, header)
	var rows []row
	got := map[string][]result{}
	for i, j := range jobs {
		<-j.done
		if j.err != nil {
			return j.err
		}
		n := filepath.Base(programs[i])
		got[n] = j.results
		rows = append(rows, summarise(n, j.results))
		io.WriteString(stdout, rows[len(rows)-1].String())
	}
	t := total(rows)
	io.WriteString(stdout, t.String())
	fmt.Fprintf(stderr, "%s: of %d cases %d came to their end, and %.1f %% of those passed\n", name, t.cases(), t.cases()-t.count[cut], t.share())
	return fails.check(stderr, got)
}

func (o *options) runSlice(ctx context.Context, stdout io.Writer) error {
	picks, err := readSlice(o.slice)
	if err != nil {
		return err
	}
	// Programs of one suite run while another one is unpacked.
	roots := map[string]func() (string, error){}
	var jobs []*job
	for _, p := range picks {
		s, err := findSuite(p.suite)
		if err != nil {
			return err
		}
		root := roots[s.name]
		if root == nil {
			root = sync.OnceValues(func() (string, error) { return s.unpack(o.top, o.dir) })
			roots[s.name] = root
			go root()
		}
		prepare := func() (*runner, string, error) {
			dir, err := root()
			if err != nil {
				return nil, "", err
			}
			found, err := s.list(dir, p.program)
			if err != nil {
				return nil, "", err
			}
			return o.runner(s, dir, cmp.Or(p.gpu, o.gpu)), found[0], nil
		}
		jobs = append(jobs, &job{prepare: prepare, filter: p.filter, done: make(chan struct{})})
	}
	stop := o.start(ctx, jobs)
	defer stop()
	bad := 0
	io.WriteString(stdout, header)
	for i, j := range jobs {
		<-j.done
		if j.err != nil {
			return j.err
		}
		w := summarise(picks[i].program, j.results)
		io.WriteString(stdout, w.String())
		for _, c := range j.results {
			if c.outcome != passed {
				bad++
				fmt.Fprintf(stdout, "%s %s: %s\n", c.outcome, c.name, c.why)
			}
		}
		if w.cases() != picks[i].cases {
			bad++
			fmt.Fprintf(stdout, "%s has %d cases %q, and %d are wanted\n", picks[i].program, w.cases(), picks[i].filter, picks[i].cases)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d cases did not pass", bad)
	}
	return nil
}
