package kfd

// Files of the topology and the devices, as user space opens them.
const (
	DevicePath      = "/dev/kfd"
	RenderPathStem  = "/dev/dri/renderD" // followed by drm_render_minor
	TopologyPath    = "/sys/devices/virtual/kfd/kfd/topology"
	ClassPath       = "/sys/class/kfd/kfd/topology" // symbolic twin of TopologyPath
	FirstRenderNode = 128
)

// Bits of a node's capability property.
const (
	CapHotPluggable        = 1 << 0
	CapATSPresent          = 1 << 1
	CapSharedWithGraphics  = 1 << 2
	CapQueueSizePow2       = 1 << 3
	CapQueueSize32Bit      = 1 << 4
	CapQueueIdleEvent      = 1 << 5
	CapVALimit             = 1 << 6
	CapWatchPoints         = 1 << 7
	CapWatchPointsShift    = 8 // log2 of the number of watch points, 4 bits
	CapDoorbellTypeShift   = 12
	CapDoorbellTypeMask    = 3 << 12 // 0 before gfx8, 1 1.0, 2 2.0 (64 bit)
	CapAQLQueueDoubleMap   = 1 << 14
	CapTrapDebugSupport    = 1 << 15
	CapWaveLaunchOverride  = 1 << 16
	CapWaveLaunchMode      = 1 << 17
	CapPreciseMemoryOps    = 1 << 18
	CapMemEDC              = 1 << 20
	CapRASEventNotify      = 1 << 21
	CapASICRevisionShift   = 22 // 4 bits
	CapSRAMEDC             = 1 << 26
	CapSVMAPISupported     = 1 << 27
	CapCoherentHostAccess  = 1 << 28
	CapDebugFirmware       = 1 << 29
	CapPreciseALUOps       = 1 << 30
	CapPerQueueReset       = 1 << 31
	HeapTypeSystem         = 0
	HeapTypeFBPublic       = 1
	HeapTypeFBPrivate      = 2
	HeapTypeGDS            = 3
	HeapTypeLDS            = 4
	HeapTypeScratch        = 5
	LinkTypePCIe           = 2
	LinkTypeXGMI           = 11
	LinkFlagEnabled        = 1 << 0
	LinkFlagNonCoherent    = 1 << 1
	LinkFlagNoAtomics32    = 1 << 2
	LinkFlagNoAtomics64    = 1 << 3
	LinkFlagNoPeerToPeer   = 1 << 4
	CacheTypeData          = 1 << 0
	CacheTypeInstruction   = 1 << 1
	CacheTypeCPU           = 1 << 2
	CacheTypeHSACU         = 1 << 3
	NodePropertiesFileName = "properties"
)
