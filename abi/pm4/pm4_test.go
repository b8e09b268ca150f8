package pm4

import (
	"reflect"
	"testing"
)

// The packets that ROCr and kfdtest write (kernel-abi.md §5.5).
func TestAsMeasured(t *testing.T) {
	if w := (IndirectBuffer{Addr: 0x7f0012340000, Dwords: 7}).Append(nil); !reflect.DeepEqual(w, []uint32{0xc0023f00, 0x12340000, 0x7f00, 0x00800007}) {
		t.Errorf("%#x", w)
	}
	w := []uint32{0xc0055800, 0x28840000, 0xffffffff, 0xff, 0, 0, 4}
	if h := Header(w[0]); h.Op() != OpAcquireMem || h.Dwords() != len(w) || h.Type() != 3 {
		t.Errorf("%v %d", h.Op(), h.Dwords())
	}
	if !ReadAcquireMem(w[1:]).InstructionCache() {
		t.Error("gfx9 ACQUIRE_MEM")
	}
	if a := ReadAcquireMem([]uint32{0, 0xffffffff, 0xff, 0, 0, 4, 0x4381}); !a.InstructionCache() {
		t.Error("gfx10 ACQUIRE_MEM")
	}
	if a := ReadAcquireMem([]uint32{0, 0xffffffff, 0xff, 0, 0, 4, 0x4380}); a.InstructionCache() {
		t.Error("gfx10 ACQUIRE_MEM without GLI_INV")
	}
}

func TestRoundTrips(t *testing.T) {
	check := func(want, got any, w []uint32) {
		t.Helper()
		h := Header(w[0])
		if !reflect.DeepEqual(want, got) || h.Dwords() != len(w) || h.Type() != 3 || len(w)-1 < MinBody(h.Op()) {
			t.Errorf("%v: %+v, %+v, %d of %d dwords", h.Op(), want, got, h.Dwords(), len(w))
		}
	}
	const a, b = 0x1122334455667788, 0xaabbccddeeff0011
	ib := IndirectBuffer{Addr: a, Dwords: 77, Chain: true}
	w := ib.Append(nil)
	check(ib, ReadIndirectBuffer(w[1:]), w)
	ac := AcquireMem{CoherCntl: 5, Base: a, Size: b, GCRCntl: 9}
	w = ac.Append(nil, true)
	check(ac, ReadAcquireMem(w[1:]), w)
	r := ReleaseMem{Event: 0x514, Addr: a, Data: b, DataSel: 2, IntSel: 2, ContextID: 0x1234}
	w = r.Append(nil)
	check(r, ReadReleaseMem(w[1:]), w)
	d := WriteData{Dst: 5, Addr: a, Same: true, Data: []uint32{1, 2, 3}}
	w = d.Append(nil)
	check(d, ReadWriteData(w[1:]), w)
	p := WaitRegMem{Func: 3, Memory: true, Addr: a, Ref: 1, Mask: 2}
	w = p.Append(nil)
	check(p, ReadWaitRegMem(w[1:]), w)
	c := CopyData{Src: 1, Dst: 5, Wide: true, SrcAddr: a, DstAddr: b}
	w = c.Append(nil)
	check(c, ReadCopyData(w[1:]), w)
	m := AtomicMem{Op: 47, Loop: true, Addr: a, Src: b, Cmp: 3}
	w = m.Append(nil)
	check(m, ReadAtomicMem(w[1:]), w)
	if Header(0xffff1000).Dwords() != 1 || Header(0x80000000).Dwords() != 1 {
		t.Error("fillers")
	}
}
