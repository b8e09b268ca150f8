package svm

import (
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
	"github.com/pumice-gpu/pumice/kernel/sched"
)

var (
	errAddrInUse error = syscall.EADDRINUSE
	errAccess    error = syscall.EACCES
	errNoReset   error = syscall.EINVAL
)

// listOp is what the deferred worker is to do with a prange.
type listOp uint8

const (
	opNone           listOp = iota
	opUnmapRange            // it is gone
	opUpdateNotifier        // it is shorter
	opAddRange              // it is a piece that goes on
)

// busAddr is one page's address for one GPU.
type busAddr struct {
	pagemap.Addr
	dev *Device // whose page it is, nil for system memory
	ok  bool
}

// prange is a range of addresses with everything that is known of it.
type prange struct {
	s       *SVM
	migrate sched.Mutex // migrate_mutex: one migration or mapping at a time
	attrs   Attrs       // guarded by SVM.mu; read by notifiers too
	watch   *watch      // its notifier; guarded by the mmap lock
	key     uint64      // an address of its entry in SVM.objects; guarded by SVM.mu

	lock sched.Mutex // prange.lock; notifiers take it
	// Guarded by lock; bounds are changed by notifiers only.
	start, end uint64
	children   []*prange
	dma        [][]busAddr // by GPU and page; nil: nothing mapped
	mapped     bool        // page-table entries exist, perhaps not everywhere
	complete   bool        // the last mapping of all of it went to its end
	flags      svm.PTEFlags
	bo         *bo
	offset     uint64 // of the first page in bo, in pages
	vramPages  int    // only with Mistakes.CountsVRAMPages: pages of it in bo
	charged    bool   // its bytes count against Config.Limit
	queues     []hold // user queues whose memory this is

	invalid atomic.Int64 // evictions since it was mapped (XNACK off)

	op     listOp // guarded by listLock for those in the list, by the parent's lock for children
	queued bool   // guarded by listLock
}

func (s *SVM) newPrange(start, end uint64, a Attrs) *prange {
	return &prange{s: s, migrate: s.world.NewMutex(migrateClass), lock: s.world.NewMutex(prangeClass), attrs: a, start: start, end: end,
		dma: make([][]busAddr, len(s.cfg.GPUs))}
}

func (p *prange) pages() int { return int((p.end - p.start) >> mm.PageShift) }

// split makes p end at at and returns the rest; p.lock is held. Static and dynamic state go along.
func (p *prange) split(at uint64) *prange {
	q := p.s.newPrange(at, p.end, p.attrs)
	n := (at - p.start) >> mm.PageShift
	for i, d := range p.dma {
		if d != nil {
			p.dma[i], q.dma[i] = d[:n:n], d[n:]
		}
	}
	q.mapped, q.complete, q.flags, q.charged = p.mapped, p.complete, p.flags, p.charged
	if !p.s.cfg.Mistakes.SplitForgetsInvalid {
		q.invalid.Store(p.invalid.Load())
	}
	q.queues = p.queues
	if p.bo != nil {
		q.bo, q.offset = p.bo, p.offset+n
		q.bo.addRange(q)
	}
	p.end = at
	p.recount()
	q.recount()
	return q
}

// watch is a registration of a notifier. Pieces that leave its prange while it is registered still hear of what is under way.
type watch struct {
	p       *prange
	n       mm.Notifier
	retired bool      // the prange itself is a copy's original; guarded by p.lock
	heirs   []*prange // guarded by p.lock
}

// register gives p a notifier for its bounds; the mmap lock is held for writing.
func (p *prange) register() error {
	w := &watch{p: p}
	n, err := p.s.space.NewNotifier(p.start, p.end, w.invalidate)
	if err != nil {
		return err
	}
	w.n = n
	p.watch = w
	return nil
}

// unlink ends p: mu and the mmap lock are held, entries are gone.
func (s *SVM) unlink(p *prange) {
	s.removeObject(p)
	if p.watch != nil {
		p.watch.n.Remove()
		p.watch = nil
	}
	p.lock.Lock()
	p.release(p.start, p.end)
	p.uncharge()
	b := p.bo
	p.bo = nil
	p.lock.Unlock()
	if b != nil {
		b.removeRange(p)
	}
}

// enter puts p in the list; mu is held.
func (s *SVM) enter(p *prange) {
	p.key = p.start
	s.objects.Insert(p.start, p.end, p)
}

// removeObject takes p out of the list; mu is held.
func (s *SVM) removeObject(p *prange) {
	if g, ok := s.objects.Find(p.key); ok && g.Value == p {
		s.objects.Remove(p.key)
	}
}

// release gives up the bus addresses of [start, end); p.lock is held and no entry uses them.
func (p *prange) release(start, end uint64) {
	for i, d := range p.dma {
		if d == nil {
			continue
		}
		for k := (start - p.start) >> mm.PageShift; k < (end-p.start)>>mm.PageShift; k++ {
			p.s.cfg.GPUs[i].unmapPage(&d[k])
		}
	}
}

func (g *GPU) unmapPage(a *busAddr) {
	switch {
	case !a.ok:
	case a.dev == nil:
		g.Device.Mem.UnmapPage(a.Addr)
	default:
		a.dev.Mem.DeviceUnmap(g.Device.Mem, a.Addr)
	}
	*a = busAddr{}
}

// inVRAM counts the pages of [start, end) that are in p's video memory; p.lock or migrate is held.
func (p *prange) inVRAM(start, end uint64) (n int) {
	b := p.bo
	if b == nil {
		return 0
	}
	for a := start; a < end; a += mm.PageSize {
		if b.live(p.offset + (a-p.start)>>mm.PageShift) {
			n++
		}
	}
	return n
}

// recount makes vramPages after a split as svm_range_split_pages does: by the bus addresses that lead to video memory. Only with
// Mistakes.CountsVRAMPages: pages that moved and were not mapped yet are lost.
func (p *prange) recount() {
	if !p.s.cfg.Mistakes.CountsVRAMPages {
		return
	}
	p.vramPages = 0
	for _, d := range p.dma {
		n := 0
		for _, a := range d {
			if a.ok && a.dev != nil {
				n++
			}
		}
		p.vramPages = max(p.vramPages, n)
	}
}

// moved counts pages that came to video memory, or left it for a negative n; p.migrate is held. Only Mistakes.CountsVRAMPages uses the count,
// which is wrong after a split.
func (p *prange) moved(n int) {
	if !p.s.cfg.Mistakes.CountsVRAMPages {
		return
	}
	if p.vramPages += n; p.vramPages < 0 {
		p.s.world.Fail(fmt.Errorf("kfd svm: %d pages of [%#x, %#x) have moved to system memory, which counted %d in video memory", -n, p.start, p.end, p.vramPages-n))
	}
}

// at returns where p's pages are: the device some of whose pages it uses, or nil.
func (p *prange) at() *Device {
	if p.bo == nil {
		return nil
	}
	return p.bo.dev
}
