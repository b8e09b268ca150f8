package hip

import (
	"encoding/binary"
	"strings"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Props is hipDeviceProp_t, as values. Sizes are bytes, clocks kHz.
type Props struct {
	Name, GCNArchName                                              string
	TotalGlobalMem, SharedMemPerBlock, TotalConstMem               uint64
	RegsPerBlock, WarpSize, MaxThreadsPerBlock                     int32
	MaxThreadsDim, MaxGridSize                                     [3]int32
	ClockRate, MemoryClockRate, MemoryBusWidth                     int32
	Major, Minor, MultiProcessorCount, L2CacheSize                 int32
	MaxThreadsPerMultiProcessor, ClockInstructionRate              int32
	Arch                                                           uint32
	PCIDomainID, PCIBusID, PCIDeviceID                             int32
	MaxSharedMemoryPerMultiProcessor                               uint64
	GCNArch                                                        int32
	Integrated, IsLargeBar, AsicRevision                           int32
	CooperativeLaunch, CooperativeMultiDeviceLaunch                int32
	HostNativeAtomic                                               int32 // the link to the CPU takes 64-bit atomics
	MaxBlocksPerMultiProcessor, AsyncEngineCount                   int32
	ManagedMemory, DirectManagedMemAccess, ConcurrentManagedAccess int32
	PageableMemoryAccess, PageableMemoryAccessUsesHostPageTables   int32
	MaxTexture1D, MaxTexture1DLinear                               int32
	MaxTexture2D                                                   [2]int32
	MaxTexture3D                                                   [3]int32
	MemPitch, TextureAlignment, TexturePitchAlignment              uint64
	Images                                                         int32 // there are texture units
	UUID                                                           [16]byte
}

// archBits are the 17 bits of hipDeviceArch_t: all but funnel shift (11), __syncthreads_count and the like (13), surfaces (14) and dynamic
// parallelism (16); a program sees the same in the __HIP_ARCH_HAS_ macros.
const archBits = (1<<17 - 1) &^ (1<<11 | 1<<13 | 1<<14 | 1<<16)

// asyncEngines is how many copies ROCclr takes to run side by side, on whatever engines there are (kMaxAsyncQueues).
const asyncEngines = 8

// properties of a device.
func properties(d *clr.Device) *Props {
	ag := d.Agent
	p, n := ag.Target.Proc, ag.Node
	vram, large := n.LocalMemory()
	maxThreads := int32(ag.MaxWavesPerCU * ag.WavefrontSize)
	r := &Props{
		Name: deviceName(d), GCNArchName: ag.Target.String(), TotalGlobalMem: vram, SharedMemPerBlock: uint64(ag.LDSSize),
		TotalConstMem: min(vram, 1<<31-1), RegsPerBlock: 65536, WarpSize: int32(ag.WavefrontSize), MaxThreadsPerBlock: int32(ag.MaxWorkgroupSize),
		MaxThreadsDim: [3]int32{1024, 1024, 1024}, MaxGridSize: [3]int32{2147483647, 2147483647, 2147483647},
		ClockRate: int32(n.Props["max_engine_clk_fcompute"]) * 1000,
		Major:     int32(p.Major), Minor: int32(p.Minor), MultiProcessorCount: int32(ag.ComputeUnits),
		MaxThreadsPerMultiProcessor: maxThreads, ClockInstructionRate: int32(ag.CounterHz() / 1000),
		PCIDomainID: int32(n.Props["domain"]), PCIBusID: int32(ag.BDF() >> 8 & 0xff), PCIDeviceID: int32(ag.BDF() >> 3 & 0x1f),
		MaxSharedMemoryPerMultiProcessor: uint64(ag.LDSSize), AsicRevision: int32(n.Props["capability"] >> kfd.CapASICRevisionShift & 15),
		CooperativeLaunch: 1, CooperativeMultiDeviceLaunch: 1, ManagedMemory: 1, ConcurrentManagedAccess: 1, AsyncEngineCount: asyncEngines,
		MaxTexture1D: 16384, MaxTexture1DLinear: 2147483647, MaxTexture2D: [2]int32{16384, 16384}, MaxTexture3D: [3]int32{16384, 16384, 8192},
		MemPitch: 2147483647, TextureAlignment: 256, TexturePitchAlignment: 256, Arch: archBits,
	}
	if p.Major >= 10 {
		// A multiprocessor of HIP is a work-group processor of two compute units on RDNA.
		r.MultiProcessorCount /= 2
		r.MaxThreadsPerMultiProcessor *= 2
	}
	if large {
		r.IsLargeBar = 1
	}
	// As ROCclr counts them: groups of the largest size. (It has no word about ECC either, whatever the card has.)
	r.MaxBlocksPerMultiProcessor = r.MaxThreadsPerMultiProcessor / r.MaxThreadsPerBlock
	if l, ok := n.LinkTo(0); ok && l.Flags&kfd.LinkFlagNoAtomics64 == 0 {
		r.HostNativeAtomic = 1
	}
	if len(n.Banks) > 0 {
		r.MemoryClockRate, r.MemoryBusWidth = int32(n.Banks[0].MemClkMax)*1000, int32(n.Banks[0].Width)
	}
	for _, c := range n.Caches {
		if c.Level == 2 {
			r.L2CacheSize = max(r.L2CacheSize, int32(c.Size<<10))
		}
	}
	if d.Runtime().HSA.XNACK() {
		r.PageableMemoryAccess = 1
	}
	if d.HasImages() {
		r.Images = 1
	}
	r.GCNArch = int32(p.Major*100 + p.Minor*10 + p.Step)
	copy(r.UUID[:], strings.TrimPrefix(ag.UUID(), "GPU-"))
	return r
}

// A layout says where hipDeviceProp_t has each value.
type layout struct {
	size   int
	fields []propField
}

// PropSize is the size of hipDeviceProp_t, in bytes: of HIP 6 and later (r0600), or before.
func PropSize(r0600 bool) uint32 {
	if r0600 {
		return uint32(layout6.size)
	}
	return uint32(layout5.size)
}

type propField struct {
	off int
	val func(*Props) any // string with length n, uint64, int32, uint32, [n]int32, [16]byte
	n   int
}

func i32(off int, f func(*Props) int32) propField {
	return propField{off, func(p *Props) any { return f(p) }, 0}
}
func u64(off int, f func(*Props) uint64) propField {
	return propField{off, func(p *Props) any { return f(p) }, 0}
}
func one(off int) propField { return i32(off, func(*Props) int32 { return 1 }) }
func str(off, n int, f func(*Props) string) propField {
	return propField{off, func(p *Props) any { return f(p) }, n}
}

// layout5 is the structure of HIP up to 5.x, 792 bytes (the plain hipGetDeviceProperties of every version).
var layout5 = layout{792, []propField{
	str(0, 256, func(p *Props) string { return p.Name }),
	u64(256, func(p *Props) uint64 { return p.TotalGlobalMem }),
	u64(264, func(p *Props) uint64 { return p.SharedMemPerBlock }),
	i32(272, func(p *Props) int32 { return p.RegsPerBlock }),
	i32(276, func(p *Props) int32 { return p.WarpSize }),
	i32(280, func(p *Props) int32 { return p.MaxThreadsPerBlock }),
	{284, func(p *Props) any { return p.MaxThreadsDim[:] }, 0},
	{296, func(p *Props) any { return p.MaxGridSize[:] }, 0},
	i32(308, func(p *Props) int32 { return p.ClockRate }),
	i32(312, func(p *Props) int32 { return p.MemoryClockRate }),
	i32(316, func(p *Props) int32 { return p.MemoryBusWidth }),
	u64(320, func(p *Props) uint64 { return p.TotalConstMem }),
	i32(328, func(p *Props) int32 { return p.Major }),
	i32(332, func(p *Props) int32 { return p.Minor }),
	i32(336, func(p *Props) int32 { return p.MultiProcessorCount }),
	i32(340, func(p *Props) int32 { return p.L2CacheSize }),
	i32(344, func(p *Props) int32 { return p.MaxThreadsPerMultiProcessor }),
	i32(352, func(p *Props) int32 { return p.ClockInstructionRate }),
	{356, func(p *Props) any { return p.Arch }, 0},
	one(360), // concurrentKernels
	i32(364, func(p *Props) int32 { return p.PCIDomainID }),
	i32(368, func(p *Props) int32 { return p.PCIBusID }),
	i32(372, func(p *Props) int32 { return p.PCIDeviceID }),
	u64(376, func(p *Props) uint64 { return p.MaxSharedMemoryPerMultiProcessor }),
	one(388), // canMapHostMemory
	i32(392, func(p *Props) int32 { return p.GCNArch }),
	str(396, 256, func(p *Props) string { return p.GCNArchName }),
	i32(652, func(p *Props) int32 { return p.Integrated }),
	i32(656, func(p *Props) int32 { return p.CooperativeLaunch }),
	i32(660, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }),
	i32(664, func(p *Props) int32 { return p.MaxTexture1DLinear }),
	i32(668, func(p *Props) int32 { return p.MaxTexture1D }),
	{672, func(p *Props) any { return p.MaxTexture2D[:] }, 0},
	{680, func(p *Props) any { return p.MaxTexture3D[:] }, 0},
	u64(712, func(p *Props) uint64 { return p.MemPitch }),
	u64(720, func(p *Props) uint64 { return p.TextureAlignment }),
	u64(728, func(p *Props) uint64 { return p.TexturePitchAlignment }),
	i32(764, func(p *Props) int32 { return p.IsLargeBar }),
	i32(748, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }), // launches may differ in function,
	i32(752, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }), // grid,
	i32(756, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }), // block,
	i32(760, func(p *Props) int32 { return p.CooperativeMultiDeviceLaunch }), // dynamic LDS
	i32(768, func(p *Props) int32 { return p.AsicRevision }),
	i32(772, func(p *Props) int32 { return p.ManagedMemory }),
	i32(776, func(p *Props) int32 { return p.DirectManagedMemAccess }),
	i32(780, func(p *Props) int32 { return p.ConcurrentManagedAccess }),
	i32(784, func(p *Props) int32 { return p.PageableMemoryAccess }),
	i32(788, func(p *Props) int32 { return p.PageableMemoryAccessUsesHostPageTables }),
}}

// write stores the values at addr.
func (l *layout) write(addr uintptr, p *Props) { l.fill(bytesAt(addr, l.size), p) }

func (l *layout) fill(b []byte, p *Props) {
	clear(b)
	le := binary.LittleEndian
	for _, f := range l.fields {
		switch v := f.val(p).(type) {
		case string:
			putString(b[f.off:f.off+f.n], v)
		case uint64:
			le.PutUint64(b[f.off:], v)
		case int32:
			le.PutUint32(b[f.off:], uint32(v))
		case uint32:
			le.PutUint32(b[f.off:], v)
		case []int32:
			for i, x := range v {
				le.PutUint32(b[f.off+4*i:], uint32(x))
			}
		case []byte:
			copy(b[f.off:], v)
		}
	}
}

// GetDeviceProperties fills the structure of HIP 5.
func (a *API) GetDeviceProperties(out uintptr, d int32) Error {
	return a.getProperties(out, d, &layout5)
}

// GetDevicePropertiesR0600 fills the structure of HIP 6.
func (a *API) GetDevicePropertiesR0600(out uintptr, d int32) Error {
	return a.getProperties(out, d, &layout6)
}

func (a *API) getProperties(out uintptr, d int32, l *layout) Error {
	if out == 0 {
		return ErrInvalidValue
	}
	dev, e := a.deviceAt(d)
	if e != Success {
		return e
	}
	l.write(out, properties(dev))
	return Success
}

// ChooseDevice finds the device that fits properties best: of those asked for (not 0), the most that are at least met.
func (a *API) ChooseDevice(out *int32, want uintptr, r0600 bool) Error {
	if out == nil || want == 0 {
		return ErrInvalidValue
	}
	if len(a.devices()) == 0 {
		return ErrNoDevice
	}
	l := &layout5
	if r0600 {
		l = &layout6
	}
	w := bytesAt(want, l.size)
	best, score := 0, -1
	for i, d := range a.devices() {
		have := make([]byte, l.size)
		l.fill(have, properties(d))
		n := 0
		for _, f := range l.fields {
			switch f.val(&Props{}).(type) {
			case int32, uint32:
				if x := binary.LittleEndian.Uint32(w[f.off:]); x != 0 && binary.LittleEndian.Uint32(have[f.off:]) >= x {
					n++
				}
			case uint64:
				if x := binary.LittleEndian.Uint64(w[f.off:]); x != 0 && binary.LittleEndian.Uint64(have[f.off:]) >= x {
					n++
				}
			}
		}
		if n > score {
			best, score = i, n
		}
	}
	*out = int32(best)
	return Success
}
