// Package sdma holds the packets of the System DMA engines.
//
// # How the real system does it
//
// An SDMA engine copies and fills memory beside the compute units. Its queue is a ring of dwords; the doorbell and both pointers count
// bytes and grow for ever, a position in the ring is the pointer modulo its size. A packet begins with a header dword: the
// operation in bits 7:0, a sub-operation in 15:8 and flags above. There are no signals here: a user who wants to know that
// a copy is done puts an ATOMIC (subtract 1 from the signal's value), a FENCE (store the event id into the event's
// mailbox) and a TRAP (interrupt with that id) behind it.
//
// Sizes are mostly stored less one. The packets are the same from gfx9 to gfx12 for what is here; gfx10 added GCR (cache
// control), and the byte count of a copy grew from 22 to 30 bits with gfx9.4 and gfx10.3.
// Source: Linux drivers/gpu/drm/amd/amdgpu/vega10_sdma_pkt_open.h, navi10_sdma_pkt_open.h.
//
// # This package
//
// Append functions build packets, Read functions take them apart; both work on slices of dwords that begin at the header.
package sdma

// Op is the operation of a packet.
type Op uint8

// Operations.
const (
	OpNop        Op = 0
	OpCopy       Op = 1
	OpWrite      Op = 2
	OpIndirect   Op = 4
	OpFence      Op = 5
	OpTrap       Op = 6
	OpSemaphore  Op = 7
	OpPollRegMem Op = 8
	OpCondExe    Op = 9
	OpAtomic     Op = 10
	OpConstFill  Op = 11
	OpPTEPDE     Op = 12
	OpTimestamp  Op = 13
	OpSRBMWrite  Op = 14
	OpPreExe     Op = 15
	OpGPUVMInv   Op = 16
	OpGCR        Op = 17
)

var opNames = map[Op]string{OpNop: "NOP", OpCopy: "COPY", OpWrite: "WRITE", OpIndirect: "INDIRECT", OpFence: "FENCE", OpTrap: "TRAP",
	OpSemaphore: "SEM", OpPollRegMem: "POLL_REGMEM", OpCondExe: "COND_EXE", OpAtomic: "ATOMIC", OpConstFill: "CONST_FILL", OpPTEPDE: "PTEPDE",
	OpTimestamp: "TIMESTAMP", OpSRBMWrite: "SRBM_WRITE", OpPreExe: "PRE_EXE", OpGPUVMInv: "GPUVM_INV", OpGCR: "GCR"}

func (o Op) String() string {
	if s := opNames[o]; s != "" {
		return s
	}
	return "UNKNOWN"
}

// Sub-operations.
const (
	CopyLinear       = 0
	CopyLinearSubWin = 4

	WriteLinear = 0

	TimestampSet       = 0
	TimestampGet       = 1
	TimestampGetGlobal = 2

	PollRegMem = 0
)

// Header is the first dword of a packet.
type Header uint32

// Op returns the operation.
func (h Header) Op() Op { return Op(h) }

// SubOp returns the sub-operation.
func (h Header) SubOp() uint8 { return uint8(h >> 8) }

// Flags of headers.
const (
	copyBroadcast = 1 << 27 // COPY linear: a second destination follows
	pollHDPFlush  = 1 << 26
	pollMemory    = 1 << 31
)

// Dwords returns the length of the packet that begins with h, and how much of it must be there to know. A WRITE's length is in its fourth
// dword: count is that (0 else). ok is false for packets that this package does not know.
func Dwords(h Header, count uint32) (n int, ok bool) {
	switch h.Op() {
	case OpNop:
		return 1 + int(h>>16&0x3fff), true
	case OpCopy:
		switch {
		case h.SubOp() == CopyLinear && h&copyBroadcast != 0:
			return 9, true
		case h.SubOp() == CopyLinear:
			return 7, true
		case h.SubOp() == CopyLinearSubWin:
			return 13, true
		}
	case OpWrite:
		if h.SubOp() == WriteLinear {
			return 5 + int(count&0xfffff), true
		}
	case OpIndirect:
		return 6, true
	case OpFence:
		return 4, true
	case OpTrap:
		return 2, true
	case OpPollRegMem:
		if h.SubOp() == PollRegMem {
			return 6, true
		}
	case OpCondExe:
		return 5, true
	case OpAtomic:
		return 8, true
	case OpConstFill:
		return 5, true
	case OpTimestamp:
		return 3, h.SubOp() <= TimestampGetGlobal
	case OpGCR:
		return 5, true
	}
	return 0, false
}

func addr(w []uint32) uint64 { return uint64(w[0]) | uint64(w[1])<<32 }

func lo(v uint64) uint32 { return uint32(v) }
func hi(v uint64) uint32 { return uint32(v >> 32) }

// Copy is a linear copy of Bytes bytes, 1 to 2^30 (2^22 before gfx9.4 and gfx10.3). Dst2 is a second destination, 0 for none.
type Copy struct {
	Src, Dst, Dst2 uint64
	Bytes          uint32
}

// Append builds the packet.
func (c Copy) Append(w []uint32) []uint32 {
	h := uint32(OpCopy)
	if c.Dst2 != 0 {
		h |= copyBroadcast
	}
	w = append(w, h, c.Bytes-1, 0, lo(c.Src), hi(c.Src), lo(c.Dst), hi(c.Dst))
	if c.Dst2 != 0 {
		w = append(w, lo(c.Dst2), hi(c.Dst2))
	}
	return w
}

// ReadCopy takes a linear copy apart.
func ReadCopy(w []uint32) Copy {
	c := Copy{Bytes: w[1]&(1<<30-1) + 1, Src: addr(w[3:]), Dst: addr(w[5:])}
	if w[0]&copyBroadcast != 0 {
		c.Dst2 = addr(w[7:])
	}
	return c
}

// Window is one side of a sub-window copy. Offsets, Pitch (elements from row to row) and Slice (from slice to slice) count elements.
type Window struct {
	Addr         uint64
	X, Y, Z      uint32
	Pitch, Slice uint32
}

// CopyRect is a linear sub-window copy of a box of X by Y by Z elements of 1<<ElementLog2 bytes.
type CopyRect struct {
	ElementLog2 uint8
	Src, Dst    Window
	X, Y, Z     uint32
}

func (v Window) append(w []uint32) []uint32 {
	return append(w, lo(v.Addr), hi(v.Addr), v.X&0x3fff|v.Y&0x3fff<<16, v.Z&0x1fff|(v.Pitch-1)<<13, (v.Slice-1)&(1<<28-1))
}

func readWindow(w []uint32) Window {
	return Window{Addr: addr(w), X: w[2] & 0x3fff, Y: w[2] >> 16 & 0x3fff, Z: w[3] & 0x1fff, Pitch: w[3]>>13 + 1, Slice: w[4]&(1<<28-1) + 1}
}

// Append builds the packet.
func (c CopyRect) Append(w []uint32) []uint32 {
	w = append(w, uint32(OpCopy)|CopyLinearSubWin<<8|uint32(c.ElementLog2&7)<<29)
	w = c.Dst.append(c.Src.append(w))
	return append(w, (c.X-1)&0x3fff|(c.Y-1)&0x3fff<<16, (c.Z-1)&0x1fff)
}

// ReadCopyRect takes a sub-window copy apart.
func ReadCopyRect(w []uint32) CopyRect {
	return CopyRect{ElementLog2: uint8(w[0] >> 29), Src: readWindow(w[1:]), Dst: readWindow(w[6:]),
		X: w[11]&0x3fff + 1, Y: w[11]>>16&0x3fff + 1, Z: w[12]&0x1fff + 1}
}

// Fill stores a pattern. Size is the log2 of the pattern's bytes: 0, 1 or 2.
type Fill struct {
	Dst   uint64
	Data  uint32
	Size  uint8
	Bytes uint32 // multiple of the pattern
}

// Append builds the packet.
func (f Fill) Append(w []uint32) []uint32 {
	n := f.Bytes - 1
	if f.Size == 2 {
		n &^= 3
	}
	return append(w, uint32(OpConstFill)|uint32(f.Size)<<30, lo(f.Dst), hi(f.Dst), f.Data, n)
}

// ReadFill takes a fill apart. A fill by dwords has its count in bytes with the two low bits free. Size 3 is reserved.
func ReadFill(w []uint32) Fill {
	f := Fill{Dst: addr(w[1:]), Data: w[3], Size: uint8(w[0] >> 30), Bytes: w[4]&(1<<30-1) + 1}
	if f.Size == 2 {
		f.Bytes = (f.Bytes-1)&^3 + 4
	}
	return f
}

// AppendWrite builds a WRITE of 1 to 2^20 dwords.
func AppendWrite(w []uint32, dst uint64, data []uint32) []uint32 {
	return append(append(w, uint32(OpWrite), lo(dst), hi(dst), uint32(len(data)-1)), data...)
}

// ReadWrite returns the destination of a WRITE; its data begin at dword 4.
func ReadWrite(w []uint32) (dst uint64) { return addr(w[1:]) }

// AppendFence builds a FENCE: data is stored when all before it is done.
func AppendFence(w []uint32, dst uint64, data uint32) []uint32 {
	return append(w, uint32(OpFence), lo(dst), hi(dst), data)
}

// ReadFence takes a FENCE apart.
func ReadFence(w []uint32) (dst uint64, data uint32) { return addr(w[1:]), w[3] }

// AppendTrap builds a TRAP: an interrupt with a context id of 28 bits.
func AppendTrap(w []uint32, id uint32) []uint32 { return append(w, uint32(OpTrap), id&(1<<28-1)) }

// ReadTrap returns the context id.
func ReadTrap(w []uint32) uint32 { return w[1] & (1<<28 - 1) }

// AppendTimestamp builds a TIMESTAMP that stores the global reference counter.
func AppendTimestamp(w []uint32, dst uint64) []uint32 {
	return append(w, uint32(OpTimestamp)|TimestampGetGlobal<<8, lo(dst), hi(dst))
}

// ReadTimestamp returns the destination.
func ReadTimestamp(w []uint32) uint64 { return addr(w[1:]) }

// Compare is a comparison of POLL_REGMEM (and of PM4's WAIT_REG_MEM).
type Compare uint8

// Comparisons.
const (
	Always Compare = iota
	Less
	LessEqual
	Equal
	NotEqual
	GreaterEqual
	Greater
)

// Holds evaluates "v c ref", unsigned. The reserved value 7 never holds.
func (c Compare) Holds(v, ref uint64) bool {
	switch c {
	case Always:
		return true
	case Less:
		return v < ref
	case LessEqual:
		return v <= ref
	case Equal:
		return v == ref
	case NotEqual:
		return v != ref
	case GreaterEqual:
		return v >= ref
	case Greater:
		return v > ref
	}
	return false
}

// Poll is POLL_REGMEM: wait until (*Addr & Mask) Func Ref. With Memory false Addr is a register.
type Poll struct {
	Addr      uint64
	Ref, Mask uint32
	Func      Compare
	Memory    bool
	HDPFlush  bool
	Interval  uint16
	Retries   uint16 // 0xfff: for ever
}

// Append builds the packet.
func (p Poll) Append(w []uint32) []uint32 {
	h := uint32(OpPollRegMem) | uint32(p.Func&7)<<28
	if p.Memory {
		h |= pollMemory
	}
	if p.HDPFlush {
		h |= pollHDPFlush
	}
	return append(w, h, lo(p.Addr), hi(p.Addr), p.Ref, p.Mask, uint32(p.Interval)|uint32(p.Retries&0xfff)<<16)
}

// ReadPoll takes a POLL_REGMEM apart.
func ReadPoll(w []uint32) Poll {
	return Poll{Addr: addr(w[1:]), Ref: w[3], Mask: w[4], Func: Compare(w[0] >> 28 & 7), Memory: w[0]&pollMemory != 0, HDPFlush: w[0]&pollHDPFlush != 0,
		Interval: uint16(w[5]), Retries: uint16(w[5] >> 16 & 0xfff)}
}

// AtomicOp is an operation of the L2's atomic unit, shared with PM4's ATOMIC_MEM. Bit 6 (no return value) makes no difference to
// memory.
type AtomicOp uint8

// Operations; the 64-bit ones are 32 above.
const (
	AtomicSwap32    AtomicOp = 7
	AtomicCmpSwap32 AtomicOp = 8
	AtomicAdd32     AtomicOp = 15
	AtomicSub32     AtomicOp = 16
	AtomicSMin32    AtomicOp = 17
	AtomicUMin32    AtomicOp = 18
	AtomicSMax32    AtomicOp = 19
	AtomicUMax32    AtomicOp = 20
	AtomicAnd32     AtomicOp = 21
	AtomicOr32      AtomicOp = 22
	AtomicXor32     AtomicOp = 23
	AtomicInc32     AtomicOp = 24
	AtomicDec32     AtomicOp = 25
	Atomic64        AtomicOp = 32 // added to one of the above
	AtomicAdd64     AtomicOp = AtomicAdd32 + Atomic64
)

// Split returns the 32-bit operation and whether op is the 64-bit form of it; ok is false for other codes.
func (op AtomicOp) Split() (base AtomicOp, wide, ok bool) {
	op &= 63
	wide = op&Atomic64 != 0
	base = op &^ Atomic64
	return base, wide, base == AtomicSwap32 || base == AtomicCmpSwap32 || base >= AtomicAdd32 && base <= AtomicDec32
}

// Apply returns the new value for old; 32-bit operations use the low halves.
func (op AtomicOp) Apply(old, src, cmp uint64) uint64 {
	base, wide, _ := op.Split()
	sold, ssrc := int64(old), int64(src)
	if !wide {
		old, src, cmp = old&0xffffffff, src&0xffffffff, cmp&0xffffffff
		sold, ssrc = int64(int32(old)), int64(int32(src))
	}
	v := old
	switch base {
	case AtomicSwap32:
		v = src
	case AtomicCmpSwap32:
		if old == cmp {
			v = src
		}
	case AtomicAdd32:
		v = old + src
	case AtomicSub32:
		v = old - src
	case AtomicSMin32:
		v = uint64(min(sold, ssrc))
	case AtomicUMin32:
		v = min(old, src)
	case AtomicSMax32:
		v = uint64(max(sold, ssrc))
	case AtomicUMax32:
		v = max(old, src)
	case AtomicAnd32:
		v = old & src
	case AtomicOr32:
		v = old | src
	case AtomicXor32:
		v = old ^ src
	case AtomicInc32:
		if v = old + 1; old >= src {
			v = 0
		}
	case AtomicDec32:
		if v = old - 1; old == 0 || old > src {
			v = src
		}
	}
	if !wide {
		v &= 0xffffffff
	}
	return v
}

// Atomic is an ATOMIC packet. Loop repeats a compare-and-swap until it succeeds.
type Atomic struct {
	Op       AtomicOp
	Addr     uint64
	Src, Cmp uint64
	Loop     bool
}

const atomicLoop = 1 << 16

// Append builds the packet.
func (a Atomic) Append(w []uint32) []uint32 {
	h := uint32(OpAtomic) | uint32(a.Op&127)<<25
	if a.Loop {
		h |= atomicLoop
	}
	return append(w, h, lo(a.Addr), hi(a.Addr), lo(a.Src), hi(a.Src), lo(a.Cmp), hi(a.Cmp), 0)
}

// ReadAtomic takes an ATOMIC apart.
func ReadAtomic(w []uint32) Atomic {
	return Atomic{Op: AtomicOp(w[0] >> 25), Addr: addr(w[1:]), Src: addr(w[3:]), Cmp: addr(w[5:]), Loop: w[0]&atomicLoop != 0}
}

// AppendIndirect builds an INDIRECT that runs n dwords at address a (32-byte aligned).
func AppendIndirect(w []uint32, a uint64, n uint32) []uint32 {
	return append(w, uint32(OpIndirect), lo(a), hi(a), n&0xfffff, 0, 0)
}

// ReadIndirect takes an INDIRECT apart.
func ReadIndirect(w []uint32) (a uint64, n uint32) { return addr(w[1:]), w[3] & 0xfffff }

// AppendCondExe builds a COND_EXE: the next n dwords run only if the dword at a equals ref.
func AppendCondExe(w []uint32, a uint64, ref, n uint32) []uint32 {
	return append(w, uint32(OpCondExe), lo(a), hi(a), ref, n&0x3fff)
}

// ReadCondExe takes a COND_EXE apart.
func ReadCondExe(w []uint32) (a uint64, ref, n uint32) { return addr(w[1:]), w[3], w[4] & 0x3fff }

// AppendHDPFlush builds the flush of the host data path that ROCr puts before copies: a POLL_REGMEM that is always true.
func AppendHDPFlush(w []uint32) []uint32 {
	return append(w, uint32(OpPollRegMem), 0, 0x80000000, 0, 0, 0)
}

// AppendGCR builds a cache-control request for all caches and addresses (gfx10 on).
func AppendGCR(w []uint32, control uint32) []uint32 {
	return append(w, uint32(OpGCR), 0, control&0xffff<<16, control>>16&7, 0)
}

// AppendNop builds a NOP of n dwords, 1 to 16384.
func AppendNop(w []uint32, n int) []uint32 {
	w = append(w, uint32(OpNop)|uint32(n-1)<<16)
	for range n - 1 {
		w = append(w, 0)
	}
	return w
}
