// Command pumice runs programs on a virtual AMD GPU.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(doMain(os.Stdout, os.Stderr, os.Args[1:])) }

// Exit codes of pumice itself, as container tools use them; a program that was started gives its own.
const (
	exitOK       = 0
	exitFailed   = 125 // pumice itself failed
	exitCannot   = 126 // the program cannot be run
	exitNotFound = 127 // there is no such program
	exitUsage    = 125
)

// verb is a sub-command.
type verb struct {
	name string
	args string
	help string
	run  func(stdout, stderr io.Writer, args []string) error
}

var verbs []verb

func init() {
	verbs = []verb{
		{"run", "[--gpu NAME[,NAME...]] [--rocm pumice|hsa|system] [--engine jit|interp] [--dump-on-fault FILE|DIR/] [--jit-dump DIR] [--perf-map] [--svm-trace[=FILE] [--json]] [--] PROGRAM [ARGS...]", "run a program on virtual GPUs; --svm-trace prints each migration of managed memory, and why; --dump-on-fault writes the state of a wave that faults, as text or --json; --jit-dump writes guest code, IR and host code of each compiled function", runProgram},
		{"explain", "[--json] [run's options] [--] PROGRAM [ARGS...]", "run a program and tell what became of its launches, pages and handles on each floor; its own output goes to standard error", explainProgram},
		{"prof", "--pc-sampling [--interval US] [--top N] [--json] [run's options] [--] PROGRAM [ARGS...]", "run a program and say in which kernels, source lines and instructions its time went; its own output goes to standard error", profile},
		{"demo", "", "run a kernel by the Go API: needs nothing but Go", demo},
		{"info", "[--gpu NAME[,NAME...]] [--json]", "print what rocminfo prints", info},
		{"gpus", "", "list the GPUs that there are", listGPUs},
		{"disasm", "[--target T] [--function NAME] [--json] FILE|-", "disassemble a program, fat binary or code object; - reads hexadecimal words", disasm},
		{"asm", "--target T FILE|-", "assemble instructions, one a line as disasm writes them, to hexadecimal words", assemble},
		{"coverage", "[--target T] [--json] FILE", "say which instructions a program uses and how well they run", coverage},
		{"svm", "run|explore NAME|FILE [--engine drm|kfd] [--seed N] [--seeds N] [--xnack on|off] [--evict-policy none|fence|sync] [--gpus N] [--mistake M] [--json] [--html FILE] [--replay S]", "run a shared-memory scenario in the simulated machine, or search schedules; also svm list, show NAME, mistakes", svmCommand},
		{"version", "", "print versions", version},
		{"help", "", "print this", help},
	}
}

// exitError ends pumice with a code other than exitFailed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format+"; see `pumice help`", args...)}
}

// doMain runs pumice and returns its exit code. Pumice's own messages go to stderr.
func doMain(stdout, stderr io.Writer, args []string) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	name := args[0]
	if name == "-h" || name == "--help" {
		name = "help"
	}
	if name == "--version" {
		name = "version"
	}
	for _, v := range verbs {
		if v.name != name {
			continue
		}
		err := v.run(stdout, stderr, args[1:])
		if err == nil {
			return exitOK
		}
		fmt.Fprintf(stderr, "pumice %s: %v\n", name, err)
		var e *exitError
		if errors.As(err, &e) {
			return e.code
		}
		return exitFailed
	}
	fmt.Fprintf(stderr, "pumice: no command %q; there are: %s\n", args[0], strings.Join(verbNames(), ", "))
	return exitUsage
}

func verbNames() []string {
	var names []string
	for _, v := range verbs {
		names = append(names, v.name)
	}
	return names
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "Pumice runs programs built for AMD GPUs on a machine that has none.")
	fmt.Fprintln(w)
	for _, v := range verbs {
		fmt.Fprintf(w, "  pumice %s %s\n        %s\n", v.name, v.args, v.help)
	}
}

func help(stdout, _ io.Writer, args []string) error {
	if len(args) > 0 {
		return usageErrorf("no arguments, got %q", args)
	}
	usage(stdout)
	return nil
}
