//go:build linux && amd64

package jit

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// installed is a Program in executable memory.
type installed struct {
	*Program
	code rt.Code
	promotion
	assists
}

// install puts p into m.
func install(m *rt.CodeMemory, p *Program) (*installed, error) {
	c, err := m.Install(p.Code)
	if err != nil {
		return nil, err
	}
	return &installed{Program: p, code: c}, nil
}

// machine is what one thread needs to run compiled code.
type machine struct {
	frame     []byte
	room      []byte // the frame with what is before it
	tlb       *mem.TLB
	affine    []byte // of runs of affine addresses
	slow      slowPath
	space     *mem.Space  // whose apertures the frame holds
	tried     refilled    // what refill did last
	crew      []wave.Wave // that run together, or nil
	links     *links      // nil: none
	last      *installed  // that the last run ended in
	denormals bool        // code met some since this was last cleared

	sampler *Sampler // nil without one
	page    int      // its page for this machine

	op operands // what is being done in Go; here, so that no exit allocates
}

// refilled is the access that refill was asked for last, and how many of its steps it has taken.
type refilled struct {
	h     *helperInfo
	first uint64
	steps int
}

// slowPath does the operations that need memory or the wave's environment.
type slowPath interface {
	// do performs operation o of w. A result other than ExitNone leaves the wave.
	do(w *wave.Wave, o *operands) ir.Exit
}

// needFrame makes the frame at least n bytes.
func (m *machine) needFrame(n int) error {
	if len(m.frame) >= n {
		return nil
	}
	if m.affine == nil {
		b, err := rt.Memory(maxAffineSpots * affineArea)
		if err != nil {
			return err
		}
		m.affine = b
	}
	room, err := rt.Memory(keptRoom + n + n/2)
	if err != nil {
		return err
	}
	if m.frame != nil {
		rt.Free(m.room)
	}
	b := room[keptRoom:]
	m.frame, m.room, m.space = b, room, nil
	if m.sampler != nil {
		if err := m.sampler.share(m.page, unsafe.Pointer(&b[0])); err != nil {
			return fmt.Errorf("jit: the sampler's page: %w", err)
		}
	}
	*(*unsafe.Pointer)(unsafe.Pointer(&b[frameAffine])) = unsafe.Pointer(&m.affine[0])
	for l := range 64 {
		*(*uint32)(unsafe.Pointer(&b[frameLane+4*l])) = uint32(l)
		below := uint64(1)<<uint(l) - 1
		*(*uint32)(unsafe.Pointer(&b[frameBelowLo+4*l])) = uint32(below)
		*(*uint32)(unsafe.Pointer(&b[frameBelowHi+4*l])) = uint32(below >> 32)
	}
	return nil
}

func (m *machine) close() {
	if m.frame != nil {
		rt.Free(m.room)
		m.frame, m.room = nil, nil
	}
	if m.affine != nil {
		rt.Free(m.affine)
		m.affine = nil
	}
}

// laneAddr is the address of lane l of a global access.
func (o *operands) laneAddr(l int) uint64 {
	x := o.read(1, 0, l) + uint64(int64(int32(o.v.Imm)))
	if o.v.Imm&ir.OffSigned != 0 && o.f.V(o.v.Args[1]).Type == ir.V32 {
		x = uint64(int64(int32(o.read(1, 0, l)))) + uint64(int64(int32(o.v.Imm)))
	}
	if o.v.Args[0] != ir.NoID {
		x += o.read(0, 0, 0)
	}
	return x
}

// access is what a global load or store does to memory.
func (o *operands) access() mem.Access {
	if o.v.Op == ir.OpStore {
		return mem.Write
	}
	return mem.Read
}

// refill makes the TLB know a global access, so that it can be tried again: first the Range that it looks at, then the pages of the first and
// the last active lane, then those of all lanes. When all that was not enough (the code has ways that give up sooner than these steps see, as at the end of 4 GiB),
// it refuses: then the access is done as a whole, which always ends.
func (m *machine) refill(o *operands) bool {
	k := o.maskArg(2)
	if k == 0 {
		return false
	}
	first := o.laneAddr(bits.TrailingZeros64(k))
	last := o.laneAddr(63-bits.LeadingZeros64(k)) + uint64(o.v.Width) - 1
	t := &m.tried
	if t.h != o.h || t.first != first {
		*t = refilled{h: o.h, first: first}
	}
	t.steps++
	if t.steps == 1 {
		// The pages too: an array in two pieces makes its range go from one to the other again and again.
		if s := &o.h.span; s.n > 0 && last-first+1 == s.n && m.tlb.Span(s.index, first, s.n, o.access()) && m.known(o, first, last) {
			return true
		}
		t.steps++
	}
	switch t.steps {
	case 2: // most accesses lie in one or two pages
		return m.known(o, first, first) && m.known(o, last, last)
	case 3:
		for ; k != 0; k &= k - 1 {
			first := o.laneAddr(bits.TrailingZeros64(k))
			if !m.known(o, first, first+uint64(o.v.Width)-1) {
				return false
			}
		}
		return true
	}
	*t = refilled{}
	return false
}

// known makes the TLB know the pages of first and last for what o does; it refuses when that would fault.
func (m *machine) known(o *operands, first, last uint64) bool {
	if _, _, f := m.tlb.Lookup(first, o.access()); f != nil {
		return false
	}
	if first>>mem.PageShift != last>>mem.PageShift {
		if _, _, f := m.tlb.Lookup(last, o.access()); f != nil {
			return false
		}
	}
	return true
}

// patience is how many accesses outside a window that could not be moved do not ask for it again.
const patience = 64

// rowsPatience is how many accesses of tile rows outside a window do not ask for it: arrays may be in two pieces, and the TLB serves them nearly as well.
const rowsPatience = 1 << 14

// moveWindow moves the window of a global access to the active lanes, if it can. In any case the access does not ask a second time.
func (m *machine) moveWindow(o *operands) {
	w := &m.tlb.Windows[o.h.window]
	k := o.maskArg(2)
	w.Skip = patience
	if k == 0 {
		return
	}
	first, last := ^uint64(0), uint64(0)
	if o.v.Args[0] != ir.NoID && o.f.V(o.v.Args[1]).Type == ir.V32 {
		first = o.read(0, 0, 0) + uint64(int64(int32(o.v.Imm))) // what indexes count from
	}
	for ; k != 0; k &= k - 1 {
		a := o.laneAddr(bits.TrailingZeros64(k))
		first, last = min(first, a), max(last, a)
	}
	last += uint64(max(o.v.Width, 4)) - 1
	if first <= last && m.tlb.MoveWindow(o.h.window, first, last, o.access()) {
		w.Skip = 4 // each strip may be outside still
	}
}

// grew tells whether a window that was moved holds all that it held before: an array in two pieces makes it go from one to the other again and again.
func grew(w, old *mem.Window) bool {
	return w.Size > old.Size && (old.Size == 0 || w.Base <= old.Base && w.Base+w.Size >= old.Base+old.Size)
}

// moveCorners moves the window of a load in a run (affine.go) to its strips, if it can; else the TLB is to know their pages.
func (m *machine) moveCorners(f *ir.Func, h *helperInfo, frame unsafe.Pointer) {
	w := &m.tlb.Windows[h.window]
	first, last := ^uint64(0), uint64(0)
	corners := unsafe.Slice((*uint64)(unsafe.Add(frame, h.affine.at)), h.affine.n)
	for _, x := range corners {
		first, last = min(first, x), max(last, x)
	}
	width := uint64(f.V(h.id).Width)
	last += width - 1
	old := *w
	w.Skip = rowsPatience
	if first <= last && m.tlb.MoveWindow(h.window, first, last, mem.Read) && grew(w, &old) {
		w.Skip = 0
		return
	}
	for _, x := range corners { // what is not there is found by the usual form
		m.tlb.Lookup(x, mem.Read)
		m.tlb.Lookup(x+width-1, mem.Read)
	}
}

// aperture is the high half of the flat addresses of an aperture, or a number that no address has when there is none.
func aperture(base uint64) uint64 {
	if base == 0 {
		return 1 << 32
	}
	return base >> 32
}

// settle writes the registers that code of p carries (affinecarry.go).
func (m *machine) settle(p *installed, frame unsafe.Pointer) {
	for _, area := range p.carries {
		if *(*uint32)(unsafe.Pointer(&m.affine[area+affineCarries])) != 0 {
			rt.Enter(p.code.Addr()+uintptr(p.settling), frame, frame, 0, p.MXCSR)
			return
		}
	}
}

// enter calls code of p.
func (m *machine) enter(p *installed, at uintptr, state, frame unsafe.Pointer) uint32 {
	*(*uint32)(unsafe.Add(frame, frameTile)) = 0
	why := rt.Enter(at, state, frame, 0, p.MXCSR)
	if why&rt.Denormals != 0 {
		m.denormals = true
	}
	return uint32(why)
}

// execute runs p from block b until it leaves; fuel runs out as w.Fuel says. w.PC and w.Arg are set for the exit.
func (m *machine) execute(w *wave.Wave, p *installed, b int) ir.Exit {
	_, exit := m.run(w, p, b)
	return exit
}

// run is execute, with crew for the waves of a ring; it returns the one that has left.
func (m *machine) run(w *wave.Wave, p *installed, b int) (*wave.Wave, ir.Exit) {
	if err := m.needFrame(p.Frame); err != nil {
		w.Illegal = err.Error()
		return w, ir.ExitIllegal
	}
	at := p.code.Addr() + uintptr(p.Entry[b])
	frame := unsafe.Pointer(&m.frame[0])
	w.TLB = uint64(uintptr(unsafe.Pointer(&m.tlb.Entries[0])))
	if m.space != w.Space {
		m.space = w.Space
		*(*uint64)(unsafe.Add(frame, frameShared)) = aperture(w.Space.SharedBase)
		*(*uint64)(unsafe.Add(frame, framePrivate)) = aperture(w.Space.PrivateBase)
	}
	w.Spare[crewKinds] = 0
	for _, at := range p.affines { // nothing is known of the registers as they are now
		clear(m.affine[at : at+affineKept])
	}
	slow := (*uint32)(unsafe.Add(frame, frameSlow))
	links := m.links
	if links == nil {
		links = noLinks
	}
	*(*uintptr)(unsafe.Add(frame, frameLinks)) = uintptr(unsafe.Pointer(&links.table))
	m.last = p
	if p.bases || links.bases {
		x := uint64(0)
		if w.Env != nil {
			x = uint64(w.Env.HWReg(w, hwSHMemBases)) | 1<<32
		}
		*(*uint64)(unsafe.Add(frame, frameBases)) = x
	}
	if m.sampler != nil {
		running := (*uint32)(unsafe.Add(frame, frameFunc))
		*running = p.ID
		defer func() { *running = 0 }()
	}
	current := (*uintptr)(unsafe.Add(frame, frameWave))
	*current = uintptr(w.Base)
	first := p
	for {
		*slow = 0
		why := m.enter(p, at, w.Base, frame)
		m.settle(first, frame)
		if s := why >> retBits; s != p.Serial {
			if p = links.progs[s]; s == first.Serial { // the others of a crew may be there still when one has gone on elsewhere
				p = first
			}
			if p == nil {
				panic("returned from unknown code")
			}
			m.last = p
		}
		why &= 1<<retBits - 1
		if *current != uintptr(w.Base) {
			for i := range m.crew {
				if uintptr(m.crew[i].Base) == *current {
					w = &m.crew[i]
					break
				}
			}
		}
		switch why {
		case retExit:
			e := ir.Exit(w.Exit)
			if e == ir.ExitIllegal {
				w.Illegal = p.Func.Blocks[*(*uint32)(unsafe.Add(frame, frameOp))].Term.Msg
			}
			return w, e
		case retFuel:
			return w, ir.ExitFuel
		case retWindow, retRows:
			id := ir.ID(*(*uint32)(unsafe.Add(frame, frameOp)))
			o := &m.op
			*o = operands{f: p.Func, h: p.slots[id], v: p.Func.V(id), state: w.Base, frame: frame}
			x := &m.tlb.Windows[o.h.window]
			old := *x
			m.moveWindow(o)
			if why == retRows && !grew(x, &old) {
				x.Skip = rowsPatience
			}
			at = p.code.Addr() + uintptr(o.h.againAt)
		case retScaled:
			p.scaled[*(*uint32)(unsafe.Add(frame, frameOp))].divide(frame)
			at = *(*uintptr)(unsafe.Add(frame, frameResume))
		case retAffine:
			h := p.slots[*(*uint32)(unsafe.Add(frame, frameOp))]
			m.moveCorners(p.Func, h, frame)
			at = p.code.Addr() + uintptr(h.affine.again)
		case retHelper:
			*slow = 1
			id := ir.ID(*(*uint32)(unsafe.Add(frame, frameOp)))
			o := &m.op
			*o = operands{f: p.Func, h: p.slots[id], v: p.Func.V(id), state: w.Base, frame: frame}
			if o.h.againAt != 0 && m.refill(o) {
				at = p.code.Addr() + uintptr(o.h.againAt)
				continue
			}
			if o.h.exits != nil {
				o.h.exits.Add(1)
			}
			if !o.pure() {
				if e := m.slow.do(w, o); e != ir.ExitNone {
					w.PC = p.Func.PC + uint64(int64(int32(o.v.PC)))
					return w, e
				}
			}
			at = *(*uintptr)(unsafe.Add(frame, frameResume))
		}
	}
}
