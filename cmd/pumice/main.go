// Command pumice runs programs on a virtual AMD GPU.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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

// verb is a command, or a command's command.
type verb struct {
	name string
	args string // what belongs behind the name, for help
	help string // in a line
	more string // what else `pumice help NAME` says
	// options are for help: run has a table of its own.
	options func() []option
	verbs   []verb // its own commands, instead of run
	run     func(stdout, stderr io.Writer, args []string) error
}

var verbs []verb

func init() {
	verbs = []verb{
		{name: "run", args: "[OPTIONS] [--] PROGRAM [ARGS...]", help: "run a program on virtual GPUs", run: runProgram,
			more: "The program's exit code, standard streams and signals are its own. An unmodified program works, from anybody's hipcc, if it is dynamically " +
				"linked.\n\n  pumice run -- ./vectoradd\n  pumice run --gpu rx6900xt,radeonvii -- ./app --its-own option",
			options: func() []option { return new(runOptions).table() }},
		{name: "explain", args: "[OPTIONS] [--] PROGRAM [ARGS...]", help: "run a program and tell what became of its launches, pages and handles on each floor", run: explainProgram,
			more:    "What the program itself prints goes to standard error.",
			options: func() []option { return new(runOptions).table() }},
		{name: "prof", args: "[OPTIONS] [--] PROGRAM [ARGS...]", help: "run a program and say in which kernels, source lines and instructions its time went", run: profile,
			more:    "What the program itself prints goes to standard error. Source lines need a program compiled with -g.",
			options: func() []option { return append(new(profOptions).table(), new(runOptions).table()...) }},
		{name: "demo", help: "run a kernel by the Go API: needs nothing but Go", run: demo},
		{name: "info", args: "[OPTIONS]", help: "print what rocminfo prints", run: info,
			options: func() []option { return new(runOptions).infoTable() }},
		{name: "gpus", args: "[OPTIONS]", help: "list the GPUs that there are, and the targets that they run", run: listGPUs,
			options: func() []option { return jsonTable(new(bool)) }},
		{name: "disasm", args: "[OPTIONS] FILE|-", help: "disassemble a program, fat binary or code object, by kernel and source line", run: disasm,
			more:    "- reads hexadecimal words from standard input, as llvm-mc does.\n\n  echo 7E020280 | pumice disasm --target gfx90a -",
			options: func() []option { return new(inspectOptions).disasmTable() }},
		{name: "asm", args: "--target T FILE|-", help: "assemble instructions, one a line as disasm writes them, to hexadecimal words", run: assemble,
			options: func() []option { return new(inspectOptions).asmTable() }},
		{name: "coverage", args: "[OPTIONS] FILE", help: "say which instructions a program uses, and which are exact, approximate, refused", run: coverage,
			options: func() []option { return new(inspectOptions).coverageTable() }},
		{name: "svm", args: "COMMAND ...", help: "run scenarios of shared virtual memory in the simulated machine, or search schedules", verbs: []verb{
			{name: "run", args: "[OPTIONS] NAME|FILE", help: "run a scenario and print its timeline", run: svmRun,
				options: func() []option { return new(svmOptions).runTable() }},
			{name: "explore", args: "[OPTIONS] NAME|FILE", help: "search schedules for one that fails, and shrink it", run: svmExplore,
				options: func() []option { return new(svmOptions).exploreTable() }},
			{name: "list", args: "[OPTIONS]", help: "list the scenarios that come with Pumice", run: svmList,
				options: func() []option { return jsonTable(new(bool)) }},
			{name: "show", args: "NAME|FILE", help: "print a scenario's text", run: svmShow},
			{name: "mistakes", args: "[OPTIONS]", help: "list the upstream bugs that --mistake can switch on", run: svmMistakes,
				options: func() []option { return new(svmOptions).mistakesTable() }},
		}},
		{name: "version", args: "[OPTIONS]", help: "print versions", run: version,
			options: func() []option { return jsonTable(new(bool)) }},
		{name: "help", args: "[COMMAND]", help: "print this, or what there is to say of a command", run: help},
	}
}

// exitError ends pumice with a code other than exitFailed.
type exitError struct {
	code  int
	err   error
	usage bool // the command line is wrong
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...), usage: true}
}

// doMain runs pumice and returns its exit code. Pumice's own messages go to stderr.
func doMain(stdout, stderr io.Writer, args []string) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	switch args[0] {
	case "-h", "--help":
		args = append([]string{"help"}, args[1:]...)
	case "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	name, v, rest, err := findVerb(args)
	if err == nil && v.run == nil { // a command of commands, alone
		err = errHelp
		if len(rest) == 0 {
			err = usageErrorf("a command belongs here: %s", verbNames(v.verbs))
		}
	}
	if err == nil {
		err = v.run(stdout, stderr, rest)
	}
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errHelp) {
		v.usage(stdout, name)
		return exitOK
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{code: exitFailed}
	}
	see := ""
	if e.usage {
		of := strings.TrimPrefix(strings.TrimPrefix(name, "pumice"), " help")
		see = "; see `" + strings.TrimSpace("pumice help"+of) + "`"
	}
	fmt.Fprintf(stderr, "%s: %v%s\n", name, err, see)
	return e.code
}

// findVerb takes the names of a command, and of its command where it has such, off args. name is what the user calls it by.
func findVerb(args []string) (name string, v *verb, rest []string, err error) {
	name, v = "pumice", &verb{verbs: verbs}
	for v.verbs != nil && len(args) > 0 {
		if args[0] == "-h" || args[0] == "--help" {
			return name, v, args, nil
		}
		i := slices.IndexFunc(v.verbs, func(v verb) bool { return v.name == args[0] })
		if i < 0 {
			return name, nil, nil, usageErrorf("no command %q; there are: %s", args[0], verbNames(v.verbs))
		}
		name, v, args = name+" "+args[0], &v.verbs[i], args[1:]
	}
	return name, v, args, nil
}

func verbNames(verbs []verb) string {
	var names []string
	for _, v := range verbs {
		names = append(names, v.name)
	}
	return strings.Join(names, ", ")
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "Pumice runs programs built for AMD GPUs on a machine that has none.\n\n  pumice run [--gpu NAME] -- PROGRAM [ARGS...]\n\nCommands:")
	writeVerbs(w, verbs)
	fmt.Fprintln(w, "\n`pumice help COMMAND` tells more of each.")
}

func writeVerbs(w io.Writer, verbs []verb) {
	for _, v := range verbs {
		fmt.Fprintf(w, "  %-10s  %s\n", v.name, v.help)
	}
}

// usage prints what there is to say of a command.
func (v *verb) usage(w io.Writer, name string) {
	fmt.Fprintln(w, strings.TrimSpace(name+" "+v.args))
	fmt.Fprintf(w, "\n%s%s.\n", strings.ToUpper(v.help[:1]), v.help[1:])
	if v.more != "" {
		for _, p := range strings.Split(v.more, "\n") {
			if !strings.HasPrefix(p, "  ") {
				p = strings.Join(wrap(p, helpWidth), "\n")
			}
			fmt.Fprintln(w, p)
		}
	}
	if v.verbs != nil {
		fmt.Fprintln(w, "\nCommands:")
		writeVerbs(w, v.verbs)
		fmt.Fprintf(w, "\n`pumice help%s COMMAND` tells more of each.\n", strings.TrimPrefix(name, "pumice"))
	}
	if v.options != nil {
		writeOptions(w, v.options())
	}
}

func help(stdout, _ io.Writer, args []string) error {
	if len(args) == 0 {
		usage(stdout)
		return nil
	}
	name, v, rest, err := findVerb(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageErrorf("%s has no command %q", name, rest[0])
	}
	v.usage(stdout, name)
	return nil
}
