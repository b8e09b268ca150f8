package ir

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The text form, line by line:
//
//	func 0x7f0000001000 mode=0x2f0 lanes=64 target=gfx90a lo=0 hi=24 size=24
//	b0 @0 insts=2 (%3:v32):
//	  %0:v32 = vget imm=0x1 @0
//	  %2:v32 = fma %0, %3, %1 kind=f32 fp=rne+ieee @4
//	  vset %2, %4 imm=0x2 @4
//	  branch %5 b0(%2) b1 @8
//	b1 @12 insts=1:
//	  exit endpgm next=16 @12
//
// An absent argument is "_". Fields that are zero are left out. Names are the value's index, so parsing a printed Func
// gives the same Func; values that no block holds are not printed and come back as OpInvalid.

// String returns f in text form.
func (f *Func) String() string {
	var b strings.Builder
	f.WriteTo(&b)
	return b.String()
}

// WriteTo writes f in text form.
func (f *Func) WriteTo(w io.Writer) (int64, error) {
	p := &printer{w: w}
	p.printf("func %#x mode=%#x lanes=%d", f.PC, f.Mode, f.Lanes)
	if f.Target != "" {
		p.printf(" target=%s", f.Target)
	}
	p.printf(" lo=%d hi=%d size=%d\n", f.Lo, f.Hi, f.Size)
	for _, b := range f.Blocks {
		p.block(f, b)
	}
	return p.n, p.err
}

type printer struct {
	w   io.Writer
	n   int64
	err error
}

func (p *printer) printf(format string, a ...any) {
	if p.err == nil {
		var n int
		n, p.err = fmt.Fprintf(p.w, format, a...)
		p.n += int64(n)
	}
}

func (p *printer) block(f *Func, b *Block) {
	p.printf("b%d @%d insts=%d", b.Index, b.PC, b.Insts)
	p.printf(":\n")
	for _, id := range b.Code {
		p.printf("  %s\n", f.valueText(id))
	}
	p.printf("  %s\n", b.Term.text())
}

func typeText(v *Value) string {
	if v.Type == T || v.Type == TS {
		return v.Type.String() + itoa(int(v.N))
	}
	return v.Type.String()
}

func idText(id ID) string {
	if id == NoID {
		return "_"
	}
	return "%" + itoa(int(id))
}

func idList(ids []ID) string {
	s := make([]string, len(ids))
	for i, id := range ids {
		s[i] = idText(id)
	}
	return strings.Join(s, ", ")
}

func (f *Func) valueText(id ID) string {
	v := f.V(id)
	var b strings.Builder
	if v.Type == Void {
		// The name is kept: other tools refer to values by index.
		fmt.Fprintf(&b, "%%%d = %s", id, v.Op)
	} else {
		fmt.Fprintf(&b, "%%%d:%s = %s", id, typeText(v), v.Op)
	}
	if len(v.Args) > 0 {
		b.WriteString(" " + idList(v.Args))
	}
	attr := func(on bool, format string, a ...any) {
		if on {
			fmt.Fprintf(&b, " "+format, a...)
		}
	}
	attr(v.Kind != 0, "kind=%s", v.Kind)
	attr(v.From != 0, "from=%s", v.From)
	attr(v.FP != 0, "fp=%s", v.FP)
	attr(v.Pred != 0, "pred=%s", v.Pred)
	attr(v.Space != 0, "space=%s", v.Space)
	attr(v.Width != 0, "width=%d", v.Width)
	attr(v.Sign, "sign=1")
	attr(v.Atomic != 0, "atomic=%s", v.Atomic)
	attr(v.Order != 0, "order=%s", v.Order)
	attr(v.Imm != 0, "imm=%#x", v.Imm)
	switch a := v.Aux.(type) {
	case *[64]int8:
		s := make([]string, 64)
		for i, x := range a {
			s[i] = itoa(int(x))
		}
		attr(true, "perm=%s", strings.Join(s, ","))
	case *Matrix:
		attr(true, "matrix=%s", a.text())
	case *Image:
		attr(true, "image=%s", a.text())
	case string:
		attr(true, "text=%s", strconv.Quote(a))
	}
	attr(true, "@%d", v.PC)
	return b.String()
}

// text lists the fields of m in declaration order.
func (m *Matrix) text() string {
	return fmt.Sprintf("%d,%d,%d,%d,%s,%s,%s,%d,%d,%d,%t,%d,%d,%d,%t,%t,%t", m.M, m.N, m.K, m.Blocks, m.A, m.B, m.C, m.CBSZ, m.ABID,
		m.BLGP, m.WMMA, m.Gen, m.Neg, m.NegHi, m.Sparse, m.Clamp, m.XF32)
}

func (t *Term) text() string {
	var s string
	switch t.Kind {
	case TermJump:
		s = "jump b" + itoa(t.Then)
	case TermBranch:
		s = "branch " + idText(t.Cond) + " b" + itoa(t.Then) + " b" + itoa(t.Else)
	default:
		s = "exit " + t.Exit.String()
		if t.Exit == ExitIndirect {
			s += " " + idText(t.Cond)
		}
		if t.Imm != 0 {
			s += fmt.Sprintf(" imm=%#x", t.Imm)
		}
		if t.Next != 0 {
			s += fmt.Sprintf(" next=%d", t.Next)
		}
		if t.Msg != "" {
			s += " text=" + strconv.Quote(t.Msg)
		}
	}
	return s + " @" + strconv.FormatUint(uint64(t.PC), 10)
}
