package ir

// Type is the type of a Value.
type Type uint8

const (
	Void Type = iota
	S1        // uniform truth value
	S32       // uniform 32 bits
	S64       // uniform 64 bits
	V32       // 32 bits in each lane; 8- and 16-bit quantities are kept zero-extended unless an op says otherwise
	V64       // 64 bits in each lane
	M         // lane mask: bit l belongs to lane l; bits at and above the lane count are zero
	T         // Value.N consecutive V32
	TS        // Value.N consecutive S32
)

// Kind is the number format an arithmetic op works in; for integer ops it is KindNone and the Type gives the width.
type Kind uint8

const (
	KindNone Kind = iota
	F16           // in the low half of a V32/S32; results have a zero high half
	BF16          // likewise
	F32
	F64
	I8
	U8
	I16
	U16
	I32
	U32
	I64
	U64
	FP8 // E4M3, FNUZ or OCP by FP.OCP
	BF8 // E5M2
	I4
	U4
	FP4 // E2M1 of OCP's microscaling formats, which have neither infinities nor NaNs
	FP6 // E2M3
	BF6 // E3M2
)

// FP is the floating-point environment of one op: the fields of MODE that matter for its Kind, resolved at lifting.
type FP uint8

const (
	FPRoundMask FP = 3      // 0 nearest even, 1 +inf, 2 -inf, 3 zero (MODE's own encoding)
	FPFlushIn   FP = 1 << 2 // denormal inputs are zero, sign kept
	FPFlushOut  FP = 1 << 3 // denormal results are zero, sign kept
	FPIEEE      FP = 1 << 4 // MODE.IEEE: signalling NaN inputs are quieted (min/max rule)
	FPDX10      FP = 1 << 5 // MODE.DX10_CLAMP: clamp of NaN gives 0
	FPOvfl      FP = 1 << 6 // MODE.FP16_OVFL: f16 overflow gives the largest finite
	FPOCP       FP = 1 << 7 // FP8/BF8 are the OCP formats, else FNUZ
)

// Round returns the rounding field.
func (f FP) Round() FP { return f & FPRoundMask }

// Space is an address space of a memory op.
type Space uint8

const (
	Global  Space = iota // GPU virtual address
	Flat                 // routed by aperture in each lane: LDS, scratch or global
	LDS                  // byte offset in the work-group's LDS
	Scratch              // byte offset in the lane's private memory, swizzled: FLAT_SCRATCH + ((a&^3)*lanes + lane*4 + a&3)
	Const                // scalar loads
	GDS
)

// Pred is a comparison predicate. Integer: unsigned or signed; float: ordered (false on NaN) or unordered (true on NaN).
type Pred uint8

const (
	EQ Pred = iota
	NE
	ULT
	ULE
	UGT
	UGE
	SLT
	SLE
	SGT
	SGE
	// Float predicates.
	FFalse
	FLT
	FEQ
	FLE
	FGT
	FLG // ordered and not equal
	FGE
	FO // neither is NaN
	FU // either is NaN
	FNGE
	FNLG
	FNGT
	FNLE
	FNEQ // unordered or not equal
	FNLT
	FTrue
)

// AtomicOp is the operation of an atomic.
type AtomicOp uint8

const (
	AtomicSwap    AtomicOp = iota
	AtomicCmpSwap          // data is the new value, data2 what old is compared with
	AtomicAdd
	AtomicSub
	AtomicRSub // LDS only: data - old
	AtomicSMin
	AtomicUMin
	AtomicSMax
	AtomicUMax
	AtomicAnd
	AtomicOr
	AtomicXor
	AtomicInc     // old >= data ? 0 : old+1
	AtomicDec     // old == 0 || old > data ? data : old-1
	AtomicFAdd    // by Kind: F32, F64
	AtomicFMin    //
	AtomicFMax    //
	AtomicPkFAdd  // by Kind: F16 or BF16, two halves
	AtomicMskOr   // LDS: (old &^ data) | data2
	AtomicCSub    // old >= data ? old-data : old
	AtomicCondSub // gfx12: likewise, returns old
	AtomicSubClamp
	AtomicWrap // LDS: old >= data ? old-data : old+data2
)

// ID names a Value in its Func.
type ID int32

// NoID marks an absent optional argument.
const NoID ID = -1

// Value is one operation and its result.
type Value struct {
	Op   Op
	Type Type
	N    uint8 // tuple length
	Kind Kind
	From Kind // cvt: source kind
	FP   FP
	Pred Pred
	// Memory ops.
	Space  Space
	Width  uint8 // bytes for each lane of one access: 1, 2, 4, 8, 12, 16, 32, 64 (N*4 for tuples)
	Sign   bool  // sub-dword loads: sign-extend
	Atomic AtomicOp
	Order  Order
	PC     uint32 // byte offset of the guest instruction from Func.PC
	Args   []ID
	Imm    uint64
	Aux    any // *[64]int8 for permconst, *Matrix for mfma, string for illegal
}

// Order holds the cache-scope and ordering bits of a memory op, for checkers; engines on coherent memory ignore them.
type Order uint8

const (
	OrderGLC Order = 1 << iota
	OrderSLC
	OrderDLC
	OrderVolatile
	OrderReturn // atomic whose old value is wanted
)

// Exit says why a Block (or a run) leaves the code.
type Exit uint8

const (
	ExitNone          Exit = iota
	ExitEndPgm             // the wave has ended
	ExitBarrier            // s_barrier: resume at Next when the work-group has arrived
	ExitSleep              // s_sleep, s_wakeup: give the worker away, resume at Next; Imm is simm16
	ExitTrap               // s_trap: Imm is the trap id; PC is that of the s_trap
	ExitHalt               // s_sethalt 1
	ExitMode               // MODE or other keyed state changed: look up code for Next again
	ExitIllegal            // reserved or unimplemented encoding at PC; Msg says what
	ExitIndirect           // s_setpc, s_swappc, s_rfe, s_cbranch_i: the new PC is in Cond (S64)
	ExitFetch              // control runs out of the lifted region, or of the memory that was there: look up code for Next
	ExitFuel               // runs only: fuel ran out on a back-edge
	ExitFault              // runs only: memory fault
	ExitMsg                // s_sendmsg with an effect on scheduling (DEALLOC_VGPRS is not one)
	ExitICache             // s_icache_inv
	ExitBarrierSignal      // gfx12 s_barrier_signal/wait/join/init/leave: Imm holds sub-op<<32 | id
	ExitGWS                // ds_gws_*: Imm holds sub-op<<32 | register<<16 | offset (lift.GWSInit ...)
)

// TermKind is the kind of a block terminator.
type TermKind uint8

const (
	TermJump   TermKind = iota // to Then
	TermBranch                 // on Cond (S1): Then or Else
	TermExit                   // Exit, with Next as the resume PC
)

// Term ends a Block.
type Term struct {
	Kind TermKind
	Cond ID
	Then int // block indexes
	Else int
	Exit Exit
	Imm  uint64
	Next uint32 // PC offset from Func.PC (may wrap below it: add as int32)
	PC   uint32 // guest instruction that leaves
	Msg  string // ExitIllegal: what could not be decoded or lifted
}

// Block is a straight run of values with one terminator.
type Block struct {
	Index int
	PC    uint32 // guest offset of its first instruction
	Insts int    // guest instructions in it: its cost in fuel
	Code  []ID   // values in execution order
	Term  Term
}

// Func is the lifted code reachable by direct branches from PC. Blocks[0] is the entry.
type Func struct {
	PC     uint64 // guest virtual address
	Mode   uint32 // MODE bits it was lifted for
	Lanes  int    // 32 or 64
	Target string
	Blocks []*Block
	Values []Value
	Size   int // bytes of guest code covered, for invalidation: [PC+Lo, PC+Hi)
	Lo, Hi int32
}

// V returns the value named id.
func (f *Func) V(id ID) *Value { return &f.Values[id] }

// Add appends v to block b and returns its name.
func (f *Func) Add(b *Block, v Value) ID {
	id := ID(len(f.Values))
	f.Values = append(f.Values, v)
	b.Code = append(b.Code, id)
	return id
}
