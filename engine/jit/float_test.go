//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/lane"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// TestFloatOps runs each float operation alone on many values and compares with package lane.
func TestFloatOps(t *testing.T) { onEach(t, testFloatOps) }

func testFloatOps(t *testing.T) {
	needJIT(t)
	type op struct {
		v ir.Value
		n int // arguments
	}
	var ops []op
	for _, k := range []ir.Kind{ir.F32, ir.F64, ir.F16} {
		for _, o := range []ir.Op{ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFMin, ir.OpFMax, ir.OpFLdexp} {
			ops = append(ops, op{ir.Value{Op: o, Kind: k}, 2})
		}
		for _, o := range []ir.Op{ir.OpFMA, ir.OpFMad, ir.OpFMed3, ir.OpFDivScale, ir.OpFDivScaleVCC, ir.OpFDivFixup} {
			ops = append(ops, op{ir.Value{Op: o, Kind: k}, 3})
		}
		for _, o := range []ir.Op{ir.OpFNeg, ir.OpFAbs, ir.OpFTrunc, ir.OpFCeil, ir.OpFFloor, ir.OpFRndne, ir.OpFRcp, ir.OpFRcpIFlag, ir.OpFRsq,
			ir.OpFSqrt, ir.OpFClamp, ir.OpFCanon, ir.OpFMant, ir.OpFExp, ir.OpFFract, ir.OpFExp2, ir.OpFLog2, ir.OpFSin, ir.OpFCos} {
			ops = append(ops, op{ir.Value{Op: o, Kind: k}, 1})
		}
		for _, p := range floatPreds {
			ops = append(ops, op{ir.Value{Op: ir.OpFCmp, Kind: k, Pred: p}, 2})
		}
		for bit := range 10 {
			ops = append(ops, op{ir.Value{Op: ir.OpFClass, Kind: k, Imm: 1 << bit}, 1})
		}
	}
	for _, c := range [][2]ir.Kind{{ir.I32, ir.F32}, {ir.U32, ir.F32}, {ir.U8, ir.F32}, {ir.I8, ir.F32}, {ir.I16, ir.F32}, {ir.U16, ir.F32}, {ir.F64, ir.F32},
		{ir.F16, ir.F32}, {ir.I32, ir.F64}, {ir.U32, ir.F64}, {ir.F32, ir.F64}, {ir.F32, ir.F16}, {ir.F32, ir.I32}, {ir.F32, ir.U32}, {ir.F64, ir.I32}, {ir.F64, ir.U32}} {
		ops = append(ops, op{ir.Value{Op: ir.OpCvt, From: c[0], Kind: c[1]}, 1})
	}
	r := rand.New(rand.NewPCG(4, 4))
	for _, o := range ops {
		flush := ir.FPFlushIn | ir.FPFlushOut
		for _, e := range []ir.FP{ir.FPIEEE | ir.FPDX10, ir.FPIEEE | 1, ir.FPIEEE | 2, ir.FPIEEE | 3, flush | ir.FPIEEE, flush | ir.FPIEEE | ir.FPDX10 | 2,
			ir.FPFlushIn | ir.FPIEEE | 1, ir.FPFlushOut | ir.FPIEEE, ir.FPDX10, flush} {
			v := o.v
			v.FP = e
			oneFloat(t, r, v, o.n)
		}
	}
}

func oneFloat(t *testing.T, r *rand.Rand, v ir.Value, n int) { checkFloat(t, r, v, n, 12, nil) }

// checkFloat runs v with n arguments rounds times; numbers, if there, gives argument i of lane l.
func checkFloat(t *testing.T, r *rand.Rand, v ir.Value, n, rounds int, numbers func(i, round, l int) uint64) {
	f := &ir.Func{PC: 0x1000, Lanes: 64}
	b := &ir.Block{Insts: 1, Term: ir.Term{Kind: ir.TermExit, Cond: ir.NoID, Exit: ir.ExitEndPgm}}
	f.Blocks = []*ir.Block{b}
	src := v.Kind
	if v.Op == ir.OpCvt {
		src = v.From
	}
	width := 32
	if src == ir.F64 {
		width = 64
	}
	for i := range n {
		lo := f.Add(b, ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(2 * i)})
		hi := f.Add(b, ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(2*i + 1)})
		if width == 64 && !(v.Op == ir.OpFLdexp && i == 1) {
			lo = f.Add(b, ir.Value{Op: ir.OpPair, Type: ir.V64, Args: []ir.ID{lo, hi}})
		}
		v.Args = append(v.Args, lo)
	}
	v.Type = ir.V32
	if v.Kind == ir.F64 && v.Op != ir.OpFExp {
		v.Type = ir.V64
	}
	if v.Op == ir.OpFClass {
		v.Args = append(v.Args, f.Add(b, ir.Value{Op: ir.OpConst, Type: ir.S32, Imm: v.Imm}))
	}
	if v.Op == ir.OpFCmp || v.Op == ir.OpFClass || v.Op == ir.OpFDivScaleVCC {
		v.Type = ir.M
	}
	id := f.Add(b, v)
	full := f.Add(b, ir.Value{Op: ir.OpConst, Type: ir.M, Imm: ^uint64(0)})
	set := func(n int, x ir.ID) { f.Add(b, ir.Value{Op: ir.OpVSet, Imm: uint64(n), Args: []ir.ID{x, full}}) }
	switch v.Type {
	case ir.V32:
		set(10, id)
	case ir.M:
		set(10, f.Add(b, ir.Value{Op: ir.OpMToV, Type: ir.V32, Args: []ir.ID{id}}))
	default:
		set(10, f.Add(b, ir.Value{Op: ir.OpLo, Type: ir.V32, Args: []ir.ID{id}}))
		set(11, f.Add(b, ir.Value{Op: ir.OpHi, Type: ir.V32, Args: []ir.ID{id}}))
	}
	if err := ir.Verify(f); err != nil {
		t.Fatal(err)
	}
	o := HostOptions()
	o.Soft = testSoft
	p, err := CompileWith(f, o)
	if err != nil {
		t.Fatal(err)
	}
	var cm rt.CodeMemory
	defer cm.Close()
	ip, err := install(&cm, p)
	if err != nil {
		t.Fatal(err)
	}
	g := newRig(t, 64, 12)
	defer g.free()
	m := &machine{tlb: mem.NewTLB(), slow: noSlow{t}}
	defer m.close()
	fn := lane.Func(&v, width)
	gg := &gen{r: r}
	for round := range rounds {
		var args [3][64]uint64
		for l := range 64 {
			for i := range n {
				x := gg.bits()
				if i > 0 && r.IntN(6) == 0 {
					x = args[0][l]
				}
				if i == 1 && v.Op == ir.OpFLdexp {
					x = uint64(uint32(int32(r.IntN(2000) - 1000)))
				}
				if src == ir.F64 && r.IntN(2) == 0 {
					x = r.Uint64() // any exponent
				}
				if width == 32 || v.Op == ir.OpFLdexp && i == 1 {
					x = uint64(uint32(x))
				}
				if numbers != nil {
					x = numbers(i, round, l)
				}
				args[i][l] = x
				g.w.VGPR(2 * i)[l], g.w.VGPR(2*i + 1)[l] = uint32(x), uint32(x>>32)
			}
		}
		m.execute(g.w, ip, 0)
		for l := range 64 {
			a2 := args[1][l]
			if v.Op == ir.OpFClass {
				a2 = v.Imm
			}
			want := fn(args[0][l], a2, args[2][l], 0)
			got := uint64(g.w.VGPR(10)[l])
			switch v.Type {
			case ir.V64:
				got |= uint64(g.w.VGPR(11)[l]) << 32
			case ir.V32:
				want = uint64(uint32(want))
			case ir.M:
				want &= 1
			}
			if got != want {
				t.Errorf("%s %s<-%s %s imm %d pred %s: (%#x, %#x, %#x) = %#x, want %#x", v.Op, v.Kind, v.From, fmt.Sprint(v.FP), v.Imm, v.Pred, args[0][l], a2, args[2][l], got, want)
				break
			}
		}
	}
}

// TestClassOfLanes compares v_cmp_class_f32 and f64 with classes that differ by lane or are in a scalar register, on numbers of every class.
func TestClassOfLanes(t *testing.T) {
	onEach(t, func(t *testing.T) {
		single := []uint64{0, 1 << 31, 1, 1<<31 | 1, 0x7fffff, 0x807fffff, 0x800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xffa00000, 0x7fc00000, 0xffc00001}
		double := []uint64{0, 1 << 63, 1, 1<<63 | 1, 1<<52 - 1, 1<<63 | 1<<52 - 1, 1 << 52, 0x3ff << 52, 0xbff << 52, 0x7ff<<52 - 1, 0xfff<<52 - 1, 0x7ff << 52, 0xfff << 52, 0x7ff<<52 | 1, 0xfff4 << 48, 0x7ff8 << 48, 0xfff8<<48 | 1}
		for _, k := range []ir.Kind{ir.F32, ir.F64} {
			numbers := single
			f := &ir.Func{PC: 0x10000, Lanes: 64}
			b := &ir.Block{Insts: 9, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Next: 4, Cond: ir.NoID}}
			f.Blocks = []*ir.Block{b}
			add := func(v ir.Value) ir.ID { return f.Add(b, v) }
			for i := range uint64(4) {
				x := add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: i})
				if k == ir.F64 {
					numbers = double
					hi := add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: i + 8})
					x = add(ir.Value{Op: ir.OpPair, Type: ir.V64, Args: []ir.ID{x, hi}})
				}
				y := add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: i + 4})
				if i%2 == 1 {
					y = add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: i})
				}
				m := add(ir.Value{Op: ir.OpFClass, Type: ir.M, Kind: k, Args: []ir.ID{x, y}})
				add(ir.Value{Op: ir.OpMSet, Imm: 4 + 2*i, Args: []ir.ID{m}})
			}
			if p, err := CompileWith(f, Options{AVX2: hostAVX2}); err != nil || p.helpers > 0 {
				t.Fatalf("%v: %v, %d by the helper", k, err, p.helpers)
			}
			for seed := range uint64(20) {
				diff := diffEnginesWith(t, seed, f, 12, func(g *rig) {
					for i := range 4 {
						for l := range 64 {
							n := numbers[(int(seed)*7+i*5+l)%len(numbers)]
							g.w.VGPR(i)[l], g.w.VGPR(i + 8)[l] = uint32(n), uint32(n>>32)
							g.w.VGPR(i + 4)[l] = 1<<((uint(l)+uint(seed))%11) | 1<<(uint(l)*7%10)
						}
						g.w.S[i] = 1<<(seed%10) | 1<<(seed*3%10)
					}
				})
				if len(diff) > 0 {
					t.Fatal(k, diff)
				}
			}
		}
	})
}
