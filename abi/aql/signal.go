package aql

// SignalSize is the size of a Signal record in bytes; records are 64-byte aligned.
const SignalSize = 64

// SignalKind tells the two kinds of signal apart.
type SignalKind int64

// Kinds.
const (
	SignalInvalid        SignalKind = 0
	SignalUser           SignalKind = 1
	SignalDoorbell       SignalKind = -1 // Value holds the address of a 64-bit doorbell
	SignalLegacyDoorbell SignalKind = -2 // Value holds the address of a 32-bit doorbell
)

// Signal is amd_signal_t. Value is written by host and device at once: access it with sync/atomic only.
type Signal struct {
	Kind            SignalKind
	Value           int64  // or the doorbell's address
	EventMailboxPtr uint64 // address of the event slot, 0 if the signal is only polled
	EventID         uint32
	Reserved1       uint32
	StartTS         uint64 // in ticks of the device's reference counter
	EndTS           uint64
	QueuePtr        uint64 // doorbell signals: the amd_queue_t
	Reserved3       [2]uint32
}

// Offsets of the fields of a Signal.
const (
	SignalKindOffset         = 0
	SignalValueOffset        = 8
	SignalEventMailboxOffset = 16
	SignalEventIDOffset      = 24
	SignalStartTSOffset      = 32
	SignalEndTSOffset        = 40
	SignalQueuePtrOffset     = 48
)
