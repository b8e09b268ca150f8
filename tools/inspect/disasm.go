package inspect

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/engine/isa"
)

// Inst is one line of a disassembly.
type Inst struct {
	Addr  uint64   `json:"addr"`
	Words []string `json:"words"`
	Text  string   `json:"text"`
	Line  string   `json:"line,omitempty"` // file:line where it changes
}

// Listing is the disassembly of one function.
type Listing struct {
	Where    string `json:"where"`
	Target   string `json:"target"`
	Function string `json:"function"`
	Kernel   bool   `json:"kernel"`
	Insts    []Inst `json:"instructions"`
}

// Disasm disassembles the functions of o whose name contains match.
func Disasm(o *Object, match string) ([]Listing, error) {
	functions, err := o.Functions()
	if err != nil {
		return nil, err
	}
	var out []Listing
	for _, f := range functions {
		if !strings.Contains(f.Name, match) {
			continue
		}
		l := Listing{Where: o.Where, Target: o.Target, Function: f.Name, Kernel: f.Kernel}
		last := ""
		eachInst(f.ISA, f.Code, func(off int, in *isa.Inst) {
			x := Inst{Addr: f.Addr + uint64(off), Words: hexWords(in), Text: isa.Disasm(in, f.ISA, f.Addr+uint64(off))}
			if to, ok := isa.BranchTarget(in, x.Addr); ok {
				x.Text += fmt.Sprintf(" <%s>", symbolAt(o, to))
			}
			if p, ok := o.Line(x.Addr); ok {
				if s := fmt.Sprintf("%s:%d", p.File, p.Line); s != last {
					x.Line, last = s, s
				}
			}
			l.Insts = append(l.Insts, x)
		})
		out = append(out, l)
	}
	return out, nil
}

func hexWords(in *isa.Inst) (out []string) {
	for _, w := range in.Raw[:in.Size/4] {
		out = append(out, fmt.Sprintf("%08X", w))
	}
	return out
}

// symbolAt names an address as function+offset.
func symbolAt(o *Object, va uint64) string {
	if name, off, ok := o.Object.Function(va); ok {
		return fmt.Sprintf("%s+%#x", name, off)
	}
	return fmt.Sprintf("%#x", va)
}

// eachInst decodes code; a word that is no instruction is passed on with Op nil and size 4.
func eachInst(t *isa.Target, code []byte, fn func(off int, in *isa.Inst)) {
	var in isa.Inst
	for off := 0; off+4 <= len(code); {
		if err := isa.Decode(t, code[off:], &in); err != nil || in.Op == nil || in.Size == 0 {
			in = isa.Inst{Size: 4}
			in.Raw[0] = binary.LittleEndian.Uint32(code[off:])
		}
		fn(off, &in)
		off += int(in.Size)
	}
}

// WriteText prints a listing as objdump does: words behind the text.
func (l *Listing) WriteText(w io.Writer) {
	what := "function"
	if l.Kernel {
		what = "kernel"
	}
	fmt.Fprintf(w, "\n%s, %s: %s %s\n", l.Where, l.Target, what, l.Function)
	for _, x := range l.Insts {
		if x.Line != "" {
			fmt.Fprintf(w, "; %s\n", x.Line)
		}
		fmt.Fprintf(w, "\t%-60s// %012X: %s\n", x.Text, x.Addr, strings.Join(x.Words, " "))
	}
}

// WriteJSON writes listings, one object a line.
func WriteJSON[T any](w io.Writer, items []T) error {
	e := json.NewEncoder(w)
	for i := range items {
		if err := e.Encode(&items[i]); err != nil {
			return err
		}
	}
	return nil
}

// Words disassembles hex numbers from r for target t, as llvm-mc --disassemble does: bytes ("0x01 0x02", "0x01,0x02") or
// words of eight digits; one instruction after the other on each line. It calls out for each instruction; Addr is the offset in the line.
func Words(r io.Reader, t *isa.Target, out func(Inst)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<20), 1<<20)
	for n := 1; sc.Scan(); n++ {
		text := sc.Text()
		if i := strings.IndexAny(text, "#;"); i >= 0 {
			text = text[:i]
		}
		var code []byte
		for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t,[]", r) }) {
			digits := strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
			v, err := strconv.ParseUint(digits, 16, 32)
			switch {
			case err != nil:
				return fmt.Errorf("line %d: %q is no hexadecimal number", n, s)
			case len(digits) <= 2:
				code = append(code, byte(v))
			case len(digits) == 8:
				code = binary.LittleEndian.AppendUint32(code, uint32(v))
			default:
				return fmt.Errorf("line %d: %q is neither a byte nor a word of eight digits", n, s)
			}
		}
		if len(code)%4 != 0 {
			return fmt.Errorf("line %d: %d bytes, not a multiple of 4", n, len(code))
		}
		eachInst(t, code, func(off int, in *isa.Inst) {
			out(Inst{Addr: uint64(off), Words: hexWords(in), Text: isa.Disasm(in, t, uint64(off))})
		})
	}
	return sc.Err()
}
