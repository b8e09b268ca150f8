package clr

import (
	"encoding/binary"
	"sync"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Kernel is a kernel of a program on one device.
type Kernel struct {
	*codeobj.KernelInfo
	dev      *Device
	prog     *Program
	object   uint64 // address of the descriptor
	explicit []codeobj.Arg
	hidden   []codeobj.Arg
	argSize  uint64 // bytes of the kernarg segment

	// LDSLimit is what the program set for dynamic group memory (hipFuncSetAttribute); 0 is the device's limit.
	LDSLimit uint32
}

// Kernel finds a kernel of the program for a device.
func (p *Program) Kernel(d *Device, name string) (*Kernel, error) {
	l, err := p.load(d)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.kernels[name]; k != nil {
		return k, nil
	}
	s, err := l.exe.Kernel(d.Agent, name)
	if err != nil {
		return nil, fail(ErrNotFound, "kernel %q", name)
	}
	k := &Kernel{KernelInfo: s.Kernel, dev: d, prog: p, object: s.Addr, explicit: s.Kernel.Explicit()}
	k.hidden = s.Kernel.Args[len(k.explicit):]
	k.argSize = uint64(max(k.KernargSegmentSize, k.Desc.KernargSize))
	for _, a := range k.Args {
		k.argSize = max(k.argSize, uint64(a.Offset)+uint64(a.Size))
	}
	l.kernels[name] = k
	return k, nil
}

// Device returns the device that the kernel is loaded on.
func (k *Kernel) Device() *Device { return k.dev }

// NumArgs returns the number of arguments that the caller passes.
func (k *Kernel) NumArgs() int { return len(k.explicit) }

// ArgSize returns the size of an explicit argument in bytes.
func (k *Kernel) ArgSize(i int) int { return int(k.explicit[i].Size) }

// ExplicitSize returns the bytes of the kernarg segment that explicit arguments take.
func (k *Kernel) ExplicitSize() (n uint32) {
	for _, a := range k.explicit {
		n = max(n, a.Offset+a.Size)
	}
	return
}

// MaxThreads returns the largest work-group that the kernel may have on its device.
func (k *Kernel) MaxThreads() uint32 {
	if k.MaxFlatWorkgroupSize != 0 {
		return min(k.MaxFlatWorkgroupSize, k.dev.Agent.MaxWorkgroupSize)
	}
	return k.dev.Agent.MaxWorkgroupSize
}

// Dim3 counts work-groups or work-items.
type Dim3 struct{ X, Y, Z uint32 }

func (d Dim3) product() uint64 { return uint64(d.X) * uint64(d.Y) * uint64(d.Z) }

// Launch describes one launch.
type Launch struct {
	Grid      Dim3   // work-items, not groups: the last group of a dimension may be partial
	Block     Dim3   // work-items
	SharedMem uint32 // bytes of dynamic group memory
	// Arg stores explicit argument i into dst, which is as long as the argument.
	Arg func(i int, dst []byte)
	// Packed, if not nil, is the explicit part of the kernarg segment as it is; Arg is not used.
	Packed []byte

	Timed       bool // the command gets an event with times of its own
	Cooperative bool // all groups run at the same time, and can wait for each other
	AnyOrder    bool // not ordered after the commands in front

	Multi    *MultiGrid // of a cooperative launch on several devices
	gridSync uint64     // hidden_multigrid_sync_arg; 0 unless cooperative
}

// check refuses what the device would answer with a queue error, which ends the queue.
func (k *Kernel) check(l *Launch) error {
	if l.Grid.product() == 0 || l.Block.product() == 0 {
		return fail(ErrInvalidValue, "grid %v, block %v", l.Grid, l.Block)
	}
	if l.Block.X > 1024 || l.Block.Y > 1024 || l.Block.Z > 1024 || l.Block.product() > uint64(k.MaxThreads()) {
		return fail(ErrLaunchBounds, "block %v, kernel %s takes %d", l.Block, k.Name, k.MaxThreads())
	}
	limit := k.dev.Agent.LDSSize
	if uint64(k.GroupSegmentFixedSize)+uint64(l.SharedMem) > uint64(limit) {
		return fail(ErrSharedMemory, "%d + %d bytes, the device has %d", k.GroupSegmentFixedSize, l.SharedMem, limit)
	}
	if l.Cooperative {
		groups := uint64(ceil(l.Grid.X, l.Block.X)) * uint64(ceil(l.Grid.Y, l.Block.Y)) * uint64(ceil(l.Grid.Z, l.Block.Z))
		if per := k.Occupancy(uint32(l.Block.product()), l.SharedMem); groups > uint64(per)*uint64(k.dev.Agent.ComputeUnits) {
			return fail(ErrTooLarge, "%d groups, %d fit", groups, uint64(per)*uint64(k.dev.Agent.ComputeUnits))
		}
	}
	return nil
}

func ceil(a, b uint32) uint32 { return uint32((uint64(a) + uint64(b) - 1) / uint64(b)) }

// Launch runs a kernel. The event is nil unless Timed is set.
func (q *HostQueue) Launch(k *Kernel, l *Launch) (*Event, error) {
	if k.dev != q.dev {
		return nil, fail(ErrInvalidHandle, "kernel of device %d on a stream of device %d", k.dev.Index, q.dev.Index)
	}
	if err := k.check(l); err != nil {
		return nil, err
	}
	set := &q.dev.rt.set
	if set.SerializeKernel&1 != 0 {
		if err := q.Finish(); err != nil {
			return nil, err
		}
	}
	e, err := q.launch(k, l)
	if err == nil && (set.SerializeKernel&2 != 0 || set.LaunchBlocking) {
		err = q.Finish()
	}
	return e, err
}

func (q *HostQueue) launch(k *Kernel, l *Launch) (*Event, error) {
	var began time.Time
	launched := q.dev.rt.hooks.Launched
	if launched != nil {
		began = time.Now()
	}
	extra, err := q.implicit()
	if err != nil {
		return nil, err
	}
	var heap uint64
	if k.needs(codeobj.HiddenHeapV1) {
		if heap, err = q.dev.deviceHeap(); err != nil {
			return nil, err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	hw, err := q.hwLocked()
	if err != nil {
		return nil, err
	}
	if l.Cooperative {
		return q.launchCooperative(k, l, extra, heap, began)
	}
	if k.needs(codeobj.HiddenHostcallBuffer) {
		if err := hw.startHostcall(q.dev); err != nil {
			return nil, err
		}
	}
	pkts, _, err := q.waitsLocked(extra)
	if err != nil {
		return nil, err
	}
	var e *Event
	var done aql.SignalHandle
	if l.Timed {
		if e, err = q.dev.newEvent(nil); err != nil {
			return nil, err
		}
		done = e.sig.Handle()
	}
	// Packet and arguments go together: the ring of arguments is given back in the order of packets.
	hw.args.mu.Lock()
	defer hw.args.mu.Unlock()
	args, err := hw.args.take(hw.q, k.argSize, uint64(k.KernargSegmentAlign), nil)
	if err != nil {
		return nil, q.submitError(err)
	}
	k.fill(args, l, hw, heap)
	q.packet = k.packet(l, args.addr, done)
	if pkts == nil {
		pkts = q.alone[:0]
	}
	pkts = append(pkts, &q.packet)
	var ready time.Time
	if launched != nil {
		ready = time.Now()
	}
	idx, err := hw.q.Submit(pkts...)
	if err != nil {
		return nil, q.submitError(err)
	}
	hw.args.used(idx)
	q.tail = tail{ev: e, aql: true}
	if launched != nil {
		launched(&LaunchInfo{Began: began, Ready: ready, Kernel: k, Launch: l, Stream: q, Queue: hw.q.ID(), Record: hw.q.Addr(), Packet: idx, Args: args.addr,
			Done: uint64(done)})
	}
	return e, nil
}

// packet makes the dispatch packet of a launch.
func (k *Kernel) packet(l *Launch, args uint64, done aql.SignalHandle) aql.Packet {
	dims := uint16(1)
	if l.Grid.Y > 1 || l.Block.Y > 1 {
		dims = 2
	}
	if l.Grid.Z > 1 || l.Block.Z > 1 {
		dims = 3
	}
	return aql.Raw(aql.DispatchPacket{
		Header: aql.MakeHeader(aql.KernelDispatch, !l.AnyOrder, aql.ScopeSystem, aql.ScopeSystem), Setup: dims,
		WorkgroupSizeX: uint16(l.Block.X), WorkgroupSizeY: uint16(l.Block.Y), WorkgroupSizeZ: uint16(l.Block.Z),
		GridSizeX: l.Grid.X, GridSizeY: l.Grid.Y, GridSizeZ: l.Grid.Z,
		PrivateSegmentSize: k.privateSize(), GroupSegmentSize: k.GroupSegmentFixedSize + l.SharedMem,
		KernelObject: k.object, KernargAddress: args, CompletionSignal: done,
	})
}

// needs reports whether the kernel has a hidden argument of a kind.
func (k *Kernel) needs(v codeobj.ValueKind) bool {
	for i := range k.hidden {
		if k.hidden[i].Kind == v {
			return true
		}
	}
	return false
}

// dynamicStack is the private size, in bytes per work-item, of kernels whose stack the compiler could not bound.
const dynamicStack = 16384

func (k *Kernel) privateSize() uint32 {
	n := max(k.PrivateSegmentFixedSize, k.Desc.PrivateSegmentFixedSize)
	if k.UsesDynamicStack || k.Desc.Properties&codeobj.UsesDynamicStack != 0 {
		n = max(n, dynamicStack)
	}
	return n
}

// fill writes the kernarg segment: explicit arguments from the caller, hidden ones by their kind.
func (k *Kernel) fill(a kernarg, l *Launch, hw *hwQueue, heap uint64) {
	q := hw.q
	b := a.b
	clear(b)
	if l.Packed != nil {
		copy(b[:min(len(b), int(k.ExplicitSize()))], l.Packed)
	} else {
		for i := range k.explicit {
			x := &k.explicit[i]
			if x.Kind == codeobj.DynamicSharedPointer {
				continue
			}
			l.Arg(i, b[x.Offset:x.Offset+x.Size:x.Offset+x.Size])
		}
	}
	groups := Dim3{ceilFull(l.Grid.X, l.Block.X), ceilFull(l.Grid.Y, l.Block.Y), ceilFull(l.Grid.Z, l.Block.Z)}
	dims := uint64(1)
	if l.Grid.Z > 1 || l.Block.Z > 1 {
		dims = 3
	} else if l.Grid.Y > 1 || l.Block.Y > 1 {
		dims = 2
	}
	rec := (*aql.Queue)(hostPointer(q.Addr()))
	for i := range k.hidden {
		h := &k.hidden[i]
		var v uint64
		switch h.Kind {
		case codeobj.HiddenBlockCountX:
			v = uint64(groups.X)
		case codeobj.HiddenBlockCountY:
			v = uint64(groups.Y)
		case codeobj.HiddenBlockCountZ:
			v = uint64(groups.Z)
		case codeobj.HiddenGroupSizeX:
			v = uint64(l.Block.X)
		case codeobj.HiddenGroupSizeY:
			v = uint64(l.Block.Y)
		case codeobj.HiddenGroupSizeZ:
			v = uint64(l.Block.Z)
		case codeobj.HiddenRemainderX:
			v = uint64(l.Grid.X % l.Block.X)
		case codeobj.HiddenRemainderY:
			v = uint64(l.Grid.Y % l.Block.Y)
		case codeobj.HiddenRemainderZ:
			v = uint64(l.Grid.Z % l.Block.Z)
		case codeobj.HiddenGridDims:
			v = dims
		case codeobj.HiddenDynamicLDSSize:
			v = uint64(l.SharedMem)
		case codeobj.HiddenPrivateBase:
			v = uint64(rec.PrivateSegmentApertureBaseHi)
		case codeobj.HiddenSharedBase:
			v = uint64(rec.GroupSegmentApertureBaseHi)
		case codeobj.HiddenQueuePtr:
			v = q.Addr()
		case codeobj.HiddenHostcallBuffer:
			v = hw.hostcall
		case codeobj.HiddenHeapV1:
			v = heap
		case codeobj.HiddenMultigridSyncArg:
			v = l.gridSync
		default:
			// Global offsets are 0 in HIP; the buffers of OpenCL's printf and device enqueue have no user here.
			continue
		}
		putUint(b[h.Offset:h.Offset+h.Size], v)
	}
}

// ceilFull counts the complete groups: what hidden_block_count means. The partial one is in the remainder.
func ceilFull(grid, block uint32) uint32 { return grid / block }

func putUint(b []byte, v uint64) {
	switch {
	case len(b) >= 8:
		binary.LittleEndian.PutUint64(b, v)
	case len(b) >= 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case len(b) >= 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	}
}

// kernarg is one kernarg segment.
type kernarg struct {
	addr uint64
	b    []byte
}

// kernargs is the ring of kernarg memory of a hardware queue, in fine-grained memory. It is cut into chunks; a chunk is used again when the queue
// has taken the last packet that was written for it and a barrier behind it has completed.
type kernargs struct {
	d    *Device
	mu   sync.Mutex
	mem  *hsa.Memory          // guarded by mu
	off  uint64               // guarded by mu
	last [kernargChunks]fence // guarded by mu
	big  []*hsa.Memory        // guarded by mu: segments too large for the ring
	cur  int
}

type fence struct {
	used bool
	done *Event
}

const (
	kernargRing   = 1 << 20
	kernargChunks = 4
	kernargChunk  = kernargRing / kernargChunks
)

// take returns n bytes. mu is held. flush, if not nil, submits the packets that use what was taken before: it is called when the chunk is full.
func (r *kernargs) take(q *hsa.Queue, n, align uint64, flush func() error) (kernarg, error) {
	align = max(align, 64)
	if align&(align-1) != 0 {
		return kernarg{}, fail(ErrInvalidKernel, "kernarg alignment %d", align)
	}
	n = max(n, 16)
	if r.mem == nil {
		m, err := r.alloc(kernargRing)
		if err != nil {
			return kernarg{}, err
		}
		r.mem = m
	}
	if n > kernargChunk {
		m, err := r.alloc(n)
		if err != nil {
			return kernarg{}, err
		}
		r.big = append(r.big, m)
		return kernarg{m.Addr, m.Bytes()[:n]}, nil
	}
	off := (r.off + align - 1) &^ (align - 1)
	if off+n > uint64(r.cur+1)*kernargChunk {
		if flush != nil {
			if err := flush(); err != nil {
				return kernarg{}, err
			}
		}
		// Leave the chunk behind: a marker tells when all that used it has run. Then wait for the next one's.
		e, err := r.d.newEvent(nil)
		if err != nil {
			return kernarg{}, err
		}
		p := barrier(nil, e.sig)
		if _, err := q.Submit(&p); err != nil {
			return kernarg{}, err
		}
		r.last[r.cur] = fence{done: e}
		r.cur = (r.cur + 1) % kernargChunks
		if f := r.last[r.cur]; f.done != nil {
			if err := f.done.Wait(); err != nil {
				return kernarg{}, err
			}
			r.last[r.cur] = fence{}
		}
		off = uint64(r.cur) * kernargChunk
	}
	r.off = off + n
	return kernarg{r.mem.Addr + off, r.mem.Bytes()[off : off+n : off+n]}, nil
}

// used notes that a packet was written for what take returned. mu is held.
func (r *kernargs) used(uint64) { r.last[r.cur].used = true }

func (r *kernargs) alloc(n uint64) (*hsa.Memory, error) {
	h := r.d.rt.HSA
	m, err := h.CPU().Pool(hsa.PoolKernarg).Allocate(n, 0, 0)
	if err != nil {
		return nil, err
	}
	if err := h.AllowAccess(m, r.d.Agent); err != nil {
		_ = h.Free(m)
		return nil, err
	}
	return m, nil
}

func (r *kernargs) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range append(r.big, r.mem) {
		if m != nil {
			_ = r.d.rt.HSA.Free(m)
		}
	}
	r.mem, r.big = nil, nil
}

// hostPointer turns an address outside the Go heap into a pointer.
func hostPointer(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
