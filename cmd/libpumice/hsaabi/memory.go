package hsaabi

import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

//export hsa_amd_memory_pool_allocate
func hsa_amd_memory_pool_allocate(pool, size uint64, flags uint32, out *uintptr) int32 {
	p := pools.get(pool)
	if p == nil {
		return int32(hsa.StatusInvalidMemoryPool)
	}
	if size == 0 || out == nil || flags != 0 {
		return badArg
	}
	m, err := p.Allocate(size, 0, hsa.AllocExecutable)
	if err != nil {
		return code(err)
	}
	return give(out, uintptr(m.Addr))
}

//export hsa_amd_memory_pool_free
func hsa_amd_memory_pool_free(p uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if p == 0 {
		return ok
	}
	m := r.Find(uint64(p))
	if m == nil || m.Addr != uint64(p) || m.Pool == nil {
		return int32(hsa.StatusInvalidAllocation)
	}
	if err := r.Free(m); err != nil {
		return code(err)
	}
	freed(m)
	return ok
}

//export hsa_memory_free
func hsa_memory_free(p uintptr) int32 { return hsa_amd_memory_pool_free(p) }

func agentList(n uint32, p *uint64) (as []*hsa.Agent, good bool) {
	if n == 0 {
		return nil, true
	}
	handles, good := given(p, n)
	if !good {
		return nil, false
	}
	for _, h := range handles {
		a := agents.get(h)
		if a == nil {
			return nil, false
		}
		as = append(as, a)
	}
	return as, true
}

//export hsa_amd_agents_allow_access
func hsa_amd_agents_allow_access(n uint32, list *uint64, flags *uint32, p uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if n == 0 || list == nil || flags != nil || p == 0 {
		return badArg
	}
	as, good := agentList(n, list)
	if !good {
		return int32(hsa.StatusInvalidAgent)
	}
	m := r.Find(uint64(p))
	if m == nil {
		return int32(hsa.StatusInvalidAllocation)
	}
	return code(r.AllowAccess(m, as...))
}

//export hsa_amd_memory_lock_to_pool
func hsa_amd_memory_lock_to_pool(host uintptr, size uint64, list *uint64, n int32, pool uint64, flags uint32, out *uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	as, good := agentList(uint32(max(n, 0)), list)
	if !good || host == 0 || size == 0 || out == nil || flags != 0 {
		return badArg
	}
	m, err := r.Lock(uint64(host), size, as...)
	if err != nil {
		return code(err)
	}
	return give(out, uintptr(m.Addr))
}

//export hsa_amd_memory_lock
func hsa_amd_memory_lock(host uintptr, size uint64, list *uint64, n int32, out *uintptr) int32 {
	return hsa_amd_memory_lock_to_pool(host, size, list, n, 0, 0, out)
}

//export hsa_amd_memory_unlock
func hsa_amd_memory_unlock(host uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	m := r.FindLock(uint64(host))
	if m == nil {
		return ok // memory that was not locked is no error
	}
	if err := r.Free(m); err != nil {
		return code(err)
	}
	freed(m)
	return ok
}

//export hsa_memory_register
func hsa_memory_register(p uintptr, n uint64) int32 {
	if p == 0 && n != 0 {
		return badArg
	}
	return ok // a hint of the full profile
}

//export hsa_memory_deregister
func hsa_memory_deregister(p uintptr, n uint64) int32 { return ok }

// pointerInfo is hsa_amd_pointer_info_t.
type pointerInfo struct {
	size      uint32
	typ       uint32
	agentBase uintptr
	hostBase  uintptr
	bytes     uint64
	userData  uintptr
	owner     uint64
	flags     uint32
	_         uint32
}

//export hsa_amd_pointer_info
func hsa_amd_pointer_info(p uintptr, out uintptr, alloc unsafe.Pointer, n *uint32, list *unsafe.Pointer) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if p == 0 || out == 0 {
		return badArg
	}
	size, good := caller.Get((*uint32)(ptr(uint64(out))))
	if !good || size == 0 {
		return badArg
	}
	i := pointerInfo{size: min(size, uint32(unsafe.Sizeof(pointerInfo{})))}
	m := r.Find(uint64(p))
	if m != nil {
		i.typ, i.agentBase, i.hostBase, i.bytes = 1, uintptr(m.Addr), uintptr(m.Host), m.Size
		if m.Pool != nil {
			i.owner, i.flags = agents.of(m.Pool.Agent), uint32(m.Pool.Flags)
		} else {
			i.typ, i.owner, i.flags = 2, agents.of(r.CPU()), uint32(hsa.PoolFineGrained)
		}
		if v, found := userData.Load(m); found {
			i.userData = v.(uintptr)
		}
	}
	if !caller.Store(out, unsafe.Pointer(&i), uintptr(i.size)) {
		return badArg
	}
	if n != nil && list != nil {
		if st := give(n, 0); st != ok {
			return st
		}
		if m != nil && alloc != nil {
			as := r.Accessible(m)
			b := callAlloc(alloc, uint64(8*len(as)))
			if b == nil && len(as) > 0 {
				return int32(hsa.StatusOutOfResources)
			}
			for j, a := range as {
				if st := put(uintptr(b)+8*uintptr(j), agents.of(a)); st != ok {
					return st
				}
			}
			if st := give(list, b); st != ok {
				return st
			}
			return give(n, uint32(len(as)))
		}
	}
	return ok
}

//export hsa_amd_pointer_info_set_userdata
func hsa_amd_pointer_info_set_userdata(p, data uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	m := r.Find(uint64(p))
	if m == nil {
		return badArg
	}
	userData.Store(m, data)
	return ok
}

// copyAgent picks the GPU whose engine copies, and whether the destination is the host.
func copyAgent(dst, src uint64) (a *hsa.Agent, toHost bool, status int32) {
	d, s := agents.get(dst), agents.get(src)
	if d == nil || s == nil {
		return nil, false, int32(hsa.StatusInvalidAgent)
	}
	switch {
	case d.IsGPU():
		return d, false, ok
	case s.IsGPU():
		return s, true, ok
	}
	return nil, false, ok
}

func signalList(n uint32, p *uint64) (ss []*hsa.Signal, good bool) {
	if n == 0 {
		return nil, true
	}
	handles, good := given(p, n)
	if !good {
		return nil, false
	}
	for _, h := range handles {
		s := signal(h)
		if s == nil {
			return nil, false
		}
		ss = append(ss, s)
	}
	return ss, true
}

//export hsa_amd_memory_async_copy
func hsa_amd_memory_async_copy(dst uintptr, da uint64, src uintptr, sa, size uint64, n uint32, deps *uint64, done uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	ds, good := signalList(n, deps)
	s := signal(done)
	if dst == 0 || src == 0 || !good || s == nil {
		return badArg
	}
	a, toHost, st := copyAgent(da, sa)
	if st != ok {
		return st
	}
	if size == 0 || a == nil {
		// Host to host: a goroutine copies in order of the signals.
		go func() {
			for _, d := range ds {
				d.Wait(0, 0, hsa.Forever)
			}
			move(dst, src, size)
			s.Add(-1)
		}()
		return ok
	}
	return code(a.CopyAsync(uint64(dst), uint64(src), size, toHost, ds, s))
}

// pitched is hsa_pitched_ptr_t.
type pitched struct {
	base         uintptr
	pitch, slice uint64
}

//export hsa_amd_memory_async_copy_rect
func hsa_amd_memory_async_copy_rect(dp, dop, sp, sop, rp uintptr, agent uint64, dir int32, n uint32, deps *uint64, done uint64) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil || !a.IsGPU() {
		return int32(hsa.StatusInvalidAgent)
	}
	ds, good := signalList(n, deps)
	s := signal(done)
	if dp == 0 || dop == 0 || sp == 0 || sop == 0 || rp == 0 || !good || s == nil {
		return badArg
	}
	d, src := (*pitched)(ptr(uint64(dp))), (*pitched)(ptr(uint64(sp)))
	do, so, rg := (*[3]uint32)(ptr(uint64(dop))), (*[3]uint32)(ptr(uint64(sop))), (*[3]uint32)(ptr(uint64(rp)))
	rows := uint64(rg[1]) * uint64(rg[2])
	if rg[0] == 0 || rows == 0 {
		return badArg
	}
	at := func(p *pitched, o *[3]uint32, y, z uint64) uint64 {
		return uint64(p.base) + uint64(o[0]) + (uint64(o[1])+y)*p.pitch + (uint64(o[2])+z)*p.slice
	}
	i := uint64(0)
	for z := uint64(0); z < uint64(rg[2]); z++ {
		for y := uint64(0); y < uint64(rg[1]); y++ {
			var dd []*hsa.Signal
			var dn *hsa.Signal
			if i == 0 {
				dd = ds
			}
			if i++; i == rows {
				dn = s
			}
			if err := a.CopyAsync(at(d, do, y, z), at(src, so, y, z), uint64(rg[0]), dir == 2, dd, dn); err != nil {
				return code(err)
			}
		}
	}
	return ok
}

//export hsa_memory_copy
func hsa_memory_copy(dst, src uintptr, size uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if dst == 0 || src == 0 {
		return badArg
	}
	if size == 0 {
		return ok
	}
	// What the CPU reaches it copies; else an engine of the GPU whose memory it is.
	for _, p := range []uintptr{dst, src} {
		if m := r.Find(uint64(p)); m != nil && m.Host == 0 && m.Pool != nil {
			return code(r.Copy(uint64(dst), uint64(src), size, m.Pool.Agent))
		}
	}
	move(dst, src, size)
	return ok
}

//export hsa_amd_memory_fill
func hsa_amd_memory_fill(p uintptr, value uint32, count uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	m := r.Find(uint64(p))
	if m == nil || p%4 != 0 {
		return badArg
	}
	if count == 0 {
		return ok
	}
	done, err := r.NewSignal(1)
	if err != nil {
		return code(err)
	}
	defer done.Destroy()
	a := r.GPUs()[0]
	if m.Pool != nil && m.Pool.Agent.IsGPU() {
		a = m.Pool.Agent
	}
	if err := a.FillAsync(uint64(p), value, count, nil, done); err != nil {
		return code(err)
	}
	done.Wait(0, 0, hsa.Forever)
	return ok
}
