package main

import "fmt"

// powerOfTwoGroup makes work-groups of one dimension and 2^k threads.
func (l *launch) powerOfTwoGroup(g *gen) int {
	size := pick(g, 32, 64, 128, 256, 256, 1024)
	l.block, l.grid = [2]int{size, 1}, [2]int{min(max(1, l.n/size), 16), 1}
	return size
}

// gathered defines a variable of kind k that has a thread's part of an array in it.
func (g *gen) gathered(k kind) string {
	a, e, last := g.input()
	v := g.define(k, g.literal(k))
	g.printf("for (int i = gid; i < n; i += total) ")
	g.scoped(func() {
		g.see(i32, "i")
		g.define(e.k, g.read(a, e, g.at("i", last)))
		g.printf("%s = %s;\n", v, g.all(k))
	})
	return v
}

// joined is two values taken together, in a way for which order matters little.
func (g *gen) joined(k kind) func(a, b string) string {
	op := pick(g, "%s + %s", "%s + %s", "most(%s, %s)", "least(%s, %s)")
	if !k.float() && g.oneIn(3) {
		op = "%s ^ %s"
	}
	return func(a, b string) string { return fmt.Sprintf(op, a, b) }
}

// reduction is a tree in the LDS, whose last steps may be shuffles.
func reduction(g *gen, l *launch) {
	size := l.powerOfTwoGroup(g)
	k := g.anyKind()
	v := g.gathered(k)
	join := g.joined(k)
	o, eo := g.output(1)
	g.printf("__shared__ %s part[%d];\npart[tid] = %s;\n__syncthreads();\n", k, size, v)
	end := pick(g, 0, 0, 16)
	if g.oneIn(2) {
		g.printf("for (int d = %d; d > %d; d >>= 1) {\nif (tid < d) part[tid] = %s;\n__syncthreads();\n}\n", size/2, end, join("part[tid]", "part[tid + d]"))
	} else {
		g.printf("#pragma unroll\nfor (int d = %d; d > %d; d >>= 1) {\nif (tid < d) part[tid] = %s;\n__syncthreads();\n}\n", size/2, end, join("part[tid]", "part[tid + d]"))
	}
	g.printf("%s last = part[tid %% %d];\n", k, max(end, 1)*2)
	if end > 0 {
		g.printf("for (int d = 16; d > 0; d >>= 1) last = %s;\n", join("last", "__shfl_xor(last, d, 32)"))
	}
	g.printf("if (tid == 0) %s[blockIdx.x] = %s;\n", o, g.result(eo, fmt.Sprintf("(%s)%s", eo.k, map[bool]string{true: "whole(last)", false: "last"}[k.float() && !eo.k.float()])))
	// What all know behind the barrier.
	all, e := g.output(1)
	g.see(k, "last")
	g.printf("if (gid < %d) %s[gid] = %s;\n", maxIndex, all, g.result(e, g.expr(e.k, 2)+map[bool]string{true: " + (" + e.k.String() + ")(tid & 7)", false: " ^ gid"}[e.k.float()]))
}

// histogram counts in the LDS by atomics.
func histogram(g *gen, l *launch) {
	bins := pick(g, 1, 16, 64, 256, 1000)
	k := pick(g, u32, i32)
	atomic := pick(g, "atomicAdd", "atomicAdd", "atomicMax", "atomicXor", "atomicOr")
	a, e, last := g.input()
	o := g.name("o")
	g.printf("%s *%s = (%s *)(results + %d);\n", k, o, k, g.bytes)
	groups := l.grid[0] * l.grid[1]
	g.bytes += bins * 4 * (groups + 1)
	g.printf("__shared__ %s bins[%d];\nfor (int i = tid; i < %d; i += threads) bins[i] = 0;\n__syncthreads();\n", k, bins, bins)
	g.printf("for (int i = gid; i < n; i += total) ")
	g.scoped(func() {
		g.see(i32, "i")
		g.define(e.k, g.read(a, e, g.at("i", last)))
		g.stmts(g.r.IntN(3), 1)
		if g.oneIn(4) {
			g.printf("if (%s) ", g.cond(2))
		}
		value := "1"
		if atomic != "atomicAdd" || g.oneIn(2) {
			value = g.expr(k, 2)
		}
		g.printf("%s(&bins[(unsigned)(%s) %% %du], (%s)(%s));\n", atomic, g.all(u32), bins, k, value)
	})
	g.printf("__syncthreads();\nfor (int i = tid; i < %d; i += threads) ", bins)
	if g.oneIn(2) {
		g.printf("%s[(blockIdx.y * gridDim.x + blockIdx.x) * %d + i] = bins[i];\n", o, bins)
	} else {
		g.printf("%s(&%s[i], bins[i]);\n", atomic, o)
	}
}

// scan is the prefix sums of a work-group in the LDS.
func scan(g *gen, l *launch) {
	size := l.powerOfTwoGroup(g)
	k := g.anyKind()
	v := g.gathered(k)
	join := g.joined(k)
	o, eo := g.output(4)
	g.printf("__shared__ %s part[2][%d];\nint in = 0;\npart[0][tid] = %s;\n__syncthreads();\n", k, size, v)
	g.printf("for (int d = 1; d < %d; d *= 2) {\npart[1 - in][tid] = tid >= d ? %s : part[in][tid];\nin = 1 - in;\n__syncthreads();\n}\n", size, join("part[in][tid - d]", "part[in][tid]"))
	g.define(k, "part[in][tid]")
	g.define(k, fmt.Sprintf("part[in][(tid * %d + %d) %% %d]", g.r.IntN(9), g.r.IntN(99), size))
	g.stmts(g.r.IntN(3), 1)
	g.printf("%s[gid] = %s;\n", o, g.result(eo, g.all(eo.k)))
}

// lanes is a kernel of shuffles inside groups of at most 32 lanes.
func lanes(g *gen, l *launch) {
	l.powerOfTwoGroup(g)
	k := pick(g, i32, u32, f32, f64, i64)
	v := g.gathered(k)
	o, eo := g.output(4)
	for range 1 + g.r.IntN(5) {
		w := pick(g, 2, 4, 8, 16, 32)
		get := pick(g,
			fmt.Sprintf("__shfl_xor(%s, %d, %d)", v, g.r.IntN(w), w), fmt.Sprintf("__shfl_up(%s, %d, %d)", v, g.r.IntN(w), w),
			fmt.Sprintf("__shfl_down(%s, %d, %d)", v, g.r.IntN(w), w), fmt.Sprintf("__shfl(%s, %s, %d)", v, g.index(w), w))
		got := g.define(k, get)
		g.printf("%s = %s;\n", v, g.joined(k)(v, got))
	}
	g.stmts(g.r.IntN(3), 1)
	g.printf("%s[gid] = %s;\n", o, g.result(eo, g.all(eo.k)))
}
