package svm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	driver "github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
)

// Limits of a scenario, so that a mistyped number is an error and not an hour.
const (
	maxPages  = 4096
	maxGPUs   = 8
	maxRepeat = 10000
	maxSteps  = 10000
	maxDepth  = 8
	maxAddr   = 1 << 46
)

// SyntaxError says what is wrong where.
type SyntaxError struct {
	File string
	Line int
	Word string
	Msg  string
}

func (e *SyntaxError) Error() string {
	if e.Word == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %q: %s", e.File, e.Line, e.Word, e.Msg)
}

// parser goes through lines; a line's words are taken from the left.
type parser struct {
	sc    *Scenario
	lines []string
	line  int // 1-based number of the current line
	words []string
	last  string // the word taken last, for messages
	procs map[string]bool
	kids  map[string]string // forked children and their parents: no GPU driver follows them
	next  uint64            // where the next mapping without an address goes
	steps int
}

// Parse reads a scenario; name is for messages. The error is a *SyntaxError.
func Parse(name, text string) (*Scenario, error) {
	p := &parser{sc: &Scenario{Name: name, Config: defaultConfig(), Source: text}, lines: strings.Split(text, "\n"), procs: map[string]bool{},
		kids: map[string]string{}, next: 0x10000000}
	if t, ok := strings.CutPrefix(strings.TrimSpace(p.lines[0]), "#"); ok {
		p.sc.Title = strings.TrimSpace(t)
	}
	steps, err := p.block(0)
	if err != nil {
		return nil, err
	}
	p.sc.Steps = steps
	return p.sc, nil
}

func (p *parser) errorf(format string, args ...any) error {
	return &SyntaxError{p.sc.Name, p.line, p.last, fmt.Sprintf(format, args...)}
}

// read moves to the next line that has words; false at the end.
func (p *parser) read() bool {
	for p.line < len(p.lines) {
		l, _, _ := strings.Cut(p.lines[p.line], "#")
		p.line++
		if p.words = strings.Fields(l); len(p.words) > 0 {
			p.last = ""
			return true
		}
	}
	return false
}

// word takes the next word, "" when there is none.
func (p *parser) word() string {
	if len(p.words) == 0 {
		p.last = ""
		return ""
	}
	p.last = p.words[0]
	p.words = p.words[1:]
	return p.last
}

func (p *parser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

// accept takes the next word if it is w.
func (p *parser) accept(w string) bool {
	if p.peek() != w {
		return false
	}
	p.word()
	return true
}

func (p *parser) want(w string) error {
	if got := p.word(); got != w {
		return p.errorf("%s belongs here", w)
	}
	return nil
}

// block reads steps up to a closing brace, or the end at depth 0.
func (p *parser) block(depth int) ([]*Step, error) {
	var steps []*Step
	if depth > maxDepth {
		return nil, p.errorf("blocks are nested too deep")
	}
	begin := p.line
	for p.read() {
		if p.peek() == "}" {
			p.word()
			if depth == 0 {
				return nil, p.errorf("no block to close")
			}
			if len(p.words) > 0 {
				return nil, p.errorf("nothing may follow on this line")
			}
			return steps, nil
		}
		if p.steps++; p.steps > maxSteps {
			return nil, p.errorf("more than %d steps", maxSteps)
		}
		s := &Step{Line: p.line, Text: strings.Join(p.words, " "), gpu: -1}
		keep, err := p.step(s, depth)
		if err != nil {
			return nil, err
		}
		if keep {
			steps = append(steps, s)
		}
	}
	if depth > 0 {
		p.line, p.last = begin, ""
		return nil, p.errorf("the block is not closed")
	}
	return steps, nil
}

// step reads one; keep is false for what is no step (the machine, the expected failure).
func (p *parser) step(s *Step, depth int) (keep bool, err error) {
	w := p.word()
	if f, ok := statements[w]; ok {
		if err := f(p, s); err != nil {
			return false, err
		}
	} else if n, ok := gpuIndex(w); ok {
		if s.gpu, err = p.checkGPU(n); err != nil {
			return false, err
		}
		if err := p.access(s); err != nil {
			return false, err
		}
	} else {
		switch w {
		case "machine":
			if p.steps != 1 {
				return false, p.errorf("must come first")
			}
			return false, p.machine()
		case "parallel", "task", "repeat":
			return true, p.nested(s, w, depth)
		case "expect":
			if p.accept("failure") {
				p.sc.Fails = strings.Trim(strings.Join(p.words, " "), `"`)
				if p.sc.Fails == "" {
					return false, p.errorf("what failure?")
				}
				return false, nil
			}
			return true, p.look(s)
		default:
			return false, p.errorf("is not a step; see `pumice svm help`")
		}
	}
	if p.accept("expect") {
		if len(p.words) == 0 {
			return false, p.errorf("expect what?")
		}
		s.expect = strings.Split(strings.Join(p.words, ""), "|")
		for _, e := range s.expect {
			if _, err := strconv.ParseUint(e, 0, 64); err != nil && errorNames[e] == nil && e != "fault" {
				p.last = e
				return false, p.errorf("is neither a value nor an error name")
			}
		}
		p.words = nil
	}
	return true, p.end()
}

func (p *parser) end() error {
	if len(p.words) > 0 {
		p.word()
		return p.errorf("was not expected here")
	}
	return nil
}

func (p *parser) nested(s *Step, w string, depth int) (err error) {
	switch w {
	case "parallel":
		s.op = opParallel
	case "task":
		s.op, s.name = opTask, p.word()
		if s.name == "" || s.name == "{" {
			return p.errorf("a task needs a name")
		}
	case "repeat":
		s.op = opRepeat
		if s.n, err = p.number(maxRepeat); err != nil {
			return err
		}
	}
	if err := p.want("{"); err != nil {
		return err
	}
	if err := p.end(); err != nil {
		return err
	}
	s.body, err = p.block(depth + 1)
	return err
}

func (p *parser) number(limit int) (int, error) {
	n, err := strconv.ParseUint(p.word(), 0, 32)
	if err != nil || n > uint64(limit) {
		return 0, p.errorf("a number from 0 to %d belongs here", limit)
	}
	return int(n), nil
}

func gpuIndex(w string) (int, bool) {
	d, ok := strings.CutPrefix(w, "gpu")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(d)
	return n, err == nil && n >= 0
}

func (p *parser) checkGPU(n int) (int, error) {
	if n >= p.sc.Config.GPUs {
		return 0, p.errorf("the machine has %d GPUs", p.sc.Config.GPUs)
	}
	return n, nil
}

// onGPU reads "on gpuN" if it is there.
func (p *parser) onGPU(s *Step) (err error) {
	if !p.accept("on") {
		return nil
	}
	n, ok := gpuIndex(p.word())
	if !ok {
		return p.errorf("the name of a GPU belongs here (gpu0)")
	}
	s.gpu, err = p.checkGPU(n)
	return err
}

// process reads the name of one that exists. driven says that the step needs the GPU driver, which a forked child has not.
func (p *parser) process(s *Step, driven bool) error {
	s.process = p.word()
	if !p.procs[s.process] {
		return p.errorf("there is no such process")
	}
	if driven && p.kids[s.process] != "" {
		return p.errorf("is a forked child: the GPU driver does not follow it")
	}
	return nil
}

// addr reads an address: a number or NAME[PAGE], and +BYTES.
func (p *parser) addr(process, w string) (at uint64, m *Mapping, err error) {
	base, off, plus := strings.Cut(w, "+")
	var add uint64
	if plus {
		if add, err = strconv.ParseUint(off, 0, 46); err != nil {
			return 0, nil, p.errorf("what follows + is a number of bytes")
		}
	}
	name, index, bracket := strings.Cut(base, "[")
	if at, err = strconv.ParseUint(name, 0, 46); err != nil {
		if m = p.mapping(process, name); m == nil {
			return 0, nil, p.errorf("is neither an address nor the name of a mapping of %s", process)
		}
		at = m.Start
	}
	if bracket {
		index, ok := strings.CutSuffix(index, "]")
		n, err := strconv.ParseUint(index, 0, 32)
		if !ok || err != nil {
			return 0, nil, p.errorf("in brackets belongs a page number")
		}
		add += n << mm.PageShift
	}
	if bracket || plus {
		m = nil
	}
	return at + add, m, nil
}

func (p *parser) mapping(process, name string) *Mapping {
	if parent := p.kids[process]; parent != "" {
		process = parent
	}
	for i := len(p.sc.Names) - 1; i >= 0; i-- {
		if m := &p.sc.Names[i]; m.Process == process && m.Name == name {
			return m
		}
	}
	return nil
}

// rng reads a range: an address and a size, or the name of a mapping. one accepts an address alone, for its page.
func (p *parser) rng(s *Step, one bool) error {
	at, m, err := p.addr(s.process, p.word())
	if err != nil {
		return err
	}
	s.start = at
	if n, err := strconv.ParseUint(p.peek(), 0, 32); err == nil && len(p.words) > 1 && strings.HasPrefix(p.words[1], "page") {
		p.word()
		if n == 0 || n > maxPages {
			return p.errorf("a size from 1 to %d pages belongs here", maxPages)
		}
		p.word()
		s.size = n << mm.PageShift
		return nil
	}
	switch {
	case m != nil:
		s.size = m.Pages << mm.PageShift
	case one:
		s.start &^= mm.PageSize - 1
		s.size = mm.PageSize
	default:
		return p.errorf("a size must follow (4 pages)")
	}
	return nil
}

func parseRights(w string) (mm.Prot, bool) {
	p, ok := map[string]mm.Prot{"none": 0, "r": mm.ProtRead, "ro": mm.ProtRead, "rw": mm.ProtRead | mm.ProtWrite, "rx": mm.ProtRead | mm.ProtExec,
		"rwx": mm.ProtRead | mm.ProtWrite | mm.ProtExec}[w]
	return p, ok
}

var kinds = map[string]mm.Kind{"anon": mm.Anon, "heap": mm.Heap, "stack": mm.Stack, "file": mm.File, "io": mm.IO}

func (p *parser) rights(s *Step) (err error) {
	prot, ok := parseRights(p.word())
	if !ok {
		return p.errorf("rights belong here: none, r, rw, rx or rwx")
	}
	s.prot = prot
	return nil
}

// statements are the steps that are named by their first word.
var statements map[string]func(*parser, *Step) error

func init() {
	onRange := func(o op, driven bool) func(*parser, *Step) error {
		return func(p *parser, s *Step) error {
			s.op = o
			if err := p.process(s, driven); err != nil {
				return err
			}
			return p.rng(s, false)
		}
	}
	statements = map[string]func(*parser, *Step) error{
		"process": func(p *parser, s *Step) error {
			s.op, s.process = opProcess, p.word()
			return p.newProcess(s.process)
		},
		"exit": func(p *parser, s *Step) error {
			s.op = opExit
			return p.process(s, false)
		},
		"fork": func(p *parser, s *Step) error {
			s.op = opFork
			if err := p.process(s, false); err != nil {
				return err
			}
			s.name = p.word()
			if err := p.newProcess(s.name); err != nil {
				return err
			}
			p.kids[s.name] = s.process
			return nil
		},
		"map":      (*parser).mapStep,
		"munmap":   onRange(opMunmap, false),
		"dontneed": onRange(opDontNeed, false),
		"reclaim":  onRange(opReclaim, false),
		"reset": func(p *parser, s *Step) error {
			if err := onRange(opReset, true)(p, s); err != nil {
				return err
			}
			return p.onGPU(s)
		},
		"mprotect": func(p *parser, s *Step) error {
			if err := onRange(opMprotect, false)(p, s); err != nil {
				return err
			}
			return p.rights(s)
		},
		"set": func(p *parser, s *Step) error {
			if err := onRange(opSet, true)(p, s); err != nil {
				return err
			}
			if err := p.attributes(s); err != nil {
				return err
			}
			return p.onGPU(s)
		},
		"prefetch": func(p *parser, s *Step) error {
			if err := onRange(opPrefetch, true)(p, s); err != nil {
				return err
			}
			if err := p.want("to"); err != nil {
				return err
			}
			w := p.word()
			if w == "system" {
				s.gpu, s.value = 0, uint64(driver.LocSysmem)
				return nil
			}
			n, ok := gpuIndex(w)
			if !ok {
				return p.errorf("system or the name of a GPU belongs here")
			}
			s.value = 1
			var err error
			s.gpu, err = p.checkGPU(n)
			return err
		},
		"cpu": (*parser).access,
		"pressure": func(p *parser, s *Step) (err error) {
			s.op = opPressure
			if err := p.gpuWord(s); err != nil {
				return err
			}
			if s.n, err = p.number(maxPages); err != nil {
				return err
			}
			return p.pagesWord()
		},
		"relax": func(p *parser, s *Step) error {
			s.op = opRelax
			return p.gpuWord(s)
		},
		"sleep": func(p *parser, s *Step) (err error) {
			s.op = opSleep
			s.wait, err = time.ParseDuration(p.word())
			if err != nil || s.wait < 0 || s.wait > time.Hour {
				return p.errorf("a time such as 5ms belongs here")
			}
			return nil
		},
		"settle": func(p *parser, s *Step) error {
			s.op = opSettle
			return nil
		},
	}
}

func (p *parser) gpuWord(s *Step) (err error) {
	n, ok := gpuIndex(p.word())
	if !ok {
		return p.errorf("the name of a GPU belongs here (gpu0)")
	}
	s.gpu, err = p.checkGPU(n)
	return err
}

func (p *parser) pagesWord() error {
	if w := p.word(); w != "page" && w != "pages" {
		return p.errorf("pages belongs here")
	}
	return nil
}

func (p *parser) newProcess(name string) error {
	if name == "" || strings.ContainsAny(name, "[]+{}|") {
		return p.errorf("a process needs a name")
	}
	if p.procs[name] {
		return p.errorf("there is a process of that name")
	}
	p.procs[name] = true
	return nil
}

func (p *parser) mapStep(s *Step) (err error) {
	s.op = opMap
	if err := p.process(s, false); err != nil {
		return err
	}
	s.name = p.word()
	if _, err := strconv.ParseUint(s.name, 0, 64); err == nil || s.name == "" || strings.ContainsAny(s.name, "[]+{}|") {
		return p.errorf("a mapping needs a name")
	}
	if s.n, err = p.number(maxPages); err != nil {
		return err
	}
	if s.n == 0 {
		return p.errorf("a mapping has at least one page")
	}
	if err := p.pagesWord(); err != nil {
		return err
	}
	s.size = uint64(s.n) << mm.PageShift
	s.start = p.next
	if p.accept("at") {
		if s.start, _, err = p.addr(s.process, p.word()); err != nil {
			return err
		}
		if s.start&(mm.PageSize-1) != 0 || s.start == 0 || s.start+s.size > maxAddr {
			return p.errorf("a mapping begins at a page (4096 bytes), not at 0, and ends below %#x", uint64(maxAddr))
		}
	}
	p.next = max(p.next, (s.start+s.size+1<<24-1)&^(1<<24-1))
	if err := p.rights(s); err != nil {
		return err
	}
	s.kind = kinds[s.name]
	if k, ok := strings.CutPrefix(p.peek(), "kind="); ok {
		p.word()
		if s.kind, ok = kinds[k]; !ok {
			return p.errorf("is no kind of mapping; there are: anon, heap, stack, file, io")
		}
	}
	p.sc.Names = append(p.sc.Names, Mapping{s.process, s.name, s.start, uint64(s.n)})
	return nil
}

// access reads "P load ADDR" or "P store ADDR VALUE".
func (p *parser) access(s *Step) (err error) {
	if err := p.process(s, s.gpu >= 0); err != nil {
		return err
	}
	switch p.word() {
	case "load":
		s.op = opLoad
	case "store":
		s.op = opStore
	default:
		return p.errorf("load or store belongs here")
	}
	if s.start, _, err = p.addr(s.process, p.word()); err != nil {
		return err
	}
	if s.start&7 != 0 {
		return p.errorf("an access is to 8 aligned bytes")
	}
	if s.op == opStore {
		if s.value, err = strconv.ParseUint(p.word(), 0, 64); err != nil {
			return p.errorf("the value to store belongs here")
		}
	}
	return nil
}

// attrKeys are the attributes by name.
var attrKeys = map[string]driver.AttrType{"preferred": driver.AttrPreferredLoc, "prefetch": driver.AttrPrefetchLoc, "access": driver.AttrAccess,
	"granularity": driver.AttrGranularity, "host": driver.AttrHostAccess, "coherent": driver.AttrCoherent, "ext-coherent": driver.AttrExtCoherent,
	"hive": driver.AttrHiveLocal, "gpu-ro": driver.AttrGPURO, "gpu-exec": driver.AttrGPUExec, "read-mostly": driver.AttrGPUReadMostly}

// attrValues are the names of values.
var attrValues = map[string]map[string]uint32{
	"preferred": {"system": driver.LocSysmem, "vram": 1, "undefined": driver.LocUndefined},
	"prefetch":  {"system": driver.LocSysmem, "vram": 1, "undefined": driver.LocUndefined},
	"access":    {"none": driver.AccessNone, "inplace": driver.AccessInPlace, "migrate": driver.AccessAllowMigrate},
}

// attributes reads KEY=VALUE words.
func (p *parser) attributes(s *Step) error {
	for {
		key, value, ok := strings.Cut(p.peek(), "=")
		if !ok {
			break
		}
		p.word()
		t, ok := attrKeys[key]
		if !ok {
			return p.errorf("is no attribute; there are: access, preferred, prefetch, granularity, host, coherent, ext-coherent, hive, gpu-ro, gpu-exec, read-mostly")
		}
		v, ok := attrValues[key][value]
		if !ok {
			n, err := strconv.ParseUint(value, 0, 32)
			if err != nil {
				return p.errorf("the value of %s is not one that it can have", key)
			}
			v = uint32(n)
		}
		s.attrs = append(s.attrs, driver.Attr{Type: t, Value: v})
	}
	if len(s.attrs) == 0 {
		p.last = p.peek()
		return p.errorf("attributes belong here (access=migrate)")
	}
	return nil
}
