package lift_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// narrow is a floating format without infinities, as OCP's microscaling specification has them; NaNs are left out of these tests.
type narrow struct {
	name       string
	exp, man   int
	bias       int
	emax       int // largest exponent
	top        int // its largest fraction
	code, regs int // of an f8f6f4 operand
	inf        bool
	bits       int
}

var narrows = []narrow{
	{name: "fp8", exp: 4, man: 3, bias: 7, emax: 8, top: 6, code: 0, regs: 8, bits: 8},
	{name: "bf8", exp: 5, man: 2, bias: 15, emax: 15, top: 3, code: 1, regs: 8, bits: 8, inf: true},
	{name: "fp6", exp: 2, man: 3, bias: 1, emax: 2, top: 7, code: 2, regs: 6, bits: 6},
	{name: "bf6", exp: 3, man: 2, bias: 3, emax: 4, top: 3, code: 3, regs: 6, bits: 6},
	{name: "fp4", exp: 2, man: 1, bias: 1, emax: 2, top: 1, code: 4, regs: 4, bits: 4},
}

// value is the number that a code stands for, ok false for NaNs and infinities.
func (f narrow) value(x uint32) (v float64, ok bool) {
	m, e := int(x)&(1<<f.man-1), int(x)>>f.man&(1<<f.exp-1)
	if e-f.bias > f.emax || e-f.bias == f.emax && m > f.top {
		return 0, false
	}
	if e == 0 {
		v = math.Ldexp(float64(m), 1-f.bias-f.man)
	} else {
		v = math.Ldexp(float64(m+1<<f.man), e-f.bias-f.man)
	}
	if x>>(f.exp+f.man)&1 != 0 {
		v = -v
	}
	return v, true
}

// nearest looks for the code whose value is nearest to v, of two the even one; what is beyond the largest number by half a step or more
// is the largest one where there is neither infinity nor NaN (ok false elsewhere).
func (f narrow) nearest(v float64) (code uint32, ok bool) {
	best := math.Inf(1)
	sign := uint32(0)
	if math.Signbit(v) {
		sign = 1 << (f.exp + f.man)
	}
	last := uint32(0)
	for x := range uint32(1) << (f.exp + f.man) {
		y, fine := f.value(x)
		if !fine {
			continue
		}
		last = x
		if d := math.Abs(math.Abs(v) - y); d < best || d == best && x&1 == 0 {
			best, code = d, x
		}
	}
	top, _ := f.value(last)
	prev, _ := f.value(last - 1)
	if math.Abs(v) >= top+(top-prev)/2 {
		return last | sign, f.bits < 8
	}
	return code | sign, true
}

func (f narrow) put(v []uint32, i int, code uint32) {
	at, s := i*f.bits/32, i*f.bits%32
	v[at] |= code << s
	if s+f.bits > 32 {
		v[at+1] |= code >> (32 - s)
	}
}

func (f narrow) get(v []uint32, i int) uint32 {
	at, s := i*f.bits/32, i*f.bits%32
	x := v[at] >> s
	if s+f.bits > 32 {
		x |= v[at+1] << (32 - s)
	}
	return x & (1<<f.bits - 1)
}

// runText runs one instruction of a target on m.
func runText(t *testing.T, m *machine, cpu, text string) {
	t.Helper()
	tg := isa.TargetByName(cpu)
	code, err := isa.Assemble(tg, text)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := isa.Assemble(tg, "s_endpgm")
	if exit := m.run(append(code, end...)); exit != ir.ExitEndPgm {
		t.Fatalf("%s: %v %s", text, exit, m.w.Illegal)
	}
}

// TestMatrixFormats runs gfx950's f8f6f4 products on all pairs of formats, with and without scales: on small numbers, whose sums are exact,
// and on random codes and scales, whose sums are compared with the exact one within what is known of the unit: f32's precision. Where
// 8-bit elements of a lane belong is as AMD's "Matrix Core Programming on CDNA3 and CDNA4" loads them; narrower ones are 32 in a row.
func TestMatrixFormats(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 5))
	for _, s := range []struct{ n, k, regs int }{{16, 128, 4}, {32, 64, 16}} {
		for _, fa := range narrows {
			for _, fb := range narrows {
				for _, scale := range []bool{false, true} {
					matrixFormat(t, rnd, s.n, s.k, s.regs, fa, fb, scale, false)
					if scale {
						matrixFormat(t, rnd, s.n, s.k, s.regs, fa, fb, scale, true)
					}
				}
			}
		}
	}
}

func matrixFormat(t *testing.T, rnd *rand.Rand, n, k, regs int, fa, fb narrow, scale, random bool) {
	m := newMachine(t, "gfx950", 64)
	fill := func(base, scaleReg, sel int, f narrow) (e [][]float64) {
		e = make([][]float64, n)
		for r := range e {
			e[r] = make([]float64, k)
		}
		for l := range 64 {
			g, row := l/n, l%n
			v := make([]uint32, 9)
			for i := range 32 {
				at := 32*g + i
				if f.bits == 8 {
					at = i/16*(k/2) + 16*g + i%16
				}
				x := []float64{0, 0.5, 1, -1, 1.5, -2, 3, -0.5}[rnd.IntN(8)]
				code, _ := f.nearest(x)
				if random {
					code = rnd.Uint32() & (1<<f.bits - 1)
					for y, ok := f.value(code); ; y, ok = f.value(code) {
						if x = y; ok {
							break
						}
						if x = math.NaN(); !f.infinite(code) && rnd.IntN(3*k) == 0 {
							break
						}
						code = rnd.Uint32() & (1<<f.bits - 1)
					}
				}
				f.put(v, i, code)
				e[row][at] = x
			}
			for i := range f.regs {
				m.w.VGPR(base + i)[l] = v[i]
			}
			m.w.VGPR(scaleReg)[l] = rnd.Uint32()
			if scale {
				x := m.w.VGPR(scaleReg)[l]
				m.w.VGPR(scaleReg)[l] = x&^(0xff<<(8*sel)) | uint32(124+rnd.IntN(6))<<(8*sel)
				if random {
					m.w.VGPR(scaleReg)[l] = x&^(0xff<<(8*sel)) | uint32(97+rnd.IntN(60))<<(8*sel)
				}
			}
		}
		if scale {
			for r := range e {
				for i := range e[r] {
					x := m.w.VGPR(scaleReg)[r+n*(i/32)] >> (8 * sel) & 0xff
					e[r][i] = math.Ldexp(e[r][i], int(x)-127)
				}
			}
		}
		return e
	}
	const vA, vB, vSA, vSB, vC, vD = 0, 8, 16, 17, 32, 64
	sa, sb := rnd.IntN(4), rnd.IntN(4)
	a, b := fill(vA, vSA, sa, fa), fill(vB, vSB, sb, fb)
	for r := range regs {
		for l := range 64 {
			m.w.VGPR(vC + r)[l] = math.Float32bits(float32(rnd.IntN(64) - 32))
		}
	}
	name, tail := "v_mfma_f32", ""
	if scale {
		name = "v_mfma_scale_f32"
		tail = fmt.Sprintf(", v%d, v%d op_sel:[%d,%d,0] op_sel_hi:[%d,%d,0]", vSA, vSB, sa&1, sb&1, sa>>1, sb>>1)
	}
	text := fmt.Sprintf("%s_%dx%dx%d_f8f6f4 v[%d:%d], v[%d:%d], v[%d:%d], v[%d:%d]%s cbsz:%d blgp:%d", name, n, n, k, vD, vD+regs-1,
		vA, vA+fa.regs-1, vB, vB+fb.regs-1, vC, vC+regs-1, tail, fa.code, fb.code)
	runText(t, m, "gfx950", text)
	for l := range 64 {
		for r := range regs {
			i, j := r%4+4*(l/n), l%n
			if n == 32 {
				i = 8*(r/4) + 4*(l/32) + r%4
			}
			want := float64(math.Float32frombits(m.w.VGPR(vC + r)[l]))
			if random {
				if got := float64(math.Float32frombits(m.w.VGPR(vD + r)[l])); !nearSum(got, want, a[i], b[j]) {
					t.Fatalf("%s: D[%d][%d] is %v: %v . %v + %v", text, i, j, got, a[i], b[j], want)
				}
				continue
			}
			for x := range k {
				want += a[i][x] * b[j][x]
			}
			if got := float64(math.Float32frombits(m.w.VGPR(vD + r)[l])); got != want {
				t.Fatalf("%s: D[%d][%d] is %v, want %v", text, i, j, got, want)
			}
		}
	}
}

// infinite reports whether a code is an infinity.
func (f narrow) infinite(x uint32) bool {
	return f.inf && x&(1<<(f.exp+f.man)-1) == (1<<f.exp-1)<<f.man
}

// nearSum reports whether got is the sum of products and c, rounded to f32 after the loss of no more than 45 bits below the largest.
func nearSum(got, c float64, a, b []float64) bool {
	sum, size := new(big.Float).SetPrec(2000).SetFloat64(c), math.Abs(c)
	for x := range a {
		if math.IsNaN(a[x]) || math.IsNaN(b[x]) {
			return math.IsNaN(got)
		}
		p := a[x] * b[x] // exact
		sum.Add(sum, new(big.Float).SetFloat64(p))
		size = math.Max(size, math.Abs(p))
	}
	exact, _ := sum.Float64()
	if math.IsNaN(got) || math.IsInf(got, 0) {
		return math.Abs(exact) > math.MaxFloat32
	}
	off, _ := sum.Sub(sum, new(big.Float).SetFloat64(got)).Float64()
	return math.Abs(off) <= 0x1.001p-24*math.Abs(exact)+0x1p-45*size+0x1p-150
}

// TestScaledConversions has gfx950's conversions from every code, and to the narrow formats of numbers of all sizes.
func TestScaledConversions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	f32 := func(x float64) uint32 { return math.Float32bits(float32(x)) }
	for _, f := range narrows {
		for range 40 {
			m := newMachine(t, "gfx950", 64)
			e := rnd.IntN(60) - 30
			m.w.VGPR(40)[0] = math.Float32bits(float32(math.Ldexp(1+rnd.Float64()/2, e)))
			codes := make([]uint32, 6)
			for i := range codes {
				codes[i] = rnd.Uint32()
			}
			wide := make([]float64, 32)
			for i := range wide {
				wide[i] = float64(float32(math.Ldexp(rnd.NormFloat64(), e+rnd.IntN(5)-2)))
			}
			for i := range 6 {
				m.w.VGPR(i)[0] = codes[i]
			}
			for i := range 32 { // sources of two: even ones in v[64:79], odd in v[80:95]
				m.w.VGPR(64 + 16*(i&1) + i/2)[0] = f32(wide[i])
			}
			switch {
			case f.bits == 6:
				runText(t, m, "gfx950", fmt.Sprintf("v_cvt_scalef32_pk32_f32_%s v[100:131], v[0:5], v40", f.name))
				for i := range 32 {
					want, _ := f.value(f.get(codes, i))
					if got := m.w.VGPR(100 + i)[0]; got != f32(math.Ldexp(want, e)) {
						t.Fatalf("%s: element %d of %x: %x, want %v", f.name, i, codes, got, want)
					}
				}
				runText(t, m, "gfx950", fmt.Sprintf("v_cvt_scalef32_2xpk16_%s_f32 v[140:145], v[64:79], v[80:95], v40", f.name))
				var out [6]uint32
				for i := range out {
					out[i] = m.w.VGPR(140 + i)[0]
				}
				for i := range 32 {
					if want, _ := f.nearest(math.Ldexp(wide[i], -e)); f.get(out[:], i) != want {
						t.Fatalf("%s: %v / 2^%d: %x, want %x", f.name, wide[i], e, f.get(out[:], i), want)
					}
				}
			case f.bits == 4:
				sel := rnd.IntN(4)
				runText(t, m, "gfx950", fmt.Sprintf("v_cvt_scalef32_pk_f32_fp4 v[100:101], v0, v40 op_sel:[%d,%d,0]", sel&1, sel>>1))
				for i := range 2 {
					want, _ := f.value(codes[0] >> (8*sel + 4*i) & 15)
					if got := m.w.VGPR(100 + i)[0]; got != f32(math.Ldexp(want, e)) {
						t.Fatalf("fp4: %x byte %d: %x, want %v", codes[0], sel, got, want)
					}
				}
				m.w.VGPR(140)[0] = 0xdeadbeef
				runText(t, m, "gfx950", fmt.Sprintf("v_cvt_scalef32_pk_fp4_f32 v140, v64, v80, v40 op_sel:[0,0,%d,%d]", sel&1, sel>>1))
				lo, _ := f.nearest(math.Ldexp(wide[0], -e))
				hi, _ := f.nearest(math.Ldexp(wide[1], -e))
				want := 0xdeadbeef&^(0xff<<(8*sel)) | (lo|hi<<4)<<(8*sel)
				if got := m.w.VGPR(140)[0]; got != uint32(want) {
					t.Fatalf("fp4 of %v %v / 2^%d: %x, want %x", wide[0], wide[1], e, got, want)
				}
			default:
				half := rnd.IntN(2)
				runText(t, m, "gfx950", fmt.Sprintf("v_cvt_scalef32_pk_f32_%s v[100:101], v0, v40 op_sel:[%d,0,0]", f.name, half))
				for i := range 2 {
					want, ok := f.value(codes[0] >> (16*half + 8*i) & 255)
					if got := m.w.VGPR(100 + i)[0]; ok && got != f32(math.Ldexp(want, e)) {
						t.Fatalf("%s: %x half %d: %x, want %v", f.name, codes[0], half, got, want)
					}
				}
				runText(t, m, "gfx950", fmt.Sprintf("v_cvt_scalef32_pk_%s_f32 v140, v64, v80, v40", f.name))
				for i := range 2 {
					want, ok := f.nearest(math.Ldexp(wide[i], -e))
					if got := m.w.VGPR(140)[0] >> (8 * i) & 255; ok && got != want {
						t.Fatalf("%s of %v / 2^%d: %x, want %x", f.name, wide[i], e, got, want)
					}
				}
			}
		}
	}
}

// TestTransposingLoads reads matrices of 16, 8, 6 and 4-bit elements that lie in LDS row by row, sixteen elements a row.
func TestTransposingLoads(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 1))
	for _, c := range []struct {
		name        string
		width, regs int
	}{{"ds_read_b64_tr_b16", 16, 2}, {"ds_read_b64_tr_b8", 8, 2}, {"ds_read_b96_tr_b6", 6, 3}, {"ds_read_b64_tr_b4", 4, 2}} {
		m := newMachine(t, "gfx950", 64)
		each := c.regs * 32 / c.width // rows of a group of sixteen lanes
		bytes := uint32(c.regs * 4)
		cells := make([]uint32, 64*c.regs) // LDS, lane by lane
		for i := range cells {
			cells[i] = rnd.Uint32()
		}
		for l := range 64 { // by way of the instructions that write it
			for r := range c.regs {
				m.w.VGPR(8 + r)[l] = cells[l*c.regs+r]
			}
			m.w.VGPR(4)[l] = uint32(l) * bytes
		}
		runText(t, m, "gfx950", fmt.Sprintf("ds_write_b%d v4, v[8:%d]", 32*c.regs, 7+c.regs))
		runText(t, m, "gfx950", fmt.Sprintf("%s v[0:%d], v4", c.name, c.regs-1))
		f := narrow{bits: c.width}
		for l := range 64 {
			var got [4]uint32
			for r := range c.regs {
				got[r] = m.w.VGPR(r)[l]
			}
			group := cells[l/16*16*c.regs:]
			for row := range each {
				want := f.get(group, row*16+l%16)
				if x := f.get(got[:], row); x != want {
					t.Fatalf("%s: lane %d, row %d: %x, want %x", c.name, l, row, x, want)
				}
			}
		}
	}
}

// TestLaneSwaps has gfx950's swaps of rows and halves, with lanes missing.
func TestLaneSwaps(t *testing.T) {
	for _, c := range []struct {
		n    int
		mods string
	}{{16, ""}, {32, ""}, {16, " bound_ctrl:1"}, {32, " fi:1"}} {
		for _, exec := range []uint64{^uint64(0), 0x0123456789abcdef} {
			m := newMachine(t, "gfx950", 64)
			var v [2][64]uint32
			for l := range 64 {
				for r := range v {
					v[r][l] = uint32(1000*r + l)
					m.w.VGPR(r)[l] = v[r][l]
				}
			}
			m.w.SetEXEC(exec)
			runText(t, m, "gfx950", fmt.Sprintf("v_permlane%d_swap_b32_e64 v0, v1%s", c.n, c.mods))
			for l := range 64 {
				for r := range v {
					want := v[r][l]
					if moves := (l&c.n != 0) == (r == 0); moves && exec>>l&1 != 0 {
						from := v[1-r][l^c.n]
						switch active := exec>>(l^c.n)&1 != 0; {
						case active || c.mods == " fi:1":
							want = from
						case c.mods == " bound_ctrl:1":
							want = 0
						}
					}
					if got := m.w.VGPR(r)[l]; got != want {
						t.Fatalf("permlane%d_swap%s, EXEC %x: v%d lane %d is %d, want %d", c.n, c.mods, exec, r, l, got, want)
					}
				}
			}
		}
	}
}

// TestBitop3 has all 256 functions of three inputs.
func TestBitop3(t *testing.T) {
	for table := range uint32(256) {
		m := newMachine(t, "gfx950", 64)
		a, b, c := uint32(0xf0f0aa33), uint32(0xcc0fccf1), uint32(0xaa5500f7)
		m.w.VGPR(1)[0], m.w.VGPR(2)[0], m.w.VGPR(3)[0] = a, b, c
		runText(t, m, "gfx950", fmt.Sprintf("v_bitop3_b32 v0, v1, v2, v3 bitop3:%#x", table))
		for i := range 32 {
			row := a>>i&1<<2 | b>>i&1<<1 | c>>i&1
			if got := m.w.VGPR(0)[0] >> i & 1; got != table>>row&1 {
				t.Fatalf("bitop3 %#x: bit %d is %d", table, i, got)
			}
		}
	}
}
