package kfd

import (
	"fmt"
	"strings"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/silicon/profile"
	"golang.org/x/sys/unix"
)

// simdBase is where GPU processor ids start (cpu_core_id_base and simd_id_base share no numbers).
const simdBase = 0x80001000

// asicNames are the names that amdgpu gives to the chips of a target.
var asicNames = map[string]string{
	"gfx900": "vega10", "gfx906": "vega20", "gfx908": "arcturus", "gfx90a": "aldebaran", "gfx1010": "navi10", "gfx1030": "navi21",
}

func asicName(p *profile.Profile) string {
	if n := asicNames[p.Target]; n != "" {
		return n
	}
	return "ip discovery"
}

// topology renders the node tree: node 0 is the CPU, node 1 the first GPU, and so on.
func (s *Sysfs) topology(d *Driver) {
	s.file(kfd.TopologyPath+"/generation_id", fmt.Sprintf("%d\n", len(d.nodes)+1))
	s.file(kfd.TopologyPath+"/system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n")
	dir := func(i int) string { return fmt.Sprintf("%s/nodes/%d", kfd.TopologyPath, i) }

	var si unix.Sysinfo_t
	_ = unix.Sysinfo(&si)
	var p props
	cpuProps(&p, len(d.nodes))
	s.file(dir(0)+"/properties", p.String())
	s.file(dir(0)+"/gpu_id", "0\n")
	s.file(dir(0)+"/name", "\n")
	s.file(dir(0)+"/mem_banks/0/properties", bank(kfd.HeapTypeSystem, uint64(si.Totalram)*uint64(si.Unit), 0, 0))
	s.add(dir(0)+"/caches", &entry{kind: Dir})
	s.add(dir(0)+"/io_links", &entry{kind: Dir})
	s.add(dir(0)+"/p2p_links", &entry{kind: Dir})
	for i, n := range d.nodes {
		s.file(fmt.Sprintf("%s/io_links/%d/properties", dir(0), i), link(0, n.index, 20, 0))
		s.gpu(dir(n.index), n)
		p2p := 0
		s.add(dir(n.index)+"/p2p_links", &entry{kind: Dir})
		for _, o := range d.nodes {
			if o != n && peers(n, o) {
				s.file(fmt.Sprintf("%s/p2p_links/%d/properties", dir(n.index), p2p), link(n.index, o.index, 40, 0))
				p2p++
			}
		}
		var p props
		gpuProps(&p, n, p2p)
		s.file(dir(n.index)+"/properties", p.String())
	}
}

// peers reports whether a GPU reaches another's memory over PCIe: its BAR must cover it.
func peers(_, other *node) bool { return other.dev.Profile.Memory.LargeBAR }

func cpuProps(p *props, gpus int) {
	for _, x := range []struct {
		name string
		v    any
	}{
		{"cpu_cores_count", cpuCount()}, {"simd_count", 0}, {"mem_banks_count", 1}, {"caches_count", 0}, {"io_links_count", gpus},
		{"p2p_links_count", 0}, {"cpu_core_id_base", 0}, {"simd_id_base", 0}, {"max_waves_per_simd", 0}, {"lds_size_in_kb", 0},
		{"gds_size_in_kb", 0}, {"num_gws", 0}, {"wave_front_size", 0}, {"array_count", 0}, {"simd_arrays_per_engine", 0},
		{"cu_per_simd_array", 0}, {"simd_per_cu", 0}, {"max_slots_scratch_cu", 0}, {"gfx_target_version", 0}, {"vendor_id", 0},
		{"device_id", 0}, {"location_id", 0}, {"domain", 0}, {"drm_render_minor", 0}, {"hive_id", 0}, {"num_sdma_engines", 0},
		{"num_sdma_xgmi_engines", 0}, {"num_sdma_queues_per_engine", 0}, {"num_cp_queues", 0}, {"max_engine_clk_ccompute", 2600},
	} {
		p.set(x.name, x.v)
	}
}

// capability is the node's capability word.
func capability(pr *profile.Profile) uint32 {
	c := uint32(kfd.CapWatchPoints | 2<<kfd.CapWatchPointsShift | 2<<kfd.CapDoorbellTypeShift)
	c |= uint32(pr.PCI.Revision) & 15 << kfd.CapASICRevisionShift
	if pr.SRAMECC {
		c |= kfd.CapSRAMEDC | kfd.CapMemEDC
	}
	// KFD offers SVM on chips whose compute unit can retry, and on the others without it, from gfx9 on.
	c |= kfd.CapSVMAPISupported
	return c
}

// cwsrSizes are the sizes of a queue's context save area (kernel-svm.md §11.6).
func cwsrSizes(pr *profile.Profile) (ctx, ctl, debug uint32) {
	t := pr.GfxTargetVersion
	vgpr := uint32(0x40000)
	switch {
	case t == 90010, t == 90008, t >= 90400 && t < 100000:
		vgpr = 0x80000
	case t == 110000, t == 110001, t == 120000, t == 120001:
		vgpr = 0x60000
	}
	cus := uint32(pr.Shape.CUs / pr.Shape.XCCs)
	waves := cus * 32
	if t < 100000 {
		waves = min(cus*40, uint32(pr.Shape.ShaderEngines/pr.Shape.XCCs)*512)
	}
	per := uint32(8)
	if t >= 100100 {
		per = 12
	}
	page := func(v uint32) uint32 { return (v + 4095) &^ 4095 }
	ctl = page(waves*per + 8 + 40)
	if t >= 100000 && t < 110000 {
		ctl = min(ctl, 0x7000)
	}
	ctx = ctl + page(cus*(vgpr+0x4000+0x10000+0x1000))
	debug = (waves*32 + 63) &^ 63
	return ctx, ctl, debug
}

func gpuProps(p *props, n *node, p2p int) {
	pr := n.dev.Profile
	sh := &pr.Shape
	ctx, ctl, debug := cwsrSizes(pr)
	eop := 4096
	if pr.GfxTargetVersion == 90402 {
		eop = 0
	}
	for _, x := range []struct {
		name string
		v    any
	}{
		{"cpu_cores_count", 0}, {"simd_count", sh.CUs * sh.SIMDsPerCU}, {"mem_banks_count", 1}, {"caches_count", len(cachesOf(pr))},
		{"io_links_count", 1}, {"p2p_links_count", p2p}, {"cpu_core_id_base", 0}, {"simd_id_base", uint32(simdBase + n.index<<16)},
		{"max_waves_per_simd", sh.WavesPerSIMD}, {"lds_size_in_kb", sh.LDSPerCU / 1024}, {"gds_size_in_kb", 0}, {"num_gws", sh.GWS},
		{"wave_front_size", sh.WaveSize}, {"array_count", sh.ShaderEngines * sh.ArraysPerEngine}, {"simd_arrays_per_engine", sh.ArraysPerEngine},
		{"cu_per_simd_array", sh.CUsPerArray}, {"simd_per_cu", sh.SIMDsPerCU}, {"max_slots_scratch_cu", sh.ScratchSlotsPerCU},
		{"gfx_target_version", pr.GfxTargetVersion}, {"vendor_id", uint32(pr.PCI.Vendor)}, {"device_id", uint32(pr.PCI.Device)},
		{"location_id", busOf(n) << 8}, {"domain", 0}, {"drm_render_minor", n.minor}, {"hive_id", 0}, {"num_sdma_engines", pr.SDMA.Engines},
		{"num_sdma_xgmi_engines", pr.SDMA.XGMIEngines}, {"num_sdma_queues_per_engine", pr.SDMA.QueuesPerEngine},
		{"num_cp_queues", pr.Queues.CP}, {"max_engine_clk_fcompute", pr.Clocks.EngineMHz}, {"local_mem_size", 0},
		{"fw_version", pr.Firmware.CP}, {"capability", capability(pr)}, {"debug_prop", 0}, {"sdma_fw_version", pr.Firmware.SDMA},
		{"unique_id", uniqueID(n)}, {"num_xcc", sh.XCCs}, {"max_engine_clk_ccompute", 2600}, {"family_id", pr.PCI.Family},
		{"cwsr_size", ctx}, {"ctl_stack_size", ctl}, {"eop_buffer_size", eop}, {"debug_memory_size", debug},
	} {
		p.set(x.name, x.v)
	}
}

func (s *Sysfs) gpu(dir string, n *node) {
	pr := n.dev.Profile
	s.file(dir+"/gpu_id", fmt.Sprintf("%d\n", n.id))
	s.file(dir+"/name", asicName(pr)+"\n")
	heap := kfd.HeapTypeFBPrivate
	if pr.Memory.LargeBAR {
		heap = kfd.HeapTypeFBPublic
	}
	s.file(dir+"/mem_banks/0/properties", bank(heap, n.dev.VRAMTotal(), pr.Memory.BusBits, pr.Clocks.MemoryMHz))
	s.add(dir+"/caches", &entry{kind: Dir})
	for i, c := range cachesOf(pr) {
		s.file(fmt.Sprintf("%s/caches/%d/properties", dir, i), c.render(uint32(simdBase+n.index<<16)))
	}
	s.file(dir+"/io_links/0/properties", link(n.index, 0, 20, 0))
}

func bank(heap int, size uint64, width, clk int) string {
	var p props
	p.set("heap_type", heap)
	p.set("size_in_bytes", size)
	p.set("flags", 0)
	p.set("width", width)
	p.set("mem_clk_max", clk)
	return p.String()
}

// link renders an I/O link. Flags 1 is "enabled"; the bits that would deny 32 and 64 bit PCIe atomics are clear.
func link(from, to, weight int, extra uint32) string {
	var p props
	for _, x := range []struct {
		name string
		v    any
	}{
		{"type", kfd.LinkTypePCIe}, {"version_major", 0}, {"version_minor", 0}, {"node_from", from}, {"node_to", to}, {"weight", weight},
		{"min_latency", 0}, {"max_latency", 0}, {"min_bandwidth", 312}, {"max_bandwidth", 31504}, {"recommended_transfer_size", 0},
		{"recommended_sdma_engine_id_mask", 0}, {"flags", kfd.LinkFlagEnabled | extra},
	} {
		p.set(x.name, x.v)
	}
	return p.String()
}

// cacheInstance is one cache of the chip: which compute units share it.
type cacheInstance struct {
	c         profile.Cache
	first     int // first compute unit
	shared    int
	processor int // simd id of the first user, from the base
}

// cachesOf lists every instance of every cache of a profile.
func cachesOf(pr *profile.Profile) (out []cacheInstance) {
	for _, c := range pr.Caches {
		share := c.SharedByCUs
		if c.Level >= 2 {
			share = pr.Shape.CUs / max(pr.Shape.XCCs, 1)
		}
		for first := 0; first < pr.Shape.CUs; first += share {
			out = append(out, cacheInstance{c, first, min(share, pr.Shape.CUs-first), first * pr.Shape.SIMDsPerCU})
		}
	}
	return out
}

func (i cacheInstance) render(base uint32) string {
	ty := kfd.CacheTypeHSACU
	for _, k := range i.c.Kinds {
		switch k {
		case "data", "scalar":
			ty |= kfd.CacheTypeData
		case "instruction":
			ty |= kfd.CacheTypeInstruction
		}
	}
	var p props
	p.set("processor_id_low", base+uint32(i.processor))
	p.set("level", i.c.Level)
	p.set("size", i.c.SizeKB)
	p.set("cache_line_size", i.c.Line)
	p.set("cache_lines_per_tag", 1)
	p.set("association", i.c.Ways)
	p.set("latency", 0)
	p.set("type", ty)
	// One digit for each compute unit that shares the cache, counted from the first.
	m := make([]string, max(i.shared, 1))
	for j := range m {
		m[j] = "1"
	}
	p.set("sibling_map", strings.Join(m, ","))
	return p.String()
}
