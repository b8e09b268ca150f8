package main

import "fmt"

// halves is a kernel of 16-bit floats, alone and in pairs.
func halves(g *gen, l *launch) {
	a, ea, la := g.input()
	b, eb, lb := g.input()
	o := g.name("o")
	g.printf("h2 *%s = (h2 *)(results + %d);\n", o, g.bytes)
	g.bytes += maxIndex * 4
	half := func(e element, x string) string {
		if e.k.float() {
			return fmt.Sprintf("(_Float16)%s", x)
		}
		return fmt.Sprintf("(_Float16)(float)(%s & 2047)", x)
	}
	g.each(l, func(i string) {
		g.define(ea.k, g.read(a, ea, g.at(i, la)))
		p := fmt.Sprintf("h2{%s, %s}", half(ea, g.read(a, ea, g.at(i, la))), half(eb, g.read(b, eb, g.at(i, lb))))
		q := fmt.Sprintf("h2{%s, %s}", half(eb, g.read(b, eb, g.at(i, lb))), half(ea, g.read(a, ea, g.at(i, la))))
		g.printf("h2 p = %s, q = %s;\n", p, q)
		for range 1 + g.r.IntN(6) {
			g.printf("%s;\n", pick(g, "p = p + q", "q = p * q", "p = p - q", "p = -p", "q = h2{p.y, q.x}", "p.x = p.x * q.y + p.y", "q.y = p.x / q.y",
				"p = __builtin_elementwise_max(p, q)", "p.y = (_Float16)((float)p.x * 0.3f)", "q.x = q.x < p.x ? q.x : p.y", "p = q * p + q"))
		}
		g.printf("p.x = p.x != p.x ? (_Float16)1 : p.x;\np.y = p.y != p.y ? (_Float16)2 : p.y;\n%s[%s] = p;\n", o, i)
	})
}

// vectors is a kernel that loads and stores several elements at once.
func vectors(g *gen, l *launch) {
	type vector struct {
		name, elem, pool string
		n, size          int
	}
	v := pick(g, vector{"vf4", "float", "floats", 4, 16}, vector{"vf2", "float", "floats", 2, 8}, vector{"vi4", "int", "ints", 4, 16}, vector{"vi2", "int", "ints", 2, 8},
		vector{"vd2", "double", "doubles", 2, 16}, vector{"vc4", "unsigned char", "ints", 4, 4}, vector{"vs2", "short", "ints", 2, 4})
	float := v.pool != "ints"
	o := g.name("o")
	g.printf("const %s *a = (const %s *)%s, *b = a + %d;\n%s *%s = (%s *)(results + %d);\n", v.name, v.name, v.pool, g.r.IntN(2000), v.name, o, v.name, g.bytes)
	g.bytes += maxIndex * v.size
	last := poolBytes/v.size - 2000
	at := func(i string) string {
		return pick(g, i, i, fmt.Sprintf("n - 1 - %s", i), fmt.Sprintf("%s * %d + %d", i, 1+last/maxIndex/2, g.r.IntN(64)), g.index(maxIndex))
	}
	g.each(l, func(i string) {
		g.printf("%s p = a[%s], q = b[%s];\n", v.name, at(i), at(i))
		for range 1 + g.r.IntN(5) {
			e := "xyzw"[g.r.IntN(v.n)]
			f := "xyzw"[g.r.IntN(v.n)]
			g.printf("%s;\n", pick(g, "p = p + q", "q = p - q", "p = p * q", "q = -p", fmt.Sprintf("p.%c = q.%c", e, f), fmt.Sprintf("q.%c = p.%c + q.%c", e, f, e),
				fmt.Sprintf("if (%s) p = q", g.cond(2)), fmt.Sprintf("p.%c = (%s)%s", e, v.elem, map[bool]string{true: g.expr(f32, 2), false: g.expr(i32, 2)}[float]),
				map[bool]string{true: "p = p * p", false: "p = p ^ q"}[float]))
		}
		if float {
			for e := range v.n {
				g.printf("p.%c = canon(p.%c);\n", "xyzw"[e], "xyzw"[e])
			}
		}
		g.printf("%s[%s] = p;\n", o, i)
		if g.oneIn(3) {
			g.define(i32, fmt.Sprintf("(int)%s(p.x)", map[bool]string{true: "whole", false: ""}[float]))
			g.store(i)
		}
	})
}
