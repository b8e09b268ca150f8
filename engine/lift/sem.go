package lift

import (
	"embed"
	"fmt"
	"slices"
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
	name     string // as written, after brace expansion
	file     string
	line     int
	text     string   // what stands after the colon, with $1, $2, ...
	taken    []string // the alternatives that stand for these
	stmts    []stmt
	rule     rule // instead of stmts
	ruleName string
	flow     int          // what the rule does to control flow
	dst      isa.DataType // result type by the name, or TypeNone
	args     []string     // of the rule
}

// rule lifts one instruction; args are the words after its name in the line. It reports what it cannot do.
type rule func(c *ictx, args []string) error

var loadOnce = sync.OnceValues(readMeanings)

// meanings are the lines of sem/ by mnemonic.
type meanings map[string]*meaning

// readMeanings reads sem/.
func readMeanings() (meanings, error) {
	all := make(meanings, 4000)
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
func (all meanings) add(file, text string) error {
	r := reader{all: all, file: file}
	for text != "" {
		line := text
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		r.line++
		if i := strings.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		head, body, ok := strings.Cut(line, ":")
		if !ok {
			return fmt.Errorf("%s:%d: no colon", file, r.line)
		}
		r.body = strings.TrimSpace(body)
		r.dollar = strings.IndexByte(body, '$') >= 0
		for head = strings.TrimSpace(head); head != ""; head = strings.TrimLeft(head, " \t") {
			name := head
			if i := strings.IndexAny(head, " \t"); i >= 0 {
				name = head[:i]
			}
			head = head[len(name):]
			if err := r.expand(name, nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// reader reads one file.
type reader struct {
	all    meanings
	file   string
	line   int
	body   string
	dollar bool      // body has alternatives to fill in
	room   []meaning // for more
}

// expand adds what the rest of a mnemonic makes, behind name: a{b,c}d is abd, acd. taken are the alternatives so far.
func (r *reader) expand(rest string, name []byte, taken []string) error {
	i, j := strings.IndexByte(rest, '{'), strings.IndexByte(rest, '}')
	if i < 0 || j < i {
		return r.put(string(append(name, rest...)), taken)
	}
	name = append(name, rest[:i]...)
	list, rest := rest[i+1:j], rest[j+1:]
	for more := true; more; {
		var alt string
		if alt, list, more = strings.Cut(list, ","); !more {
			list = ""
		}
		if err := r.expand(rest, append(name, alt...), append(taken, alt)); err != nil {
			return err
		}
	}
	return nil
}

// put adds the line for one mnemonic.
func (r *reader) put(name string, taken []string) error {
	if old := r.all[name]; old != nil {
		return fmt.Errorf("%s:%d: %s already at %s:%d", r.file, r.line, name, old.file, old.line)
	}
	if len(r.room) == 0 {
		r.room = make([]meaning, 256)
	}
	m := &r.room[0]
	r.room = r.room[1:]
	*m = meaning{name: name, file: r.file, line: r.line, text: r.body}
	if r.dollar {
		m.taken = slices.Clone(taken)
	}
	r.all[name] = m
	return nil
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
	m := all[op.Name]
	for i := 0; m == nil && i < len(op.Aliases); i++ {
		m = all[op.Aliases[i]]
	}
	if m != nil {
		// A copy, for others may do the same now. A line that does not parse (the tests parse all) is like none.
		x := *m
		if m = &x; m.compile() != nil {
			m = nil
		}
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
	out := make([]string, 0, len(all))
	for n := range all {
		out = append(out, n)
	}
	sort.Strings(out)
	return out, nil
}
