package silicon

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/silicon/profile"
	"golang.org/x/sys/unix"
)

// DoorbellBytes is the size of the doorbell aperture.
const DoorbellBytes = 2 << 20

// CounterHz is the rate of the reference counter.
const CounterHz = 100_000_000

// Errors of the queue functions.
var (
	ErrClosed   = errors.New("silicon: device is closed")
	ErrBusy     = errors.New("silicon: the queue slot is in use")
	ErrNotFound = errors.New("silicon: no queue is loaded in the slot")
)

// Device is one chip.
type Device struct {
	profile *profile.Profile
	cfg     Config
	sched   Sched
	pteGen  pte.Gen
	mqdGen  mqd.Gen

	vram      *Memory
	doorbells *Memory
	pages     []byte         // zero and sink pages, behind PRT
	zero      unsafe.Pointer // read-only by convention
	sink      unsafe.Pointer
	vms       [NumVMIDs]vm
	ih        ihRing
	pool      pool
	poller    poller

	mu     sync.Mutex
	queues map[QueueID]*queue        // guarded by mu
	saved  map[unsafe.Pointer]*queue // preempted, by MQD address; guarded by mu
	rings  atomic.Pointer[[]*queue]  // snapshot of queues for doorbells
	closed bool                      // guarded by mu

	cus cus
}

// New makes a chip of profile p. It runs nothing until a queue is loaded.
func New(p *profile.Profile, cfg Config) (*Device, error) {
	d := &Device{profile: p, cfg: cfg, sched: cfg.Sched, queues: map[QueueID]*queue{}, saved: map[unsafe.Pointer]*queue{}}
	if d.sched == nil {
		d.sched = Live()
	}
	var ok bool
	if d.pteGen, ok = pte.GenOf(uint32(p.GfxTargetVersion)); !ok {
		return nil, fmt.Errorf("silicon: no page table layout for %s", p.Target)
	}
	if d.mqdGen, ok = mqd.GenOf(uint32(p.GfxTargetVersion)); !ok {
		return nil, fmt.Errorf("silicon: no MQD layout for %s", p.Target)
	}
	size := p.Memory.Bytes
	if cfg.VRAMSize != 0 {
		size = cfg.VRAMSize
	}
	var err error
	if d.vram, err = newMemory("pumice-vram-"+p.Name, size); err != nil {
		return nil, err
	}
	if d.doorbells, err = newMemory("pumice-doorbells-"+p.Name, DoorbellBytes); err != nil {
		d.vram.close()
		return nil, err
	}
	if d.pages, err = unix.Mmap(-1, 0, 2*pte.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		d.vram.close()
		d.doorbells.close()
		return nil, fmt.Errorf("silicon: %w", err)
	}
	d.zero, d.sink = unsafe.Pointer(&d.pages[0]), unsafe.Pointer(&d.pages[pte.PageSize])
	for i := range d.vms {
		d.vms[i].dev, d.vms[i].id = d, uint32(i)
	}
	d.rings.Store(new([]*queue))
	n := cfg.Workers
	if n <= 0 {
		n = runtime.NumCPU()
	}
	d.cus.init(d, n)
	d.poller.init(d)
	return d, nil
}

// Close kills all queues, ends the chip's threads and frees its memory. No other method may be running or follow.
func (d *Device) Close() {
	d.mu.Lock()
	ids := make([]QueueID, 0, len(d.queues))
	for id := range d.queues {
		ids = append(ids, id)
	}
	d.closed = true
	d.mu.Unlock()
	for _, id := range ids {
		_ = d.UnloadQueue(id, Kill) // ErrNotFound at most: somebody has just done it
	}
	d.mu.Lock()
	for _, q := range d.saved {
		q.drop()
	}
	clear(d.saved)
	d.mu.Unlock()
	d.poller.close()
	d.cus.close()
	for i := range d.vms {
		if s := d.vms[i].ctx.Swap(nil); s != nil && d.cfg.Engine != nil {
			d.cfg.Engine.Forget(s.space)
		}
	}
	d.pool.close()
	_ = unix.Munmap(d.pages)
	d.vram.close()
	d.doorbells.close()
}

// Profile returns what the chip is.
func (d *Device) Profile() *profile.Profile { return d.profile }

// VRAM returns the video memory. An address in a page-table entry without SYSTEM is an offset into it.
func (d *Device) VRAM() *Memory { return d.vram }

// Doorbells returns the doorbell aperture, DoorbellBytes long. The driver gives slices of it to processes.
func (d *Device) Doorbells() *Memory { return d.doorbells }

// Clock reads the reference counter (CounterHz). Timestamps of signals and packets are in it.
func (d *Device) Clock() uint64 { return uint64(d.sched.Now().Nanoseconds()) / (1e9 / CounterHz) }

// RingDoorbell says that the 64-bit doorbell at a dword offset in the aperture was written. The command processor, and the waves of
// a very small dispatch, may run on the calling goroutine for a moment (helper); it does not wait for anything.
func (d *Device) RingDoorbell(dword uint32) {
	for _, q := range *d.rings.Load() {
		if q.doorbell == dword {
			d.cus.ring.Add(1)
			q.push(true)
			d.cus.help()
			return
		}
	}
}

// RingDoorbells looks at all doorbells: for a caller who cannot know which was written.
func (d *Device) RingDoorbells() {
	for _, q := range *d.rings.Load() {
		if q.rung() {
			d.cus.ring.Add(1)
			q.push(true)
			d.cus.help()
		}
	}
}

// LoadQueue connects a queue to an MQD in host memory (layout abi/mqd, at least mqd.ComputeBytes or mqd.SDMABytes). Packets that
// wait in the ring start at once; if the same MQD was preempted, its waves go on. The first load of an AQL queue sets its
// doorbell to ^0 ("never rung"). The driver leaves the MQD alone until UnloadQueue.
func (d *Device) LoadQueue(id QueueID, m unsafe.Pointer, vmid uint32) error {
	if vmid >= NumVMIDs || d.vms[vmid].ctx.Load() == nil {
		return fmt.Errorf("silicon: queue on VMID %d, which has no page tables", vmid)
	}
	if m == nil {
		return errors.New("silicon: MQD at address 0")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if d.queues[id] != nil {
		return fmt.Errorf("%w: %v", ErrBusy, id)
	}
	q := d.saved[m]
	if q == nil || q.vm.id != vmid || q.id.Class != id.Class {
		var err error
		if q, err = d.newQueue(id, m, vmid); err != nil {
			return err
		}
	} else {
		q.id = id
		if err := q.reload(); err != nil {
			return err
		}
	}
	delete(d.saved, m)
	d.queues[id] = q
	d.snapshot()
	q.start()
	return nil
}

// UnloadQueue takes a queue off the chip and stores its pointers in the MQD. It must not be called from Config.Interrupt or a hook.
// Drain waits for running packets without limit; a driver that wants a limit uses Preempt, whose wait is bounded by the
// time slice of a wave.
func (d *Device) UnloadQueue(id QueueID, how Unload) error {
	d.mu.Lock()
	q := d.queues[id]
	if q == nil {
		d.mu.Unlock()
		return fmt.Errorf("%w: %v", ErrNotFound, id)
	}
	d.mu.Unlock()
	q.stop(how)
	d.mu.Lock()
	if d.queues[id] == q {
		delete(d.queues, id)
		if how == Preempt && !q.dead {
			d.saved[q.mqd] = q
		}
		d.snapshot()
	}
	d.mu.Unlock()
	return nil
}

// DropSaved forgets the preempted state of an MQD that will not be loaded again.
func (d *Device) DropSaved(m unsafe.Pointer) {
	d.mu.Lock()
	q := d.saved[m]
	delete(d.saved, m)
	d.mu.Unlock()
	if q != nil {
		q.drop()
	}
}

// snapshot is called with d.mu held.
func (d *Device) snapshot() {
	l := make([]*queue, 0, len(d.queues))
	for _, q := range d.queues {
		l = append(l, q)
	}
	// The order in which queues are looked at must not be the map's: a simulated run repeats.
	slices.SortFunc(l, func(a, b *queue) int {
		return cmp.Or(cmp.Compare(a.doorbell, b.doorbell), cmp.Compare(a.vm.id, b.vm.id))
	})
	d.rings.Store(&l)
}

// retry makes everything of a VMID that waits for a page try again.
func (d *Device) retry(vmid uint32) {
	for _, q := range *d.rings.Load() {
		if q.vm.id == vmid && q.retrying.Swap(false) {
			q.push(true)
		}
	}
	d.cus.retry(vmid)
}
