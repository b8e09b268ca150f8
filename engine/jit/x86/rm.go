package x86

// RM is the operand that ModRM's r/m field describes: a register of any class, or memory. It is one word, which a call passes in a register:
// from the lowest bit, kind (2), broadcast (1), register or memory base (5), index register (6; the highest for none), logarithm of the
// scale (2); the displacement is the upper half. A label is where the index and what follows would be, 24 bits.
type RM uint64

// kinds of the r/m operand.
const (
	kindReg RM = iota
	kindMem
	kindVSIB
	kindRIP
	kindMask = 3
)

const (
	rmBcast    RM = 1 << 2 // EVEX embedded broadcast
	rmReg         = 3
	rmIndex       = 8
	rmNoIndex  RM = 1 << 13
	rmScale       = 14
	rmLabel       = 8
	rmDisp        = 32
	indexMask  RM = 63 << rmIndex
	labelLimit    = 1 << (rmDisp - rmLabel)
)

// R is a general register as r/m operand.
func R(r Reg) RM { return RM(r) << rmReg }

// V is a vector register as r/m operand.
func V(v Vec) RM { return RM(v) << rmReg }

// KR is a mask register as r/m operand.
func KR(k K) RM { return RM(k) << rmReg }

// M is memory at base + disp.
func M(base Reg, disp int32) RM {
	return kindMem | RM(base)<<rmReg | rmNoIndex | RM(uint32(disp))<<rmDisp
}

// MX is memory at base + index·scale + disp; scale is 1, 2, 4 or 8 and index is not RSP.
func MX(base, index Reg, scale int, disp int32) RM {
	return kindMem | RM(base)<<rmReg | RM(index)<<rmIndex | log2(scale)<<rmScale | RM(uint32(disp))<<rmDisp
}

// MV is a gather or scatter address: base + vector index·scale + disp, element by element.
func MV(base Reg, index Vec, scale int, disp int32) RM {
	return kindVSIB | RM(base)<<rmReg | RM(index)<<rmIndex | log2(scale)<<rmScale | RM(uint32(disp))<<rmDisp
}

// ML is memory at a label plus off, addressed relative to the instruction pointer.
func ML(l Label, off int32) RM { return kindRIP | RM(l)<<rmLabel | RM(uint32(off))<<rmDisp }

func log2(scale int) RM { return RM(scale>>1 - scale>>3) } // of 1, 2, 4, 8

// Bcast gives the same memory operand with one element broadcast to all (EVEX only).
func (m RM) Bcast() RM { return m | rmBcast }

// HasBcast tells whether Bcast made the operand; Plain takes that back.
func (m RM) HasBcast() bool { return m&rmBcast != 0 }

// Plain gives the same memory operand without a broadcast.
func (m RM) Plain() RM { return m &^ rmBcast }

// Num is the register's number, of any class.
func (m RM) Num() uint8 { return uint8(m>>rmReg) & 31 }

// Index is the vector index of an operand of [MV].
func (m RM) Index() Vec { return Vec(m.index()) }

// WithIndex is an operand of [MV] with another vector index.
func (m RM) WithIndex(v Vec) RM { return m&^indexMask | RM(v)<<rmIndex }

// OneElement is the address of one element of an operand of [MV], whose index is in a general register.
func (m RM) OneElement(index Reg) RM {
	return m&^(kindMask|indexMask) | kindMem | RM(index)<<rmIndex
}

// Add gives the same memory operand moved by d bytes.
func (m RM) Add(d int32) RM { return m + RM(d)<<rmDisp }

// IsMem tells whether the operand is memory.
func (m RM) IsMem() bool { return m&kindMask != kindReg }

// IsReg tells whether the operand is a register with this number.
func (m RM) IsReg(n uint8) bool { return !m.IsMem() && m.Num() == n }

func (m RM) kind() RM     { return m & kindMask }
func (m RM) index() uint8 { return uint8(m>>rmIndex) & 63 }
func (m RM) scale() uint8 { return uint8(m>>rmScale) & 3 }
func (m RM) disp() int32  { return int32(m >> rmDisp) }
func (m RM) label() Label { return Label(m>>rmLabel) & (labelLimit - 1) }

// withNum is the operand with another register.
func (m RM) withNum(n uint8) RM { return m&^(31<<rmReg) | RM(n)<<rmReg }
