//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"

	"github.com/pumice-gpu/pumice/engine"
)

// codePages is a space of pages of code, which can be taken away.
type codePages struct {
	page [2][mem.PageSize / 4]uint32
	gone [2]bool
}

const wordsBase = 0x40000

func (s *codePages) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	n := (va - wordsBase) / mem.PageSize
	if n >= 2 || s.gone[n] {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	off := (va - wordsBase) % mem.PageSize
	return unsafe.Add(unsafe.Pointer(&s.page[n]), off), mem.PageSize - off, mem.Read | mem.Exec, nil
}

// wordFunc is the language of these tests: the caller, at wordsBase, calls s[8:9] with its return address in s[30:31] until s11 calls are over; any other
// word w is a function that adds w to s10 and returns.
func wordFunc(src lift.Source, _ *isa.Target, pc uint64, _ uint32, lanes int) (*ir.Func, error) {
	var w [4]byte
	if src.Fetch(pc, w[:]) < 4 {
		return nil, &lift.FetchError{PC: pc}
	}
	f := &ir.Func{PC: pc, Lanes: lanes, Hi: 4, Size: 4}
	block := func(insts int) (*ir.Block, func(ir.Value) ir.ID) {
		b := &ir.Block{Index: len(f.Blocks), PC: uint32(64 * len(f.Blocks)), Insts: insts}
		f.Blocks = append(f.Blocks, b)
		return b, func(v ir.Value) ir.ID { return f.Add(b, v) }
	}
	c32 := func(x uint64) ir.Value { return ir.Value{Op: ir.OpConst, Type: ir.S32, Imm: x} }
	if pc != wordsBase {
		b, add := block(2)
		x := add(ir.Value{Op: ir.OpAdd, Type: ir.S32, Args: []ir.ID{add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 10}), add(c32(uint64(binary.LittleEndian.Uint32(w[:]))))}})
		add(ir.Value{Op: ir.OpSSet, Imm: 10, Args: []ir.ID{x}})
		b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitIndirect, Cond: add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 30})}
		return f, nil
	}
	b, add := block(2)
	add(ir.Value{Op: ir.OpSSet64, Imm: 30, Args: []ir.ID{add(ir.Value{Op: ir.OpConst, Type: ir.S64, Imm: pc + 64})}})
	b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitIndirect, Cond: add(ir.Value{Op: ir.OpSGet64, Type: ir.S64, Imm: 8})}
	b, add = block(3)
	n := add(ir.Value{Op: ir.OpSub, Type: ir.S32, Args: []ir.ID{add(ir.Value{Op: ir.OpSGet, Type: ir.S32, Imm: 11}), add(c32(1))}})
	add(ir.Value{Op: ir.OpSSet, Imm: 11, Args: []ir.ID{n}})
	more := add(ir.Value{Op: ir.OpICmp, Type: ir.S1, Pred: ir.NE, Args: []ir.ID{n, add(c32(0))}})
	b.Term = ir.Term{Kind: ir.TermBranch, Cond: more, Then: 0, Else: 2}
	b, _ = block(1)
	b.Term = ir.Term{Kind: ir.TermExit, Exit: ir.ExitEndPgm, Cond: ir.NoID}
	return f, nil
}

// TestLinkFollowsCode changes functions, and which of them is called, between the calls of a loop whose jumps are linked.
func TestLinkFollowsCode(t *testing.T) { onEach(t, testLinkFollowsCode) }

func testLinkFollowsCode(t *testing.T) {
	needJIT(t)
	j, err := NewWith(code.New(wordFunc))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []engine.Engine{interp.NewWith(code.New(wordFunc)), j} {
		s := &codePages{}
		one := uint64(wordsBase + mem.PageSize)
		alike := []uint64{one} // functions whose links have one place
		for pc := one + 4; len(alike) < 3; pc += 4 {
			if linkBucket(pc) == linkBucket(one) {
				alike = append(alike, pc)
			}
		}
		other, third := alike[1], alike[2]
		word := func(pc uint64) *uint32 { return &s.page[1][pc%mem.PageSize/4] }
		*word(one), *word(other), *word(third) = 3, 100, 7
		g := newRig(t, 64, 4)
		defer g.free()
		ms := &mem.Space{Translator: s}
		w := g.w
		w.Space = ms
		k := e.NewWorker()
		defer k.Close()
		calls := func(what string, to uint64, n, sum uint32) {
			t.Helper()
			w.PC, w.Fuel = wordsBase, 1<<40
			w.S[8], w.S[9], w.S[10], w.S[11] = uint32(to), uint32(to>>32), 0, n
			if x := k.Run(w); x != ir.ExitEndPgm || w.S[10] != sum || w.Fuel != 1<<40-7*int64(n)-1 {
				t.Errorf("%s, %s: %v, sum %d, want %d; fuel used %d %s", e.Name(), what, x, w.S[10], sum, 1<<40-w.Fuel, w.Illegal)
			}
		}
		calls("at first", one, 1000, 3000)
		calls("another function", other, 1000, 100_000)
		calls("one more than there is room for", third, 1000, 7000)
		calls("the first again", one, 1000, 3000)
		calls("low bits of the address", one|3, 1000, 3000)
		*word(one) = 5
		calls("changed, but not invalidated", one, 1000, 3000)
		e.InvalidateCode(ms)
		calls("changed and invalidated", one, 1000, 5000)
		calls("beside what changed", other, 1000, 100_000)
		if k, ok := k.(*Worker); ok {
			// Are they linked at all? Then a link may be bent.
			find := func(pc uint64) *link {
				b := &k.m.links.table[linkBucket(pc)]
				for i := range b {
					if b[i].pc == pc {
						return &b[i]
					}
				}
				t.Fatalf("no link to %#x", pc)
				return nil
			}
			a, b := find(one), find(other)
			a.host, b.host = b.host, a.host
			calls("bent", one, 1000, 100_000)
			a.host, b.host = b.host, a.host
		}
		// In the middle of a loop whose fuel is out.
		w.PC, w.Fuel = wordsBase, 100
		w.S[8], w.S[10], w.S[11] = uint32(one), 0, 1000
		if x := k.Run(w); x != ir.ExitFuel || w.Fuel > 0 || w.Fuel < -3 {
			t.Errorf("%s: %v, fuel %d", e.Name(), x, w.Fuel)
		}
		before := w.S[10]
		*word(one) = 1000
		e.InvalidateCode(ms)
		w.Fuel = 700
		if x := k.Run(w); x != ir.ExitFuel || w.S[10]-before < 99*1000 {
			t.Errorf("%s: %v, sum %d from %d on", e.Name(), x, w.S[10], before)
		}
		s.gone[1] = true
		e.InvalidateCode(ms)
		w.PC, w.Fuel = wordsBase, 1<<40
		if x := k.Run(w); x != ir.ExitFault || w.PC != one || w.Fault.VA != one || w.Fault.Kind != mem.FaultNotPresent {
			t.Errorf("%s: code is gone: %v at %#x, %v", e.Name(), x, w.PC, w.Fault)
		}
		s.gone[1] = false
		e.InvalidateCode(ms)
		calls("code is there again", one, 10, 10_000)
	}
}

// BenchmarkCall is a call and a return, with the loop round them.
func BenchmarkCall(b *testing.B) {
	needJIT(b)
	e, err := New()
	if err != nil {
		b.Fatal(err)
	}
	e.cache = code.New(wordFunc)
	s := &codePages{}
	g := newRig(b, 64, 4)
	defer g.free()
	w := g.w
	w.Space = &mem.Space{Translator: s}
	k := e.NewWorker()
	defer k.Close()
	w.PC, w.Fuel = wordsBase, 1<<60
	w.S[8], w.S[9], w.S[11] = wordsBase+mem.PageSize, 0, uint32(b.N)
	b.ResetTimer()
	if x := k.Run(w); x != ir.ExitEndPgm {
		b.Error(x)
	}
}
