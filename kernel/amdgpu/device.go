package amdgpu

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/buddy"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/silicon"
	"github.com/pumice-gpu/pumice/silicon/profile"
	"golang.org/x/sys/unix"
)

var (
	vramClass = &sched.Class{Name: "amdgpu_vram", Rank: 800}
	slotClass = &sched.Class{Name: "amdgpu_slots", Rank: 820}
	ihClass   = &sched.Class{Name: "amdgpu_ih", Rank: 840}
	softClass = &sched.Class{Name: "amdgpu_ih_soft", Rank: 870}
)

// VMIDs that compute may use, as amdgpu splits them.
const (
	FirstVMID = 8
	LastVMID  = 15
)

// doorbellSlice is the size of a process's part of the doorbell aperture in bytes (gfx9 and later).
const doorbellSlice = 8192

// tableChunk is how much VRAM the page-table pool takes at a time.
const tableChunk = 256 << 10

// Device is one chip with its driver. Safe for concurrent use.
type Device struct {
	World   sched.World
	Profile *profile.Profile
	Chip    Chip
	PTE     pte.Gen
	MQD     mqd.Gen
	Sys     *SystemMemory

	// SVMBase and SVMSize are the part of the VRAM that pages of shared virtual memory live in. A chip that has more VRAM than
	// its profile says has it there; else it is a quarter.
	SVMBase, SVMSize uint64

	rounding atomic.Uint64 // see VRAMRounding
	vramMu   sched.Mutex
	vram     *buddy.Allocator // guarded by vramMu
	spare    []uint64         // free page-table pages; guarded by vramMu
	chunks   []buddy.Block    // of the page-table pool; guarded by vramMu
	offsets  uint64           // next mmap offset; guarded by vramMu
	bos      map[uint64]*BO   // by first page of their mmap offset; guarded by vramMu

	slotMu sched.Mutex
	vmids  uint32       // bit set: in use; guarded by slotMu
	slices []bool       // doorbell slices in use; guarded by slotMu
	hqds   map[int]bool // compute slots in use; guarded by slotMu
	sdmaQs [][]bool     // by engine and queue: in use; guarded by slotMu

	fast    func(ih.Entry) bool // set once by Start
	slow    func(ih.Entry)      // likewise
	started atomic.Bool
	closed  atomic.Bool
	pending atomic.Bool // the ring may hold entries
	irq     sched.WaitQueue

	ihMu sched.Mutex
	ring []byte // written by the chip
	rptr uint32 // guarded by ihMu

	softMu sched.Mutex
	soft   []ih.Entry        // for the interrupt task; guarded by softMu
	filter map[faultKey]bool // what is in soft; guarded by softMu
}

// New brings a chip up. The caller has given Interrupt of the same Device to the chip's configuration (see Line), and calls
// Start before the first queue.
func New(w sched.World, p *profile.Profile, chip Chip, sys *SystemMemory, line *Line) (*Device, error) {
	d := &Device{World: w, Profile: p, Chip: chip, Sys: sys, vramMu: w.NewMutex(vramClass), slotMu: w.NewMutex(slotClass),
		bos: map[uint64]*BO{}, hqds: map[int]bool{}, irq: w.NewWaitQueue("ih"), ihMu: w.NewMutex(ihClass),
		softMu: w.NewMutex(softClass), filter: map[faultKey]bool{}, ring: make([]byte, 64<<10)}
	var ok bool
	if d.PTE, ok = pte.GenOf(uint32(p.GfxTargetVersion)); !ok {
		return nil, fmt.Errorf("amdgpu: no page tables for gfx target %d", p.GfxTargetVersion)
	}
	if d.MQD, ok = mqd.GenOf(uint32(p.GfxTargetVersion)); !ok {
		return nil, fmt.Errorf("amdgpu: no queue descriptors for gfx target %d", p.GfxTargetVersion)
	}
	total := chip.VRAM().Size()
	d.SVMBase = p.Memory.Bytes
	if total <= p.Memory.Bytes {
		d.SVMBase = (total - total/4) &^ (hugeSize - 1)
	}
	d.SVMSize = total - d.SVMBase
	d.vram = buddy.New(d.SVMBase)
	d.offsets = 1 << 32
	d.slices = make([]bool, chip.Doorbells().Size()/doorbellSlice)
	d.slices[0] = true // the driver's own
	d.sdmaQs = make([][]bool, p.SDMA.Engines+p.SDMA.XGMIEngines)
	for i := range d.sdmaQs {
		d.sdmaQs[i] = make([]bool, p.SDMA.QueuesPerEngine)
	}
	if err := chip.SetIHRing(d.ring); err != nil {
		return nil, err
	}
	if line != nil {
		line.dev.Store(d)
	}
	return d, nil
}

// faultKey names a fault: many waves, and many lanes of a wave, raise the same.
type faultKey struct {
	vmid uint8
	data [2]uint32
}

// Line is the interrupt line between a chip and its driver. The chip is made first and needs something to call.
type Line struct{ dev atomic.Pointer[Device] }

// Raise tells the driver that the chip has written an interrupt. It does not block.
func (l *Line) Raise() {
	if d := l.dev.Load(); d != nil && d.started.Load() {
		d.service()
	}
}

// Start begins to serve interrupts. fast is called for each entry in order, in the context that raised the interrupt: it may take leaf
// locks only and must not wait. An entry that it refuses (false) goes to slow, on the interrupt task, in order too.
func (d *Device) Start(fast func(ih.Entry) bool, slow func(ih.Entry)) {
	d.fast, d.slow = fast, slow
	d.started.Store(true)
	d.World.Go("ih", true, d.interrupts)
	d.service()
}

// service empties the ring: the top half. Whoever finds another one at it leaves the work to that one.
func (d *Device) service() {
	d.pending.Store(true)
	for d.pending.Load() && d.ihMu.TryLock() {
		for d.pending.Swap(false) {
			d.drain()
		}
		d.ihMu.Unlock()
	}
}

// drain is called with ihMu held.
func (d *Device) drain() {
	for {
		w, _ := d.Chip.IHWritePointer()
		if w == d.rptr {
			return
		}
		for d.rptr != w {
			e := ih.Decode(d.ring[d.rptr:])
			d.rptr = (d.rptr + ih.EntryBytes) % uint32(len(d.ring))
			d.Chip.SetIHReadPointer(d.rptr)
			if !d.fast(e) {
				// A fault that waits to be served already need not be served twice (amdgpu_gmc_filter_faults).
				k := faultKey{e.VMID, [2]uint32{e.Data[0], e.Data[1]}}
				d.softMu.Lock()
				dup := d.filter[k]
				if !dup {
					d.filter[k] = true
					d.soft = append(d.soft, e)
				}
				d.softMu.Unlock()
				if !dup {
					d.irq.Wake()
				}
			}
		}
	}
}

// interrupts is the interrupt task: the bottom half.
func (d *Device) interrupts() {
	for {
		var e ih.Entry
		d.irq.Wait(func() bool {
			d.softMu.Lock()
			defer d.softMu.Unlock()
			if len(d.soft) == 0 {
				return d.closed.Load()
			}
			e = d.soft[0]
			d.soft = d.soft[1:]
			delete(d.filter, faultKey{e.VMID, [2]uint32{e.Data[0], e.Data[1]}})
			return true
		}, sched.Forever)
		if d.closed.Load() {
			return
		}
		d.slow(e)
	}
}

// Close ends the interrupt task. The chip is its owner's to close.
func (d *Device) Close() {
	d.closed.Store(true)
	d.irq.Wake()
}

// allocTable implements tables.
func (d *Device) allocTable() (uint64, unsafe.Pointer, error) {
	d.vramMu.Lock()
	if len(d.spare) == 0 {
		b, err := d.vram.Alloc(tableChunk, 0, true)
		if err != nil {
			b, err = d.vram.Alloc(pte.TableBytes, 0, true)
		}
		if err != nil {
			d.vramMu.Unlock()
			return 0, nil, unix.ENOMEM
		}
		d.chunks = append(d.chunks, b...)
		for _, x := range b {
			for o := x.Size; o > 0; o -= pte.TableBytes {
				d.spare = append(d.spare, x.Off+o-pte.TableBytes)
			}
		}
	}
	addr := d.spare[len(d.spare)-1]
	d.spare = d.spare[:len(d.spare)-1]
	d.vramMu.Unlock()
	host := unsafe.Add(d.Chip.VRAM().Base(), addr)
	clear((*[pte.TableEntries]uint64)(host)[:])
	return addr, host, nil
}

func (d *Device) freeTable(addr uint64) {
	d.vramMu.Lock()
	d.spare = append(d.spare, addr)
	d.vramMu.Unlock()
}

// NewVM makes an address space of this device.
func (d *Device) NewVM() (*VM, error) { return newVM(d.World, d.PTE, d, d.flushVM) }

func (d *Device) flushVM(v *VM) {
	if id := v.VMID(); id != 0 {
		d.Chip.FlushTLB(uint32(id))
	}
}

// Bind gives v a VMID, or changes the context of the one it has. ctx's page directory base is set here. ENOMEM when all are taken.
//
// fidelity: approximate vmid: a VM keeps its VMID until it is unbound; a ninth address space with queues is refused
func (d *Device) Bind(v *VM, ctx silicon.VMContext) error {
	d.slotMu.Lock()
	defer d.slotMu.Unlock()
	id := uint32(v.VMID())
	if id == 0 {
		for i := uint32(FirstVMID); i <= LastVMID; i++ {
			if d.vmids&(1<<i) == 0 {
				id = i
				break
			}
		}
		if id == 0 {
			return unix.ENOMEM
		}
	}
	ctx.PageDirectoryBase = v.Base()
	if err := d.Chip.SetVMID(id, &ctx); err != nil {
		return unix.EINVAL
	}
	d.vmids |= 1 << id
	v.vmid.Store(int32(id))
	return nil
}

// Unbind takes v's VMID away. Its queues are unloaded.
func (d *Device) Unbind(v *VM) {
	d.slotMu.Lock()
	defer d.slotMu.Unlock()
	if id := uint32(v.VMID()); id != 0 {
		_ = d.Chip.SetVMID(id, nil)
		v.vmid.Store(0)
		d.vmids &^= 1 << id
	}
}

// Doorbells is a process's slice of the doorbell aperture.
type Doorbells struct {
	dev   *Device
	slice int
	Off   uint64 // byte offset in the aperture
}

// AllocDoorbells takes a free slice. ENOMEM when there is none.
func (d *Device) AllocDoorbells() (*Doorbells, error) {
	d.slotMu.Lock()
	defer d.slotMu.Unlock()
	for i, used := range d.slices {
		if !used {
			d.slices[i] = true
			return &Doorbells{d, i, uint64(i) * doorbellSlice}, nil
		}
	}
	return nil, unix.ENOMEM
}

// Free gives the slice back, zeroed.
func (b *Doorbells) Free() {
	_ = b.dev.Chip.Doorbells().Discard(b.Off, doorbellSlice)
	b.dev.slotMu.Lock()
	b.dev.slices[b.slice] = false
	b.dev.slotMu.Unlock()
}

// Dword is the absolute dword offset of doorbell id (64 bits wide) of the slice.
func (b *Doorbells) Dword(id uint32) uint32 { return uint32(b.Off/4) + id*2 }

// Mem is the slice as this process sees it.
func (b *Doorbells) Mem() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(b.dev.Chip.Doorbells().Base(), b.Off)), doorbellSlice)
}

// FD is the file that the slice is part of, at Off.
func (b *Doorbells) FD() int { return b.dev.Chip.Doorbells().FD() }

// Segment is what user space maps of the slice.
func (b *Doorbells) Segment() Segment {
	return Segment{FD: b.FD(), Off: b.Off, Len: doorbellSlice, Ring: b.dev.ringAt}
}

func (d *Device) ringAt(off uint64) { d.Chip.RingDoorbell(uint32(off / 4)) }

// AllocHQD takes a compute queue slot.
func (d *Device) AllocHQD() silicon.QueueID {
	d.slotMu.Lock()
	defer d.slotMu.Unlock()
	for i := 0; ; i++ {
		if !d.hqds[i] {
			d.hqds[i] = true
			return silicon.QueueID{Class: silicon.Compute, Slot: i}
		}
	}
}

// AllocSDMA takes a queue of an SDMA engine: of engine (-1: the least loaded one of the plain engines, or of the xGMI ones). ok is
// false when all are taken or the engine does not exist.
func (d *Device) AllocSDMA(engine int, xgmi bool) (id silicon.QueueID, ok bool) {
	d.slotMu.Lock()
	defer d.slotMu.Unlock()
	first, last := 0, d.Profile.SDMA.Engines
	if xgmi {
		first, last = d.Profile.SDMA.Engines, len(d.sdmaQs)
	}
	if engine >= 0 {
		if engine >= len(d.sdmaQs) {
			return id, false
		}
		first, last = engine, engine+1
	}
	best, load := -1, 0
	for e := first; e < last; e++ {
		n := 0
		for _, used := range d.sdmaQs[e] {
			if used {
				n++
			}
		}
		if n < len(d.sdmaQs[e]) && (best < 0 || n < load) {
			best, load = e, n
		}
	}
	if best < 0 {
		return id, false
	}
	for q, used := range d.sdmaQs[best] {
		if !used {
			d.sdmaQs[best][q] = true
			return silicon.QueueID{Class: silicon.SDMA, Engine: best, Slot: q}, true
		}
	}
	return id, false
}

// FreeQueue gives a queue slot back.
func (d *Device) FreeQueue(id silicon.QueueID) {
	d.slotMu.Lock()
	defer d.slotMu.Unlock()
	if id.Class == silicon.SDMA {
		d.sdmaQs[id.Engine][id.Slot] = false
		return
	}
	delete(d.hqds, id.Slot)
}

// VRAMRounding is what RoundVRAM has added to the sizes of living buffers.
func (d *Device) VRAMRounding() uint64 { return d.rounding.Load() }

// VRAMTotal and VRAMFree count bytes; free ones include what page tables may still take.
func (d *Device) VRAMTotal() uint64 { return d.SVMBase }
func (d *Device) VRAMFree() uint64 {
	d.vramMu.Lock()
	defer d.vramMu.Unlock()
	return d.vram.Avail()
}
