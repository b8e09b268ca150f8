package svm

import (
	"fmt"
	"strconv"
	"strings"
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
	Col  int    // of Word, in bytes from 1; where the line ends if a word is missing; 0 is the whole line
	Word string // "" for one that is missing
	Msg  string
}

func (e *SyntaxError) Error() string {
	at := fmt.Sprintf("%s:%d", e.File, e.Line)
	if e.Col > 0 {
		at += fmt.Sprintf(":%d", e.Col)
	}
	if e.Word == "" {
		return at + ": " + e.Msg
	}
	return fmt.Sprintf("%s: %q: %s", at, e.Word, e.Msg)
}

// word is a word of a line and the column where it begins.
type word struct {
	text string
	col  int
}

// fields cuts a line into words. At a # outside of quotes the comment begins.
func fields(line string) (out []word) {
	start, quoted := -1, false
	for i := range len(line) {
		c := line[i]
		switch {
		case c == '"':
			quoted = !quoted
		case c == '#' && !quoted:
			line = line[:i]
		}
		if c == ' ' || c == '\t' || c == '\r' || i >= len(line) {
			if start >= 0 {
				out = append(out, word{line[start:min(i, len(line))], start + 1})
			}
			start = -1
			if i >= len(line) {
				return out
			}
		} else if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		out = append(out, word{line[start:], start + 1})
	}
	return out
}

// join is words as a line has them, with a blank between two.
func join(words []word) string {
	var s []string
	for _, w := range words {
		s = append(s, w.text)
	}
	return strings.Join(s, " ")
}

// parser goes through lines; a line's words are taken from the left.
type parser struct {
	sc    *Scenario
	lines []string
	line  int // 1-based number of the current line
	words []word
	last  word // taken last, for messages
	eol   word // what stands for a word that is missing
	procs map[string]bool
	// queues and events by process and name
	queues, events map[string]bool
	kids           map[string]string // forked children and their parents: no GPU driver follows them
	next           uint64            // where the next mapping without an address goes
	steps          int
}

// Parse reads a scenario; name is for messages. The error is a *SyntaxError.
func Parse(name, text string) (*Scenario, error) {
	p := &parser{sc: &Scenario{Name: name, Config: defaultConfig(), Source: text}, lines: strings.Split(text, "\n"), procs: map[string]bool{},
		queues: map[string]bool{}, events: map[string]bool{},
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
	return &SyntaxError{p.sc.Name, p.line, p.last.col, p.last.text, fmt.Sprintf(format, args...)}
}

// read moves to the next line that has words; false at the end.
func (p *parser) read() bool {
	for p.line < len(p.lines) {
		p.words = fields(p.lines[p.line])
		p.line++
		if len(p.words) > 0 {
			w := p.words[len(p.words)-1]
			p.last, p.eol = word{}, word{col: w.col + len(w.text)}
			return true
		}
	}
	return false
}

// word takes the next word, "" when there is none.
func (p *parser) word() string {
	if len(p.words) == 0 {
		p.last = p.eol
		return ""
	}
	p.last = p.words[0]
	p.words = p.words[1:]
	return p.last.text
}

func (p *parser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0].text
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
		s := &Step{Line: p.line, Text: join(p.words), gpu: -1}
		keep, err := p.step(s, depth)
		if err != nil {
			return nil, err
		}
		if keep {
			steps = append(steps, s)
		}
	}
	if depth > 0 {
		p.line, p.last = begin, word{}
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
				p.sc.Fails = strings.Trim(join(p.words), `"`)
				if p.sc.Fails == "" {
					return false, p.errorf("what failure?")
				}
				return false, nil
			}
			if err := p.look(s); err != nil {
				return false, err
			}
			return true, p.end()
		default:
			return false, p.errorf("is no step; there are: %s", strings.Join(stepNames(), ", "))
		}
	}
	if p.accept("expect") {
		if len(p.words) == 0 {
			p.word()
			return false, p.errorf("a value, an error name or fault belongs here")
		}
		for p.word() != "" {
			for e := range strings.SplitSeq(p.last.text, "|") {
				if _, err := strconv.ParseUint(e, 0, 64); err != nil && errorNames[e] == nil && e != "fault" && e != "" {
					return false, p.errorf("is neither a value nor an error name; there are: fault, %s", strings.Join(errorList(), ", "))
				}
				if e != "" {
					s.expect = append(s.expect, e)
				}
			}
		}
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
