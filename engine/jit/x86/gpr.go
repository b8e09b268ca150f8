package x86

import "encoding/binary"

// gform is how a general instruction takes its operands.
type gform uint8

const (
	gRM   gform = iota // reg ← r/m
	gMR                // r/m ← reg
	gM                 // r/m only, opcode extension
	gMI8               // r/m, imm8, opcode extension
	gRMI               // reg ← r/m, imm32 (imm8 form: opcode | 2)
	gMRI8              // r/m ← reg, imm8
)

// GInst is one general instruction: a line of gtable.go. Operand sizes are 1, 2, 4 or 8 bytes.
type GInst struct {
	name string
	pfx  byte // mandatory prefix or 0
	m    byte // opcode map: 0, 1 (0F), 2 (0F38)
	op   byte
	form gform
	ext  byte
	size gsize

	sizes uint16 // operand sizes that there are, a bit for each
	code  instr  // the opcode with its map
}

// gsize tells which operand sizes there are and whether the opcode of the byte form is one less.
type gsize uint8

const (
	g8    gsize = 1 << iota // byte form at op-1
	g16                     // 16 bits with 66 prefix
	g32                     // 32 bits
	g64                     // 64 bits
	only8                   // a byte operand, op as given
	gnw                     // no REX.W needed or allowed
	src8                    // r/m operand is a byte whatever the size
	src16                   // r/m operand is a word whatever the size
	gall  = g8 | g16 | g32 | g64
	gw    = g16 | g32 | g64
	gdq   = g32 | g64
)

// Name is the mnemonic.
func (i *GInst) Name() string { return i.name }

var generalTable []*GInst

func gi(name string, pfx, m, op byte, form gform, ext byte, size gsize) *GInst {
	i := &GInst{name: name, pfx: pfx, m: m, op: op, form: form, ext: ext, size: size, code: opcode(m, op)}
	for _, x := range [...]struct {
		bits gsize
		size int
	}{{g8 | only8, 1}, {g16, 2}, {g32, 4}, {g64, 8}} {
		if size&x.bits != 0 {
			i.sizes |= 1 << x.size
		}
	}
	generalTable = append(generalTable, i)
	return i
}

// opcode is an opcode of map m.
func opcode(m, op byte) instr {
	i := instr{uint64(op), 8}
	switch m {
	case 1:
		i.before(0x0f)
	case 2:
		i.before(0x38)
		i.before(0x0f)
	}
	return i
}

// head gives prefixes, REX and an opcode of map 0 or 1. byteReg tells that reg is a byte register, byteRM the same of r/m.
func head(m, op byte, size int, reg uint8, rm RM, byteReg, byteRM bool) instr {
	return opcode(m, op).prefixed(0, size, reg, rm, byteReg, byteRM)
}

// prefixed puts prefixes and REX before an opcode.
func (i instr) prefixed(pfx byte, size int, reg uint8, rm RM, byteReg, byteRM bool) instr {
	rex := reg >> 3 << 2
	if k := rm.kind(); k != kindRIP {
		rex |= rm.Num() >> 3
		if k == kindMem && rm&rmNoIndex == 0 {
			rex |= rm.index() >> 3 << 1
		}
		if byteReg && reg >= 4 || byteRM && k == kindReg && rm.Num() >= 4 {
			rex |= 0x40
		}
	} else if byteReg && reg >= 4 {
		rex |= 0x40
	}
	if size == 8 {
		rex |= 8
	}
	if rex != 0 {
		i.before(rex | 0x40)
	}
	if pfx != 0 {
		i.before(pfx)
	}
	if size == 2 {
		i.before(0x66)
	}
	return i
}

// refuse records that an instruction has no such form or size.
func (a *Asm) refuse(i *GInst, size int) { a.fail("%s: wrong size %d or form", i.name, size) }

// general emits i, which must have form f.
func (a *Asm) general(i *GInst, f gform, size int, reg uint8, rm RM, tail int, imm uint8) {
	if i.form != f || i.sizes>>(size&15)&1 == 0 {
		a.refuse(i, size)
	}
	code := i.code
	b := size == 1
	if b && i.size&g8 != 0 {
		code = opcode(i.m, i.op-1)
	}
	if i.size&gnw != 0 {
		size = 4
	}
	regIsOperand := f != gM && f != gMI8
	a.modrm(code.prefixed(i.pfx, size, reg, rm, b && regIsOperand, b || i.size&src8 != 0), reg, rm, 0, tail, uint32(imm))
}

// G emits a two-operand instruction with reg as destination and r/m as source.
func (a *Asm) G(i *GInst, size int, reg Reg, rm RM) {
	if a.List != nil {
		a.noteGeneral(i, size, uint8(reg), rm, -1)
	}
	a.general(i, gRM, size, uint8(reg), rm, 0, 0)
}

// GS emits a two-operand instruction with r/m as destination and reg as source.
func (a *Asm) GS(i *GInst, size int, rm RM, reg Reg) {
	if a.List != nil {
		a.noteGeneral(i, size, uint8(reg), rm, -1)
	}
	a.general(i, gMR, size, uint8(reg), rm, 0, 0)
}

// G1 emits an instruction whose only explicit operand is r/m.
func (a *Asm) G1(i *GInst, size int, rm RM) {
	if a.List != nil {
		a.noteGeneral(i, size, 0, rm, -1)
	}
	a.general(i, gM, size, i.ext, rm, 0, 0)
}

// GI8 emits an instruction with r/m and an immediate byte (shifts, bit tests).
func (a *Asm) GI8(i *GInst, size int, rm RM, imm uint8) {
	if a.List != nil {
		a.noteGeneral(i, size, 0, rm, int(imm))
	}
	a.general(i, gMI8, size, i.ext, rm, 1, imm)
}

// GSI8 emits shld or shrd: r/m, reg, immediate byte.
func (a *Asm) GSI8(i *GInst, size int, rm RM, reg Reg, imm uint8) {
	if a.List != nil {
		a.noteGeneral(i, size, uint8(reg), rm, int(imm))
	}
	a.general(i, gMRI8, size, uint8(reg), rm, 1, imm)
}

// Lock makes the next instruction atomic.
func (a *Asm) Lock() {
	a.note("lock")
	a.Buf = append(a.Buf, 0xf0)
}

// Alu is one of the eight classic two-operand instructions, by opcode group number.
type Alu uint8

// The classic group.
const (
	ADD Alu = iota
	OR
	ADC
	SBB
	AND
	SUB
	XOR
	CMP
)

var aluNames = [...]string{"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"}

// Alu emits reg ← reg op r/m.
func (a *Asm) Alu(op Alu, size int, reg Reg, rm RM) {
	if a.List != nil {
		a.note("%s %s, %s", aluNames[op], gname(uint8(reg), size), grm(rm, size))
	}
	c := byte(op)<<3 | 3
	if size == 1 {
		c--
	}
	a.modrm(head(0, c, size, uint8(reg), rm, size == 1, size == 1), uint8(reg), rm, 0, 0, 0)
}

// AluS emits r/m ← r/m op reg.
func (a *Asm) AluS(op Alu, size int, rm RM, reg Reg) {
	if a.List != nil {
		a.note("%s %s, %s", aluNames[op], grm(rm, size), gname(uint8(reg), size))
	}
	c := byte(op)<<3 | 1
	if size == 1 {
		c--
	}
	a.modrm(head(0, c, size, uint8(reg), rm, size == 1, size == 1), uint8(reg), rm, 0, 0, 0)
}

// AluI emits r/m ← r/m op immediate; for 8 bytes the immediate is sign-extended from 32 bits.
func (a *Asm) AluI(op Alu, size int, rm RM, imm int32) {
	if a.List != nil {
		a.note("%s %s, %d", aluNames[op], grm(rm, size), imm)
	}
	switch {
	case size == 1:
		a.modrm(head(0, 0x80, 1, uint8(op), rm, false, true), uint8(op), rm, 0, 1, uint32(imm))
	case imm >= -128 && imm <= 127:
		a.modrm(head(0, 0x83, size, uint8(op), rm, false, false), uint8(op), rm, 0, 1, uint32(imm))
	case size == 2:
		a.modrm(head(0, 0x81, 2, uint8(op), rm, false, false), uint8(op), rm, 0, 2, uint32(imm))
	default:
		a.modrm(head(0, 0x81, size, uint8(op), rm, false, false), uint8(op), rm, 0, 4, uint32(imm))
	}
}

// MovI loads a constant with the shortest encoding; flags are not touched.
func (a *Asm) MovI(reg Reg, v uint64) {
	if a.List != nil {
		a.note("mov %s, %#x", names64[reg], v)
	}
	switch {
	case v>>32 == 0:
		if reg > 7 {
			a.Buf = append(a.Buf, 0x41)
		}
		a.Buf = append(a.Buf, 0xb8|byte(reg)&7)
		a.i32(int32(v))
	case int64(v) == int64(int32(v)):
		rm := R(reg)
		i := head(0, 0xc7, 8, 0, rm, false, false)
		a.modrm(i, 0, rm, 0, 4, uint32(v))
	default:
		a.Buf = append(a.Buf, 0x48|byte(reg)>>3, 0xb8|byte(reg)&7)
		a.Buf = binary.LittleEndian.AppendUint64(a.Buf, v)
	}
}

// MovMI stores a constant to memory; for 8 bytes it is sign-extended from 32 bits.
func (a *Asm) MovMI(size int, m RM, imm int32) {
	if a.List != nil {
		a.note("mov %s, %d", memText(m, size, ""), imm)
	}
	op, tail := byte(0xc7), min(size, 4)
	if size == 1 {
		op = 0xc6
	}
	a.modrm(head(0, op, size, 0, m, false, size == 1), 0, m, 0, tail, uint32(imm))
}

// IMulI emits reg ← r/m · immediate.
func (a *Asm) IMulI(size int, reg Reg, rm RM, imm int32) {
	if a.List != nil {
		a.note("imul %s, %s, %d", gname(uint8(reg), size), grm(rm, size), imm)
	}
	if imm >= -128 && imm <= 127 {
		a.modrm(head(0, 0x6b, size, uint8(reg), rm, false, false), uint8(reg), rm, 0, 1, uint32(imm))
		return
	}
	a.modrm(head(0, 0x69, size, uint8(reg), rm, false, false), uint8(reg), rm, 0, 4, uint32(imm))
}

// TestI emits flags ← r/m & immediate.
func (a *Asm) TestI(size int, rm RM, imm int32) {
	if a.List != nil {
		a.note("test %s, %d", grm(rm, size), imm)
	}
	if size == 1 {
		a.modrm(head(0, 0xf6, 1, 0, rm, false, true), 0, rm, 0, 1, uint32(imm))
		return
	}
	a.modrm(head(0, 0xf7, size, 0, rm, false, false), 0, rm, 0, 4, uint32(imm))
}

// Cmov emits reg ← r/m if the condition holds (4 or 8 bytes).
func (a *Asm) Cmov(cc CC, size int, reg Reg, rm RM) {
	if a.List != nil {
		a.note("cmov%s %s, %s", ccNames[cc], gname(uint8(reg), size), grm(rm, size))
	}
	a.modrm(head(1, 0x40|byte(cc), size, uint8(reg), rm, false, false), uint8(reg), rm, 0, 0, 0)
}

// Set emits a byte ← 1 if the condition holds, else 0.
func (a *Asm) Set(cc CC, rm RM) {
	if a.List != nil {
		a.note("set%s %s", ccNames[cc], grm(rm, 1))
	}
	a.modrm(head(1, 0x90|byte(cc), 1, 0, rm, false, true), 0, rm, 0, 0, 0)
}

// Jcc jumps to a label if the condition holds. The displacement is always 32 bits: distances are small against the
// decode window, and a one-pass encoder stays simple.
func (a *Asm) Jcc(cc CC, l Label) {
	if a.List != nil {
		a.note("j%s .L%d", ccNames[cc], l)
	}
	a.Buf = append(a.Buf, 0x0f, 0x80|byte(cc))
	a.rel(l)
}

// Jmp jumps to a label.
func (a *Asm) Jmp(l Label) {
	if a.List != nil {
		a.note("jmp .L%d", l)
	}
	a.Buf = append(a.Buf, 0xe9)
	a.rel(l)
}

func (a *Asm) rel(l Label) {
	at := int32(len(a.Buf))
	a.fixups = append(a.fixups, fixup{at, at + 4, l, 0})
	a.i32(0)
}

// JmpR jumps to the address in a register or memory.
func (a *Asm) JmpR(rm RM) {
	if a.List != nil {
		a.note("jmp %s", grm(rm, 8))
	}
	a.modrm(head(0, 0xff, 4, 4, rm, false, false), 4, rm, 0, 0, 0)
}

// LeaL emits reg ← address of a label plus off.
func (a *Asm) LeaL(reg Reg, l Label, off int32) { a.G(LEA, 8, reg, ML(l, off)) }

// Ret returns to the trampoline.
func (a *Asm) Ret() {
	a.note("ret")
	a.Buf = append(a.Buf, 0xc3)
}

// Sfence orders non-temporal stores before all stores that follow.
func (a *Asm) Sfence() {
	a.note("sfence")
	a.Buf = append(a.Buf, 0x0f, 0xae, 0xf8)
}

// Pause hints a spin loop.
func (a *Asm) Pause() {
	a.note("pause")
	a.Buf = append(a.Buf, 0xf3, 0x90)
}

// Mfence orders all earlier loads and stores before all later ones.
func (a *Asm) Mfence() {
	a.note("mfence")
	a.Buf = append(a.Buf, 0x0f, 0xae, 0xf0)
}

// Rdtsc reads the time stamp counter into EDX:EAX.
func (a *Asm) Rdtsc() {
	a.note("rdtsc")
	a.Buf = append(a.Buf, 0x0f, 0x31)
}

// Int3 is a breakpoint, for places never reached.
func (a *Asm) Int3() {
	a.note("int3")
	a.Buf = append(a.Buf, 0xcc)
}

// Cqo sign-extends RAX into RDX (size 8) or EAX into EDX (size 4).
func (a *Asm) Cqo(size int) {
	a.note("%s", map[int]string{4: "cdq", 8: "cqo"}[size])
	if size == 8 {
		a.Buf = append(a.Buf, 0x48)
	}
	a.Buf = append(a.Buf, 0x99)
}

// Ldmxcsr loads the floating-point control register.
func (a *Asm) Ldmxcsr(m RM) {
	if a.List != nil {
		a.note("ldmxcsr %s", memText(m, 4, ""))
	}
	a.modrm(head(1, 0xae, 4, 2, m, false, false), 2, m, 0, 0, 0)
}

// Stmxcsr stores the floating-point control register.
func (a *Asm) Stmxcsr(m RM) {
	if a.List != nil {
		a.note("stmxcsr %s", memText(m, 4, ""))
	}
	a.modrm(head(1, 0xae, 4, 3, m, false, false), 3, m, 0, 0, 0)
}
