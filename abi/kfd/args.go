package kfd

// GetVersionArgs is the argument of GET_VERSION.
type GetVersionArgs struct {
	MajorVersion uint32 // out
	MinorVersion uint32 // out
}

// CreateQueueArgs is the argument of CREATE_QUEUE. Addresses are user virtual addresses.
type CreateQueueArgs struct {
	RingBaseAddress       uint64
	WritePointerAddress   uint64
	ReadPointerAddress    uint64
	DoorbellOffset        uint64 // out: an mmap offset, see MmapOffset
	RingSize              uint32 // bytes, power of two, or 0
	GPUID                 uint32
	QueueType             uint32
	QueuePercentage       uint32
	QueuePriority         uint32
	QueueID               uint32 // out
	EOPBufferAddress      uint64
	EOPBufferSize         uint64
	CtxSaveRestoreAddress uint64
	CtxSaveRestoreSize    uint32
	CtlStackSize          uint32
	SDMAEngineID          uint32 // from 1.17; absent in 88-byte callers
	Pad                   uint32
}

// DestroyQueueArgs is the argument of DESTROY_QUEUE.
type DestroyQueueArgs struct {
	QueueID uint32
	Pad     uint32
}

// UpdateQueueArgs is the argument of UPDATE_QUEUE. A zero address or percentage takes the queue off the hardware.
type UpdateQueueArgs struct {
	RingBaseAddress uint64
	QueueID         uint32
	RingSize        uint32
	QueuePercentage uint32
	QueuePriority   uint32
}

// SetCUMaskArgs is the argument of SET_CU_MASK; NumCUMask counts bits and is a multiple of 32.
type SetCUMaskArgs struct {
	QueueID   uint32
	NumCUMask uint32
	CUMaskPtr uint64
}

// GetQueueWaveStateArgs is the argument of GET_QUEUE_WAVE_STATE.
type GetQueueWaveStateArgs struct {
	CtlStackAddress  uint64
	CtlStackUsedSize uint32 // out
	SaveAreaUsedSize uint32 // out
	QueueID          uint32
	Pad              uint32
}

// SetMemoryPolicyArgs is the argument of SET_MEMORY_POLICY.
type SetMemoryPolicyArgs struct {
	AlternateApertureBase uint64
	AlternateApertureSize uint64
	GPUID                 uint32
	DefaultPolicy         uint32
	AlternatePolicy       uint32
	MiscProcessFlag       uint32
}

// GetClockCountersArgs is the argument of GET_CLOCK_COUNTERS.
type GetClockCountersArgs struct {
	GPUClockCounter    uint64 // out, ticks of the GPU's reference counter
	CPUClockCounter    uint64 // out, ns, CLOCK_MONOTONIC_RAW
	SystemClockCounter uint64 // out, ns, CLOCK_BOOTTIME
	SystemClockFreq    uint64 // out, Hz of the two above
	GPUID              uint32
	Pad                uint32
}

// ProcessDeviceApertures is one element of the array that GET_PROCESS_APERTURES_NEW fills. Limits are inclusive.
type ProcessDeviceApertures struct {
	LDSBase      uint64
	LDSLimit     uint64
	ScratchBase  uint64
	ScratchLimit uint64
	GPUVMBase    uint64
	GPUVMLimit   uint64
	GPUID        uint32
	Pad          uint32
}

// GetProcessAperturesArgs is the argument of the old GET_PROCESS_APERTURES, for at most seven devices.
type GetProcessAperturesArgs struct {
	ProcessApertures [7]ProcessDeviceApertures
	NumOfNodes       uint32
	Pad              uint32
}

// GetProcessAperturesNewArgs is the argument of GET_PROCESS_APERTURES_NEW. NumOfNodes 0 asks for the number only.
type GetProcessAperturesNewArgs struct {
	ProcessDeviceAperturesPtr uint64
	NumOfNodes                uint32 // in: capacity, out: number filled
	Pad                       uint32
}

// CreateEventArgs is the argument of CREATE_EVENT.
type CreateEventArgs struct {
	EventPageOffset  uint64 // in (first call): handle of the GTT buffer of the event page; out: its mmap offset
	EventTriggerData uint32 // out
	EventType        uint32
	AutoReset        uint32
	NodeID           uint32 // only for the deprecated node events
	EventID          uint32 // out
	EventSlotIndex   uint32 // out
}

// EventIDArgs is the argument of DESTROY_EVENT, SET_EVENT and RESET_EVENT.
type EventIDArgs struct {
	EventID uint32
	Pad     uint32
}

// MemoryExceptionData is what a memory event reports: a fault of the GPU on VA.
type MemoryExceptionData struct {
	NotPresent uint32
	ReadOnly   uint32
	NoExecute  uint32
	Imprecise  uint32
	VA         uint64
	GPUID      uint32
	ErrorType  uint32
}

// HWExceptionData is what a hardware exception event reports.
type HWExceptionData struct {
	ResetType  uint32
	ResetCause uint32
	MemoryLost uint32
	GPUID      uint32
}

// EventData is one element of the array of WAIT_EVENTS. Its first 32 bytes are a union that the event's type decides;
// it is declared as MemoryExceptionData, the largest member. See EventData.HW and EventData.SignalAge.
type EventData struct {
	Memory  MemoryExceptionData // out (union)
	Ext     uint64
	EventID uint32
	Pad     uint32
}

// WaitEventsArgs is the argument of WAIT_EVENTS.
type WaitEventsArgs struct {
	EventsPtr  uint64
	NumEvents  uint32
	WaitForAll uint32
	Timeout    uint32 // ms; 0 polls, TimeoutInfinite waits for ever
	WaitResult uint32 // out
}

// SetScratchBackingVAArgs is the argument of SET_SCRATCH_BACKING_VA.
type SetScratchBackingVAArgs struct {
	VAAddr uint64 // address >> 16
	GPUID  uint32
	Pad    uint32
}

// GetTileConfigArgs is the argument of GET_TILE_CONFIG.
type GetTileConfigArgs struct {
	TileConfigPtr       uint64
	MacroTileConfigPtr  uint64
	NumTileConfigs      uint32 // in: capacity, out: filled
	NumMacroTileConfigs uint32
	GPUID               uint32
	GBAddrConfig        uint32 // out
	NumBanks            uint32 // out
	NumRanks            uint32 // out
}

// SetTrapHandlerArgs is the argument of SET_TRAP_HANDLER.
type SetTrapHandlerArgs struct {
	TBAAddr uint64
	TMAAddr uint64
	GPUID   uint32
	Pad     uint32
}

// AcquireVMArgs is the argument of ACQUIRE_VM.
type AcquireVMArgs struct {
	DRMFD uint32
	GPUID uint32
}

// AllocMemoryOfGPUArgs is the argument of ALLOC_MEMORY_OF_GPU.
type AllocMemoryOfGPUArgs struct {
	VAAddr     uint64 // GPU virtual address the buffer will be mapped at
	Size       uint64 // bytes
	Handle     uint64 // out
	MmapOffset uint64 // in: CPU address for AllocUserptr; out: offset to mmap the render node (or KFD) with
	GPUID      uint32
	Flags      uint32
}

// FreeMemoryOfGPUArgs is the argument of FREE_MEMORY_OF_GPU.
type FreeMemoryOfGPUArgs struct {
	Handle uint64
}

// MapMemoryArgs is the argument of MAP_MEMORY_TO_GPU and UNMAP_MEMORY_FROM_GPU. NSuccess is both where the kernel
// starts and where it stopped, so that an interrupted call can be repeated.
type MapMemoryArgs struct {
	Handle            uint64
	DeviceIDsArrayPtr uint64
	NDevices          uint32
	NSuccess          uint32
}

// AllocQueueGWSArgs is the argument of ALLOC_QUEUE_GWS.
type AllocQueueGWSArgs struct {
	QueueID  uint32
	NumGWS   uint32
	FirstGWS uint32 // out
	Pad      uint32
}

// GetDmabufInfoArgs is the argument of GET_DMABUF_INFO.
type GetDmabufInfoArgs struct {
	Size         uint64 // out
	MetadataPtr  uint64
	MetadataSize uint32
	GPUID        uint32 // out
	Flags        uint32 // out
	DmabufFD     uint32
}

// ImportDmabufArgs is the argument of IMPORT_DMABUF.
type ImportDmabufArgs struct {
	VAAddr   uint64
	Handle   uint64 // out
	GPUID    uint32
	DmabufFD uint32
}

// ExportDmabufArgs is the argument of EXPORT_DMABUF.
type ExportDmabufArgs struct {
	Handle   uint64
	Flags    uint32
	DmabufFD uint32 // out
}

// SMIEventsArgs is the argument of SMI_EVENTS.
type SMIEventsArgs struct {
	GPUID  uint32
	AnonFD uint32 // out
}

// SVMArgs is the fixed head of the argument of SVM; NAttr SVMAttributes follow it.
type SVMArgs struct {
	StartAddr uint64
	Size      uint64 // bytes
	Op        uint32
	NAttr     uint32
}

// SVMAttribute is one (type, value) pair of an SVM call.
type SVMAttribute struct {
	Type  uint32
	Value uint32
}

// SetXNACKModeArgs is the argument of SET_XNACK_MODE: negative queries, 0 or 1 sets.
type SetXNACKModeArgs struct {
	XNACKEnabled int32
}

// CRIUArgs is the argument of CRIU_OP.
type CRIUArgs struct {
	Devices      uint64
	BOs          uint64
	PrivData     uint64
	PrivDataSize uint64
	NumDevices   uint32
	NumBOs       uint32
	NumObjects   uint32
	PID          uint32
	Op           uint32
	Pad          uint32
}

// AvailableMemoryArgs is the argument of AVAILABLE_MEMORY.
type AvailableMemoryArgs struct {
	Available uint64 // out, bytes
	GPUID     uint32
	Pad       uint32
}

// RuntimeEnableArgs is the argument of RUNTIME_ENABLE.
type RuntimeEnableArgs struct {
	RDebug           uint64
	ModeMask         uint32
	CapabilitiesMask uint32 // out
}

// DbgTrapArgs is the argument of DBG_TRAP; Payload is a union that Op decides.
type DbgTrapArgs struct {
	PID     uint32
	Op      uint32
	Payload [24]byte
}

// ContextSaveAreaHeader stands at the start of a queue's CWSR area.
type ContextSaveAreaHeader struct {
	ControlStackOffset uint32
	ControlStackSize   uint32
	WaveStateOffset    uint32
	WaveStateSize      uint32
	DebugOffset        uint32
	DebugSize          uint32
	ErrPayloadAddr     uint64
	ErrEventID         uint32
	Reserved           uint32
}

// IPCExportHandleArgs is the argument of the out-of-tree IPC_EXPORT_HANDLE.
type IPCExportHandleArgs struct {
	Handle      uint64
	ShareHandle [4]uint32 // out
	GPUID       uint32
	Flags       uint32
}

// IPCImportHandleArgs is the argument of the out-of-tree IPC_IMPORT_HANDLE.
type IPCImportHandleArgs struct {
	Handle      uint64 // out
	VAAddr      uint64
	MmapOffset  uint64 // out
	ShareHandle [4]uint32
	GPUID       uint32
	Flags       uint32
}

// Sizes in bytes of the structures that callers allocate in arrays or append to.
const (
	SizeofProcessDeviceApertures = 56
	SizeofEventData              = 48
	SizeofSVMArgs                = 24
	SizeofSVMAttribute           = 8
)
