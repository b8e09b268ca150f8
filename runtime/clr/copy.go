package clr

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Copies. A side is either known to the runtime (video memory, pinned memory), and then a copy engine reaches it, or it is the program's pageable
// memory, which only the CPU reaches. Copies between two known sides are commands of the stream, done by an SDMA engine. Copies with a
// pageable side wait for what is in front and are done by the CPU before the call returns, which HIP allows for both its kinds of copy; where
// the CPU does not reach the device's memory, they go through a pinned buffer.

// place is one side of a copy.
type place struct {
	mem *Memory
	dev uint64 // address for engines, 0 if there is none
	cpu uint64 // address for the CPU, 0 if there is none
}

// shared reports whether the place is shared virtual memory.
func (p *place) shared() bool { return p.mem != nil && p.mem.Shared }

// hostCopy is how the CPU copies between two places.
func hostCopy(d, s *place) func(dst, src, n uint64) {
	if d.shared() || s.shared() {
		return CopyShared
	}
	return CopyHost
}

// locate finds out what an address is. n is how many bytes from it on are used.
func (r *Runtime) locate(addr, n uint64) (place, error) {
	if addr == 0 {
		return place{}, fail(ErrInvalidValue, "null pointer")
	}
	m := r.Find(addr)
	if m == nil {
		// A variable of a program is device memory too, but no memory object.
		if h := r.HSA.Find(addr); h != nil {
			off := addr - h.Addr
			if n > h.Size-off {
				return place{}, fail(ErrInvalidValue, "%d bytes at %#x go beyond the allocation's end", n, addr)
			}
			p := place{dev: addr}
			if h.Host != 0 {
				p.cpu = h.Host + off
			}
			return p, nil
		}
		return place{cpu: addr}, nil
	}
	var off uint64
	if addr-m.Ptr < m.Size {
		off = addr - m.Ptr
	} else {
		off = addr - m.Host
	}
	p := place{mem: m, dev: m.Ptr + off}
	if m.Host != 0 {
		p.cpu = m.Host + off
	}
	if m.Shared {
		p.dev = 0 // the pages are wherever they are: a copy engine would have to wait for them
	}
	// Mappings that lie one behind the other are one range.
	for m.Mapped && n > m.Size-off {
		next := r.Find(m.Ptr + m.Size)
		if next == nil || !next.Mapped {
			break
		}
		n -= m.Size - off
		if m, off = next, 0; m.Host == 0 {
			p.cpu = 0
		}
	}
	if n > m.Size-off {
		return place{}, fail(ErrInvalidValue, "%d bytes at %#x go beyond the allocation's end", n, addr)
	}
	return p, nil
}

// plain reports whether the place is memory of the program that no device knows.
func (p *place) plain() bool { return p.mem == nil && p.dev == 0 }

// check reports whether the CPU may touch the rows of a plain place, of which there is a pitch and a slice.
func (p *place) check(r *Rect, pitch, slice uint64, write bool) error {
	const page = 4096
	if !p.plain() {
		return nil
	}
	bad := func(at, n uint64) error {
		if CheckHost(at, n, write) {
			return nil
		}
		return fail(ErrInvalidValue, "%d bytes at %#x are no memory that can be used so", n, at)
	}
	if (r.Height == 1 || pitch <= page) && (r.Depth == 1 || slice <= page) {
		return bad(p.cpu, span(r, pitch, slice))
	}
	for z := range r.Depth {
		for y := range r.Height {
			if err := bad(p.cpu+z*slice+y*pitch, r.Width); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkHost checks both sides of a copy that the CPU has a part in.
func checkHost(d, s *place, r *Rect) error {
	if err := s.check(r, r.SrcPitch, r.SrcSlice, false); err != nil {
		return err
	}
	return d.check(r, r.DstPitch, r.DstSlice, true)
}

// onHost reports whether the place is system memory.
func (p *place) onHost() bool { return p.dev == 0 || p.mem != nil && p.mem.Kind != DeviceMemory }

// Rect is a two- or three-dimensional copy: Depth slices of Height rows of Width bytes. Pitches are in bytes.
type Rect struct {
	Width, Height, Depth uint64
	DstPitch, SrcPitch   uint64 // between rows
	DstSlice, SrcSlice   uint64 // between slices
}

// Linear is the Rect of n bytes in a row.
func Linear(n uint64) Rect { return Rect{Width: n, Height: 1, Depth: 1} }

// span returns how many bytes one side touches, from its first on.
func span(r *Rect, pitch, slice uint64) uint64 {
	return (r.Depth-1)*slice + (r.Height-1)*pitch + r.Width
}

// collapse joins rows that lie one behind the other on both sides.
func (r Rect) collapse() Rect {
	if r.Height > 1 && r.DstPitch == r.Width && r.SrcPitch == r.Width {
		if r.Depth > 1 && r.DstSlice == r.SrcSlice && r.DstSlice == r.Width*r.Height {
			return Linear(r.Width * r.Height * r.Depth)
		}
		return Rect{Width: r.Width * r.Height, Height: 1, Depth: r.Depth, DstSlice: r.DstSlice, SrcSlice: r.SrcSlice}
	}
	return r
}

// each calls f for the offsets of every row.
func (r *Rect) each(f func(dst, src uint64)) {
	for z := uint64(0); z < r.Depth; z++ {
		for y := uint64(0); y < r.Height; y++ {
			f(z*r.DstSlice+y*r.DstPitch, z*r.SrcSlice+y*r.SrcPitch)
		}
	}
}

// Copy is a command that copies a rectangle. async says that the caller does not wait: the call returns when the copy is
// in the stream; otherwise when it is done. The event is nil if the copy is done.
func (q *HostQueue) Copy(dst, src uint64, rect Rect, async bool) (*Event, error) {
	if rect.Width == 0 || rect.Height == 0 || rect.Depth == 0 {
		return nil, nil
	}
	rt := q.dev.rt
	d, err := rt.locate(dst, span(&rect, rect.DstPitch, rect.DstSlice))
	if err != nil {
		return nil, err
	}
	s, err := rt.locate(src, span(&rect, rect.SrcPitch, rect.SrcSlice))
	if err != nil {
		return nil, err
	}
	rect = rect.collapse()
	if rt.set.SerializeCopy&1 != 0 {
		if err := q.Finish(); err != nil {
			return nil, err
		}
	}
	if rt.set.SerializeCopy&2 != 0 || rt.set.LaunchBlocking {
		async = false
	}
	engine := d.dev != 0 && s.dev != 0
	// The CPU is the fastest engine of a software device: a caller that waits anyway lets it copy, if it reaches both sides.
	if engine && !async && d.cpu != 0 && s.cpu != 0 {
		engine = false
	}
	if engine {
		e, err := q.engineCopy(d, s, &rect)
		if err != nil || async {
			return e, err
		}
		return nil, e.Wait()
	}
	if err := checkHost(&d, &s, &rect); err != nil {
		return nil, err
	}
	if async && (d.shared() || s.shared()) {
		return nil, q.hostCommand(d, s, rect)
	}
	if err := q.settle(); err != nil {
		return nil, err
	}
	if d.cpu != 0 && s.cpu != 0 {
		cp := hostCopy(&d, &s)
		rect.each(func(do, so uint64) { cp(d.cpu+do, s.cpu+so, rect.Width) })
		return nil, nil
	}
	return nil, q.staged(d, s, &rect)
}

// hostCommand adds a copy by the CPU to the stream.
func (q *HostQueue) hostCommand(d, s place, rect Rect) error {
	_, err := q.Host(func() error {
		if err := checkHost(&d, &s, &rect); err != nil {
			return err
		}
		if d.cpu != 0 && s.cpu != 0 {
			cp := hostCopy(&d, &s)
			rect.each(func(do, so uint64) { cp(d.cpu+do, s.cpu+so, rect.Width) })
			return nil
		}
		return q.staged(d, s, &rect)
	})
	return err
}

// CopyLater is a command that copies a rectangle when the stream has come so far, whatever kind of memory it is: the content of pageable memory is
// read and written then, not before the call returns.
func (q *HostQueue) CopyLater(dst, src uint64, rect Rect) error {
	if rect.Width == 0 || rect.Height == 0 || rect.Depth == 0 {
		return nil
	}
	rt := q.dev.rt
	d, err := rt.locate(dst, span(&rect, rect.DstPitch, rect.DstSlice))
	if err != nil {
		return err
	}
	s, err := rt.locate(src, span(&rect, rect.SrcPitch, rect.SrcSlice))
	if err != nil {
		return err
	}
	rect = rect.collapse()
	if d.dev != 0 && s.dev != 0 {
		_, err := q.engineCopy(d, s, &rect)
		return err
	}
	return q.hostCommand(d, s, rect)
}

// settle waits for everything that a command added now would be ordered after.
func (q *HostQueue) settle() error {
	evs, err := q.implicit()
	if err != nil {
		return err
	}
	q.mu.Lock()
	evs = append(evs, q.waiting...)
	q.mu.Unlock()
	if err := q.Finish(); err != nil {
		return err
	}
	for _, e := range evs {
		if err := e.Wait(); err != nil {
			return err
		}
	}
	return q.dev.Err()
}

// engineCopy adds an SDMA copy to the stream.
func (q *HostQueue) engineCopy(d, s place, rect *Rect) (*Event, error) {
	agent := q.dev.Agent
	// An engine reaches its own device's memory and the host's; for another device's memory it must have been let in.
	for _, p := range []place{d, s} {
		if p.mem != nil && p.mem.Kind == DeviceMemory && p.mem.Device != q.dev {
			if err := q.dev.rt.Reach(p.mem, q.dev); err != nil {
				return nil, err
			}
		}
	}
	return q.engine(func(deps []*hsa.Signal, done *hsa.Signal) error {
		n := rect.Height * rect.Depth
		i := uint64(0)
		var first error
		rect.each(func(do, so uint64) {
			var dp []*hsa.Signal
			var dn *hsa.Signal
			if i == 0 {
				dp = deps
			}
			if i++; i == n {
				dn = done
			}
			if first == nil {
				first = agent.CopyAsync(d.dev+do, s.dev+so, rect.Width, d.onHost(), dp, dn)
			}
		})
		return first
	})
}

// engine adds a command of an SDMA engine to the stream: f submits it. The engine runs submissions in order, so the first waits and the last completes.
func (q *HostQueue) engine(f func(deps []*hsa.Signal, done *hsa.Signal) error) (*Event, error) {
	extra, err := q.implicit()
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, err := q.hwLocked(); err != nil {
		return nil, err
	}
	deps, sigs, err := q.depsLocked(extra)
	if err != nil {
		return nil, err
	}
	e, err := q.dev.newEvent(deps)
	if err != nil {
		return nil, err
	}
	if err := f(sigs, e.sig); err != nil {
		return nil, q.submitError(err)
	}
	q.tail = tail{ev: e}
	return e, nil
}

// Reach lets a device reach another's memory.
func (r *Runtime) Reach(m *Memory, d *Device) error {
	as := append(r.HSA.Accessible(m.mem), d.Agent)
	return r.HSA.AllowAccess(m.mem, as...)
}

const stageSize = 4 << 20

// staged copies through a pinned buffer, between pageable memory and video memory that the CPU does not reach.
func (q *HostQueue) staged(d, s place, rect *Rect) error {
	stage, err := q.dev.AllocHost(min(stageSize, rect.Width), HostMemory, true)
	if err != nil {
		return err
	}
	defer q.dev.rt.Discard(stage)
	h := q.dev.rt.HSA
	cp := hostCopy(&d, &s)
	var first error
	rect.each(func(do, so uint64) {
		for off := uint64(0); off < rect.Width && first == nil; {
			n := min(rect.Width-off, stage.Size)
			if s.cpu != 0 {
				cp(stage.Host, s.cpu+so+off, n)
				first = h.Copy(d.dev+do+off, stage.Ptr, n, q.dev.Agent)
			} else {
				first = h.Copy(stage.Ptr, s.dev+so+off, n, q.dev.Agent)
				if first == nil && d.cpu != 0 {
					cp(d.cpu+do+off, stage.Host, n)
				}
			}
			off += n
		}
	})
	return first
}

// Fill is a command that stores a pattern of 1, 2 or 4 bytes over a rectangle; widths are in bytes and multiples of the pattern's.
func (q *HostQueue) Fill(dst uint64, pattern uint32, size int, rect Rect, async bool) (*Event, error) {
	if rect.Width == 0 || rect.Height == 0 || rect.Depth == 0 {
		return nil, nil
	}
	if size != 1 && size != 2 && size != 4 || rect.Width%uint64(size) != 0 || dst%uint64(size) != 0 {
		return nil, fail(ErrInvalidValue, "fill of %d bytes with a pattern of %d", rect.Width, size)
	}
	rt := q.dev.rt
	d, err := rt.locate(dst, span(&rect, rect.DstPitch, rect.DstSlice))
	if err != nil {
		return nil, err
	}
	rect.SrcPitch, rect.SrcSlice = rect.DstPitch, rect.DstSlice
	rect = rect.collapse()
	switch size {
	case 1:
		pattern = pattern & 0xff * 0x01010101
	case 2:
		pattern = pattern & 0xffff * 0x00010001
	}
	if d.shared() {
		fill := func() error {
			rect.each(func(o, _ uint64) { fillShared(d.cpu+o, pattern, rect.Width) })
			return nil
		}
		if async {
			return q.Host(fill)
		}
		if err := q.settle(); err != nil {
			return nil, err
		}
		return nil, fill()
	}
	if d.cpu != 0 && (!async || d.dev == 0) {
		if err := q.settle(); err != nil {
			return nil, err
		}
		rect.each(func(o, _ uint64) { fillHost(d.cpu+o, pattern, rect.Width) })
		return nil, nil
	}
	pat, err := q.dev.patternBytes(pattern)
	if err != nil {
		return nil, err
	}
	agent := q.dev.Agent
	e, err := q.engine(func(deps []*hsa.Signal, done *hsa.Signal) error {
		n := rect.Height * rect.Depth
		i := uint64(0)
		var first error
		rect.each(func(o, _ uint64) {
			if first != nil {
				return
			}
			var dp []*hsa.Signal
			var dn *hsa.Signal
			if i == 0 {
				dp = deps
			}
			if i++; i == n {
				dn = done
			}
			first = fillRow(agent, d.dev+o, rect.Width, pattern, pat, dp, dn)
		})
		return first
	})
	if err != nil || async {
		return e, err
	}
	return nil, e.Wait()
}

// fillRow fills n bytes: whole words by a fill packet, the odd bytes at both ends by copies from pat, which holds the pattern twice.
func fillRow(a *hsa.Agent, dst, n uint64, pattern uint32, pat uint64, deps []*hsa.Signal, done *hsa.Signal) error {
	head := min(-dst&3, n)
	words := (n - head) / 4
	tail := n - head - 4*words
	type part struct {
		n uint64
		f func(deps []*hsa.Signal, done *hsa.Signal) error
	}
	// The pattern is aligned to its own size at dst; in memory order byte i of dst is byte i of the pattern, modulo its size. A
	// word behind the head is therefore the pattern turned by head bytes.
	turn := uint(head) * 8
	word := pattern>>turn | pattern<<(32-turn)
	if turn == 0 {
		word = pattern
	}
	parts := []part{
		{head, func(dp []*hsa.Signal, dn *hsa.Signal) error { return a.CopyAsync(dst, pat, head, false, dp, dn) }},
		{words, func(dp []*hsa.Signal, dn *hsa.Signal) error { return a.FillAsync(dst+head, word, words, dp, dn) }},
		{tail, func(dp []*hsa.Signal, dn *hsa.Signal) error {
			return a.CopyAsync(dst+head+4*words, pat+head, tail, false, dp, dn)
		}},
	}
	last := -1
	for i, p := range parts {
		if p.n > 0 {
			last = i
		}
	}
	for i, p := range parts {
		if p.n == 0 {
			continue
		}
		var dn *hsa.Signal
		if i == last {
			dn = done
		}
		if err := p.f(deps, dn); err != nil {
			return err
		}
		deps = nil
	}
	return nil
}

func fillHost(dst uint64, pattern uint32, n uint64) {
	if b := byte(pattern); pattern == uint32(b)*0x01010101 {
		SetHost(dst, b, n)
		return
	}
	repeat(CopyHost, dst, pattern, n)
}

// fillShared is fillHost for shared virtual memory.
func fillShared(dst uint64, pattern uint32, n uint64) { repeat(CopyShared, dst, pattern, n) }

// repeat copies a stretch of pattern as often as needed. What is in a pool is in the heap and does not move.
func repeat(cp func(dst, src, n uint64), dst uint64, pattern uint32, n uint64) {
	b := stretches.Get().(*[4096]byte)
	defer stretches.Put(b)
	for i := range b {
		b[i] = byte(pattern >> (8 * (i & 3)))
	}
	src := uint64(uintptr(unsafe.Pointer(b)))
	for off := uint64(0); off < n; {
		m := min(n-off, uint64(len(b)))
		cp(dst+off, src, m)
		off += m
	}
}

var stretches = sync.Pool{New: func() any { return new([4096]byte) }}
