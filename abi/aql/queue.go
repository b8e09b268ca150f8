package aql

// QueueType is hsa_queue_type32_t.
type QueueType uint32

// Queue types.
const (
	QueueMulti       QueueType = 0
	QueueSingle      QueueType = 1
	QueueCooperative QueueType = 2
)

// Features of a queue (hsa_queue_feature_t).
const (
	FeatureKernelDispatch = 1
	FeatureAgentDispatch  = 2
)

// HSAQueue is hsa_queue_t, the public head of a queue.
type HSAQueue struct {
	Type           QueueType
	Features       uint32
	BaseAddress    uint64 // of the ring
	DoorbellSignal SignalHandle
	Size           uint32 // packets, a power of two
	Reserved1      uint32
	ID             uint64
}

// Queue is amd_queue_t: the public head, then what AMD's packet processor and trap handler read and write. The record
// is 64-byte aligned. WriteDispatchID, ReadDispatchID and the scratch fields change under the reader: access them with
// sync/atomic.
type Queue struct {
	HSA                            HSAQueue
	Reserved1                      [4]uint32
	WriteDispatchID                uint64
	GroupSegmentApertureBaseHi     uint32
	PrivateSegmentApertureBaseHi   uint32
	MaxCUID                        uint32
	MaxWaveID                      uint32
	MaxLegacyDoorbellDispatchIDPl1 uint64
	LegacyDoorbellLock             uint32
	Reserved2                      [9]uint32
	ReadDispatchID                 uint64
	ReadDispatchIDFieldBaseOffset  uint32 // byte offset of ReadDispatchID, so that its address leads to the record
	ComputeTmpringSize             uint32
	ScratchResourceDescriptor      [4]uint32
	ScratchBackingMemoryLocation   uint64
	ScratchBackingMemoryByteSize   uint64
	ScratchWave64LaneByteSize      uint32
	QueueProperties                uint32
	Reserved3                      [2]uint32
	QueueInactiveSignal            SignalHandle
	Reserved4                      [14]uint32
}

// Offsets of the fields of a Queue that the packet processor uses. The read pointer address that CREATE_QUEUE gets is
// the record's address plus ReadDispatchIDOffset.
const (
	QueueSize                        = 256
	WriteDispatchIDOffset            = 56
	GroupSegmentApertureBaseHiOffset = 64
	PrivateSegmentApertureBaseHi     = 68
	ReadDispatchIDOffset             = 128
	ReadDispatchIDFieldBaseOffset    = 136
	ComputeTmpringSizeOffset         = 140
	ScratchResourceDescriptorOffset  = 144
	ScratchBackingLocationOffset     = 160
	ScratchBackingByteSizeOffset     = 168
	ScratchWave64LaneByteSizeOffset  = 176
	QueuePropertiesOffset            = 180
	QueueInactiveSignalOffset        = 192
)

// Bits of Queue.QueueProperties.
const (
	PropEnableTrapHandler     = 1 << 0
	PropIsPtr64               = 1 << 1
	PropTrapHandlerDebugSGPRs = 1 << 2
	PropEnableProfiling       = 1 << 3
	PropUseScratchOnce        = 1 << 4
)

// QueueError is the value that the packet processor or trap handler stores in the queue-inactive signal: a set of bits. The low bits
// stop the queue for good except ErrScratch and ErrScratchReclaim, which ask the runtime for something and let the queue go on
// when the runtime stores 0.
type QueueError uint64

// Bits of QueueError.
const (
	ErrScratch            QueueError = 1 << 0  // more scratch needed; with ErrWave32 for a wave32 kernel
	ErrInvalidDim         QueueError = 1 << 1  // a zero or too large dimension
	ErrInvalidGroupMem    QueueError = 1 << 2  // more LDS than a work-group may have
	ErrInvalidCode        QueueError = 1 << 3  // kernel object null
	ErrPacketFormat       QueueError = 1 << 5  // reserved packet type or format
	ErrGroupTooLarge      QueueError = 1 << 6  // more work-items than a work-group may have
	ErrOutOfRegisters     QueueError = 1 << 7  // the work-group's VGPRs do not fit a compute unit
	ErrInvalidVendor      QueueError = 1 << 8  // vendor packet of unknown format
	ErrScratchReclaim     QueueError = 1 << 9  // asks the runtime to take scratch back (7.x)
	ErrWave32             QueueError = 1 << 10 // qualifies ErrScratch
	ErrMemoryViolation    QueueError = 1 << 29
	ErrIllegalInstruction QueueError = 1 << 30
	ErrTrap               QueueError = 1 << 31
)
