package jit

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/pumice-gpu/pumice/engine/ir"
)

// WriteDump writes what became of p's function: guest code, IR and host code in three columns. guest gives the text of the
// instruction at an address; addr is where the host code is. Scalar operations come before the region that they stand in,
// so guest instructions may appear more than once; cold code (exits to helpers, fuel) is at the end.
func WriteDump(w io.Writer, p *Program, addr uintptr, guest func(pc uint64) string) error {
	f := p.Func
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "function at %#x for %s, wave%d, mode %#x: %d blocks, %d values, %d bytes of host code at %#x, %d operations always by the helper\n",
		f.PC, f.Target, f.Lanes, f.Mode, len(f.Blocks), len(f.Values), len(p.Code), addr, p.helpers)
	row := func(guest, ir, host string) {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s %-*s %s", guestWidth, guest, irWidth, ir, host), " "))
		b.WriteByte('\n')
	}
	lines := p.Listing
	// emit writes the host code before offset end beside what is in the other columns.
	emit := func(end int, g, op string) {
		any := false
		for len(lines) > 0 && lines[0].At < end {
			l := lines[0]
			lines = lines[1:]
			text := fmt.Sprintf("%6x  %s", l.At, l.Text)
			if strings.HasPrefix(l.Text, ".L") {
				text = l.Text
			}
			row(g, op, text)
			g, op, any = "", "", true
		}
		if !any && (g != "" || op != "") {
			row(g, op, "")
		}
	}
	blk := -1
	last := ^uint32(0)
	for i, m := range p.Marks {
		for blk+1 < len(p.blocks) && p.blocks[blk+1] <= m.At {
			blk++
			emit(p.blocks[blk], "", "")
			fmt.Fprintf(b, "block %d, guest %#x\n", blk, f.PC+uint64(int64(int32(f.Blocks[blk].PC))))
			last = ^uint32(0)
		}
		emit(m.At, "", "")
		end := p.Cold
		if i+1 < len(p.Marks) {
			end = p.Marks[i+1].At
		}
		g := ""
		if m.PC != last {
			pc := f.PC + uint64(int64(int32(m.PC)))
			g = fmt.Sprintf("%x  %s", pc, guest(pc))
			last = m.PC
		}
		op := "(the compiler's own)"
		if int(m.ID) < len(f.Values) && m.ID >= 0 {
			op = strings.TrimSpace(f.ValueText(m.ID))
		} else if m.ID == ir.NoID {
			op = f.Blocks[blk].Term.Text()
		}
		emit(end, g, op)
	}
	emit(p.Cold, "", "")
	fmt.Fprintln(b, "cold code and constants")
	emit(len(p.Code)+1, "", "")
	return b.Flush()
}

const (
	guestWidth = 64
	irWidth    = 72
)
