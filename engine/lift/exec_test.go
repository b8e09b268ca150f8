package lift_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/fp"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// arena is a piece of host memory that is mapped at its own address.
type arena struct {
	b    []byte
	base uint64
}

func newArena(t testing.TB, size int) *arena {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return &arena{b, uint64(uintptr(unsafe.Pointer(&b[0])))}
}

// Translate implements mem.Translator.
func (a *arena) Translate(va uint64, acc mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	if va < a.base || va >= a.base+uint64(len(a.b)) {
		return nil, 0, 0, &mem.Fault{VA: va, Access: acc, Kind: mem.FaultNotPresent, Lane: -1}
	}
	off := va - a.base
	return unsafe.Pointer(&a.b[off]), uint64(len(a.b)) - off, mem.Read | mem.Write | mem.Exec, nil
}

// env answers hardware register reads.
type env struct{}

func (env) HWReg(_ *wave.Wave, id uint32) uint32 {
	if id == 15 {
		return 0x00010002 // SH_MEM_BASES: shared aperture 0x0001..., private 0x0002...
	}
	return 0x1000 + id
}
func (env) SetHWReg(*wave.Wave, uint32, uint32) {}
func (env) Time(n uint64) uint64                { return 1000 + n }
func (env) Msg(*wave.Wave, uint32, uint32)      {}
func (env) MsgRtn(*wave.Wave, uint32) uint64    { return 0x1122334455667788 }

// machine is one wave with its memory, LDS and scratch.
type machine struct {
	w      *wave.Wave
	a      *arena
	worker engine.Worker
	lds    []byte
}

const (
	codeAt    = 0x1000
	dataAt    = 0x40000
	scratchAt = 0x80000
	stateAt   = 0xc0000
	ldsAt     = 0xb0000
	ldsSize   = 0x4000
	gdsAt     = 0x100000
	gdsSize   = 0x1000
)

// eng runs the tests: the interpreter, or the compiler when PUMICE_TEST_ENGINE is jit.
var eng = func() engine.Engine {
	if os.Getenv("PUMICE_TEST_ENGINE") == "jit" {
		e, err := jit.New()
		if err != nil {
			panic(err)
		}
		return e
	}
	return interp.New()
}()

func newMachine(t testing.TB, cpu string, lanes int) *machine {
	a := newArena(t, 0x140000)
	tg := isa.TargetByName(cpu)
	w := &wave.Wave{Target: tg, Space: &mem.Space{Translator: a, SharedBase: 0x0001000000000000, PrivateBase: 0x0002000000000000}, Env: env{}}
	w.Bind(unsafe.Pointer(&a.b[stateAt]), lanes, 256, 256)
	m := &machine{w: w, a: a, worker: eng.NewWorker(), lds: a.b[ldsAt : ldsAt+ldsSize]}
	w.LDS, w.LDSLen = a.base+ldsAt, ldsSize
	w.SetEXEC(1<<(lanes-1)<<1 - 1)
	w.Space.GDS = a.b[gdsAt : gdsAt+gdsSize]
	w.S[isa.SRegMODE] = lift.HipMode
	s := a.base + scratchAt
	w.S[isa.SRegFlatScratchLo], w.S[isa.SRegFlatScratchHi] = uint32(s), uint32(s>>32)
	t.Cleanup(m.worker.Close)
	return m
}

// run executes code from the start until the wave leaves.
func (m *machine) run(code []byte) ir.Exit {
	copy(m.a.b[codeAt:], code)
	eng.InvalidateCode(m.w.Space)
	m.w.PC = m.a.base + codeAt
	m.w.Fuel = 100000
	return m.worker.Run(m.w)
}

// value parses a number: hexadecimal or decimal bits, or f:, h:, d: for a float in that format; ^name is an address.
func (m *machine) value(s string) (uint64, error) {
	p, v, ok := strings.Cut(s, ":")
	if !ok {
		if strings.HasPrefix(s, "-") {
			n, err := strconv.ParseInt(s, 0, 64)
			return uint64(n), err
		}
		if r, ok := strings.CutPrefix(s, "data"); ok {
			n := uint64(0)
			if r != "" {
				var err error
				if n, err = strconv.ParseUint(r[1:], 0, 64); err != nil {
					return 0, err
				}
			}
			return m.a.base + dataAt + n, nil
		}
		return strconv.ParseUint(s, 0, 64)
	}
	x, err := strconv.ParseFloat(v, 64)
	switch p {
	case "f":
		return uint64(math.Float32bits(float32(x))), err
	case "d":
		return math.Float64bits(x), err
	case "h":
		return fp.Cvt(ir.F64, ir.F16, 0, math.Float64bits(x)), err
	}
	return 0, fmt.Errorf("unknown format %s", p)
}

// cell is a named piece of state: width in bytes and access.
type cell struct {
	bytes   int
	get     func() uint64
	set     func(uint64)
	perLane bool
}

func (m *machine) cell(name string) (cell, error) {
	w := m.w
	s32 := func(n int) cell {
		return cell{bytes: 4, get: func() uint64 { return uint64(w.S[n]) }, set: func(x uint64) { w.S[n] = uint32(x) }}
	}
	s64 := func(n int) cell {
		return cell{bytes: 8, get: func() uint64 { return uint64(w.S[n]) | uint64(w.S[n+1])<<32 },
			set: func(x uint64) { w.S[n], w.S[n+1] = uint32(x), uint32(x>>32) }}
	}
	memory := func(b []byte, rest string) (cell, error) {
		off, err := strconv.ParseUint(strings.Trim(rest, "[]"), 0, 32)
		if err != nil || off+8 > uint64(len(b)) {
			return cell{}, fmt.Errorf("bad offset in %s", name)
		}
		p := (*uint32)(unsafe.Pointer(&b[off]))
		return cell{bytes: 4, get: func() uint64 { return uint64(*p) }, set: func(x uint64) { *p = uint32(x) }}, nil
	}
	switch name {
	case "scc":
		return s32(isa.SRegSCC), nil
	case "m0":
		return s32(isa.SRegM0), nil
	case "mode":
		return s32(isa.SRegMODE), nil
	case "exec":
		if w.Lanes == 32 {
			return s32(isa.SRegEXECLo), nil
		}
		return s64(isa.SRegEXECLo), nil
	case "vcc":
		if w.Lanes == 32 {
			return s32(isa.SRegVCCLo), nil
		}
		return s64(isa.SRegVCCLo), nil
	}
	if r, ok := strings.CutPrefix(name, "mem"); ok {
		return memory(m.a.b[dataAt:], r)
	}
	if r, ok := strings.CutPrefix(name, "gds"); ok {
		return memory(m.w.Space.GDS, r)
	}
	if r, ok := strings.CutPrefix(name, "lds"); ok {
		return memory(m.lds, r)
	}
	if r, ok := strings.CutPrefix(name, "scratch"); ok {
		return memory(m.a.b[scratchAt:], r)
	}
	base, lane, hasLane := strings.Cut(name[1:], ".")
	wide := strings.HasSuffix(base, "d")
	n, err := strconv.Atoi(strings.TrimSuffix(base, "d"))
	if err != nil {
		return cell{}, fmt.Errorf("unknown state %s", name)
	}
	switch name[0] {
	case 's':
		if wide {
			return s64(n), nil
		}
		return s32(n), nil
	case 'a':
		n += 256
		fallthrough
	case 'v':
		l := 0
		if hasLane {
			if l, err = strconv.Atoi(lane); err != nil {
				return cell{}, err
			}
		}
		c := cell{bytes: 4, perLane: !hasLane}
		c.get = func() uint64 {
			x := uint64(w.VGPR(n)[l])
			if wide {
				x |= uint64(w.VGPR(n + 1)[l]) << 32
			}
			return x
		}
		c.set = func(x uint64) {
			for i := range w.Lanes {
				if !hasLane || i == l {
					w.VGPR(n)[i] = uint32(x)
					if wide {
						w.VGPR(n + 1)[i] = uint32(x >> 32)
					}
				}
			}
		}
		if wide {
			c.bytes = 8
		}
		return c, nil
	}
	return cell{}, fmt.Errorf("unknown state %s", name)
}

// each calls f for every name=value of a list.
func (m *machine) each(list string, f func(name string, c cell, v uint64) error) error {
	for _, w := range strings.Fields(list) {
		name, val, ok := strings.Cut(w, "=")
		if !ok {
			return fmt.Errorf("no value in %q", w)
		}
		if val == "lane" { // v0=lane: the lane number
			n, _ := strconv.Atoi(name[1:])
			for i := range m.w.Lanes {
				m.w.VGPR(n)[i] = uint32(i)
			}
			continue
		}
		c, err := m.cell(name)
		if err != nil {
			return err
		}
		v, err := m.value(val)
		if err != nil {
			return fmt.Errorf("%q: %w", w, err)
		}
		if err := f(name, c, v); err != nil {
			return err
		}
	}
	return nil
}

// vector is one line of testdata/*.exec: targets : code | inputs | expected state.
type vector struct {
	pos, cpu     string
	lanes        int
	asm, in, out string
	code         []byte
}

func readVectors(t *testing.T, path string) []*vector {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []*vector
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		targets, rest, ok := strings.Cut(line, ": ")
		p := strings.Split(rest, "|")
		if !ok || len(p) != 3 {
			t.Fatalf("%s:%d: want targets: code | inputs | expected", path, n)
		}
		for _, tg := range strings.Split(targets, ",") {
			cpu, size, _ := strings.Cut(strings.TrimSpace(tg), "/")
			v := &vector{pos: fmt.Sprintf("%s:%d", filepath.Base(path), n), cpu: cpu, lanes: 64, asm: p[0], in: p[1], out: p[2]}
			if x := isa.TargetByName(cpu); x == nil {
				t.Fatalf("%s: no target %s", v.pos, cpu)
			} else if x.Wave32 && size != "64" {
				v.lanes = 32
			}
			out = append(out, v)
		}
	}
	return out
}

// assembleAll gives all vectors their code, with one assembler run for each target and wave size.
func assembleAll(t *testing.T, vs []*vector) {
	groups := map[string][]*vector{}
	for _, v := range vs {
		k := fmt.Sprintf("%s/%d", v.cpu, v.lanes)
		groups[k] = append(groups[k], v)
	}
	for _, g := range groups {
		g = slices.DeleteFunc(g, func(v *vector) bool { return v.halves(t) })
		if len(g) == 0 {
			continue
		}
		var text strings.Builder
		for _, v := range g {
			text.WriteString(strings.ReplaceAll(v.asm, ";", "\n") + "\ns_endpgm\n")
		}
		var opts []string
		if tg := isa.TargetByName(g[0].cpu); tg.Wave32 && g[0].lanes == 64 {
			opts = append(opts, "-mattr=+wavefrontsize64")
		}
		code := lift.Assemble(t, g[0].cpu, text.String(), opts...)
		tg := isa.TargetByName(g[0].cpu).Wave(g[0].lanes)
		for _, v := range g {
			start := 0
			for {
				var in isa.Inst
				if err := isa.Decode(tg, code[start:], &in); err != nil {
					t.Fatalf("%s: %s: %v", v.pos, v.asm, err)
				}
				start += int(in.Size)
				if in.Op.Name == "s_endpgm" {
					break
				}
			}
			v.code, code = code[:start], code[start:]
		}
	}
}

// halves assembles the lines of true16.exec with our own assembler, because LLVM 19 does not know halves of registers (LLVM 21 judges it:
// engine/isa, TestTrue16).
func (v *vector) halves(t *testing.T) bool {
	if !strings.HasPrefix(v.pos, "true16") {
		return false
	}
	tg := isa.TargetByName(v.cpu).Wave(v.lanes)
	for _, s := range append(strings.Split(v.asm, ";"), "s_endpgm") {
		code, err := isa.Assemble(tg, strings.TrimSpace(s))
		if err != nil {
			t.Fatalf("%s: %v", v.pos, err)
		}
		v.code = append(v.code, code...)
	}
	return true
}

// TestExec runs every line of testdata/*.exec.
func TestExec(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.exec")
	var all []*vector
	for _, f := range files {
		all = append(all, readVectors(t, f)...)
	}
	assembleAll(t, all)
	for _, v := range all {
		t.Run(v.pos+"/"+v.cpu, func(t *testing.T) { v.check(t) })
	}
}

// TestExecCompiled runs them on the compiler.
func TestExecCompiled(t *testing.T) {
	j, err := jit.New()
	if err != nil {
		t.Skip(err)
	}
	old := eng
	eng = j
	defer func() { eng = old }()
	TestExec(t)
}

func (v *vector) check(t *testing.T) {
	m := newMachine(t, v.cpu, v.lanes)
	if err := m.each(v.in, func(_ string, c cell, x uint64) error { c.set(x); return nil }); err != nil {
		t.Fatal(err)
	}
	if exit := m.run(v.code); exit != ir.ExitEndPgm {
		t.Fatalf("%s: exit %v %s %v", v.asm, exit, m.w.Illegal, m.w.Fault)
	}
	err := m.each(v.out, func(name string, c cell, want uint64) error {
		if c.bytes == 4 {
			want &= 0xffffffff
		}
		if got := c.get(); got != want {
			t.Errorf("%s: %s = %#x, want %#x", strings.TrimSpace(v.asm), name, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What stands behind a barrier that sinks is done once, before the wave waits, and a wave that comes back goes on behind it.
func TestSunkBarrierRuns(t *testing.T) {
	code := lift.Assemble(t, "gfx90a", `
		v_mov_b32 v0, 1.0
		v_mov_b32 v1, 2.0
		s_barrier
		v_fmac_f32 v0, v1, v1
		v_fmac_f32 v0, v1, v1
		v_fmac_f32 v0, v1, v1
		v_fmac_f32 v0, v1, v0
		s_endpgm`)
	old := eng
	defer func() { eng = old }()
	for _, e := range engines() {
		eng = e
		m := newMachine(t, "gfx90a", 64)
		if x := m.run(code); x != ir.ExitBarrier || m.w.PC != m.a.base+codeAt+uint64(len(code))-4 {
			t.Fatalf("exit %v at %#x", x, m.w.PC-m.a.base-codeAt)
		}
		if x := m.worker.Run(m.w); x != ir.ExitEndPgm {
			t.Fatalf("exit %v", x)
		}
		if x := math.Float32frombits(m.w.VGPR(0)[63]); x != 39 {
			t.Errorf("v0 is %g", x)
		}
	}
}

// engines are all that this machine has.
func engines() []engine.Engine {
	es := []engine.Engine{interp.New()}
	if j, err := jit.New(); err == nil {
		es = append(es, j)
	}
	return es
}
