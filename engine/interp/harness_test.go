package interp

import (
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// arena is a Translator over one buffer; pages in hole are not mapped, pages in ro are read-only.
type arena struct {
	base uint64
	buf  []byte
	hole map[uint64]bool
	ro   map[uint64]bool
}

func newArena(pages int) *arena {
	b := make([]byte, (pages+1)*mem.PageSize)
	skew := -uintptr(unsafe.Pointer(&b[0])) & (mem.PageSize - 1)
	return &arena{base: 0x7f0000000000, buf: b[skew:][:pages*mem.PageSize], hole: map[uint64]bool{}, ro: map[uint64]bool{}}
}

func (a *arena) Translate(va uint64, acc mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	page := (va - a.base) >> mem.PageShift
	if va < a.base || va-a.base >= uint64(len(a.buf)) || a.hole[page] {
		return nil, 0, 0, &mem.Fault{VA: va, Access: acc, Kind: mem.FaultNotPresent}
	}
	if a.ro[page] {
		if acc&mem.Write != 0 {
			return nil, 0, 0, &mem.Fault{VA: va, Access: acc, Kind: mem.FaultReadOnly}
		}
		return unsafe.Pointer(&a.buf[va-a.base]), mem.PageSize - va&pageMask, mem.Read, nil
	}
	return unsafe.Pointer(&a.buf[va-a.base]), mem.PageSize - va&pageMask, mem.Read | mem.Write | mem.Exec, nil
}

func (a *arena) word(off int) *uint32 { return (*uint32)(unsafe.Pointer(&a.buf[off])) }

var testTarget = &isa.Target{Name: "gfx90a", Gen: isa.GFX9}

// rig is a wave, its memory and a worker that runs text IR.
type rig struct {
	w     *wave.Wave
	mem   *arena
	space *mem.Space
	wk    *Worker
	lds   []byte
	state []uint32
}

// newRig makes a rig whose code at any PC is the given text; block PCs decide where runs resume.
func newRig(t testing.TB, text string) *rig {
	t.Helper()
	f, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(f); err != nil {
		t.Fatal(err)
	}
	r := &rig{mem: newArena(64)}
	f.PC = r.mem.base
	r.space = &mem.Space{Translator: r.mem, SharedBase: 0x1_0000_0000_0000, PrivateBase: 0x2_0000_0000_0000}
	cache := code.New(func(src lift.Source, _ *isa.Target, pc uint64, mode uint32, lanes int) (*ir.Func, error) {
		if src.Fetch(pc, make([]byte, 4)) == 0 {
			return nil, &lift.FetchError{PC: pc}
		}
		g := *f
		if d := pc - f.PC; d != 0 { // resume in the middle: the blocks from there on
			g.PC = pc
			t.Fatalf("run resumes at %#x, which starts no block", d)
		}
		return &g, nil
	})
	r.wk = NewWith(cache).NewWorker().(*Worker)
	t.Cleanup(r.wk.Close)
	n := wave.StateSize(f.Lanes, 128, 32)
	r.state = alignedWords(n / 4)
	r.w = &wave.Wave{}
	r.w.Bind(unsafe.Pointer(&r.state[0]), f.Lanes, 128, 32)
	r.w.Space, r.w.Target = r.space, testTarget
	r.w.PC = f.PC
	r.w.Fuel = 1 << 40
	r.w.SetEXEC(^uint64(0) >> (64 - uint(f.Lanes)))
	r.lds = make([]byte, 4096)
	r.w.LDS, r.w.LDSLen = uint64(uintptr(unsafe.Pointer(&r.lds[0]))), uint64(len(r.lds))
	return r
}

func (r *rig) v(n int) []uint32 { return r.w.VGPR(n) }

// body wraps operations in a one-block function that ends the program.
func body(lanes string, code string) string {
	return "func 0 lanes=" + lanes + "\nb0 @0 insts=1:\n" + code + "\n  exit endpgm @0\n"
}

func (r *rig) run(t testing.TB, want ir.Exit) {
	t.Helper()
	if got := r.wk.Run(r.w); got != want {
		t.Fatalf("exit %v (%s, fault %v at %#x), want %v", got, r.w.Illegal, r.w.Fault, r.w.PC-r.mem.base, want)
	}
}
