package kfd

// Queue types of CreateQueueArgs.QueueType.
const (
	QueueTypeCompute       = 0 // PM4 packets
	QueueTypeSDMA          = 1
	QueueTypeComputeAQL    = 2
	QueueTypeSDMAXGMI      = 3
	QueueTypeSDMAByEngID   = 4 // CreateQueueArgs.SDMAEngineID picks the engine
	MaxQueuePercentage     = 100
	MaxQueuePriority       = 15
	MinQueueRingSize       = 1024
	MaxQueuesPerProcess    = 1024
	QueuePercentageMask    = 0xff // bits 15:8 pick the target XCC of a PM4 queue
	QueuePriorityNormalCU  = 7
	QueuePriorityNormalDMA = 15
)

// Cache policies of SetMemoryPolicyArgs.
const (
	CachePolicyCoherent    = 0
	CachePolicyNonCoherent = 1
)

// Event types of CreateEventArgs.EventType. Signal and debug events own a slot of the event page; the others are
// numbered from SignalEventLimit up.
const (
	EventSignal            = 0
	EventNodeChange        = 1
	EventDeviceStateChange = 2
	EventHWException       = 3
	EventSystem            = 4
	EventDebug             = 5
	EventProfile           = 6
	EventQueue             = 7
	EventMemory            = 8
)

// Results of WaitEventsArgs.WaitResult.
const (
	WaitResultComplete = 0
	WaitResultTimeout  = 1
	WaitResultFail     = 2 // an event was destroyed while waited for
)

// Event page geometry and values.
const (
	SignalEventLimit = 4096                 // slots of the event page
	EventPageSize    = SignalEventLimit * 8 // bytes
	UnsignaledSlot   = ^uint64(0)           // what an unsignalled slot holds
	TimeoutInfinite  = 0xffffffff           // WaitEventsArgs.Timeout, in ms
)

// Reasons in HWExceptionData.
const (
	HWExceptionWholeGPUReset  = 0
	HWExceptionPerEngineReset = 1
	HWExceptionCauseGPUHang   = 0
	HWExceptionCauseECC       = 1
)

// Reasons in MemoryExceptionData.ErrorType.
const (
	MemErrNoRAS          = 0
	MemErrSRAMECC        = 1
	MemErrPoisonConsumed = 2
	MemErrGPUHang        = 3
)

// Flags of AllocMemoryOfGPUArgs.Flags. Exactly one of the first five picks the domain.
const (
	AllocVRAM      = 1 << 0
	AllocGTT       = 1 << 1
	AllocUserptr   = 1 << 2 // MmapOffset carries the CPU address in
	AllocDoorbell  = 1 << 3
	AllocMMIORemap = 1 << 4

	AllocContiguous   = 1 << 23 // contiguous VRAM, best effort
	AllocExtCoherent  = 1 << 24
	AllocUncached     = 1 << 25
	AllocCoherent     = 1 << 26
	AllocAQLQueueMem  = 1 << 27 // ring mapped twice, back to back
	AllocNoSubstitute = 1 << 28
	AllocPublic       = 1 << 29 // CPU visible VRAM
	AllocExecutable   = 1 << 30
	AllocWritable     = 1 << 31

	AllocDomainMask = AllocVRAM | AllocGTT | AllocUserptr | AllocDoorbell | AllocMMIORemap
)

// Operations, flags, locations and attribute types of the SVM command.
const (
	SVMOpSetAttr = 0
	SVMOpGetAttr = 1

	SVMLocationSysmem    = 0
	SVMLocationUndefined = 0xffffffff

	SVMAttrPreferredLoc  = 0
	SVMAttrPrefetchLoc   = 1
	SVMAttrAccess        = 2 // value is a gpu_id
	SVMAttrAccessInPlace = 3 // value is a gpu_id
	SVMAttrNoAccess      = 4 // value is a gpu_id
	SVMAttrSetFlags      = 5
	SVMAttrClrFlags      = 6
	SVMAttrGranularity   = 7 // log2 pages, 0..63; default 9 (2 MiB)

	SVMFlagHostAccess      = 0x01
	SVMFlagCoherent        = 0x02
	SVMFlagHiveLocal       = 0x04
	SVMFlagGPURO           = 0x08
	SVMFlagGPUExec         = 0x10
	SVMFlagGPUReadMostly   = 0x20
	SVMFlagGPUAlwaysMapped = 0x40
	SVMFlagExtCoherent     = 0x80
)

// Mode mask of RuntimeEnableArgs.
const (
	RuntimeEnableModeEnable   = 1
	RuntimeEnableModeTTMPSave = 2
)

// Register offsets in the remapped MMIO page (AllocMMIORemap).
const (
	MMIORemapHDPMemFlush = 0
	MMIORemapHDPRegFlush = 4
)

// SMI event numbers; a mask bit is the number less one.
const (
	SMIEventVMFault         = 1
	SMIEventThermalThrottle = 2
	SMIEventGPUPreReset     = 3
	SMIEventGPUPostReset    = 4
	SMIEventMigrateStart    = 5
	SMIEventMigrateEnd      = 6
	SMIEventPageFaultStart  = 7
	SMIEventPageFaultEnd    = 8
	SMIEventQueueEviction   = 9
	SMIEventQueueRestore    = 10
	SMIEventUnmapFromGPU    = 11
	SMIEventProcessStart    = 12
	SMIEventProcessEnd      = 13
	SMIEventDropped         = 14
	SMIEventAllProcess      = 64
	SMIEventMsgSize         = 96
)

// Triggers carried in SMI messages.
const (
	MigrateTriggerPrefetch     = 0
	MigrateTriggerPageFaultGPU = 1
	MigrateTriggerPageFaultCPU = 2
	MigrateTriggerTTMEviction  = 3

	QueueEvictionTriggerSVM            = 0
	QueueEvictionTriggerUserptr        = 1
	QueueEvictionTriggerTTM            = 2
	QueueEvictionTriggerSuspend        = 3
	QueueEvictionTriggerCRIUCheckpoint = 4
	QueueEvictionTriggerCRIURestore    = 5

	UnmapTriggerMMUNotify        = 0
	UnmapTriggerMMUNotifyMigrate = 1
	UnmapTriggerUnmapFromCPU     = 2
)

// MmapType is what an mmap offset of /dev/kfd asks for, in its bits 63:62.
type MmapType uint8

// Types of mapping.
const (
	MmapMMIO        MmapType = 0
	MmapReservedMem MmapType = 1 // CWSR trap handler pages of an APU
	MmapEvents      MmapType = 2
	MmapDoorbell    MmapType = 3
)

// MmapOffset packs an mmap offset: type in bits 63:62, gpu_id in 61:46, and in the low bits a byte offset, which only
// a doorbell offset returned by CREATE_QUEUE carries.
func MmapOffset(t MmapType, gpuID uint32, low uint64) uint64 {
	return uint64(t)<<62 | uint64(gpuID&0xffff)<<46 | low&(1<<46-1)
}

// SplitMmapOffset is the inverse of MmapOffset.
func SplitMmapOffset(off uint64) (t MmapType, gpuID uint32, low uint64) {
	return MmapType(off >> 62), uint32(off>>46) & 0xffff, off & (1<<46 - 1)
}

// Doorbell geometry: 1024 doorbells per process and device; 8 bytes each from gfx9 (SOC15) on, 4 bytes before.
const (
	DoorbellsPerProcess = 1024
	DoorbellSize        = 8
	DoorbellSliceSize   = DoorbellsPerProcess * DoorbellSize // bytes, gfx9 and later
)

// Handle packs a buffer handle as the driver does: gpu_id in the high half, a number per process and device in the low.
func Handle(gpuID, idr uint32) uint64 { return uint64(gpuID)<<32 | uint64(idr) }

// SplitHandle is the inverse of Handle.
func SplitHandle(h uint64) (gpuID, idr uint32) { return uint32(h >> 32), uint32(h) }
