// Package svmsim is a small machine for the shared-virtual-memory driver to live in: processes, GPUs with page tables,
// TLBs, video memory and queues, all simulated and all in one World.
//
// There are two drivers to choose from: that on drm_gpusvm (kernel/amdgpu/svm) and the older one of amdkfd (kernel/kfd/svm).
//
// A GPU access is what a wave does: it needs a running queue, looks into the TLB, then into the page table, and on a miss
// raises a retry fault (XNACK on) or dies (off). It happens between two calls into the World, so no other task sees half
// of it. The driver above is the real one (package svm); nothing here helps it.
//
// A program can also go the long way: a user queue in its memory, a doorbell, a command processor that reads packets through the page table, an
// event that an interrupt signals (queue.go). Everything that can fail can be made to (Config.Fail).
package svmsim

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/fence"
	kfdsvm "github.com/pumice-gpu/pumice/kernel/kfd/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/mm/sim"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/ttm"
)

// Engine names the driver.
type Engine uint8

const (
	DRM Engine = iota // kernel/amdgpu/svm
	KFD               // kernel/kfd/svm; its eviction is by fence, and it has no chunks or windows
)

// Driver is shared virtual memory of one process on one GPU.
type Driver interface {
	SetAttrs(start, size uint64, attrs []svm.Attr) error
	GetAttrs(start, size uint64) (svm.Attrs, error)
	ResetAttrs(start, size uint64) error
	HandleFault(addr uint64, write bool) error
	Inspect() svm.State
	Close()
}

// Config describes a machine.
type Config struct {
	Engine   Engine
	GPUs     int
	VRAM     uint64 // bytes for each GPU
	RAM      int    // pages; 0 is no limit
	XNACK    bool
	Policy   svm.EvictPolicy
	SameHive bool            // GPUs reach each other's memory
	Chunks   []uint64        // sizes of svm ranges; nil: the driver's
	Notifier uint64          // notifier window; 0: the driver's
	Pinned   uint64          // KFD: bytes that may be registered with XNACK off; 0 is no limit
	Mistakes svm.Mistakes    // of DRM
	Bugs     kfdsvm.Mistakes // of KFD
	// Fail, if not nil, is asked at each place that can fail; true makes it fail.
	Fail func(FailPoint) bool
	// Hardware, if not nil, makes the chip that stands behind a GPU's model.
	Hardware func(gpu int) Hardware
	// Event, if not nil, is told what the drivers do.
	Event func(gpu int, p *Process, e svm.Event)
}

// Hardware is a real chip (package silicon) behind the model of a GPU: what the model's page tables hold stands in the chip's too, and its queues stop with
// the model's. The model goes on checking what the entries lead to.
type Hardware interface {
	// VRAM is at least Config.VRAM bytes.
	VRAM() []byte
	// Enter writes the entry of one page, for a process. ENOMEM when there is no table.
	Enter(p *Process, addr uint64, page []byte, f svm.PTEFlags) error
	Clear(p *Process, start, end uint64)
	Flush(p *Process)
	// Stop takes the queues of a process off the chip, Start puts them back.
	Stop(p *Process) error
	Start(p *Process)
}

// FailPoint is a place that can be made to fail.
type FailPoint uint8

const (
	FailAlloc   FailPoint = iota // allocation of a system page: ENOMEM
	FailMap                      // a bus address for a page: no more of them
	FailCopy                     // the copy engine
	FailUpdate                   // writing page-table entries: ENOMEM, there is no table
	FailQuiesce                  // stopping queues: the scheduler firmware does not answer (ETIME)
)

// FailPoints are their names.
var FailPoints = [...]string{"alloc", "map", "copy", "update", "quiesce"}

func (p FailPoint) String() string { return FailPoints[p] }

func (m *Machine) fails(p FailPoint) bool { return m.cfg.Fail != nil && m.cfg.Fail(p) }

var (
	errNoBusAddress = errors.New("svmsim: no bus address is to be had")
	errCopy         = errors.New("svmsim: the copy engine fails")
)

// Machine is memory and GPUs.
type Machine struct {
	World sched.World
	Mem   *sim.Memory
	GPUs  []*GPU
	Limit *kfdsvm.Limit // of KFD; nil is none
	cfg   Config
}

// New makes a machine in w.
func New(w sched.World, cfg Config) *Machine {
	m := &Machine{World: w, cfg: cfg}
	if cfg.Pinned > 0 {
		m.Limit = &kfdsvm.Limit{Max: int64(cfg.Pinned)}
	}
	m.Mem = sim.New(w, sim.Config{Pages: cfg.RAM, FailAlloc: func() bool { return m.fails(FailAlloc) }})
	for i := range cfg.GPUs {
		g := &GPU{m: m, Index: i, dma: map[uint64]mm.Folio{}}
		var memory []byte
		if cfg.Hardware != nil {
			g.hardware = cfg.Hardware(i)
			memory = g.hardware.VRAM()
		} else {
			memory = make([]byte, cfg.VRAM)
		}
		for at := uint64(0); at < cfg.VRAM; at += mm.PageSize {
			g.vram = append(g.vram, memory[at:at+mm.PageSize:at+mm.PageSize])
		}
		var hive any = g
		if cfg.SameHive {
			hive = m
		}
		if cfg.Engine == KFD {
			g.kfd = kfdsvm.NewDevice(w, m.Mem, g, hive, cfg.VRAM, cfg.Policy)
			g.TTM, g.Pages = g.kfd.TTM, g.kfd.Pages
		} else {
			g.drm = svm.NewGPU(w, m.Mem, g, hive, cfg.VRAM, cfg.Policy)
			g.TTM, g.Pages = g.drm.TTM, g.drm.Pages.Pages
			g.drm.Pages.Copier = g
		}
		m.GPUs = append(m.GPUs, g)
	}
	return m
}

// GPU is one device: video memory, and the bus addresses it may use. It implements svm.Memory.
type GPU struct {
	Index int
	TTM   *ttm.Manager // of its video memory
	Pages mm.Pagemap   // the same, as pages
	drm   *svm.GPU
	kfd   *kfdsvm.Device
	m     *Machine
	vram  [][]byte
	dma   map[uint64]mm.Folio
	next  uint64

	hardware Hardware // nil: none
}

// MapPage gives a system page a bus address.
func (g *GPU) MapPage(f mm.Folio, write bool) (pagemap.Addr, error) {
	if g.m.fails(FailMap) {
		return pagemap.Addr{}, errNoBusAddress
	}
	g.next++
	g.dma[g.next] = f
	return pagemap.Addr{Addr: g.next, Proto: pagemap.System}, nil
}

// UnmapPage takes it back.
func (g *GPU) UnmapPage(a pagemap.Addr) { delete(g.dma, a.Addr) }

// peerShift is where an address of another GPU's memory holds its index.
const peerShift = 40

// DeviceMap returns how dev reaches page i of g's memory.
func (g *GPU) DeviceMap(dev pagemap.Device, i uint64) (pagemap.Addr, error) {
	if dev == pagemap.Device(g) {
		return pagemap.Addr{Addr: i, Proto: pagemap.VRAM}, nil
	}
	if !g.m.cfg.SameHive {
		return pagemap.Addr{}, errors.New("svmsim: no link between the GPUs")
	}
	return pagemap.Addr{Addr: uint64(g.Index)<<peerShift | i, Proto: pagemap.Peer}, nil
}

// DeviceUnmap has nothing to take back.
func (g *GPU) DeviceUnmap(pagemap.Device, pagemap.Addr) {}

// CopyToVRAM is the copy engine; a nil page gives zeroes.
func (g *GPU) CopyToVRAM(i uint64, from mm.Folio) error {
	if g.m.fails(FailCopy) {
		return errCopy
	}
	if from == nil {
		clear(g.vram[i])
		return nil
	}
	copy(g.vram[i], g.page(from))
	return nil
}

// CopyToRAM copies back.
func (g *GPU) CopyToRAM(to mm.Folio, i uint64) error {
	if g.m.fails(FailCopy) {
		return errCopy
	}
	copy(to.Data(), g.vram[i])
	return nil
}

// page returns the bytes of any page, system or another GPU's.
func (g *GPU) page(f mm.Folio) []byte {
	if pm, i := f.Device(); pm != nil {
		return g.m.gpuOf(pm).vram[i]
	}
	return f.Data()
}

// gpuOf returns the GPU that device pages are of.
func (m *Machine) gpuOf(pm mm.Pagemap) *GPU {
	for _, g := range m.GPUs {
		if g.Pages == pm {
			return g
		}
	}
	return nil
}

// bytes returns the memory at a, as g's page-table entry for addr names it.
func (g *GPU) bytes(addr uint64, a pagemap.Addr) []byte {
	switch a.Proto {
	case pagemap.VRAM:
		return g.vram[a.Addr]
	case pagemap.Peer:
		return g.m.GPUs[a.Addr>>peerShift].vram[a.Addr&(1<<peerShift-1)]
	}
	f := g.dma[a.Addr]
	if f == nil || f.Data() == nil {
		g.m.World.Fail(fmt.Errorf("svmsim: GPU %d at %#x uses bus address %#x after it was unmapped", g.Index, addr, a.Addr))
	}
	return f.Data()
}

// Mappings returns how many bus addresses are in use.
func (g *GPU) Mappings() int { return len(g.dma) }

// Process is an address space with its drivers, one for each GPU.
type Process struct {
	*sim.Space
	Name string
	On   []*Context
	m    *Machine

	queues *queues
	all    []*Queue
	events []*Event
}

// NewProcess makes a process that uses all GPUs.
func (m *Machine) NewProcess(name string) (*Process, error) {
	p := &Process{Space: m.Mem.NewSpace(name), Name: name, m: m}
	q := &queues{m: m, p: p, w: m.World, wake: m.World.NewWaitQueue("queues of " + name)}
	p.queues = q
	if m.cfg.Engine == KFD {
		return p, p.openKFD(q)
	}
	for i, g := range m.GPUs {
		c := p.context(g, q, fence.NewResv(m.World))
		cfg := svm.Config{World: m.World, Space: p.Space, GPU: g.drm, VM: c, Queues: q, Start: mm.PageSize, Size: 1 << 46, XNACK: m.cfg.XNACK,
			Granularity: 9, Chunks: m.cfg.Chunks, NotifierSize: m.cfg.Notifier, Mistakes: m.cfg.Mistakes}
		if m.cfg.Event != nil {
			cfg.Event = func(e svm.Event) { m.cfg.Event(i, p, e) }
		}
		s, err := svm.New(cfg)
		if err != nil {
			return nil, err
		}
		c.SVM = s
		p.On = append(p.On, c)
	}
	return p, nil
}

func (p *Process) context(g *GPU, q *queues, resv *fence.Resv) *Context {
	return &Context{gpu: g, p: p, queues: q, resv: resv, pt: map[uint64]Entry{}, tlb: map[uint64]Entry{}}
}

// openKFD gives the process the driver that serves all its GPUs.
func (p *Process) openKFD(q *queues) error {
	m := p.m
	cfg := kfdsvm.Config{World: m.World, Space: p.Space, Queues: q, Start: mm.PageSize, Size: 1 << 46, XNACK: m.cfg.XNACK, Granularity: 9, Limit: m.Limit, Mistakes: m.cfg.Bugs}
	if m.cfg.Chunks != nil {
		// Small steps, as with the other driver: what moves together, and the longest range.
		cfg.Granularity = uint8(bits.TrailingZeros64(m.cfg.Chunks[0] >> mm.PageShift))
		cfg.MaxRange = min(max(m.cfg.Notifier, mm.PageSize), 1<<max(bits.Len64(m.cfg.VRAM/2)-1, mm.PageShift)) // a part of video memory, as it always is
	}
	if m.cfg.Event != nil {
		cfg.Event = func(gpu int, e svm.Event) { m.cfg.Event(gpu, p, e) }
	}
	for i, g := range m.GPUs {
		c := p.context(g, q, &fence.Resv{Mutex: m.World.NewMutex(kfdsvm.PageDirectory)})
		p.On = append(p.On, c)
		cfg.GPUs = append(cfg.GPUs, kfdsvm.GPU{ID: uint32(i + 1), Device: g.kfd, VM: c})
	}
	s, err := kfdsvm.New(cfg)
	if err != nil {
		return err
	}
	for i, c := range p.On {
		c.SVM = kfdsvm.View{S: s, GPU: i}
	}
	return nil
}

// Kill ends the process as a signal does: first its memory goes, then what the drivers keep of it (exit_mm comes before exit_files).
func (p *Process) Kill() {
	p.closeQueues()
	p.Exit()
	for _, c := range p.On {
		c.SVM.Close()
	}
}

// Close ends what the drivers keep of the process, as closing the device file does, and then the process.
func (p *Process) Close() {
	p.closeQueues()
	for _, c := range p.On {
		c.SVM.Close()
	}
	p.Exit()
}

func (p *Process) closeQueues() {
	for _, q := range p.all {
		q.Close()
	}
}

// queues are the user queues of a process on all GPUs.
type queues struct {
	m       *Machine
	w       sched.World
	wake    sched.WaitQueue
	stopped int
	resumes int
	p       *Process
	run     bool // although they should be stopped: the last Quiesce failed
}

func (q *queues) Quiesce() error {
	q.stopped++
	if q.stopped == 1 || q.run { // what could not be stopped is tried again
		if q.run = q.m.fails(FailQuiesce); q.run {
			return mm.ETIME
		}
		for _, c := range q.p.On {
			if h := c.gpu.hardware; h != nil {
				if err := h.Stop(q.p); err != nil {
					q.run = true
					return err
				}
			}
		}
	}
	return nil
}

func (q *queues) Resume() {
	if q.stopped == 0 {
		q.w.Fail(errors.New("svmsim: queues resumed that were not stopped"))
	}
	if q.stopped--; q.stopped == 0 {
		q.run = false
		q.resumes++
		for _, c := range q.p.On {
			if h := c.gpu.hardware; h != nil {
				h.Start(q.p)
			}
		}
	}
	q.wake.Wake()
	for _, x := range q.p.all {
		x.wake.Wake()
	}
}

// Entry is a page-table entry.
type Entry struct {
	Addr  pagemap.Addr
	Flags svm.PTEFlags
}

// Context is one process on one GPU: its page table and TLB. It implements svm.VM.
type Context struct {
	SVM    Driver
	gpu    *GPU
	p      *Process
	queues *queues
	resv   *fence.Resv
	pt     map[uint64]Entry
	tlb    map[uint64]Entry
}

// Resv is the page directory's reservation.
func (c *Context) Resv() *fence.Resv { return c.resv }

// Update writes entries.
func (c *Context) Update(start uint64, pages []pagemap.Addr, f svm.PTEFlags) error {
	if c.p.m.fails(FailUpdate) {
		return mm.ENOMEM
	}
	for i, a := range pages {
		addr := start + uint64(i)<<mm.PageShift
		if h := c.gpu.hardware; h != nil {
			if err := h.Enter(c.p, addr, c.gpu.bytes(addr, a), f); err != nil {
				return err
			}
		}
		c.pt[addr>>mm.PageShift] = Entry{a, f}
	}
	return nil
}

// Clear removes entries.
func (c *Context) Clear(start, end uint64) {
	for p := start >> mm.PageShift; p < end>>mm.PageShift; p++ {
		delete(c.pt, p)
	}
	if h := c.gpu.hardware; h != nil {
		h.Clear(c.p, start, end)
	}
}

// FlushTLB empties the TLB.
func (c *Context) FlushTLB() {
	clear(c.tlb)
	if h := c.gpu.hardware; h != nil {
		h.Flush(c.p)
	}
}

// Overlaps: no buffers are mapped in this machine.
func (c *Context) Overlaps(start, end uint64) bool { return false }

// Look returns the entry of addr.
func (c *Context) Look(addr uint64) (Entry, bool) {
	e, ok := c.pt[addr>>mm.PageShift]
	return e, ok
}

// Stopped reports whether the process's queues are stopped.
func (c *Context) Stopped() bool { return c.queues.stopped > 0 && !c.queues.run }

// GPUFault is a fatal GPU access.
type GPUFault struct {
	GPU   int
	Addr  uint64
	Write bool
	Err   error // what the driver said; nil without XNACK
}

func (e *GPUFault) Error() string {
	what := "read"
	if e.Write {
		what = "write"
	}
	return fmt.Sprintf("GPU %d: %s fault at %#x: %v", e.GPU, what, e.Addr, e.Err)
}

func (e *GPUFault) Unwrap() error { return e.Err }

// replayDelay is how long a wave takes to try an access again.
const replayDelay = time.Microsecond

// Access runs fn on the bytes of addr's page as a wave would.
func (c *Context) Access(addr uint64, write bool, fn func(page []byte)) error {
	page := addr >> mm.PageShift
	for {
		c.queues.wake.Wait(func() bool { return !c.Stopped() }, sched.Forever)
		if c.Stopped() {
			continue
		}
		e, ok := c.tlb[page]
		if !ok || write && !e.Flags.Write {
			if e, ok = c.pt[page]; ok {
				c.tlb[page] = e
			}
		}
		if ok && (!write || e.Flags.Write) {
			fn(c.gpu.bytes(addr, e.Addr))
			return nil
		}
		if !c.p.m.cfg.XNACK {
			return &GPUFault{c.gpu.Index, addr, write, mm.EFAULT}
		}
		if err := c.SVM.HandleFault(addr, write); err != nil {
			return &GPUFault{c.gpu.Index, addr, write, err}
		}
		if e, ok := c.pt[page]; !ok || write && !e.Flags.Write {
			c.p.m.World.Sleep(replayDelay) // the driver wants to be asked again
		}
	}
}
