package clr

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Kind is the kind of a memory object.
type Kind uint8

// Kinds.
const (
	DeviceMemory     Kind = iota
	HostMemory            // pinned, allocated by the runtime
	RegisteredMemory      // pinned, the program's own
	ManagedMemory
)

func (k Kind) String() string {
	return [...]string{"device memory", "host memory", "registered memory", "managed memory"}[k&3]
}

// Memory is a memory object. Ptr is what devices use; Host is what the CPU uses, 0 if it cannot reach the memory.
type Memory struct {
	Kind   Kind
	Device *Device // whose it is; for host memory the device that was current
	Ptr    uint64
	Host   uint64
	Size   uint64
	Flags  uint32 // of the API that made it, for queries
	ID     uint64 // counts memory objects from 1
	Mapped bool   // a mapping of virtual memory management, which Free does not free

	Attached bool // memory of another process
	Signal   bool // a word that streams wait for: host memory that is freed as device memory
	Shared   bool // shared virtual memory: pages move, and Go code must not touch them

	mem *hsa.Memory
}

// CoarseGrained reports whether the memory is of a coarse-grained pool: what one agent writes is seen by others only from the end of a kernel on.
func (m *Memory) CoarseGrained() bool {
	return m.mem != nil && m.mem.Pool.Flags&hsa.PoolCoarseGrained != 0
}

// Bytes returns CPU-reachable memory that the runtime allocated as a slice; nil otherwise.
func (m *Memory) Bytes() []byte { return m.mem.Bytes() }

// objects maps an HSA allocation to its memory object.

// Alloc allocates video memory.
func (d *Device) Alloc(size uint64) (*Memory, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	h, err := d.Agent.Pool(hsa.PoolCoarseGrained).Allocate(size, 0, hsa.AllocExecutable)
	if err != nil {
		return nil, allocError(err)
	}
	m := &Memory{Kind: DeviceMemory, Device: d, Ptr: h.Addr, Host: h.Host, Size: size, mem: h}
	d.mu.Lock()
	peers := d.peers
	d.mu.Unlock()
	for _, p := range peers {
		if err := d.rt.Reach(m, p); err != nil {
			_ = d.rt.HSA.Free(h)
			return nil, allocError(err)
		}
	}
	d.rt.allocated(h, m)
	return m, nil
}

// AllocHost allocates system memory that all devices reach: pinned host memory, or managed memory where pages do not migrate.
func (d *Device) AllocHost(size uint64, kind Kind, coherent bool) (*Memory, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	r := d.rt
	flags := hsa.PoolFineGrained
	if !coherent {
		flags = hsa.PoolCoarseGrained
	}
	h, err := r.HSA.CPU().Pool(flags).Allocate(size, 0, 0)
	if err != nil {
		return nil, allocError(err)
	}
	return d.forAll(h, size, kind)
}

// forAll lets all devices reach system memory.
func (d *Device) forAll(h *hsa.Memory, size uint64, kind Kind) (*Memory, error) {
	r := d.rt
	if err := r.HSA.AllowAccess(h, r.agents()...); err != nil {
		_ = r.HSA.Free(h)
		return nil, allocError(err)
	}
	m := &Memory{Kind: kind, Device: d, Ptr: h.Addr, Host: h.Host, Size: size, mem: h}
	r.allocated(h, m)
	return m, nil
}

// AllocManaged allocates memory that all devices and the host use at one address, and whose pages move to who uses them; where a device does not take part in that, it
// is system memory that all reach.
func (d *Device) AllocManaged(size uint64) (*Memory, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	r := d.rt
	if !r.HSA.SVMSupported() {
		return d.AllocHost(size, ManagedMemory, true)
	}
	h, err := r.HSA.AllocateSVM(size)
	if err != nil {
		return nil, allocError(err)
	}
	return d.shared(h)
}

// AdoptManaged turns memory of the process into managed memory. addr is the start of a page, and the pages are nobody else's.
func (d *Device) AdoptManaged(addr, size uint64) (*Memory, error) {
	r := d.rt
	if !r.HSA.SVMSupported() {
		return d.AdoptHost(addr, size, ManagedMemory)
	}
	h, err := r.HSA.AdoptSVM(addr, size)
	if err != nil {
		return nil, allocError(err)
	}
	return d.shared(h)
}

// shared lets all devices use shared virtual memory.
func (d *Device) shared(h *hsa.Memory) (*Memory, error) {
	r := d.rt
	attrs := []hsa.SVMAttribute{{Attr: hsa.SVMAccessible, Agent: r.HSA.CPU()}, {Attr: hsa.SVMGlobalFlag}}
	for _, x := range r.Devices {
		attrs = append(attrs, hsa.SVMAttribute{Attr: hsa.SVMAccessible, Agent: x.Agent})
	}
	if err := r.HSA.SVMSet(h.Addr, h.Size, attrs); err != nil {
		_ = r.HSA.Free(h)
		return nil, allocError(err)
	}
	m := &Memory{Kind: ManagedMemory, Device: d, Ptr: h.Addr, Host: h.Host, Size: h.Size, Shared: true, mem: h}
	r.allocated(h, m)
	return m, nil
}

// Register pins memory of the program.
func (d *Device) Register(host, size uint64) (*Memory, error) {
	r := d.rt
	h, err := r.HSA.Lock(host, size, r.agents()...)
	if err != nil {
		return nil, allocError(err)
	}
	m := &Memory{Kind: RegisteredMemory, Device: d, Ptr: h.Addr, Host: host, Size: size, mem: h}
	r.allocated(h, m)
	return m, nil
}

func allocError(err error) error {
	switch hsa.StatusOf(err) {
	case hsa.StatusOutOfResources, hsa.StatusInvalidAllocation:
		return fail(ErrOutOfMemory, "%v", err)
	case hsa.StatusInvalidArgument:
		return fail(ErrInvalidValue, "%v", err)
	}
	return err
}

func (r *Runtime) agents() (as []*hsa.Agent) {
	for _, d := range r.Devices {
		as = append(as, d.Agent)
	}
	return
}

// Find returns the memory object that contains an address, as devices or the CPU use it; nil if there is none.
func (r *Runtime) Find(addr uint64) *Memory {
	h := r.HSA.Find(addr)
	if h == nil {
		return nil
	}
	if v, ok := r.memory.Load(h); ok {
		return v.(*Memory)
	}
	return nil
}

// Free frees a memory object, after waiting for all devices. A second Free fails with ErrInvalidValue.
func (r *Runtime) Free(m *Memory) error {
	if _, ok := r.memory.LoadAndDelete(m.mem); !ok {
		return fail(ErrInvalidValue, "freed twice")
	}
	for _, d := range r.Devices {
		if err := d.Synchronize(); err != nil && d.Err() == nil {
			return err
		}
	}
	return r.HSA.Free(m.mem)
}

// Discard frees a memory object that no device uses any more, without waiting for one.
func (r *Runtime) Discard(m *Memory) {
	if _, ok := r.memory.LoadAndDelete(m.mem); ok {
		_ = r.HSA.Free(m.mem)
	}
}

// Available returns free and total bytes of video memory.
func (d *Device) Available() (free, total uint64, err error) {
	total, _ = d.Agent.Node.LocalMemory()
	free, err = d.rt.HSA.Thunk().Available(d.Agent.Node.ID)
	return
}

// CopyHost copies n bytes of memory that the CPU reaches, and SetHost stores n bytes of value v. They are variables so that the C library can put the C library's functions
// here: pages of the application may be served by a fault handler that a Go copy must not wait for.
var (
	CopyHost = func(dst, src, n uint64) {
		copy(unsafe.Slice((*byte)(hostPointer(dst)), n), unsafe.Slice((*byte)(hostPointer(src)), n))
	}
	SetHost = func(dst uint64, v byte, n uint64) {
		b := unsafe.Slice((*byte)(hostPointer(dst)), n)
		if v == 0 {
			clear(b)
			return
		}
		for i := range b {
			b[i] = v
		}
	}
)

// CheckHost reports whether n bytes of the program's memory may be read, or written. A variable for the same reason; without the C library nothing is known, and a bad address is a fault.
var CheckHost = func(addr, n uint64, write bool) bool { return true }

// CopyShared copies where one side is shared virtual memory: the kernel of the machine does it, which waits for pages that a fault handler in this process brings. In a Go copy the
// fault would stop a processor of Go, and the handler may need it.
var CopyShared = func(dst, src, n uint64) {
	const most = 1 << 30
	for n > 0 {
		m := min(n, most)
		local := []unix.Iovec{{Base: (*byte)(hostPointer(dst)), Len: m}}
		done, err := unix.ProcessVMReadv(unix.Getpid(), local, []unix.RemoteIovec{{Base: uintptr(src), Len: int(m)}}, 0)
		if err != nil || done == 0 {
			CopyHost(dst, src, n) // not allowed here
			return
		}
		dst, src, n = dst+uint64(done), src+uint64(done), n-uint64(done)
	}
}

// AdoptHost turns anonymous memory of the process into managed memory at the same address, with its content. addr is the start of a page, and the pages belong
// to the caller alone.
func (d *Device) AdoptHost(addr, size uint64, kind Kind) (*Memory, error) {
	r := d.rt
	h, err := r.HSA.CPU().Pool(hsa.PoolFineGrained).Adopt(addr, size)
	if err != nil {
		return nil, allocError(err)
	}
	return d.forAll(h, size, kind)
}

// Write stores bytes at an address of device memory, at once: not ordered with streams.
func (d *Device) Write(addr uint64, b []byte) error {
	p, err := d.rt.locate(addr, uint64(len(b)))
	if err != nil {
		return err
	}
	if p.cpu != 0 {
		copy(unsafe.Slice((*byte)(hostPointer(p.cpu)), len(b)), b)
		return nil
	}
	m, err := d.AllocHost(uint64(len(b)), HostMemory, true)
	if err != nil {
		return err
	}
	defer d.rt.Free(m)
	copy(m.Bytes(), b)
	return d.rt.HSA.Copy(addr, m.Ptr, uint64(len(b)), d.Agent)
}

// AdoptMapping makes a memory object of a mapping of virtual memory management.
func (d *Device) AdoptMapping(h *hsa.Memory) *Memory {
	m := &Memory{Kind: DeviceMemory, Device: d, Ptr: h.Addr, Host: h.Host, Size: h.Size, Mapped: true, mem: h}
	d.rt.allocated(h, m)
	return m
}

// Remap reads again whether the CPU reaches the memory: giving access may have let it in.
func (m *Memory) Remap() { m.Host = m.mem.Host }

// DropMapping ends a mapping that nothing uses any more.
func (r *Runtime) DropMapping(m *Memory) error {
	if _, ok := r.memory.LoadAndDelete(m.mem); !ok {
		return fail(ErrInvalidValue, "unmapped twice")
	}
	return r.HSA.UnmapPhysical(m.Ptr, m.Size)
}

// ExportDmabuf makes a DMA-BUF descriptor of an allocation; the caller closes it.
func (r *Runtime) ExportDmabuf(m *Memory) (int, error) { return r.HSA.ExportDmabuf(m.mem) }

// Share makes a handle of device memory for other processes.
func (r *Runtime) Share(m *Memory) (hsa.SharedHandle, error) { return r.HSA.Share(m.mem) }

// Attach maps memory of another process for the device; size is what its owner asked for.
func (d *Device) Attach(h hsa.SharedHandle, size uint64) (*Memory, error) {
	hm, err := d.rt.HSA.Attach(h, d.Agent)
	if err != nil {
		return nil, allocError(err)
	}
	m := &Memory{Kind: DeviceMemory, Device: d, Ptr: hm.Addr, Host: hm.Host, Size: min(size, hm.Size), Attached: true, mem: hm}
	d.rt.allocated(hm, m)
	return m, nil
}

// AllMemory lists the memory objects.
func (r *Runtime) AllMemory() (ms []*Memory) {
	r.memory.Range(func(_, v any) bool {
		ms = append(ms, v.(*Memory))
		return true
	})
	return
}

// EnablePeer lets a device reach all memory of another, what there is and what will be.
func (r *Runtime) EnablePeer(d, owner *Device) error {
	owner.mu.Lock()
	owner.peers = append(owner.peers, d)
	owner.mu.Unlock()
	for _, m := range r.AllMemory() {
		if m.Kind == DeviceMemory && m.Device == owner {
			if err := r.Reach(m, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// DisablePeer takes the right back for memory that is yet to come; what is mapped stays mapped.
func (r *Runtime) DisablePeer(d, owner *Device) error {
	owner.mu.Lock()
	defer owner.mu.Unlock()
	for i, p := range owner.peers {
		if p == d {
			owner.peers = append(owner.peers[:i:i], owner.peers[i+1:]...)
			return nil
		}
	}
	return fail(ErrInvalidValue, "no peer")
}
