package codeobj

import (
	"bytes"
	"compress/zlib"
	"debug/dwarf"
	"io"
	"path"
	"sort"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Line is a place in a source file.
type Line struct {
	File   string
	Line   int
	Column int
}

type lineRow struct {
	pc   uint64
	line Line
	end  bool // first address after a sequence
}

// lineTable is sorted by address.
type lineTable []lineRow

// Line returns the source line of the instruction at va, relative to the load address; ok is false where debug information is
// missing or unreadable.
func (o *Object) Line(va uint64) (l Line, ok bool) {
	o.load()
	i := sort.Search(len(o.lines), func(i int) bool { return o.lines[i].pc > va }) - 1
	if i < 0 || o.lines[i].end {
		return Line{}, false
	}
	return o.lines[i].line, true
}

// debugData returns a debug section, uncompressed.
func (f *elfFile) debugData(name string) []byte {
	s := f.section(name)
	if s == nil {
		return nil
	}
	if s.flags&shfCompressed == 0 {
		return s.data
	}
	if len(s.data) < 24 {
		return nil
	}
	size := le.Uint64(s.data[8:])
	if size > MaxUncompressed {
		return nil
	}
	var r io.Reader
	switch le.Uint32(s.data) {
	case 1:
		z, err := zlib.NewReader(bytes.NewReader(s.data[24:]))
		if err != nil {
			return nil
		}
		r = z
	case 2:
		z, err := zstd.NewReader(bytes.NewReader(s.data[24:]), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxUncompressed))
		if err != nil {
			return nil
		}
		defer z.Close()
		r = z
	default:
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return nil
	}
	return b
}

// readLines collects the line tables of all compile units. Debug information is an aid: what cannot be read is left out, and a
// panic of debug/dwarf on hostile input ends the reading.
func (f *elfFile) readLines() (t lineTable) {
	defer func() {
		if recover() != nil {
			t = nil
		}
	}()
	info := f.debugData(".debug_info")
	if info == nil {
		return nil
	}
	d, err := dwarf.New(f.debugData(".debug_abbrev"), nil, nil, info, f.debugData(".debug_line"), nil,
		f.debugData(".debug_ranges"), f.debugData(".debug_str"))
	if err != nil {
		return nil
	}
	for _, n := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} {
		if b := f.debugData(n); b != nil {
			if d.AddSection(n, b) != nil {
				return nil
			}
		}
	}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if e == nil || err != nil {
			break
		}
		if e.Tag == dwarf.TagCompileUnit {
			if lr, err := d.LineReader(e); err == nil && lr != nil {
				t = appendRows(t, lr, misjoined(e))
			}
		}
		r.SkipChildren()
	}
	sort.SliceStable(t, func(i, j int) bool {
		if t[i].pc != t[j].pc {
			return t[i].pc < t[j].pc
		}
		return t[i].end && !t[j].end // a sequence that ends where another begins comes first
	})
	return t
}

// misjoined returns how debug/dwarf spells the unit's own file when its name is absolute: DWARF 5 tables hold the absolute
// name with directory 0, and the reader joins the two all the same. wrong is "" when there is nothing to mend.
func misjoined(unit *dwarf.Entry) (f struct{ wrong, right string }) {
	dir, _ := unit.Val(dwarf.AttrCompDir).(string)
	name, _ := unit.Val(dwarf.AttrName).(string)
	if dir != "" && strings.HasPrefix(name, "/") {
		f.wrong, f.right = path.Join(dir, name), name
	}
	return f
}

func appendRows(t lineTable, lr *dwarf.LineReader, fix struct{ wrong, right string }) lineTable {
	var e dwarf.LineEntry
	for lr.Next(&e) == nil {
		row := lineRow{pc: e.Address, end: e.EndSequence}
		if e.File != nil {
			row.line = Line{File: e.File.Name, Line: e.Line, Column: e.Column}
			if fix.wrong != "" && row.line.File == fix.wrong {
				row.line.File = fix.right
			}
		}
		t = append(t, row)
	}
	return t
}
