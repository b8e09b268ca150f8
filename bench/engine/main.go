//go:build linux

// Command engine measures what becomes of code before it runs: decoding, lifting, compiling. It is given programs or code
// objects, and prints a line for each figure, "name value unit", best of several passes over all functions in CPU time.
package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// hipMode is MODE as HIP's runtimes set it: denormals kept, IEEE, DX10 clamp.
const hipMode = 0x3f0

// maxInsts bounds the code that is measured.
const maxInsts = 60_000

// function is a function of a code object.
type function struct {
	text   *text
	target *isa.Target
	pc     uint64
	ir     *ir.Func
}

// text is code memory.
type text struct {
	va uint64
	b  []byte
}

// Fetch implements lift.Source.
func (t *text) Fetch(pc uint64, dst []byte) int {
	if pc < t.va || pc >= t.va+uint64(len(t.b)) {
		return 0
	}
	return copy(dst, t.b[pc-t.va:])
}

// Translate implements mem.Translator.
func (t *text) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	if va < t.va || va >= t.va+uint64(len(t.b)) {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	return unsafe.Pointer(&t.b[va-t.va]), t.va + uint64(len(t.b)) - va, mem.Read | mem.Write | mem.Exec, nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

func run(files []string) error {
	runtime.LockOSThread() // CPU time is the thread's
	t := cpuTime()
	if err := loadTables(); err != nil {
		return err
	}
	report("load_tables", ms(cpuTime()-t), "ms")
	var fs []*function
	for _, f := range files {
		l, err := functions(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		fs = append(fs, l...)
	}
	fs, insts, err := liftAll(fs)
	if err != nil {
		return err
	}
	perInst := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(insts) }
	rate := func(d time.Duration) float64 { return float64(insts) / d.Seconds() / 1e6 }
	n, d := decode(fs)
	report("decode", float64(d.Nanoseconds())/float64(n), "ns/inst")
	d = best(func() {
		for _, f := range fs {
			_, err = lift.Func(f.text, f.target, f.pc, hipMode, f.ir.Lanes)
		}
	})
	if err != nil {
		return err
	}
	report("lift", perInst(d), "ns/inst")
	for _, quick := range []bool{true, false} {
		o := jit.HostOptions()
		o.Quick = quick
		d = best(func() {
			for _, f := range fs {
				if _, e := jit.CompileWith(f.ir, o); e != nil {
					err = e
				}
			}
		})
		if err != nil {
			return err
		}
		name := map[bool]string{true: "compile_first_tier", false: "compile"}[quick]
		report(name, rate(d), "Minst/s")
	}
	if d, err = start(fs); err != nil {
		return err
	}
	report("start_of_a_small_kernel", ms(d), "ms")
	return waves()
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// loadTables makes a process know the instruction set and its meanings, which the first code that it runs does.
func loadTables() error {
	t := isa.TargetByName("gfx90a")
	_, err := lift.Func(&text{b: []byte{0x00, 0x00, 0x81, 0xbf}}, t.Wave(64), 0, hipMode, 64) // s_endpgm
	return err
}

// smallInsts is the most instructions of a kernel that is called small.
const smallInsts = 100

// start is how long the slowest of the small functions takes to be there: decoding, lifting, compiling with everything.
func start(fs []*function) (slowest time.Duration, err error) {
	o := jit.HostOptions()
	for _, f := range fs {
		insts := 0
		for _, b := range f.ir.Blocks {
			insts += b.Insts
		}
		if insts > smallInsts {
			continue
		}
		least := time.Duration(1 << 62)
		for range 20 {
			t := cpuTime()
			x, e := lift.Func(f.text, f.target, f.pc, hipMode, f.ir.Lanes)
			if e == nil {
				_, e = jit.CompileWith(x, o)
			}
			if e != nil {
				err = e
			}
			least = min(least, cpuTime()-t)
		}
		slowest = max(slowest, least)
	}
	return slowest, err
}

func report(name string, x float64, unit string) { fmt.Printf("%s %.6g %s\n", name, x, unit) }

// best is the shortest CPU time of do, of some passes.
func best(do func()) time.Duration {
	least := time.Duration(1 << 62)
	for start, n := cpuTime(), 0; n < 3 || n < 50 && cpuTime()-start < 2*time.Second; n++ {
		runtime.GC()
		t := cpuTime()
		do()
		least = min(least, cpuTime()-t)
	}
	return least
}

func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// functions finds the functions in the code objects of a file.
func functions(path string) (fs []*function, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for off := 0; ; {
		i := bytes.Index(b[off:], []byte("__CLANG_OFFLOAD_BUNDLE__"))
		if i < 0 {
			return fs, nil
		}
		off += i
		u, err := codeobj.OpenBundle(b[off:])
		if err != nil || u.Size() == 0 {
			off += 8
			continue
		}
		for _, e := range u.Entries {
			name, _, _ := strings.Cut(e.ID[strings.LastIndex(e.ID, "--")+2:], ":")
			if t := isa.TargetByName(name); t != nil && len(e.Data) > 0 {
				l, err := object(e.Data, t)
				if err != nil {
					return nil, err
				}
				fs = append(fs, l...)
			}
		}
		off += int(u.Size())
	}
}

func object(data []byte, t *isa.Target) (fs []*function, err error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	s := f.Section(".text")
	if s == nil {
		return nil, nil
	}
	x := &text{va: s.Addr}
	if x.b, err = s.Data(); err != nil {
		return nil, err
	}
	syms, err := f.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	seen := map[uint64]bool{}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && !seen[s.Value] {
			seen[s.Value] = true
			fs = append(fs, &function{text: x, target: t, pc: s.Value})
		}
	}
	return fs, nil
}

// liftAll keeps the functions that are to be measured, with their IR, and counts their instructions.
func liftAll(fs []*function) (kept []*function, insts int, err error) {
	all := 0
	for _, f := range fs {
		all += len(f.text.b)
	}
	for _, f := range fs {
		lanes := 64
		if f.target.Wave32 {
			lanes = 32
		}
		if f.ir, err = lift.Func(f.text, f.target.Wave(lanes), f.pc, hipMode, lanes); err != nil {
			var none *lift.FetchError
			if errors.As(err, &none) {
				continue // a function without code in this object
			}
			return nil, 0, err
		}
		f.target = f.target.Wave(lanes)
		kept = append(kept, f)
		for _, b := range f.ir.Blocks {
			insts += b.Insts
		}
		if insts > maxInsts {
			break
		}
	}
	if insts == 0 {
		return nil, 0, errors.New("no device code")
	}
	return kept, insts, nil
}

// decode decodes the code that was lifted, straight through.
func decode(fs []*function) (n int, d time.Duration) {
	var in isa.Inst
	d = best(func() {
		n = 0
		for _, f := range fs {
			end := f.pc + uint64(f.ir.Hi) - f.text.va
			for at := f.pc - f.text.va; at < end; n++ {
				if isa.Decode(f.target, f.text.b[at:], &in) != nil {
					at += 4
					continue
				}
				at += uint64(in.Size)
			}
		}
	})
	return n, d
}

// waves runs many waves of one kernel in two modes by two workers, and gives how often its code was lifted for them.
func waves() error {
	if !jit.Supported() {
		return nil
	}
	e, err := jit.New()
	if err != nil {
		return err
	}
	t := isa.TargetByName("gfx90a")
	code := &text{va: 0x7000_0000_0000}
	for _, s := range []string{"s_movk_i32 s0, 0x20", "v_fma_f32 v0, v0, v0, v0", "s_sub_u32 s0, s0, 1", "s_cmp_lg_u32 s0, 0", "s_cbranch_scc1 65531", "s_endpgm"} {
		b, err := isa.Assemble(t, s)
		if err != nil {
			return err
		}
		code.b = append(code.b, b...)
	}
	space := &mem.Space{Translator: code, SharedBase: 1 << 48, PrivateBase: 2 << 48}
	const count = 1000
	for range 2 {
		k := e.NewWorker()
		defer k.Close()
		state, err := rt.Memory(wave.StateSize(64, 8, 0))
		if err != nil {
			return err
		}
		for i := range count / 2 {
			w := &wave.Wave{}
			w.Bind(unsafe.Pointer(&state[0]), 64, 8, 0)
			w.Space, w.Target, w.PC, w.Fuel = space, t.Wave(64), code.va, 1<<20
			w.S[isa.SRegMODE] = hipMode | uint32(i&1)
			w.SetEXEC(^uint64(0))
			if x := k.Run(w); x != ir.ExitEndPgm {
				return fmt.Errorf("a wave left by %s: %s", x, w.Illegal)
			}
		}
	}
	report("lifts_of_a_kernel_run_by_1000_waves_in_2_modes", float64(e.Stats().FuncsLifted), "lifts")
	return nil
}
