//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// mirrors is a space in which every address is memory: some pages, over and over again. Their number is a prime, so that an address that is wrong by a power of
// two is another place. Only code and what is only read lie once.
type mirrors struct {
	host  []byte
	at    []int  // the host's page, by page
	there []bool // by page
	told  int    // how many pages are told of at once
	asked int    // for how many addresses within a page
	once  []mirrorPiece
}

type mirrorPiece struct {
	va     uint64
	b      []byte
	rights mem.Access
}

const (
	mirrorPages = 61
	batchCode   = 0x6000_0000_0000
	batchArgs   = 0x6000_0010_0000              // s[4:5], and
	batchArgs2  = batchArgs + 4097*mem.PageSize // s[6:7]: a page with the same entry of the TLB
	batchBase   = 0x7000_0000_0000
	argSize     = 64 // where the size of a work-group is, alone and packed
)

func (m *mirrors) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	for _, p := range m.once {
		if va-p.va < uint64(len(p.b)) {
			if a&^p.rights != 0 {
				return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
			}
			return unsafe.Pointer(&p.b[va-p.va]), uint64(len(p.b)) - (va - p.va), p.rights, nil
		}
	}
	if va%mem.PageSize != 0 {
		m.asked++
	}
	i := int(va >> mem.PageShift % mirrorPages)
	if !m.there[i] {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultRetry}
	}
	n := mem.PageSize - va%mem.PageSize
	for j := i + 1; j < min(i+m.told, mirrorPages) && m.there[j] && m.at[j] == m.at[j-1]+1; j++ {
		n += mem.PageSize
	}
	return unsafe.Pointer(&m.host[m.at[i]<<mem.PageShift+int(va%mem.PageSize)]), n, mem.Read | mem.Write, nil
}

// fetch makes the page of an address there.
func (m *mirrors) fetch(va uint64) bool {
	i := int(va >> mem.PageShift % mirrorPages)
	if m.there[i] {
		return false
	}
	m.there[i] = true
	return true
}

// batchSide is one of the two runs of a kernel.
type batchSide struct {
	p     *mirrors
	space *mem.Space
	state []byte
	w     wave.Wave
}

func newBatchSide(t testing.TB, b *batchKernel, args []byte) *batchSide {
	host, err := rt.Memory(mirrorPages << mem.PageShift)
	if err != nil {
		t.Fatal(err)
	}
	p := &mirrors{host: host, told: mirrorPages, at: make([]int, mirrorPages), there: make([]bool, mirrorPages)}
	for i := range p.at {
		p.at[i], p.there[i] = i, true
	}
	r := rand.New(rand.NewPCG(b.seed, 67))
	for i := 0; i < len(host); i += 8 {
		binary.LittleEndian.PutUint64(host[i:], r.Uint64())
	}
	program := make([]byte, guestFunc)
	p.once = []mirrorPiece{{batchCode, program, mem.Read | mem.Exec}, {batchArgs, args, mem.Read}, {batchArgs2, args, mem.Read}}
	s := &batchSide{p: p, space: &mem.Space{Translator: p, SharedBase: sharedBase, PrivateBase: privateBase}}
	if s.state, err = rt.Memory(wave.StateSize(b.lanes, guestVGPRs, 0)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *batchSide) free() {
	rt.Free(s.p.host)
	rt.Free(s.state)
}

// batchLaunch is a dispatch: what its waves begin with.
type batchLaunch struct {
	b      *batchKernel
	entry  uint64
	groups int
	first  uint32 // number of the first work-group
	s      [isa.NumSRegs]uint32
	items  []engine.ItemSeries
}

// start makes s.w wave n of the dispatch; its VGPRs too, if they are wanted.
func (l *batchLaunch) start(s *batchSide, n int, vgprs bool) {
	clear(s.state)
	w := &s.w
	w.Bind(unsafe.Pointer(&s.state[0]), l.b.lanes, guestVGPRs, 0)
	w.Space, w.Target, w.PC, w.Fuel = s.space, l.b.t, l.entry, 1<<20
	copy(w.S[:], l.s[:])
	w.SetEXEC(^uint64(0) >> (64 - l.b.lanes))
	for _, x := range l.b.x {
		w.S[x] = l.first + uint32(n/l.b.waves)
	}
	for i, x := range l.items {
		for lane := range l.b.lanes {
			w.VGPR(i)[lane] = x.First[n%l.b.waves] + uint32(lane)*x.Step
		}
	}
	if !vgprs { // nobody may look at them
		for i := range 3 {
			for lane := range l.b.lanes {
				w.VGPR(i)[lane] = 0x5a5a5a5a
			}
		}
	}
}

// launch makes a dispatch of b: numbers for which something wraps, or a bound is come to, in the middle of it, or where a wave, a work-group or all of it ends.
func (b *batchKernel) launch(r *rand.Rand, entry uint64) *batchLaunch {
	l := &batchLaunch{b: b, entry: entry}
	most := 1536 / (b.waves * b.lanes)
	l.groups = 1 + r.IntN(max(1, min(most, []int{3, 3, 24}[r.IntN(3)])))
	l.first = []uint32{0, 0, 0, 1, 7, 1<<22 - 2, r.Uint32N(1 << 24)}[r.IntN(7)]
	for i := range l.s[:100] {
		l.s[i] = r.Uint32()
	}
	items := l.groups * b.size
	// place is a work-item where something is to happen.
	place := func() uint32 {
		switch r.IntN(6) {
		case 0:
			return uint32(r.IntN(items + 1))
		case 1:
			return uint32(items + r.IntN(3) - 1)
		case 2:
			return uint32(b.size + r.IntN(3) - 1)
		}
		return uint32(b.lanes*r.IntN(items/b.lanes+1) + r.IntN(3) - 1)
	}
	start := l.first * uint32(b.size)
	at := l.s[:]
	at[11] = uint32(r.IntN(100))
	switch r.IntN(8) {
	case 0:
		at[11] = r.Uint32()
	case 1:
		at[11] = -start
	case 2, 3, 4, 5:
		edge := uint64(1) << (31 + r.IntN(2)) / uint64(b.times) >> b.up >> max(0, r.IntN(9)-3)
		at[11] = uint32(edge) - place() - start
	}
	at[12] = start + at[11]*uint32(r.IntN(2)) + place()
	switch r.IntN(8) {
	case 0:
		at[12] = r.Uint32()
	case 1, 2:
		at[12] *= uint32(b.times) << b.up
	case 3:
		at[12] = 0x7fffffff + uint32(r.IntN(2))
	}
	at[9], at[10], at[13], at[14], at[15] = uint32(r.IntN(4)), uint32(b.size), start+place(), l.first+uint32(r.IntN(l.groups+1)), 4*uint32(r.IntN(400))
	if r.IntN(4) == 0 {
		at[10] = uint32([]int{r.IntN(2 * b.size), b.size + 1, b.size / 2, b.lanes, b.size - 4}[r.IntN(5)])
	}
	in := uint64(batchBase) + mem.PageSize*r.Uint64N(1<<24)
	switch r.IntN(4) {
	case 0:
		in += r.Uint64N(4096)
	case 1:
		in += 4 * r.Uint64N(1024)
	default:
		in += 64 * r.Uint64N(64)
	}
	if r.IntN(4) == 0 { // near a multiple of 2³²
		in = in&^(1<<32-1) - uint64(place())*4
	}
	out := uint64(batchBase) + 64*r.Uint64N(1<<30)
	switch r.IntN(6) {
	case 0, 1: // near each other
		out = in + 4*uint64(r.IntN(80)-40)
	case 2:
		out = in + 64*uint64(r.IntN(80)-40)
	case 3:
		out = in + uint64(r.IntN(2))*uint64(items)*4
	}
	for i, x := range []uint64{in, out, batchArgs, batchArgs2} {
		at[2*i], at[2*i+1] = uint32(x), uint32(x>>32)
	}
	at[isa.SRegMODE] = 0xf0
	if r.IntN(4) == 0 {
		at[isa.SRegMODE] = r.Uint32N(256)
	}
	// Work-item ids.
	row := func(from, wave, step int) (s engine.ItemSeries) {
		for w := range b.waves {
			s.First = append(s.First, uint32(from+w*wave))
		}
		s.Step = uint32(step)
		return s
	}
	l.items = []engine.ItemSeries{row(0, b.lanes, 1)}
	if b.items > 1 && r.IntN(4) > 0 || r.IntN(6) == 0 {
		switch y := r.IntN(4); r.IntN(5) {
		case 0, 1: // a wave is a row
			l.items = []engine.ItemSeries{row(0, 0, 1), row(0, 1, 0)}
		case 2:
			l.items = append(l.items, row(y, 0, 0))
		case 3:
			l.items = append(l.items, row(y, 0, 0), row(r.IntN(3), 0, 0))
		default:
			l.items = append(l.items, row(y, b.lanes, 1))
		}
	}
	return l
}

// batchRun is how a kernel ran.
type batchRun struct {
	batched, waves int
	missing        int
}

// batchDiff runs some dispatches of a kernel, in batches as far as that goes, and on the interpreter; it tells where memory differs.
func batchDiff(t testing.TB, seed uint64) (diff []string, d batchRun) {
	needJIT(t)
	b := newBatchKernel(seed)
	r := rand.New(rand.NewPCG(seed, 71))
	args := make([]byte, 2*mem.PageSize)
	for i := range args {
		args[i] = byte(r.Uint32())
	}
	want, got := newBatchSide(t, b, args), newBatchSide(t, b, args)
	defer want.free()
	defer got.free()
	var entry uint64
	for _, s := range []*batchSide{want, got} {
		entry = batchCode + (&guest{r: rand.New(rand.NewPCG(seed, 73)), t: b.t, funcs: b.funcs}).code(batchCode, s.p.once[0].b)[0]
	}
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.mem.Close()
	e.soft = r.IntN(4) == 0
	e.quick = r.IntN(4) == 0
	k := e.NewWorker().(*Worker)
	defer func() { k.Close() }()
	reference := interp.NewWith(code.New(nil)).NewWorker()
	defer reference.Close()
	var rest engine.Worker // what runs the waves that no batch takes
	if r.IntN(4) > 0 {
		rest = interp.NewWith(code.New(nil)).NewWorker()
	} else {
		rest = e.NewWorker()
	}
	defer rest.Close()
	for range r.IntN(4) { // pages that lie elsewhere
		i, j := r.IntN(mirrorPages), r.IntN(mirrorPages)
		got.p.at[i], got.p.at[j] = got.p.at[j], got.p.at[i]
	}
	for i, j := range got.p.at {
		copy(got.p.host[j<<mem.PageShift:][:mem.PageSize], want.p.host[i<<mem.PageShift:])
	}
	// end runs the wave of s to its end.
	end := func(s *batchSide, k engine.Worker) bool {
		for range 1000 {
			switch x := k.Run(&s.w); {
			case x == ir.ExitEndPgm:
				return true
			case x == ir.ExitFault && s.p.fetch(s.w.Fault.VA):
				d.missing++
			case x != ir.ExitFuel:
				diff = append(diff, fmt.Sprintf("%v at %#x: %v %s", x, s.w.PC, s.w.Fault.Error(), s.w.Illegal))
				return false
			}
			s.w.Fuel = 1 << 20
		}
		diff = append(diff, "no end")
		return false
	}
	for dispatch := range 4 {
		l := b.launch(r, entry)
		size := uint32(b.size)
		if r.IntN(4) == 0 {
			size += uint32(r.IntN(3)) - 1
		}
		binary.LittleEndian.PutUint32(args[argSize:], size)
		binary.LittleEndian.PutUint32(args[argSize+4:], size<<16|size)
		got.p.told = []int{1, 2, mirrorPages, mirrorPages}[r.IntN(4)]
		for i := range got.p.there {
			got.p.there[i] = true
		}
		if r.IntN(3) == 0 {
			for range 1 + r.IntN(6) {
				got.p.there[r.IntN(mirrorPages)] = false
			}
			got.space.Flush()
		}
		fresh := r.IntN(4) == 0
		if fresh { // it knows nothing of memory
			k.Close()
			k = e.NewWorker().(*Worker)
			got.p.told = 1
		}
		all := l.groups * b.waves
		ref, misses, batched := 0, 0, 0
		for at := 0; at < all && misses < 3; {
			done := 0
			if misses++; at%b.waves == 0 {
				n := l.groups - at/b.waves
				if r.IntN(3) == 0 {
					n = 1 + r.IntN(n)
				}
				l.start(got, at, false)
				total := uint64(l.groups) << (40 * r.IntN(2)) // stores may go around caches
				run := &engine.Batch{W: &got.w, Groups: n, Total: total, Waves: b.waves, X: b.x, Items: l.items}
				got.p.asked = 0
				k.Hold(got.space)
				done = max(k.RunBatch(run), 0)
				k.Release()
				if m := k.batched.forms[unitAll]; fresh && m != nil && m.ip != nil && m.left.Load() == 0 && got.p.asked > len(m.ip.spans) {
					diff = append(diff, fmt.Sprintf("a batch asked %d times for what its %d accesses need", got.p.asked, len(m.ip.spans)))
				}
				fresh = false
				if got.w.Illegal != "" {
					return append(diff, got.w.Illegal), d
				}
			}
			if at += done; done > 0 {
				misses = 0
			}
			batched += done
			for i := 0; at < all && (i == 0 || at%b.waves > 0); i++ {
				l.start(got, at, true)
				if !end(got, rest) {
					return diff, d
				}
				at++
			}
			for ; ref < at; ref++ {
				l.start(want, ref, true)
				if !end(want, reference) {
					t.Fatalf("seed %d: bad test: %s\n%s", seed, diff, b)
				}
			}
		}
		d.batched, d.waves = d.batched+batched, d.waves+ref
		for i, j := range got.p.at {
			x, y := want.p.host[i<<mem.PageShift:][:mem.PageSize], got.p.host[j<<mem.PageShift:][:mem.PageSize]
			if n := firstDiff(x, y); n >= 0 {
				diff = append(diff, fmt.Sprintf("dispatch %d: memory at %#x = %#x, want %#x", dispatch, i<<mem.PageShift+n, y[n&^3:n|3+1], x[n&^3:n|3+1]))
			}
		}
		if len(diff) > 0 {
			return append(diff[:min(len(diff), 4)], fmt.Sprintf("%d groups, %d of %d waves in batches, soft %v, s0 to s15 %#x, items %v", l.groups, batched, ref, e.soft, l.s[:16], l.items)), d
		}
	}
	return nil, d
}

// foundBatches are seeds of kernels that once made a difference, beyond the ones that every run tries.
var foundBatches = []uint64{}

// TestBatches runs random kernels in batches.
func TestBatches(t *testing.T) { onEach(t, testBatches) }

func testBatches(t *testing.T) {
	n := fewer(150)
	var seeds []uint64
	for i := range n {
		seeds = append(seeds, i)
	}
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seeds, foundBatches = []uint64{s}, nil
		t.Log("\n" + newBatchKernel(s).String())
	}
	var all batchRun
	for _, seed := range slices.Concat(foundBatches, seeds) {
		diff, d := batchDiff(t, seed)
		if len(diff) > 0 {
			t.Errorf("seed %d:\n  %s", seed, strings.Join(diff, "\n  "))
		}
		all.batched, all.waves, all.missing = all.batched+d.batched, all.waves+d.waves, all.missing+d.missing
	}
	t.Logf("%d of %d waves in batches, %d faults", all.batched, all.waves, all.missing)
	if len(seeds) > 1 && (all.batched < all.waves/4 || all.missing == 0) {
		t.Error("too few to mean anything")
	}
}
