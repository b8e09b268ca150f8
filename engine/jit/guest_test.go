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
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"

	"github.com/pumice-gpu/pumice/engine/jit/rt"
)

// pages is memory of which each page is somewhere in the host, or not there until somebody has asked for it, as with XNACK.
type pages struct {
	va    uint64
	host  []byte
	at    []int  // the host's page, by page
	there []bool // by page
	far   bool   // neighbours are told to be apart though they are not
}

const guestSpare = 4 // host pages more than there are, to move to

func newPages(r *rand.Rand, faults bool) *pages {
	n := guestSize >> mem.PageShift
	b, err := rt.Memory((n + guestSpare) << mem.PageShift)
	if err != nil {
		panic(err)
	}
	p := &pages{va: guestVA, host: b, at: make([]int, n), there: make([]bool, n), far: r.IntN(4) == 0}
	if r.IntN(3) == 0 { // over a multiple of 4 GiB
		p.va += 1<<32 - mem.PageSize*(1+r.Uint64N(uint64(n)))
	}
	for i := range p.at {
		p.at[i] = i
	}
	for range n / 6 { // most lie in order
		i, j := r.IntN(n), r.IntN(n)
		p.at[i], p.at[j] = p.at[j], p.at[i]
	}
	for i := range p.there {
		p.there[i] = !faults || r.IntN(3) == 0
	}
	return p
}

func (p *pages) page(i int) []byte { return p.host[p.at[i]<<mem.PageShift:][:mem.PageSize] }

func (p *pages) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	i := int((va - p.va) >> mem.PageShift)
	if va < p.va || i >= len(p.at) || !p.there[i] {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultRetry}
	}
	off := va % mem.PageSize
	n := mem.PageSize - off
	for j := i + 1; !p.far && j < len(p.at) && p.there[j] && p.at[j] == p.at[j-1]+1; j++ {
		n += mem.PageSize
	}
	return unsafe.Pointer(&p.page(i)[off]), n, mem.Read | mem.Write | mem.Exec, nil
}

// fetch makes the page of an address there; it is false when there is no such page, or it has been there.
func (p *pages) fetch(va uint64) bool {
	i := int((va - p.va) >> mem.PageShift)
	if va < p.va || i >= len(p.at) || p.there[i] {
		return false
	}
	p.there[i] = true
	return true
}

// move moves a page to where none is. The caller flushes the space.
func (p *pages) move(i int) {
	used := make([]bool, len(p.host)>>mem.PageShift)
	for _, x := range p.at {
		used[x] = true
	}
	old := p.page(i)
	for x := len(used) - 1; x >= 0; x-- {
		if !used[x] {
			p.at[i] = x
			copy(p.page(i), old)
			clear(old) // whoever still looks there sees it
			return
		}
	}
}

// all is the memory as the guest sees it.
func (p *pages) all() (b []byte) {
	for i := range p.at {
		b = append(b, p.page(i)...)
	}
	return b
}

// guestRun is a dispatch of a guest on one engine, or on two that take turns.
type guestRun struct {
	g       *guest
	seed    uint64
	groups  int
	other   engine.Engine // takes turns with the first, or nil
	faults  bool          // pages are not there at first, and move
	batches int           // waves that ran in batches
	crews   int           // runs of waves together
	turns   int           // of the other engine
	missing int           // faults
}

// guestSeen is what is left of a dispatch: memory, the LDS of each work-group, the state of each wave.
type guestSeen struct {
	memory []byte
	lds    [][]byte
	waves  []wave.Wave
	exits  string
}

func (d *guestRun) run(t testing.TB, e engine.Engine) (s guestSeen) {
	g := d.g
	r := rand.New(rand.NewPCG(d.seed, 53)) // the same numbers for every engine
	in := make([]byte, guestOut-guestIn)
	for i := 0; i < len(in); i += 4 {
		binary.LittleEndian.PutUint32(in[i:], uint32((&gen{r: r}).bits()))
	}
	memory := make([]byte, guestSize)
	copy(memory[guestIn:], in)
	var numbers [6]uint32
	for i, n := range []int{65, 257, 257, 100, 1024, d.groups*g.waves*g.lanes + 50} {
		numbers[i] = uint32(r.IntN(n))
		if i < 5 && r.IntN(2) == 0 {
			numbers[i] &^= 15
		}
	}
	numbers[4] &^= 3
	var base [2]uint64 // often near the end of a page
	for i := range base {
		base[i] = 4 * r.Uint64N(64)
		if r.IntN(2) == 0 {
			base[i] = 4096 - base[i]
		}
	}
	p := newPages(r, d.faults)
	defer rt.Free(p.host)
	at := (&guest{r: rand.New(rand.NewPCG(d.seed, 55)), t: g.t, funcs: g.funcs}).code(p.va, memory)
	for i := range p.at {
		copy(p.page(i), memory[i<<mem.PageShift:])
	}
	ms := &mem.Space{Translator: p, SharedBase: sharedBase, PrivateBase: privateBase}
	lds := guestLDS
	if g.adds {
		lds += 4096
	}
	host, err := rt.Memory(lds + 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Free(host)
	size := wave.StateSize(g.lanes, guestVGPRs, 0)
	state, err := rt.Memory(g.waves * size)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Free(state)
	ws := make([]wave.Wave, g.waves)
	start := func(group int) {
		clear(state)
		for i := range ws {
			w := &ws[i]
			w.Bind(unsafe.Pointer(&state[i*size]), g.lanes, guestVGPRs, 0)
			w.Space, w.Target, w.PC = ms, g.t, p.va+at[0]
			w.LDS, w.LDSLen = uint64(uintptr(unsafe.Pointer(&host[0]))), uint64(lds)
			for j, x := range []uint64{p.va + guestIn + base[0], p.va + guestOut + base[1], p.va + guestAdd} {
				n := []int{0, 2, 36}[j]
				w.S[n], w.S[n+1] = uint32(x), uint32(x>>32)
			}
			w.S[guestX] = uint32(group)
			copy(w.S[10:], numbers[:])
			w.S[isa.SRegMODE] = 0xf0
			w.SetEXEC(^uint64(0) >> (64 - g.lanes))
			for l := range g.lanes {
				w.VGPR(0)[l] = uint32(i*g.lanes + l)
			}
		}
		for i := range host[:lds] {
			host[i] = byte(i * 7)
		}
	}
	k := e.NewWorker()
	defer k.Close()
	workers := []engine.Worker{k}
	if d.other != nil {
		o := d.other.NewWorker()
		defer o.Close()
		workers = append(workers, o)
	}
	chance := rand.New(rand.NewPCG(d.seed, 57)) // of what only the tested engine does
	fuel := []int64{1 << 20, 1 << 20, 400, 60}[chance.IntN(4)]
	if d.other == nil && !d.faults {
		fuel = 1 << 20
	}
	pick := func() engine.Worker {
		if len(workers) > 1 && chance.IntN(2) == 0 {
			d.turns++
			return workers[1]
		}
		return workers[0]
	}
	keep := func() {
		for i := range ws {
			w := ws[i]
			b := append([]byte(nil), state[i*size:(i+1)*size]...)
			w.Bind(unsafe.Pointer(&b[0]), g.lanes, guestVGPRs, 0)
			s.waves = append(s.waves, w)
		}
		s.lds = append(s.lds, append([]byte(nil), host...))
	}
	for group := 0; group < d.groups; group++ {
		start(group)
		if b, ok := k.(engine.Batcher); ok && g.batch && !d.faults {
			firsts := make([]uint32, g.waves)
			for i := range firsts {
				firsts[i] = uint32(i * g.lanes)
			}
			n := 1 + chance.IntN(d.groups-group)
			k.(engine.Holder).Hold(ms)
			done := b.RunBatch(&engine.Batch{W: &ws[0], Groups: n, Total: uint64(d.groups), Waves: g.waves, X: []int{guestX}, Items: []engine.ItemSeries{{First: firsts, Step: 1}}})
			k.(engine.Holder).Release()
			if done > 0 {
				d.batches += done
				for range done / g.waves {
					s.waves, s.lds = append(s.waves, make([]wave.Wave, g.waves)...), append(s.lds, nil)
				}
				group += done / g.waves
				if done%g.waves == 0 {
					group--
					continue
				}
			}
			start(group)
			d.group(t, &s, pick, k, ms, p, ws, fuel, chance, done%g.waves)
			keep()
			for i := range max(done, 0) % g.waves {
				s.waves[len(s.waves)-g.waves+i] = wave.Wave{}
			}
			continue
		}
		d.group(t, &s, pick, k, ms, p, ws, fuel, chance, 0)
		keep()
	}
	s.memory = p.all()
	return s
}

// group runs the waves of a work-group, but for the first skip, to their ends.
func (d *guestRun) group(t testing.TB, s *guestSeen, pick func() engine.Worker, k engine.Worker, ms *mem.Space, p *pages, ws []wave.Wave, fuel int64, chance *rand.Rand, skip int) {
	n := len(ws)
	waiting, over := make([]bool, n), make([]bool, n)
	left := n
	for i := range max(skip, 0) {
		over[i], left = true, left-1
	}
	held := 0
	did := func(i int, x ir.Exit) {
		w := &ws[i]
		switch {
		case x == ir.ExitFuel:
		case x == ir.ExitBarrier:
			waiting[i] = true
			held++
		case x == ir.ExitFault && p.fetch(w.Fault.VA):
			d.missing++
			if chance.IntN(3) == 0 {
				p.move(chance.IntN(len(p.at)))
				ms.Flush()
			}
		default:
			over[i], left = true, left-1
			if x != ir.ExitEndPgm {
				s.exits += fmt.Sprintf("%v at %#x: %v %s; ", x, w.PC, w.Fault.Error(), w.Illegal)
			}
		}
	}
	down := false
	for turn := 0; left > 0; turn++ {
		if turn > 100_000 {
			s.exits += "no end; "
			return
		}
		if c, ok := k.(engine.CrewRunner); ok && left == n && held == 0 && n > 1 && chance.IntN(4) > 0 {
			for i := range ws {
				ws[i].Fuel = fuel
			}
			k.(engine.Holder).Hold(ms)
			i, x, arrived, passed := c.RunCrew(ws, down)
			k.(engine.Holder).Release()
			if down = down || passed; i >= 0 {
				d.crews++
				for j := range ws {
					if arrived>>j&1 != 0 {
						did(j, ir.ExitBarrier)
					}
				}
				did(i, x)
			}
		}
		for i := range ws {
			if !waiting[i] && !over[i] {
				ws[i].Fuel = fuel
				did(i, pick().Run(&ws[i]))
			}
		}
		if held > 0 && held == left {
			clear(waiting)
			held = 0
		}
	}
}

// guestDiff runs the kernel of a seed on both engines, and tells what differs, and how the second one ran.
func guestDiff(t testing.TB, seed uint64) (diff []string, d guestRun) {
	needJIT(t)
	g := guestKernel(seed)
	r := rand.New(rand.NewPCG(seed, 59))
	groups := 1 + r.IntN(3)
	most := guestMost
	if g.batch {
		groups, most = 2+r.IntN([]int{7, 60}[r.IntN(2)]), guestStream
	}
	groups = min(groups, most/(g.waves*g.lanes))
	interpreter := func() engine.Engine { return interp.NewWith(code.New(nil)) }
	want := guestRun{g: g, seed: seed, groups: groups}
	a := want.run(t, interpreter())
	if a.exits != "" {
		t.Fatalf("seed %d: bad test: %s\n%s", seed, a.exits, g)
	}
	j, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer j.mem.Close()
	j.quick, j.lazy, j.soft = r.IntN(8) == 0, r.IntN(3) > 0, r.IntN(4) == 0
	d = guestRun{g: g, seed: seed, groups: groups, faults: r.IntN(2) == 0}
	if r.IntN(3) == 0 {
		d.other = interpreter()
	}
	b := d.run(t, j)
	tell := func(format string, x ...any) {
		if len(diff) < 12 {
			diff = append(diff, fmt.Sprintf(format, x...))
		}
	}
	if j.Failed() > 0 {
		tell("did not compile")
	}
	if b.exits != "" {
		tell("%s", b.exits)
	}
	if i := firstDiff(a.memory, b.memory); i >= 0 {
		tell("memory at %#x = %#x, want %#x", i, b.memory[i&^3:i|3+1], a.memory[i&^3:i|3+1])
	}
	for n := range a.lds {
		if n >= len(b.lds) || b.lds[n] == nil {
			continue
		}
		if i := firstDiff(a.lds[n], b.lds[n]); i >= 0 {
			tell("LDS of work-group %d at %#x = %#x, want %#x", n, i, b.lds[n][i&^3:i|3+1], a.lds[n][i&^3:i|3+1])
		}
	}
	for n := range a.waves {
		x, y := &a.waves[n], &b.waves[min(n, len(b.waves)-1)]
		if y.Header == nil { // it ran in a batch
			continue
		}
		if x.PC != y.PC {
			tell("wave %d ends at %#x, not at %#x", n, y.PC, x.PC)
		}
		for i := range x.S {
			if x.S[i] != y.S[i] {
				tell("wave %d: s%d = %#x, want %#x", n, i, y.S[i], x.S[i])
			}
		}
		for v := 0; v < guestVGPRs && !j.lazy; v++ {
			if i := slicesDiff(x.VGPR(v), y.VGPR(v)); i >= 0 {
				tell("wave %d: v%d lane %d = %#x, want %#x", n, v, i, y.VGPR(v)[i], x.VGPR(v)[i])
			}
		}
	}
	if len(diff) > 0 {
		diff = append(diff, fmt.Sprintf("%d groups, lazy %v, quick %v, soft %v, faults %v (%d), turns %v (%d), %d waves in batches, %d crews", groups, j.lazy, j.quick, j.soft, d.faults, d.missing, d.other != nil, d.turns, d.batches, d.crews))
	}
	return diff, d
}

func slicesDiff(a, b []uint32) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// foundGuests are seeds of kernels that once made a difference, beyond the ones that every run tries.
var foundGuests = []uint64{
	69,          // a wave of a crew returned to Go from another Program, and the next one from the crew's own, which was unknown
	20036007204, // a run of affine addresses wrote a register that held a value from before it, which was used behind it
}

// TestGuests runs random kernels of real instructions on both engines.
func TestGuests(t *testing.T) { onEach(t, testGuests) }

func testGuests(t *testing.T) {
	first, n := uint64(0), fewer(200)
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = s, 1
		t.Log("\n" + guestKernel(s).String())
	}
	var all guestRun
	for i := range n + uint64(len(foundGuests)) {
		seed := first + i - uint64(len(foundGuests))
		if i < uint64(len(foundGuests)) {
			if seed = foundGuests[i]; n == 1 {
				continue
			}
		}
		diff, d := guestDiff(t, seed)
		if len(diff) > 0 {
			t.Errorf("seed %d:\n  %s", seed, strings.Join(diff, "\n  "))
		}
		all.batches, all.crews, all.turns, all.missing = all.batches+d.batches, all.crews+d.crews, all.turns+d.turns, all.missing+d.missing
	}
	t.Logf("%d waves in batches, %d crews, %d turns of the interpreter, %d faults", all.batches, all.crews, all.turns, all.missing)
	if m := int(n) / 8; n > 1 && (all.batches < m || all.crews < m || all.turns < m || all.missing < m) {
		t.Error("too few to mean anything")
	}
}
