package hsa

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// Agent is a CPU or a GPU.
type Agent struct {
	Node   *hsakmt.Node
	Name   string         // "gfx90a", or the CPU's model
	Market string         // marketing name
	Target codeobj.Target // of a GPU; settings are On, Off or Unsupported

	WavefrontSize    uint32
	ComputeUnits     uint32
	MaxWavesPerCU    uint32
	LDSSize          uint32 // bytes per work-group
	MaxWorkgroupSize uint32 // work-items

	rt       *Runtime
	largeBAR bool
	pools    []*Pool

	clockOnce sync.Once
	clock0    hsakmt.Clocks // read when the runtime opened
	hz        uint64        // set by clockOnce

	mu        sync.Mutex
	sdma      map[int]*sdmaQueue // by direction, or sdmaByEngine plus an engine's number; guarded by mu
	utility   *Queue             // guarded by mu
	codeFreed bool               // an address may hold code again, other than caches think; guarded by mu

	coopMu sync.Mutex
	coop   *Queue // guarded by coopMu
}

// IsGPU reports whether the agent is a GPU.
func (a *Agent) IsGPU() bool { return a.Node.IsGPU() }

// Pools lists the agent's memory pools.
func (a *Agent) Pools() []*Pool { return a.pools }

// Runtime returns the runtime that the agent belongs to.
func (a *Agent) Runtime() *Runtime { return a.rt }

// LargeBAR reports whether the CPU reaches all of the agent's video memory.
func (a *Agent) LargeBAR() bool { return a.largeBAR }

// Pool returns the agent's first global pool with all the flags; nil if there is none.
func (a *Agent) Pool(f PoolFlags) *Pool {
	for _, p := range a.pools {
		if p.Segment == SegmentGlobal && p.Flags&f == f {
			return p
		}
	}
	return nil
}

// UUID returns "GPU-" and the unique id in hex, or "GPU-XX" where the chip has none.
func (a *Agent) UUID() string {
	kind := "CPU"
	if a.IsGPU() {
		kind = "GPU"
	}
	if id := a.Node.Props["unique_id"]; id != 0 && a.IsGPU() {
		return fmt.Sprintf("%s-%016x", kind, id)
	}
	return kind + "-XX"
}

// BDF returns the PCI location: bus in bits 15:8, device in 7:3, function in 2:0.
func (a *Agent) BDF() uint32 { return uint32(a.Node.Props["location_id"]) }

func (r *Runtime) newCPUAgent(n *hsakmt.Node) *Agent {
	a := &Agent{rt: r, Node: n, ComputeUnits: uint32(n.Props["cpu_cores_count"])}
	a.Name = cpuName()
	a.Market = a.Name
	size := n.Bank(kfd.HeapTypeSystem)
	if size == 0 {
		size = 1 << 40
	}
	a.pools = []*Pool{
		{Agent: a, Flags: PoolFineGrained, Size: size},
		{Agent: a, Flags: PoolFineGrained | PoolKernarg, Size: size},
		{Agent: a, Flags: PoolCoarseGrained, Size: size},
	}
	return a
}

func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "CPU"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "CPU"
}

func (r *Runtime) newGPUAgent(n *hsakmt.Node, xnack bool) (*Agent, error) {
	version := uint32(n.Props["gfx_target_version"])
	if r.opts.OverrideVersion != 0 {
		version = r.opts.OverrideVersion
	}
	p := codeobj.ProcessorByVersion(version)
	if p == nil {
		return nil, fail("init", StatusError, "node %d: unknown gfx_target_version %d", n.ID, version)
	}
	a := &Agent{
		rt: r, Node: n, Name: p.Name, Market: n.Name, Target: codeobj.Target{Proc: p},
		WavefrontSize: uint32(n.Props["wave_front_size"]), ComputeUnits: n.ComputeUnits(), MaxWorkgroupSize: 1024,
		MaxWavesPerCU: uint32(n.Props["max_waves_per_simd"] * n.Props["simd_per_cu"]), LDSSize: uint32(n.Props["lds_size_in_kb"]) << 10,
	}
	if name := r.kfd.MarketingName(n.ID); name != "" {
		a.Market = name
	}
	if p.XNACK {
		a.Target.XNACK = codeobj.Off
		if xnack {
			a.Target.XNACK = codeobj.On
		}
	}
	if p.SRAMECC {
		a.Target.SRAMECC = codeobj.Off
		if n.Props["capability"]&kfd.CapSRAMEDC != 0 {
			a.Target.SRAMECC = codeobj.On
		}
	}
	vram, public := n.LocalMemory()
	a.largeBAR = public
	a.pools = []*Pool{{Agent: a, Flags: PoolCoarseGrained, Size: vram}}
	if public {
		a.pools = append(a.pools, &Pool{Agent: a, Flags: PoolFineGrained, Size: vram})
	}
	a.pools = append(a.pools, &Pool{Agent: a, Segment: SegmentGroup, Size: uint64(a.LDSSize)})
	return a, nil
}

// knownHz are the frequencies that reference counters of AMD chips have.
var knownHz = []uint64{100_000_000, 27_000_000, 25_000_000, 48_000_000, 19_200_000}

// CounterHz returns the frequency of the counter that timestamps are in. Where the DRM driver does not tell, it is measured against the system clock,
// from the moment the runtime opened to the first call, and snapped to a known one when within a percent.
func (a *Agent) CounterHz() uint64 {
	a.clockOnce.Do(func() {
		a.hz = knownHz[0]
		if !a.IsGPU() {
			a.hz = 1_000_000_000
			return
		}
		if d, err := a.rt.kfd.DeviceInfo(a.Node.ID); err == nil && d.GPUCounterFreq != 0 {
			a.hz = uint64(d.GPUCounterFreq) * 1000
			return
		}
		const least = 2 * time.Millisecond
		for {
			c, err := a.rt.kfd.ClockCounters(a.Node.ID)
			if err != nil || c.Freq == 0 {
				return
			}
			dt := float64(c.System-a.clock0.System) / float64(c.Freq)
			if dt < least.Seconds() {
				time.Sleep(least)
				continue
			}
			hz := float64(c.GPU-a.clock0.GPU) / dt
			if hz < 1e6 {
				return // a counter that stands still
			}
			a.hz = uint64(hz)
			for _, k := range knownHz {
				if r := hz / float64(k); r > 0.99 && r < 1.01 {
					a.hz = k
				}
			}
			return
		}
	})
	return a.hz
}

// Duration converts ticks of the agent's counter.
func (a *Agent) Duration(ticks uint64) time.Duration {
	return time.Duration(float64(ticks) * 1e9 / float64(a.CounterHz()))
}
