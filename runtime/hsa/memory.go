package hsa

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// Segment is the HSA segment of a pool.
type Segment uint8

// Segments (hsa_amd_segment_t).
const (
	SegmentGlobal  Segment = 0
	SegmentPrivate Segment = 2
	SegmentGroup   Segment = 3
)

// PoolFlags are hsa_amd_memory_pool_global_flag_t.
type PoolFlags uint32

// Flags of global pools.
const (
	PoolKernarg       PoolFlags = 1
	PoolFineGrained   PoolFlags = 2
	PoolCoarseGrained PoolFlags = 4
)

// Pool is a memory pool of an agent.
type Pool struct {
	Agent   *Agent
	Segment Segment
	Flags   PoolFlags
	Size    uint64 // bytes

	fragments fragments
}

// Granule is the unit of allocation of global pools in bytes.
const Granule = hsakmt.PageSize

// Memory is one allocation or lock.
type Memory struct {
	Addr uint64 // as agents see it
	Host uint64 // as the CPU sees it; 0 if it cannot
	Size uint64 // bytes, as asked
	Pool *Pool  // nil for locked application memory

	Attached bool // memory of another process

	mem   *hsakmt.Mem
	block *block // of which the memory is a part, or which it is the whole of; nil if neither
}

// Bytes returns host-reachable memory of a pool as a slice, valid until it is freed; nil if the CPU cannot reach it.
func (m *Memory) Bytes() []byte {
	b := m.mem.Bytes()
	if b == nil {
		return nil
	}
	return b[m.Offset():][:m.Size]
}

// AllocOption refines an allocation.
type AllocOption uint32

// Options.
const (
	AllocExecutable AllocOption = 1 << iota // code
	AllocUncached
)

// Allocate takes memory from the pool. A GPU's pool is reachable from that GPU at once; other agents need AllowAccess. System memory is
// reachable from no GPU at first.
func (p *Pool) Allocate(size, align uint64, opts AllocOption) (*Memory, error) {
	const op = "memory_pool_allocate"
	switch {
	case p.Segment != SegmentGlobal:
		return nil, fail(op, StatusInvalidAllocation, "pool of segment %d", p.Segment)
	case size == 0:
		return nil, fail(op, StatusInvalidArgument)
	case size > p.Size:
		return nil, fail(op, StatusInvalidAllocation, "%d bytes of a pool of %d", size, p.Size)
	}
	if p.Agent.rt.opts.Fragments && p.Agent.IsGPU() && wholePages(size) < fragmentBlock && align <= hsakmt.PageSize && opts&AllocUncached == 0 {
		return p.fragment(size, opts)
	}
	return p.allocate(size, align, opts)
}

// allocate takes memory of the driver.
func (p *Pool) allocate(size, align uint64, opts AllocOption) (*Memory, error) {
	const op = "memory_pool_allocate"
	r := p.Agent.rt
	flags := hsakmt.HostAccess
	if p.Flags&(PoolFineGrained|PoolKernarg) != 0 {
		flags |= hsakmt.Coherent
	}
	if p.Agent.IsGPU() && !p.Agent.largeBAR && p.Flags&PoolFineGrained == 0 {
		flags &^= hsakmt.HostAccess
	}
	if opts&AllocExecutable != 0 || !p.Agent.IsGPU() {
		flags |= hsakmt.Executable
	}
	if opts&AllocUncached != 0 {
		flags |= hsakmt.Uncached
	}
	km, err := r.kfd.Alloc(p.Agent.Node.ID, size, align, flags)
	if err != nil {
		return nil, wrap(op, err)
	}
	if p.Agent.IsGPU() {
		if err := r.kfd.Map(km, p.Agent.Node.ID); err != nil {
			_ = r.kfd.Free(km)
			return nil, wrap(op, err)
		}
	}
	m := &Memory{Addr: km.VA, Host: km.Host, Size: size, Pool: p, mem: km}
	r.kfd.SetUserData(km, m)
	return m, nil
}

// Free gives an allocation back.
func (r *Runtime) Free(m *Memory) error {
	if m == nil || m.mem == nil {
		return fail("memory_pool_free", StatusInvalidArgument)
	}
	if m.block != nil {
		return m.block.free(m)
	}
	return wrap("memory_pool_free", r.kfd.Free(m.mem))
}

// Find returns the allocation or lock that contains an address, of an agent or of the host; nil if there is none.
func (r *Runtime) Find(addr uint64) *Memory {
	km := r.kfd.Find(addr)
	if km == nil {
		return nil
	}
	m, _ := r.kfd.UserData(km).(*Memory)
	if m != nil && m.block != nil {
		return m.block.find(addr)
	}
	return m
}

// FindLock returns the lock that starts at a host address, nil if there is none.
func (r *Runtime) FindLock(host uint64) *Memory {
	km := r.kfd.FindRegistered(host)
	if km == nil {
		return nil
	}
	m, _ := r.kfd.UserData(km).(*Memory)
	return m
}

// AllowAccess makes memory reachable from exactly the given agents and its owner. The host always has access where the memory allows it.
func (r *Runtime) AllowAccess(m *Memory, agents ...*Agent) error {
	const op = "agents_allow_access"
	want := map[int]bool{}
	var add []int
	for _, a := range agents {
		if a == nil || a.rt != r {
			return fail(op, StatusInvalidAgent)
		}
		if a.IsGPU() {
			want[a.Node.ID] = true
			add = append(add, a.Node.ID)
		}
	}
	if m.Pool != nil && m.Pool.Agent.IsGPU() {
		want[m.Pool.Agent.Node.ID] = true
	}
	if err := r.kfd.Map(m.mem, add...); err != nil {
		return wrap(op, err)
	}
	var drop []int
	for _, n := range r.kfd.MappedNodes(m.mem) {
		if !want[n] {
			drop = append(drop, n)
		}
	}
	return wrap(op, r.kfd.Unmap(m.mem, drop...))
}

// Accessible lists the GPU agents that can reach the memory.
func (r *Runtime) Accessible(m *Memory) (as []*Agent) {
	for _, n := range r.kfd.MappedNodes(m.mem) {
		for _, a := range r.agents {
			if a.Node.ID == n {
				as = append(as, a)
			}
		}
	}
	return
}

// Lock makes application memory reachable from agents (all GPUs if none is given) at the Addr of the result.
func (r *Runtime) Lock(host, size uint64, agents ...*Agent) (*Memory, error) {
	const op = "memory_lock"
	km, err := r.kfd.Register(host, size, hsakmt.Coherent|hsakmt.Executable)
	if err != nil {
		return nil, wrap(op, err)
	}
	var nodes []int
	if len(agents) == 0 {
		agents = r.gpus
	}
	for _, a := range agents {
		if a.IsGPU() {
			nodes = append(nodes, a.Node.ID)
		}
	}
	m := &Memory{Addr: km.VA, Host: host, Size: size, mem: km}
	r.kfd.SetUserData(km, m)
	if err := r.kfd.Map(km, nodes...); err != nil {
		_ = r.kfd.Free(km)
		return nil, wrap(op, err)
	}
	return m, nil
}

// systemAlloc allocates runtime-internal memory that host and all GPUs reach.
func (r *Runtime) systemAlloc(size uint64, extra hsakmt.MemFlags) (*hsakmt.Mem, error) {
	m, err := r.kfd.Alloc(r.cpu.Node.ID, size, 0, hsakmt.HostAccess|hsakmt.Coherent|hsakmt.Executable|extra)
	if err != nil {
		return nil, err
	}
	for _, g := range r.gpus {
		if err := r.kfd.Map(m, g.Node.ID); err != nil {
			_ = r.kfd.Free(m)
			return nil, err
		}
	}
	return m, nil
}

// hostPointer turns an address outside the Go heap into a pointer.
func hostPointer(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// Adopt is Allocate from a system pool at the address of anonymous memory of the process, whose content is kept. addr must be page aligned.
func (p *Pool) Adopt(addr, size uint64) (*Memory, error) {
	const op = "memory_pool_adopt"
	if p.Segment != SegmentGlobal || p.Agent.IsGPU() {
		return nil, fail(op, StatusInvalidAllocation)
	}
	r := p.Agent.rt
	km, err := r.kfd.AllocAt(p.Agent.Node.ID, addr, size, hsakmt.HostAccess|hsakmt.Coherent|hsakmt.Executable)
	if err != nil {
		return nil, wrap(op, err)
	}
	m := &Memory{Addr: km.VA, Host: km.Host, Size: size, Pool: p, mem: km}
	r.kfd.SetUserData(km, m)
	return m, nil
}

// ExportDmabuf makes a DMA-BUF descriptor of the whole of an allocation, which the caller closes.
func (r *Runtime) ExportDmabuf(m *Memory) (int, error) {
	const op = "portable_export_dmabuf"
	if m == nil || m.Pool == nil || m.mem == nil || m.mem.PhysicalOf() != nil {
		return -1, fail(op, StatusInvalidAllocation)
	}
	fd, err := r.kfd.ExportDmabuf(m.mem)
	return fd, wrap(op, err)
}
