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
	if len(a.labels) == labelLimit {
		a.fail("too many labels")
	}
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
		if c := &a.consts[i]; m.kind() == kindRIP && m.disp() == 0 && c.label == m.label() {
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
	n uint32 // bits of w
}

// before puts a byte before the others.
func (i *instr) before(b byte) {
	i.w = i.w<<8 | uint64(b)
	i.n += 8
}

// modrm emits the beginning of an instruction, ModRM, SIB, displacement, and tail bytes of immediate, at most 4. scale is the logarithm of the
// disp8 scale (0 outside EVEX).
func (a *Asm) modrm(i instr, reg uint8, m RM, scale uint8, tail int, imm uint32) {
	const longest = 24 // no instruction has more than 15 bytes; what is written at once may go beyond
	at := len(a.Buf)
	if cap(a.Buf)-at < longest {
		a.Buf = slices.Grow(a.Buf, max(4096, at))
	}
	b := a.Buf[at : at+longest]
	low := uint64(m>>rmReg&7) | uint64(reg&7)<<3 // ModRM without its upper bits
	disp := m.disp()
	size := 0 // of the displacement
	switch k := m.kind(); k {
	case kindReg:
		i.w |= (low | 0xc0) << (i.n & 63)
		i.n += 8
		disp = 0
	case kindRIP:
		i.w |= (low&^7 | 5) << (i.n & 63)
		i.n += 8
		place := int32(at) + int32(i.n>>3)
		a.fixups = append(a.fixups, fixup{place, place + 4 + int32(tail), m.label(), disp})
		disp, size = 0, 4
	default:
		if disp != 0 || low&7 == 5 {
			if short := disp >> (scale & 31); short<<(scale&31) == disp && short == int32(int8(short)) {
				low, size, disp = low|0x40, 1, short
			} else {
				low, size = low|0x80, 4
			}
		}
		if m&rmNoIndex != 0 && low&7 != 4 {
			i.w |= low << (i.n & 63)
			i.n += 8
			break
		}
		sib := uint64(m.scale())<<6 | low&7 | 4<<3
		if m&rmNoIndex == 0 {
			sib = sib&^(7<<3) | uint64(m.index()&7)<<3
			if k == kindMem && m.index() == uint8(RSP) {
				a.fail("rsp as index")
			}
		}
		i.w |= (low&^7 | 4 | sib<<8) << (i.n & 63)
		i.n += 16
	}
	n := int(i.n>>3) & 15
	binary.LittleEndian.PutUint64(b, i.w)
	binary.LittleEndian.PutUint32(b[n:], uint32(disp))
	n += size
	binary.LittleEndian.PutUint32(b[n:], imm)
	a.Buf = a.Buf[:at+n+tail]
}
