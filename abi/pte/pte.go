package pte

import "fmt"

// Gen is a generation of the entry layout.
type Gen uint8

// Generations. GFX11 has the layout of GFX10.
const (
	GFX9 Gen = iota + 1
	GFX10
	GFX11
	GFX12
)

// GenOf returns the layout of a chip by its gfx_target_version (major*10000 + minor*100 + stepping); ok is false for
// chips before gfx9 and unknown ones.
func GenOf(gfxTargetVersion uint32) (g Gen, ok bool) {
	switch gfxTargetVersion / 10000 {
	case 9:
		return GFX9, true
	case 10:
		return GFX10, true
	case 11:
		return GFX11, true
	case 12:
		return GFX12, true
	}
	return 0, false
}

func (g Gen) String() string {
	if g < GFX9 || g > GFX12 {
		return fmt.Sprintf("pte.Gen(%d)", uint8(g))
	}
	return [...]string{GFX9: "gfx9", GFX10: "gfx10", GFX11: "gfx11", GFX12: "gfx12"}[g]
}

// Geometry of the tables.
const (
	PageShift    = 12
	PageSize     = 1 << PageShift
	EntryBytes   = 8
	TableEntries = 512
	TableBytes   = TableEntries * EntryBytes
	LevelBits    = 9 // log2 of TableEntries
	HugeShift    = PageShift + LevelBits
	HugeSize     = 1 << HugeShift // covered by one PDB0 entry
)

// Level is a level of the tree, outermost first.
type Level uint8

// Levels.
const (
	PDB3 Level = iota
	PDB2       // the root of a 48-bit address space
	PDB1
	PDB0
	PTB // leaves
)

func (l Level) String() string {
	if l > PTB {
		return fmt.Sprintf("pte.Level(%d)", uint8(l))
	}
	return [...]string{"PDB3", "PDB2", "PDB1", "PDB0", "PTB"}[l]
}

// Shift is the log2 of the bytes that one entry of the level covers.
func (l Level) Shift() uint { return PageShift + LevelBits*uint(PTB-l) }

// Index is the number of the entry of a table of this level that translates va.
func (l Level) Index(va uint64) uint64 { return va >> l.Shift() & (TableEntries - 1) }

// Flags are the single-bit properties of an entry.
type Flags uint32

// Flags. Those without a bit in a generation are dropped by Encode there.
const (
	Valid Flags = 1 << iota
	System
	Snooped
	TMZ
	Exec
	Read
	Write
	PRT        // partially resident: reads give zero, writes are dropped
	Log        // gfx9 to gfx11
	TF         // gfx9 to gfx11: translate further
	IsPTE      // in a directory: this entry is a leaf. gfx12 also sets it in every PTE
	NoAlloc    // gfx10 on: do not allocate in the last-level cache
	BusAtomics // gfx12.1
	DCC        // gfx12: the bit that NoAlloc has elsewhere
)

var flagNames = [...]string{"valid", "system", "snooped", "tmz", "exec", "read", "write", "prt", "log", "tf", "is_pte",
	"noalloc", "bus_atomics", "dcc"}

func (f Flags) String() string {
	s := ""
	for i, n := range flagNames {
		if f&(1<<i) != 0 {
			if s != "" {
				s += "|"
			}
			s += n
		}
	}
	if s == "" {
		return "0"
	}
	return s
}

// MType is a cache policy, in the values that the MTYPE field has in all generations.
type MType uint8

// Cache policies. Value 1 is called RW on gfx9 and gfx12, WC on gfx10.
const (
	NC MType = 0 // cached, not coherent with other agents
	RW MType = 1 // cached read and write, coherent within the device
	WC MType = 1
	CC MType = 2 // cached, coherent
	UC MType = 3 // uncached
)

func (m MType) String() string { return [...]string{"NC", "RW", "CC", "UC"}[m&3] }

// Entry is the meaning of a PTE or PDE.
type Entry struct {
	Addr  uint64 // bus or VRAM address of the page (4 KiB aligned) or of the next table (64 B aligned)
	Flags Flags
	MType MType
	Frag  uint8 // PTE: FRAGMENT, log2 pages, 0..31. PDE: block fragment size
}

// Is reports whether all flags f are set.
func (e Entry) Is(f Flags) bool { return e.Flags&f == f }

func (e Entry) String() string {
	return fmt.Sprintf("%#x %s %s frag %d", e.Addr, e.Flags, e.MType, e.Frag)
}

const (
	pteAddrMask = 0x0000_ffff_ffff_f000
	pdeAddrMask = 0x0000_ffff_ffff_ffc0
)

// layout is where a generation keeps its bits; -1 is nowhere.
type layout struct {
	bit    [len(flagNames)]int8 // by flag number
	mtype  int8                 // lowest bit of MTYPE
	pdeBFS int8                 // lowest bit of the block fragment size
	// Bits that Encode adds to every valid leaf.
	leaf Flags
}

var layouts = [...]layout{
	GFX9: {
		bit:   [...]int8{0, 1, 2, 3, 4, 5, 6, 51, 55, 56, 54, -1, -1, -1},
		mtype: 57, pdeBFS: 59,
	},
	GFX10: {
		bit:   [...]int8{0, 1, 2, 3, 4, 5, 6, 51, 55, 56, 54, 58, -1, -1},
		mtype: 48, pdeBFS: 59,
	},
	GFX11: {
		bit:   [...]int8{0, 1, 2, 3, 4, 5, 6, 51, 55, 56, 54, 58, -1, -1},
		mtype: 48, pdeBFS: 59,
	},
	GFX12: {
		bit:   [...]int8{0, 1, 2, 3, 4, 5, 6, 56, -1, -1, 63, -1, 59, 58},
		mtype: 54, pdeBFS: 58,
		leaf: IsPTE,
	},
}

func (g Gen) flags(f Flags) (raw uint64) {
	for i, b := range layouts[g].bit {
		if b >= 0 && f&(1<<i) != 0 {
			raw |= 1 << b
		}
	}
	return raw
}

func (g Gen) unflags(raw uint64) (f Flags) {
	for i, b := range layouts[g].bit {
		if b >= 0 && raw>>b&1 != 0 {
			f |= 1 << i
		}
	}
	return f
}

// EncodePTE makes a leaf: a PTB entry, or with IsPTE a huge one of a directory. The address is cut to bits 47:12.
func (g Gen) EncodePTE(e Entry) uint64 {
	l := &layouts[g]
	f := e.Flags
	if f&(Valid|PRT) != 0 {
		f |= l.leaf
	}
	return g.flags(f) | e.Addr&pteAddrMask | uint64(e.Frag&31)<<7 | uint64(e.MType&3)<<l.mtype
}

// DecodePTE reads a leaf.
func (g Gen) DecodePTE(raw uint64) Entry {
	return Entry{
		Addr:  raw & pteAddrMask,
		Flags: g.unflags(raw),
		MType: MType(raw >> layouts[g].mtype & 3),
		Frag:  uint8(raw >> 7 & 31),
	}
}

// pdeFlags are the flags that mean something in a PDE which is not a leaf. Above gfx11 the block fragment size covers
// bits 58 to 62, so DCC and BusAtomics cannot be told there.
const pdeFlags = Valid | System | Snooped | TF

// EncodePDE makes a directory entry that points to a table.
func (g Gen) EncodePDE(e Entry) uint64 {
	return g.flags(e.Flags&pdeFlags) | e.Addr&pdeAddrMask | uint64(e.Frag&31)<<layouts[g].pdeBFS
}

// DecodePDE reads a directory entry. When it is a leaf (a huge page) the result is that of DecodePTE and has IsPTE.
func (g Gen) DecodePDE(raw uint64) Entry {
	if g.IsLeaf(raw) {
		return g.DecodePTE(raw)
	}
	return Entry{
		Addr:  raw & pdeAddrMask,
		Flags: g.unflags(raw) & pdeFlags,
		Frag:  uint8(raw >> layouts[g].pdeBFS & 31),
	}
}

// IsLeaf reports whether a directory entry is a huge page.
func (g Gen) IsLeaf(raw uint64) bool { return raw>>layouts[g].bit[10]&1 != 0 }

// Empty is what the driver leaves in a leaf that maps nothing.
func (g Gen) Empty() uint64 { return g.flags(Exec) }

// NoRetry is the leaf that makes a faulting access fail for good on a chip that retries faults: the driver writes it over
// a page whose fault it cannot serve.
func (g Gen) NoRetry() uint64 { return g.flags(Exec | IsPTE | TF) }

// IsNoRetry reports whether a leaf of the PTB asks for a final fault.
func (g Gen) IsNoRetry(raw uint64) bool {
	n := g.NoRetry()
	return raw&(n|1) == n
}
