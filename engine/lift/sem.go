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

// meaning is one compiled line of sem/.
type meaning struct {
	name     string // as written, after brace expansion
	pos      string // file:line
	body     string // of statements; meaningOf makes stmts of it
	stmts    []stmt
	rule     rule // instead of stmts
	ruleName string
	flow     int          // what the rule does to control flow
	dst      isa.DataType // result type by the name, or TypeNone
	args     []string     // of the rule
}

// rule lifts one instruction; args are the words after its name in the line. It reports what it cannot do.
type rule func(c *ictx, args []string) error

var loadOnce = sync.OnceValues(func() (map[string]*meaning, error) {
	all := map[string]*meaning{}
	files, err := semFS.ReadDir("sem")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := semFS.ReadFile("sem/" + f.Name())
		if err != nil {
			return nil, err
		}
		if err := parseFile(f.Name(), string(text), all); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// parseFile adds the lines of one file to all.
func parseFile(name, text string, all map[string]*meaning) error {
	for i, line := range strings.Split(text, "\n") {
		if k := strings.IndexByte(line, '#'); k >= 0 {
			line = line[:k]
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		pos := name + ":" + strconv.Itoa(i+1)
		head, body, ok := strings.Cut(line, ":")
		if !ok {
			return fmt.Errorf("%s: no colon", pos)
		}
		for _, h := range strings.Fields(head) {
			for _, x := range expand(h) {
				m, err := parseBody(strings.TrimSpace(x.subst(body)))
				if err != nil {
					return fmt.Errorf("%s: %s: %w", pos, x.name, err)
				}
				if old := all[x.name]; old != nil {
					return fmt.Errorf("%s: %s already at %s", pos, x.name, old.pos)
				}
				m.name, m.pos, m.dst = x.name, pos, namedDst(x.name)
				all[x.name] = m
			}
		}
	}
	return nil
}

// parseBody compiles what stands after the colon.
func parseBody(body string) (*meaning, error) {
	m := &meaning{}
	if r, ok := strings.CutPrefix(body, "@"); ok {
		w := strings.Fields(r)
		if len(w) == 0 || rules[w[0]] == nil {
			return nil, fmt.Errorf("unknown rule in %q", body)
		}
		m.ruleName, m.rule, m.args, m.flow = w[0], rules[w[0]], w[1:], flows[w[0]]
		return m, nil
	}
	m.body = body
	return m, nil
}

// compile parses the statements.
func (m *meaning) compile() (err error) {
	if m.rule == nil && m.stmts == nil {
		if m.stmts, err = parseStmts(m.body); err != nil {
			err = fmt.Errorf("%s: %s: %w", m.pos, m.name, err)
		}
	}
	return err
}

// expansion is one name made from braces, and the alternatives that were taken.
type expansion struct {
	name  string
	taken []string
}

// subst replaces $1, $2, ... by the alternatives taken.
func (x expansion) subst(body string) string {
	if strings.IndexByte(body, '$') < 0 {
		return body
	}
	for i, t := range x.taken {
		body = strings.ReplaceAll(body, "$"+strconv.Itoa(i+1), t)
	}
	return body
}

// expand expands the braces of a name: a{b,c}d is abd, acd.
func expand(s string) []expansion {
	i, j := strings.IndexByte(s, '{'), strings.IndexByte(s, '}')
	if i < 0 || j < i {
		return []expansion{{name: s}}
	}
	var out []expansion
	for _, alt := range strings.Split(s[i+1:j], ",") {
		for _, rest := range expand(s[j+1:]) {
			out = append(out, expansion{s[:i] + alt + rest.name, append([]string{alt}, rest.taken...)})
		}
	}
	return out
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
