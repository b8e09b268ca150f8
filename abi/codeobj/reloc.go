package codeobj

import "fmt"

// RelocType is the type of an AMDGPU relocation.
type RelocType uint32

// Relocation types (LLVM "User Guide for AMDGPU Backend", Relocation Records). Only those that a dynamic loader meets can
// be applied; the others are for the static linker.
const (
	RelocNone       RelocType = 0
	RelocAbs32Lo    RelocType = 1
	RelocAbs32Hi    RelocType = 2
	RelocAbs64      RelocType = 3
	RelocRel32      RelocType = 4
	RelocRel64      RelocType = 5
	RelocAbs32      RelocType = 6
	RelocGotPCRel   RelocType = 7
	RelocRel32Lo    RelocType = 10
	RelocRel32Hi    RelocType = 11
	RelocRelative64 RelocType = 13
)

// Reloc is one dynamic relocation. Offset is relative to the load address.
type Reloc struct {
	Offset uint64
	Type   RelocType
	Symbol *Symbol // nil for none
	Addend int64
}

// Value computes what the relocation stores and how many bytes of it: s is the address of its symbol, base the load
// address. A type that the dynamic loader has no rule for is an error.
func (r *Reloc) Value(s, base uint64) (v uint64, size int, err error) {
	a, p := uint64(r.Addend), base+r.Offset
	switch r.Type {
	case RelocNone:
		return 0, 0, nil
	case RelocAbs32Lo, RelocAbs32:
		return (s + a) & 0xffffffff, 4, nil
	case RelocAbs32Hi:
		return (s + a) >> 32, 4, nil
	case RelocAbs64:
		return s + a, 8, nil
	case RelocRel32, RelocRel32Lo:
		return (s + a - p) & 0xffffffff, 4, nil
	case RelocRel32Hi:
		return (s + a - p) >> 32, 4, nil
	case RelocRel64:
		return s + a - p, 8, nil
	case RelocRelative64:
		return base + a, 8, nil
	}
	return 0, 0, fmt.Errorf("codeobj: relocation type %d at %#x cannot be applied at load", r.Type, r.Offset)
}

// relocs reads the two tables of dynamic relocations.
func (f *elfFile) relocs(d dynTable, syms []Symbol) ([]Reloc, error) {
	if e, ok := d[dtRelaEnt]; ok && e != relaSize {
		return nil, bad("dynamic table", 0, "relocation size %d, want %d", e, relaSize)
	}
	var out []Reloc
	for _, t := range [][2]uint64{{d[dtRela], d[dtRelaSz]}, {d[dtJmpRel], d[dtPltRelSz]}} {
		if t[1] == 0 {
			continue
		}
		b, ok := f.image(t[0], t[1])
		if !ok {
			return nil, bad("dynamic table", 0, "relocations at %#x of %#x bytes are outside the image", t[0], t[1])
		}
		for ; len(b) >= relaSize; b = b[relaSize:] {
			r := Reloc{Offset: le.Uint64(b), Type: RelocType(le.Uint32(b[8:])), Addend: int64(le.Uint64(b[16:]))}
			if i := le.Uint32(b[12:]); i != 0 {
				if uint64(i) >= uint64(len(syms)) {
					return nil, bad("relocation", t[0], "symbol %d of %d", i, len(syms))
				}
				r.Symbol = &syms[i]
			}
			_, size, err := r.Value(0, 0)
			if err != nil {
				return nil, &FormatError{Part: "relocation", Off: int64(r.Offset), Msg: "unsupported", Err: err}
			}
			if size > 0 {
				if _, ok := f.image(r.Offset, uint64(size)); !ok {
					return nil, bad("relocation", r.Offset, "target is outside the image")
				}
			}
			out = append(out, r)
		}
	}
	return out, nil
}
