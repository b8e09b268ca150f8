package main

import "fmt"

// tile is a product of matrices by tiles in the LDS: each thread makes tm*tn items of bm*bn, from tiles that all load, bk columns of one and as many rows
// of the other at a time.
type tile struct {
	*gen
	m, w, depth    int
	tm, tn, bx, by int
	bm, bn, bk     int
	guard          bool // the matrices end inside tiles
	rowsApart      bool // a thread's items are a work-group's height apart, not next to one another
	colsApart      bool // and its width
	turnA          bool // the first one's tile lies in columns
	ta, tb, k      kind
	buffers        int // two: loads go into one tile while the other is used
	a, b           operand
}

// operand is a matrix and what is done to its elements when they are loaded.
type operand struct {
	name   string
	e      element
	change string
}

func tiles(g *gen, l *launch) {
	t := &tile{gen: g, tm: pick(g, 1, 1, 2, 4), tn: pick(g, 1, 1, 2, 4), bx: pick(g, 8, 16, 16, 32), by: pick(g, 4, 8, 8, 16), bk: pick(g, 4, 8, 16), buffers: 1}
	if t.bx*t.by < 64 {
		t.by = 8
	}
	t.bm, t.bn = t.by*t.tm, t.bx*t.tn
	t.m, t.w, t.depth = g.r.IntN(60)+4, g.r.IntN(60)+4, g.r.IntN(100)+1
	if g.oneIn(2) { // without a rest
		t.m, t.w, t.depth = max(1, 64/t.bm)*t.bm, max(1, 64/t.bn)*t.bn, max(1, pick(g, 48, 128)/t.bk)*t.bk
	}
	for t.m*t.w > maxIndex {
		t.m -= t.bm
	}
	t.m = max(t.m, 1)
	t.guard = t.m%t.bm != 0 || t.w%t.bn != 0 || t.depth%t.bk != 0
	l.n, l.block = t.m*t.w, [2]int{t.bx, t.by}
	if g.oneIn(2) {
		l.block = [2]int{t.bx * t.by, 1}
	}
	l.grid = [2]int{(t.w + t.bn - 1) / t.bn, (t.m + t.bm - 1) / t.bm}
	t.a.name, t.a.e, _ = g.input()
	t.b.name, t.b.e, _ = g.input()
	t.k = pick(g, t.a.e.k, t.b.e.k, f32)
	t.ta, t.tb = pick(g, t.a.e.k, t.k), pick(g, t.b.e.k, t.k)
	for _, o := range []struct {
		*operand
		k kind
	}{{&t.a, t.ta}, {&t.b, t.tb}} {
		if g.oneIn(4) {
			o.change = pick(g, " + ", " * ") + g.expr(o.k, 1)
		}
	}
	o, eo := g.output(1)
	t.turnA, t.rowsApart, t.colsApart = g.oneIn(2), g.oneIn(2), g.oneIn(2)
	g.printf("const int m = %d, w = %d, depth = %d, tx = tid %% %d, ty = tid / %d;\n", t.m, t.w, t.depth, t.bx, t.bx)
	g.printf("const int row = blockIdx.y * %d, col = blockIdx.x * %d;\n", t.bm, t.bn)
	way := pick(g, t.direct, t.direct, t.staged, t.doubled)
	way()
	ri, ci := t.mine()
	g.printf("for (int i = 0; i < %d; i++) for (int j = 0; j < %d; j++) ", t.tm, t.tn)
	g.scoped(func() {
		g.printf("const int y = row + %s, q = col + %s;\nif (y < m && q < w) ", ri, ci)
		g.scoped(func() {
			g.define(t.k, "sum[i][j]")
			g.printf("%s[y * w + q] = %s;\n", o, g.result(eo, g.all(eo.k)))
		})
	})
}

// mine is the row and the column in the tile of a thread's item i, j.
func (t *tile) mine() (row, col string) {
	row, col = fmt.Sprintf("ty * %d + i", t.tm), fmt.Sprintf("tx * %d + j", t.tn)
	if t.rowsApart {
		row = fmt.Sprintf("ty + %d * i", t.by)
	}
	if t.colsApart {
		col = fmt.Sprintf("tx + %d * j", t.bx)
	}
	return row, col
}

// declare makes the tiles and sums; of two buffers, p is the one in use.
func (t *tile) declare() {
	padA, padB := pick(t.gen, 0, 0, 1), pick(t.gen, 0, 0, 1, 4)
	rows, cols := t.bm, t.bk
	if t.turnA {
		rows, cols = cols, rows
	}
	t.printf("__shared__ %s ta[%d][%d][%d];\n__shared__ %s tb[%d][%d][%d];\n%s sum[%d][%d] = {};\n", t.ta, t.buffers, rows, cols+padA, t.tb, t.buffers, t.bk, t.bn+padB, t.k, t.tm, t.tn)
}

// elements writes a loop over a thread's elements of both tiles.
func (t *tile) elements(of func(o *operand, k kind, name string, turn, guard, at, into string)) {
	each := func(o *operand, k kind, name string, rows, cols int, guard, at, into string) {
		t.printf("for (int e = tid, turn = 0; e < %d; e += %d, turn++) { const int r = e / %d, c = e %% %d; ", rows*cols, t.bx*t.by, cols, cols)
		of(o, k, name, "turn", guard, at, into)
		t.printf("}\n")
	}
	into := "ta[p][r][c]"
	if t.turnA {
		into = "ta[p][c][r]"
	}
	each(&t.a, t.ta, "ra", t.bm, t.bk, "row + r < m && from + c < depth", "(row + r) * depth + from + c", into)
	each(&t.b, t.tb, "rb", t.bk, t.bn, "from + r < depth && col + c < w", "(from + r) * w + col + c", "tb[p][r][c]")
}

// value is a loaded element.
func (t *tile) value(o *operand, k kind, guard, at string) string {
	v := fmt.Sprintf("(%s)%s[%s]", k, o.name, at)
	if t.guard {
		v = fmt.Sprintf("(%s ? %s : (%s)0)", guard, v, k)
	}
	return v + o.change
}

// fetch loads the elements from column, or row, from on into registers; put stores these into tile p.
func (t *tile) fetch(from string) {
	t.printf("{ const int from = %s;\n", from)
	t.elements(func(o *operand, k kind, name, turn, guard, at, _ string) {
		t.printf("%s[%s] = %s; ", name, turn, t.value(o, k, guard, at))
	})
	t.printf("}\n")
}

func (t *tile) put(p string) {
	t.printf("{ const int p = %s;\n", p)
	t.elements(func(_ *operand, _ kind, name, turn, _, _, into string) { t.printf("%s = %s[%s]; ", into, name, turn) })
	t.printf("}\n")
}

// registers declares what fetch fills.
func (t *tile) registers() {
	threads := t.bx * t.by
	t.printf("%s ra[%d];\n%s rb[%d];\n", t.ta, (t.bm*t.bk+threads-1)/threads, t.tb, (t.bk*t.bn+threads-1)/threads)
}

// compute adds up the products of tile p.
func (t *tile) compute(p string) {
	g := t.gen
	if g.oneIn(2) {
		g.printf("#pragma unroll\n")
	}
	ri, ci := t.mine()
	x, y := fmt.Sprintf("ta[%s][%s][kk]", p, ri), fmt.Sprintf("tb[%s][kk][%s]", p, ci)
	if t.turnA {
		x = fmt.Sprintf("ta[%s][kk][%s]", p, ri)
	}
	k := t.k
	step := fmt.Sprintf("sum[i][j] + (%s)%s * (%s)%s", k, x, k, y)
	switch {
	case k == f32 && g.oneIn(2):
		step = fmt.Sprintf("fmaf(%s, %s, sum[i][j])", x, y)
	case g.oneIn(4):
		step = fmt.Sprintf("most(sum[i][j], (%s)((%s)%s - (%s)%s))", k, k, x, k, y)
	case !k.float() && g.oneIn(2):
		step = fmt.Sprintf("sum[i][j] + ((%s)%s ^ (%s)%s)", k, x, k, y)
	}
	g.printf("for (int kk = 0; kk < %d; kk++) {\n", t.bk)
	g.printf("for (int i = 0; i < %d; i++) for (int j = 0; j < %d; j++) sum[i][j] = %s;\n}\n", t.tm, t.tn, step)
}

// direct loads into the LDS between two barriers.
func (t *tile) direct() {
	t.declare()
	t.printf("for (int k0 = 0; k0 < depth; k0 += %d) {\nconst int from = k0, p = 0;\n", t.bk)
	t.elements(func(o *operand, k kind, _, _, guard, at, into string) {
		t.printf("%s = %s; ", into, t.value(o, k, guard, at))
	})
	t.printf("__syncthreads();\n")
	t.compute("p")
	t.printf("__syncthreads();\n}\n")
}

// staged loads the next tiles into registers while these are used.
func (t *tile) staged() {
	t.declare()
	t.registers()
	t.fetch("0")
	t.printf("for (int k0 = 0; k0 < depth; k0 += %d) {\n", t.bk)
	t.put("0")
	t.printf("__syncthreads();\nif (k0 + %d < depth)\n", t.bk)
	t.fetch(fmt.Sprintf("k0 + %d", t.bk))
	t.compute("0")
	t.printf("__syncthreads();\n}\n")
}

// doubled has two tiles of each, and one barrier for each step.
func (t *tile) doubled() {
	t.buffers = 2
	t.declare()
	t.registers()
	t.fetch("0")
	t.put("0")
	t.printf("int now = 0;\nfor (int k0 = 0; k0 < depth; k0 += %d) {\n__syncthreads();\n", t.bk)
	t.fetch(fmt.Sprintf("k0 + %d < depth ? k0 + %d : 0", t.bk, t.bk))
	t.compute("now")
	t.printf("now ^= 1;\n")
	t.put("now")
	t.printf("}\n__syncthreads();\n")
}
