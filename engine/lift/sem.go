package lift

import (
	"embed"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/engine/isa"
)

//go:embed sem/*.sem
var semFS embed.FS

// meaning is what one instruction does: a line of sem/, which compile reads when somebody wants it.
type meaning struct {
	stmts    []stmt
	rule     rule         // instead of stmts
	args     []string     // of the rule
	flow     int          // what the rule does to control flow
	dst      isa.DataType // result type by the name, or TypeNone
	ruleName string

	name  string // as written, after brace expansion
	file  string
	line  int
	text  string   // what stands after the colon, with $1, $2, ...
	taken []string // the alternatives that stand for these
}

// rule lifts one instruction; args are the words after its name in the line. It reports what it cannot do.
type rule func(c *ictx, args []string) error

var loadOnce = sync.OnceValues(readMeanings)

// meanings are the lines of sem/. A mnemonic with braces stands for many, and a program has a few dozen: they are found, not made.
type meanings struct {
	heads map[string][]head // by what stands before the first brace
}

// head is a mnemonic before a colon: a{b,c}d is abd and acd.
type head struct {
	name string
	file string
	line int
	text string // what stands after the colon, with $1, $2, ...
}

// readMeanings reads sem/.
func readMeanings() (*meanings, error) {
	all := &meanings{heads: make(map[string][]head, 1024)}
	files, err := semFS.ReadDir("sem")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := semFS.ReadFile("sem/" + f.Name())
		if err != nil {
			return nil, err
		}
		if err := all.add(f.Name(), string(text)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add adds the lines of one file.
func (all *meanings) add(file, text string) error {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if i := strings.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		names, body, ok := strings.Cut(line, ":")
		if !ok {
			return fmt.Errorf("%s:%d: no colon", file, n)
		}
		body = strings.TrimSpace(body)
		for name := range strings.FieldsSeq(names) {
			before, _, _ := strings.Cut(name, "{")
			all.heads[before] = append(all.heads[before], head{name, file, n, body})
		}
	}
	return nil
}

// find is the meaning of a mnemonic, nil if it has none. The tests see that no mnemonic has two.
func (all *meanings) find(name string) *meaning {
	for n := len(name); n >= 0; n-- {
		for i := range all.heads[name[:n]] {
			h := &all.heads[name[:n]][i]
			if taken, ok := match(h.name, name, nil); ok {
				return &meaning{name: name, file: h.file, line: h.line, text: h.text, taken: taken}
			}
		}
	}
	return nil
}

// match tells whether a mnemonic with braces stands for name, and the alternatives that were taken.
func match(braces, name string, taken []string) ([]string, bool) {
	i, j := strings.IndexByte(braces, '{'), strings.IndexByte(braces, '}')
	if i < 0 || j < i {
		return taken, braces == name
	}
	name, ok := strings.CutPrefix(name, braces[:i])
	if !ok {
		return nil, false
	}
	for alt := range strings.SplitSeq(braces[i+1:j], ",") {
		if rest, ok := strings.CutPrefix(name, alt); ok {
			if t, ok := match(braces[j+1:], rest, append(taken, alt)); ok {
				return t, true
			}
		}
	}
	return nil, false
}

// names calls f with every mnemonic that a head stands for.
func (h *head) names(f func(name string)) {
	var expand func(before, rest string)
	expand = func(before, rest string) {
		i, j := strings.IndexByte(rest, '{'), strings.IndexByte(rest, '}')
		if i < 0 || j < i {
			f(before + rest)
			return
		}
		for alt := range strings.SplitSeq(rest[i+1:j], ",") {
			expand(before+rest[:i]+alt, rest[j+1:])
		}
	}
	expand("", h.name)
}

// compile reads what stands after the colon.
func (m *meaning) compile() (err error) {
	if m.rule != nil || m.stmts != nil {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s:%d: %s: %w", m.file, m.line, m.name, err)
		}
	}()
	text := m.text
	for i, t := range m.taken {
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1), t)
	}
	m.dst = namedDst(m.name)
	r, ok := strings.CutPrefix(text, "@")
	if !ok {
		m.stmts, err = parseStmts(text)
		return err
	}
	w := strings.Fields(r)
	if len(w) == 0 || rules[w[0]] == nil {
		return fmt.Errorf("unknown rule in %q", text)
	}
	m.ruleName, m.rule, m.args, m.flow = w[0], rules[w[0]], w[1:], flows[w[0]]
	return nil
}

// byOp caches the meanings of table rows by Op.ID.
var byOp [1 << 13]atomic.Pointer[opMeaning]

// opMeaning is the meaning of a table row, nil when there is none.
type opMeaning struct {
	op *isa.Op
	m  *meaning
}

// meaningOf returns the meaning of a table row, by its canonical name or else by one of its older spellings.
func meaningOf(op *isa.Op) *meaning {
	slot := &byOp[op.ID&(len(byOp)-1)]
	if x := slot.Load(); x != nil && x.op == op {
		return x.m
	}
	all, err := loadOnce()
	if err != nil {
		return nil
	}
	m := all.find(op.Name)
	for i := 0; m == nil && i < len(op.Aliases); i++ {
		m = all.find(op.Aliases[i])
	}
	if m != nil && m.compile() != nil { // a line that does not parse (the tests parse all) is like none
		m = nil
	}
	slot.Store(&opMeaning{op, m})
	return m
}

// Known reports whether op has a meaning here.
func Known(op *isa.Op) bool { return op != nil && meaningOf(op) != nil }

// Names returns every mnemonic that has a line in sem/, sorted.
func Names() ([]string, error) {
	all, err := loadOnce()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range all.heads {
		for i := range l {
			l[i].names(func(n string) { out = append(out, n) })
		}
	}
	sort.Strings(out)
	return out, nil
}
