package x86

import "math/bits"

// VL is a vector length as EVEX.L'L encodes it.
type VL uint8

// Vector lengths. Scalar instructions take L128.
const (
	L128 VL = iota
	L256
	L512
)

// Bytes is the length in bytes.
func (l VL) Bytes() int { return 16 << l }

// vflags describe one vector instruction: prefix, map, W, operand form, tuple and abilities.
type vflags uint64

const (
	// mandatory prefix
	pNP vflags = 0
	p66 vflags = 1
	pF3 vflags = 2
	pF2 vflags = 3
	// opcode map
	m0F   vflags = 1 << 2
	m0F38 vflags = 2 << 2
	m0F3A vflags = 3 << 2
	mMap5 vflags = 5 << 2
	mMap6 vflags = 6 << 2
	// W of the EVEX form and, if it differs from 0, of the VEX form
	w1  vflags = 1 << 5
	vw1 vflags = 1 << 6
	// which encodings exist
	evex vflags = 1 << 7
	vex  vflags = 1 << 8
	both        = evex | vex
	// embedded rounding; exception suppression only
	er  vflags = 1 << 9
	sae vflags = 1 << 10
	// destination in ModRM.reg is half (quarter) as long as the vector length
	rh vflags = 1 << 11
	rq vflags = 1 << 12
	// VEX.L fixed (mask instructions)
	l1 vflags = 1 << 13
	l0 vflags = 1 << 14

	formShift        = 16
	formMask  vflags = 31 << formShift
	tupShift         = 24
	tupMask   vflags = 31 << tupShift
)

// operand forms.
const (
	fRVM     vflags = iota << formShift // reg ← vvvv, r/m
	fRM                                 // reg ← r/m
	fMR                                 // r/m ← reg
	fVM                                 // vvvv ← r/m, opcode extension in reg (shifts by immediate)
	fKVM                                // k reg ← vvvv, r/m
	fKM                                 // k reg ← r/m
	fRK                                 // vector reg ← k r/m
	fRG                                 // vector reg ← general r/m
	fGR                                 // general r/m ← vector reg
	fGRM                                // general reg ← vector r/m
	fRVG                                // vector reg ← vvvv, general r/m
	fGather                             // reg ← VSIB memory under mask
	fScatter                            // VSIB memory ← reg under mask
	fKKK                                // k reg ← k vvvv, k r/m
	fKK                                 // k reg ← k r/m
	fKMem                               // k reg ← memory
	fMemK                               // memory ← k reg
	fKG                                 // k reg ← general r/m
	fGK                                 // general reg ← k r/m
	fGVG                                // general reg ← general vvvv, general r/m
	fGMV                                // general reg ← general r/m, general vvvv
	fGM                                 // general reg ← general r/m
	fVGM                                // general vvvv ← general r/m, opcode extension in reg
	fRVM4                               // reg ← vvvv, r/m, register in imm8[7:4] (VEX only)
	fRVMem                              // reg ← vvvv, memory
	fMVR                                // memory ← vvvv, reg
	fVGather                            // reg ← VSIB memory under vvvv (VEX only)
)

// tuple kinds: how long the memory operand is, and so what disp8 counts in.
const (
	tNone vflags = iota << tupShift
	tFV2         // full vector, broadcast of 2 bytes
	tFV4         // full vector, broadcast of 4 bytes
	tFV8         // full vector, broadcast of 8 bytes
	tHV2         // half vector, broadcast of 2 bytes
	tHV4         // half vector, broadcast of 4 bytes
	tQV2         // quarter vector, broadcast of 2 bytes
	tFVM         // full vector, no broadcast
	tHVM         // half
	tQVM         // quarter
	tOVM         // eighth
	tS1          // one element of 1, 2, 4, 8 bytes
	tS2
	tS4
	tS8
	tT8   // 8 bytes (two dwords)
	tM128 // 16 bytes
	tM256 // 32 bytes
)

// Inst is one vector (or VEX-encoded general) instruction: a line of the tables.
type Inst struct {
	name string
	f    vflags
	op   byte
	ext  uint8 // opcode extension, for fVM and fVGM
	imm  bool  // has an immediate byte

	// What follows from these (prepare).
	head   uint64   // of the EVEX form, with registers, length and mask that are 0
	fixed  bool     // ModRM.reg is ext
	vv     uint8    // the bits of vvvv that count: none or all
	scales [3]uint8 // logarithm of the memory operand's size, by VL
	one    uint8    // the same of a broadcast one; 0 if there is none
}

func init() {
	for _, i := range vectorTable {
		i.prepare()
	}
}

// prepare makes what emission needs of what a line of the tables says.
func (i *Inst) prepare() {
	w := uint64(0)
	if i.f&w1 != 0 {
		w = 1
	}
	i.head = 0x62 | (0xf0|uint64(i.f>>2&7))<<8 | (w<<7|0x7c|uint64(i.f&3))<<16 | 8<<24 | uint64(i.op)<<32
	switch i.f & formMask {
	case fVM, fVGM:
		i.fixed, i.vv = true, 31
	case fRVM, fKVM, fRVG, fKKK, fGVG, fGMV, fRVM4, fRVMem, fMVR, fVGather:
		i.vv = 31
	}
	for l := range VL(3) {
		i.scales[l] = uint8(bits.TrailingZeros(uint(i.memBytes(l, false))))
	}
	if size, ok := i.Bcastable(); ok {
		i.one = uint8(bits.TrailingZeros(uint(size)))
	}
}

// Name is the mnemonic.
func (i *Inst) Name() string { return i.name }

// vectorTable lists every Inst in table order, for the tests.
var vectorTable []*Inst

func vi(name string, f vflags, op byte) *Inst {
	i := &Inst{name: name, f: f, op: op}
	vectorTable = append(vectorTable, i)
	return i
}

func vimm(name string, f vflags, op byte) *Inst { i := vi(name, f, op); i.imm = true; return i }

func vext(name string, f vflags, op byte, ext uint8) *Inst {
	i := vi(name, f, op)
	i.ext, i.imm = ext, f&formMask == fVM
	return i
}

// memBytes is the size of the memory operand, which is also the disp8 scale of EVEX.
func (i *Inst) memBytes(l VL, bcast bool) int {
	n := l.Bytes()
	switch i.f & tupMask {
	case tFV2:
		if bcast {
			return 2
		}
	case tFV4:
		if bcast {
			return 4
		}
	case tFV8:
		if bcast {
			return 8
		}
	case tHV2:
		if bcast {
			return 2
		}
		return n / 2
	case tHV4:
		if bcast {
			return 4
		}
		return n / 2
	case tQV2:
		if bcast {
			return 2
		}
		return n / 4
	case tHVM:
		return n / 2
	case tQVM:
		return n / 4
	case tOVM:
		return n / 8
	case tS1:
		return 1
	case tS2:
		return 2
	case tS4:
		return 4
	case tS8, tT8:
		return 8
	case tM128:
		return 16
	case tM256:
		return 32
	}
	return n
}

// Bcastable tells whether a memory operand can be broadcast, and the element size.
func (i *Inst) Bcastable() (size int, ok bool) {
	switch i.f & tupMask {
	case tFV2, tHV2, tQV2:
		return 2, true
	case tFV4, tHV4:
		return 4, true
	case tFV8:
		return 8, true
	}
	return 0, false
}

// Round is an embedded rounding mode (register operands only).
type Round uint8

// Rounding: by MXCSR, a fixed mode with exceptions suppressed, or only exceptions suppressed.
const (
	RoundDyn Round = iota
	RoundNearest
	RoundDown
	RoundUp
	RoundZero
	SAE
)

// Mod holds what EVEX adds to an instruction: write mask, whether it zeroes, rounding. The zero value adds nothing.
type Mod struct {
	bits uint16 // mask 0–2, zeroing 3, rounding from 4
}

const (
	modZ     = 1 << 3
	modRound = 4
)

// Masked is a merging write mask.
func Masked(k K) Mod { return Mod{uint16(k)} }

// Zeroed is a zeroing write mask.
func Zeroed(k K) Mod { return Mod{uint16(k) | modZ} }

// Rounded is an embedded rounding mode.
func Rounded(r Round) Mod { return Mod{uint16(r) << modRound} }

// K is the write mask; K0 is none.
func (m Mod) K() K { return K(m.bits & 7) }

// Z tells whether elements outside the mask become zero instead of staying.
func (m Mod) Z() bool { return m.bits&modZ != 0 }

// Round is the embedded rounding mode.
func (m Mod) Round() Round { return Round(m.bits >> modRound) }

// WithZ is m zeroing instead of merging, WithRound m with another rounding mode.
func (m Mod) WithZ() Mod            { return Mod{m.bits | modZ} }
func (m Mod) WithRound(r Round) Mod { return Mod{m.bits&(1<<modRound-1) | uint16(r)<<modRound} }

// E emits an EVEX instruction. reg is ModRM.reg, vv the second source (or destination of an immediate shift), m the
// r/m operand; which of them are read follows from the instruction's form. An instruction without EVEX form is emitted
// with VEX.
func (a *Asm) E(i *Inst, l VL, reg, vv uint8, m RM, mod Mod) {
	if i.imm {
		a.fail("%s without immediate", i.name)
	}
	if a.Lower != nil {
		a.Lower(i, l, reg, vv, m, 0, mod)
		return
	}
	a.vec(i, l, reg, vv, m, mod, 0)
}

// EI is E with an immediate byte.
func (a *Asm) EI(i *Inst, l VL, reg, vv uint8, m RM, imm uint8, mod Mod) {
	if !i.imm {
		a.fail("%s with immediate", i.name)
	}
	if a.Lower != nil {
		a.Lower(i, l, reg, vv, m, imm, mod)
		return
	}
	a.vec(i, l, reg, vv, m, mod, imm)
}

func (a *Asm) vec(i *Inst, l VL, reg, vv uint8, m RM, mod Mod, imm uint8) {
	if i.f&evex == 0 {
		if mod != (Mod{}) {
			a.fail("%s has no EVEX form", i.name)
		}
		a.Raw(i, l, reg, vv, m, imm)
		return
	}
	if a.List != nil {
		a.noteVec(i, l, reg, vv, m, mod, imm)
	}
	if i.fixed {
		reg = i.ext
	}
	vv &= i.vv
	// The template has ones where a register's bit is inverted.
	w := i.head ^ (uint64(reg>>3&1)<<15 | uint64(reg>>4&1)<<12 | uint64(vv&15)<<19 | uint64(vv>>4&1)<<27)
	w |= uint64(mod.bits&7)<<24 | uint64(mod.bits&modZ)<<(31-3)
	scale := uint8(0)
	round := mod.Round()
	if m.kind() == kindReg {
		n := uint64(m.Num())
		w ^= n>>3&1<<13 | n>>4<<14
		switch round {
		case RoundDyn:
		case SAE:
			if i.f&(sae|er) == 0 {
				a.fail("%s has no exception suppression", i.name)
			}
			w, l = w|1<<28, 0
		default:
			if i.f&er == 0 {
				a.fail("%s has no embedded rounding", i.name)
			}
			w, l = w|1<<28, VL(round-RoundNearest)
		}
	} else {
		scale = i.scales[l]
		if m.kind() != kindRIP {
			w ^= uint64(m.Num()) >> 3 & 1 << 13
			if m&rmNoIndex == 0 {
				w ^= uint64(m.index()) >> 3 & 1 << 14
			}
		}
		if m.kind() == kindVSIB {
			w ^= uint64(m.index()) >> 4 & 1 << 27
		}
		if m.HasBcast() {
			if scale = i.one; scale == 0 {
				a.fail("%s cannot broadcast", i.name)
			}
			w |= 1 << 28
		}
		if round != RoundDyn {
			a.fail("%s: rounding with memory operand", i.name)
		}
	}
	w |= uint64(l) << 29
	tail := 0
	if i.imm {
		tail = 1
	}
	a.modrm(instr{w, 40}, reg, m, scale, tail, uint32(imm))
}

// X emits the VEX form of an instruction: registers 0–15, at most 256 bits, no mask.
func (a *Asm) X(i *Inst, l VL, reg, vv uint8, m RM) {
	if i.imm {
		a.fail("%s without immediate", i.name)
	}
	a.XI(i, l, reg, vv, m, 0)
}

// XI is X with an immediate byte.
func (a *Asm) XI(i *Inst, l VL, reg, vv uint8, m RM, imm uint8) {
	if a.Lower != nil {
		a.Lower(i, l, reg, vv, m, imm, Mod{})
		return
	}
	a.Raw(i, l, reg, vv, m, imm)
}

// Raw emits the VEX form past Lower.
func (a *Asm) Raw(i *Inst, l VL, reg, vv uint8, m RM, imm uint8) {
	if a.List != nil {
		a.noteVec(i, l, reg, vv, m, Mod{}, imm)
	}
	a.vex(i, i.f, l, reg, vv, m, imm)
}

func (a *Asm) vex(i *Inst, f vflags, l VL, reg, vv uint8, m RM, imm uint8) {
	if f&vex == 0 {
		a.fail("%s has no VEX form", i.name)
	}
	if i.fixed {
		reg = i.ext
	}
	vv &= i.vv
	k := m.kind()
	if reg > 15 || vv > 15 || l > L256 || m.HasBcast() || k == kindReg && m.Num() > 15 || k == kindVSIB && m.index() > 15 {
		a.fail("%s: operands need EVEX", i.name)
	}
	var xb, bb byte
	if k != kindRIP {
		bb = m.Num() >> 3 & 1
		if k != kindReg && m&rmNoIndex == 0 {
			xb = m.index() >> 3 & 1
		}
	}
	rb := reg >> 3 & 1
	pp, mmm := byte(f&3), byte(f>>2&7)
	var w, ll byte
	if f&vw1 != 0 {
		w = 1
	}
	switch {
	case f&l1 != 0:
		ll = 1
	case f&l0 == 0:
		ll = byte(l)
	}
	var in instr
	if xb == 0 && bb == 0 && w == 0 && mmm == 1 {
		in = instr{0xc5 | uint64((rb^1)<<7|(^vv&15)<<3|ll<<2|pp)<<8 | uint64(i.op)<<16, 24}
	} else {
		in = instr{0xc4 | uint64((rb^1)<<7|(xb^1)<<6|(bb^1)<<5|mmm)<<8 | uint64(w<<7|(^vv&15)<<3|ll<<2|pp)<<16 | uint64(i.op)<<24, 32}
	}
	tail := 0
	if i.imm {
		tail = 1
	}
	a.modrm(in, reg, m, 0, tail, uint32(imm))
}

// GV emits a VEX-encoded general instruction (BMI, BMI2) of 4 or 8 bytes.
func (a *Asm) GV(i *Inst, size int, reg, vv Reg, m RM) { a.gvex(i, size, reg, vv, m, 0) }

// GVI is GV with an immediate byte (rorx).
func (a *Asm) GVI(i *Inst, size int, reg Reg, m RM, imm uint8) { a.gvex(i, size, reg, 0, m, imm) }

func (a *Asm) gvex(i *Inst, size int, reg, vv Reg, m RM, imm uint8) {
	if a.List != nil {
		a.noteGV(i, size, reg, vv, m, imm)
	}
	f := i.f
	if size == 8 {
		f |= vw1
	}
	a.vex(i, f, L128, uint8(reg), uint8(vv), m, imm)
}

// VZeroUpper clears the upper parts of all vector registers 0–15 and avoids the transition penalty of legacy SSE code.
func (a *Asm) VZeroUpper() {
	a.note("vzeroupper")
	a.Buf = append(a.Buf, 0xc5, 0xf8, 0x77)
}
