package isa

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// The assembler is the disassembler's inverse. It reads what Disasm writes (which is how LLVM spells), fills in the fields of
// each encoding that the mnemonic may have, decodes the result, and takes the encoding whose disassembly is the text; failing
// that, the first one that takes all operands and modifiers: so "v_add_f32 v0, v1, v2", without suffix, is the short form.
// Bits that the decoder ignores are zero.

// An AsmError says why a line could not be assembled.
type AsmError struct {
	Text string // the line
	Why  string
}

func (e *AsmError) Error() string { return fmt.Sprintf("isa: %q: %s", e.Text, e.Why) }

// Assemble returns the code of one instruction of target t, spelled as its Disasm spells it. Branch distances are in words, as
// llvm-mc prints them; ".long 0x..." is a word as it is. The error is an *AsmError.
func Assemble(t *Target, text string) ([]byte, error) {
	text, _, _ = strings.Cut(text, "//")
	text = strings.Join(strings.Fields(text), " ")
	if w, ok := strings.CutPrefix(text, ".long "); ok {
		v, ok := parseNumber(w)
		if !ok || v < 0 || v > 1<<32-1 {
			return nil, &AsmError{text, "not a 32-bit number"}
		}
		return binary.LittleEndian.AppendUint32(nil, uint32(v)), nil
	}
	if x, y, ok := strings.Cut(text, " :: "); ok {
		code, err := assembleDual(t, x, y)
		if err != nil {
			return nil, &AsmError{text, err.Error()}
		}
		return verified(t, text, code)
	}
	name, rest, _ := strings.Cut(text, " ")
	line := splitLine(rest)
	var first []byte
	why := errors.New("no such instruction")
	for _, c := range candidates(t, name) {
		a := asm{t: t, d: t.decoder(), candidate: c, line: line}
		code, err := a.assemble()
		if err != nil && a.isLit {
			a = asm{t: t, d: t.decoder(), candidate: c, line: line, inline: true}
			code, err = a.assemble()
		}
		if err != nil {
			why = err
			continue
		}
		var in Inst
		if err := Decode(t, code, &in); err != nil {
			why = err
			continue
		}
		if int(in.Size) != len(code) || in.Op != c.op {
			why = errors.New("operands do not fit")
			continue
		}
		if Disasm(&in, t, 0) == text {
			return code, nil
		}
		if first == nil {
			first = code
		}
	}
	if first == nil {
		return nil, &AsmError{text, why.Error()}
	}
	return first, nil
}

// verified checks that code is one instruction.
func verified(t *Target, text string, code []byte) ([]byte, error) {
	var in Inst
	if err := Decode(t, code, &in); err != nil {
		return nil, &AsmError{text, err.Error()}
	}
	if int(in.Size) != len(code) {
		return nil, &AsmError{text, "operands do not fit"}
	}
	return code, nil
}

// form is an encoding of a vector ALU row.
type form uint8

const (
	formNative form = iota // what the row's family says
	formVOP3               // a row of VOP1, VOP2 or VOPC in 64 bits
	formSDWA
	formDPP     // by the modifiers, 8 or 16
	formVOP3DPP // the same of the 64-bit encoding
)

// candidate is one way to encode a mnemonic.
type candidate struct {
	op   *Op
	form form
}

// spellings finds the rows of a target by what its assembler calls them.
var spellings sync.Map // *Target -> map[string][]*Op

func rowsSpelled(t *Target, name string) []*Op {
	if t.wave32 != nil {
		t = t.wave32
	}
	m, ok := spellings.Load(t)
	if !ok {
		byName := map[string][]*Op{}
		for _, op := range load().all().ops {
			if op.On(t) {
				byName[op.Spelling(t)] = append(byName[op.Spelling(t)], op)
			}
		}
		m, _ = spellings.LoadOrStore(t, byName)
	}
	return m.(map[string][]*Op)[name]
}

// candidates lists the encodings that a mnemonic, with or without its suffix, may mean.
func candidates(t *Target, name string) (out []candidate) {
	add := func(name string, forms ...form) {
		for _, op := range rowsSpelled(t, name) {
			for _, f := range forms {
				switch op.Fmt {
				case VOP1, VOP2, VOPC:
				case VOP3, VOP3P:
					if f == formVOP3 || f == formDPP {
						f += formVOP3DPP - formDPP
						if f != formVOP3DPP {
							f = formNative
						}
					}
				default:
					if f != formNative {
						continue
					}
				}
				out = append(out, candidate{op, f})
			}
		}
	}
	add(name, formNative, formVOP3, formDPP, formSDWA)
	for _, s := range [...]struct {
		suffix string
		form   form
	}{{"_e64_dpp", formVOP3DPP}, {"_e32", formNative}, {"_e64", formVOP3}, {"_sdwa", formSDWA}, {"_dpp", formDPP}} {
		if base, ok := strings.CutSuffix(name, s.suffix); ok {
			add(base, s.form)
		}
	}
	return out
}

// asmLine is what follows a mnemonic: operands, and the modifiers behind them.
type asmLine struct {
	args []string
	mods []string
}

// splitLine cuts at commas and blanks outside brackets and quotes. What follows a blank is a modifier, but for what belongs to
// the operand: s_waitcnt's counters and s_delay_alu's bars.
func splitLine(s string) (l asmLine) {
	depth, quoted, start := 0, false, 0
	var words []string
	var comma []bool // a comma follows the word
	flush := func(end int, c bool) {
		if w := strings.TrimSpace(s[start:end]); w != "" {
			words, comma = append(words, w), append(comma, c)
		} else if c && len(comma) > 0 {
			comma[len(comma)-1] = true
		}
		start = end + 1
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth == 0 && (c == ' ' || c == ','):
			flush(i, c == ',')
		}
	}
	flush(len(s), false)
	operand := true
	for i, w := range words {
		if operand {
			l.args = append(l.args, w)
		} else {
			l.mods = append(l.mods, w)
		}
		operand = comma[i]
	}
	return l
}

// asm encodes one candidate.
type asm struct {
	t *Target
	d *decoder
	candidate
	line   asmLine
	l      *layout
	w      words
	next   int    // operand
	high   uint32 // op_sel bits of operands that are spelled as high halves
	used   uint64
	head   []uint32 // the first half of a v_mfma_scale
	tail   []uint32 // SDWA or DPP word, literal
	lit    uint32
	isLit  bool
	noLit  bool // the encoding cannot have a literal
	inline bool // numbers that are inline constants are so in hexadecimal too
	err    error
}

var (
	errOperandMissing = errors.New("an operand is missing")
	errOperandTooMany = errors.New("too many operands")
	errOperandBad     = errors.New("an operand is of the wrong kind")
	errModifier       = errors.New("a modifier is unknown here")
)

func (a *asm) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *asm) put(id fieldID, v uint32) {
	f := &a.l.f[id]
	if f.width == 0 {
		if v != 0 {
			a.fail(errModifier)
		}
		return
	}
	if n := f.width + f.width2; n < 32 && v>>n != 0 {
		a.fail(errors.New("a number is too large"))
	}
	f.put(&a.w, v)
}

// arg takes the next operand; "" when there is none.
func (a *asm) arg() string {
	if a.next >= len(a.line.args) {
		a.fail(errOperandMissing)
		return ""
	}
	a.next++
	return a.line.args[a.next-1]
}

// peek looks at the next operand.
func (a *asm) peek() string {
	if a.next >= len(a.line.args) {
		return ""
	}
	return a.line.args[a.next]
}

// flag takes a modifier that is one word.
func (a *asm) flag(name string) bool {
	for i, m := range a.line.mods {
		if m == name && a.used>>i&1 == 0 {
			a.used |= 1 << i
			return true
		}
	}
	return false
}

// value takes a modifier with a value: "offset:16".
func (a *asm) value(name string) (string, bool) {
	for i, m := range a.line.mods {
		if len(m) > len(name) && m[len(name)] == ':' && m[:len(name)] == name && a.used>>i&1 == 0 {
			a.used |= 1 << i
			return m[len(name)+1:], true
		}
	}
	return "", false
}

// number takes a modifier whose value is a number, 0 when it is absent.
func (a *asm) number(name string) int64 {
	s, ok := a.value(name)
	if !ok {
		return 0
	}
	v, ok := parseNumber(s)
	if !ok {
		a.fail(errModifier)
	}
	return v
}

// list takes a modifier whose value is a list of numbers.
func (a *asm) list(name string) ([]int64, bool) {
	s, ok := a.value(name)
	if !ok {
		return nil, false
	}
	s, ok1 := strings.CutPrefix(s, "[")
	s, ok2 := strings.CutSuffix(s, "]")
	var out []int64
	for _, w := range strings.Split(s, ",") {
		v, ok := parseNumber(strings.TrimSpace(w))
		if !ok || !ok1 || !ok2 {
			a.fail(errModifier)
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// listBits is list where each number is a bit, the first the lowest.
func (a *asm) listBits(name string) (v uint32, n int) {
	l, ok := a.list(name)
	if !ok {
		return 0, 0
	}
	for i, x := range l {
		v |= uint32(x&1) << i
	}
	return v, len(l)
}

// begin chooses the layout and writes prefix and opcode.
func (a *asm) begin(f Format, code uint32) {
	if a.l = a.d.lay[f]; a.l == nil {
		a.fail(ErrUnknown)
		return
	}
	pre := field{shift: a.l.preShift, width: a.l.preWidth}
	pre.put(&a.w, a.l.preValue)
	if a.op.attr.p&pF8F6F4 != 0 {
		code &^= scaledMFMA
	}
	a.put(fOp, code)
}

func (a *asm) assemble() ([]byte, error) {
	code := uint32(a.op.Code[a.t.Gen])
	f := a.op.Fmt
	if a.form == formVOP3 || a.form == formVOP3DPP && f != VOP3 && f != VOP3P {
		switch f {
		case VOP2:
			code += 0x100
		case VOP1:
			code += a.d.vop1
		}
		f = VOP3
	}
	if f == MTBUF && a.t.Gen == GFX12 {
		code += 0x80
	}
	a.begin(f, code)
	if a.err != nil {
		return nil, a.err
	}
	if len(a.op.Dst)+len(a.op.Src) == 0 && f != VIMAGE && f != VSAMPLE && f != MIMG || a.op.attr.p&(pBare|pNoAddr) != 0 {
		a.line.mods = append(a.line.args, a.line.mods...) // what follows the mnemonic is no operand
		a.line.args = nil
	}
	switch f {
	case SOP1, SOP2, SOPC, SOPK, SOPP:
		a.salu()
	case SMEM:
		a.smem()
	case VOP1, VOP2, VOPC:
		a.valu32()
	case VOP3:
		a.vop3()
	case VOP3P:
		a.vop3p()
	case DS:
		a.ds()
	case FLAT, GLOBAL, SCRATCH:
		a.flat(f)
	case MUBUF, MTBUF:
		a.buffer()
	case EXP, VINTRP, VINTERP, LDSDIR:
		a.graphics()
	case MIMG, VIMAGE, VSAMPLE:
		a.image(f)
	default:
		a.fail(ErrUnknown)
	}
	return a.finish()
}

// finish returns the bytes, if all that was written has been used.
func (a *asm) finish() ([]byte, error) {
	switch {
	case a.err != nil:
		return nil, a.err
	case a.next < len(a.line.args):
		return nil, errOperandTooMany
	case len(a.line.mods) > 64 || a.used != 1<<len(a.line.mods)-1:
		return nil, errModifier
	}
	var out []byte
	for _, w := range a.head {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(a.w.lo))
	if a.l.size > 4 {
		out = binary.LittleEndian.AppendUint32(out, uint32(a.w.lo>>32))
	}
	if a.l.size > 8 {
		out = binary.LittleEndian.AppendUint32(out, uint32(a.w.hi))
	}
	for _, w := range a.tail {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	if a.isLit {
		out = binary.LittleEndian.AppendUint32(out, a.lit)
	}
	return out, nil
}
