package interp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/lane"
)

// The fast loops agree with package lane, for all arguments and under any mask, whether fused with a write or not.
func TestFastLoops(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func() uint32 {
		edge := []uint32{0, 1, 0x80000000, 0x7fffffff, 0xffffffff, 0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001, 0x3f800000, 31, 32, 0x4f000000, 0xcf000001, 0x4f7fffff, 0x7fefffff, 0x7ff00000, 1 << 22}
		if rnd.IntN(3) == 0 {
			return edge[rnd.IntN(len(edge))]
		}
		return rnd.Uint32() >> (rnd.UintN(4) * 8 & 31)
	}
	n := 0
	for op := ir.OpSplat; op < ir.NumOps; op++ {
		if !op.Pure() || op.Cross() {
			continue
		}
		for _, at := range []ir.Type{ir.V32, ir.V64} {
			for _, kind := range []ir.Kind{ir.KindNone, ir.F32, ir.F64, ir.F16, ir.I32, ir.U32} {
				if kind != 0 && !op.Float() {
					continue
				}
				for _, from := range []ir.Kind{ir.KindNone, ir.I32, ir.U32, ir.F32} {
					if from != 0 && op != ir.OpCvt || op == ir.OpCvt && (from == 0 || kind == 0) {
						continue
					}
					for _, rt := range []ir.Type{ir.V32, ir.V64, ir.M} {
						if tryOp(t, rnd, word, op, at, rt, kind, from) {
							n++
						}
					}
				}
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d operations were tested", n)
	}
}

// tryOp builds one operation over v0:v1, v2:v3, v4:v5 into v6:v7 and compares; it reports whether such an operation exists.
func tryOp(t *testing.T, rnd *rand.Rand, word func() uint32, op ir.Op, at, rt ir.Type, kind, from ir.Kind) bool {
	var text strings.Builder
	text.WriteString("  %0:m = mget imm=126\n")
	for i := range 6 {
		fmt.Fprintf(&text, "  %%%d:v32 = vget imm=%d\n", i+1, i)
	}
	for i := range 3 {
		fmt.Fprintf(&text, "  %%%d:v64 = pair %%%d, %%%d\n", 10+i, 1+2*i, 2+2*i)
	}
	v := ir.Value{Op: op, Type: rt, Kind: kind, From: from, Imm: uint64(rnd.IntN(31) + 1), Pred: ir.Pred(rnd.IntN(10))}
	if op == ir.OpFCmp {
		v.Pred = ir.FFalse + ir.Pred(rnd.IntN(16))
	}
	argType := []ir.Type{at, at, at, ir.M}
	if op == ir.OpSelect {
		argType = []ir.Type{ir.M, at, at}
	}
	if (op == ir.OpShl || op == ir.OpLShr || op == ir.OpAShr || op == ir.OpFLdexp) && at == ir.V64 {
		argType[1] = ir.V32
	}
	if op == ir.OpCarryAdd || op == ir.OpBorrow {
		argType[2] = ir.M
	}
	// The arity that verifies.
	var f *ir.Func
	arity := 0
	for ; arity <= 4; arity++ {
		var args []string
		for i, a := range argType[:min(arity, len(argType))] {
			switch a {
			case ir.V32:
				args = append(args, fmt.Sprintf("%%%d", 1+2*i))
			case ir.V64:
				args = append(args, fmt.Sprintf("%%%d", 10+i))
			case ir.M:
				args = append(args, "%0")
			}
		}
		s := text.String() + fmt.Sprintf("  %%20:%s = %s %s imm=%d pred=%s kind=%s from=%s\n", rt, op, strings.Join(args, ", "), v.Imm, v.Pred, kind, from)
		switch rt {
		case ir.V32:
			s += "  %21 = vset %20, %0 imm=6\n"
		case ir.V64:
			s += "  %22:v32 = lo %20\n  %23:v32 = hi %20\n  %24 = vset %22, %0 imm=6\n  %25 = vset %23, %0 imm=7\n"
		case ir.M:
			s += "  %21 = mset %20 imm=20\n"
		}
		g, err := ir.Parse(body("64", s))
		if err != nil {
			t.Fatal(err)
		}
		if ir.Verify(g) == nil {
			f = g
			break
		}
	}
	width := at.Width()
	if f == nil {
		return false
	}
	fn := lane.Func(&v, width)
	if fn == nil {
		return false
	}
	r := newRig(t, f.String())
	for _, exec := range []uint64{^uint64(0), 0x8000000f_fff0f001, 0} {
		for i := range 8 {
			for l := range 64 {
				r.v(i)[l] = word()
			}
		}
		if op == ir.OpFMA && kind == ir.F32 { // numbers of like size
			for i := range 6 {
				for l := range 40 {
					r.v(i)[l] = math.Float32bits(float32(rnd.IntN(9)-4) * 0.75)
				}
			}
		}
		var before [2][64]uint32
		copy(before[0][:], r.v(6))
		copy(before[1][:], r.v(7))
		r.w.SetEXEC(exec)
		r.w.PC = r.mem.base
		if e := r.wk.Run(r.w); e != ir.ExitEndPgm {
			t.Fatalf("%v: %s in\n%s", e, r.w.Illegal, f)
		}
		for l := range 64 {
			on := exec>>uint(l)&1 != 0
			var args [4]uint64
			for i := range arity {
				switch argType[i] {
				case ir.V32:
					args[i] = uint64(r.v(2 * i)[l])
				case ir.V64:
					args[i] = uint64(r.v(2 * i)[l]) | uint64(r.v(2*i + 1)[l])<<32
				case ir.M:
					args[i] = exec >> uint(l) & 1
				}
			}
			want := fn(args[0], args[1], args[2], args[3])
			var got uint64
			switch rt {
			case ir.M:
				got, want = (uint64(r.w.S[20])|uint64(r.w.S[21])<<32)>>uint(l)&1, want&1
			case ir.V32:
				got, want = uint64(r.v(6)[l]), uint64(uint32(want))
				if !on {
					want = uint64(before[0][l])
				}
			case ir.V64:
				got = uint64(r.v(6)[l]) | uint64(r.v(7)[l])<<32
				if !on {
					want = uint64(before[0][l]) | uint64(before[1][l])<<32
				}
			}
			if got != want {
				t.Errorf("%s %s->%s kind=%s from=%s imm=%d pred=%s lane %d exec %v: %#x %#x %#x gave %#x, want %#x", op, at, rt, kind, from, v.Imm, v.Pred, l, on, args[0], args[1], args[2], got, want)
				return true
			}
		}
	}
	return true
}
