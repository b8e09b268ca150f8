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
	"github.com/pumice-gpu/pumice/engine/mem"
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
	ip    *installed // nil: there is none

	runs, left atomic.Uint64 // waves that ran, and that did not fit
}

// tired tells whether so many waves do not fit that trying costs more than it gives.
func (m *streamForm) tired() bool {
	l := m.left.Load()
	return l > 64 && l > m.runs.Load()/4
}

// form returns the form for the registers x and for units of group waves.
func (s *streamed) form(e *Engine, f *ir.Func, x []int, group int) *streamForm {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.forms {
		if slices.Equal(m.x, x) && m.group == group {
			return m
		}
	}
	m := &streamForm{x: slices.Clone(x), group: group}
	m.ip = e.buildStream(f, m.x, group, e.soft)
	if m.ip != nil && !e.soft {
		m.ip.makeSoft = func() *installed { return e.buildStream(f, m.x, group, true) }
	}
	s.forms = append(s.forms, m)
	return m
}

// buildStream compiles the stream form of f; nil when there is none.
func (e *Engine) buildStream(f *ir.Func, x []int, group int, soft bool) (ip *installed) {
	defer func() {
		if r := recover(); r != nil {
			ip = nil
		}
	}()
	start := time.Now()
	t := &e.tools
	c := compilers.Get().(*compiler)
	p, err := c.compileStream(f, x, group, Options{Listing: t.Listing, Sample: t.Sampler != nil, AVX2: e.avx2, Soft: soft})
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

// batched are the forms that RunBatch used last: the next batch is of the same dispatch.
type batched struct {
	pc      uint64
	version code.Version
	mode    uint32
	x       []int
	group   int
	wave    *streamForm
	whole   *streamForm // of work-groups; nil where there is none
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
	if b.Waves > 1 && consecutive(b, w.Lanes) {
		group = b.Waves
	}
	l := &k.batched
	if l.wave == nil || l.pc != w.PC || l.version != version || l.mode != mode || l.group != group || !slices.Equal(l.x, b.X) {
		c, block, err := k.local.Lookup(w.Space, w.Target, w.PC, mode, w.Lanes)
		if err != nil || block != 0 || c.Func.PC != w.PC || c.Func.Lanes != w.Lanes {
			return 0
		}
		s := c.Attachment(code.SlotStream, func(*ir.Func) any { return new(streamed) }).(*streamed)
		*l = batched{pc: w.PC, version: version, mode: mode, x: slices.Clone(b.X), group: group, wave: s.form(k.e, c.Func, b.X, 0)}
		if group > 0 && l.wave.ip != nil {
			l.whole = s.form(k.e, c.Func, b.X, group)
		}
	}
	m := l.wave
	if m.ip == nil || m.tired() || b.Waves > maxGroupWaves || !items(m.ip.Stream, b) {
		return 0
	}
	defer func() {
		if r := recover(); r != nil {
			w.Illegal = fmt.Sprint(r)
		}
	}()
	n := min(b.Groups, max(1, streamFuel/(b.Waves*m.ip.insts)))
	run := func(m *streamForm, groups int) bool {
		ip, t := k.pick(m.ip)
		if t != nil && t.going() {
			groups = min(groups, max(1, trialFuel/(b.Waves*m.ip.insts)))
		}
		x := k.m.stream(b, ip, groups)
		k.ran(m.ip, t, int64(x*m.ip.insts))
		done += x
		m.runs.Add(uint64(x))
		if m != l.wave {
			l.wave.runs.Add(uint64(x))
		}
		if x < groups*b.Waves {
			m.left.Add(1)
			return false
		}
		return true
	}
	whole := l.whole
	if whole == nil || whole.ip == nil || whole.tired() {
		run(m, n)
		return done
	}
	// A work-group that does not fit as a whole may have waves that do.
	for left := n; left > 0 && !run(whole, left) && run(m, 1); left = n - done/b.Waves {
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

// items tells whether the work-item ids are what the form takes them for: v0 goes up by one from lane to lane, v1 and v2 are the same in all.
func items(s *Stream, b *engine.Batch) bool {
	for _, n := range s.items {
		step := uint32(0)
		if n == 0 {
			step = 1
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
		copy(unsafe.Slice(u32(streamIDs+int(n)*4*maxGroupWaves), b.Waves), b.Items[n].First)
	}
	*u32(streamWave), *u32(streamWaves), *u32(streamGroup), *u32(streamGroups) = 0, uint32(b.Waves), 0, uint32(groups)
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
		if i == streamScalar {
			if _, _, f := m.tlb.Lookup(va, mem.Read); f != nil {
				return at
			}
			continue
		}
		s := &p.spans[i-1]
		if !m.tlb.Span(s.index, va, s.n, s.acc) {
			return at
		}
	}
}
