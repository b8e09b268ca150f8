package aql

import "unsafe"

// PacketSize is the size of every AQL packet in bytes.
const PacketSize = 64

// PacketType is the type field of a packet's header.
type PacketType uint8

// Packet types (HSA 1.2 §2.9).
const (
	VendorSpecific PacketType = 0
	Invalid        PacketType = 1
	KernelDispatch PacketType = 2
	BarrierAnd     PacketType = 3
	AgentDispatch  PacketType = 4
	BarrierOr      PacketType = 5
)

func (t PacketType) String() string {
	switch t {
	case VendorSpecific:
		return "VENDOR_SPECIFIC"
	case Invalid:
		return "INVALID"
	case KernelDispatch:
		return "KERNEL_DISPATCH"
	case BarrierAnd:
		return "BARRIER_AND"
	case AgentDispatch:
		return "AGENT_DISPATCH"
	case BarrierOr:
		return "BARRIER_OR"
	}
	return "UNKNOWN"
}

// Scope is a memory fence scope of a header.
type Scope uint8

// Fence scopes.
const (
	ScopeNone   Scope = 0
	ScopeAgent  Scope = 1
	ScopeSystem Scope = 2
)

// Header is the first 16 bits of a packet: type 0-7, barrier 8, acquire scope 9-10, release scope 11-12.
type Header uint16

// MakeHeader packs a header.
func MakeHeader(t PacketType, barrier bool, acquire, release Scope) Header {
	h := Header(t) | Header(acquire&3)<<9 | Header(release&3)<<11
	if barrier {
		h |= 1 << 8
	}
	return h
}

// Type returns the packet's type.
func (h Header) Type() PacketType { return PacketType(h) }

// Barrier reports whether all earlier packets must complete first.
func (h Header) Barrier() bool { return h>>8&1 != 0 }

// Acquire returns the scope of the fence before the packet.
func (h Header) Acquire() Scope { return Scope(h>>9) & 3 }

// Release returns the scope of the fence after the packet.
func (h Header) Release() Scope { return Scope(h>>11) & 3 }

// SignalHandle is the address of a Signal record, or 0 for none.
type SignalHandle uint64

// DispatchPacket is a kernel dispatch (HSA 1.2 §2.9.6). Grid sizes are in work-items.
type DispatchPacket struct {
	Header             Header
	Setup              uint16 // bits 1:0 number of dimensions
	WorkgroupSizeX     uint16
	WorkgroupSizeY     uint16
	WorkgroupSizeZ     uint16
	Reserved0          uint16
	GridSizeX          uint32
	GridSizeY          uint32
	GridSizeZ          uint32
	PrivateSegmentSize uint32 // bytes per work-item
	GroupSegmentSize   uint32 // bytes per work-group, static and dynamic
	KernelObject       uint64 // address of the kernel descriptor
	KernargAddress     uint64 // 16-byte aligned
	Reserved2          uint64 // AMD uses it for the id of a profiled dispatch
	CompletionSignal   SignalHandle
}

// Dimensions returns the number of dimensions the setup field names.
func (p *DispatchPacket) Dimensions() int { return int(p.Setup & 3) }

// BarrierPacket is a barrier-AND or barrier-OR packet: it completes when all, or one, of its dependencies are 0.
type BarrierPacket struct {
	Header           Header
	Reserved0        uint16
	Reserved1        uint32
	DepSignal        [5]SignalHandle
	Reserved2        uint64
	CompletionSignal SignalHandle
}

// AgentDispatchPacket asks the consumer of a queue (a host thread) to call a function.
type AgentDispatchPacket struct {
	Header           Header
	Type             uint16
	Reserved0        uint32
	ReturnAddress    uint64
	Arg              [4]uint64
	Reserved2        uint64
	CompletionSignal SignalHandle
}

// AMDFormat is the format byte of a vendor-specific packet of AMD.
type AMDFormat uint8

// Formats.
const (
	AMDPM4IB        AMDFormat = 1 // run an indirect buffer of PM4
	AMDBarrierValue AMDFormat = 2 // wait for a condition on one signal
)

// PM4IBPacket is AMD's vendor packet that runs a PM4 indirect buffer: dwords 1 to 4 are an INDIRECT_BUFFER packet.
type PM4IBPacket struct {
	Header           Header
	Format           AMDFormat // AMDPM4IB
	Reserved0        uint8
	IBJump           [4]uint32 // PM4: header, address low, address high, control | dwords
	DWCountRemain    uint32
	Reserved         [8]uint32
	CompletionSignal SignalHandle
}

// BarrierValuePacket is AMD's vendor packet that waits until (signal & Mask) Cond Value.
type BarrierValuePacket struct {
	Header           Header
	Format           AMDFormat // AMDBarrierValue
	Reserved0        uint8
	Reserved1        uint32
	Signal           SignalHandle
	Value            int64
	Mask             int64
	Cond             uint32
	Reserved2        uint32
	Reserved3        uint64
	Reserved4        uint64
	CompletionSignal SignalHandle
}

// Condition is a comparison of a signal's value (hsa_signal_condition_t).
type Condition uint32

// Conditions.
const (
	CondEQ  Condition = 0
	CondNE  Condition = 1
	CondLT  Condition = 2
	CondGTE Condition = 3
)

// Holds evaluates the comparison "v c operand" on signed values. An unassigned condition never holds.
func (c Condition) Holds(v, operand int64) bool {
	switch c {
	case CondEQ:
		return v == operand
	case CondNE:
		return v != operand
	case CondLT:
		return v < operand
	case CondGTE:
		return v >= operand
	}
	return false
}

// Packet is one slot of a ring, as raw bytes.
type Packet [PacketSize]byte

// Header returns the first 16 bits without ordering; a consumer loads them atomically instead.
func (p *Packet) Header() Header { return Header(uint16(p[0]) | uint16(p[1])<<8) }

type packetKind interface {
	DispatchPacket | BarrierPacket | AgentDispatchPacket | PM4IBPacket | BarrierValuePacket
}

// As copies the slot into one of the packet structures.
func As[T packetKind](p *Packet) T {
	return *(*T)(unsafe.Pointer(p))
}

// Raw copies one of the packet structures into the bytes of a slot.
func Raw[T packetKind](v T) (p Packet) {
	*(*T)(unsafe.Pointer(&p)) = v
	return
}
