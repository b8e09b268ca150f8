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
	switch {
	case a == nil:
		return int32(hsa.StatusInvalidAgent)
	case p == 0:
		return badArg
	case attr < infoImage1DMaxElements:
		return agentInfo(a, attr, p)
	case attr < infoChipID:
		return agentInfoImage(a, attr, p)
	case attr < infoASICFamilyID:
		return agentInfoAMD(a, attr, p)
	case a.IsGPU():
		return agentInfo6(a, attr, p)
	}
	return badArg
}

// onGPU is v for a GPU, and 0 for a CPU, which runs no kernels.
func onGPU(a *hsa.Agent, v uint32) uint32 {
	if a.IsGPU() {
		return v
	}
	return 0
}

// agentInfo answers for the attributes of the HSA standard.
func agentInfo(a *hsa.Agent, attr int32, p uintptr) int32 {
	gpu := a.IsGPU()
	switch attr {
	case infoName:
		return putText(p, a.Name, 64)
	case infoVendorName:
		if gpu {
			return putText(p, "AMD", 64)
		}
		return putText(p, "CPU", 64)
	case infoFeature: // kernel dispatch
		return put(p, onGPU(a, 1))
	case infoMachineModel: // large
		return put(p, uint32(1))
	case infoProfile: // base profile; a CPU has the full one
		return put(p, uint32(1)-onGPU(a, 1))
	case infoDefaultFloatRoundingMode: // rounds to nearest
		return put(p, uint32(2))
	case infoBaseProfileDefaultFloatRoundingModes:
		return put(p, onGPU(a, 2))
	case infoFastF16Operation:
		return put(p, gpu)
	case infoWavefrontSize:
		return put(p, onGPU(a, a.WavefrontSize))
	case infoWorkgroupMaxDim:
		n := uint16(onGPU(a, a.MaxWorkgroupSize))
		return put(p, [3]uint16{n, n, n})
	case infoWorkgroupMaxSize:
		return put(p, onGPU(a, a.MaxWorkgroupSize))
	case infoGridMaxDim:
		n := onGPU(a, 1<<32-1)
		return put(p, [3]uint32{n, n, n})
	case infoGridMaxSize:
		return put(p, onGPU(a, 1<<32-1))
	case infoFBarrierMaxSize:
		return put(p, onGPU(a, 32))
	case infoQueuesMax:
		return put(p, onGPU(a, 128))
	case infoQueueMinSize:
		return put(p, onGPU(a, hsa.MinQueueSize))
	case infoQueueMaxSize:
		return put(p, onGPU(a, hsa.MaxQueueSize))
	case infoQueueType:
		return put(p, uint32(0))
	case infoNode:
		return put(p, uint32(a.Node.ID))
	case infoDevice:
		return put(p, onGPU(a, 1))
	case infoCacheSize:
		return put(p, cacheSizes(a))
	case infoISA:
		if !gpu {
			return put(p, uint64(0))
		}
		return put(p, isas.of(a.ISA()))
	case infoExtensions:
		b := [128]byte{}
		if gpu {
			b[extensionImages/8] |= 1 << (extensionImages % 8) // see hsa_system_extension_supported
		}
		return put(p, b)
	case infoVersionMajor, infoVersionMinor:
		return put(p, uint16(1))
	}
	return badArg
}

// agentInfoAMD answers for AMD's own.
func agentInfoAMD(a *hsa.Agent, attr int32, p uintptr) int32 {
	gpu := a.IsGPU()
	prop := func(name string) uint32 { return uint32(a.Node.Props[name]) }
	switch attr {
	case infoChipID:
		return put(p, prop("device_id"))
	case infoCachelineSize:
		return put(p, uint32(64))
	case infoComputeUnitCount:
		return put(p, a.ComputeUnits)
	case infoMaxClockFrequency:
		if gpu {
			return put(p, prop("max_engine_clk_fcompute"))
		}
		return put(p, prop("max_engine_clk_ccompute"))
	case infoDriverNodeID:
		return put(p, uint32(a.Node.ID))
	case infoMaxAddressWatchPoints:
		if c := prop("capability"); c&kfd.CapWatchPoints != 0 {
			return put(p, uint32(1)<<(c>>kfd.CapWatchPointsShift&15))
		}
		return put(p, uint32(1))
	case infoBDFID:
		return put(p, a.BDF())
	case infoMemoryWidth, infoMemoryMaxFrequency:
		var w, c uint32
		for _, b := range a.Node.Banks {
			w, c = max(w, uint32(b.Width)), max(c, uint32(b.MemClkMax))
		}
		if attr == infoMemoryWidth {
			return put(p, w)
		}
		return put(p, c)
	case infoProductName:
		n := a.Market
		if n == "" {
			n = a.Name
		}
		return putText(p, n, 64)
	case infoMaxWavesPerCU:
		return put(p, onGPU(a, a.MaxWavesPerCU))
	case infoNumSIMDsPerCU:
		return put(p, prop("simd_per_cu"))
	case infoNumShaderEngines:
		return put(p, prop("array_count")/max(prop("simd_arrays_per_engine"), 1))
	case infoNumShaderArraysPerSE:
		return put(p, prop("simd_arrays_per_engine"))
	case infoHDPFlush: // HDP flush registers: none, the CPU's writes are seen at once
		return put(p, [2]uint64{})
	case infoDomain:
		return put(p, prop("domain"))
	case infoCooperativeQueues: // cooperative queues: need global wave sync
		return put(p, gpu && prop("num_gws") != 0)
	case infoUUID:
		return putText(p, a.UUID(), 21)
	case infoASICRevision:
		return put(p, prop("capability")>>kfd.CapASICRevisionShift&15)
	case infoSVMDirectHostAccess:
		return put(p, false)
	case infoCooperativeComputeUnitCount:
		return put(p, a.ComputeUnits)
	case infoMemoryAvail:
		n, err := a.Runtime().Thunk().Available(a.Node.ID)
		if err != nil {
			return badArg
		}
		return put(p, n)
	case infoTimestampFrequency:
		return put(p, a.CounterHz())
	}
	return badArg
}

// agentInfoImage tells what the chip's image addressing allows. HIP asks before it allocates pitched memory, also for chips without texture units.
func agentInfoImage(a *hsa.Agent, attr int32, p uintptr) int32 {
	switch attr {
	case infoImage1DMaxElements:
		return put(p, onGPU(a, 16384))
	case infoImage1DAMaxElements:
		return put(p, [2]uint32{onGPU(a, 16384), onGPU(a, 8192)})
	case infoImage1DBMaxElements:
		return put(p, onGPU(a, 1<<32-1))
	case infoImage2DMaxElements, infoImage2DDepthMaxElements:
		return put(p, [2]uint32{onGPU(a, 16384), onGPU(a, 16384)})
	case infoImage2DAMaxElements, infoImage2DADepthMaxElements:
		return put(p, [3]uint32{onGPU(a, 16384), onGPU(a, 16384), onGPU(a, 8192)})
	case infoImage3DMaxElements:
		return put(p, [3]uint32{onGPU(a, 16384), onGPU(a, 16384), onGPU(a, 8192)})
	case infoImageArrayMaxLayers:
		return put(p, onGPU(a, 8192))
	case infoMaxImageRDHandles:
		return put(p, onGPU(a, 128))
	case infoMaxImageRORWHandles:
		return put(p, onGPU(a, 64))
	case infoMaxSamplerHandlers:
		return put(p, onGPU(a, 16))
	case infoImageLinearRowPitchAlignment:
		return put(p, onGPU(a, 256))
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
