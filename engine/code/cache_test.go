package code_test

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
)

const base = 0x10000

// rom is a Translator over one page of code.
type rom struct {
	words [mem.PageSize / 4]uint32
	gone  atomic.Bool
}

func (r *rom) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	if va < base || va >= base+mem.PageSize || r.gone.Load() {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	return unsafe.Add(unsafe.Pointer(&r.words[0]), va-base), base + mem.PageSize - va, mem.Read | mem.Exec, nil
}

var target = &isa.Target{Name: "test"}

// lifter "lifts" two blocks of two words each; it counts its calls and records the first word.
func lifter(calls *atomic.Int64) code.Lifter {
	return func(src lift.Source, t *isa.Target, pc uint64, mode uint32, lanes int) (*ir.Func, error) {
		calls.Add(1)
		var w [4]byte
		if src.Fetch(pc, w[:]) < 4 {
			return nil, &lift.FetchError{PC: pc}
		}
		end := ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Cond: ir.NoID, Imm: uint64(binary.LittleEndian.Uint32(w[:]))}
		return &ir.Func{PC: pc, Mode: mode, Lanes: lanes, Hi: 16, Size: 16, Blocks: []*ir.Block{
			{Index: 0, PC: 0, Insts: 2, Term: ir.Term{Kind: ir.TermJump, Then: 1}}, {Index: 1, PC: 8, Insts: 2, Term: end}}}, nil
	}
}

func first(c *code.Code) uint64 { return c.Func.Blocks[1].Term.Imm }

func TestLookup(t *testing.T) {
	var calls atomic.Int64
	c := code.New(lifter(&calls))
	r := &rom{}
	r.words[0] = 7
	s := &mem.Space{Translator: r}
	l := c.NewLocal()
	look := func(pc uint64, mode uint32, lanes int) (*code.Code, int) {
		t.Helper()
		got, b, err := l.Lookup(s, target, pc, mode, lanes)
		if err != nil {
			t.Fatal(err)
		}
		return got, b
	}
	a, b := look(base, 0, 64)
	if a2, _ := look(base, 0, 64); b != 0 || a2 != a || calls.Load() != 1 || first(a) != 7 {
		t.Fatalf("second lookup: block %d, %d lifts", b, calls.Load())
	}
	// A PC at a block of known code enters there.
	if in, blk := look(base+8, 0, 64); in != a || blk != 1 || calls.Load() != 1 {
		t.Errorf("inner block: block %d, %d lifts", blk, calls.Load())
	}
	// Everything else in the key matters.
	if m, _ := look(base, 1, 64); m == a {
		t.Error("other MODE, same code")
	}
	if m, _ := look(base, 0, 32); m == a {
		t.Error("other wave size, same code")
	}
	if m, _ := look(base+4, 0, 64); m == a || calls.Load() != 4 {
		t.Error("a PC inside a block must be lifted by itself")
	}
}

func TestInvalidateComparesContent(t *testing.T) {
	var calls atomic.Int64
	c := code.New(lifter(&calls))
	r := &rom{}
	s := &mem.Space{Translator: r}
	l := c.NewLocal()
	get := func() *code.Code {
		t.Helper()
		got, _, err := l.Lookup(s, target, base, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	a := get()
	r.words[0] = 9
	if get() != a {
		t.Error("a change was noticed without an invalidate")
	}
	c.Invalidate(s)
	b := get()
	if b == a || first(b) != 9 || calls.Load() != 2 {
		t.Errorf("after the change: word %d, %d lifts", first(b), calls.Load())
	}
	c.Invalidate(s)
	if get() != b || calls.Load() != 2 {
		t.Error("unchanged code was lifted again")
	}
	c.Invalidate(s)
	r.gone.Store(true)
	_, _, err := l.Lookup(s, target, base, 0, 64)
	var f *mem.Fault
	if !errors.As(err, &f) || f.VA != base || f.Lane != -1 {
		t.Errorf("unmapped code: %v", err)
	}
	r.gone.Store(false)
	if get() == b {
		t.Error("code survived being unmapped")
	}
	c.Forget(s)
	n := calls.Load()
	get()
	if calls.Load() != n+1 {
		t.Error("a forgotten space still had code")
	}
}

func TestConcurrentLookupsLiftOnce(t *testing.T) {
	var calls atomic.Int64
	c := code.New(lifter(&calls))
	s := &mem.Space{Translator: &rom{}}
	var built atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			l := c.NewLocal()
			for range 100 {
				got, _, err := l.Lookup(s, target, base, 0, 64)
				if err != nil {
					t.Error(err)
					return
				}
				got.Attachment(code.SlotInterp, func(*ir.Func) any { built.Add(1); return 1 })
			}
		}()
	}
	wg.Wait()
	if calls.Load() != 1 || built.Load() != 1 {
		t.Errorf("%d lifts, %d builds", calls.Load(), built.Load())
	}
}

func TestLifterPanicIsAnError(t *testing.T) {
	c := code.New(func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { panic("bug") })
	if _, _, err := c.Lookup(&mem.Space{Translator: &rom{}}, target, base, 0, 64); err == nil {
		t.Error("no error")
	}
}

// TestCodeThatWasNotThere: a function runs into a page that is missing when it is lifted. Who comes to that place is told of the fault, and finds
// the code when the page has come.
func TestCodeThatWasNotThere(t *testing.T) {
	var calls atomic.Int64
	lifts := lifter(&calls)
	c := code.New(func(src lift.Source, tg *isa.Target, pc uint64, mode uint32, lanes int) (*ir.Func, error) {
		if pc != base-8 {
			return lifts(src, tg, pc, mode, lanes)
		}
		return &ir.Func{PC: pc, Lanes: lanes, Hi: 8, Size: 8, Blocks: []*ir.Block{
			{PC: 0, Insts: 2, Term: ir.Term{Kind: ir.TermJump, Then: 1}},
			{Index: 1, PC: 8, Term: ir.Term{Kind: ir.TermExit, Exit: ir.ExitFetch, Cond: ir.NoID, Next: 8}}}}, nil
	})
	r := &rom{}
	r.gone.Store(true)
	s := &mem.Space{Translator: r}
	l := c.NewLocal()
	if _, _, err := l.Lookup(s, target, base-8, 0, 64); err != nil {
		t.Fatal(err)
	}
	var f *mem.Fault
	if _, _, err := l.Lookup(s, target, base, 0, 64); !errors.As(err, &f) || f.VA != base {
		t.Errorf("the missing page: %v", err)
	}
	r.gone.Store(false)
	if got, b, err := l.Lookup(s, target, base, 0, 64); err != nil || b != 0 || got.Func.PC != base {
		t.Errorf("the page that came: block %d, %v", b, err)
	}
}
