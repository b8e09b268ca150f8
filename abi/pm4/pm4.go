// Package pm4 holds the packets of the command processor's own language.
//
// # How the real system does it
//
// PM4 is what a compute queue without AQL, and the indirect buffer of an AQL vendor packet, consist of. A type-3 packet is a header dword
// and a body: bits 31:30 are 3, 29:16 the body's dwords less one, 15:8 the operation, bit 1 marks compute. Type 2 is a
// filler of one dword. Type 0 (register writes) is not for user queues. A NOP whose count is 0x3fff has no body.
//
// The layouts here are those of the compute micro engine (MEC) of gfx9 and later; ACQUIRE_MEM has one dword more from
// gfx10 on. Source: Linux drivers/gpu/drm/amd/amdgpu/soc15d.h, nvd.h, amdkfd/kfd_pm4_headers_ai.h; AMD's PM4
// documents.
package pm4

// Op is the operation of a type-3 packet.
type Op uint8

// Operations.
const (
	OpNop            Op = 0x10
	OpClearState     Op = 0x12
	OpDispatchDirect Op = 0x15
	OpDispatchInd    Op = 0x16
	OpAtomicMem      Op = 0x1e
	OpCondExec       Op = 0x22
	OpWriteData      Op = 0x37
	OpWaitRegMem     Op = 0x3c
	OpIndirectBuffer Op = 0x3f
	OpCopyData       Op = 0x40
	OpPFPSyncME      Op = 0x42
	OpEventWrite     Op = 0x46
	OpReleaseMem     Op = 0x49
	OpDMAData        Op = 0x50
	OpAcquireMem     Op = 0x58
	OpSetConfigReg   Op = 0x68
	OpSetShReg       Op = 0x76
	OpSetUConfigReg  Op = 0x79
)

var opNames = map[Op]string{OpNop: "NOP", OpClearState: "CLEAR_STATE", OpDispatchDirect: "DISPATCH_DIRECT", OpDispatchInd: "DISPATCH_INDIRECT",
	OpAtomicMem: "ATOMIC_MEM", OpCondExec: "COND_EXEC", OpWriteData: "WRITE_DATA", OpWaitRegMem: "WAIT_REG_MEM", OpIndirectBuffer: "INDIRECT_BUFFER",
	OpCopyData: "COPY_DATA", OpPFPSyncME: "PFP_SYNC_ME", OpEventWrite: "EVENT_WRITE", OpReleaseMem: "RELEASE_MEM", OpDMAData: "DMA_DATA",
	OpAcquireMem: "ACQUIRE_MEM", OpSetConfigReg: "SET_CONFIG_REG", OpSetShReg: "SET_SH_REG", OpSetUConfigReg: "SET_UCONFIG_REG"}

func (o Op) String() string {
	if s := opNames[o]; s != "" {
		return s
	}
	return "UNKNOWN"
}

// Header is the first dword of a packet.
type Header uint32

// Type3 makes the header of a compute packet with n body dwords (1 to 16384).
func Type3(op Op, n int) Header { return 3<<30 | Header(n-1)&0x3fff<<16 | Header(op)<<8 | 2 }

// Type returns bits 31:30.
func (h Header) Type() int { return int(h >> 30) }

// Op returns the operation of a type-3 packet.
func (h Header) Op() Op { return Op(h >> 8) }

// Dwords returns the packet's length with the header.
func (h Header) Dwords() int {
	switch {
	case h.Type() == 2:
		return 1
	case h.Type() == 3 && h.Op() == OpNop && h>>16&0x3fff == 0x3fff:
		return 1
	}
	return 2 + int(h>>16&0x3fff)
}

func addr(w []uint32) uint64 { return uint64(w[0]) | uint64(w[1])<<32 }

func lo(v uint64) uint32 { return uint32(v) }
func hi(v uint64) uint32 { return uint32(v >> 32) }

// IndirectBuffer is INDIRECT_BUFFER: run Dwords dwords at Addr.
type IndirectBuffer struct {
	Addr   uint64
	Dwords uint32
	Chain  bool // jump instead of call
}

const (
	ibChain = 1 << 20
	ibValid = 1 << 23
)

// Append builds the packet as AQL's vendor packet holds it.
func (b IndirectBuffer) Append(w []uint32) []uint32 {
	c := b.Dwords&0xfffff | ibValid
	if b.Chain {
		c |= ibChain
	}
	return append(w, uint32(Type3(OpIndirectBuffer, 3)&^2), lo(b.Addr), hi(b.Addr), c)
}

// ReadIndirectBuffer takes the body apart.
func ReadIndirectBuffer(b []uint32) IndirectBuffer {
	return IndirectBuffer{Addr: addr(b) &^ 3, Dwords: b[2] & 0xfffff, Chain: b[2]&ibChain != 0}
}

// AcquireMem is ACQUIRE_MEM: invalidate caches for a range (Size 0 with Base 0 and all ones mean everything).
type AcquireMem struct {
	CoherCntl  uint32
	Base, Size uint64 // in units of 256 bytes
	GCRCntl    uint32 // gfx10 on
}

const (
	coherSHICache = 1 << 29
	gcrGLIInv     = 3
)

// Append builds the packet; gcr chooses the form of gfx10 and later.
func (a AcquireMem) Append(w []uint32, gcr bool) []uint32 {
	n := 6
	if gcr {
		n = 7
	}
	w = append(w, uint32(Type3(OpAcquireMem, n)), a.CoherCntl, lo(a.Size), hi(a.Size), lo(a.Base), hi(a.Base), 10)
	if gcr {
		w = append(w, a.GCRCntl)
	}
	return w
}

// ReadAcquireMem takes the body apart.
func ReadAcquireMem(b []uint32) AcquireMem {
	a := AcquireMem{CoherCntl: b[0], Size: addr(b[1:]), Base: addr(b[3:])}
	if len(b) > 6 {
		a.GCRCntl = b[6]
	}
	return a
}

// InstructionCache reports whether the instruction caches are invalidated.
func (a AcquireMem) InstructionCache() bool {
	return a.CoherCntl&coherSHICache != 0 || a.GCRCntl&gcrGLIInv != 0
}

// Kinds of data of RELEASE_MEM.
const (
	DataNone  = 0
	Data32    = 1
	Data64    = 2
	DataClock = 3 // reference counter
)

// ReleaseMem is RELEASE_MEM: when everything before has ended and its writes are visible, store Data and interrupt.
type ReleaseMem struct {
	Event     uint32 // event type and index, cache actions
	Addr      uint64
	DataSel   uint8
	IntSel    uint8 // 0 none, 1 or 2 interrupt
	Data      uint64
	ContextID uint32
}

// Append builds the packet.
func (r ReleaseMem) Append(w []uint32) []uint32 {
	return append(w, uint32(Type3(OpReleaseMem, 7)), r.Event, uint32(r.IntSel&7)<<24|uint32(r.DataSel&7)<<29, lo(r.Addr), hi(r.Addr), lo(r.Data), hi(r.Data), r.ContextID)
}

// ReadReleaseMem takes the body apart.
func ReadReleaseMem(b []uint32) ReleaseMem {
	return ReleaseMem{Event: b[0], IntSel: uint8(b[1] >> 24 & 7), DataSel: uint8(b[1] >> 29), Addr: addr(b[2:]), Data: addr(b[4:]), ContextID: b[6] & (1<<28 - 1)}
}

// Places that a packet reads or writes.
const (
	SelRegister = 0
	SelMemory   = 1
	SelL2       = 2
	SelMemAsync = 5 // WRITE_DATA and COPY_DATA destination: memory
	SelImm      = 5 // COPY_DATA source
	SelClock    = 9 // COPY_DATA source: reference counter
)

// WriteData is WRITE_DATA.
type WriteData struct {
	Dst  uint8
	Same bool // all data go to one address
	Addr uint64
	Data []uint32
}

// Append builds the packet.
func (d WriteData) Append(w []uint32) []uint32 {
	c := uint32(d.Dst&15)<<8 | 1<<20
	if d.Same {
		c |= 1 << 16
	}
	return append(append(w, uint32(Type3(OpWriteData, 3+len(d.Data))), c, lo(d.Addr), hi(d.Addr)), d.Data...)
}

// ReadWriteData takes the body apart.
func ReadWriteData(b []uint32) WriteData {
	return WriteData{Dst: uint8(b[0] >> 8 & 15), Same: b[0]>>16&1 != 0, Addr: addr(b[1:]), Data: b[3:]}
}

// WaitRegMem is WAIT_REG_MEM. Func has the values of sdma.Compare.
type WaitRegMem struct {
	Func      uint8
	Memory    bool
	Addr      uint64
	Ref, Mask uint32
}

// Append builds the packet.
func (p WaitRegMem) Append(w []uint32) []uint32 {
	c := uint32(p.Func & 7)
	if p.Memory {
		c |= 1 << 4
	}
	return append(w, uint32(Type3(OpWaitRegMem, 6)), c, lo(p.Addr), hi(p.Addr), p.Ref, p.Mask, 4)
}

// ReadWaitRegMem takes the body apart.
func ReadWaitRegMem(b []uint32) WaitRegMem {
	return WaitRegMem{Func: uint8(b[0] & 7), Memory: b[0]>>4&3 == 1, Addr: addr(b[1:]), Ref: b[3], Mask: b[4]}
}

// CopyData is COPY_DATA of one dword, or two with Wide.
type CopyData struct {
	Src, Dst         uint8
	Wide             bool
	SrcAddr, DstAddr uint64 // SrcAddr is the value itself for SelImm
}

// Append builds the packet.
func (c CopyData) Append(w []uint32) []uint32 {
	x := uint32(c.Src&15) | uint32(c.Dst&15)<<8 | 1<<20
	if c.Wide {
		x |= 1 << 16
	}
	return append(w, uint32(Type3(OpCopyData, 5)), x, lo(c.SrcAddr), hi(c.SrcAddr), lo(c.DstAddr), hi(c.DstAddr))
}

// ReadCopyData takes the body apart.
func ReadCopyData(b []uint32) CopyData {
	return CopyData{Src: uint8(b[0] & 15), Dst: uint8(b[0] >> 8 & 15), Wide: b[0]>>16&1 != 0, SrcAddr: addr(b[1:]), DstAddr: addr(b[3:])}
}

// AtomicMem is ATOMIC_MEM. Op has the values of sdma.AtomicOp.
type AtomicMem struct {
	Op       uint8
	Loop     bool
	Addr     uint64
	Src, Cmp uint64
}

// Append builds the packet.
func (a AtomicMem) Append(w []uint32) []uint32 {
	c := uint32(a.Op & 127)
	if a.Loop {
		c |= 1 << 8
	}
	return append(w, uint32(Type3(OpAtomicMem, 8)), c, lo(a.Addr), hi(a.Addr), lo(a.Src), hi(a.Src), lo(a.Cmp), hi(a.Cmp), 0)
}

// ReadAtomicMem takes the body apart.
func ReadAtomicMem(b []uint32) AtomicMem {
	return AtomicMem{Op: uint8(b[0] & 127), Loop: b[0]>>8&15 == 1, Addr: addr(b[1:]), Src: addr(b[3:]), Cmp: addr(b[5:])}
}

// Minimum lengths of bodies, for what Read functions index.
var bodies = map[Op]int{OpDispatchDirect: 4, OpAtomicMem: 8, OpCondExec: 4, OpWriteData: 3, OpWaitRegMem: 6, OpIndirectBuffer: 3, OpCopyData: 5,
	OpEventWrite: 1, OpReleaseMem: 7, OpDMAData: 6, OpAcquireMem: 6, OpSetConfigReg: 1, OpSetShReg: 1, OpSetUConfigReg: 1}

// MinBody returns the shortest body of an operation that the Read functions accept.
func MinBody(op Op) int { return bodies[op] }

// Registers of SET_SH_REG, in dwords; the packet holds the offset from ShRegBase.
const (
	ShRegBase = 0x2c00

	ComputeDispatchInitiator = 0x2e00
	ComputeDimX              = 0x2e01
	ComputeStartX            = 0x2e04
	ComputeNumThreadX        = 0x2e07
	ComputePgmLo             = 0x2e0c
	ComputePgmHi             = 0x2e0d
	ComputePgmRsrc1          = 0x2e12
	ComputePgmRsrc2          = 0x2e13
	ComputeTmpringSize       = 0x2e18
	ComputeScratchBaseLo     = 0x2e10 // COMPUTE_DISPATCH_SCRATCH_BASE: address >> 8
	ComputeScratchBaseHi     = 0x2e11
	ComputePgmRsrc3          = 0x2e28 // gfx10 on
	ComputePgmRsrc3GFX9      = 0x2e2d // gfx90a, gfx94x
	ComputeUserData0         = 0x2e40
	ShRegEnd                 = 0x3000
)

// Bits of COMPUTE_DISPATCH_INITIATOR.
const (
	DispatchShaderEnable     = 1 << 0
	DispatchThreadDimensions = 1 << 5 // dimensions are work-items, else work-groups
	DispatchWave32           = 1 << 15
)
