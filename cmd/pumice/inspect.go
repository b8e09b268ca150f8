package main

import (
	"fmt"
	"io"
	"os"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/tools/inspect"
)

// inspectOptions are those of disasm, asm and coverage.
type inspectOptions struct {
	target, match string
	json          bool
	file          string
}

func (o *inspectOptions) asmTable() []option {
	return []option{{"target", "T", "the processor, such as gfx90a; of a file that has code for several, only that is taken", stringOption(&o.target)}}
}

func (o *inspectOptions) coverageTable() []option {
	return append(o.asmTable(), jsonTable(&o.json)...)
}

func (o *inspectOptions) disasmTable() []option {
	return append(o.coverageTable(), option{"function", "NAME", "only functions whose name contains this", stringOption(&o.match)})
}

// parse reads options and the file's name.
func (o *inspectOptions) parse(table []option, args []string) error {
	words, err := parseMixed(table, args)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return usageErrorf("one FILE belongs here, got %d", len(words))
	}
	o.file = words[0]
	return nil
}

// open opens the file, and says what in it is passed over.
func (o *inspectOptions) open(stdout, stderr io.Writer) ([]*inspect.Object, error) {
	objs, skipped, err := inspect.Open(o.file, o.target)
	if err != nil {
		return nil, err
	}
	if o.json {
		return objs, inspect.WriteJSON(stdout, skipped)
	}
	for _, s := range skipped {
		fmt.Fprintf(stderr, "pumice: skipped %s\n", s)
	}
	return objs, nil
}

func disasm(stdout, stderr io.Writer, args []string) error {
	var f inspectOptions
	if err := f.parse(f.disasmTable(), args); err != nil {
		return err
	}
	if f.file == "-" {
		t := isa.TargetByName(f.target)
		if t == nil {
			return usageErrorf("hexadecimal words from standard input need --target with one of %v, got %q", targetNames(), f.target)
		}
		var list []inspect.Inst
		err := inspect.Words(os.Stdin, t, func(i inspect.Inst) {
			if f.json {
				list = append(list, i)
			} else {
				fmt.Fprintf(stdout, "\t%s\n", i.Text)
			}
		})
		if err != nil {
			return err
		}
		return inspect.WriteJSON(stdout, list)
	}
	objs, err := f.open(stdout, stderr)
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
	var f inspectOptions
	if err := f.parse(f.asmTable(), args); err != nil {
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

func coverage(stdout, stderr io.Writer, args []string) error {
	var f inspectOptions
	if err := f.parse(f.coverageTable(), args); err != nil {
		return err
	}
	objs, err := f.open(stdout, stderr)
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
