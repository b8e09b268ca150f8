package codeobj

// DescriptorSize is the size of a kernel descriptor in bytes; it is 64-byte aligned in memory.
const DescriptorSize = 64

// Descriptor is a kernel descriptor (amd_kernel_descriptor): the packet's kernel_object points at one. The three COMPUTE_PGM
// words and the properties are kept whole; methods read their fields.
type Descriptor struct {
	GroupSegmentFixedSize   uint32
	PrivateSegmentFixedSize uint32
	KernargSize             uint32
	EntryOffset             int64 // of the code, relative to the descriptor
	RSRC3                   uint32
	RSRC1                   uint32
	RSRC2                   uint32
	Properties              Properties
	KernargPreload          uint16 // length in SGPRs [6:0], offset in dwords [15:7]; gfx90a, gfx94x, gfx950
}

// Properties is the kernel_code_properties word: which user SGPRs are set up, in the order of the bits.
type Properties uint16

// Bits of Properties.
const (
	EnablePrivateSegmentBuffer Properties = 1 << 0 // 4 SGPRs
	EnableDispatchPtr          Properties = 1 << 1 // 2
	EnableQueuePtr             Properties = 1 << 2 // 2
	EnableKernargSegmentPtr    Properties = 1 << 3 // 2
	EnableDispatchID           Properties = 1 << 4 // 2
	EnableFlatScratchInit      Properties = 1 << 5 // 2
	EnablePrivateSegmentSize   Properties = 1 << 6 // 1, after the preloaded kernargs
	EnableWavefrontSize32      Properties = 1 << 10
	UsesDynamicStack           Properties = 1 << 11
)

// ParseDescriptor decodes a descriptor. b must hold DescriptorSize bytes.
func ParseDescriptor(b []byte) (Descriptor, error) {
	if len(b) < DescriptorSize {
		return Descriptor{}, bad("kernel descriptor", 0, "%d bytes, want %d", len(b), DescriptorSize)
	}
	return Descriptor{
		GroupSegmentFixedSize:   le.Uint32(b[0:]),
		PrivateSegmentFixedSize: le.Uint32(b[4:]),
		KernargSize:             le.Uint32(b[8:]),
		EntryOffset:             int64(le.Uint64(b[16:])),
		RSRC3:                   le.Uint32(b[44:]),
		RSRC1:                   le.Uint32(b[48:]),
		RSRC2:                   le.Uint32(b[52:]),
		Properties:              Properties(le.Uint16(b[56:])),
		KernargPreload:          le.Uint16(b[58:]),
	}, nil
}

// Encode writes the descriptor as 64 bytes.
func (d *Descriptor) Encode() (b [DescriptorSize]byte) {
	le.PutUint32(b[0:], d.GroupSegmentFixedSize)
	le.PutUint32(b[4:], d.PrivateSegmentFixedSize)
	le.PutUint32(b[8:], d.KernargSize)
	le.PutUint64(b[16:], uint64(d.EntryOffset))
	le.PutUint32(b[44:], d.RSRC3)
	le.PutUint32(b[48:], d.RSRC1)
	le.PutUint32(b[52:], d.RSRC2)
	le.PutUint16(b[56:], uint16(d.Properties))
	le.PutUint16(b[58:], d.KernargPreload)
	return
}

func bits(v uint32, lo, n uint) uint32 { return v >> lo & (1<<n - 1) }

// Wavefront32 reports whether the kernel runs in waves of 32 lanes.
func (d *Descriptor) Wavefront32() bool { return d.Properties&EnableWavefrontSize32 != 0 }

// VGPRGranules returns the VGPR field of rsrc1: registers allocated are (VGPRGranules+1) times the target's granule.
func (d *Descriptor) VGPRGranules() uint32 { return bits(d.RSRC1, 0, 6) }

// SGPRGranules returns the SGPR field of rsrc1, used up to gfx9.
func (d *Descriptor) SGPRGranules() uint32 { return bits(d.RSRC1, 6, 4) }

// Mode fields of rsrc1.

// Round32 returns the rounding mode of f32: 0 nearest even, 1 up, 2 down, 3 to zero.
func (d *Descriptor) Round32() uint32 { return bits(d.RSRC1, 12, 2) }

// Round16_64 returns the rounding mode of f16 and f64.
func (d *Descriptor) Round16_64() uint32 { return bits(d.RSRC1, 14, 2) }

// Denorm32 returns the denormal mode of f32: bit 0 keep sources, bit 1 keep results.
func (d *Descriptor) Denorm32() uint32 { return bits(d.RSRC1, 16, 2) }

// Denorm16_64 returns the denormal mode of f16 and f64.
func (d *Descriptor) Denorm16_64() uint32 { return bits(d.RSRC1, 18, 2) }

// DX10Clamp reports bit 21 of rsrc1 (on gfx12: work-group round-robin).
func (d *Descriptor) DX10Clamp() bool { return bits(d.RSRC1, 21, 1) != 0 }

// IEEEMode reports bit 23 of rsrc1 (on gfx12: disable perf).
func (d *Descriptor) IEEEMode() bool { return bits(d.RSRC1, 23, 1) != 0 }

// FP16Overflow reports bit 26 of rsrc1 (gfx9 and later).
func (d *Descriptor) FP16Overflow() bool { return bits(d.RSRC1, 26, 1) != 0 }

// WGPMode reports bit 29 of rsrc1 (gfx10 and later).
func (d *Descriptor) WGPMode() bool { return bits(d.RSRC1, 29, 1) != 0 }

// ModeBits returns what the MODE register starts with: round [3:0], denorm [7:4].
func (d *Descriptor) ModeBits() uint32 { return bits(d.RSRC1, 12, 8) }

// Fields of rsrc2.

// PrivateSegment reports whether the wave gets scratch (and, with SGPR set-up, its wave offset).
func (d *Descriptor) PrivateSegment() bool { return bits(d.RSRC2, 0, 1) != 0 }

// UserSGPRCount returns the number of user SGPRs; system SGPRs start at this number.
func (d *Descriptor) UserSGPRCount() uint32 { return bits(d.RSRC2, 1, 5) }

// TrapHandler reports bit 6 of rsrc2.
func (d *Descriptor) TrapHandler() bool { return bits(d.RSRC2, 6, 1) != 0 }

// WorkgroupID reports whether the work-group id of dimension i is set up in an SGPR.
func (d *Descriptor) WorkgroupID(i int) bool { return bits(d.RSRC2, 7+uint(i), 1) != 0 }

// WorkgroupInfo reports whether the work-group info SGPR is set up.
func (d *Descriptor) WorkgroupInfo() bool { return bits(d.RSRC2, 10, 1) != 0 }

// WorkitemIDs returns how many of the work-item ids beyond x are set up: 0 x, 1 xy, 2 xyz.
func (d *Descriptor) WorkitemIDs() uint32 { return bits(d.RSRC2, 11, 2) }

// LDSGranules returns the LDS size field of rsrc2; the packet processor fills it at dispatch.
func (d *Descriptor) LDSGranules() uint32 { return bits(d.RSRC2, 15, 9) }

// ExceptionMask returns the enabled exceptions, bits 30:24 of rsrc2.
func (d *Descriptor) ExceptionMask() uint32 { return bits(d.RSRC2, 24, 7) }

// Fields of rsrc3.

// AccumOffset returns the number of the VGPR at which AccVGPRs start (gfx90a, gfx94x, gfx950).
func (d *Descriptor) AccumOffset() uint32 { return bits(d.RSRC3, 0, 6)*4 + 4 }

// TGSplit reports whether the waves of a work-group may be on different compute units (gfx90a, gfx94x, gfx950).
func (d *Descriptor) TGSplit() bool { return bits(d.RSRC3, 16, 1) != 0 }

// SharedVGPRs returns the number of VGPRs shared by the halves of a wave64, in units of 8 (gfx10, gfx11).
func (d *Descriptor) SharedVGPRs() uint32 { return bits(d.RSRC3, 0, 4) * 8 }

// KernargPreloadLength returns the number of kernarg dwords loaded into SGPRs before the wave starts.
func (d *Descriptor) KernargPreloadLength() uint32 { return uint32(d.KernargPreload) & 0x7f }

// KernargPreloadOffset returns the dword of the kernarg segment at which preloading starts.
func (d *Descriptor) KernargPreloadOffset() uint32 { return uint32(d.KernargPreload) >> 7 }

// hasAccVGPRs says whether the processor's VGPR file is one of architectural and accumulation registers.
func (p *Processor) unifiedVGPRs() bool {
	return p.Name == "gfx90a" || p.Major == 9 && p.Minor >= 4
}

// VGPRGranule returns the unit in which rsrc1 counts VGPRs.
func (p *Processor) VGPRGranule(wave32 bool) uint32 {
	switch {
	case p.unifiedVGPRs():
		return 8
	case p.Major >= 10 && wave32:
		return 8
	}
	return 4
}

// VGPRs returns the number of vector registers allocated per lane; on gfx90a, gfx94x and gfx950 architectural
// and accumulation registers together.
func (d *Descriptor) VGPRs(p *Processor) uint32 {
	return (d.VGPRGranules() + 1) * p.VGPRGranule(d.Wavefront32())
}

// ArchVGPRs returns the number of architectural vector registers; AccVGPRs follow them in the unified file.
func (d *Descriptor) ArchVGPRs(p *Processor) uint32 {
	n := d.VGPRs(p)
	if p.unifiedVGPRs() {
		return min(n, d.AccumOffset())
	}
	return n
}

// AccVGPRs returns the number of accumulation registers. gfx908 has a file of its own, as large as the other.
func (d *Descriptor) AccVGPRs(p *Processor) uint32 {
	switch {
	case p.unifiedVGPRs():
		return d.VGPRs(p) - d.ArchVGPRs(p)
	case p.Name == "gfx908":
		return d.VGPRs(p)
	}
	return 0
}

// SGPRs returns the number of scalar registers allocated to a wave.
func (d *Descriptor) SGPRs(p *Processor) uint32 {
	switch {
	case p.Major >= 10:
		return 128
	case p.Major == 9:
		return (d.SGPRGranules()/2 + 1) * 16
	}
	return (d.SGPRGranules() + 1) * 8
}
