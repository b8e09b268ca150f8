package codeobj

import "encoding/binary"

// Builder makes a code object from machine code: for the runtime's own kernels, demonstrations and tests, where no compiler is at hand.
type Builder struct {
	Target  Target
	Version int // 4 or 5; 5 if 0. ROCm before 5.3 refuses 5
	Kernels []BuiltKernel
}

// BuiltKernel is one kernel of a Builder.
type BuiltKernel struct {
	Name  string
	Code  []uint32   // instruction words
	Desc  Descriptor // EntryOffset and KernargSize are filled in
	Args  []Arg
	Group uint32 // bytes of LDS
}

// Bytes returns the ELF file.
func (b *Builder) Bytes() []byte {
	le := binary.LittleEndian
	up := func(n, a int) int { return (n + a - 1) &^ (a - 1) }
	// Strings and symbols: for each kernel its code and its descriptor.
	str := []byte{0}
	name := func(s string) uint32 {
		o := uint32(len(str))
		str = append(append(str, s...), 0)
		return o
	}
	meta := b.metadata()
	n := len(b.Kernels)
	noteOff := up(ehdrSize+5*phdrSize, 64)
	noteLen := up(20+len(meta), 4)
	symOff := up(noteOff+noteLen, 8)
	symLen := (1 + 2*n) * symSize
	type pair struct{ code, desc uint32 }
	names := make([]pair, n)
	for i, k := range b.Kernels {
		names[i] = pair{name(k.Name), name(k.Name + ".kd")}
	}
	strOff := symOff + symLen
	hashOff := up(strOff+len(str), 8)
	hashLen := 4 * (2 + 1 + 1 + 2*n)
	kdOff := up(hashOff+hashLen, DescriptorSize)
	codeOff := up(kdOff+n*DescriptorSize, 4096)
	entry := make([]int, n)
	end := codeOff
	for i, k := range b.Kernels {
		end = up(end, 256)
		entry[i] = end
		end += 4 * len(k.Code)
	}
	// Instruction fetch runs ahead of the last instruction.
	codeLen := up(end+256, 256) - codeOff
	dynOff := up(codeOff+codeLen, 4096)
	const dynLen = 6 * 16
	f := make([]byte, dynOff+dynLen)
	copy(f, "\x7fELF\x02\x01\x01")
	f[7], f[8] = osABIHSA, byte(b.version()-2)
	le.PutUint16(f[16:], etDyn)
	le.PutUint16(f[18:], emAMDGPU)
	le.PutUint32(f[20:], 1)
	le.PutUint64(f[32:], ehdrSize)
	le.PutUint32(f[48:], uint32(b.Target.Proc.Mach)|uint32(b.Target.XNACK)<<8|uint32(b.Target.SRAMECC)<<10)
	le.PutUint16(f[52:], ehdrSize)
	le.PutUint16(f[54:], phdrSize)
	le.PutUint16(f[56:], 5)
	for i, p := range [...]struct {
		typ, flags uint32
		off, n     int
		align      uint64
	}{
		{ptLoad, uint32(SegmentRead), 0, kdOff + n*DescriptorSize, 4096},
		{ptLoad, uint32(SegmentRead | SegmentExec), codeOff, codeLen, 4096},
		{ptLoad, uint32(SegmentRead | SegmentWrite), dynOff, dynLen, 4096},
		{ptDynamic, uint32(SegmentRead | SegmentWrite), dynOff, dynLen, 8},
		{ptNote, uint32(SegmentRead), noteOff, noteLen, 4},
	} {
		h := f[ehdrSize+i*phdrSize:]
		le.PutUint32(h, p.typ)
		le.PutUint32(h[4:], p.flags)
		for j, v := range []uint64{uint64(p.off), uint64(p.off), uint64(p.off), uint64(p.n), uint64(p.n), p.align} {
			le.PutUint64(h[8+8*j:], v)
		}
	}
	le.PutUint32(f[noteOff:], 7)
	le.PutUint32(f[noteOff+4:], uint32(len(meta)))
	le.PutUint32(f[noteOff+8:], noteMetadata)
	copy(f[noteOff+12:], "AMDGPU")
	copy(f[noteOff+20:], meta)
	copy(f[strOff:], str)
	symbol := func(i int, name uint32, typ SymbolType, va, size int) {
		s := f[symOff+i*symSize:]
		le.PutUint32(s, name)
		s[4], s[5] = 1<<4|byte(typ), 3
		at := uint16(inRodata)
		if typ == SymFunc {
			at = inText
		}
		le.PutUint16(s[6:], at)
		le.PutUint64(s[8:], uint64(va))
		le.PutUint64(s[16:], uint64(size))
	}
	for i, k := range b.Kernels {
		kd := kdOff + i*DescriptorSize
		symbol(1+2*i, names[i].code, SymFunc, entry[i], 4*len(k.Code))
		symbol(2+2*i, names[i].desc, SymObject, kd, DescriptorSize)
		d := k.Desc
		d.EntryOffset, d.KernargSize, d.GroupSegmentFixedSize = int64(entry[i]-kd), k.kernargSize(), k.Group
		e := d.Encode()
		copy(f[kd:], e[:])
		for j, w := range k.Code {
			le.PutUint32(f[entry[i]+4*j:], w)
		}
	}
	le.PutUint32(f[hashOff:], 1)
	le.PutUint32(f[hashOff+4:], uint32(1+2*n))
	for i, kv := range [...][2]int{{dtHash, hashOff}, {dtStrtab, strOff}, {dtStrSz, len(str)}, {dtSymtab, symOff}, {dtSymEnt, symSize}} {
		le.PutUint64(f[dynOff+16*i:], uint64(kv[0]))
		le.PutUint64(f[dynOff+16*i+8:], uint64(kv[1]))
	}
	return addSections(f, []builtSection{
		{},
		{name: ".note", typ: shtNote, flags: shfAlloc, off: noteOff, n: noteLen, align: 4},
		{name: ".dynsym", typ: shtDynsym, flags: shfAlloc, off: symOff, n: symLen, align: 8, link: inDynstr, info: 1, entsize: symSize},
		{name: ".dynstr", typ: shtStrtab, flags: shfAlloc, off: strOff, n: len(str), align: 1},
		{name: ".hash", typ: shtHash, flags: shfAlloc, off: hashOff, n: hashLen, align: 4, link: inDynsym, entsize: 4},
		{name: ".rodata", typ: shtProgbits, flags: shfAlloc, off: kdOff, n: n * DescriptorSize, align: DescriptorSize},
		{name: ".text", typ: shtProgbits, flags: shfAlloc | shfExec, off: codeOff, n: codeLen, align: 4096},
		{name: ".dynamic", typ: shtDynamic, flags: shfAlloc | shfWrite, off: dynOff, n: dynLen, align: 8, link: inDynstr, entsize: 16},
	})
}

// Indices of a built object's sections that others refer to.
const (
	inDynsym = 2
	inDynstr = 3
	inRodata = 5
	inText   = 6
)

// builtSection is a section of a built object. What is loaded has its file offset as address.
type builtSection struct {
	name       string
	typ        uint32
	flags      uint64
	off, n     int
	link, info uint32
	align      uint64
	entsize    uint64
}

// addSections appends a section header table to a file, and what only readers of sections look at: .symtab, which is .dynsym again, and the names. The
// loader needs none of it, but AMD's clr reads .symtab of every code object without asking whether there is one.
func addSections(f []byte, sections []builtSection) []byte {
	le := binary.LittleEndian
	add := func(s builtSection, data []byte) {
		for len(f)%8 != 0 {
			f = append(f, 0)
		}
		s.off, s.n = len(f), len(data)
		f = append(f, data...)
		sections = append(sections, s)
	}
	old := func(i int) []byte { return f[sections[i].off : sections[i].off+sections[i].n] }
	add(builtSection{name: ".symtab", typ: shtSymtab, link: uint32(len(sections) + 1), info: 1, align: 8, entsize: symSize}, old(inDynsym))
	add(builtSection{name: ".strtab", typ: shtStrtab, align: 1}, old(inDynstr))
	var names []byte
	at := make([]int, len(sections)+1)
	for i := range at {
		at[i] = len(names)
		n := ".shstrtab"
		if i < len(sections) {
			n = sections[i].name
		}
		names = append(append(names, n...), 0)
	}
	add(builtSection{typ: shtStrtab, align: 1}, names)
	for len(f)%8 != 0 {
		f = append(f, 0)
	}
	table := len(f)
	f = append(f, make([]byte, len(sections)*shdrSize)...)
	for i, s := range sections {
		h := f[table+i*shdrSize:]
		if s.typ == 0 {
			continue
		}
		le.PutUint32(h, uint32(at[i]))
		le.PutUint32(h[4:], s.typ)
		le.PutUint64(h[8:], s.flags)
		if s.flags&shfAlloc != 0 {
			le.PutUint64(h[16:], uint64(s.off))
		}
		le.PutUint64(h[24:], uint64(s.off))
		le.PutUint64(h[32:], uint64(s.n))
		le.PutUint32(h[40:], s.link)
		le.PutUint32(h[44:], s.info)
		le.PutUint64(h[48:], s.align)
		le.PutUint64(h[56:], s.entsize)
	}
	le.PutUint64(f[40:], uint64(table))
	le.PutUint16(f[58:], shdrSize)
	le.PutUint16(f[60:], uint16(len(sections)))
	le.PutUint16(f[62:], uint16(len(sections)-1))
	return f
}

func (k *BuiltKernel) kernargSize() (n uint32) {
	for _, a := range k.Args {
		n = max(n, a.Offset+a.Size)
	}
	return
}

func (b *Builder) version() int {
	if b.Version == 4 {
		return 4
	}
	return 5
}

// metadata writes the MessagePack note.
func (b *Builder) metadata() []byte {
	var w packWriter
	w.mapLen(3)
	w.str("amdhsa.version")
	w.arrayLen(2)
	w.uint(1)
	w.uint(uint32(b.version() - 3))
	w.str("amdhsa.target")
	w.str(b.Target.Triple())
	w.str("amdhsa.kernels")
	w.arrayLen(len(b.Kernels))
	for i := range b.Kernels {
		k := &b.Kernels[i]
		wave := uint32(64)
		if k.Desc.Wavefront32() {
			wave = 32
		}
		w.mapLen(11)
		w.str(".name")
		w.str(k.Name)
		w.str(".symbol")
		w.str(k.Name + ".kd")
		for _, f := range [...]struct {
			key string
			v   uint32
		}{
			{".kernarg_segment_size", k.kernargSize()}, {".kernarg_segment_align", 8}, {".group_segment_fixed_size", k.Group},
			{".private_segment_fixed_size", k.Desc.PrivateSegmentFixedSize}, {".wavefront_size", wave}, {".max_flat_workgroup_size", 1024},
			{".vgpr_count", k.Desc.VGPRs(b.Target.Proc)}, {".sgpr_count", k.Desc.SGPRs(b.Target.Proc)},
		} {
			w.str(f.key)
			w.uint(f.v)
		}
		w.str(".args")
		w.arrayLen(len(k.Args))
		for _, a := range k.Args {
			w.mapLen(3)
			w.str(".offset")
			w.uint(a.Offset)
			w.str(".size")
			w.uint(a.Size)
			w.str(".value_kind")
			w.str(a.Kind.String())
		}
	}
	return w.b
}

// packWriter writes the few MessagePack forms that metadata needs.
type packWriter struct{ b []byte }

func (w *packWriter) uint(v uint32) { w.b = binary.BigEndian.AppendUint32(append(w.b, 0xce), v) }
func (w *packWriter) mapLen(n int)  { w.b = binary.BigEndian.AppendUint16(append(w.b, 0xde), uint16(n)) }
func (w *packWriter) arrayLen(n int) {
	w.b = binary.BigEndian.AppendUint16(append(w.b, 0xdc), uint16(n))
}
func (w *packWriter) str(s string) {
	w.b = append(binary.BigEndian.AppendUint16(append(w.b, 0xda), uint16(len(s))), s...)
}
