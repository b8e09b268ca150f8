package hsaabi

import "C"

import (
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

//export hsa_agent_get_info
func hsa_agent_get_info(agent uint64, attr int32, p uintptr) int32 {
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if p == 0 {
		return badArg
	}
	prop := func(name string) uint32 { return uint32(a.Node.Props[name]) }
	gpu := a.IsGPU()
	onGPU := func(v uint32) uint32 {
		if gpu {
			return v
		}
		return 0
	}
	switch attr {
	case 0:
		return putText(p, a.Name, 64)
	case 1:
		if gpu {
			return putText(p, "AMD", 64)
		}
		return putText(p, "CPU", 64)
	case 2: // kernel dispatch
		return put(p, onGPU(1))
	case 3: // large
		return put(p, uint32(1))
	case 4: // base profile; a CPU has the full one
		return put(p, uint32(1)-onGPU(1))
	case 5: // rounds to nearest
		return put(p, uint32(2))
	case 23:
		return put(p, onGPU(2))
	case 24:
		return put(p, gpu)
	case 6:
		return put(p, onGPU(a.WavefrontSize))
	case 7:
		n := uint16(onGPU(a.MaxWorkgroupSize))
		return put(p, [3]uint16{n, n, n})
	case 8:
		return put(p, onGPU(a.MaxWorkgroupSize))
	case 9:
		n := onGPU(1<<32 - 1)
		return put(p, [3]uint32{n, n, n})
	case 10:
		return put(p, onGPU(1<<32-1))
	case 11:
		return put(p, onGPU(32))
	case 12:
		return put(p, onGPU(128))
	case 13:
		return put(p, onGPU(hsa.MinQueueSize))
	case 14:
		return put(p, onGPU(hsa.MaxQueueSize))
	case 15:
		return put(p, uint32(0))
	case 16:
		return put(p, uint32(a.Node.ID))
	case 17:
		return put(p, onGPU(1))
	case 18:
		return put(p, cacheSizes(a))
	case 19:
		if !gpu {
			return put(p, uint64(0))
		}
		return put(p, isas.of(a.ISA()))
	case 20:
		b := [128]byte{}
		if gpu {
			b[extensionImages/8] |= 1 << (extensionImages % 8) // see hsa_system_extension_supported
		}
		return put(p, b)
	case 21, 22:
		return put(p, uint16(1))
	case 0xa000:
		return put(p, prop("device_id"))
	case 0xa001:
		return put(p, uint32(64))
	case 0xa002:
		return put(p, a.ComputeUnits)
	case 0xa003:
		if gpu {
			return put(p, prop("max_engine_clk_fcompute"))
		}
		return put(p, prop("max_engine_clk_ccompute"))
	case 0xa004:
		return put(p, uint32(a.Node.ID))
	case 0xa005:
		if c := prop("capability"); c&kfd.CapWatchPoints != 0 {
			return put(p, uint32(1)<<(c>>kfd.CapWatchPointsShift&15))
		}
		return put(p, uint32(1))
	case 0xa006:
		return put(p, a.BDF())
	case 0xa007, 0xa008:
		var w, c uint32
		for _, b := range a.Node.Banks {
			w, c = max(w, uint32(b.Width)), max(c, uint32(b.MemClkMax))
		}
		if attr == 0xa007 {
			return put(p, w)
		}
		return put(p, c)
	case 0xa009:
		n := a.Market
		if n == "" {
			n = a.Name
		}
		return putText(p, n, 64)
	case 0xa00a:
		return put(p, onGPU(a.MaxWavesPerCU))
	case 0xa00b:
		return put(p, prop("simd_per_cu"))
	case 0xa00c:
		return put(p, prop("array_count")/max(prop("simd_arrays_per_engine"), 1))
	case 0xa00d:
		return put(p, prop("simd_arrays_per_engine"))
	case 0xa00e: // HDP flush registers: none, the CPU's writes are seen at once
		return put(p, [2]uint64{})
	case 0xa00f:
		return put(p, prop("domain"))
	case 0xa010: // cooperative queues: need global wave sync
		return put(p, gpu && prop("num_gws") != 0)
	case 0xa011:
		return putText(p, a.UUID(), 21)
	case 0xa012:
		return put(p, prop("capability")>>kfd.CapASICRevisionShift&15)
	case 0xa013:
		return put(p, false)
	case 0xa014:
		return put(p, a.ComputeUnits)
	case 0xa015:
		n, err := a.Runtime().Thunk().Available(a.Node.ID)
		if err != nil {
			return badArg
		}
		return put(p, n)
	case 0xa016:
		return put(p, a.CounterHz())
	// What the chip's image addressing allows. HIP asks before it allocates pitched memory, also for chips without texture units.
	case 0x3000:
		return put(p, onGPU(16384))
	case 0x3001:
		return put(p, [2]uint32{onGPU(16384), onGPU(8192)})
	case 0x3002:
		return put(p, onGPU(1<<32-1))
	case 0x3003, 0x3005:
		return put(p, [2]uint32{onGPU(16384), onGPU(16384)})
	case 0x3004, 0x3006:
		return put(p, [3]uint32{onGPU(16384), onGPU(16384), onGPU(8192)})
	case 0x3007:
		return put(p, [3]uint32{onGPU(16384), onGPU(16384), onGPU(8192)})
	case 0x3008:
		return put(p, onGPU(8192))
	case 0x3009:
		return put(p, onGPU(128))
	case 0x300a:
		return put(p, onGPU(64))
	case 0x300b:
		return put(p, onGPU(16))
	case 0x300c:
		return put(p, onGPU(256))
	}
	if gpu {
		return agentInfo6(a, attr, p)
	}
	return badArg
}

// coherency is what hsa_amd_coherency_set_type set, by agent.
var coherency sync.Map // *hsa.Agent to int32

//export hsa_amd_coherency_set_type
func hsa_amd_coherency_set_type(agent uint64, typ int32) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil || !a.IsGPU() {
		return int32(hsa.StatusInvalidAgent)
	}
	if typ != 0 && typ != 1 {
		return badArg
	}
	def := uint32(kfd.CachePolicyCoherent)
	if typ == 1 {
		def = kfd.CachePolicyNonCoherent
	}
	if err := a.Runtime().Thunk().SetMemoryPolicy(a.Node.ID, def, kfd.CachePolicyCoherent, 0, 0); err != nil {
		return code(err)
	}
	coherency.Store(a, typ)
	return ok
}

//export hsa_amd_coherency_get_type
func hsa_amd_coherency_get_type(agent uint64, out *int32) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil || !a.IsGPU() {
		return int32(hsa.StatusInvalidAgent)
	}
	if out == nil {
		return badArg
	}
	if v, set := coherency.Load(a); set {
		return give(out, v.(int32))
	}
	return give(out, 1) // not coherent, as ROCr begins
}

//export hsa_amd_agent_iterate_memory_pools
func hsa_amd_agent_iterate_memory_pools(agent uint64, f, data unsafe.Pointer) int32 {
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if f == nil {
		return badArg
	}
	for _, p := range a.Pools() {
		if s := callHandle(f, pools.of(p), data); s != ok {
			return s
		}
	}
	return ok
}

//export hsa_amd_memory_pool_get_info
func hsa_amd_memory_pool_get_info(pool uint64, attr int32, p uintptr) int32 {
	m := pools.get(pool)
	if m == nil {
		return int32(hsa.StatusInvalidMemoryPool)
	}
	if p == 0 {
		return badArg
	}
	global := m.Segment == hsa.SegmentGlobal
	switch attr {
	case 0:
		return put(p, uint32(m.Segment))
	case 1:
		return put(p, uint32(m.Flags))
	case 2, 16:
		return put(p, m.Size)
	case 5:
		return put(p, global)
	case 6, 7:
		if !global {
			return put(p, uint64(0))
		}
		return put(p, uint64(hsa.Granule))
	case 17: // location: host, device
		if m.Agent.IsGPU() {
			return put(p, uint32(1))
		}
		return put(p, uint32(0))
	case 18:
		return put(p, m.VMemGranule(true))
	case 15: // fine-grained memory of the host
		return put(p, global && !m.Agent.IsGPU())
	}
	return badArg
}

//export hsa_amd_agent_memory_pool_get_info
func hsa_amd_agent_memory_pool_get_info(agent, pool uint64, attr int32, p uintptr) int32 {
	a, m := agents.get(agent), pools.get(pool)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if m == nil {
		return int32(hsa.StatusInvalidMemoryPool)
	}
	same := m.Agent == a
	l, linked := a.Node.LinkTo(m.Agent.Node.ID)
	switch attr {
	case 0: // never, allowed by default, disallowed by default
		switch {
		case m.Segment != hsa.SegmentGlobal && !same:
			return put(p, uint32(0))
		case same, !a.IsGPU() && m.Agent.IsGPU() && m.Agent.LargeBAR():
			return put(p, uint32(1))
		case !a.IsGPU() && m.Agent.IsGPU():
			return put(p, uint32(0))
		}
		return put(p, uint32(2))
	case 1:
		if same {
			return put(p, uint32(0))
		}
		return put(p, uint32(1))
	case 2:
		if same {
			return ok
		}
		type info struct {
			minLatency, maxLatency, minBandwidth, maxBandwidth uint32
			atomic32, atomic64, coherent, _                    bool
			linkType, distance                                 uint32
		}
		i := info{atomic32: true, atomic64: true, coherent: true, linkType: 2, distance: 20}
		if linked {
			i.minLatency, i.maxLatency, i.minBandwidth, i.maxBandwidth = uint32(l.MinLatency), uint32(l.MaxLatency), uint32(l.MinBandwidth), uint32(l.MaxBandwidth)
			i.atomic32, i.atomic64 = l.Flags&kfd.LinkFlagNoAtomics32 == 0, l.Flags&kfd.LinkFlagNoAtomics64 == 0
			i.coherent, i.distance = l.Flags&kfd.LinkFlagNonCoherent == 0, uint32(l.Weight)
			if l.Type == kfd.LinkTypeXGMI {
				i.linkType = 4
			}
		}
		return put(p, i)
	}
	return badArg
}
