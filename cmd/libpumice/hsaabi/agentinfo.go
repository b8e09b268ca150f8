package hsaabi

import (
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Attributes of agents that came after ROCr 5.2.3, with interfaces 1.1 to 1.11. They are those of GPUs.

// clockCounters is hsa_amd_clock_counters_t.
type clockCounters struct{ gpu, cpu, system, frequency uint64 }

func agentInfo6(a *hsa.Agent, attr int32, p uintptr) int32 {
	prop := func(name string) uint32 { return uint32(a.Node.Props[name]) }
	switch attr {
	case infoASICFamilyID:
		return put(p, prop("family_id"))
	case infoUcodeVersion: // of the packet processor
		return put(p, prop("fw_version")&1023)
	case infoSDMAUcodeVersion:
		return put(p, prop("sdma_fw_version")&1023)
	case infoNumSDMAEng:
		return put(p, prop("num_sdma_engines"))
	case infoNumSDMAXGMIEng:
		return put(p, prop("num_sdma_xgmi_engines"))
	case infoIOMMUSupport: // IOMMU: none, or version 2
		return put(p, prop("capability")&kfd.CapATSPresent>>1)
	case infoNumXCC:
		return put(p, max(prop("num_xcc"), 1))
	case infoDriverUID: // the driver's id
		return put(p, uint32(a.Node.GPUID))
	case infoNearestCPU: // the nearest CPU
		return put(p, agents.of(a.Runtime().CPU()))
	case infoMemoryProperties: // bit 0: an APU
		b := [8]byte{}
		if prop("cpu_cores_count") > 0 {
			b[0] = 1
		}
		return put(p, b)
	case infoAQLExtensions: // extensions of AQL: ROCr knows none either
		return put(p, [8]byte{})
	case infoScratchLimitMax, infoScratchLimitCurrent: // limits of scratch, which hsa_amd_agent_set_async_scratch_limit would set
		return put(p, uint64(0))
	case infoClockCounters:
		c, err := a.Runtime().Thunk().ClockCounters(a.Node.ID)
		if err != nil {
			return code(err)
		}
		return put(p, clockCounters{c.GPU, c.CPU, c.System, c.Freq})
	}
	return badArg
}
