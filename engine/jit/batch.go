//go:build linux && amd64

package jit

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// streamed is the stream form of a function, attached to its code.
type streamed struct {
	mu    sync.Mutex
	forms []*streamForm // guarded by mu
}

// streamForm is the stream form for dispatches with their work-group id in the registers x.
type streamForm struct {
	x     []int
	group int
	whole bool
	ip    *installed // nil: there is none

	runs, left atomic.Uint64 // waves that ran, and that did not fit
}

// tired tells whether so many waves do not fit that trying costs more than it gives.
func (m *streamForm) tired() bool {
	l := m.left.Load()
	return l > 64 && l > m.runs.Load()/4
}

// form returns the form for the registers x and for units of group waves, or of all such work-groups.
func (s *streamed) form(e *Engine, f *ir.Func, x []int, group int, whole bool) *streamForm {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.forms {
		if slices.Equal(m.x, x) && m.group == group && m.whole == whole {
			return m
		}
	}
	m := &streamForm{x: slices.Clone(x), group: group, whole: whole}
	m.ip = e.buildStream(f, m, e.soft)
	if m.ip != nil && !e.soft {
		m.ip.makeSoft = func() *installed { return e.buildStream(f, m, true) }
	}
	s.forms = append(s.forms, m)
	return m
}

// buildStream compiles the stream form of f; nil when there is none.
func (e *Engine) buildStream(f *ir.Func, m *streamForm, soft bool) (ip *installed) {
	defer func() {
		if r := recover(); r != nil {
			ip = nil
		}
	}()
	start := time.Now()
	t := &e.tools
	c := compilers.Get().(*compiler)
	p, err := c.compileStream(f, m.x, m.group, m.whole, Options{Listing: t.Listing, Sample: t.Sampler != nil, AVX2: e.avx2, Soft: soft})
	c.f, c.p, c.b = nil, nil, nil
	compilers.Put(c)
	if err != nil {
		return nil
	}
	if ip, err = install(&e.mem, p); err != nil {
		return nil
	}
	e.nanos.Add(uint64(time.Since(start)))
	if t.Sampler != nil {
		p.ID, _ = t.Sampler.add(f)
	}
	if t.Compiled != nil {
		t.Compiled(f, p, ip.code.Addr())
	}
	t.Perf.Add(ip.code.Addr(), len(p.Code), fmt.Sprintf("%s:%#x:stream", f.Target, f.PC))
	return ip
}

// batched is what RunBatch ran last: the next batch is of the same dispatch.
type batched struct {
	pc      uint64
	version code.Version
	mode    uint32
	x       []int
	group   int
	s       *streamed
	f       *ir.Func
	forms   [numUnits]*streamForm // as far as they were asked for
}

// What a stream form does at a time.
const (
	unitAll = iota
	unitGroup
	unitWave
	numUnits
)

// form returns the form for a unit; nil where there is none, or it is not worth trying.
func (l *batched) form(e *Engine, unit, waves int) *streamForm {
	m := l.forms[unit]
	if m == nil {
		group := l.group
		switch {
		case unit == unitWave:
			group = 0
		case group == 0, unit == unitGroup && waves == 1:
			return nil
		}
		m = l.s.form(e, l.f, l.x, group, unit == unitAll)
		l.forms[unit] = m
	}
	if m.ip == nil || m.tired() {
		return nil
	}
	return m
}

// streamFuel is sliceFuel for streams, which take less time for an instruction.
const streamFuel = 4 * sliceFuel

// RunBatch implements engine.Batcher.
func (k *Worker) RunBatch(b *engine.Batch) (done int) {
	w := b.W
	if k.held != w.Space {
		return 0
	}
	if k.tlb.Stale() {
		k.tlb.Sync()
	}
	mode, version := w.S[isa.SRegMODE], k.local.Version(w.Space)
	group := 0
	if consecutive(b, w.Lanes) {
		group = b.Waves
	}
	l := &k.batched
	if l.s == nil || l.pc != w.PC || l.version != version || l.mode != mode || l.group != group || !slices.Equal(l.x, b.X) {
		c, block, err := k.local.Lookup(w.Space, w.Target, w.PC, mode, w.Lanes)
		if err != nil || block != 0 || c.Func.PC != w.PC || c.Func.Lanes != w.Lanes {
			return 0
		}
		s := c.Attachment(code.SlotStream, func(*ir.Func) any { return new(streamed) }).(*streamed)
		*l = batched{pc: w.PC, version: version, mode: mode, x: slices.Clone(b.X), group: group, s: s, f: c.Func}
	}
	if b.Waves > maxGroupWaves {
		return -1
	}
	defer func() {
		if r := recover(); r != nil {
			w.Illegal = fmt.Sprint(r)
		}
	}()
	form := func(unit int) *streamForm {
		if m := l.form(k.e, unit, b.Waves); m != nil && items(m.ip.Stream, b) {
			return m
		}
		return nil
	}
	// run runs work-groups by a form, if there is one, as far as it does.
	run := func(unit, groups int) bool {
		m := form(unit)
		if m == nil || groups == 0 {
			return false
		}
		ip, t := k.pick(m.ip)
		all := groups
		groups = min(groups, maxBatchGroups)
		groups = min(groups, max(1, streamFuel/(b.Waves*m.ip.insts)))
		if t != nil && t.going() {
			groups = min(groups, max(1, trialFuel/(b.Waves*m.ip.insts)))
		}
		x := k.m.stream(b, ip, groups)
		k.ran(m.ip, t, int64(x*m.ip.insts))
		done += x
		m.runs.Add(uint64(x))
		if x < groups*b.Waves {
			m.left.Add(1)
			return false
		}
		return groups == all
	}
	// The last work-group is often the only one that does not fit.
	whole := run(unitAll, b.Groups) || done == 0 && run(unitAll, b.Groups-1)
	if done > 0 && (whole || done/b.Waves < b.Groups-1) {
		return done
	}
	// What does not fit in large may in small.
	for left := b.Groups - done/b.Waves; left > 0 && done%b.Waves == 0; left = b.Groups - done/b.Waves {
		was := done
		if run(unitGroup, left) {
			break
		}
		many := 1
		if l.form(k.e, unitGroup, b.Waves) == nil {
			many = left
		}
		if run(unitWave, many); done == was {
			break
		}
	}
	if done == 0 && form(unitAll) == nil && form(unitGroup) == nil && form(unitWave) == nil {
		return -1
	}
	return done
}

// consecutive tells whether the work-items of a work-group are in the order of its waves and lanes, and all the others' ids are the same.
func consecutive(b *engine.Batch, lanes int) bool {
	for _, s := range b.Items {
		for w, x := range s.First {
			if x != s.First[0]+uint32(w*lanes)*s.Step {
				return false
			}
		}
	}
	return true
}

// items tells whether the work-item ids are what the form takes them for: v0 goes up by one from lane to lane, v1 and v2 are the same in all. One that
// is no id is read too, where a compiler wants half of a result only; it is zero then.
func items(s *Stream, b *engine.Batch) bool {
	for _, n := range s.items {
		step := uint32(0)
		if n == 0 {
			step = 1
		}
		if int(n) >= len(b.Items) && n > 0 {
			continue
		}
		if int(n) >= len(b.Items) || b.Items[n].Step != step {
			return false
		}
	}
	return true
}

// stream runs up to groups work-groups of b; it returns how many waves have ended.
func (m *machine) stream(b *engine.Batch, p *installed, groups int) int {
	w := b.W
	if err := m.needFrame(p.Frame); err != nil {
		return 0
	}
	frame := unsafe.Pointer(&m.frame[0])
	w.TLB = uint64(uintptr(unsafe.Pointer(&m.tlb.Entries[0])))
	if m.sampler != nil {
		running := (*uint32)(unsafe.Add(frame, frameFunc))
		*running = p.ID
		defer func() { *running = 0 }()
	}
	u32 := func(off int) *uint32 { return (*uint32)(unsafe.Add(frame, p.area+off)) }
	for _, n := range p.items {
		first := unsafe.Slice(u32(streamIDs+int(n)*4*maxGroupWaves), b.Waves)
		if int(n) < len(b.Items) {
			copy(first, b.Items[n].First)
		} else {
			clear(first)
		}
	}
	*u32(streamWave), *u32(streamWaves), *u32(streamGroup), *u32(streamGroups) = 0, uint32(b.Waves), 0, uint32(groups)
	*u32(streamFar) = uint32(b2i(p.bytes > 0 && max(b.Total, uint64(groups)) > uint64(farBytes/p.bytes)))
	for tried, again := -1, 0; ; {
		if m.enter(p, p.code.Addr(), w.Base, frame) == retExit {
			return groups * b.Waves
		}
		at := int(*u32(streamGroup))*b.Waves + int(*u32(streamWave))
		i := int(*(*uint32)(unsafe.Add(frame, frameOp)))
		va := *(*uint64)(unsafe.Pointer(u32(streamVA)))
		if tried != at {
			tried, again = at, 0
		}
		if again++; i == 0 || again > 2*len(p.spans)+8 {
			return at
		}
		s := &p.spans[i-1]
		if !m.tlb.Span(s.index, va, s.n+s.more*uint64(groups-1), s.acc) {
			return at
		}
	}
}
