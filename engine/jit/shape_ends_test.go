//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"

	"github.com/pumice-gpu/pumice/engine/jit/rt"
)

// Programs whose accesses lie about the ends of things: of pages, of what is contiguous in the host, of what may be read or written, of 4 GiB, of
// the LDS. An access that faults gets its page, and is done again.

const (
	edgePages = 10 // of each of two zones, 4 GiB apart
	edgeHost  = 44 // pages of the host
	edgeVGPRs = 24
	edgeMost  = 24 // faults
)

// edges is memory in pieces: behind each comes what is elsewhere in the host, or has other rights, or is not there.
type edges struct {
	va   [2]uint64
	host []byte
	at   [2][edgePages]int        // the host's page
	may  [2][edgePages]mem.Access // what it allows
	far  bool                     // neighbours are told to be apart though they are not
}

func newEdges(t testing.TB, r *rand.Rand) *edges {
	b, err := rt.Memory(edgeHost << mem.PageShift)
	if err != nil {
		t.Fatal(err)
	}
	s := &edges{host: b, far: r.IntN(4) == 0}
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	s.va[0] = 0x7001_0000_0000 - mem.PageSize*r.Uint64N(2*edgePages)
	s.va[1] = s.va[0] + 1<<32
	const all = mem.Read | mem.Write
	rights := [][]mem.Access{{all}, {all, all, all, all, mem.Read, mem.Write, 0}, {all, mem.Read, mem.Read, mem.Read, mem.Write, 0}}[r.IntN(3)]
	n := 0
	for z := range s.va {
		for p := 0; p < edgePages; {
			may := rights[r.IntN(len(rights))]
			for range 1 + r.IntN(4) {
				if p < edgePages {
					s.at[z][p], s.may[z][p] = n, may
					n, p = n+1, p+1
				}
			}
			n += r.IntN(3) &^ 1 / 2 // most often what follows in the host is no guest's
		}
	}
	return s
}

// page is the zone and the page of an address; ok is false for others.
func (s *edges) page(va uint64) (z, p int, ok bool) {
	for z, from := range s.va {
		if va-from < edgePages<<mem.PageShift {
			return z, int((va - from) >> mem.PageShift), true
		}
	}
	return 0, 0, false
}

func (s *edges) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	z, p, ok := s.page(va)
	if !ok || s.may[z][p] == 0 {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	may := s.may[z][p]
	if a&^may != 0 {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultReadOnly}
	}
	n := mem.PageSize - va%mem.PageSize
	for q := p + 1; !s.far && q < edgePages && s.at[z][q] == s.at[z][q-1]+1 && s.may[z][q] == may; q++ {
		n += mem.PageSize
	}
	return unsafe.Pointer(&s.host[uint64(s.at[z][p])<<mem.PageShift+va%mem.PageSize]), n, may, nil
}

// edgeSeen is what is left of a run.
type edgeSeen struct {
	w    *wave.Wave
	mem  []byte
	lds  []byte
	what []string // how the wave left
	done bool
}

// edgeRun runs f; the wave's LDS has lds bytes.
func edgeRun(t testing.TB, e engine.Engine, seed uint64, f *ir.Func, lds int, free *[][]byte) edgeSeen {
	room := func(n int) []byte {
		b, err := rt.Memory(n)
		if err != nil {
			t.Fatal(err)
		}
		*free = append(*free, b)
		return b
	}
	s := newEdges(t, rand.New(rand.NewPCG(seed, 130)))
	*free = append(*free, s.host)
	r := rand.New(rand.NewPCG(seed, 132))
	x := edgeSeen{w: &wave.Wave{}, mem: s.host, lds: room(8192)}
	w := x.w
	w.Bind(unsafe.Pointer(&room(wave.StateSize(f.Lanes, edgeVGPRs, 0))[0]), f.Lanes, edgeVGPRs, 0)
	ms := &mem.Space{Translator: s, SharedBase: sharedBase, PrivateBase: privateBase}
	w.Space, w.PC = ms, f.PC
	w.LDS, w.LDSLen = uint64(uintptr(unsafe.Pointer(&x.lds[0]))), uint64(lds)
	for i := 0; i < len(x.lds); i += 8 {
		binary.LittleEndian.PutUint64(x.lds[i:], r.Uint64())
	}
	for n := range edgeVGPRs {
		for l := range w.VGPR(n) {
			w.VGPR(n)[l] = r.Uint32()
		}
	}
	w.SetEXEC(^uint64(0))
	if r.IntN(4) == 0 {
		w.SetEXEC(r.Uint64())
	}
	w.S[20], w.S[22], w.S[23], w.S[24] = uint32(1+r.IntN(12)), r.Uint32(), r.Uint32(), 4*r.Uint32N(64)
	scratch := s.va[r.IntN(2)] + uint64(1+r.IntN(edgePages-1))<<mem.PageShift - 64*r.Uint64N(300)
	w.S[isa.SRegFlatScratchLo], w.S[isa.SRegFlatScratchHi] = uint32(scratch), uint32(scratch>>32)
	fuel := []int64{1 << 20, 1 << 20, 60, 20}[r.IntN(4)]
	k := e.NewWorker()
	defer k.Close()
	for faults := 0; ; {
		w.Fuel = fuel
		switch exit := k.Run(w); exit {
		case ir.ExitFuel:
			if len(x.what) > 300 {
				x.what = append(x.what, "no end")
				return x
			}
			x.what = append(x.what, fmt.Sprintf("fuel %d at %#x", w.Fuel, w.PC))
			if r.IntN(4) == 0 { // a page has other rights
				s.may[r.IntN(2)][r.IntN(edgePages)] = []mem.Access{mem.Read | mem.Write, mem.Read | mem.Write, mem.Read, mem.Write}[r.IntN(4)]
				ms.Flush()
			}
		case ir.ExitFault:
			x.what = append(x.what, fmt.Sprintf("%+v at %#x", w.Fault, w.PC))
			z, p, ok := s.page(w.Fault.VA)
			first := (w.PC-f.PC)%1024 == 0
			if faults++; !first || !ok || faults > edgeMost || w.Fault.Access&^s.may[z][p] == 0 {
				return x
			}
			s.may[z][p] |= w.Fault.Access
			if r.IntN(2) == 0 { // and one about there has others
				s.may[z][min(max(0, p+r.IntN(3)-1), edgePages-1)] |= mem.Read
				s.may[z][min(max(0, p+r.IntN(3)-1), edgePages-1)] = w.Fault.Access
			}
			ms.Flush()
		default:
			x.what = append(x.what, fmt.Sprintf("%v %s", exit, w.Illegal))
			x.done = exit == ir.ExitEndPgm
			return x
		}
	}
}

// edgeDiff runs the program of a seed on both engines.
func edgeDiff(t testing.TB, seed uint64, spaces ...ir.Space) (diff []string, done bool) {
	needJIT(t)
	r := rand.New(rand.NewPCG(seed, 133))
	lds := []int{4096, 4096, 4096, 2048, 1024, 512, 64, 16, 4, 0, 100, 1000}[r.IntN(12)]
	s := newEdges(t, rand.New(rand.NewPCG(seed, 130)))
	f := edgeFunc(seed, s, lds, spaces)
	rt.Free(s.host)
	if err := ir.Verify(f); err != nil {
		t.Fatalf("seed %d: bad test: %v", seed, err)
	}
	lifter := func(lift.Source, *isa.Target, uint64, uint32, int) (*ir.Func, error) { return f, nil }
	var free [][]byte
	defer func() {
		for _, b := range free {
			rt.Free(b)
		}
	}()
	a := edgeRun(t, interp.NewWith(code.New(lifter)), seed, f, lds, &free)
	j, err := NewWith(code.New(lifter))
	if err != nil {
		t.Fatal(err)
	}
	defer j.mem.Close()
	j.quick, j.soft = r.IntN(4) == 0, r.IntN(8) == 0
	j.lazy, j.allAtEnd = r.IntN(4) == 0, true
	b := edgeRun(t, j, seed, f, lds, &free)
	tell := func(format string, x ...any) {
		if len(diff) < 12 {
			diff = append(diff, fmt.Sprintf(format, x...))
		}
	}
	if j.Failed() > 0 {
		tell("did not compile")
	}
	for i := range max(len(a.what), len(b.what)) {
		x, y := "nothing", "nothing"
		if i < len(a.what) {
			x = a.what[i]
		}
		if i < len(b.what) {
			y = b.what[i]
		}
		if x != y {
			tell("exit %d: %s, want %s", i, y, x)
			break
		}
	}
	if i := firstDiff(a.mem, b.mem); i >= 0 {
		tell("host at %#x = %#x, want %#x", i, b.mem[i&^3:i|3+1], a.mem[i&^3:i|3+1])
	}
	if i := firstDiff(a.lds, b.lds); i >= 0 {
		tell("LDS at %#x = %#x, want %#x", i, b.lds[i&^3:i|3+1], a.lds[i&^3:i|3+1])
	}
	for i, x := range a.w.S {
		if y := b.w.S[i]; x != y {
			tell("s%d = %#x, want %#x", i, y, x)
		}
	}
	for n := 0; n < edgeVGPRs && (!j.lazy || a.done); n++ {
		if l := slicesDiff(a.w.VGPR(n), b.w.VGPR(n)); l >= 0 {
			tell("v%d lane %d = %#x, want %#x", n, l, b.w.VGPR(n)[l], a.w.VGPR(n)[l])
		}
	}
	if len(diff) > 0 {
		if os.Getenv("SEED") != "" {
			t.Logf("\n%s\n%s", f, strings.Join(a.what, "\n"))
		}
		diff = append(diff, fmt.Sprintf("%d lanes, lazy %v, quick %v, soft %v, LDS of %d, %d exits", f.Lanes, j.lazy, j.quick, j.soft, lds, len(a.what)))
	}
	return diff, a.done
}

// endsDiff and ldsEndsDiff are shapes of TestNightly.
func endsDiff(t testing.TB, seed uint64) []string {
	diff, _ := edgeDiff(t, seed, ir.Global, ir.Global, ir.Global, ir.Flat, ir.Scratch)
	return diff
}

func ldsEndsDiff(t testing.TB, seed uint64) []string {
	diff, _ := edgeDiff(t, seed, ir.LDS)
	return diff
}

// TestEnds looks whether most programs come to their ends.
func TestEnds(t *testing.T) { onEach(t, testEnds) }

func testEnds(t *testing.T) {
	all, first, n := 0, uint64(0), fewer(100)
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = s, 1
	}
	for seed := first; seed < first+n; seed++ {
		diff, done := edgeDiff(t, seed, ir.Global, ir.Global, ir.Global, ir.Flat, ir.Scratch)
		if all += b2i(done); len(diff) > 0 {
			t.Fatalf("seed %d:\n  %s", seed, strings.Join(diff, "\n  "))
		}
	}
	t.Logf("%d of %d programs come to their ends", all, n)
	if n > 1 && all < int(n)/3 {
		t.Error("too few")
	}
}
