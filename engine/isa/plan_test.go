package isa

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"
)

// TestPlans compares decoding by plans with decoding without, for every row and random values of the other fields.
func TestPlans(t *testing.T) {
	each := 10
	if os.Getenv("PUMICE_ISA_WORDS") != "" {
		each = 1000
	}
	for _, base := range Targets() {
		for _, tg := range []*Target{base.Wave(32), base.Wave(64)} {
			rng := rand.New(rand.NewPCG(1, 2))
			n, planned := 0, 0
			for f := range tg.decoder().tab {
				for op := range tg.decoder().tab[f] {
					e := &tg.decoder().tab[f][op]
					if e.op == nil {
						continue
					}
					for range each {
						code := e.random(tg.decoder(), Format(f), op, rng)
						n++
						if comparePlan(t, tg, code) {
							planned++
						}
					}
				}
			}
			if planned < n/3 {
				t.Errorf("%s, masks of %d: only %d of %d by a plan", tg.Name, tg.maskN, planned, n)
			}
		}
	}
}

// random makes words of a row: bits that must be zero are, and operands are often those that mean something else.
func (e *entry) random(d *decoder, f Format, op int, rng *rand.Rand) []byte {
	l := d.lay[f]
	w := words{rng.Uint64(), rng.Uint64()}
	for id := range l.f {
		if fld := &l.f[id]; fld.width != 0 {
			switch rng.IntN(4) {
			case 0:
				fld.put(&w, 0)
			case 1:
				fld.put(&w, []uint32{124, 125, 127, 128, 233, 249, 250, 255, 256, 1 << 17}[rng.IntN(10)])
			}
		}
	}
	w.lo &^= e.mbz.lo
	w.hi &^= e.mbz.hi
	if l.has(fSeg) {
		l.f[fSeg].put(&w, map[Format]uint32{FLAT: 0, SCRATCH: 1, GLOBAL: 2}[f])
	}
	if f == MTBUF && d.gen == GFX12 {
		op += 0x80
	}
	l.f[fOp].put(&w, uint32(op))
	pre := field{shift: l.preShift, width: l.preWidth}
	pre.put(&w, l.preValue)
	code := make([]byte, 20)
	binary.LittleEndian.PutUint64(code, w.lo)
	binary.LittleEndian.PutUint64(code[8:], w.hi)
	binary.LittleEndian.PutUint32(code[16:], rng.Uint32())
	if l.size < 8 {
		binary.LittleEndian.PutUint32(code[4:], rng.Uint32())
	}
	return code
}

// comparePlan decodes code both ways, after an instruction that leaves nothing of Inst as it was, and says whether a plan did it.
func comparePlan(t *testing.T, tg *Target, code []byte) bool {
	t.Helper()
	var want Inst
	werr := decode(tg, code, &want) // makes the row's plans
	got := Inst{rare: true, Op: Ops()[0], Raw: [5]uint32{1, 2, 3, 4, 5}}
	got.NAddr, got.NY, got.SDWA, got.Offset, got.Neg, got.Src[3].Kind, got.Dst[1].Kind = 3, 2, true, 7, 7, OperandAcc, OperandAcc
	gerr := Decode(tg, code, &got)
	want.rare, got.rare = false, false
	if werr != gerr || got != want {
		t.Fatalf("%s, masks of %d: %x:\nwith plans    %+v %v\nwithout plans %+v %v", tg.Name, tg.maskN, code, got, gerr, want, werr)
	}
	m := Inst{rare: true, Op: Ops()[0], Raw: [5]uint32{1, 2, 3, 4, 5}}
	if merr := Measure(tg, code, &m); merr != gerr || m.Op != got.Op || m.Size != got.Size || m.Raw[0] != got.Raw[0] {
		t.Fatalf("%s, masks of %d: %x: measured %v, %d bytes, %v; decoded %v, %d bytes, %v", tg.Name, tg.maskN, code, m.Op, m.Size, merr, got.Op, got.Size, gerr)
	}
	p, _ := planOf(tg, code)
	return p != nil && gerr == nil
}
