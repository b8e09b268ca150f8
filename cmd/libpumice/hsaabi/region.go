package hsaabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Regions are the older view of pools, with the same handles. A GPU's regions are its own pools and, because it may use that memory without asking, the host's.

//export hsa_agent_iterate_regions
func hsa_agent_iterate_regions(agent uint64, f, data unsafe.Pointer) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if f == nil {
		return badArg
	}
	all := a.Pools()
	if a.IsGPU() {
		all = append(append([]*hsa.Pool(nil), all...), r.CPU().Pools()...)
	}
	for _, p := range all {
		if st := callHandle(f, pools.of(p), data); st != ok {
			return st
		}
	}
	return ok
}

//export hsa_region_get_info
func hsa_region_get_info(region uint64, attr int32, p uintptr) int32 {
	if rt() == nil {
		return notInit
	}
	m := pools.get(region)
	if m == nil {
		return int32(hsa.StatusInvalidRegion)
	}
	if p == 0 {
		return badArg
	}
	global := m.Segment == hsa.SegmentGlobal
	bank := func(f func(width, clock uint64) uint64) (v uint32) {
		for _, b := range m.Agent.Node.Banks {
			v = max(v, uint32(f(b.Width, b.MemClkMax)))
		}
		return
	}
	switch attr {
	case 4: // the largest allocation
		if !global {
			return put(p, uint64(0))
		}
		return put(p, m.Size)
	case 8: // private memory of a work-group: not a region here
		return badArg
	case 0xa000:
		return put(p, global && (!m.Agent.IsGPU() || m.Agent.LargeBAR()))
	case 0xa001: // base: of the group and private segments only, in programs' flat addresses
		return put(p, uintptr(0))
	case 0xa002:
		return put(p, bank(func(w, _ uint64) uint64 { return w }))
	case 0xa003:
		return put(p, bank(func(_, c uint64) uint64 { return c }))
	case 0, 1, 2, 5, 6, 7:
		return hsa_amd_memory_pool_get_info(region, attr, p)
	}
	return badArg
}

//export hsa_memory_allocate
func hsa_memory_allocate(region, size uint64, out *uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	m := pools.get(region)
	switch {
	case size == 0 || out == nil:
		return badArg
	case m == nil:
		return int32(hsa.StatusInvalidRegion)
	}
	mem, err := m.Allocate(size, 0, hsa.AllocExecutable)
	if err != nil {
		return code(err)
	}
	// Unlike memory of a pool it is there for all at once.
	if !m.Agent.IsGPU() {
		if err := r.AllowAccess(mem, r.GPUs()...); err != nil {
			_ = r.Free(mem)
			return code(err)
		}
	}
	return give(out, uintptr(mem.Addr))
}

// Memory is coherent for all agents; there is no ownership to give.
//
//export hsa_memory_assign_agent
func hsa_memory_assign_agent(p uintptr, agent uint64, access int32) int32 {
	if rt() == nil {
		return notInit
	}
	if p == 0 || access < 1 || access > 3 {
		return badArg
	}
	if agents.get(agent) == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	return ok
}
