package main

import (
	"flag"
	"io"
	"os"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/tools/inspect"
)

// inspectFlags are those of disasm, asm and coverage.
type inspectFlags struct {
	target, match string
	json          bool
	file          string
}

func parseInspect(name string, args []string) (f inspectFlags, err error) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&f.target, "target", "", "")
	fs.StringVar(&f.match, "function", "", "")
	fs.BoolVar(&f.json, "json", false, "")
	if err := fs.Parse(args); err != nil {
		return f, usageErrorf("%v", err)
	}
	if fs.NArg() != 1 {
		return f, usageErrorf("one FILE, got %d arguments", fs.NArg())
	}
	f.file = fs.Arg(0)
	return f, nil
}

func disasm(stdout, _ io.Writer, args []string) error {
	f, err := parseInspect("disasm", args)
	if err != nil {
		return err
	}
	if f.file == "-" {
		t := isa.TargetByName(f.target)
		if t == nil {
			return usageErrorf("hexadecimal words from standard input need --target with one of %v, got %q", targetNames(), f.target)
		}
		return inspect.Words(stdout, os.Stdin, t)
	}
	objs, err := inspect.Open(f.file, f.target)
	if err != nil {
		return err
	}
	for _, o := range objs {
		ls, err := inspect.Disasm(o, f.match)
		if err != nil {
			return err
		}
		if f.json {
			if err := inspect.WriteJSON(stdout, ls); err != nil {
				return err
			}
			continue
		}
		for i := range ls {
			ls[i].WriteText(stdout)
		}
	}
	return nil
}

// assemble is pumice asm: instructions to words.
func assemble(stdout, _ io.Writer, args []string) error {
	f, err := parseInspect("asm", args)
	if err != nil {
		return err
	}
	t := isa.TargetByName(f.target)
	if t == nil {
		return usageErrorf("instructions need --target with one of %v, got %q", targetNames(), f.target)
	}
	in := io.Reader(os.Stdin)
	if f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	code, err := inspect.Assemble(in, t)
	if err != nil {
		return err
	}
	inspect.WriteWords(stdout, code)
	return nil
}

func targetNames() []string {
	var names []string
	for _, t := range isa.Targets() {
		names = append(names, t.Name)
	}
	return names
}

func coverage(stdout, _ io.Writer, args []string) error {
	f, err := parseInspect("coverage", args)
	if err != nil {
		return err
	}
	objs, err := inspect.Open(f.file, f.target)
	if err != nil {
		return err
	}
	uses, err := inspect.Coverage(objs)
	if err != nil {
		return err
	}
	if f.json {
		return inspect.WriteJSON(stdout, uses)
	}
	inspect.WriteCoverage(stdout, uses)
	return nil
}
