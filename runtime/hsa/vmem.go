package hsa

import (
	"sort"
	"sync"

	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// Virtual memory management. Addresses are reserved, memory is created without an address, and mappings bring the two together; what agent may use a mapping is said
// afterwards, agent by agent.

// Access is hsa_access_permission_t.
type Access uint8

// Permissions.
const (
	AccessNone Access = iota
	AccessRead
	AccessWrite
	AccessReadWrite
)

// Physical is memory without an address: an hsa_amd_vmem_alloc_handle_t.
type Physical struct {
	Pool *Pool
	Size uint64 // bytes

	p *hsakmt.Physical
}

// vmem is what the runtime knows of reservations and mappings.
type vmem struct {
	mu       sync.Mutex
	ranges   []reservation // sorted by start; guarded by mu
	mappings []*mapping    // sorted by address; guarded by mu
}

type reservation struct{ start, size uint64 }

type mapping struct {
	m      *Memory
	phys   *Physical
	access map[*Agent]Access
}

// VMemGranule returns the unit of sizes and addresses of mappings from a pool, in bytes: the least, or the recommended one.
func (p *Pool) VMemGranule(recommended bool) uint64 {
	if recommended && p.Agent.IsGPU() {
		return 2 << 20
	}
	return Granule
}

// ReserveAddress takes size bytes of addresses: at hint, if that is free and not 0, else anywhere.
func (r *Runtime) ReserveAddress(hint, size, align uint64) (uint64, error) {
	va, err := r.kfd.ReserveAddress(hint, size, align)
	if err != nil {
		return 0, wrap("vmem_address_reserve", err)
	}
	v := &r.vmem
	v.mu.Lock()
	defer v.mu.Unlock()
	i := sort.Search(len(v.ranges), func(i int) bool { return v.ranges[i].start > va })
	v.ranges = append(v.ranges, reservation{})
	copy(v.ranges[i+1:], v.ranges[i:])
	v.ranges[i] = reservation{va, size}
	return va, nil
}

// FreeAddress gives a reservation back; nothing may be mapped in it.
func (r *Runtime) FreeAddress(va, size uint64) error {
	const op = "vmem_address_free"
	v := &r.vmem
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, x := range v.ranges {
		if x.start != va || x.size != size {
			continue
		}
		for _, m := range v.mappings {
			if m.m.Addr < va+size && va < m.m.Addr+m.m.Size {
				return fail(op, StatusResourceBusy, "%#x is mapped", m.m.Addr)
			}
		}
		v.ranges = append(v.ranges[:i], v.ranges[i+1:]...)
		r.kfd.FreeAddress(va, size)
		return nil
	}
	return fail(op, StatusInvalidAllocation)
}

// CreatePhysical takes memory without an address from a pool.
func (p *Pool) CreatePhysical(size uint64) (*Physical, error) {
	const op = "vmem_handle_create"
	switch {
	case p.Segment != SegmentGlobal:
		return nil, fail(op, StatusInvalidAllocation, "pool of segment %d", p.Segment)
	case size == 0 || size%Granule != 0:
		return nil, fail(op, StatusInvalidArgument, "%d bytes", size)
	case size > p.Size:
		return nil, fail(op, StatusInvalidAllocation, "%d bytes of a pool of %d", size, p.Size)
	}
	flags := hsakmt.Executable
	if p.Agent.largeBAR || !p.Agent.IsGPU() {
		flags |= hsakmt.HostAccess
	}
	if p.Flags&PoolFineGrained != 0 {
		flags |= hsakmt.Coherent
	}
	k, err := p.Agent.rt.kfd.NewPhysical(p.Agent.Node.ID, size, flags)
	if err != nil {
		return nil, wrap(op, err)
	}
	return &Physical{Pool: p, Size: size, p: k}, nil
}

// ImportPhysical makes a handle of memory that a descriptor, perhaps of another process, stands for. The descriptor stays the caller's.
func (r *Runtime) ImportPhysical(fd int) (*Physical, error) {
	const op = "vmem_import_shareable_handle"
	k, err := r.kfd.ImportPhysical(fd)
	if err != nil {
		return nil, wrap(op, err)
	}
	for _, a := range r.agents {
		if a.Node.ID == k.Node {
			return &Physical{Pool: a.Pool(PoolCoarseGrained), Size: k.Size, p: k}, nil
		}
	}
	_, _ = k.Release()
	return nil, fail(op, StatusInvalidAgent)
}

// Export returns a new descriptor of the memory for another process.
func (h *Physical) Export() (int, error) {
	fd, err := h.p.Export()
	return fd, wrap("vmem_export_shareable_handle", err)
}

// Retain adds a handle, Release takes one away. With the last handle and mapping the memory goes.
func (h *Physical) Retain() { h.p.Retain() }

// Release takes a handle away, and reports whether the memory is gone.
func (h *Physical) Release() (gone bool, err error) {
	gone, err = h.p.Release()
	return gone, wrap("vmem_handle_release", err)
}

// MapPhysical maps the whole of a memory in a reservation. No agent reaches it before SetAccess.
func (r *Runtime) MapPhysical(h *Physical, va, size uint64) (*Memory, error) {
	const op = "vmem_map"
	v := &r.vmem
	v.mu.Lock()
	defer v.mu.Unlock()
	in := false
	for _, x := range v.ranges {
		in = in || va >= x.start && size <= x.size && va-x.start <= x.size-size
	}
	if !in {
		return nil, fail(op, StatusInvalidAllocation, "%#x is not reserved", va)
	}
	for _, m := range v.mappings {
		if m.m.Addr < va+size && va < m.m.Addr+m.m.Size {
			return nil, fail(op, StatusInvalidAllocation, "%#x is mapped", m.m.Addr)
		}
	}
	km, err := r.kfd.MapPhysical(h.p, va, size)
	if err != nil {
		return nil, wrap(op, err)
	}
	m := &Memory{Addr: va, Size: size, Pool: h.Pool, mem: km}
	r.kfd.SetUserData(km, m)
	v.mappings = append(v.mappings, &mapping{m, h, map[*Agent]Access{}})
	sort.Slice(v.mappings, func(i, j int) bool { return v.mappings[i].m.Addr < v.mappings[j].m.Addr })
	return m, nil
}

// find returns the mapping that contains an address. mu is held.
func (v *vmem) find(va uint64) (int, *mapping) {
	i := sort.Search(len(v.mappings), func(i int) bool { return v.mappings[i].m.Addr > va }) - 1
	if i < 0 || va-v.mappings[i].m.Addr >= v.mappings[i].m.Size {
		return 0, nil
	}
	return i, v.mappings[i]
}

// UnmapPhysical ends a mapping; its addresses stay reserved.
func (r *Runtime) UnmapPhysical(va, size uint64) error {
	const op = "vmem_unmap"
	v := &r.vmem
	v.mu.Lock()
	defer v.mu.Unlock()
	i, x := v.find(va)
	if x == nil || x.m.Addr != va || x.m.Size != size {
		return fail(op, StatusInvalidAllocation)
	}
	if err := r.kfd.UnmapPhysical(x.m.mem); err != nil {
		return wrap(op, err)
	}
	v.mappings = append(v.mappings[:i], v.mappings[i+1:]...)
	return nil
}

// SetAccess says what an agent may do with the mappings that fill a range.
func (r *Runtime) SetAccess(va, size uint64, a *Agent, access Access) error {
	const op = "vmem_set_access"
	if access > AccessReadWrite {
		return fail(op, StatusInvalidArgument)
	}
	v := &r.vmem
	v.mu.Lock()
	defer v.mu.Unlock()
	var list []*mapping
	for at := va; at < va+size; {
		_, x := v.find(at)
		if x == nil || x.m.Addr != at || x.m.Size > va+size-at {
			return fail(op, StatusInvalidAllocation, "%#x is not mapped", at)
		}
		list = append(list, x)
		at += x.m.Size
	}
	for _, x := range list {
		var err error
		switch {
		case !a.IsGPU():
			err = r.kfd.MapHost(x.m.mem)
			x.m.Host = x.m.mem.Host
		case access == AccessNone:
			err = r.kfd.Unmap(x.m.mem, a.Node.ID)
		default:
			if access == AccessRead {
				err = r.kfd.MapReadOnly(x.m.mem, a.Node.ID)
			} else {
				err = r.kfd.Map(x.m.mem, a.Node.ID)
			}
			if err == nil && x.phys.Pool.Agent.largeBAR {
				// The host reaches what a large BAR shows, as it does with all memory of the device.
				if err = r.kfd.MapHost(x.m.mem); err == nil {
					x.m.Host = x.m.mem.Host
				}
			}
		}
		if err != nil {
			return wrap(op, err)
		}
		x.access[a] = access
	}
	return nil
}

// GetAccess tells what an agent may do with the mapping at an address.
func (r *Runtime) GetAccess(va uint64, a *Agent) (Access, error) {
	v := &r.vmem
	v.mu.Lock()
	defer v.mu.Unlock()
	_, x := v.find(va)
	if x == nil {
		return 0, fail("vmem_get_access", StatusInvalidAllocation)
	}
	return x.access[a], nil
}

// PhysicalAt returns the memory that is mapped at an address, with a handle more.
func (r *Runtime) PhysicalAt(va uint64) (*Physical, error) {
	v := &r.vmem
	v.mu.Lock()
	defer v.mu.Unlock()
	_, x := v.find(va)
	if x == nil {
		return nil, fail("vmem_retain_alloc_handle", StatusInvalidAllocation)
	}
	x.phys.Retain()
	return x.phys, nil
}
