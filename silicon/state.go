package silicon

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// WaveState is a copy of all that a wave's code can see, made when it faulted.
type WaveState struct {
	Target  *isa.Target
	Lanes   int
	PC      uint64
	EXEC    uint64
	Scalars []uint32   // by canonical number (isa.SRegVCCLo ...)
	VGPRs   [][]uint32 // by register, then lane; nil where none is allocated
	AccVGPR [][]uint32
	LDS     []byte // of the work-group
	Kernarg uint64 // address of the kernel's arguments

	g *group
}

// Read copies memory of the wave's address space; it returns what is mapped from va on, n bytes at most. Only inside the hook.
func (s *WaveState) Read(va uint64, n int) []byte {
	const page = 4096
	var out []byte
	for n > 0 {
		c := min(n, page-int(va%page))
		b := make([]byte, c)
		if s.g.k.vm.read(va, b) != nil {
			break
		}
		out = append(out, b...)
		va, n = va+uint64(c), n-c
	}
	return out
}

// state copies a wave's registers.
func (g *group) state(w *wave.Wave) *WaveState {
	s := &WaveState{Target: w.Target, Lanes: w.Lanes, PC: w.PC, EXEC: w.EXEC(), Scalars: append([]uint32(nil), w.S[:]...), Kernarg: g.k.Kernarg, g: g}
	regs := func(base, n int) (out [][]uint32) {
		for i := range n {
			out = append(out, append([]uint32(nil), w.VGPR(base+i)...))
		}
		return out
	}
	s.VGPRs = regs(0, w.NVGPR)
	s.AccVGPR = regs(256, w.NAcc)
	if n := int(w.LDSLen); n > 0 {
		lds := unsafe.Add(g.block, g.k.waves*g.k.stateSize)
		s.LDS = append([]byte(nil), unsafe.Slice((*byte)(lds), n)...)
	}
	return s
}
