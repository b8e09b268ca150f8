package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// launch is how a kernel is started.
type launch struct {
	n           int
	grid, block [2]int
	s           int
	x           string
}

// family writes the body of a kernel of one kind.
type family func(*gen, *launch)

var families = []family{arrays, arrays, arrays, rows, rows, tiles, tiles, tiles, reduction, histogram, stencil, control, control, local, scan, lanes, scatter, halves, vectors}

// head is what all programs begin with. Conversions to integers, NaNs and least and most are defined for everything, so that no result depends on what a chip
// or a compiler makes of what is not.
const head = `#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

__device__ inline float canon(float f) { return f != f ? __builtin_nanf("") : f; }
__device__ inline double canon(double f) { return f != f ? __builtin_nan("") : f; }
__device__ inline int bitsOf(float f) { return __float_as_int(canon(f)); }
__device__ inline int whole(float f) { return f >= -2.0e9f && f <= 2.0e9f ? (int)f : 17; }
__device__ inline int whole(double f) { return f >= -2.0e9 && f <= 2.0e9 ? (int)f : 17; }
__device__ inline int hashed(float f) { return bitsOf(f); }
__device__ inline int hashed(double f) { long long b = __double_as_longlong(canon(f)); return (int)(b ^ b >> 32); }
template <typename T> __device__ inline T least(T a, T b) { return a < b ? a : b; }
template <typename T> __device__ inline T most(T a, T b) { return a > b ? a : b; }
typedef float vf4 __attribute__((ext_vector_type(4)));
typedef float vf2 __attribute__((ext_vector_type(2)));
typedef int vi4 __attribute__((ext_vector_type(4)));
typedef int vi2 __attribute__((ext_vector_type(2)));
typedef double vd2 __attribute__((ext_vector_type(2)));
typedef unsigned char vc4 __attribute__((ext_vector_type(4)));
typedef short vs2 __attribute__((ext_vector_type(2)));
typedef _Float16 h2 __attribute__((ext_vector_type(2)));

#define CHECK(call) do { hipError_t e_ = (call); if (e_ != hipSuccess) { std::printf("error %s in %s\n", hipGetErrorName(e_), #call); std::exit(1); } } while (0)
`

// tail is the host's half: each kernel runs twice, and what it leaves is hashed. HIPFUZZ_WARM runs in between earn it the engine's better code.
const tail = `
static unsigned long long state = 1;
static unsigned bits() { state = state * 6364136223846793005ull + 1442695040888963407ull; return (unsigned)(state >> 33); }

int main(int argc, char **argv) {
    const size_t pool = %d, room = %d;
    std::vector<unsigned char> ints(pool), results(room);
    std::vector<float> floats(pool / 4);
    std::vector<double> doubles(pool / 8);
    for (size_t i = 0; i < pool; i += 4) {
        unsigned v = bits() << 1 ^ bits();
        if (v %% 3 == 0) v = bits() %% 100;
        for (int k = 0; k < 4; k++) ints[i + k] = v >> 8 * k;
    }
    const float odd[] = {0.0f, -0.0f, __builtin_inff(), -__builtin_inff(), __builtin_nanf(""), 1e-40f, -3e-39f, 3e38f, 1.17549435e-38f};
    for (float &f : floats) f = bits() %% 64 == 0 ? odd[bits() %% 9] : ((int)(bits() %% 20001) - 10000) / 512.0f;
    for (double &d : doubles) d = bits() %% 64 == 0 ? (double)odd[bits() %% 9] : ((int)(bits() %% 2000001) - 1000000) / 3072.0;
    const char *often = std::getenv("HIPFUZZ_WARM");
    const int warm = often ? std::atoi(often) : 0;
    unsigned char *a, *b, *c, *o;
    const char *memory = std::getenv("HIPFUZZ_MEMORY"); // where arrays lie: device (the default), managed or host
    auto get = [&](unsigned char **p, size_t bytes) {
        if (memory && !std::strcmp(memory, "managed")) CHECK(hipMallocManaged(p, bytes));
        else if (memory && !std::strcmp(memory, "host")) CHECK(hipHostMalloc(p, bytes));
        else CHECK(hipMalloc(p, bytes));
    };
    get(&a, pool); get(&b, pool); get(&c, pool); get(&o, room);
    CHECK(hipMemcpy(a, ints.data(), pool, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(b, floats.data(), pool, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(c, doubles.data(), pool, hipMemcpyHostToDevice));
    auto hash = [&](const char *name, auto launch) {
        unsigned long long h[2];
        for (auto &x : h) {
            if (&x != h && warm > 0) {
                for (int i = 0; i < warm; i++) launch();
                CHECK(hipDeviceSynchronize());
                usleep(10000);
            }
            CHECK(hipMemset(o, 0xa5, room));
            launch();
            CHECK(hipGetLastError());
            CHECK(hipMemcpy(results.data(), o, room, hipMemcpyDeviceToHost));
            x = 14695981039346656037ull;
            for (unsigned char r : results) x = (x ^ r) * 1099511628211ull;
        }
        std::printf("%%s %%016llx", name, h[0]);
        if (h[1] != h[0]) std::printf(" %%016llx", h[1]);
        std::printf("\n");
        std::fflush(stdout);
        if (argc == 3 && !std::strcmp(name, argv[1])) { // KERNEL FILE: to look at
            FILE *f = std::fopen(argv[2], "wb");
            if (!f || std::fwrite(results.data(), 1, room, f) != room || std::fclose(f)) std::exit(1);
        }
    };
`

// program is the text of a seed's program; of one kernel only, unless that is negative.
func program(seed uint64, n, only int) string {
	var text, calls strings.Builder
	room := 0
	for i := range n {
		g := &gen{r: rand.New(rand.NewPCG(seed, uint64(i)))}
		l := &launch{n: pick(g, 1, 31, 64, 100, 255, 256, 1000, 1024, 2049, maxIndex, g.r.IntN(maxIndex)+1), s: g.r.IntN(200) - 50, x: fmt.Sprintf("%.5gf", g.r.Float64()*8-4)}
		l.shape(g)
		for i := range pick(g, 0, 0, 1) {
			g.function(i)
		}
		name := fmt.Sprint("k", i)
		g.see(i32, "s")
		g.see(f32, "x")
		g.printf("const int tid = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;\n")
		g.printf("const int gid = (blockIdx.y * gridDim.x + blockIdx.x) * threads + tid, total = threads * gridDim.x * gridDim.y;\n")
		g.see(i32, "tid")
		g.see(i32, "gid")
		pick(g, families...)(g, l)
		room = max(room, g.bytes)
		if only >= 0 && i != only {
			continue
		}
		bound := ""
		if g.oneIn(2) {
			bound = fmt.Sprintf(" __launch_bounds__(%d)", l.block[0]*l.block[1])
		}
		fmt.Fprintf(&text, "\n%s__global__%s void %s(int n, int s, float x, const unsigned char *ints, const unsigned char *floats, const unsigned char *doubles,\n"+
			"    unsigned char *results) {\n%s}\n", g.more, bound, name, g.b.String())
		fmt.Fprintf(&calls, "    hash(\"%s\", [&] { %s<<<dim3(%d, %d), dim3(%d, %d)>>>(%d, %d, %s, a, b, c, o); });\n",
			name, name, l.grid[0], l.grid[1], l.block[0], l.block[1], l.n, l.s, l.x)
	}
	return head + text.String() + fmt.Sprintf(tail, poolBytes, room+4096) + calls.String() + "}\n"
}

// shape chooses work-groups and how many.
func (l *launch) shape(g *gen) {
	l.block = pick(g, [2]int{64, 1}, [2]int{32, 1}, [2]int{100, 1}, [2]int{128, 1}, [2]int{256, 1}, [2]int{256, 1}, [2]int{512, 1}, [2]int{16, 16}, [2]int{32, 8}, [2]int{8, 8}, [2]int{1, 1})
	groups := (l.n + l.block[0]*l.block[1] - 1) / (l.block[0] * l.block[1])
	l.grid = [2]int{groups, 1}
	if g.oneIn(3) { // fewer or more threads than there is work
		l.grid[0] = min(max(1, pick(g, 1, groups/2, groups*2, 7)), 64)
	}
	l.grid[0] = min(l.grid[0], 256)
	if g.oneIn(5) {
		l.grid[1] = 2
	}
}

// function writes a device function that kernels may call, with variables of its own.
func (g *gen) function(i int) {
	outer := g.b
	g.b = strings.Builder{}
	vars := g.vars
	g.vars = [kinds][]string{}
	name := fmt.Sprintf("f%d_%d", i, g.r.IntN(1<<30))
	a, b := g.anyKind(), g.anyKind()
	k := g.anyKind()
	g.printf("__device__ %s%s %s(%s va, %s vb, int depth) {\n", pick(g, "__noinline__ ", "__noinline__ ", ""), k, name, a, b)
	g.see(a, "va")
	g.see(b, "vb")
	if g.oneIn(3) {
		g.printf("if (depth > 0 && (%s)) return %s(%s, %s, depth - 1);\n", g.cond(2), name, g.expr(a, 2), g.expr(b, 2))
	}
	g.stmts(2+g.r.IntN(4), 2)
	g.printf("return %s;\n}\n", g.all(k))
	g.more += g.b.String()
	g.b, g.vars = outer, vars
	g.calls = append(g.calls, call{name, a, b, k})
}

// call is a function that a kernel may call.
type call struct {
	name    string
	a, b, k kind
}

// called defines a variable by a call, if there is something to call.
func (g *gen) called() {
	if len(g.calls) == 0 || g.oneIn(2) {
		return
	}
	c := pick(g, g.calls...)
	g.define(c.k, fmt.Sprintf("%s(%s, %s, %s & 3)", c.name, g.expr(c.a, 2), g.expr(c.b, 2), g.expr(i32, 1)))
}
