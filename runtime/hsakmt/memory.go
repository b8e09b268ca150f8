package hsakmt

import (
	"sort"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// PageSize is the granularity of allocations in bytes.
const PageSize = 4096

// hugeSize is the size from which allocations are aligned to it, so that they can be mapped with large fragments.
const hugeSize = 2 << 20

// MemFlags says what memory is wanted.
type MemFlags uint32

// Flags. Without HostAccess device memory cannot be reached by the CPU; system memory always can.
const (
	HostAccess   MemFlags = 1 << iota // CPU reads and writes
	Executable                        // GPUs may fetch instructions
	ReadOnly                          // GPUs may not write
	Coherent                          // fine grained: other devices and CPU see writes while a kernel runs
	Uncached                          // MTYPE_UC
	ExtCoherent                       // coherent across a whole system of devices
	Contiguous                        // contiguous video memory, best effort
	AQLQueue                          // an AQL ring
	NoSubstitute                      // fail rather than take other memory
	OnlyAddress                       // reserve addresses, no memory
	Scratch                           // the process's scratch range of a GPU: addresses that the driver is told of
	doorbell                          // the doorbell page
	mmio                              // the remapped MMIO page
	noTable                           // not found by address: it has none that anybody uses
	public                            // the CPU may be let in later
)

// Mem is one allocation or registration. Its fields do not change after creation, except those guarded by KFD's lock.
type Mem struct {
	VA     uint64 // GPU address; the CPU's too unless Host differs
	Host   uint64 // CPU address, 0 if the CPU cannot reach it
	Size   uint64 // bytes, a multiple of PageSize; for registrations what was asked
	Node   int    // where it lives
	Flags  MemFlags
	Handle uint64 // the driver's

	userptr  bool
	svm      bool
	physical *Physical      // that this is a mapping of; nil for an allocation
	readOnly map[int]uint32 // by node, the GEM handle of a mapping that the GPU cannot write by; guarded by memory.mu
	// mmapOffset is where the memory stands in its render node.
	mmapOffset uint64
	reserved   uint64 // start of the reserved address range, with its guard
	resLen     uint64
	mapped     map[int]bool // node ids; guarded by memory.mu
	keep       bool         // guarded by memory.mu
	userData   any          // guarded by memory.mu
}

// memory is the table of allocations, by GPU address and by CPU address where that differs.
type memory struct {
	mu     sync.RWMutex
	byVA   []*Mem // sorted by VA, disjoint; guarded by mu
	byHost []*Mem // registrations only, sorted by Host, may overlap; guarded by mu
}

func (t *memory) add(m *Mem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := sort.Search(len(t.byVA), func(i int) bool { return t.byVA[i].VA > m.VA })
	t.byVA = append(t.byVA, nil)
	copy(t.byVA[i+1:], t.byVA[i:])
	t.byVA[i] = m
	if m.userptr {
		i := sort.Search(len(t.byHost), func(i int) bool { return t.byHost[i].Host > m.Host })
		t.byHost = append(t.byHost, nil)
		copy(t.byHost[i+1:], t.byHost[i:])
		t.byHost[i] = m
	}
}

// remove takes m out; false if it is not there (any more).
func (t *memory) remove(m *Mem) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := false
	for _, list := range []*[]*Mem{&t.byVA, &t.byHost} {
		for i, x := range *list {
			if x == m {
				*list = append((*list)[:i], (*list)[i+1:]...)
				found = true
				break
			}
		}
	}
	return found
}

// find returns the allocation that contains a GPU address, or else the latest registration that contains a CPU address.
func (t *memory) find(addr uint64) *Mem {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if i := sort.Search(len(t.byVA), func(i int) bool { return t.byVA[i].VA > addr }) - 1; i >= 0 {
		if m := t.byVA[i]; addr-m.VA < m.Size {
			return m
		}
	}
	for i := sort.Search(len(t.byHost), func(i int) bool { return t.byHost[i].Host > addr }) - 1; i >= 0; i-- {
		if m := t.byHost[i]; addr-m.Host < m.Size {
			return m
		}
	}
	return nil
}

func (t *memory) dropAll() {
	t.mu.Lock()
	all := t.byVA
	t.byVA, t.byHost = nil, nil
	t.mu.Unlock()
	for _, m := range all {
		if m.keep {
			// Private zero pages take the place: late readers find 0.
			if mmapFixed(m.reserved, m.resLen, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, -1, 0) == nil {
				continue
			}
		}
		unreserve(m.reserved, m.resLen)
	}
}

// KeepReadable makes an allocation's addresses stay readable, as zeros, after Close: for memory that goroutines may still look at.
func (k *KFD) KeepReadable(m *Mem) {
	k.mem.mu.Lock()
	m.keep = true
	k.mem.mu.Unlock()
}

// reserve takes a range of addresses that nothing else of the process will use: inaccessible, and one guard page longer than asked. It
// returns the aligned start and the whole range.
func reserve(size, align uint64) (va, start, length uint64, err error) {
	length = size + align + PageSize
	p, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, uintptr(length), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, ^uintptr(0), 0)
	if errno != 0 {
		return 0, 0, 0, errno
	}
	start = uint64(p)
	va = (start + align - 1) &^ (align - 1)
	// Give back what the alignment left over, so that neighbours can be used.
	if va > start {
		unreserve(start, va-start)
	}
	end := start + length
	start, length = va, size+PageSize
	if start+length < end {
		unreserve(start+length, end-start-length)
	}
	return va, start, length, nil
}

func unreserve(addr, length uint64) {
	if length != 0 {
		_, _, _ = unix.Syscall(unix.SYS_MUNMAP, uintptr(addr), uintptr(length), 0)
	}
}

// Alloc allocates size bytes on a node; a CPU node gives system memory. align is 0 or a power of two of at least a page. The memory is
// mapped on no GPU yet, see Map.
func (k *KFD) Alloc(node int, size, align uint64, flags MemFlags) (*Mem, error) {
	return k.alloc(node, 0, size, align, flags&^(doorbell|mmio), 0)
}

// AllocAt allocates system memory in the place of anonymous memory of the process, at its address and with its content. The range is the
// process's alone, page aligned, and nobody writes to it meanwhile.
func (k *KFD) AllocAt(node int, addr, size uint64, flags MemFlags) (*Mem, error) {
	if addr == 0 || addr%PageSize != 0 || k.gpuOf(node) != nil {
		return nil, fail("ALLOC_MEMORY_OF_GPU", InvalidParameter)
	}
	return k.alloc(node, addr, size, 0, flags&^(doorbell|mmio|OnlyAddress|Scratch), 0)
}

// alloc is Alloc, at an address if at is not 0; for a doorbell page the mmap offset is the caller's, because the driver gives it with the
// queue.
func (k *KFD) alloc(node int, at, size, align uint64, flags MemFlags, mmapOffset uint64) (*Mem, error) {
	const op = "ALLOC_MEMORY_OF_GPU"
	if node < 0 || node >= len(k.topo.Nodes) {
		return nil, fail(op, InvalidNodeUnit)
	}
	if size == 0 || size > 1<<46 || align&(align-1) != 0 {
		return nil, fail(op, InvalidParameter)
	}
	g := k.gpuOf(node)
	domain := uint32(kfd.AllocVRAM)
	switch {
	case flags&doorbell != 0:
		domain = kfd.AllocDoorbell
	case flags&mmio != 0:
		domain = kfd.AllocMMIORemap
	case g == nil:
		// System memory is asked for through a GPU: the driver has no other handle to give.
		domain = kfd.AllocGTT
		if flags&noTable == 0 {
			flags |= HostAccess
		}
		if len(k.gpus) == 0 {
			return nil, fail(op, NotSupported)
		}
		g = k.gpus[0]
	}
	size = (size + PageSize - 1) &^ (PageSize - 1)
	if align < PageSize {
		align = PageSize
	}
	if size >= hugeSize {
		align = max(align, hugeSize)
	}
	m := &Mem{Size: size, Node: node, Flags: flags, mapped: map[int]bool{}}
	var err error
	var content []byte
	if at != 0 {
		m.VA, m.reserved, m.resLen = at, at, size
		content = append(content, unsafe.Slice((*byte)(hostPointer(at)), size)...)
	} else if m.VA, m.reserved, m.resLen, err = reserve(size, align); err != nil {
		return nil, fromErrno(op, err)
	}
	switch {
	case flags&OnlyAddress != 0:
		k.mem.add(m)
		return m, nil
	case flags&Scratch != 0:
		if err := ioctl(k, kfd.IocSetScratchBackingVA, &kfd.SetScratchBackingVAArgs{VAAddr: m.VA >> 16, GPUID: g.node.GPUID}); err != nil {
			unreserve(m.reserved, m.resLen)
			return nil, err
		}
		k.mem.add(m)
		return m, nil
	}
	a := kfd.AllocMemoryOfGPUArgs{VAAddr: m.VA, Size: size, GPUID: g.node.GPUID, Flags: domain | kfdFlags(flags)}
	if domain == kfd.AllocVRAM && flags&(HostAccess|public) != 0 {
		a.Flags |= kfd.AllocPublic
	}
	if err := ioctl(k, kfd.IocAllocMemoryOfGPU, &a); err != nil {
		if at == 0 {
			unreserve(m.reserved, m.resLen)
		}
		return nil, err
	}
	m.Handle, m.mmapOffset = a.Handle, a.MmapOffset
	if flags&(HostAccess|doorbell|mmio) != 0 {
		f := g.render
		if flags&(doorbell|mmio) != 0 {
			f = k.file
		}
		if flags&doorbell != 0 {
			a.MmapOffset = mmapOffset
		}
		if err := f.Mmap(m.VA, size, unix.PROT_READ|unix.PROT_WRITE, a.MmapOffset); err != nil {
			_ = ioctl(k, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: m.Handle})
			if at == 0 {
				unreserve(m.reserved, m.resLen)
			}
			return nil, fromErrno("mmap", err)
		}
		m.Host = m.VA
		copy(unsafe.Slice((*byte)(hostPointer(m.Host)), size), content)
		// A child that forks must not see device memory appear and vanish under it.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(m.VA), uintptr(size), unix.MADV_DONTFORK)
	}
	if flags&noTable == 0 {
		k.mem.add(m)
	}
	return m, nil
}

func kfdFlags(f MemFlags) (a uint32) {
	if f&ReadOnly == 0 {
		a |= kfd.AllocWritable
	}
	for _, t := range [...]struct {
		f MemFlags
		a uint32
	}{
		{Executable, kfd.AllocExecutable}, {Coherent, kfd.AllocCoherent}, {Uncached, kfd.AllocUncached},
		{ExtCoherent, kfd.AllocExtCoherent}, {Contiguous, kfd.AllocContiguous}, {AQLQueue, kfd.AllocAQLQueueMem},
		{NoSubstitute, kfd.AllocNoSubstitute},
	} {
		if f&t.f != 0 {
			a |= t.a
		}
	}
	return
}

// Register makes size bytes of the application's memory at CPU address addr reachable for GPUs; they see it at the VA of the result (the
// address within the page is kept). It is mapped on no GPU yet. The same range may be registered several times.
func (k *KFD) Register(addr, size uint64, flags MemFlags) (*Mem, error) {
	const op = "register"
	if addr == 0 || size == 0 || addr+size < addr {
		return nil, fail(op, InvalidParameter)
	}
	if len(k.gpus) == 0 {
		return nil, fail(op, NotSupported)
	}
	first := addr &^ (PageSize - 1)
	length := (addr + size - first + PageSize - 1) &^ (PageSize - 1)
	m := &Mem{Host: addr, Size: size, Node: 0, Flags: flags | HostAccess, userptr: true, mapped: map[int]bool{}}
	// The GPU address has the CPU address's offset within 2 MiB, so that large fragments fit both.
	pad := uint64(0)
	align := uint64(PageSize)
	if length >= hugeSize {
		align, pad = hugeSize, first&(hugeSize-1)
	}
	va, start, resLen, err := reserve(length+pad, align)
	if err != nil {
		return nil, fromErrno(op, err)
	}
	m.reserved, m.resLen = start, resLen
	va += pad
	m.VA = va + (addr - first)
	a := kfd.AllocMemoryOfGPUArgs{VAAddr: va, Size: length, MmapOffset: first, GPUID: k.gpus[0].node.GPUID, Flags: kfd.AllocUserptr | kfdFlags(flags)}
	if err := ioctl(k, kfd.IocAllocMemoryOfGPU, &a); err != nil {
		unreserve(start, resLen)
		return nil, err
	}
	m.Handle = a.Handle
	k.mem.add(m)
	return m, nil
}

// Free gives memory back, or ends a registration, after taking it off all GPUs. The second Free of the same Mem fails with
// InvalidHandle.
func (k *KFD) Free(m *Mem) error {
	const op = "FREE_MEMORY_OF_GPU"
	if m == nil || m.physical != nil || !k.mem.remove(m) {
		return fail(op, InvalidHandle)
	}
	if m.Handle != 0 {
		if err := k.unmapAll(m); err != nil {
			k.mem.add(m)
			return err
		}
		if err := ioctl(k, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: m.Handle}); err != nil {
			k.mem.add(m)
			return err
		}
	}
	if u, ok := k.file.(UnmapNotifier); ok && m.svm && m.resLen != 0 {
		u.NotifyUnmap(m.VA, m.Size)
	}
	unreserve(m.reserved, m.resLen)
	return nil
}

// release gives an allocation back that is in no table and mapped nowhere.
func (k *KFD) release(m *Mem) error {
	err := ioctl(k, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: m.Handle})
	unreserve(m.reserved, m.resLen)
	return err
}

// Map makes memory reachable from the given GPU nodes. A node where it is mapped already stays as it is.
func (k *KFD) Map(m *Mem, nodes ...int) error {
	const op = "MAP_MEMORY_TO_GPU"
	ids := make([]uint32, 0, len(nodes))
	var fresh []int
	k.mem.mu.RLock()
	var readOnly []int
	for _, n := range nodes {
		g := k.gpuOf(n)
		if g == nil {
			k.mem.mu.RUnlock()
			return fail(op, InvalidNodeUnit)
		}
		if _, yes := m.readOnly[n]; yes {
			readOnly = append(readOnly, n)
		}
		if !m.mapped[n] {
			ids, fresh = append(ids, g.node.GPUID), append(fresh, n)
		}
	}
	k.mem.mu.RUnlock()
	if len(ids) == 0 || m.Handle == 0 {
		return nil
	}
	for _, n := range readOnly {
		if err := k.unmapReadOnly(m, n); err != nil {
			return err
		}
	}
	done, err := k.mapIoctl(kfd.IocMapMemoryToGPU, m.Handle, ids)
	k.mem.mu.Lock()
	for _, n := range fresh[:done] {
		m.mapped[n] = true
	}
	k.mem.mu.Unlock()
	return err
}

// Unmap takes memory off the given GPU nodes.
func (k *KFD) Unmap(m *Mem, nodes ...int) error {
	const op = "UNMAP_MEMORY_FROM_GPU"
	ids := make([]uint32, 0, len(nodes))
	var old, readOnly []int
	k.mem.mu.RLock()
	for _, n := range nodes {
		g := k.gpuOf(n)
		if g == nil {
			k.mem.mu.RUnlock()
			return fail(op, InvalidNodeUnit)
		}
		if _, yes := m.readOnly[n]; yes {
			readOnly = append(readOnly, n)
		}
		if m.mapped[n] {
			ids, old = append(ids, g.node.GPUID), append(old, n)
		}
	}
	k.mem.mu.RUnlock()
	for _, n := range readOnly {
		if err := k.unmapReadOnly(m, n); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	done, err := k.mapIoctl(kfd.IocUnmapMemoryFromGPU, m.Handle, ids)
	k.mem.mu.Lock()
	for _, n := range old[:done] {
		delete(m.mapped, n)
	}
	k.mem.mu.Unlock()
	return err
}

func (k *KFD) unmapAll(m *Mem) error { return k.Unmap(m, k.MappedNodes(m)...) }

// MappedNodes returns the GPU nodes on which memory is mapped, ascending.
func (k *KFD) MappedNodes(m *Mem) (nodes []int) {
	k.mem.mu.RLock()
	defer k.mem.mu.RUnlock()
	for n := range m.mapped {
		nodes = append(nodes, n)
	}
	for n := range m.readOnly {
		nodes = append(nodes, n)
	}
	sort.Ints(nodes)
	return
}

// mapIoctl maps or unmaps on several devices, and returns on how many it succeeded.
func (k *KFD) mapIoctl(req kfd.Request, handle uint64, ids []uint32) (int, error) {
	p := pinWords(ids)
	defer p.free()
	a := kfd.MapMemoryArgs{Handle: handle, DeviceIDsArrayPtr: p.addr, NDevices: uint32(len(ids))}
	err := ioctl(k, req, &a)
	if err == nil && a.NSuccess != a.NDevices {
		err = fail(req.String()[len("AMDKFD_IOC_"):], Failed)
	}
	return int(min(a.NSuccess, a.NDevices)), err
}

// Find returns the allocation that contains an address, of the GPU or, for registered memory, of the CPU; nil if there is none.
func (k *KFD) Find(addr uint64) *Mem { return k.mem.find(addr) }

// FindRegistered returns the latest registration that starts at a CPU address, nil if there is none.
func (k *KFD) FindRegistered(host uint64) *Mem {
	k.mem.mu.RLock()
	defer k.mem.mu.RUnlock()
	for i := len(k.mem.byHost) - 1; i >= 0; i-- {
		if m := k.mem.byHost[i]; m.Host == host {
			return m
		}
	}
	return nil
}

// SetUserData attaches a value to an allocation; UserData returns it.
func (k *KFD) SetUserData(m *Mem, v any) {
	k.mem.mu.Lock()
	m.userData = v
	k.mem.mu.Unlock()
}

// UserData returns what SetUserData attached.
func (k *KFD) UserData(m *Mem) any {
	k.mem.mu.RLock()
	defer k.mem.mu.RUnlock()
	return m.userData
}

// Available returns the bytes of video memory that an allocation on the node may still take.
func (k *KFD) Available(node int) (uint64, error) {
	g := k.gpuOf(node)
	if g == nil {
		return 0, fail("AVAILABLE_MEMORY", InvalidNodeUnit)
	}
	a := kfd.AvailableMemoryArgs{GPUID: g.node.GPUID}
	err := ioctl(k, kfd.IocAvailableMemory, &a)
	return a.Available, err
}

// Bytes returns CPU-visible memory as a slice; nil when the CPU cannot reach it, or when Go code must not touch it (shared virtual memory). It is valid until Free.
func (m *Mem) Bytes() []byte {
	if m.Host == 0 || m.userptr || m.svm {
		return nil
	}
	return unsafe.Slice((*byte)(hostPointer(m.Host)), m.Size)
}
