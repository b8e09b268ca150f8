package inspect

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/pumice-gpu/pumice/engine/isa"
)

// Assemble reads instructions of target t, one a line as Disasm writes them, and returns the code of each line. "name:" is a
// label, for branches; what follows # or ; is a comment.
func Assemble(r io.Reader, t *isa.Target) ([][]byte, error) {
	type line struct {
		n     int
		text  string
		label string // where it branches
	}
	var lines []line
	labels := map[string]int{} // index of the instruction
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<20), 1<<20)
	for n := 1; sc.Scan(); n++ {
		text := sc.Text()
		if i := strings.IndexAny(text, "#;"); i >= 0 {
			text = text[:i]
		}
		text = strings.TrimSpace(text)
		if name, ok := strings.CutSuffix(text, ":"); ok {
			if _, twice := labels[name]; twice {
				return nil, fmt.Errorf("line %d: label %s stands twice", n, name)
			}
			labels[name] = len(lines)
			continue
		}
		if text != "" {
			lines = append(lines, line{n: n, text: text})
		}
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	code := make([][]byte, len(lines))
	at := make([]int, len(lines)+1)
	for i := range lines {
		l := &lines[i]
		text := l.text
		if k := strings.LastIndexAny(text, " ,"); k >= 0 {
			if _, ok := labels[text[k+1:]]; ok {
				l.label = text[k+1:]
				l.text = text[:k+1]
				text = l.text + "0"
			}
		}
		var err error
		if code[i], err = isa.Assemble(t, text); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.n, err)
		}
		at[i+1] = at[i] + len(code[i])
	}
	for i := range lines {
		l := &lines[i]
		if l.label == "" {
			continue
		}
		words := (at[labels[l.label]] - at[i+1]) / 4
		if words != int(int16(words)) {
			return nil, fmt.Errorf("line %d: label %s is %d words away", l.n, l.label, words)
		}
		var err error
		if code[i], err = isa.Assemble(t, fmt.Sprint(l.text, words&0xffff)); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.n, err)
		}
	}
	return code, nil
}

// WriteWords writes each instruction as a line of hexadecimal words: what Words reads.
func WriteWords(w io.Writer, code [][]byte) {
	for _, c := range code {
		for i := 0; i+4 <= len(c); i += 4 {
			if i > 0 {
				fmt.Fprint(w, " ")
			}
			fmt.Fprintf(w, "%08x", binary.LittleEndian.Uint32(c[i:]))
		}
		fmt.Fprintln(w)
	}
}
