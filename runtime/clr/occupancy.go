package clr

import "github.com/pumice-gpu/pumice/abi/codeobj"

// Occupancy returns how many work-groups of size work-items a compute unit of the kernel's device holds at once, with so many bytes of
// dynamic group memory: the least of what wave slots, vector registers, scalar registers and group memory allow.
func (k *Kernel) Occupancy(size, dynamic uint32) uint32 {
	a := k.dev.Agent
	p := a.Target.Proc
	if size == 0 || size > k.MaxThreads() {
		return 0
	}
	lanes := uint32(64)
	if k.Desc.Wavefront32() {
		lanes = 32
	}
	waves := (size + lanes - 1) / lanes
	simds := max(uint32(a.Node.Props["simd_per_cu"]), 1)
	perSIMD := a.MaxWavesPerCU / simds
	if v := k.Desc.VGPRs(p); v > 0 {
		perSIMD = min(perSIMD, registerFile(p, lanes)/v)
	}
	if p.Major < 10 {
		if s := k.Desc.SGPRs(p); s > 0 {
			perSIMD = min(perSIMD, 800/s)
		}
	}
	groups := perSIMD * simds / waves
	if lds := k.GroupSegmentFixedSize + dynamic; lds > 0 {
		if lds > a.LDSSize {
			return 0
		}
		groups = min(groups, a.LDSSize/lds)
	}
	return groups
}

// registerFile is how many vector registers a SIMD has for each lane of its waves: 256 or 512, on RDNA 1024 for waves of 32, and half as many again on
// the larger chips of gfx11 and on gfx12.
func registerFile(p *codeobj.Processor, lanes uint32) uint32 {
	file := uint32(256)
	switch {
	case p.Major >= 10:
		file = 1024
		switch p.Name {
		case "gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201":
			file = 1536
		}
		if lanes == 64 {
			file /= 2
		}
	case p.Name == "gfx90a" || p.Major == 9 && p.Minor >= 4:
		file = 512
	}
	return file
}

// BestBlock returns the work-group size, at most limit (0: no limit), with the highest occupancy, and the number of groups of that size that fill
// the device.
func (k *Kernel) BestBlock(dynamic func(block uint32) uint32, limit uint32) (block, groups uint32) {
	top := k.MaxThreads()
	if limit != 0 {
		top = min(top, limit)
	}
	lanes := uint32(64)
	if k.Desc.Wavefront32() {
		lanes = 32
	}
	best := uint32(0)
	for b := top / lanes * lanes; b >= lanes; b -= lanes {
		if n := k.Occupancy(b, dynamic(b)); n*b > best {
			best, block, groups = n*b, b, n*k.dev.Agent.ComputeUnits
		}
	}
	if block == 0 && top > 0 { // less than one wave
		if n := k.Occupancy(top, dynamic(top)); n > 0 {
			return top, n * k.dev.Agent.ComputeUnits
		}
	}
	return
}
