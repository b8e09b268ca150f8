package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/internal/machine"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// systemInfo is what AMD's rocminfo tells, by Pumice's own HSA runtime.
type systemInfo struct {
	RuntimeVersion string      `json:"runtime_version"`
	TimestampHz    uint64      `json:"timestamp_frequency_hz"`
	MaxSignalWait  uint64      `json:"signal_max_wait"`
	MachineModel   string      `json:"machine_model"`
	Endianness     string      `json:"endianness"`
	Agents         []agentInfo `json:"agents"`
}

type agentInfo struct {
	Name            string      `json:"name"`
	UUID            string      `json:"uuid"`
	MarketingName   string      `json:"marketing_name"`
	Vendor          string      `json:"vendor"`
	Device          string      `json:"device_type"`
	Profile         string      `json:"profile"`
	Rounding        string      `json:"float_round_mode"`
	Queues          uint32      `json:"max_queues"`
	MinQueue        uint32      `json:"queue_min_size"`
	MaxQueue        uint32      `json:"queue_max_size"`
	Node            uint32      `json:"node"`
	Caches          []cacheInfo `json:"caches"`
	ChipID          uint32      `json:"chip_id"`
	CacheLine       uint32      `json:"cacheline_size"`
	MaxClockMHz     uint32      `json:"max_clock_mhz"`
	BDFID           uint32      `json:"bdf_id"`
	ComputeUnits    uint32      `json:"compute_units"`
	SIMDsPerCU      uint32      `json:"simds_per_cu"`
	ShaderEngines   uint32      `json:"shader_engines"`
	ArraysPerEngine uint32      `json:"shader_arrays_per_engine"`
	WatchPoints     uint32      `json:"address_watch_points"`
	WavefrontSize   uint32      `json:"wavefront_size,omitempty"`
	MaxWorkgroup    uint32      `json:"workgroup_max_size,omitempty"`
	MaxWavesPerCU   uint32      `json:"max_waves_per_cu,omitempty"`
	MaxGrid         uint32      `json:"grid_max_size,omitempty"`
	MaxFBarriers    uint32      `json:"max_fbarriers,omitempty"`
	FastF16         bool        `json:"fast_f16,omitempty"`
	KernelDispatch  bool        `json:"kernel_dispatch"`
	Pools           []poolInfo  `json:"pools"`
	ISAs            []string    `json:"isas"`
}

type cacheInfo struct {
	Level int    `json:"level"`
	Size  uint64 `json:"size_bytes"`
}

type poolInfo struct {
	Segment     string   `json:"segment"`
	Flags       []string `json:"flags,omitempty"`
	Size        uint64   `json:"size_bytes"`
	Allocatable bool     `json:"allocatable"`
	Granule     uint64   `json:"alloc_granule_bytes"`
	All         bool     `json:"accessible_by_all"`
}

// Limits that are the same for all chips that HSA knows.
const (
	maxGrid      = 1<<32 - 1
	maxFBarriers = 32
	maxQueues    = 128
	cacheLine    = 64
)

func describeSystem(r *hsa.Runtime) systemInfo {
	s := systemInfo{RuntimeVersion: "1.1", TimestampHz: 1_000_000_000, MaxSignalWait: 1<<64 - 1, MachineModel: "LARGE", Endianness: "LITTLE"}
	for _, a := range r.Agents() {
		s.Agents = append(s.Agents, describeAgent(a))
	}
	return s
}

func describeAgent(a *hsa.Agent) agentInfo {
	prop := func(name string) uint32 { return uint32(a.Node.Props[name]) }
	i := agentInfo{
		Name: a.Name, UUID: a.UUID(), MarketingName: a.Market, Vendor: "CPU", Device: "CPU", Profile: "FULL_PROFILE", Rounding: "NEAR", Node: uint32(a.Node.ID),
		ChipID: prop("device_id"), CacheLine: cacheLine, MaxClockMHz: prop("max_engine_clk_ccompute"), BDFID: a.BDF(), ComputeUnits: a.ComputeUnits,
		SIMDsPerCU: prop("simd_per_cu"), ShaderEngines: prop("array_count") / max(prop("simd_arrays_per_engine"), 1), ArraysPerEngine: prop("simd_arrays_per_engine"),
		WatchPoints: 1, Caches: []cacheInfo{}, ISAs: []string{},
	}
	if i.MarketingName == "" {
		i.MarketingName = a.Name
	}
	if c := prop("capability"); c&kfd.CapWatchPoints != 0 {
		i.WatchPoints = 1 << (c >> kfd.CapWatchPointsShift & 15)
	}
	for _, c := range a.Node.Caches {
		// The first of a level is the one nearest to the lanes.
		if !slices.ContainsFunc(i.Caches, func(x cacheInfo) bool { return x.Level == int(c.Level) }) {
			i.Caches = append(i.Caches, cacheInfo{Level: int(c.Level), Size: uint64(c.Size) << 10})
		}
	}
	slices.SortFunc(i.Caches, func(x, y cacheInfo) int { return x.Level - y.Level })
	if a.IsGPU() {
		i.Vendor, i.Device, i.Profile = "AMD", "GPU", "BASE_PROFILE"
		i.Queues, i.MinQueue, i.MaxQueue = maxQueues, hsa.MinQueueSize, hsa.MaxQueueSize
		i.MaxClockMHz = prop("max_engine_clk_fcompute")
		i.WavefrontSize, i.MaxWorkgroup, i.MaxWavesPerCU, i.MaxGrid, i.MaxFBarriers = a.WavefrontSize, a.MaxWorkgroupSize, a.MaxWavesPerCU, maxGrid, maxFBarriers
		i.FastF16, i.KernelDispatch = true, true
		i.ISAs = []string{a.Target.Triple()}
	}
	for _, p := range a.Pools() {
		i.Pools = append(i.Pools, describePool(p))
	}
	return i
}

func describePool(p *hsa.Pool) poolInfo {
	i := poolInfo{Segment: "GLOBAL", Size: p.Size}
	if p.Segment == hsa.SegmentGroup {
		i.Segment = "GROUP"
		return i
	}
	for _, f := range []struct {
		flag hsa.PoolFlags
		name string
	}{{hsa.PoolKernarg, "KERNARG"}, {hsa.PoolFineGrained, "FINE GRAINED"}, {hsa.PoolCoarseGrained, "COARSE GRAINED"}} {
		if p.Flags&f.flag != 0 {
			i.Flags = append(i.Flags, f.name)
		}
	}
	i.Allocatable, i.Granule, i.All = true, hsa.Granule, !p.Agent.IsGPU()
	return i
}

// rocminfo lays the facts out as AMD's tool does: labels of 25 columns, values of 35.
type rocminfo struct{ w io.Writer }

func (r rocminfo) head(indent int, label string) {
	fmt.Fprintf(r.w, "%s%-25s\n", strings.Repeat(" ", indent), label)
}

func (r rocminfo) line(indent int, label, value string) {
	fmt.Fprintf(r.w, "%s%-25s%-35s\n", strings.Repeat(" ", indent), label, value)
}

func (r rocminfo) bare(indent int, label, value string) {
	fmt.Fprintf(r.w, "%s%-25s%s\n", strings.Repeat(" ", indent), label, value)
}

func both(n uint32) string { return fmt.Sprintf("%d(0x%x)", n, n) }

func kilobytes(bytes uint64) string { return fmt.Sprintf("%d(0x%x) KB", bytes>>10, bytes>>10) }

func truth(b bool) string { return strings.ToUpper(fmt.Sprint(b)) }

func (r rocminfo) xyz(indent int, label string, n uint32) {
	r.bare(indent, label, "")
	for _, axis := range []string{"x", "y", "z"} {
		r.line(indent+2, axis, both(n))
	}
}

func (r rocminfo) system(s systemInfo) {
	fmt.Fprintln(r.w, "ROCk module is loaded")
	bar := strings.Repeat("=", len("HSA System Attributes"))
	r.head(0, bar)
	r.head(0, "HSA System Attributes")
	r.head(0, bar)
	r.bare(0, "Runtime Version:", s.RuntimeVersion)
	r.bare(0, "System Timestamp Freq.:", fmt.Sprintf("%fMHz", float64(s.TimestampHz)/1e6))
	r.bare(0, "Sig. Max Wait Duration:", fmt.Sprintf("%d (0x%X) (timestamp count)", s.MaxSignalWait, s.MaxSignalWait))
	r.line(0, "Machine Model:", s.MachineModel)
	r.line(0, "System Endianness:", s.Endianness)
	fmt.Fprintln(r.w)
	bar = strings.Repeat("=", len("HSA Agents"))
	r.head(0, bar)
	r.head(0, "HSA Agents")
	r.head(0, bar)
	for i, a := range s.Agents {
		r.head(0, "*******")
		r.head(0, fmt.Sprintf("Agent %d", i+1))
		r.head(0, "*******")
		r.agent(a)
	}
	r.head(0, "*** Done ***")
}

func (r rocminfo) agent(a agentInfo) {
	r.line(2, "Name:", a.Name)
	r.line(2, "Uuid:", a.UUID)
	r.line(2, "Marketing Name:", a.MarketingName)
	r.line(2, "Vendor Name:", a.Vendor)
	feature := "None specified"
	if a.KernelDispatch {
		feature = "KERNEL_DISPATCH"
	}
	r.line(2, "Feature:", feature)
	r.line(2, "Profile:", a.Profile)
	r.line(2, "Float Round Mode:", a.Rounding)
	r.line(2, "Max Queue Number:", both(a.Queues))
	r.line(2, "Queue Min Size:", both(a.MinQueue))
	r.line(2, "Queue Max Size:", both(a.MaxQueue))
	r.line(2, "Queue Type:", "MULTI")
	r.line(2, "Node:", fmt.Sprint(a.Node))
	r.line(2, "Device Type:", a.Device)
	r.head(2, "Cache Info:")
	for _, c := range a.Caches {
		r.line(4, fmt.Sprintf("L%d:", c.Level), kilobytes(c.Size))
	}
	r.line(2, "Chip ID:", both(a.ChipID))
	r.line(2, "Cacheline Size:", both(a.CacheLine))
	r.line(2, "Max Clock Freq. (MHz):", fmt.Sprint(a.MaxClockMHz))
	r.line(2, "BDFID:", fmt.Sprint(a.BDFID))
	r.line(2, "Internal Node ID:", fmt.Sprint(a.Node))
	r.line(2, "Compute Unit:", fmt.Sprint(a.ComputeUnits))
	r.line(2, "SIMDs per CU:", fmt.Sprint(a.SIMDsPerCU))
	r.line(2, "Shader Engines:", fmt.Sprint(a.ShaderEngines))
	r.line(2, "Shader Arrs. per Eng.:", fmt.Sprint(a.ArraysPerEngine))
	r.line(2, "WatchPts on Addr. Ranges:", fmt.Sprint(a.WatchPoints))
	if !a.KernelDispatch {
		r.bare(2, "Features:", "None")
	} else {
		r.bare(2, "Features:", "KERNEL_DISPATCH ")
		r.line(2, "Fast F16 Operation:", truth(a.FastF16))
		r.line(2, "Wavefront Size:", both(a.WavefrontSize))
		r.line(2, "Workgroup Max Size:", both(a.MaxWorkgroup))
		r.xyz(2, "Workgroup Max Size per Dimension:", a.MaxWorkgroup)
		r.line(2, "Max Waves Per CU:", both(a.MaxWavesPerCU))
		r.line(2, "Max Work-item Per CU:", both(a.MaxWavesPerCU*a.WavefrontSize))
		r.line(2, "Grid Max Size:", both(a.MaxGrid))
		r.xyz(2, "Grid Max Size per Dimension:", a.MaxGrid)
		r.line(2, "Max fbarriers/Workgrp:", fmt.Sprint(a.MaxFBarriers))
	}
	r.head(2, "Pool Info:")
	for i, p := range a.Pools {
		r.head(4, fmt.Sprintf("Pool %d", i+1))
		segment := p.Segment
		if p.Flags != nil {
			segment += "; FLAGS: " + strings.Join(p.Flags, ", ")
		}
		r.line(6, "Segment:", segment)
		r.line(6, "Size:", kilobytes(p.Size))
		r.line(6, "Allocatable:", truth(p.Allocatable))
		r.line(6, "Alloc Granule:", fmt.Sprintf("%dKB", p.Granule>>10))
		r.line(6, "Alloc Alignment:", fmt.Sprintf("%dKB", p.Granule>>10))
		r.line(6, "Accessible by all:", truth(p.All))
	}
	r.head(2, "ISA Info:")
	for i, isa := range a.ISAs {
		r.head(4, fmt.Sprintf("ISA %d", i+1))
		r.line(6, "Name:", isa)
		r.line(6, "Machine Models:", "HSA_MACHINE_MODEL_LARGE")
		r.line(6, "Profiles:", "HSA_PROFILE_BASE")
		r.line(6, "Default Rounding Mode:", "NEAR") // twice: for the machine model, and for the profile
		r.line(6, "Default Rounding Mode:", "NEAR")
		r.line(6, "Fast f16:", truth(a.FastF16))
		r.line(6, "Workgroup Max Size:", both(a.MaxWorkgroup))
		r.xyz(6, "Workgroup Max Size per Dimension:", a.MaxWorkgroup)
		r.line(6, "Grid Max Size:", both(a.MaxGrid))
		r.xyz(6, "Grid Max Size per Dimension:", a.MaxGrid)
		r.line(6, "FBarrier Max Size:", fmt.Sprint(a.MaxFBarriers))
	}
}

// info prints what AMD's rocminfo prints, or the same facts as JSON. It needs nothing but Pumice.
func info(stdout, _ io.Writer, args []string) error {
	o := newRunOptions()
	if err := noMore(o.infoTable(), args); err != nil {
		return err
	}
	if err := o.checkEnvironment(); err != nil {
		return err
	}
	r, err := machine.OpenHSA(o.gpus)
	if err != nil {
		return err
	}
	s := describeSystem(r)
	if o.json {
		return writeJSON(stdout, s)
	}
	rocminfo{stdout}.system(s)
	return nil
}
