package codeobj

import (
	"sort"
	"sync"
)

// Object is one code object.
type Object struct {
	Version        int    // 3 to 6
	Flags          uint32 // e_flags
	Target         Target
	GenericVersion uint8 // V6, of a generic target

	Segments []Segment
	Relocs   []Reloc
	Meta     *Metadata // nil if there is no metadata note

	raw    []byte
	file   *elfFile
	dyn    []Symbol
	byName map[string]*Symbol // global symbols
	meta   map[string]*Kernel

	once  sync.Once // guards the lazy parts below
	funcs []Symbol  // by address
	lines lineTable
}

// Size returns the number of bytes of the ELF file at the start of b, which may be longer: the end of its section header table
// or of its last segment or section. It is how a code object is cut out of memory of unknown length.
func Size(b []byte) (uint64, error) {
	f := &elfFile{b: b}
	h, err := f.span(0, ehdrSize, "header")
	if err != nil {
		return 0, err
	}
	if string(h[:4]) != "\x7fELF" {
		return 0, bad("ELF header", 0, "no ELF magic")
	}
	end := uint64(ehdrSize)
	grow := func(off, n uint64) error {
		_, err := f.span(off, n, "part")
		end = max(end, off+n)
		return err
	}
	phoff, phn := le.Uint64(h[32:]), uint64(le.Uint16(h[56:]))
	shoff, shn := le.Uint64(h[40:]), uint64(le.Uint16(h[60:]))
	if err := grow(phoff, phn*phdrSize); err != nil {
		return 0, err
	}
	if err := grow(shoff, shn*shdrSize); err != nil {
		return 0, err
	}
	for i := uint64(0); i < phn; i++ {
		p := b[phoff+i*phdrSize:]
		if err := grow(le.Uint64(p[8:]), le.Uint64(p[32:])); err != nil {
			return 0, err
		}
	}
	for i := uint64(0); i < shn; i++ {
		s := b[shoff+i*shdrSize:]
		if t := le.Uint32(s[4:]); t == shtNobits || t == 0 {
			continue
		}
		if err := grow(le.Uint64(s[24:]), le.Uint64(s[32:])); err != nil {
			return 0, err
		}
	}
	return end, nil
}

// IsELF reports whether b starts with the ELF magic.
func IsELF(b []byte) bool { return len(b) >= 4 && string(b[:4]) == "\x7fELF" }

// Open reads a code object of version 3 to 6. b is kept and must not change.
func Open(b []byte) (*Object, error) {
	f, err := readELF(b)
	if err != nil {
		return nil, err
	}
	if f.abi < 1 || f.abi > 4 {
		return nil, bad("ELF header", 8, "code object ABI version %d: versions 3 to 6 (ABI 1 to 4) are supported", f.abi)
	}
	o := &Object{Version: int(f.abi) + 2, Flags: f.flags, Segments: f.segs, raw: b, file: f}
	if o.Target, err = targetFromFlags(f.flags, o.Version); err != nil {
		return nil, err
	}
	if o.Version >= 6 {
		o.GenericVersion = uint8(f.flags >> 24)
	}
	d := f.readDynamic()
	if o.dyn, err = f.dynSymbols(d); err != nil {
		return nil, err
	}
	if o.Relocs, err = f.relocs(d, o.dyn); err != nil {
		return nil, err
	}
	var metaErr error
	// A linker puts the notes of its inputs behind each other; libraries of kernels in assembly (Tensile's) have one for each kernel.
	if err := f.eachNote(func(owner string, typ uint32, desc []byte) bool {
		if owner == "AMDGPU" && typ == noteMetadata {
			var m *Metadata
			if m, metaErr = ParseMetadata(desc); metaErr != nil {
				return false
			}
			if o.Meta == nil {
				o.Meta = m
			} else {
				o.Meta.Kernels = append(o.Meta.Kernels, m.Kernels...)
				o.Meta.Printf = append(o.Meta.Printf, m.Printf...)
			}
		}
		return true
	}); err != nil {
		return nil, err
	}
	if metaErr != nil {
		return nil, metaErr
	}
	o.byName = make(map[string]*Symbol, len(o.dyn))
	for i := range o.dyn {
		if s := &o.dyn[i]; s.Name != "" && !s.Undefined() {
			o.byName[s.Name] = s
		}
	}
	o.meta = map[string]*Kernel{}
	if o.Meta != nil {
		for i := range o.Meta.Kernels {
			o.meta[o.Meta.Kernels[i].Symbol] = &o.Meta.Kernels[i]
		}
	}
	return o, nil
}

// Bytes returns the ELF file.
func (o *Object) Bytes() []byte { return o.raw }

// Symbols returns the dynamic symbols, defined and undefined, in file order.
func (o *Object) Symbols() []Symbol { return o.dyn }

// Symbol finds a defined dynamic symbol by name, nil if there is none.
func (o *Object) Symbol(name string) *Symbol { return o.byName[name] }

// ImageSize returns the number of bytes from address 0 to the end of the last segment.
func (o *Object) ImageSize() uint64 {
	s := &o.Segments[len(o.Segments)-1]
	return s.VAddr + s.MemSize
}

// ImageAlign returns the largest alignment a segment asks for.
func (o *Object) ImageAlign() uint64 {
	a := uint64(1)
	for i := range o.Segments {
		a = max(a, o.Segments[i].Align)
	}
	return a
}

// At returns n bytes of the image at va, relative to the load address and before relocation; ok is false outside of it.
func (o *Object) At(va, n uint64) (b []byte, ok bool) { return o.file.image(va, n) }

// KernelInfo joins what is known of a kernel.
type KernelInfo struct {
	*Kernel            // from the metadata
	Desc    Descriptor // from the image
	DescVA  uint64     // relative to the load address
	EntryVA uint64     // relative to the load address
}

// Kernel finds a kernel by name, with or without the ".kd" of its descriptor's symbol.
func (o *Object) Kernel(name string) (*KernelInfo, error) {
	k := o.meta[name]
	if k == nil {
		k = o.meta[name+".kd"]
	}
	if k == nil {
		return nil, bad("metadata", 0, "no kernel %q", name)
	}
	s := o.byName[k.Symbol]
	if s == nil {
		return nil, bad("symbol table", 0, "no descriptor symbol %q", k.Symbol)
	}
	b, ok := o.file.image(s.Value, DescriptorSize)
	if !ok {
		return nil, bad("kernel descriptor", s.Value, "%q is outside the image", k.Symbol)
	}
	if s.Value%DescriptorSize != 0 {
		return nil, bad("kernel descriptor", s.Value, "%q is not aligned to %d", k.Symbol, DescriptorSize)
	}
	d, err := ParseDescriptor(b)
	if err != nil {
		return nil, err
	}
	entry := s.Value + uint64(d.EntryOffset)
	for i := range o.Segments {
		if g := &o.Segments[i]; g.Flags&SegmentExec != 0 && entry >= g.VAddr && entry < g.VAddr+g.MemSize {
			if entry%256 != 0 {
				return nil, bad("kernel descriptor", s.Value, "entry %#x of %q is not aligned to 256", entry, name)
			}
			return &KernelInfo{Kernel: k, Desc: d, DescVA: s.Value, EntryVA: entry}, nil
		}
	}
	return nil, bad("kernel descriptor", s.Value, "entry %#x of %q is in no executable segment", entry, name)
}

// Function returns the name of the function whose code contains va, and the offset from its start. Local functions are known when
// the object has a symbol table.
func (o *Object) Function(va uint64) (name string, off uint64, ok bool) {
	o.load()
	i := sort.Search(len(o.funcs), func(i int) bool { return o.funcs[i].Value > va }) - 1
	if i < 0 {
		return "", 0, false
	}
	s := &o.funcs[i]
	if s.Size != 0 && va-s.Value >= s.Size {
		return "", 0, false
	}
	return s.Name, va - s.Value, true
}

// Functions returns the defined function symbols by address, local ones too when the object has a symbol table.
func (o *Object) Functions() []Symbol {
	o.load()
	return o.funcs
}

// load fills the lazy parts.
func (o *Object) load() {
	o.once.Do(func() {
		syms := o.dyn
		for i := range o.file.sections {
			if s := &o.file.sections[i]; s.typ == shtSymtab {
				if t, err := o.file.symbols(s); err == nil {
					syms = t
				}
			}
		}
		for _, s := range syms {
			if s.Type == SymFunc && !s.Undefined() {
				o.funcs = append(o.funcs, s)
			}
		}
		sort.SliceStable(o.funcs, func(i, j int) bool { return o.funcs[i].Value < o.funcs[j].Value })
		o.lines = o.file.readLines()
	})
}
