package isa

// Format is an instruction encoding family. The names are those of the ISA manuals; families that differ between
// generations only in field positions (SMEM of gfx9 and gfx12, MUBUF and gfx12's VBUFFER) share one Format, and the
// decode tables know the positions.
type Format uint8

const (
	FormatInvalid Format = iota
	SOP2
	SOPK
	SOP1
	SOPC
	SOPP
	SMEM
	VOP2
	VOP1
	VOPC
	VOP3 // VOP3A and VOP3B, and VOP1/VOP2/VOPC promoted to 64 bits
	VOP3P
	VOPD
	DS
	FLAT // flat_*
	GLOBAL
	SCRATCH
	MUBUF
	MTBUF
	MIMG
	EXP
	VINTRP
	LDSDIR
	VINTERP // interpolation of gfx11+
	VIMAGE  // images of gfx12; the older ones are MIMG
	VSAMPLE
	NumFormats
)

// OperandKind says where an operand's value lives.
type OperandKind uint8

const (
	OperandNone OperandKind = iota
	// OperandSGPR is a scalar register by its canonical number (see SReg): s0..s105, vcc, ttmp, m0, exec, null, scc.
	// Decoders map every generation's numbering onto the canonical one, so lifting never asks for the generation.
	OperandSGPR
	OperandVGPR // v0..v255
	OperandAcc  // a0..a255, the accumulation registers of CDNA
	// OperandConst is an inline constant; Value holds its bits, already in the operand's own type (1.0 as f16 is
	// 0x3c00, as f32 0x3f800000, as f64 0x3ff0000000000000; integers sign-extended to the operand's width).
	OperandConst
	// OperandLiteral is a 32-bit literal that follows the instruction; Value holds its bits extended by the rule of
	// the operand's type (f64: literal in the high half; signed 64: sign-extended; else zero-extended).
	OperandLiteral
	// OperandSpecial is a read-only hardware value: Reg holds a Special.
	OperandSpecial
	// OperandImm is an immediate field that is not a register operand (SOPP's simm16, hwreg, waitcnt...): Value.
	OperandImm
	// OperandLDSDirect reads LDS at M0 (gfx9 SRC_LDS_DIRECT).
	OperandLDSDirect
)

// Special is a source operand that names a value of the wave's environment.
type Special uint16

const (
	SrcSharedBase Special = iota
	SrcSharedLimit
	SrcPrivateBase
	SrcPrivateLimit
	SrcPopsExitingWaveID
	SrcVCCZ
	SrcEXECZ
	SrcSCC
)

// Canonical scalar register numbers. The wave state keeps one uint32 for each (engine/wave), in this numbering.
const (
	SRegVCCLo  = 106
	SRegVCCHi  = 107
	SRegTTMP0  = 108 // ttmp0..ttmp15 are 108..123
	SRegM0     = 124
	SRegNull   = 125 // reads 0, writes vanish
	SRegEXECLo = 126
	SRegEXECHi = 127
	// SRegSCC and the ones below have no encoding number of their own; they live behind the encodable ones.
	SRegSCC           = 128 // 0 or 1
	SRegFlatScratchLo = 129 // gfx10+: FLAT_SCRATCH is reached by s_setreg only; on gfx9 it is s102/s103 (canonical 129/130 too)
	SRegFlatScratchHi = 130
	SRegXnackMaskLo   = 131 // s104/s105 on gfx9 with XNACK
	SRegXnackMaskHi   = 132
	SRegMODE          = 133
	SRegSTATUS        = 134
	SRegTRAPSTS       = 135
	NumSRegs          = 144
)

// DataType is the type by which an operand is read or written; it decides inline-constant bits, modifiers and width.
type DataType uint8

const (
	TypeNone DataType = iota
	B8
	B16
	B32
	B64
	B96
	B128
	B256
	B512
	B1024
	U8
	I8
	U16
	I16
	U32
	I32
	U64
	I64
	F16
	BF16
	F32
	F64
	V2F16 // packed
	V2BF16
	V2I16
	V2U16
	V2B16
	V2F32
	V2B32
	V4I8 // dot products
	V4U8
	V8I4
	V8U4
	MaskT // a lane mask: one SGPR in wave32, a pair in wave64
	FP8
	BF8
)

// Operand is one decoded operand.
type Operand struct {
	Kind  OperandKind
	Type  DataType
	Reg   uint16 // canonical SGPR number, VGPR number or Special
	N     uint8  // width in dwords (registers); 0 for immediates; 16-bit operands have N=1
	Hi    bool   // gfx11+ true16: the high half of a VGPR; of an OperandLiteral: a K constant
	hard  hard   // in a plan's table: why the plan cannot give the operand; 0 in a decoded instruction
	Value uint64 // OperandConst, OperandLiteral, OperandImm
}

// DPPKind distinguishes the data-parallel-primitive encodings.
type DPPKind uint8

const (
	NoDPP DPPKind = iota
	DPP16
	DPP8
)

// SDWA selects (gfx8–gfx10 sub-dword addressing).
const (
	SelByte0 = 0
	SelByte1 = 1
	SelByte2 = 2
	SelByte3 = 3
	SelWord0 = 4
	SelWord1 = 5
	SelDword = 6

	UnusedPad      = 0
	UnusedSext     = 1
	UnusedPreserve = 2
)

// Inst is one decoded instruction. Decoding it allocates nothing.
type Inst struct {
	Op   *Op    // the table row; nil when the word does not decode
	Fmt  Format // encoding actually used (a VOP2 opcode in its 64-bit form has VOP3)
	Size uint8  // bytes: 4, 8, 12, 16 or 20
	NDst uint8
	NSrc uint8
	rare bool       // something in Rare may be set
	Dst  [2]Operand // Dst[1]: carry-out / second result (VOP3B sdst, VOPD has it in Y)
	Src  [4]Operand // in the order of the table row; memory ops: see Op.Src; carry-in last

	Modifiers
	Access
	Raw [5]uint32 // the words, Size/4 of them
	Rare
}

// Modifiers are what an instruction does besides to its operands; bit i belongs to Src[i]. OpSel bit 3 is the destination half.
type Modifiers struct {
	Neg, Abs       uint8
	NegHi          uint8 // VOP3P
	OpSel, OpSelHi uint8
	Clamp          bool
	Omod           uint8 // 0 none, 1 *2, 2 *4, 3 /2
	CBSZ, ABID     uint8 // MFMA
	BLGP           uint8
	IndexKey       uint8 // SWMMAC: which part of the index register

	SDWA      bool
	SrcSel    [2]uint8
	SrcSext   uint8
	DstSel    uint8
	DstUnused uint8

	DPP       DPPKind
	DPPCtrl   uint16 // DPP16: 9 bits; DPP8: see DPP8Sel
	DPP8Sel   uint32 // eight 3-bit selects
	BankMask  uint8
	RowMask   uint8
	BoundCtrl bool
	FI        bool
	Bitop3    uint8 // v_bitop3: bit 4*s0+2*s1+s2 is the result for these inputs
}

// Access is how an instruction of the memory families reaches memory.
type Access struct {
	Offset  int32 // signed byte offset (SMEM, FLAT, MUBUF); DS: offset0 | offset1<<8 or the 16-bit offset
	Offset0 uint8 // DS two-address forms
	Offset1 uint8
	OffEn   bool // MUBUF
	IdxEn   bool
	LDS     bool // MUBUF/GLOBAL load to LDS
	GDS     bool
	TFE     bool
	GLC     bool // returns the old value for atomics (SC0 on gfx940, TH_RETURN on gfx12)
	SLC     bool
	DLC     bool
	SCC     bool // gfx90a's SCC bit, SC1 on gfx940
	NT      bool
	CPol    uint8 // raw cache policy bits, for the disassembler (gfx12: scope | th<<2)
	Acc     bool  // data operand lives in AccVGPRs
	SAddr   bool  // GLOBAL/SCRATCH: has an SGPR base
	SVE     bool  // SCRATCH: has a VGPR address (gfx11+; on earlier ones: SAddr absent)
	DMask   uint8 // MIMG
	MTFmt   uint8 // MTBUF format
	Dim     uint8
	UNorm   bool
	A16     bool
	D16     bool
	R128    bool
	Hi16    bool // v_interp: the high half of the attribute
	LWE     bool
	DA      bool // MIMG of gfx9: the address has a slice
}

// Rare is what few instructions have: images, graphics, dual issue.
type Rare struct {
	NAddr   uint8
	Addr    [13]AddressRun // images: NAddr runs of address registers
	Export  Export
	WaitExp uint8 // VINTERP: export count to wait for
	WaitVA  uint8 // LDS direct loads: VALU destinations outstanding
	WaitVM  uint8

	// VOPD: the Y half; the X half is Op/Dst[0]/Src. Both read before either writes.
	// v_mfma_scale: YSrc are the scales of A and of B.
	Y    *Op
	YDst Operand
	YSrc [3]Operand
	NY   uint8
}

// Export is what an EXP instruction adds to its four sources.
type Export struct {
	Target     uint8 // 0-7 color, 8 depth, 12-16 position, 20 primitive, 32-63 parameter
	Enable     uint8 // bit i: source i is written
	Compressed bool  // two 16-bit values in each of the first two sources
	Done       bool
	ValidMask  bool
	RowEnable  bool
}

// Op is one row of the instruction tables: one mnemonic of one encoding family, the same for every generation.
type Op struct {
	Name    string    // canonical mnemonic without encoding suffix: the newest spelling ("ds_load_b32")
	Aliases []string  // other spellings by generation ("ds_read_b32")
	Fmt     Format    // native family
	Code    [16]int16 // opcode by Gen; -1 where absent
	Dst     []OperandSpec
	Src     []OperandSpec
	Flags   Flags
	ID      int // dense index of the row, for coverage tables and lifting dispatch

	attr attr // what decoding and spelling need to know besides
}

// OperandSpec is the table's description of one operand.
type OperandSpec struct {
	Name string // field: "vdst", "sdst", "src0", "vsrc1", "saddr", "vaddr", "vdata", "soffset", "srsrc", "simm16", "vcc", ...
	Type DataType
	N    uint8
	Dst  bool
}

// Flags are properties of an Op that decoding, lifting or checkers ask for.
type Flags uint64

const (
	FlagReadsVCC   Flags = 1 << iota // implicit VCC source (a mask)
	FlagWritesVCC                    // implicit VCC destination (VOP2 carry forms, VOPC e32)
	FlagReadsSCC                     //
	FlagWritesSCC                    //
	FlagReadsDst                     // destination is also a source (fmac, dot2c, writelane, bitset, cmov)
	FlagWritesEXEC                   // v_cmpx, saveexec
	FlagFloat                        // takes neg/abs/omod and float clamp
	FlagIntClamp                     // integer saturating clamp
	FlagBranch                       // changes PC
	FlagTerminator                   // ends a basic block
	FlagLoad                         //
	FlagStore                        //
	FlagAtomic                       //
	FlagNoVOP3                       // has no promoted form
	FlagNoSDWA                       //
	FlagNoDPP                        //
	FlagMFMA                         //
	FlagTransc                       // transcendental unit
	FlagTwoAddr                      // DS two-address form
	FlagMadK                         // has the inline 32-bit K operand
	FlagWritesMask                   // result is a lane mask in SGPRs (VOPC promoted, VOP3B)
	FlagBarrier                      //
	FlagNop                          // no architectural effect in a synchronous model (waits, hints)
)

// Has reports whether all of f2's bits are set.
func (f Flags) Has(f2 Flags) bool { return f&f2 == f2 }
