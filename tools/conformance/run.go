package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// outcome says how a case ended.
type outcome uint8

const (
	passed outcome = iota
	skipped
	failed
	cut // off, by a limit
)

var outcomeNames = [...]string{"passed", "skipped", "failed", "cut off"}

func (o outcome) String() string { return outcomeNames[o] }

// result is one case's.
type result struct {
	name string
	outcome
	cpu time.Duration
	why string // of failed and cut
}

// limits bound a program and its cases. Times are of the processor, but quiet.
type limits struct {
	perCase    time.Duration
	perProgram time.Duration
	memory     int64         // bytes resident
	quiet      time.Duration // on the clock, without any use of the processor: the program hangs
}

// runner runs programs.
type runner struct {
	limits
	command func(program string, args ...string) *exec.Cmd
	logs    string // directory for output, or ""
	poll    time.Duration
}

// program runs the cases of a program that filter selects ("" for all). The program itself is the only case when it is no Google Test
// program.
func (r *runner) program(ctx context.Context, path, filter string) ([]result, error) {
	log := io.Discard
	if r.logs != "" {
		f, err := os.Create(filepath.Join(r.logs, filepath.Base(path)+".log"))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		log = f
	}
	if filter == "" {
		filter = "*"
	}
	out, err := r.command(path, "--gtest_list_tests", "--gtest_filter="+filter).Output()
	if err != nil {
		return nil, fmt.Errorf("%s does not list its cases: %w", path, err)
	}
	todo := parseList(string(out))
	if len(todo) == 0 {
		x, err := r.process(ctx, path, nil, r.perProgram, log)
		if err != nil {
			return nil, err
		}
		return []result{x.whole()}, nil
	}
	var all []result
	used := time.Duration(0)
	for len(todo) > 0 {
		if used >= r.perProgram {
			for _, n := range todo {
				all = append(all, result{n, cut, 0, "not begun: the program's budget is used up"})
			}
			break
		}
		x, err := r.process(ctx, path, todo, r.perProgram-used, log)
		if err != nil {
			return nil, err
		}
		used += x.cpu
		x.settle()
		all = append(all, x.results...)
		done := map[string]bool{}
		for _, c := range x.results {
			done[c.name] = true
		}
		rest := todo[:0:0]
		for _, n := range todo {
			if !done[n] {
				rest = append(rest, n)
			}
		}
		if len(rest) == len(todo) {
			for _, n := range todo {
				all = append(all, result{n, failed, 0, "did not run: " + x.end()})
			}
			break
		}
		todo = rest
	}
	return all, nil
}

// process is one run of a program.
type process struct {
	results []result
	current string        // case under way at the end
	cpu     time.Duration // used by all
	inCase  time.Duration // used by current
	killed  string        // why it was killed
	limit   bool          // that was a limit, and not the program's fault
	err     error         // of its exit
	last    string        // line of output
}

// end says how the process ended.
func (x *process) end() string {
	switch {
	case x.killed != "":
		return x.killed
	case x.err != nil:
		return x.err.Error() + ": " + x.last
	}
	return "the program ended"
}

// settle gives the case under way its result.
func (x *process) settle() {
	if x.current == "" {
		return
	}
	o := failed
	if x.limit {
		o = cut
	}
	x.results = append(x.results, result{x.current, o, x.inCase, x.end()})
	x.current = ""
}

// whole is the result of a program without cases.
func (x *process) whole() result {
	c := result{"(program)", passed, x.cpu, ""}
	if x.err != nil || x.killed != "" {
		c.outcome, c.why = failed, x.end()
		if x.limit {
			c.outcome = cut
		}
	}
	return c
}

// process runs the named cases (all when there is no name) until the program ends, comes to a limit, or has used budget.
func (r *runner) process(ctx context.Context, path string, cases []string, budget time.Duration, log io.Writer) (*process, error) {
	var args []string
	if cases != nil {
		// Names of many cases are longer than an argument may be.
		f, err := os.CreateTemp("", "conformance-*.flags")
		if err != nil {
			return nil, err
		}
		defer os.Remove(f.Name())
		fmt.Fprintf(f, "--gtest_filter=%s\n--gtest_color=no\n", strings.Join(cases, ":"))
		if err := f.Close(); err != nil {
			return nil, err
		}
		args = append(args, "--gtest_flagfile="+f.Name())
	}
	cmd := r.command(path, args...)
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = pw, pw
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	pw.Close()
	if err != nil {
		pr.Close()
		return nil, err
	}
	pid := cmd.Process.Pid
	x := &process{}
	begun := new(atomic.Int64) // processor time at the beginning of the current case
	lines := make(chan struct{})
	go func() {
		defer close(lines)
		defer pr.Close()
		in := bufio.NewReaderSize(pr, 1<<16)
		for {
			b, err := in.ReadSlice('\n')
			for errors.Is(err, bufio.ErrBufferFull) { // the rest of a very long line is nothing to us
				log.Write(b)
				b, err = in.ReadSlice('\n')
			}
			log.Write(b)
			line := string(bytes.TrimRight(b, "\r\n"))
			if line != "" {
				x.last = line
			}
			switch e := parseLine(line); e.kind {
			case eventRun:
				x.current = e.name
				begun.Store(int64(cpuTime(pid)))
			case eventPass, eventFail, eventSkip:
				if e.name != x.current {
					break // a test's own output
				}
				c := result{name: e.name, cpu: cpuTime(pid) - time.Duration(begun.Load())}
				switch e.kind {
				case eventFail:
					c.outcome, c.why = failed, "its own checks"
				case eventSkip:
					c.outcome = skipped
				}
				x.results = append(x.results, c)
				x.current = ""
				begun.Store(int64(cpuTime(pid)))
			}
			if err != nil {
				return
			}
		}
	}()
	exited := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		r.watch(ctx, pid, begun, budget, x, exited)
	}()
	// The process is a zombie, with its times still there, until it is waited for.
	waitExit(pid)
	close(exited)
	<-watched
	x.cpu = cpuTime(pid)
	x.inCase = x.cpu - time.Duration(begun.Load())
	syscall.Kill(-pid, syscall.SIGKILL) // what it left behind holds the pipe open
	<-lines
	x.err = cmd.Wait()
	return x, ctx.Err()
}

// watch kills the process when it comes to a limit.
func (r *runner) watch(ctx context.Context, pid int, begun *atomic.Int64, budget time.Duration, x *process, exited <-chan struct{}) {
	tick := time.NewTicker(r.poll)
	defer tick.Stop()
	last, since := time.Duration(-1), time.Now()
	for {
		select {
		case <-exited:
			return
		case <-tick.C:
		case <-ctx.Done():
			syscall.Kill(-pid, syscall.SIGKILL)
			<-exited
			return
		}
		now := cpuTime(pid)
		switch {
		case now-time.Duration(begun.Load()) > r.perCase:
			x.killed, x.limit = fmt.Sprintf("more than %v of processor time", r.perCase), true
		case now > budget:
			x.killed, x.limit = "the program's budget is used up", true
		case resident(pid) > r.memory:
			x.killed, x.limit = fmt.Sprintf("more than %d MiB of memory", r.memory>>20), true
		case now != last:
			last, since = now, time.Now()
		case time.Since(since) > r.quiet:
			x.killed = fmt.Sprintf("hangs: no use of the processor in %v", r.quiet)
		}
		if x.killed != "" {
			syscall.Kill(-pid, syscall.SIGKILL)
			<-exited
			return
		}
	}
}
