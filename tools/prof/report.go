package prof

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/ianlancetaylor/demangle"
	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit"
)

// Report is a profile, hottest first everywhere.
type Report struct {
	Program  []string   `json:"program"`
	Interval float64    `json:"interval_us"`
	Seconds  float64    `json:"seconds"` // that processes were looked at
	Samples  int        `json:"samples"` // of workers that ran kernels
	Workers  float64    `json:"workers"` // that ran kernels, on average
	Funcs    []Function `json:"functions"`
}

// Function is a kernel, or a function that kernels call.
type Function struct {
	Name         string        `json:"name"`
	Kernel       bool          `json:"kernel"`
	Target       string        `json:"target"`
	Samples      int           `json:"samples"`
	Percent      float64       `json:"percent"`
	Helper       float64       `json:"helper_percent"` // of its samples
	Lines        []Line        `json:"lines,omitempty"`
	Instructions []Instruction `json:"instructions"`
}

// Line is a source line.
type Line struct {
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Samples int     `json:"samples"`
	Percent float64 `json:"percent"`
}

// Instruction is a guest instruction.
type Instruction struct {
	Offset  string  `json:"offset"` // from the function's start, hexadecimal
	Text    string  `json:"text,omitempty"`
	File    string  `json:"file,omitempty"`
	Line    int     `json:"line,omitempty"`
	Samples int     `json:"samples"`
	Percent float64 `json:"percent"`
	Helper  float64 `json:"helper_percent"`
}

// object is a loaded code object.
type object struct {
	base uint64
	o    *codeobj.Object
}

// process is what a process left about its code.
type process struct {
	funcs   map[uint32]jit.SampledFunc
	objects []object
}

func readProcess(dir string, pid int) (*process, error) {
	p := &process{funcs: map[uint32]jit.SampledFunc{}}
	f, err := os.Open(filepath.Join(dir, fmt.Sprintf("funcs.%d", pid)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var x jit.SampledFunc
		if json.Unmarshal(sc.Bytes(), &x) == nil { // the last line of a killed process may be cut
			p.funcs[x.ID] = x
		}
	}
	names, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("code.%d.*", pid)))
	for _, name := range names {
		base, err := strconv.ParseUint(strings.TrimPrefix(filepath.Ext(name), "."), 16, 64)
		if err != nil {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if o, err := codeobj.Open(b); err == nil {
			p.objects = append(p.objects, object{base, o})
		}
	}
	return p, nil
}

func (p *process) find(pc uint64) (o *codeobj.Object, va uint64) {
	for _, x := range p.objects {
		if pc >= x.base && pc-x.base < x.o.ImageSize() {
			return x.o, pc - x.base
		}
	}
	return nil, 0
}

// builder collects one function.
type builder struct {
	Function
	slow  int
	insts map[uint64]*Instruction
	slows map[uint64]int
	lines map[[2]string]*Line
}

// Report gives names to what was seen; dir is that of Watch.
func (s *Samples) Report(dir string, program []string, interval time.Duration) (*Report, error) {
	r := &Report{Program: program, Interval: float64(interval) / 1e3, Seconds: s.last.Sub(s.first).Seconds(), Samples: s.busy}
	if s.looks > 0 {
		r.Workers = float64(s.busy) / float64(s.looks)
	}
	processes := map[int]*process{}
	funcs := map[string]*builder{}
	for k, n := range s.counts {
		p := processes[k.pid]
		if p == nil {
			var err error
			if p, err = readProcess(dir, k.pid); err != nil {
				return nil, err
			}
			processes[k.pid] = p
		}
		fn, ok := p.funcs[k.fn]
		if !ok {
			continue
		}
		p.add(funcs, fn, fn.PC+uint64(int64(int32(k.pc))), n)
	}
	percent := func(n, of int) float64 {
		if of == 0 {
			return 0
		}
		return 100 * float64(n) / float64(of)
	}
	for _, b := range funcs {
		b.Percent, b.Helper = percent(b.Samples, s.busy), percent(b.slow, b.Samples)
		for off, x := range b.insts {
			x.Percent, x.Helper = percent(x.Samples, s.busy), percent(b.slows[off], x.Samples)
			b.Instructions = append(b.Instructions, *x)
		}
		for _, x := range b.lines {
			x.Percent = percent(x.Samples, s.busy)
			b.Lines = append(b.Lines, *x)
		}
		sort.Slice(b.Instructions, func(i, j int) bool {
			x, y := &b.Instructions[i], &b.Instructions[j]
			return x.Samples > y.Samples || x.Samples == y.Samples && (len(x.Offset) < len(y.Offset) || len(x.Offset) == len(y.Offset) && x.Offset < y.Offset)
		})
		sort.Slice(b.Lines, func(i, j int) bool {
			x, y := &b.Lines[i], &b.Lines[j]
			return x.Samples > y.Samples || x.Samples == y.Samples && (x.File < y.File || x.File == y.File && x.Line < y.Line)
		})
		r.Funcs = append(r.Funcs, b.Function)
	}
	sort.Slice(r.Funcs, func(i, j int) bool {
		x, y := &r.Funcs[i], &r.Funcs[j]
		return x.Samples > y.Samples || x.Samples == y.Samples && x.Name < y.Name
	})
	return r, nil
}

// add counts n samples at pc.
func (p *process) add(funcs map[string]*builder, fn jit.SampledFunc, pc uint64, n *count) {
	name, off := fmt.Sprintf("at %#x", fn.PC), pc-fn.PC
	o, va := p.find(pc)
	var line codeobj.Line
	text, kernel := "", false
	if o != nil {
		if s, at, ok := o.Function(va); ok {
			name, off = demangle.Filter(s), at
			_, err := o.Kernel(s)
			kernel = err == nil
		}
		line, _ = o.Line(va)
		text = instruction(o, isa.TargetByName(fn.Target), va, pc)
	}
	key := name + "\x00" + fn.Target
	b := funcs[key]
	if b == nil {
		b = &builder{insts: map[uint64]*Instruction{}, slows: map[uint64]int{}, lines: map[[2]string]*Line{}}
		b.Name, b.Target, b.Kernel = name, fn.Target, kernel
		funcs[key] = b
	}
	b.Samples += n.n
	b.slow += n.slow
	x := b.insts[off]
	if x == nil {
		x = &Instruction{Offset: fmt.Sprintf("%#x", off), Text: text, File: line.File, Line: line.Line}
		b.insts[off] = x
	}
	x.Samples += n.n
	b.slows[off] += n.slow
	if line.Line > 0 {
		k := [2]string{line.File, strconv.Itoa(line.Line)}
		if b.lines[k] == nil {
			b.lines[k] = &Line{File: line.File, Line: line.Line}
		}
		b.lines[k].Samples += n.n
	}
}

// instruction is the text of the instruction at va, which was loaded at pc.
func instruction(o *codeobj.Object, t *isa.Target, va, pc uint64) string {
	for n := uint64(20); n > 0; n -= 4 { // shorter at the end of a segment
		code, ok := o.At(va, n)
		if !ok {
			continue
		}
		var in isa.Inst
		if t == nil || isa.Decode(t, code, &in) != nil {
			return ""
		}
		return isa.Disasm(&in, t, pc)
	}
	return ""
}

// WriteJSON writes r with all its instructions.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// WriteText writes r for people, with the top lines and instructions of each function.
func (r *Report) WriteText(w io.Writer, top int) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "PC samples of %s: %d in %.1f s, every %g us, %.2f workers in kernels on average\n", strings.Join(r.Program, " "), r.Samples, r.Seconds, r.Interval, r.Workers)
	if r.Samples == 0 {
		fmt.Fprintln(b, "no worker was seen in compiled code: kernels were too short, or there were none")
	}
	for _, f := range r.Funcs {
		what := "function"
		if f.Kernel {
			what = "kernel"
		}
		fmt.Fprintf(b, "\n%7d %5.1f%%  %s %s (%s), %.1f%% of it in the helper\n", f.Samples, f.Percent, what, f.Name, f.Target, f.Helper)
		for _, l := range f.Lines[:min(top, len(f.Lines))] {
			fmt.Fprintf(b, "%7d %5.1f%%      %s:%d\n", l.Samples, l.Percent, filepath.Base(l.File), l.Line)
		}
		for _, i := range f.Instructions[:min(top, len(f.Instructions))] {
			where := ""
			if i.Line > 0 {
				where = fmt.Sprintf("  ; %s:%d", filepath.Base(i.File), i.Line)
			}
			helper := ""
			if i.Helper >= 0.05 {
				helper = fmt.Sprintf("  [helper %.0f%%]", i.Helper)
			}
			fmt.Fprintf(b, "%7d %5.1f%%      +%-7s %s%s%s\n", i.Samples, i.Percent, i.Offset, i.Text, where, helper)
		}
	}
	return b.Flush()
}
