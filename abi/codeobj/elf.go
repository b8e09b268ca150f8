package codeobj

import (
	"bytes"
	"strings"
)

// ELF numbers used here (System V gABI; LLVM "User Guide for AMDGPU Backend", ELF Code Object).
const (
	emAMDGPU      = 224
	osABIHSA      = 64
	etDyn         = 3
	ptLoad        = 1
	ptDynamic     = 2
	ptNote        = 4
	shtProgbits   = 1
	shtSymtab     = 2
	shtStrtab     = 3
	shtHash       = 5
	shtDynamic    = 6
	shtNote       = 7
	shtNobits     = 8
	shtDynsym     = 11
	shnUndef      = 0
	shfWrite      = 1
	shfAlloc      = 2
	shfExec       = 4
	shfCompressed = 0x800

	dtHash     = 4
	dtStrtab   = 5
	dtSymtab   = 6
	dtRela     = 7
	dtRelaSz   = 8
	dtRelaEnt  = 9
	dtStrSz    = 10
	dtSymEnt   = 11
	dtJmpRel   = 23
	dtPltRelSz = 2

	ehdrSize, phdrSize, shdrSize, symSize, relaSize = 64, 56, 64, 24, 24

	noteMetadata = 32
)

// SegmentFlags are the rights of a loadable segment.
type SegmentFlags uint32

// Rights.
const (
	SegmentExec  SegmentFlags = 1
	SegmentWrite SegmentFlags = 2
	SegmentRead  SegmentFlags = 4
)

// Segment is one PT_LOAD program header. Data is shorter than MemSize where the rest is zero (.bss).
type Segment struct {
	VAddr   uint64
	MemSize uint64
	Align   uint64
	Flags   SegmentFlags
	Data    []byte
}

type section struct {
	name       string
	typ        uint32
	flags      uint64
	addr       uint64
	data       []byte
	link, info uint32
	entsize    uint64
}

// SymbolType is the type of an ELF symbol.
type SymbolType uint8

// Symbol types.
const (
	SymNone    SymbolType = 0
	SymObject  SymbolType = 1 // variables and kernel descriptors
	SymFunc    SymbolType = 2
	SymSection SymbolType = 3
	SymFile    SymbolType = 4
)

// Symbol is one entry of a symbol table. Value is relative to the load address.
type Symbol struct {
	Name       string
	Value      uint64
	Size       uint64
	Type       SymbolType
	Binding    uint8 // 0 local, 1 global, 2 weak
	Visibility uint8 // 0 default, 1 internal, 2 hidden, 3 protected
	Section    uint16
}

// Undefined reports whether the object only refers to the symbol.
func (s *Symbol) Undefined() bool { return s.Section == shnUndef }

type elfFile struct {
	b        []byte
	abi      uint8
	flags    uint32
	segs     []Segment
	dynamic  []byte
	notes    [][]byte
	sections []section
}

// span returns b[off:off+n] or an error that names what.
func (f *elfFile) span(off, n uint64, what string) ([]byte, error) {
	if off > uint64(len(f.b)) || n > uint64(len(f.b))-off {
		return nil, bad("ELF", off, "%s of %d bytes goes beyond the file's %d", what, n, len(f.b))
	}
	return f.b[off : off+n : off+n], nil
}

func readELF(b []byte) (*elfFile, error) {
	f := &elfFile{b: b}
	h, err := f.span(0, ehdrSize, "header")
	if err != nil {
		return nil, err
	}
	switch {
	case string(h[:4]) != "\x7fELF":
		return nil, bad("ELF header", 0, "no ELF magic")
	case h[4] != 2:
		return nil, bad("ELF header", 4, "class %d, want 2 (64 bit)", h[4])
	case h[5] != 1:
		return nil, bad("ELF header", 5, "data encoding %d, want 1 (little endian)", h[5])
	case h[7] != osABIHSA:
		return nil, bad("ELF header", 7, "OS ABI %d, want %d (AMDGPU HSA)", h[7], osABIHSA)
	case le.Uint16(h[18:]) != emAMDGPU:
		return nil, bad("ELF header", 18, "machine %d, want %d (AMDGPU)", le.Uint16(h[18:]), emAMDGPU)
	case le.Uint16(h[16:]) != etDyn:
		return nil, bad("ELF header", 16, "type %d, want %d (shared object): the object is not linked", le.Uint16(h[16:]), etDyn)
	}
	f.abi, f.flags = h[8], le.Uint32(h[48:])
	if err := f.readSegments(le.Uint64(h[32:]), le.Uint16(h[54:]), le.Uint16(h[56:])); err != nil {
		return nil, err
	}
	return f, f.readSections(le.Uint64(h[40:]), le.Uint16(h[58:]), le.Uint16(h[60:]), le.Uint16(h[62:]))
}

func (f *elfFile) readSegments(off uint64, entsize, n uint16) error {
	if n == 0 {
		return bad("ELF header", 56, "no program headers")
	}
	if entsize != phdrSize {
		return bad("ELF header", 54, "program header size %d, want %d", entsize, phdrSize)
	}
	t, err := f.span(off, uint64(n)*phdrSize, "program header table")
	if err != nil {
		return err
	}
	var end uint64
	for i := 0; i < int(n); i++ {
		p := t[i*phdrSize:]
		at := off + uint64(i)*phdrSize
		foff, vaddr, fsz, msz := le.Uint64(p[8:]), le.Uint64(p[16:]), le.Uint64(p[32:]), le.Uint64(p[40:])
		switch le.Uint32(p) {
		case ptLoad:
			if msz == 0 {
				continue
			}
			if fsz > msz {
				return bad("ELF", at, "segment %d has %d bytes in the file but %d in memory", i, fsz, msz)
			}
			if vaddr+msz < vaddr || vaddr+msz > maxImage {
				return bad("ELF", at, "segment %d at %#x of %#x bytes is too large", i, vaddr, msz)
			}
			if vaddr < end {
				return bad("ELF", at, "segment %d at %#x overlaps or precedes the one before", i, vaddr)
			}
			end = vaddr + msz
			align := le.Uint64(p[48:])
			if align&(align-1) != 0 || align > maxImage {
				return bad("ELF", at, "segment %d has alignment %#x", i, align)
			}
			data, err := f.span(foff, fsz, "segment")
			if err != nil {
				return err
			}
			f.segs = append(f.segs, Segment{VAddr: vaddr, MemSize: msz, Align: max(align, 1), Flags: SegmentFlags(le.Uint32(p[4:])), Data: data})
		case ptDynamic:
			if f.dynamic, err = f.span(foff, fsz, "dynamic table"); err != nil {
				return err
			}
		case ptNote:
			d, err := f.span(foff, fsz, "note segment")
			if err != nil {
				return err
			}
			f.notes = append(f.notes, d)
		}
	}
	if len(f.segs) == 0 {
		return bad("ELF", off, "no loadable segment")
	}
	return nil
}

// maxImage bounds the address space a code object may ask for. The largest public one takes a few hundred MiB.
const maxImage = 1 << 36

func (f *elfFile) readSections(off uint64, entsize, n, strndx uint16) error {
	if n == 0 || off == 0 {
		return nil
	}
	if entsize != shdrSize {
		return bad("ELF header", 58, "section header size %d, want %d", entsize, shdrSize)
	}
	t, err := f.span(off, uint64(n)*shdrSize, "section header table")
	if err != nil {
		return err
	}
	f.sections = make([]section, n)
	for i := range f.sections {
		h := t[i*shdrSize:]
		s := &f.sections[i]
		s.typ, s.flags, s.addr = le.Uint32(h[4:]), le.Uint64(h[8:]), le.Uint64(h[16:])
		s.link, s.info, s.entsize = le.Uint32(h[40:]), le.Uint32(h[44:]), le.Uint64(h[56:])
		if s.typ == shtNobits || s.typ == 0 {
			continue
		}
		if s.data, err = f.span(le.Uint64(h[24:]), le.Uint64(h[32:]), "section"); err != nil {
			return err
		}
		if s.typ == shtNote && len(f.notes) == 0 {
			f.notes = append(f.notes, s.data)
		}
	}
	if int(strndx) < len(f.sections) {
		names := f.sections[strndx].data
		for i := range f.sections {
			f.sections[i].name = cstring(names, le.Uint32(t[i*shdrSize:]))
		}
	}
	return nil
}

func cstring(tab []byte, off uint32) string {
	if uint64(off) >= uint64(len(tab)) {
		return ""
	}
	s := tab[off:]
	if i := bytes.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return string(s)
}

func (f *elfFile) section(name string) *section {
	for i := range f.sections {
		if f.sections[i].name == name {
			return &f.sections[i]
		}
	}
	return nil
}

// image returns n bytes of loaded memory at va, as far as the file holds them; bss reads as zero.
func (f *elfFile) image(va, n uint64) ([]byte, bool) {
	for i := range f.segs {
		s := &f.segs[i]
		if va < s.VAddr || va-s.VAddr >= s.MemSize || n > s.MemSize-(va-s.VAddr) {
			continue
		}
		o := va - s.VAddr
		if o+n <= uint64(len(s.Data)) {
			return s.Data[o : o+n : o+n], true
		}
		if n > 1<<20 {
			return nil, false
		}
		b := make([]byte, n)
		if o < uint64(len(s.Data)) {
			copy(b, s.Data[o:])
		}
		return b, true
	}
	return nil, false
}

// eachNote calls g for every note until it returns false.
func (f *elfFile) eachNote(g func(owner string, typ uint32, desc []byte) bool) error {
	for _, n := range f.notes {
		for off := uint64(0); off+12 <= uint64(len(n)); {
			nsz, dsz, typ := uint64(le.Uint32(n[off:])), uint64(le.Uint32(n[off+4:])), le.Uint32(n[off+8:])
			name := off + 12
			desc := name + (nsz+3)&^3
			if desc+dsz > uint64(len(n)) {
				return bad("note", off, "name of %d and descriptor of %d bytes go beyond the segment's %d", nsz, dsz, len(n))
			}
			if !g(strings.TrimRight(string(n[name:name+nsz]), "\x00"), typ, n[desc:desc+dsz]) {
				return nil
			}
			off = desc + (dsz+3)&^3
		}
	}
	return nil
}

type dynTable map[uint64]uint64

func (f *elfFile) readDynamic() dynTable {
	d := dynTable{}
	for b := f.dynamic; len(b) >= 16; b = b[16:] {
		tag := le.Uint64(b)
		if tag == 0 {
			break
		}
		d[tag] = le.Uint64(b[8:])
	}
	return d
}

// dynSymbols reads the dynamic symbol table: by its section when there are section headers, else by the dynamic table,
// where DT_HASH tells how many there are.
func (f *elfFile) dynSymbols(d dynTable) ([]Symbol, error) {
	for i := range f.sections {
		s := &f.sections[i]
		if s.typ == shtDynsym {
			return f.symbols(s)
		}
	}
	if d[dtSymtab] == 0 || d[dtHash] == 0 {
		return nil, nil
	}
	h, ok := f.image(d[dtHash], 8)
	if !ok {
		return nil, bad("dynamic table", 0, "DT_HASH %#x is outside the image", d[dtHash])
	}
	n := uint64(le.Uint32(h[4:]))
	str, ok1 := f.image(d[dtStrtab], d[dtStrSz])
	sym, ok2 := f.image(d[dtSymtab], n*symSize)
	if !ok1 || !ok2 {
		return nil, bad("dynamic table", 0, "the symbol or string table is outside the image")
	}
	return parseSymbols(sym, str)
}

func (f *elfFile) symbols(s *section) ([]Symbol, error) {
	if s.entsize != symSize {
		return nil, bad("symbol table", 0, "entry size %d, want %d", s.entsize, symSize)
	}
	if uint64(s.link) >= uint64(len(f.sections)) {
		return nil, bad("symbol table", 0, "string table is section %d of %d", s.link, len(f.sections))
	}
	return parseSymbols(s.data, f.sections[s.link].data)
}

func parseSymbols(tab, str []byte) ([]Symbol, error) {
	if len(tab)%symSize != 0 {
		return nil, bad("symbol table", uint64(len(tab)), "size %d is no multiple of %d", len(tab), symSize)
	}
	syms := make([]Symbol, len(tab)/symSize)
	for i := range syms {
		e := tab[i*symSize:]
		if off := le.Uint32(e); off != 0 && uint64(off) >= uint64(len(str)) {
			return nil, bad("symbol table", uint64(i*symSize), "name offset %#x is beyond the string table", off)
		}
		syms[i] = Symbol{
			Name: cstring(str, le.Uint32(e)), Type: SymbolType(e[4] & 15), Binding: e[4] >> 4, Visibility: e[5] & 3,
			Section: le.Uint16(e[6:]), Value: le.Uint64(e[8:]), Size: le.Uint64(e[16:]),
		}
	}
	return syms, nil
}
