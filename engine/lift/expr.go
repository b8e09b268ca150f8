package lift

import (
	"fmt"
	"strconv"
	"strings"
)

// A node computes one expression in the context of an instruction.
type node func(c *ictx) val

// stmt is one assignment.
type stmt struct {
	place string
	local int // number of the local name that the place is, or -1
	x     node
}

// maxLocals is how many local names a meaning can have.
const maxLocals = 8

// parser reads the right-hand side of a line of sem/.
type parser struct {
	toks []string
	pos  int
	vars map[string]int // numbers of the local names assigned so far
}

// tokenize splits s into names, numbers and operators.
func tokenize(s string) ([]string, error) {
	var toks []string
	for i := 0; i < len(s); {
		ch := s[i]
		switch {
		case ch == ' ' || ch == '\t':
			i++
		case isNameByte(ch):
			j := i
			for j < len(s) && isNameByte(s[j]) {
				j++
			}
			toks = append(toks, s[i:j])
			i = j
		case strings.HasPrefix(s[i:], "<<") || strings.HasPrefix(s[i:], ">>"):
			toks = append(toks, s[i:i+2])
			i += 2
		case strings.IndexByte("~-*+&^|(),;=!", ch) >= 0:
			toks = append(toks, s[i:i+1])
			i++
		default:
			return nil, fmt.Errorf("unexpected %q", ch)
		}
	}
	return toks, nil
}

func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// parseStmts compiles "place = expr; place = expr".
func parseStmts(s string) ([]stmt, error) {
	toks, err := tokenize(s)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks, vars: map[string]int{}}
	var out []stmt
	for {
		place := p.next()
		if !isName(place) {
			return nil, fmt.Errorf("place expected, have %q", place)
		}
		if t := p.next(); t != "=" {
			return nil, fmt.Errorf("= expected, have %q", t)
		}
		x, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		local := -1
		if !places[place] {
			if _, ok := sources[place]; ok {
				return nil, fmt.Errorf("%s cannot be written", place)
			}
			var ok bool
			if local, ok = p.vars[place]; !ok {
				if local = len(p.vars); local == maxLocals {
					return nil, fmt.Errorf("more than %d local names", maxLocals)
				}
				p.vars[place] = local
			}
		}
		out = append(out, stmt{place, local, x})
		switch t := p.next(); t {
		case "":
			return out, nil
		case ";":
		default:
			return nil, fmt.Errorf("; expected, have %q", t)
		}
	}
}

func isName(t string) bool { return t != "" && isNameByte(t[0]) && (t[0] < '0' || t[0] > '9') }

func (p *parser) peek() string {
	if p.pos < len(p.toks) {
		return p.toks[p.pos]
	}
	return ""
}

func (p *parser) next() string {
	t := p.peek()
	p.pos++
	return t
}

// Binding strength of the binary operators.
var prec = map[string]int{"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6}

func (p *parser) expr(min int) (node, error) {
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	for {
		op := p.peek()
		pr, ok := prec[op]
		if !ok || pr <= min {
			return x, nil
		}
		p.next()
		y, err := p.expr(pr)
		if err != nil {
			return nil, err
		}
		f, a, b := operators[op], x, y
		x = func(c *ictx) val { return f(c, a(c), b(c)) }
	}
}

func (p *parser) unary() (node, error) {
	switch t := p.peek(); t {
	case "~", "!":
		p.next()
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		return func(c *ictx) val { return c.not(x(c)) }, nil
	case "-":
		p.next()
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		return func(c *ictx) val { return c.sub(lit(0), x(c)) }, nil
	}
	return p.primary()
}

func (p *parser) primary() (node, error) {
	t := p.next()
	switch {
	case t == "":
		return nil, fmt.Errorf("expression expected")
	case t == "(":
		x, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		if r := p.next(); r != ")" {
			return nil, fmt.Errorf(") expected, have %q", r)
		}
		return x, nil
	case t[0] >= '0' && t[0] <= '9':
		n, err := strconv.ParseUint(t, 0, 64)
		if err != nil {
			return nil, err
		}
		return func(*ictx) val { return lit(n) }, nil
	case !isName(t):
		return nil, fmt.Errorf("unexpected %q", t)
	case p.peek() == "(":
		return p.call(t)
	}
	if n, ok := p.vars[t]; ok {
		return func(c *ictx) val { return c.locals[n] }, nil
	}
	f, ok := sources[t]
	if !ok {
		return nil, fmt.Errorf("unknown name %s", t)
	}
	return f, nil
}

func (p *parser) call(name string) (node, error) {
	p.next()
	f, ok := funcs[name]
	if !ok {
		return nil, fmt.Errorf("unknown function %s", name)
	}
	var args []node
	for p.peek() != ")" {
		x, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
		if p.peek() == "," {
			p.next()
		} else if p.peek() != ")" {
			return nil, fmt.Errorf(", or ) expected, have %q", p.peek())
		}
	}
	p.next()
	if len(args) < f.min || len(args) > f.max {
		return nil, fmt.Errorf("%s takes %d arguments, not %d", name, f.max, len(args))
	}
	return func(c *ictx) val {
		a := c.vals(len(args))
		for i, x := range args {
			a[i] = x(c)
		}
		return f.eval(c, a)
	}, nil
}
