package mem_test

import (
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/mem"
)

// apart is memory in pieces of one page, contiguous in the host except where page number far begins.
type apart struct {
	b   []byte
	far uint64
}

func (p *apart) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	at := va
	if va>>mem.PageShift >= p.far {
		at += mem.PageSize // a page is left out
	}
	if at >= uint64(len(p.b)) {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	return unsafe.Pointer(&p.b[at]), mem.PageSize - va%mem.PageSize, mem.Read | mem.Write, nil
}

func TestWindows(t *testing.T) {
	p := &apart{make([]byte, 100*mem.PageSize), 80}
	s := &mem.Space{Translator: p}
	tlb := mem.NewTLB()
	tlb.Enter(s)
	defer tlb.Close()
	if !tlb.MoveWindow(3, 5*mem.PageSize+8, 7*mem.PageSize, mem.Read) {
		t.Fatal("the window did not move")
	}
	w := &tlb.Windows[3]
	if w.Base != 5*mem.PageSize || w.Base+w.Size < 7*mem.PageSize+1 {
		t.Errorf("window %#x+%#x", w.Base, w.Size)
	}
	if !tlb.MoveWindow(3, 70*mem.PageSize, 71*mem.PageSize, mem.Read) || w.Base+w.Size != 80*mem.PageSize {
		t.Errorf("window %#x+%#x, want an end at %#x", w.Base, w.Size, 80*mem.PageSize)
	}
	if tlb.MoveWindow(3, 79*mem.PageSize, 81*mem.PageSize, mem.Read) {
		t.Error("a window over pages that lie apart")
	}
	if tlb.MoveWindow(3, 98*mem.PageSize, 99*mem.PageSize, mem.Read) {
		t.Error("a window over the end")
	}
	// Rows that lie apart grow one range.
	for _, page := range []uint64{10, 18, 26, 2} {
		if !tlb.Span(1, page*mem.PageSize, 256, mem.Read) {
			t.Fatalf("page %d", page)
		}
	}
	if r := &tlb.Ranges[1]; r.Base != 2*mem.PageSize || r.Base+r.R < 26*mem.PageSize+256 {
		t.Errorf("range %#x+%#x", r.Base, r.R)
	}
	tlb.Leave()
	s.Flush()
	tlb.Enter(s)
	if w.Size != 0 || tlb.Ranges[1].R != 0 {
		t.Error("a flush left a window")
	}
}
