package hsa

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// An sdmaQueue is a ring of one of the chip's copy engines. A copy is: polls of the signals that it depends on, the start time, the
// copy in pieces, the end time, then what completes a signal (an atomic subtraction, the event slot, an interrupt).

const (
	sdmaRing = 1 << 20 // bytes
	// sdmaPiece is the most that one copy packet of every generation moves.
	sdmaPiece = 0x3fffe0
)

// Keys of Agent.sdma.
const (
	sdmaIn       = 0 // host to device, and between devices
	sdmaOut      = 1 // device to host
	sdmaByEngine = 2 // and those after it: a queue on one engine
)

type sdmaQueue struct {
	rt   *Runtime
	kq   *hsakmt.Queue
	ring *hsakmt.Mem
	ptrs *hsakmt.Mem // read pointer at 0, write pointer at 64
	rptr *uint64
	wptr *uint64

	mu   sync.Mutex
	next uint64 // bytes written so far; guarded by mu
	dead bool   // guarded by mu
}

func (a *Agent) newSDMA(key int) (_ *sdmaQueue, err error) {
	r := a.rt
	s := &sdmaQueue{rt: r}
	defer func() {
		if err != nil {
			s.free()
		}
	}()
	if s.ring, err = r.systemAlloc(sdmaRing, hsakmt.Uncached); err != nil {
		return nil, wrap("sdma", err)
	}
	if s.ptrs, err = r.systemAlloc(hsakmt.PageSize, hsakmt.Uncached); err != nil {
		return nil, wrap("sdma", err)
	}
	s.rptr, s.wptr = (*uint64)(hostPointer(s.ptrs.VA)), (*uint64)(hostPointer(s.ptrs.VA+64))
	cfg := hsakmt.QueueConfig{Type: kfd.QueueTypeSDMA, Ring: s.ring.VA, RingSize: sdmaRing, ReadPointer: s.ptrs.VA, WritePointer: s.ptrs.VA + 64}
	if key >= sdmaByEngine {
		cfg.Type, cfg.SDMAEngine = kfd.QueueTypeSDMAByEngID, uint32(key-sdmaByEngine)
	}
	s.kq, err = r.kfd.CreateQueue(a.Node.ID, cfg)
	if err != nil {
		return nil, wrap("sdma", err)
	}
	return s, nil
}

func (s *sdmaQueue) free() {
	if s.kq != nil {
		_ = s.rt.kfd.DestroyQueue(s.kq)
	}
	for _, m := range []*hsakmt.Mem{s.ring, s.ptrs} {
		if m != nil {
			_ = s.rt.kfd.Free(m)
		}
	}
}

func (a *Agent) closeSDMA() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, s := range a.sdma {
		if s != nil {
			s.mu.Lock()
			s.dead = true
			s.mu.Unlock()
			s.free()
			delete(a.sdma, i)
		}
	}
}

func (a *Agent) sdmaQueue(key int) (*sdmaQueue, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sdma[key] == nil {
		s, err := a.newSDMA(key)
		if err != nil {
			return nil, err
		}
		if a.sdma == nil {
			a.sdma = map[int]*sdmaQueue{}
		}
		a.sdma[key] = s
	}
	return a.sdma[key], nil
}

// submit writes packets, which must be fewer than half the ring, and rings the doorbell.
func (s *sdmaQueue) submit(w []uint32) error {
	n := uint64(len(w)) * 4
	if n > sdmaRing/2 {
		return fail("sdma", StatusInvalidArgument, "%d bytes of packets", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return fail("sdma", StatusInvalidQueue)
	}
	// Packets do not go around the end: no-operation words fill it.
	pad := uint64(0)
	if left := sdmaRing - s.next%sdmaRing; n > left {
		pad = left
	}
	for i := 0; s.next+pad+n-atomic.LoadUint64(s.rptr) > sdmaRing-64; i++ {
		if i < 1000 {
			runtime.Gosched()
		} else {
			time.Sleep(20 * time.Microsecond)
		}
		if s.rt.closed.Load() {
			return fail("sdma", StatusInvalidQueue)
		}
	}
	for ; pad > 0; pad -= 4 {
		*(*uint32)(hostPointer(s.ring.VA + s.next%sdmaRing)) = 0
		s.next += 4
	}
	for _, v := range w {
		*(*uint32)(hostPointer(s.ring.VA + s.next%sdmaRing)) = v
		s.next += 4
	}
	atomic.StoreUint64(s.wptr, s.next)
	s.kq.Ring(s.next)
	return nil
}

// idle reports whether the engine has read all packets.
func (s *sdmaQueue) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return atomic.LoadUint64(s.rptr) >= s.next
}

// CopyAsync copies size bytes between addresses that agent a reaches, after deps are all 0, and then subtracts 1 from done. Without deps the
// copy starts at once. toHost picks the engine that is kept for copies to the host.
func (a *Agent) CopyAsync(dst, src, size uint64, toHost bool, deps []*Signal, done *Signal) error {
	return a.copyAsync(dst, src, size, direction(toHost), deps, done)
}

func direction(toHost bool) int {
	if toHost {
		return sdmaOut
	}
	return sdmaIn
}

func (a *Agent) copyAsync(dst, src, size uint64, key int, deps []*Signal, done *Signal) error {
	p := sdmaPackets{major: a.Target.Proc.Major}
	p.begin(deps, done)
	for off := uint64(0); off < size; {
		n := min(size-off, sdmaPiece)
		p.copyLinear(dst+off, src+off, uint32(n))
		off += n
	}
	p.end(done)
	return a.submitSDMA(&p, key)
}

// FillAsync stores count 32-bit words of the value at dst, after deps are all 0, and then subtracts 1 from done.
func (a *Agent) FillAsync(dst uint64, value uint32, count uint64, deps []*Signal, done *Signal) error {
	p := sdmaPackets{major: a.Target.Proc.Major}
	p.begin(deps, done)
	for left := count; left > 0; {
		n := min(left, sdmaPiece/4)
		p.constFill(dst, value, uint32(n*4))
		dst += n * 4
		left -= n
	}
	p.end(done)
	return a.submitSDMA(&p, sdmaIn)
}

// submitSDMA hands packets over, in portions when they are many. Portions of different copies may interleave, which is harmless: each is a whole
// number of packets, and completion comes last.
func (a *Agent) submitSDMA(p *sdmaPackets, key int) error {
	s, err := a.sdmaQueue(key)
	if err != nil {
		return err
	}
	for from := 0; from < len(p.ends); {
		to := from + 1
		for to < len(p.ends) && (p.ends[to]-p.start(from))*4 <= sdmaRing/2 {
			to++
		}
		if err := s.submit(p.w[p.start(from):p.ends[to-1]]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// Copy copies and waits. Both addresses must be reachable from agent a, or from the host.
func (r *Runtime) Copy(dst, src, size uint64, a *Agent) error {
	if size == 0 {
		return nil
	}
	done, err := r.NewSignal(1)
	if err != nil {
		return err
	}
	defer done.Destroy()
	if err := a.CopyAsync(dst, src, size, false, nil, done); err != nil {
		return err
	}
	return r.await("copy", done, nil)
}

// await waits for a completion signal to reach 0, unless the queue that shall bring it there stops.
func (r *Runtime) await(op string, done *Signal, q *Queue) error {
	for {
		switch v := done.Wait(aql.CondLT, 1, 50*time.Millisecond); {
		case v == 0:
			return nil
		case v < 0:
			return fail(op, StatusError, "completion signal holds %d", v)
		}
		if q != nil && q.Err() != nil {
			return q.Err()
		}
		if r.closed.Load() {
			return fail(op, StatusNotInitialized)
		}
	}
}

// sdmaPackets collects packets and where each ends.
type sdmaPackets struct {
	major int
	w     []uint32
	ends  []int
}

func (p *sdmaPackets) start(i int) int {
	if i == 0 {
		return 0
	}
	return p.ends[i-1]
}

func (p *sdmaPackets) add(w ...uint32) {
	p.w = append(p.w, w...)
	p.ends = append(p.ends, len(p.w))
}

func lo(v uint64) uint32 { return uint32(v) }
func hi(v uint64) uint32 { return uint32(v >> 32) }

// Opcodes of SDMA packets.
const (
	sdmaCopy      = 1
	sdmaFence     = 5
	sdmaTrap      = 6
	sdmaPoll      = 8
	sdmaAtomic    = 10
	sdmaFill      = 11
	sdmaTimestamp = 13
)

// begin waits for signals and takes the start time.
func (p *sdmaPackets) begin(deps []*Signal, done *Signal) {
	for _, d := range deps {
		// The value is 64 bits, a poll compares 32: first the high half, which a count-down reaches 0 in first.
		for _, a := range [2]uint64{d.ValueAddr() + 4, d.ValueAddr()} {
			p.add(sdmaPoll|3<<28|1<<31, lo(a), hi(a), 0, 0xffffffff, 4|0xfff<<16)
		}
	}
	if done != nil {
		p.add(sdmaTimestamp|2<<8, lo(done.addr+aql.SignalStartTSOffset), hi(done.addr+aql.SignalStartTSOffset))
	}
}

func (p *sdmaPackets) copyLinear(dst, src uint64, n uint32) {
	p.add(sdmaCopy, n-1, 0, lo(src), hi(src), lo(dst), hi(dst))
}

func (p *sdmaPackets) constFill(dst uint64, v, n uint32) {
	const dwords = 2 << 30
	p.add(sdmaFill|dwords, lo(dst), hi(dst), v, n-1)
}

// end takes the end time and completes the signal.
func (p *sdmaPackets) end(done *Signal) {
	if done == nil {
		return
	}
	p.add(sdmaTimestamp|2<<8, lo(done.addr+aql.SignalEndTSOffset), hi(done.addr+aql.SignalEndTSOffset))
	const add64 = 47 << 25
	p.add(sdmaAtomic|add64, lo(done.ValueAddr()), hi(done.ValueAddr()), 0xffffffff, 0xffffffff, 0, 0, 0)
	if done.event != nil {
		p.add(sdmaFence, lo(done.event.Mailbox), hi(done.event.Mailbox), done.event.ID)
		p.add(sdmaTrap, done.event.ID)
	}
}
