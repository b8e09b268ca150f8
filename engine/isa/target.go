package isa

// Gen is an encoding generation: targets of one Gen share field positions and opcode numbers, apart from rows gated
// to some of them.
type Gen uint8

const (
	GFX9   Gen = iota // gfx900, 902, 904, 906, 908, 909, 90a, 90c
	GFX940            // gfx940, 941, 942, 950
	GFX10             // gfx1010..1013, gfx1030..1036
	GFX11             // gfx1100..1103, gfx1150..1152
	GFX12             // gfx1200, gfx1201
	NumGens
)

// Target is one processor by its LLVM name.
type Target struct {
	Name  string // "gfx90a"
	Mach  uint8  // EF_AMDGPU_MACH of ELF e_flags[7:0]
	Gen   Gen
	Major int // 9
	Minor int // 0
	Step  int // 0xa

	Wave32        bool // wave32 is possible (and the default)
	PackedTID     bool // work-item ids packed in v0: x[9:0] y[19:10] z[29:20]
	ArchFlat      bool // architected flat scratch: no private V#, FLAT_SCRATCH preset
	UnifiedAcc    bool // AccVGPRs are part of one 512-entry file (gfx90a+)
	HasAcc        bool
	Xnack         bool // feature exists
	SramECC       bool
	VGPRGranule   int  // allocation unit in wave64 (wave32 of gfx10+ doubles it)
	WGIDinTTMP    bool // gfx12
	D16Preserves  bool // 16-bit loads keep the other half (false with SRAM ECC)
	F16ZeroesHigh bool // gfx9 and older: 16-bit VALU results zero bits 31:16

	bit    uint64 // this target in attr masks
	maskN  uint8  // SGPRs of a lane mask
	wave32 *Target
	wave64 *Target
	dec    *lazyDecoder // shared by both wave sizes
}
