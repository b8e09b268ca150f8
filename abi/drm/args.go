package drm

import "unsafe"

// VersionArgs is drm_version: first call with lengths 0 asks for the lengths.
type VersionArgs struct {
	Major, Minor, Patch int32
	_                   uint32
	NameLen             uint64
	Name                uint64 // char *
	DateLen             uint64
	Date                uint64
	DescLen             uint64
	Desc                uint64
}

// GetUniqueArgs is drm_unique.
type GetUniqueArgs struct {
	Len    uint64
	Unique uint64 // char *
}

// GetClientArgs is drm_client.
type GetClientArgs struct {
	Idx, Auth           int32
	PID, UID, Magic, IO uint64
}

// GEMCloseArgs is drm_gem_close.
type GEMCloseArgs struct{ Handle, Pad uint32 }

// GetCapArgs is drm_get_cap.
type GetCapArgs struct{ Capability, Value uint64 }

// Capabilities.
const (
	CapDumbBuffer      = 0x1
	CapPrime           = 0x5
	CapTimestampMono   = 0x6
	CapSyncobj         = 0x13
	CapSyncobjTimeline = 0x14
	PrimeCapImport     = 1
	PrimeCapExport     = 2
)

// PrimeArgs is drm_prime_handle.
type PrimeArgs struct {
	Handle, Flags uint32
	FD            int32
}

// GEMCreateArgs is drm_amdgpu_gem_create; the answer (handle) overlays its first word.
type GEMCreateArgs struct {
	Size        uint64
	Alignment   uint64
	Domains     uint64
	DomainFlags uint64
}

// Domains of GEMCreateArgs.
const (
	DomainCPU      = 0x1
	DomainGTT      = 0x2
	DomainVRAM     = 0x4
	DomainGDS      = 0x8
	DomainGWS      = 0x10
	DomainOA       = 0x20
	DomainDoorbell = 0x40
)

// Flags of GEMCreateArgs.
const (
	CreateCPUAccessRequired = 1 << 0
	CreateNoCPUAccess       = 1 << 1
	CreateCPUGTTUSWC        = 1 << 2
	CreateVRAMCleared       = 1 << 3
	CreateVRAMContiguous    = 1 << 5
	CreateVMAlwaysValid     = 1 << 6
	CreateExplicitSync      = 1 << 7
	CreateWipeOnRelease     = 1 << 9
	CreateDiscardable       = 1 << 12
	CreateCoherent          = 1 << 13
	CreateUncached          = 1 << 14
	CreateExtCoherent       = 1 << 15
	CreateKnown             = 0xffff
)

// GEMMmapArgs is drm_amdgpu_gem_mmap: in the handle in its low word, out the offset.
type GEMMmapArgs struct{ HandleOrOffset uint64 }

// GEMWaitIdleArgs is drm_amdgpu_gem_wait_idle; the answer (status, domain) overlays its first words.
type GEMWaitIdleArgs struct {
	Handle, Flags uint32
	Timeout       uint64
}

// GEMVAArgs is drm_amdgpu_gem_va.
type GEMVAArgs struct {
	Handle, Pad uint32
	Operation   uint32
	Flags       uint32
	VAAddress   uint64
	OffsetInBO  uint64
	MapSize     uint64
}

// Operations of GEMVAArgs.
const (
	VAOpMap     = 1
	VAOpUnmap   = 2
	VAOpClear   = 3
	VAOpReplace = 4
)

// Flags of GEMVAArgs.
const (
	VMDelayUpdate    = 1 << 0
	VMPageReadable   = 1 << 1
	VMPageWriteable  = 1 << 2
	VMPageExecutable = 1 << 3
	VMPagePRT        = 1 << 4
	VMMTypeShift     = 5
	VMMTypeMask      = 0xf << VMMTypeShift
	VMMTypeDefault   = 0
	VMMTypeNC        = 1
	VMMTypeWC        = 2
	VMMTypeCC        = 3
	VMMTypeUC        = 4
	VMMTypeRW        = 5
	VMPageNoAlloc    = 1 << 9
	VMFlagsKnown     = 0x3ff
)

// GEMUserptrArgs is drm_amdgpu_gem_userptr.
type GEMUserptrArgs struct {
	Addr, Size    uint64
	Flags, Handle uint32
}

// Flags of GEMUserptrArgs.
const (
	UserptrReadonly = 1 << 0
	UserptrAnononly = 1 << 1
	UserptrValidate = 1 << 2
	UserptrRegister = 1 << 3
)

// GEMMetadataArgs is drm_amdgpu_gem_metadata.
type GEMMetadataArgs struct {
	Handle, Op uint32
	Flags      uint64
	TilingInfo uint64
	DataSize   uint32
	Data       [64]uint32
	_          uint32
}

// Operations of GEMMetadataArgs.
const (
	MetadataSet = 1
	MetadataGet = 2
)

// GEMOpArgs is drm_amdgpu_gem_op.
type GEMOpArgs struct {
	Handle, Op uint32
	Value      uint64
}

// Operations of GEMOpArgs.
const (
	GEMOpGetCreateInfo = 0
	GEMOpSetPlacement  = 1
)

// VMArgs is drm_amdgpu_vm.
type VMArgs struct{ Op, Flags uint32 }

// CtxArgs is drm_amdgpu_ctx.
type CtxArgs struct {
	Op, Flags, CtxID uint32
	Priority         int32
}

// Operations of CtxArgs.
const (
	CtxOpAlloc       = 1
	CtxOpFree        = 2
	CtxOpQueryState  = 3
	CtxOpQueryState2 = 4
)

// InfoArgs is drm_amdgpu_info; Arg is a union that Query decides.
type InfoArgs struct {
	ReturnPointer uint64
	ReturnSize    uint32
	Query         uint32
	Arg           [4]uint32
}

// Queries of InfoArgs.
const (
	InfoAccelWorking   = 0x00
	InfoCRTCFromID     = 0x01
	InfoHWIPInfo       = 0x02
	InfoHWIPCount      = 0x03
	InfoTimestamp      = 0x05
	InfoFWVersion      = 0x0e
	InfoNumBytesMoved  = 0x0f
	InfoVRAMUsage      = 0x10
	InfoGTTUsage       = 0x11
	InfoGDSConfig      = 0x13
	InfoVRAMGTT        = 0x14
	InfoReadMMR        = 0x15
	InfoDevInfo        = 0x16
	InfoVisVRAMUsage   = 0x17
	InfoNumEvictions   = 0x18
	InfoMemory         = 0x19
	InfoVCEClock       = 0x1a
	InfoVBIOS          = 0x1b
	InfoNumHandles     = 0x1c
	InfoSensor         = 0x1d
	InfoVRAMLost       = 0x1f
	InfoVideoCaps      = 0x21
	InfoMaxIBs         = 0x22
	HWIPGFX            = 0
	HWIPCompute        = 1
	HWIPDMA            = 2
	HWIPNum            = 10
	RegGBAddrConfig    = 0x263e // dword offset, as libdrm asks
	FamilyAI           = 141    // gfx9
	FamilyRV           = 142
	FamilyNV           = 143 // gfx10
	FamilyGC1100       = 145
	FamilyGC1200       = 152
	FirmwareGFXME      = 0x4
	FirmwareGFXPFP     = 0x5
	FirmwareGFXMEC     = 0x8
	FirmwareSDMA       = 0xa
	IDsFlagsFusion     = 1
	IDsFlagsPreemption = 2
	SensorGFXSClk      = 1
	SensorGFXMClk      = 2
	SensorGPUTemp      = 3
	SensorGPULoad      = 4
	SensorGPUAvgPower  = 5
	VRAMTypeHBM        = 6
	VRAMTypeGDDR6      = 9
	VAAlignment        = 4096
	VAReservedBottom   = 64 << 10
	MmapOffsetStart    = 1 << 32 // first offset of buffer objects in the file
	GARTPageSize       = 4096
)

// InfoDevice is drm_amdgpu_info_device, 448 bytes in 3.60, 368 in 3.42: callers say how much they want.
type InfoDevice struct {
	DeviceID, ChipRev, ExternalRev, PCIRev           uint32
	Family                                           uint32
	NumShaderEngines, NumShaderArraysPerEngine       uint32
	GPUCounterFreq                                   uint32 // kHz
	MaxEngineClock, MaxMemoryClock                   uint64 // kHz
	CUActiveNumber, CUAOMask                         uint32
	CUBitmap                                         [4][4]uint32
	EnabledRBPipesMask, NumRBPipes                   uint32
	NumHWGfxContexts, PCIeGen                        uint32
	IDsFlags                                         uint64
	VirtualAddressOffset, VirtualAddressMax          uint64
	VirtualAddressAlignment, PTEFragmentSize         uint32
	GARTPageSize, CERAMSize                          uint32
	VRAMType, VRAMBitWidth                           uint32
	VCEHarvestConfig, GCDoubleOffchipLDSBuf          uint32
	PrimBufAddr, PosBufAddr, CntlSBBufAddr, ParamBuf uint64
	PrimBufSize, PosBufSize, CntlSBBufSize, ParamLen uint32
	WaveFrontSize, NumShaderVisibleVGPRs             uint32
	NumCUPerSH, NumTCCBlocks                         uint32
	GSVGTTableDepth, GSPrimBufferDepth               uint32
	MaxGSWavesPerVGT, PCIeNumLanes                   uint32
	CUAOBitmap                                       [4][4]uint32
	HighVAOffset, HighVAMax                          uint64
	PASCTileSteeringOverride                         uint32
	_                                                uint32
	TCCDisabledMask                                  uint64
	MinEngineClock, MinMemoryClock                   uint64
	TCPCacheSize, NumSQCPerWGP                       uint32 // KiB
	SQCDataCacheSize, SQCInstCacheSize               uint32
	GL1CCacheSize, GL2CCacheSize                     uint32
	MALLSize                                         uint64 // bytes
	EnabledRBPipesMaskHi                             uint32
	ShadowSize, ShadowAlignment                      uint32
	CSASize, CSAAlignment                            uint32
	UserqIPMask                                      uint32
	_                                                [2]uint32
}

// InfoVRAMGTTData is drm_amdgpu_info_vram_gtt.
type InfoVRAMGTTData struct{ VRAMSize, VRAMCPUAccessibleSize, GTTSize uint64 }

// HeapInfo is drm_amdgpu_heap_info, in bytes.
type HeapInfo struct{ Total, Usable, Usage, MaxAllocation uint64 }

// InfoMemoryData is drm_amdgpu_memory_info.
type InfoMemoryData struct{ VRAM, CPUAccessibleVRAM, GTT HeapInfo }

// InfoFirmware is drm_amdgpu_info_firmware.
type InfoFirmware struct{ Version, Feature uint32 }

// InfoHWIP is drm_amdgpu_info_hw_ip.
type InfoHWIP struct {
	VersionMajor, VersionMinor uint32
	CapabilitiesFlags          uint64
	IBStartAlignment           uint32
	IBSizeAlignment            uint32
	AvailableRings             uint32
	IPDiscoveryVersion         uint32
}

// GEMSVMArgs is drm_amdgpu_gem_svm of the SVM proposal (kernel-svm.md §8.1).
type GEMSVMArgs struct {
	StartAddr, Size  uint64
	Operation, NAttr uint32
	AttrsPtr         uint64
}

// Args is the set of argument and answer structures.
type Args interface {
	VersionArgs | GetUniqueArgs | GetClientArgs | GEMCloseArgs | GetCapArgs | PrimeArgs | GEMCreateArgs | GEMMmapArgs |
		GEMWaitIdleArgs | GEMVAArgs | GEMUserptrArgs | GEMMetadataArgs | GEMOpArgs | VMArgs | CtxArgs | InfoArgs | InfoDevice |
		InfoVRAMGTTData | InfoMemoryData | InfoFirmware | InfoHWIP | GEMSVMArgs
}

// Bytes returns the memory of a structure itself.
func Bytes[T Args](a *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a)) }

// Decode copies an argument out of b; missing bytes read as zero.
func Decode[T Args](b []byte) T {
	var a T
	copy(Bytes(&a), b)
	return a
}
