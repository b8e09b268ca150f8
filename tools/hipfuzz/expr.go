package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// kind is the type of an expression.
type kind int

const (
	i32 kind = iota
	u32
	i64
	f32
	f64
	kinds
)

var kindNames = [kinds]string{"int", "unsigned", "long long", "float", "double"}

func (k kind) String() string { return kindNames[k] }
func (k kind) float() bool    { return k >= f32 }

// gen writes one kernel.
type gen struct {
	r     *rand.Rand
	b     strings.Builder
	vars  [kinds][]string // that may be read
	names int
	bytes int    // of outputs, for each index below n
	more  string // functions that the kernel calls,
	calls []call // by name
}

func (g *gen) printf(format string, x ...any) { fmt.Fprintf(&g.b, format, x...) }
func (g *gen) oneIn(n int) bool               { return g.r.IntN(n) == 0 }

func pick[T any](g *gen, x ...T) T { return x[g.r.IntN(len(x))] }

// name is a new name.
func (g *gen) name(prefix string) string {
	g.names++
	return fmt.Sprint(prefix, g.names)
}

// scoped writes what f writes between braces; its variables end there.
func (g *gen) scoped(f func()) {
	was := g.vars
	g.printf("{\n")
	f()
	g.printf("}\n")
	g.vars = was
}

func (g *gen) see(k kind, name string) {
	g.vars[k] = append(g.vars[k][:len(g.vars[k]):len(g.vars[k])], name)
}

// anyKind is a kind, integers more often.
func (g *gen) anyKind() kind { return pick(g, i32, i32, u32, u32, i64, f32, f32, f64) }

func (g *gen) literal(k kind) string {
	switch k {
	case i32:
		return pick(g, fmt.Sprint(g.r.IntN(64)), fmt.Sprint(-g.r.IntN(70)), fmt.Sprintf("(int)%#xu", g.r.Uint32()), fmt.Sprint(1<<g.r.IntN(31)), "2147483647")
	case u32:
		return pick(g, fmt.Sprintf("%du", g.r.IntN(64)), fmt.Sprintf("%#xu", g.r.Uint32()), fmt.Sprintf("%#xu", uint32(1)<<g.r.IntN(32)), "0xffffffffu")
	case i64:
		return pick(g, fmt.Sprintf("%dll", g.r.IntN(64)-20), fmt.Sprintf("(long long)%#xull", g.r.Uint64()), fmt.Sprintf("%dll", int64(1)<<g.r.IntN(62)))
	case f32:
		return pick(g, "0.0f", "1.0f", "-0.5f", "2.0f", "4.0f", fmt.Sprintf("%.6gf", g.r.Float64()*20-10+0.0005), "3.4e38f", "1e-40f", "1e10f")
	}
	return pick(g, "0.0", "1.0", "-0.5", "2.0", fmt.Sprintf("%.15g", g.r.Float64()*20-10+0.0005), "1e300", "3e-310", "1e10")
}

// expr is an expression of kind k that does nothing else and is defined for all values of its parts.
func (g *gen) expr(k kind, depth int) string {
	if depth <= 0 || g.oneIn(6) {
		return g.leaf(k)
	}
	x := func(k kind) string { return g.expr(k, depth-1-g.r.IntN(2)) }
	if g.oneIn(8) {
		return fmt.Sprintf("(%s ? %s : %s)", g.cond(depth-1), x(k), x(k))
	}
	if g.oneIn(5) {
		return g.converted(k, depth)
	}
	if k.float() {
		return g.floatExpr(k, x)
	}
	return g.intExpr(k, x)
}

// leaf is a variable, of another kind if there is none, or a number.
func (g *gen) leaf(k kind) string {
	if g.oneIn(6) {
		return g.literal(k)
	}
	if len(g.vars[k]) > 0 {
		return pick(g, g.vars[k]...)
	}
	from := g.anyKind()
	switch {
	case len(g.vars[from]) == 0:
		return g.literal(k)
	case from.float() && !k.float():
		return fmt.Sprintf("(%s)whole(%s)", k, pick(g, g.vars[from]...))
	}
	return fmt.Sprintf("(%s)%s", k, pick(g, g.vars[from]...))
}

func (g *gen) intExpr(k kind, x func(kind) string) string {
	bits := 32
	if k == i64 {
		bits = 64
	}
	a := x(k)
	switch g.r.IntN(16) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s %s %s)", a, pick(g, "+", "+", "-"), x(k))
	case 3:
		return fmt.Sprintf("(%s * %s)", a, x(k))
	case 4, 5:
		return fmt.Sprintf("(%s %s %s)", a, pick(g, "&", "|", "^"), x(k))
	case 6:
		return fmt.Sprintf("(%s %s (%s & %d))", a, pick(g, "<<", ">>"), x(i32), bits-1)
	case 7:
		return fmt.Sprintf("(%s %s %d)", a, pick(g, "<<", ">>"), g.r.IntN(bits))
	case 8: // never by zero, never the smallest number by -1
		if k == u32 { // LLVM 19 takes 0xffffffff for a number of few bits and divides it by another in floats, wrongly
			return pick(g, fmt.Sprintf("((%s & 0x7fffffffu) %s ((%s & %#x) | 1))", a, pick(g, "/", "%"), x(k), pick(g, 7, 0xff, 0xffff)),
				fmt.Sprintf("(%s %s (%s | 0x2000001u))", a, pick(g, "/", "%"), x(k)))
		}
		return fmt.Sprintf("(%s %s ((%s & %#x) | 1))", a, pick(g, "/", "%"), x(k), pick(g, 7, 0xff, 0xffff))
	case 9:
		return fmt.Sprintf("(%s %s %d)", a, pick(g, "/", "%"), pick(g, 2, 3, 7, 10, 16, 60, 641))
	case 10:
		return fmt.Sprintf("%s(%s, %s)", pick(g, "least", "most"), a, x(k))
	case 11:
		return fmt.Sprintf("(%s %s)", pick(g, "-", "~"), a)
	case 12:
		return fmt.Sprintf("(%s)((%s)%s)", k, pick(g, "signed char", "unsigned char", "short", "unsigned short"), a)
	case 13:
		if k == i64 {
			return fmt.Sprintf("(long long)%s(%s)", pick(g, "__popcll", "__clzll", "__ffsll"), a)
		}
		return fmt.Sprintf("(%s)%s((unsigned)%s)", k, pick(g, "__popc", "__clz", "__brev", "__ffs"), a)
	case 14:
		switch k {
		case i32:
			return fmt.Sprintf("__mulhi(%s, %s)", a, x(k))
		case u32:
			return fmt.Sprintf("__umulhi(%s, %s)", a, x(k))
		}
		return fmt.Sprintf("((long long)%s * %s)", x(i32), x(i32))
	}
	c := g.r.IntN(bits-1) + 1
	u := "unsigned"
	if k == i64 {
		u = "unsigned long long"
	}
	return fmt.Sprintf("(%s)(((%s)%s << %d) | ((%s)%s >> %d))", k, u, a, c, u, a, bits-c) // a rotation when both are the same
}

func (g *gen) floatExpr(k kind, x func(kind) string) string {
	s := ""
	if k == f32 {
		s = "f"
	}
	a := x(k)
	switch g.r.IntN(13) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s %s %s)", a, pick(g, "+", "-"), x(k))
	case 3, 4:
		return fmt.Sprintf("(%s * %s)", a, x(k))
	case 5:
		return fmt.Sprintf("fma%s(%s, %s, %s)", s, a, x(k), x(k))
	case 6:
		return fmt.Sprintf("(%s / %s)", a, x(k))
	case 7:
		return fmt.Sprintf("sqrt%s(fabs%s(%s))", s, s, a)
	case 8:
		return fmt.Sprintf("%s%s(%s)", pick(g, "floor", "ceil", "trunc", "rint"), s, a)
	case 9:
		return fmt.Sprintf("%s(%s, %s)", pick(g, "least", "most"), a, x(k))
	case 10:
		return fmt.Sprintf("(- %s)", a)
	case 11:
		return fmt.Sprintf("fabs%s(%s)", s, a)
	}
	return fmt.Sprintf("copysign%s(%s, %s)", s, a, x(k))
}

// converted is an expression of kind k that comes from another kind.
func (g *gen) converted(k kind, depth int) string {
	from := kind(g.r.IntN(int(kinds)))
	a := g.expr(from, depth-1)
	switch {
	case k == i32 && from == f32 && g.oneIn(2):
		return fmt.Sprintf("bitsOf(%s)", a)
	case k == f32 && from == i32 && g.oneIn(2):
		return fmt.Sprintf("canon(__int_as_float(%s))", a)
	case from.float() && !k.float():
		return fmt.Sprintf("(%s)whole(%s)", k, a)
	}
	return fmt.Sprintf("(%s)%s", k, a)
}

// cond is a condition.
func (g *gen) cond(depth int) string {
	k := g.anyKind()
	c := fmt.Sprintf("%s %s %s", g.expr(k, depth-1), pick(g, "<", "<=", ">", ">=", "==", "!="), g.expr(k, depth-1))
	if depth > 1 && g.oneIn(4) {
		c = fmt.Sprintf("(%s) %s (%s)", c, pick(g, "&&", "||"), g.cond(depth-1))
	}
	return c
}

// index is an index below size, a power of two.
func (g *gen) index(size int) string {
	return fmt.Sprintf("(%s & %d)", g.expr(pick(g, i32, u32), 2), size-1)
}
