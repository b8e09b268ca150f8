package main

import "fmt"

// each writes a loop of one of the ways in which kernels go over n items; body is for item i.
func (g *gen) each(l *launch, body func(i string)) {
	i := g.name("i")
	in := func() {
		g.see(i32, i)
		body(i)
	}
	switch g.r.IntN(9) {
	case 0, 1:
		g.printf("if (gid < n) ")
		g.scoped(func() { g.printf("const int %s = gid;\n", i); in() })
	case 2, 3, 4:
		g.printf("for (int %s = gid; %s < n; %s += total) ", i, i, i)
		g.scoped(in)
	case 5:
		t := pick(g, "unsigned", "size_t", "long")
		g.printf("for (%s turn = gid; turn < (%s)n; turn += total) ", t, t)
		g.scoped(func() { g.printf("const int %s = turn;\n", i); in() })
	case 6:
		c := g.r.IntN(6) + 2
		g.printf("for (int turn = 0; turn < %d; turn++) ", c)
		g.scoped(func() { g.printf("const int %s = gid * %d + turn;\nif (%s >= n) break;\n", i, c, i); in() })
	case 7:
		g.printf("for (int %s = n - 1 - gid; %s >= 0; %s -= total) ", i, i, i)
		g.scoped(in)
	case 8:
		w := pick(g, 16, 64, 60, 33)
		g.printf("for (int row = gid / %d; row * %d < n; row += (total + %d) / %d) ", w, w, w-1, w)
		g.scoped(func() {
			g.printf("const int %s = row * %d + gid %% %d;\nif (%s >= n || gid %% %d >= %d) continue;\n", i, w, w, i, w, w-g.r.IntN(3))
			in()
		})
	}
}

// store writes the results of item i; atomics add to what is there.
func (g *gen) store(i string) {
	for range pick(g, 1, 1, 2) {
		times := pick(g, 1, 1, 1, 2, 3)
		o, e := g.output(times)
		for k := range times {
			op := pick(g, "=", "=", "=", "+=")
			if e.k.float() {
				op = "="
			}
			at := i
			if times > 1 {
				at = fmt.Sprintf("%s * %d + %d", i, times, k)
			}
			if g.oneIn(6) {
				g.printf("if (%s) ", g.cond(2))
			}
			g.printf("%s[%s] %s %s;\n", o, at, op, g.result(e, g.all(e.k)))
		}
	}
}

// arrays is a kernel that computes each item of some arrays from others.
func arrays(g *gen, l *launch) {
	type array struct {
		name string
		e    element
		last int
	}
	var in []array
	for range 1 + g.r.IntN(3) {
		n, e, last := g.input()
		in = append(in, array{n, e, last})
	}
	g.each(l, func(i string) {
		for _, a := range in {
			g.define(a.e.k, g.read(a.name, a.e, g.at(i, a.last)))
		}
		g.called()
		g.stmts(g.r.IntN(5), pick(g, 0, 1, 2))
		g.store(i)
	})
}

// rows is a kernel that goes along a row or a column for each item.
func rows(g *gen, l *launch) {
	a, ea, la := g.input()
	b, eb, lb := g.input()
	turns := g.r.IntN(40) + 1
	g.each(l, func(i string) {
		k := pick(g, ea.k, eb.k, g.anyKind())
		sum := g.define(k, g.literal(k))
		j := g.name("j")
		g.printf("for (int %s = 0; %s < %d; %s++) ", j, j, turns, j)
		g.scoped(func() {
			at := func(last int) string {
				switch g.r.IntN(5) {
				case 0:
					return fmt.Sprintf("%s + %s * %d", i, j, min(g.r.IntN(1000), (last-maxIndex)/turns))
				case 1:
					if maxIndex*turns <= last {
						return fmt.Sprintf("%s * %d + %s", i, turns, j)
					}
				case 2:
					return fmt.Sprintf("(%s + %s * %d) %% %d", i, j, g.r.IntN(50)+1, g.r.IntN(4000)+50)
				case 3:
					return fmt.Sprint(j, " * ", g.r.IntN(50))
				}
				return i + " + " + j
			}
			g.define(ea.k, g.read(a, ea, at(la)))
			g.define(eb.k, g.read(b, eb, at(lb)))
			g.stmts(g.r.IntN(3), pick(g, 0, 0, 1))
			if g.oneIn(3) {
				g.printf("if (%s) ", g.cond(2))
			}
			g.printf("%s = %s;\n", sum, g.all(k))
		})
		g.store(i)
	})
}

// scatter is a kernel that writes its items in another order, and adds up others by atomics.
func scatter(g *gen, l *launch) {
	a, ea, la := g.input()
	o, eo := g.output(1)
	odd, c := 2*g.r.IntN(maxIndex/2)+1, g.r.IntN(maxIndex)
	kind := pick(g, i32, u32)
	sums := g.name("o")
	g.printf("%s *%s = (%s *)(results + %d);\n", kind, sums, kind, g.bytes)
	g.bytes += maxIndex * 4
	atomic := pick(g, "atomicAdd", "atomicMax", "atomicMin", "atomicXor", "atomicOr", "atomicAnd")
	g.printf("for (int i = gid; i < n; i += total) ")
	g.scoped(func() {
		g.see(i32, "i")
		g.define(ea.k, g.read(a, ea, g.at("i", la)))
		g.stmts(g.r.IntN(4), 1)
		g.printf("%s[(i * %d + %d) & %d] = %s;\n", o, odd, c, maxIndex-1, g.result(eo, g.all(eo.k)))
		if g.oneIn(2) {
			g.printf("if (%s) ", g.cond(2))
		}
		g.printf("%s(&%s[%s], %s);\n", atomic, sums, g.index(pick(g, 1, 16, 256, maxIndex)), g.expr(kind, 3))
	})
}

// control is a kernel of branches, loops and calls.
func control(g *gen, l *launch) {
	a, ea, la := g.input()
	g.each(l, func(i string) {
		g.define(ea.k, g.read(a, ea, g.at(i, la)))
		g.define(i32, g.expr(i32, 2))
		g.called()
		g.stmts(4+g.r.IntN(8), 3)
		g.called()
		g.store(i)
	})
}

// local is a kernel with an array of its own in scratch, or in registers.
func local(g *gen, l *launch) {
	a, ea, la := g.input()
	size := pick(g, 4, 8, 16, 64)
	k := g.anyKind()
	g.each(l, func(i string) {
		g.define(ea.k, g.read(a, ea, g.at(i, la)))
		g.printf("%s own[%d];\nfor (int j = 0; j < %d; j++) ", k, size, size)
		g.scoped(func() { g.see(i32, "j"); g.printf("own[j] = %s;\n", g.expr(k, 2)) })
		g.printf("for (int j = 0; j < %d; j++) ", g.r.IntN(20)+1)
		g.scoped(func() {
			g.see(i32, "j")
			g.define(k, "own["+g.index(size)+"]")
			g.stmts(g.r.IntN(3), 1)
			g.printf("own[%s] = %s;\n", g.index(size), g.all(k))
		})
		sum := g.define(k, "own[0]")
		g.printf("for (int j = 1; j < %d; j++) %s = %s;\n", size, sum, map[bool]string{true: sum + " + own[j]", false: "(" + sum + " ^ own[j]) * 3"}[k.float()])
		g.store(i)
	})
}

// stencil is a kernel that reads an item's neighbours in a row or in two dimensions.
func stencil(g *gen, l *launch) {
	a, ea, _ := g.input()
	w := pick(g, 8, 16, 32, 60, 64)
	l.n = min(l.n, 60*w)
	h := (l.n + w - 1) / w
	l.n = w * h
	o, eo := g.output(1)
	l.block = pick(g, [2]int{16, 16}, [2]int{32, 8}, [2]int{8, 8}, [2]int{64, 1}, [2]int{64, 4})
	l.grid = [2]int{(w + l.block[0] - 1) / l.block[0], (h + l.block[1] - 1) / l.block[1]}
	g.printf("const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, w = %d, h = n / %d;\n", w, w)
	g.printf("if (col < w && row < h) ")
	g.scoped(func() {
		k := pick(g, ea.k, g.anyKind())
		sum := g.define(k, g.literal(k))
		for range 2 + g.r.IntN(6) {
			dx, dy := g.r.IntN(5)-2, g.r.IntN(5)-2
			if g.oneIn(2) {
				g.printf("if (row + %d >= 0 && row + %d < h && col + %d >= 0 && col + %d < w) ", dy, dy, dx, dx)
				g.printf("%s = %s + (%s)%s[(row + %d) * w + col + %d] * %s;\n", sum, sum, k, a, dy, dx, g.literal(k))
				continue
			}
			g.printf("%s = %s + (%s)%s[min(max(row + %d, 0), h - 1) * w + min(max(col + %d, 0), w - 1)] * %s;\n", sum, sum, k, a, dy, dx, g.literal(k))
		}
		g.stmts(g.r.IntN(3), 1)
		g.printf("%s[row * w + col] = %s;\n", o, g.result(eo, g.all(eo.k)))
	})
}
