package interp

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lane"
)

// The naive model: every operation in order, every value in its own array, nothing renamed, forwarded or fused.

type modelValue struct {
	v [][64]uint32 // registers of a per-lane value
	s []uint32     // words of a uniform one
	m uint64       // mask or truth value
}

type model struct {
	f    *ir.Func
	vals map[ir.ID]*modelValue
	v    [64][64]uint32
	s    [isa.NumSRegs]uint32
	lds  []byte
	mem  []byte // global memory from address base; beyond its end every access faults
	base uint64
	full uint64
}

func (m *model) lane(id ir.ID, l int) uint64 {
	x := m.vals[id]
	switch m.f.V(id).Type {
	case ir.V32:
		return uint64(x.v[0][l])
	case ir.V64:
		return uint64(x.v[0][l]) | uint64(x.v[1][l])<<32
	case ir.M:
		return x.m >> uint(l) & 1
	case ir.S1:
		return x.m
	case ir.S32:
		return uint64(x.s[0])
	case ir.S64:
		return uint64(x.s[0]) | uint64(x.s[1])<<32
	}
	panic("lane of a tuple")
}

// run executes block 0's code; it returns the position of a faulting operation, or -1.
func (m *model) run() int {
	n := m.f.Lanes
	for pos, id := range m.f.Blocks[0].Code {
		v := m.f.V(id)
		out := &modelValue{}
		m.vals[id] = out
		arg := func(i int) *modelValue { return m.vals[v.Args[i]] }
		switch v.Op {
		case ir.OpConst:
			switch v.Type {
			case ir.V32, ir.V64:
				out.v = make([][64]uint32, v.Regs())
				for i := range out.v {
					for l := range 64 {
						out.v[i][l] = uint32(v.Imm >> (32 * i))
					}
				}
			case ir.M:
				out.m = v.Imm & m.full
			default:
				out.s = []uint32{uint32(v.Imm), uint32(v.Imm >> 32)}
			}
		case ir.OpVGet:
			out.v = [][64]uint32{m.v[v.Imm]}
		case ir.OpVSet:
			k := arg(1).m
			for l := range n {
				if k>>uint(l)&1 != 0 {
					m.v[v.Imm][l] = uint32(m.lane(v.Args[0], l))
				}
			}
		case ir.OpSGet:
			out.s = []uint32{m.s[v.Imm]}
		case ir.OpSGet64:
			out.s = []uint32{m.s[v.Imm], m.s[v.Imm+1]}
		case ir.OpSSet:
			m.s[v.Imm] = arg(0).s[0]
		case ir.OpSSet64:
			m.s[v.Imm], m.s[v.Imm+1] = arg(0).s[0], arg(0).s[1]
		case ir.OpMGet:
			out.m = (uint64(m.s[v.Imm]) | uint64(m.s[v.Imm+1])<<32) & m.full
		case ir.OpMSet:
			m.s[v.Imm] = uint32(arg(0).m)
			if n == 64 {
				m.s[v.Imm+1] = uint32(arg(0).m >> 32)
			}
		case ir.OpMAnd:
			out.m = arg(0).m & arg(1).m
		case ir.OpMOr:
			out.m = arg(0).m | arg(1).m
		case ir.OpMNot:
			out.m = ^arg(0).m & m.full
		case ir.OpMToS:
			out.s = []uint32{uint32(arg(0).m), uint32(arg(0).m >> 32)}
		case ir.OpTuple:
			for _, a := range v.Args {
				var r [64]uint32
				for l := range 64 {
					r[l] = uint32(m.lane(a, l))
				}
				out.v = append(out.v, r)
			}
		case ir.OpElem:
			out.v = [][64]uint32{arg(0).v[v.Imm]}
		case ir.OpPermConst:
			out.v = make([][64]uint32, 1)
			for l := range n {
				if s := v.Aux.(*[64]int8)[l]; s >= 0 {
					out.v[0][l] = uint32(m.lane(v.Args[0], int(s)&(n-1)))
				}
			}
		case ir.OpReadFirst:
			l := 0
			if k := arg(1).m; k != 0 {
				l = bits.TrailingZeros64(k)
			}
			out.s = []uint32{uint32(m.lane(v.Args[0], l))}
		case ir.OpLoad, ir.OpStore:
			if !m.memory(v, out) {
				return pos
			}
		case ir.OpLaneID:
			out.v = make([][64]uint32, 1)
			for l := range 64 {
				out.v[0][l] = uint32(l)
			}
		default:
			m.pure(v, out)
		}
	}
	return -1
}

func (m *model) pure(v *ir.Value, out *modelValue) {
	width := 32
	for _, a := range v.Args {
		if w := m.f.V(a).Type.Width(); w != 0 {
			width = w
			break
		}
	}
	fn := lane.Func(v, width)
	at := func(l int) uint64 {
		var x [4]uint64
		for i, a := range v.Args {
			x[i] = m.lane(a, l)
		}
		return fn(x[0], x[1], x[2], x[3])
	}
	switch v.Type {
	case ir.V32, ir.V64:
		out.v = make([][64]uint32, v.Regs())
		for l := range m.f.Lanes {
			x := at(l)
			for i := range out.v {
				out.v[i][l] = uint32(x >> (32 * i))
			}
		}
	case ir.M:
		for l := range m.f.Lanes {
			out.m |= at(l) & 1 << uint(l)
		}
	case ir.S1:
		out.m = at(0) & 1
	default:
		x := at(0)
		out.s = []uint32{uint32(x), uint32(x >> 32)}
	}
}

// memory does a load or store; an access that is not all in memory faults before anything is done.
func (m *model) memory(v *ir.Value, out *modelValue) bool {
	k := m.vals[v.Args[2]].m
	w := int(v.Width)
	mem, base := m.mem, m.base
	if v.Space == ir.LDS {
		mem, base = m.lds, 0
	}
	addr := func(l int) int {
		a := m.lane(v.Args[0], l) + m.lane(v.Args[1], l) + uint64(int64(int32(v.Imm)))
		if v.Space == ir.LDS {
			a &= 0xffffffff
		}
		return int(a - base)
	}
	if v.Space != ir.LDS {
		for l := range m.f.Lanes {
			if k>>uint(l)&1 != 0 && (addr(l) < 0 || addr(l)+w > len(mem)) {
				return false
			}
		}
	}
	n := max(1, w/4)
	if v.Op == ir.OpLoad {
		out.v = make([][64]uint32, n)
	}
	for l := range m.f.Lanes {
		if k>>uint(l)&1 == 0 {
			continue
		}
		a := addr(l)
		for i := range n {
			p := a + 4*i
			size := min(w, 4)
			if p < 0 || p+size > len(mem) {
				continue // LDS: reads 0, writes nothing
			}
			var b [4]byte
			copy(b[:size], mem[p:])
			if v.Op == ir.OpLoad {
				out.v[i][l] = binary.LittleEndian.Uint32(b[:])
				continue
			}
			var x uint32
			if d := m.vals[v.Args[3]]; d.v != nil {
				x = d.v[i][l]
			} else {
				x = d.s[0]
			}
			binary.LittleEndian.PutUint32(b[:], x)
			copy(mem[p:], b[:size])
		}
	}
	return true
}

// gen makes random blocks: a few registers, so that reads, writes and masks meet.
type gen struct {
	r    *rand.Rand
	f    *ir.Func
	b    *ir.Block
	v32  []ir.ID
	v64  []ir.ID
	s32  []ir.ID
	s64  []ir.ID
	m    []ir.ID
	t    []ir.ID
	regs int
}

func (g *gen) pick(l []ir.ID) ir.ID { return l[max(0, len(l)-1-g.r.IntN(min(len(l), 6)))] }

func (g *gen) add(v ir.Value, args ...ir.ID) ir.ID {
	v.Args = args
	v.PC = uint32(4 * len(g.b.Code))
	id := g.f.Add(g.b, v)
	switch v.Type {
	case ir.V32:
		g.v32 = append(g.v32, id)
	case ir.V64:
		g.v64 = append(g.v64, id)
	case ir.S32:
		g.s32 = append(g.s32, id)
	case ir.S64:
		g.s64 = append(g.s64, id)
	case ir.M:
		g.m = append(g.m, id)
	case ir.T:
		g.t = append(g.t, id)
	}
	return id
}

// n32 is a 32-bit operand, now and then a uniform one.
func (g *gen) n32() ir.ID {
	if g.r.IntN(5) == 0 {
		return g.pick(g.s32)
	}
	return g.pick(g.v32)
}

func (g *gen) step() {
	reg := uint64(g.r.IntN(g.regs))
	bin := []ir.Op{ir.OpAdd, ir.OpSub, ir.OpXor, ir.OpMul, ir.OpShl, ir.OpMinS, ir.OpFAdd, ir.OpFMul}
	op := bin[g.r.IntN(len(bin))]
	val := ir.Value{Op: op, Type: ir.V32}
	if op == ir.OpFAdd || op == ir.OpFMul {
		val.Kind = ir.F32
	}
	mask := g.pick(g.m)
	switch g.r.IntN(24) {
	case 0, 1, 2:
		g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: reg})
	case 3, 4, 5, 6:
		g.add(ir.Value{Op: ir.OpVSet, Imm: reg}, g.n32(), mask)
	case 7, 8, 9:
		g.add(val, g.pick(g.v32), g.n32())
	case 10:
		id := g.add(ir.Value{Op: ir.OpFMA, Kind: ir.F32, Type: ir.V32}, g.pick(g.v32), g.n32(), g.n32())
		g.add(ir.Value{Op: ir.OpVSet, Imm: reg}, id, mask)
	case 11:
		id := g.add(ir.Value{Op: ir.OpPair, Type: ir.V64}, g.pick(g.v32), g.n32())
		g.add(ir.Value{Op: ir.OpMulU64, Type: ir.V64}, g.pick(g.v32), g.pick(g.v32))
		g.add(ir.Value{Op: ir.OpAdd, Type: ir.V64}, id, g.pick(g.v64))
	case 12:
		id := g.add(ir.Value{Op: ir.OpShl, Type: ir.V64}, g.pick(g.v64), g.n32())
		lo := g.add(ir.Value{Op: ir.OpLo, Type: ir.V32}, id)
		hi := g.add(ir.Value{Op: ir.OpHi, Type: ir.V32}, id)
		g.add(ir.Value{Op: ir.OpVSet, Imm: reg}, lo, mask)
		if g.r.IntN(2) == 0 {
			mask = g.pick(g.m)
		}
		g.add(ir.Value{Op: ir.OpVSet, Imm: (reg + 1) % uint64(g.regs)}, hi, mask)
	case 13:
		g.add(ir.Value{Op: ir.OpICmp, Pred: ir.Pred(g.r.IntN(10)), Type: ir.M}, g.pick(g.v32), g.n32())
	case 14:
		g.add(ir.Value{Op: ir.OpSelect, Type: ir.V32}, mask, g.pick(g.v32), g.n32())
	case 15:
		a := g.add(ir.Value{Op: ir.OpMAnd, Type: ir.M}, mask, g.pick(g.m))
		if g.r.IntN(2) == 0 {
			g.add(ir.Value{Op: ir.OpMSet, Imm: 126}, a)
			g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: 126})
		} else {
			g.add(ir.Value{Op: ir.OpMNot, Type: ir.M}, a)
		}
	case 16:
		g.add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: uint64(g.r.IntN(8))})
		g.add(ir.Value{Op: ir.OpSSet, Imm: uint64(g.r.IntN(8))}, g.pick(g.s32))
		g.add(ir.Value{Op: ir.OpAdd, Type: ir.S32}, g.pick(g.s32), g.pick(g.s32))
	case 17:
		id := g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: uint64(g.r.IntN(7))})
		g.add(ir.Value{Op: ir.OpHi, Type: ir.S32}, id)
		if g.r.IntN(2) == 0 {
			g.add(ir.Value{Op: ir.OpSSet64, Imm: uint64(g.r.IntN(7))}, g.pick(g.s64))
		}
		g.add(ir.Value{Op: ir.OpLo, Type: ir.S32}, id)
	case 18:
		var t [64]int8
		for i := range t {
			t[i] = int8(g.r.IntN(g.f.Lanes+1) - 1)
		}
		id := g.add(ir.Value{Op: ir.OpPermConst, Type: ir.V32, Aux: &t}, g.pick(g.v32))
		g.add(ir.Value{Op: ir.OpVSet, Imm: reg}, id, mask)
	case 19:
		g.add(ir.Value{Op: ir.OpReadFirst, Type: ir.S32}, g.pick(g.v32), mask)
	case 20, 21:
		g.memory(reg, mask)
	case 22:
		g.add(ir.Value{Op: ir.OpCarryAdd, Type: ir.M}, g.pick(g.v32), g.pick(g.v32), mask)
	case 23:
		id := g.add(ir.Value{Op: ir.OpSad, Kind: ir.U8, Type: ir.V32}, g.pick(g.v32), g.n32(), g.pick(g.v32)) // has no fast loop
		g.add(ir.Value{Op: ir.OpVSet, Imm: reg}, id, mask)
	}
}

// memory adds an access at base + (x & 1023) * 4, sometimes beyond the end.
func (g *gen) memory(reg uint64, mask ir.ID) {
	c := func(x uint64) ir.ID { return g.add(ir.Value{Op: ir.OpConst, Type: ir.V32, Imm: x}) }
	off := g.pick(g.v32)
	if g.r.IntN(2) == 0 {
		off = g.add(ir.Value{Op: ir.OpShl, Type: ir.V32}, g.add(ir.Value{Op: ir.OpLaneID, Type: ir.V32}), c(uint64(2+g.r.IntN(3))))
	} else {
		off = g.add(ir.Value{Op: ir.OpAnd, Type: ir.V32}, off, c(0xffc>>g.r.IntN(3)|uint64(g.r.IntN(4))))
	}
	w := []uint8{1, 2, 4, 8, 16}[g.r.IntN(5)]
	n := max(1, int(w)/4)
	v := ir.Value{Op: ir.OpLoad, Type: ir.T, N: uint8(n), Width: w, Imm: uint64(g.r.IntN(64))}
	if g.r.IntN(4) == 0 {
		v.Imm = modelMem - 2048 // likely to fault
	}
	base := g.b.Code[0] // the address of memory
	if g.r.IntN(2) == 0 {
		v.Space, base = ir.LDS, g.b.Code[1]
	}
	if g.r.IntN(3) == 0 {
		v.Op, v.Type, v.N = ir.OpStore, ir.Void, 0
		data := g.pick(g.v32)
		if n > 1 {
			var l []ir.ID
			for range n {
				l = append(l, g.n32())
			}
			data = g.add(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(n)}, l...)
		}
		g.add(v, base, off, mask, data)
		return
	}
	if n == 1 {
		v.Type, v.N = ir.V32, 0
		id := g.add(v, base, off, mask)
		g.add(ir.Value{Op: ir.OpVSet, Imm: reg}, id, mask)
		return
	}
	id := g.add(v, base, off, mask)
	for i := range n {
		e := g.add(ir.Value{Op: ir.OpElem, Type: ir.V32, Imm: uint64(i)}, id)
		if g.r.IntN(6) > 0 {
			m := mask
			if g.r.IntN(6) == 0 {
				m = g.pick(g.m)
			}
			g.add(ir.Value{Op: ir.OpVSet, Imm: (reg + uint64(i)) % uint64(g.regs)}, e, m)
		}
	}
}

const modelMem = 3 * 4096

func randomFunc(r *rand.Rand, steps int) *ir.Func {
	f := &ir.Func{Lanes: 64, Target: "gfx90a"}
	if r.IntN(3) == 0 {
		f.Lanes = 32
	}
	b := &ir.Block{Insts: 1, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Cond: ir.NoID}}
	f.Blocks = []*ir.Block{b}
	g := &gen{r: r, f: f, b: b, regs: 3 + r.IntN(6)}
	g.add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 20})
	g.add(ir.Value{Op: ir.OpConst, Type: ir.S32, Imm: uint64(r.IntN(2000))})
	g.add(ir.Value{Op: ir.OpMGet, Type: ir.M, Imm: 126})
	g.add(ir.Value{Op: ir.OpConst, Type: ir.M, Imm: r.Uint64()})
	for i := range 3 {
		g.add(ir.Value{Op: ir.OpVGet, Type: ir.V32, Imm: uint64(i)})
	}
	g.add(ir.Value{Op: ir.OpPair, Type: ir.V64}, g.v32[0], g.v32[1])
	for range steps {
		g.step()
	}
	return f
}

// TestAgainstModel runs random blocks on the interpreter and on the model: registers, memory and the place of a fault
// must be the same.
func TestAgainstModel(t *testing.T) {
	runs := 400
	if testing.Short() {
		runs = 100
	}
	faults := 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 99))
		f := randomFunc(r, 5+r.IntN(60))
		text := f.String()
		rg := newRig(t, text)
		for p := modelMem / 4096; p < len(rg.mem.buf)/4096; p++ {
			rg.mem.hole[uint64(p)] = true
		}
		m := &model{f: f, vals: map[ir.ID]*modelValue{}, base: rg.mem.base, mem: make([]byte, modelMem), full: ^uint64(0) >> (64 - uint(f.Lanes))}
		rg.w.S[20], rg.w.S[21] = uint32(rg.mem.base), uint32(rg.mem.base>>32)
		for i := range 8 {
			rg.w.S[i] = r.Uint32()
		}
		if r.IntN(2) == 0 {
			rg.w.SetEXEC(r.Uint64() & m.full)
		}
		copy(m.s[:], rg.w.S[:])
		for i := range 16 {
			for l := range f.Lanes {
				x := r.Uint32() >> (r.UintN(4) * 8)
				rg.v(i)[l], m.v[i][l] = x, x
			}
		}
		for i := range m.mem {
			m.mem[i] = byte(r.Uint32())
		}
		copy(rg.mem.buf, m.mem)
		rg.w.LDSLen = uint64(1000 + r.IntN(3000))
		m.lds = make([]byte, rg.w.LDSLen)
		exit := rg.wk.Run(rg.w)
		pos := m.run()
		fail := func(format string, a ...any) {
			t.Fatalf("seed %d: %s\n%s", seed, fmt.Sprintf(format, a...), text)
		}
		if pos < 0 && exit != ir.ExitEndPgm || pos >= 0 && (exit != ir.ExitFault || rg.w.PC-rg.mem.base != uint64(4*pos)) {
			fail("exit %v at +%d (%s), the model stops at %d", exit, rg.w.PC-rg.mem.base, rg.w.Illegal, 4*pos)
		}
		if pos >= 0 {
			faults++
		}
		for i := range 16 {
			for l := range f.Lanes {
				if rg.v(i)[l] != m.v[i][l] {
					fail("v%d lane %d = %#x, want %#x", i, l, rg.v(i)[l], m.v[i][l])
				}
			}
		}
		for i, x := range m.s[:isa.SRegMODE] {
			if rg.w.S[i] != x {
				fail("s%d = %#x, want %#x", i, rg.w.S[i], x)
			}
		}
		if string(rg.mem.buf[:modelMem]) != string(m.mem) {
			fail("memory differs")
		}
		if string(rg.lds[:len(m.lds)]) != string(m.lds) {
			fail("LDS differs")
		}
	}
	if faults < runs/50 {
		t.Errorf("only %d of %d runs faulted", faults, runs)
	}
}
