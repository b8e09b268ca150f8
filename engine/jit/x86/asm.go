package x86

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Reg is a 64-bit general register; the operand size is chosen per instruction.
type Reg uint8

// General registers in encoding order.
const (
	RAX Reg = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
)

// noReg marks an absent index register.
const noReg = 0xff

// Vec is a vector register 0–31: xmm, ymm or zmm by the vector length of the instruction.
type Vec uint8

// K is a mask register 0–7. As an instruction's write mask, K0 means no mask.
type K uint8

// CC is a condition code as the low four bits of jcc, setcc and cmovcc.
type CC uint8

// Condition codes.
const (
	O  CC = iota // overflow
	NO           // no overflow
	B            // below (carry)
	AE           // above or equal (no carry)
	E            // equal (zero)
	NE           // not equal
	BE           // below or equal
	A            // above
	S            // sign
	NS           // no sign
	P            // parity
	NP           // no parity
	L            // less (signed)
	GE           // greater or equal (signed)
	LE           // less or equal (signed)
	G            // greater (signed)
)

// Not gives the opposite condition.
func (c CC) Not() CC { return c ^ 1 }

// kinds of the r/m operand.
const (
	kindReg = iota
	kindMem
	kindVSIB
	kindRIP
)

// RM is the operand that ModRM's r/m field describes: a register of any class, or memory.
type RM struct {
	kind  uint8
	reg   uint8 // register number, or memory base
	index uint8 // index register, vector index for VSIB, or noReg
	scale uint8 // log2 of 1, 2, 4, 8
	bcast bool  // EVEX embedded broadcast
	disp  int32
	label Label
}

// R is a general register as r/m operand.
func R(r Reg) RM { return RM{reg: uint8(r)} }

// V is a vector register as r/m operand.
func V(v Vec) RM { return RM{reg: uint8(v)} }

// KR is a mask register as r/m operand.
func KR(k K) RM { return RM{reg: uint8(k)} }

// M is memory at base + disp.
func M(base Reg, disp int32) RM { return RM{kind: kindMem, reg: uint8(base), index: noReg, disp: disp} }

// MX is memory at base + index·scale + disp; scale is 1, 2, 4 or 8 and index is not RSP.
func MX(base, index Reg, scale int, disp int32) RM {
	return RM{kind: kindMem, reg: uint8(base), index: uint8(index), scale: log2(scale), disp: disp}
}

// MV is a gather or scatter address: base + vector index·scale + disp, element by element.
func MV(base Reg, index Vec, scale int, disp int32) RM {
	return RM{kind: kindVSIB, reg: uint8(base), index: uint8(index), scale: log2(scale), disp: disp}
}

// ML is memory at a label plus off, addressed relative to the instruction pointer.
func ML(l Label, off int32) RM { return RM{kind: kindRIP, index: noReg, disp: off, label: l} }

// Bcast gives the same memory operand with one element broadcast to all (EVEX only).
func (m RM) Bcast() RM { m.bcast = true; return m }

// Num is the register's number, of any class.
func (m RM) Num() uint8 { return m.reg }

// HasBcast tells whether Bcast made the operand; Plain takes that back.
func (m RM) HasBcast() bool { return m.bcast }

// Plain gives the same memory operand without a broadcast.
func (m RM) Plain() RM { m.bcast = false; return m }

// Index is the vector index of an operand of [MV].
func (m RM) Index() Vec { return Vec(m.index) }

// WithIndex is an operand of [MV] with another vector index.
func (m RM) WithIndex(v Vec) RM { m.index = uint8(v); return m }

// OneElement is the address of one element of an operand of [MV], whose index is in a general register.
func (m RM) OneElement(index Reg) RM { m.kind, m.index = kindMem, uint8(index); return m }

// Add gives the same memory operand moved by d bytes.
func (m RM) Add(d int32) RM { m.disp += d; return m }

// IsMem tells whether the operand is memory.
func (m RM) IsMem() bool { return m.kind != kindReg }

// IsReg tells whether the operand is a register with this number.
func (m RM) IsReg(n uint8) bool { return m.kind == kindReg && m.reg == n }

func log2(scale int) uint8 {
	switch scale {
	case 2:
		return 1
	case 4:
		return 2
	case 8:
		return 3
	}
	return 0
}

// Label names a place in the code; make it with [Asm.NewLabel], put it with [Asm.Bind].
type Label int32

type fixup struct {
	at    int32 // offset of the 32-bit field
	end   int32 // offset that the displacement counts from
	label Label
	add   int32
}

// Asm collects code. The zero value is ready; Reset reuses its memory.
type Asm struct {
	Buf    []byte
	List   func(at int, text string) // when set, is told of each instruction and label as it is emitted
	labels []int32                   // offset, or -1 while unbound
	fixups []fixup
	consts []poolConst
	index  []int32 // of consts, plus one, by hash of their data; a power of two long
	data   []byte  // of consts
	err    error

	// Lower, if set, is given every vector and mask instruction instead of its being encoded: it emits others, with Raw, that do the same.
	Lower func(i *Inst, l VL, reg, vv uint8, m RM, imm uint8, mod Mod)
}

type poolConst struct {
	label Label
	align int
	data  []byte
}

// Reset empties the assembler and keeps its buffers.
func (a *Asm) Reset() {
	a.Buf, a.labels, a.fixups, a.consts, a.err = a.Buf[:0], a.labels[:0], a.fixups[:0], a.consts[:0], nil
	a.data = a.data[:0]
	clear(a.index)
}

// Err is the first thing that could not be encoded, or nil.
func (a *Asm) Err() error { return a.err }

// Fail records an error of the caller's, like one of encoding.
func (a *Asm) Fail(msg string) { a.fail("%s", msg) }

func (a *Asm) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("x86: at offset %#x: "+format, append([]any{len(a.Buf)}, args...)...)
	}
}

// Len is the number of bytes emitted so far.
func (a *Asm) Len() int { return len(a.Buf) }

// NewLabel makes a label that is not bound yet.
func (a *Asm) NewLabel() Label {
	a.labels = append(a.labels, -1)
	return Label(len(a.labels) - 1)
}

// Bind puts the label here.
func (a *Asm) Bind(l Label) {
	if a.labels[l] >= 0 {
		a.fail("label %d bound twice", l)
		return
	}
	a.labels[l] = int32(len(a.Buf))
	if a.List != nil {
		a.note(".L%d:", l)
	}
}

// Offset is where the label is bound, or -1.
func (a *Asm) Offset(l Label) int { return int(a.labels[l]) }

// Const gives a label for read-only bytes put behind the code by [Asm.Finish]. Equal bytes share one place.
func (a *Asm) Const(data []byte, align int) Label {
	if len(a.index) < 2*len(a.consts)+16 {
		a.reindex()
	}
	slot := hash(data) & uint32(len(a.index)-1)
	for ; a.index[slot] > 0; slot = (slot + 1) & uint32(len(a.index)-1) {
		c := &a.consts[a.index[slot]-1]
		if string(c.data) == string(data) {
			c.align = max(c.align, align)
			return c.label
		}
	}
	l := a.NewLabel()
	n := len(a.data)
	a.data = append(a.data, data...) // where it grows, earlier constants keep the old array
	a.consts = append(a.consts, poolConst{l, align, a.data[n:len(a.data):len(a.data)]})
	a.index[slot] = int32(len(a.consts))
	return l
}

// reindex makes the table of constants twice as large.
func (a *Asm) reindex() {
	a.index = make([]int32, max(64, 2*len(a.index)))
	for i := range a.consts {
		slot := hash(a.consts[i].data) & uint32(len(a.index)-1)
		for a.index[slot] > 0 {
			slot = (slot + 1) & uint32(len(a.index)-1)
		}
		a.index[slot] = int32(i + 1)
	}
}

func hash(b []byte) uint32 {
	h := uint64(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h = (h ^ uint64(binary.LittleEndian.Uint32(b))) * 0x9e3779b97f4a7c15
	}
	for _, x := range b {
		h = (h ^ uint64(x)) * 0x9e3779b97f4a7c15
	}
	return uint32(h >> 32)
}

// ConstData is the data of the constant that m addresses, nil if it addresses none.
func (a *Asm) ConstData(m RM) []byte {
	for i := range a.consts {
		if c := &a.consts[i]; m.kind == kindRIP && m.disp == 0 && c.label == m.label {
			return c.data
		}
	}
	return nil
}

// Const32 is Const of one little-endian dword.
func (a *Asm) Const32(v uint32) Label {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return a.Const(b[:], 4)
}

// Const64 is Const of one little-endian qword.
func (a *Asm) Const64(v uint64) Label {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return a.Const(b[:], 8)
}

// Align pads with breakpoint bytes to a multiple of n.
func (a *Asm) Align(n int) {
	for len(a.Buf)%n != 0 {
		a.Buf = append(a.Buf, 0xcc)
	}
}

// Finish puts the constants behind the code and resolves every label. The code starts at a 64-byte boundary of the
// memory it will run from. It returns the first error of the whole emission.
func (a *Asm) Finish() ([]byte, error) {
	for i := range a.consts {
		c := &a.consts[i]
		a.Align(c.align)
		if a.List != nil {
			a.note(".L%d: constant %x", c.label, c.data)
		}
		a.labels[c.label] = int32(len(a.Buf))
		a.Buf = append(a.Buf, c.data...)
	}
	a.consts = a.consts[:0]
	clear(a.index)
	for _, f := range a.fixups {
		to := a.labels[f.label]
		if to < 0 {
			a.fail("label %d never bound", f.label)
			continue
		}
		binary.LittleEndian.PutUint32(a.Buf[f.at:], uint32(to+f.add-f.end))
	}
	a.fixups = a.fixups[:0]
	return a.Buf, a.err
}

func (a *Asm) i32(v int32) { a.Buf = binary.LittleEndian.AppendUint32(a.Buf, uint32(v)) }

// instr is the beginning of an instruction: up to six bytes, the first lowest, of prefixes and opcode.
type instr struct {
	w uint64
	n uint8 // bits of w
}

func (i *instr) put(b byte) {
	i.w |= uint64(b) << (i.n & 63)
	i.n += 8
}

// modrm emits the beginning of an instruction, ModRM, SIB and displacement. scale is the logarithm of the disp8 scale (0 outside EVEX), tail
// the bytes of immediate that follow (a rip-relative displacement counts from the end of the instruction).
func (a *Asm) modrm(i instr, reg uint8, m RM, scale uint8, tail int) {
	const longest = 24 // no instruction has more than 15 bytes; what is written at once may go beyond
	at := len(a.Buf)
	if cap(a.Buf)-at < longest {
		a.Buf = slices.Grow(a.Buf, max(4096, at))
	}
	b := a.Buf[at : at+longest]
	reg = reg & 7 << 3
	var mod byte
	switch m.kind {
	case kindReg:
		i.put(0xc0 | reg | m.reg&7)
	case kindRIP:
		i.put(reg | 5)
		place := int32(at) + int32(i.n>>3)
		a.fixups = append(a.fixups, fixup{place, place + 4 + int32(tail), m.label, m.disp})
		m.disp, mod = 0, 0x80
	default:
		short := m.disp >> (scale & 31)
		switch {
		case m.disp == 0 && m.reg&7 != 5:
		case short<<(scale&31) == m.disp && short == int32(int8(short)):
			mod, m.disp = 0x40, short
		default:
			mod = 0x80
		}
		if m.index == noReg && m.reg&7 != 4 {
			i.put(mod | reg | m.reg&7)
			break
		}
		index := byte(4)
		if m.index != noReg {
			index = m.index & 7
			if m.kind == kindMem && m.index == uint8(RSP) {
				a.fail("rsp as index")
			}
		}
		i.put(mod | reg | 4)
		i.put(m.scale<<6 | index<<3 | m.reg&7)
	}
	n := int(i.n>>3) & 15
	binary.LittleEndian.PutUint64(b, i.w)
	binary.LittleEndian.PutUint32(b[n:], uint32(m.disp))
	// ModRM's upper bits say how long the displacement is.
	switch mod {
	case 0x40:
		n++
	case 0x80:
		n += 4
	}
	a.Buf = a.Buf[:at+n]
}
