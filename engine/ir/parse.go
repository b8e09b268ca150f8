package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// SyntaxError is a line of text IR that does not parse.
type SyntaxError struct {
	Line int
	Msg  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("ir: line %d: %s", e.Line, e.Msg) }

// Parse reads one Func in text form. It checks syntax only; Verify checks the rest. Lines that are empty or begin with
// "#" are skipped.
func Parse(text string) (f *Func, err error) {
	// Value numbers are bounded by the text's length, so that a hostile line cannot ask for a huge table.
	p := &parser{f: &Func{}, maxID: uint64(len(text)) + 64}
	defer func() {
		if r := recover(); r != nil {
			msg, ok := r.(parseError)
			if !ok {
				panic(r)
			}
			f, err = nil, &SyntaxError{Line: p.line, Msg: string(msg)}
		}
	}()
	for line := range strings.SplitSeq(text, "\n") {
		p.line++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		p.lex(line)
		p.one()
	}
	if p.f.Lanes == 0 {
		p.fail("no func line")
	}
	if p.block != nil && !p.done {
		p.fail("block b%d has no terminator", p.block.Index)
	}
	return p.f, nil
}

type parseError string

type parser struct {
	f     *Func
	block *Block
	done  bool // block has its terminator
	line  int
	tok   []string
	maxID uint64
}

func (p *parser) fail(format string, a ...any) { panic(parseError(fmt.Sprintf(format, a...))) }

// lex cuts a line into words; "(", ")", "," and a ":" that ends the line stand alone, quoted strings stay whole.
func (p *parser) lex(s string) {
	p.tok = p.tok[:0]
	for s != "" {
		switch c := s[0]; {
		case c == ' ' || c == '\t' || c == '\r':
			s = s[1:]
			continue
		case c == '(' || c == ')' || c == ',':
			p.tok = append(p.tok, s[:1])
			s = s[1:]
			continue
		}
		// perm= and matrix= hold commas: those end at a blank only.
		stop := " \t\r(),"
		if strings.HasPrefix(s, "perm=") || strings.HasPrefix(s, "matrix=") {
			stop = " \t\r"
		}
		n := strings.IndexAny(s, stop)
		if n < 0 {
			n = len(s)
		}
		if strings.HasPrefix(s, `text="`) {
			q, err := strconv.QuotedPrefix(s[5:])
			if err != nil {
				p.fail("bad string")
			}
			n = 5 + len(q)
		}
		w := s[:n]
		s = s[n:]
		if s == "" && len(w) > 1 && w[len(w)-1] == ':' {
			p.tok = append(p.tok, w[:len(w)-1], ":")
			continue
		}
		p.tok = append(p.tok, w)
	}
}

func (p *parser) next() string {
	if len(p.tok) == 0 {
		p.fail("line ends early")
	}
	t := p.tok[0]
	p.tok = p.tok[1:]
	return t
}

func (p *parser) peek() string {
	if len(p.tok) == 0 {
		return ""
	}
	return p.tok[0]
}

func (p *parser) num(s string, bits int) uint64 {
	n, err := strconv.ParseUint(s, 0, bits)
	if err != nil {
		p.fail("bad number %q", s)
	}
	return n
}

func (p *parser) int(s string, bits int) int64 {
	n, err := strconv.ParseInt(s, 0, bits)
	if err != nil {
		p.fail("bad number %q", s)
	}
	return n
}

func find[N ~uint8](p *parser, names []string, s, what string) N {
	for i, n := range names {
		if n == s {
			return N(i)
		}
	}
	p.fail("unknown %s %q", what, s)
	return 0
}

func (p *parser) id(s string) ID {
	if s == "_" {
		return NoID
	}
	if !strings.HasPrefix(s, "%") {
		p.fail("expected a value, not %q", s)
	}
	n := p.num(s[1:], 31)
	if n > p.maxID {
		p.fail("value number %d is too large", n)
	}
	return ID(n)
}

// value returns the entry of id, growing the table.
func (p *parser) value(id ID) *Value {
	if id == NoID {
		p.fail("expected a value name")
	}
	for int(id) >= len(p.f.Values) {
		p.f.Values = append(p.f.Values, Value{})
	}
	return &p.f.Values[id]
}

// typed reads "%3:v32" and sets the type of the value.
func (p *parser) typed(s string) (ID, *Value) {
	nm, ty, has := strings.Cut(s, ":")
	id := p.id(nm)
	v := p.value(id)
	if v.Op != OpInvalid {
		p.fail("%s is defined twice", nm)
	}
	if !has {
		return id, v
	}
	for i, n := range typeNames {
		if n == ty {
			v.Type = Type(i)
			return id, v
		}
	}
	switch {
	case strings.HasPrefix(ty, "ts"):
		v.Type, v.N = TS, uint8(p.num(ty[2:], 8))
	case strings.HasPrefix(ty, "t"):
		v.Type, v.N = T, uint8(p.num(ty[1:], 8))
	default:
		p.fail("unknown type %q", ty)
	}
	return id, v
}

// ids reads "%1, %2" up to something else.
func (p *parser) ids() (l []ID) {
	for t := p.peek(); strings.HasPrefix(t, "%") || t == "_"; t = p.peek() {
		l = append(l, p.id(p.next()))
		if p.peek() != "," {
			break
		}
		p.next()
	}
	return l
}

func (p *parser) one() {
	t := p.next()
	switch {
	case t == "func":
		p.head()
	case p.f.Lanes == 0:
		p.fail("expected a func line first")
	case t[0] == 'b' && len(t) > 1 && t[1] >= '0' && t[1] <= '9':
		p.startBlock(t)
	case p.block == nil || p.done:
		p.fail("%q is outside a block", t)
	case t == "jump" || t == "branch" || t == "exit":
		p.term(t)
		p.done = true
	default:
		p.inst(t)
	}
	if len(p.tok) > 0 {
		p.fail("unexpected %q", p.tok[0])
	}
}

func (p *parser) head() {
	if p.f.Lanes != 0 {
		p.fail("second func line")
	}
	f := p.f
	f.PC = p.num(p.next(), 64)
	for len(p.tok) > 0 {
		k, v, _ := strings.Cut(p.next(), "=")
		switch k {
		case "mode":
			f.Mode = uint32(p.num(v, 32))
		case "lanes":
			f.Lanes = int(p.num(v, 16))
		case "target":
			f.Target = v
		case "lo":
			f.Lo = int32(p.int(v, 32))
		case "hi":
			f.Hi = int32(p.int(v, 32))
		case "size":
			f.Size = int(p.int(v, 32))
		default:
			p.fail("unknown attribute %q", k)
		}
	}
	if f.Lanes != 32 && f.Lanes != 64 {
		p.fail("lanes must be 32 or 64")
	}
}

func (p *parser) startBlock(t string) {
	if p.block != nil && !p.done {
		p.fail("block b%d has no terminator", p.block.Index)
	}
	b := &Block{Index: len(p.f.Blocks)}
	if int(p.num(t[1:], 31)) != b.Index {
		p.fail("expected b%d", b.Index)
	}
	for p.peek() != ":" {
		w := p.next()
		switch {
		case w[0] == '@':
			b.PC = uint32(p.num(w[1:], 32))
		case strings.HasPrefix(w, "insts="):
			b.Insts = int(p.int(w[6:], 31))
		default:
			p.fail("unexpected %q", w)
		}
	}
	p.next()
	p.f.Blocks = append(p.f.Blocks, b)
	p.block, p.done = b, false
}

func (p *parser) inst(t string) {
	id, v := p.typed(t)
	if p.next() != "=" {
		p.fail("expected =")
	}
	opName := p.next()
	op, ok := opByName[opName]
	if !ok || op == OpInvalid {
		p.fail("unknown op %q", opName)
	}
	v.Op = op
	v.Args = p.ids()
	for len(p.tok) > 0 {
		p.attr(v, p.next())
	}
	p.block.Code = append(p.block.Code, id)
}

func (p *parser) attr(v *Value, w string) {
	if w[0] == '@' {
		v.PC = uint32(p.num(w[1:], 32))
		return
	}
	k, s, _ := strings.Cut(w, "=")
	switch k {
	case "kind":
		v.Kind = find[Kind](p, kindNames[:], s, k)
	case "from":
		v.From = find[Kind](p, kindNames[:], s, k)
	case "fp":
		for i, n := range strings.Split(s, "+") {
			if i == 0 {
				v.FP = find[FP](p, roundNames[:], n, k)
			} else {
				v.FP |= FPFlushIn << find[FP](p, fpNames[:], n, k)
			}
		}
	case "pred":
		v.Pred = find[Pred](p, predNames[:], s, k)
	case "space":
		v.Space = find[Space](p, spaceNames[:], s, k)
	case "width":
		v.Width = uint8(p.num(s, 8))
	case "sign":
		v.Sign = p.num(s, 1) == 1
	case "atomic":
		v.Atomic = find[AtomicOp](p, atomicNames[:], s, k)
	case "order":
		for _, n := range strings.Split(s, "+") {
			v.Order |= 1 << find[Order](p, orderNames[:], n, k)
		}
	case "imm":
		v.Imm = p.num(s, 64)
	case "perm":
		l := strings.Split(s, ",")
		if len(l) != 64 {
			p.fail("perm needs 64 lanes")
		}
		var a [64]int8
		for i, x := range l {
			a[i] = int8(p.int(x, 8))
		}
		v.Aux = &a
	case "matrix":
		v.Aux = p.matrix(strings.Split(s, ","))
	case "image":
		v.Aux = p.image(strings.Split(s, ","))
	case "text":
		v.Aux = p.text(s)
	default:
		p.fail("unknown attribute %q", k)
	}
}

func (p *parser) text(s string) string {
	q, err := strconv.Unquote(s)
	if err != nil {
		p.fail("bad string %s", s)
	}
	return q
}

func (p *parser) matrix(l []string) *Matrix {
	if len(l) != 17 {
		p.fail("matrix needs 17 fields")
	}
	n := func(i int) int { return int(p.num(l[i], 15)) }
	u := func(i int) uint8 { return uint8(p.num(l[i], 8)) }
	k := func(i int) Kind { return find[Kind](p, kindNames[:], l[i], "kind") }
	b := func(i int) bool {
		if l[i] != "true" && l[i] != "false" {
			p.fail("bad truth value %q", l[i])
		}
		return l[i] == "true"
	}
	return &Matrix{M: n(0), N: n(1), K: n(2), Blocks: n(3), A: k(4), B: k(5), C: k(6), CBSZ: u(7), ABID: u(8), BLGP: u(9),
		WMMA: b(10), Gen: u(11), Neg: u(12), NegHi: u(13), Sparse: b(14), Clamp: b(15), XF32: b(16)}
}

func (p *parser) target() int {
	t := p.next()
	if t[0] != 'b' {
		p.fail("expected a block, not %q", t)
	}
	return int(p.num(t[1:], 31))
}

func (p *parser) term(t string) {
	m := &p.block.Term
	m.Cond = NoID
	switch t {
	case "jump":
		m.Kind = TermJump
		m.Then = p.target()
	case "branch":
		m.Kind = TermBranch
		m.Cond = p.id(p.next())
		m.Then = p.target()
		m.Else = p.target()
	case "exit":
		m.Kind = TermExit
		m.Exit = find[Exit](p, exitNames[:], p.next(), "exit")
		if m.Exit == ExitIndirect {
			m.Cond = p.id(p.next())
		}
	}
	for len(p.tok) > 0 {
		w := p.next()
		if w[0] == '@' {
			m.PC = uint32(p.num(w[1:], 32))
			continue
		}
		k, s, _ := strings.Cut(w, "=")
		switch {
		case k == "imm" && t == "exit":
			m.Imm = p.num(s, 64)
		case k == "next" && t == "exit":
			m.Next = uint32(p.num(s, 32))
		case k == "text" && t == "exit":
			m.Msg = p.text(s)
		default:
			p.fail("unknown attribute %q", w)
		}
	}
}
