package x86

import (
	"fmt"
	"strings"
)

// A listing says in Intel's syntax what was emitted, for people to read.

var (
	names64 = []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}
	names32 = []string{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"}
	names16 = []string{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"}
	names8  = []string{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"}
	ptrs    = map[int]string{1: "byte ptr ", 2: "word ptr ", 4: "dword ptr ", 8: "qword ptr ", 16: "xmmword ptr ", 32: "ymmword ptr ", 64: "zmmword ptr "}
	ccNames = []string{"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"}
)

func gname(r uint8, size int) string {
	switch size {
	case 1:
		return names8[r&15]
	case 2:
		return names16[r&15]
	case 4:
		return names32[r&15]
	}
	return names64[r&15]
}

func vname(r uint8, bytes int) string {
	switch {
	case bytes <= 16:
		return fmt.Sprintf("xmm%d", r)
	case bytes == 32:
		return fmt.Sprintf("ymm%d", r)
	}
	return fmt.Sprintf("zmm%d", r)
}

func kname(r uint8) string { return fmt.Sprintf("k%d", r) }

// memText is a memory operand of size bytes; vindex names the index register of a gather.
func memText(m RM, size int, vindex string) string {
	if m.kind() == kindRIP {
		s := fmt.Sprintf("%s[.L%d", ptrs[size], m.label())
		if m.disp() != 0 {
			s += fmt.Sprintf(" + %d", m.disp())
		}
		return s + "]"
	}
	s := ptrs[size] + "[" + names64[m.Num()&15]
	if m&rmNoIndex == 0 {
		ix := names64[m.index()&15]
		if vindex != "" {
			ix = vindex
		}
		s += fmt.Sprintf(" + %d*%s", 1<<m.scale(), ix)
	}
	if m.disp() != 0 {
		s += fmt.Sprintf(" + %d", m.disp())
	}
	return s + "]"
}

func grm(m RM, size int) string {
	if m.IsMem() {
		return memText(m, size, "")
	}
	return gname(m.Num(), size)
}

// String is the operand in a text; a register is written as a general one.
func (m RM) String() string { return grm(m, 8) }

// note tells the listing of an instruction that is about to be emitted.
func (a *Asm) note(format string, args ...any) {
	if a.List != nil {
		a.List(len(a.Buf), fmt.Sprintf(format, args...))
	}
}

// noteVec tells the listing of a vector or mask instruction.
func (a *Asm) noteVec(i *Inst, l VL, reg, vv uint8, m RM, mod Mod, imm uint8) {
	vl := l.Bytes()
	mask := ""
	if mod.K() != 0 {
		mask = fmt.Sprintf(" {k%d}", mod.K())
	}
	if mod.Z() {
		mask += " {z}"
	}
	form := i.f & formMask
	n := i.memBytes(l, false)
	rm := vname(m.Num(), n)
	if m.IsMem() {
		rm = memText(m, n, "")
		if size, ok := i.Bcastable(); ok && m.HasBcast() {
			rm = memText(m, size, "") + fmt.Sprintf("{1to%d}", n/size)
		}
	}
	gsize := 4
	if i.f&tupMask == tS8 {
		gsize = 8
	}
	regBytes := vl
	if i.f&rh != 0 && form == fRM {
		regBytes /= 2
	}
	if i.f&rq != 0 {
		regBytes /= 4
	}
	var ops []string
	switch form {
	case fRM:
		ops = []string{vname(reg, regBytes) + mask, rm}
	case fMR:
		ops = []string{rm + mask, vname(reg, vl)}
	case fVM:
		ops = []string{vname(vv, vl) + mask, rm}
	case fKVM:
		ops = []string{kname(reg) + mask, vname(vv, vl), rm}
	case fKM:
		ops = []string{kname(reg) + mask, rm}
	case fRK:
		ops = []string{vname(reg, vl), kname(m.Num())}
	case fRG:
		ops = []string{vname(reg, vl) + mask, grm(m, gsize)}
	case fGR:
		ops = []string{grm(m, gsize), vname(reg, vl)}
	case fRVG:
		ops = []string{vname(reg, vl), vname(vv, vl), grm(m, gsize)}
	case fGRM:
		ops = []string{gname(reg, gsize), vname(m.Num(), vl)}
	case fMVR:
		ops = []string{rm, vname(vv, vl), vname(reg, vl)}
	case fVGather:
		ops = []string{vname(reg, vl), memText(m, 0, vname(m.index(), vl)), vname(vv, vl)}
	case fRVM4:
		ops = []string{vname(reg, vl), vname(vv, vl), rm, vname(imm>>4, vl)}
	case fGather:
		ops = []string{vname(reg, vl) + mask, memText(m, 0, vname(m.index(), vl))}
	case fScatter:
		ops = []string{memText(m, 0, vname(m.index(), vl)) + mask, vname(reg, vl)}
	case fKKK:
		ops = []string{kname(reg), kname(vv), kname(m.Num())}
	case fKK:
		ops = []string{kname(reg), kname(m.Num())}
	case fKMem:
		ops = []string{kname(reg), rm}
	case fMemK:
		ops = []string{rm, kname(reg)}
	case fKG:
		ops = []string{kname(reg), gname(m.Num(), gsize)}
	case fGK:
		ops = []string{gname(reg, gsize), kname(m.Num())}
	default:
		ops = []string{vname(reg, regBytes) + mask, vname(vv, vl), rm}
	}
	text := i.name + " " + strings.Join(ops, ", ")
	switch {
	case mod.Round() == SAE:
		text += ", {sae}"
	case mod.Round() != RoundDyn:
		text += ", {" + []string{"rn", "rd", "ru", "rz"}[mod.Round()-RoundNearest] + "-sae}"
	}
	if i.imm {
		text += fmt.Sprintf(", %d", imm)
	}
	a.note("%s", text)
}

// noteGV tells the listing of a VEX-encoded general instruction.
func (a *Asm) noteGV(i *Inst, size int, reg, vv Reg, m RM, imm uint8) {
	var ops []string
	switch i.f & formMask {
	case fGVG:
		ops = []string{gname(uint8(reg), size), gname(uint8(vv), size), grm(m, size)}
	case fGMV:
		ops = []string{gname(uint8(reg), size), grm(m, size), gname(uint8(vv), size)}
	case fVGM:
		ops = []string{gname(uint8(vv), size), grm(m, size)}
	default:
		ops = []string{gname(uint8(reg), size), grm(m, size)}
	}
	if i.imm {
		ops = append(ops, fmt.Sprint(imm))
	}
	a.note("%s %s", i.name, strings.Join(ops, ", "))
}

// noteGeneral tells the listing of an instruction of the general table.
func (a *Asm) noteGeneral(i *GInst, size int, reg uint8, rm RM, imm int) {
	src := size
	switch {
	case i.size&src8 != 0:
		src = 1
	case i.size&src16 != 0:
		src = 2
	case i.form == gRM && i.size == g64 && i.name == "movsxd":
		src = 4
	}
	name, cl := strings.CutSuffix(i.name, " cl")
	text := name + " "
	switch i.form {
	case gRM:
		text += gname(reg, size) + ", " + grm(rm, src)
	case gMR, gMRI8:
		text += grm(rm, size) + ", " + gname(reg, size)
	default:
		if i == PREFETCHT0 {
			size = 1
		}
		text += grm(rm, size)
	}
	if cl {
		text += ", cl"
	}
	if imm >= 0 {
		text += fmt.Sprintf(", %d", imm)
	}
	a.note("%s", text)
}
