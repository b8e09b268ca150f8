package main

import "fmt"

// Kernels have these: data of each element type, in arrays of 512 KiB.
const (
	poolBytes = 1 << 19
	maxIndex  = 4096 // of the index that a kernel's work is counted by
)

// element is a type of array elements: what it is read as, and in which pool it lies.
type element struct {
	name string
	size int
	k    kind
	pool string
}

var elements = []element{
	{"int", 4, i32, "ints"}, {"int", 4, i32, "ints"}, {"unsigned", 4, u32, "ints"}, {"float", 4, f32, "floats"}, {"float", 4, f32, "floats"},
	{"double", 8, f64, "doubles"}, {"long long", 8, i64, "ints"}, {"unsigned char", 1, u32, "ints"}, {"signed char", 1, i32, "ints"},
	{"unsigned short", 2, u32, "ints"}, {"short", 2, i32, "ints"},
}

// input declares an array of random elements, and returns it and the largest index that it may be read at.
func (g *gen) input() (name string, e element, last int) {
	e = pick(g, elements...)
	off := pick(g, 0, 0, 0, 1, 3, 16, g.r.IntN(4096))
	name = g.name("a")
	g.printf("const %s *%s%s = (const %s *)%s + %d;\n", e.name, pick(g, "", "__restrict__ "), name, e.name, e.pool, off)
	return name, e, poolBytes/e.size - off - 1
}

// at is an index of an array that is at most last, from i, which is in [0, n) with n <= maxIndex.
func (g *gen) at(i string, last int) string {
	switch g.r.IntN(10) {
	case 0, 1, 2:
		return i
	case 3:
		return fmt.Sprintf("%s + %d", i, g.r.IntN(last-maxIndex))
	case 4, 5:
		k := g.r.IntN(7) + 2
		return fmt.Sprintf("%s * %d + %d", i, k, g.r.IntN(min(last-maxIndex*k, 64)))
	case 6:
		return fmt.Sprintf("n - 1 - %s", i)
	case 7:
		return fmt.Sprintf("(%s * %d + %d) & %d", i, 2*g.r.IntN(5000)+1, g.r.IntN(1000), maxIndex-1)
	case 8:
		return fmt.Sprintf("%s / %d", i, g.r.IntN(9)+1)
	}
	return g.index(maxIndex)
}

// read is an expression for the array's element at an index.
func (g *gen) read(array string, e element, index string) string {
	return fmt.Sprintf("(%s)%s[%s]", e.k, array, index)
}

// define declares a variable.
func (g *gen) define(k kind, value string) string {
	v := g.name("v")
	g.printf("%s %s = %s;\n", k, v, value)
	g.see(k, v)
	return v
}

// stmts writes n random statements, over variables only.
func (g *gen) stmts(n, depth int) {
	for range n {
		k := g.anyKind()
		switch g.r.IntN(9) {
		case 0, 1, 2:
			g.define(k, g.expr(k, 3))
		case 3, 4:
			if v := g.target(k); v != "" {
				g.printf("%s = %s;\n", v, g.expr(k, 3))
			}
		case 5:
			if depth > 0 {
				g.printf("if (%s) ", g.cond(2))
				g.scoped(func() { g.stmts(1+g.r.IntN(3), depth-1) })
				if g.oneIn(2) {
					g.printf("else ")
					g.scoped(func() { g.stmts(1+g.r.IntN(3), depth-1) })
				}
			}
		case 6:
			if depth > 0 {
				g.loop(depth - 1)
			}
		case 7:
			if depth > 0 {
				g.choice(depth - 1)
			}
		case 8:
			if v := g.target(k); v != "" {
				g.printf("%s += %s;\n", v, g.expr(k, 2))
			}
		}
	}
}

// target is a variable that may be written: one of those that define has made.
func (g *gen) target(k kind) string {
	for range 4 {
		if len(g.vars[k]) == 0 {
			return ""
		}
		if v := pick(g, g.vars[k]...); v[0] == 'v' {
			return v
		}
	}
	return ""
}

// loop writes a loop of a few turns, as many as data tell, perhaps with an early end.
func (g *gen) loop(depth int) {
	i := g.name("j")
	g.printf("for (int %s = 0; %s < %s; %s++) ", i, i, pick(g, fmt.Sprint(g.r.IntN(9)), "("+g.expr(i32, 2)+" & 7)", "("+g.expr(i32, 1)+" & 3) + 1"), i)
	g.scoped(func() {
		g.see(i32, i)
		g.stmts(1+g.r.IntN(3), depth)
		if g.oneIn(3) {
			g.printf("if (%s) %s;\n", g.cond(2), pick(g, "break", "continue"))
		}
		g.stmts(g.r.IntN(2), depth)
	})
}

// choice writes a switch.
func (g *gen) choice(depth int) {
	g.printf("switch (%s & 3) {\n", g.expr(u32, 2))
	for i := range 3 {
		g.printf("case %d: ", i)
		g.scoped(func() { g.stmts(1+g.r.IntN(2), depth) })
		if !g.oneIn(4) {
			g.printf("break;\n")
		}
	}
	g.printf("default: ")
	g.scoped(func() { g.stmts(1, depth) })
	g.printf("}\n")
}

// output declares an array of results with room for each index below n times, and returns it and its kind.
func (g *gen) output(times int) (name string, e element) {
	e = pick(g, elements...)
	name = g.name("o")
	g.printf("%s *%s = (%s *)(results + %d);\n", e.name, name, e.name, g.bytes)
	g.bytes += (maxIndex*times*e.size + 15) &^ 15
	return name, e
}

// result is a value to store into an array of e.
func (g *gen) result(e element, x string) string {
	if e.k.float() {
		return "canon(" + x + ")"
	}
	return fmt.Sprintf("(%s)(%s)", e.name, x)
}

// all is an expression of kind k in which all variables count.
func (g *gen) all(k kind) string {
	x := g.expr(k, 3)
	for q := range kinds {
		for _, v := range g.vars[q] {
			if v[0] != 'v' {
				continue
			}
			switch {
			case k.float() && q.float():
				x = fmt.Sprintf("%s + (%s)%s", x, k, v)
			case k.float():
				x = fmt.Sprintf("%s + (%s)(%s & 1023)", x, k, v)
			case q.float():
				x = fmt.Sprintf("%s ^ (%s)hashed(%s)", x, k, v)
			default:
				x = fmt.Sprintf("%s ^ (%s)%s * 3", x, k, v)
			}
		}
	}
	return x
}
