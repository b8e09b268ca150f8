package isa

import (
	"embed"
	"fmt"
	"io"
	"iter"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

//go:embed tab/*.isa
var tabFS embed.FS

// immKind says how a 16-bit immediate is spelled.
type immKind uint8

const (
	immNone    immKind = iota
	immHex16           // 0x1234
	immInt32           // printed like an inline constant: -16..64 decimal, else hexadecimal
	immS16             // signed 16-bit in hexadecimal
	immU16             // unsigned 16-bit in hexadecimal
	immLabel           // branch target in words
	immWaitcnt         //
	immSendmsg         //
	immDepctr          //
	immDelay           //
	immGPRIdx          //
	immEndpgm          //
	immHwreg           //
	immVersion         //
	immBarrier         // barrier id or m0
	imm8               // SMEM's 7-bit probe immediate
	immSlot            // v_interp: p10, p20, p0
	immAttr
	immChan
	immK // a literal that is part of the encoding
)

var immTokens = map[string]immKind{
	"imm16": immHex16, "imm32": immInt32, "simm16": immS16, "uimm16": immU16, "label": immLabel,
	"waitcnt": immWaitcnt, "sendmsg": immSendmsg, "depctr": immDepctr, "delay": immDelay, "gpridx": immGPRIdx,
	"endpgm": immEndpgm, "hwreg": immHwreg, "version": immVersion, "barrier": immBarrier, "imm8": imm8,
	"slot": immSlot, "attr": immAttr, "chan": immChan, "k32": immK,
}

// prop is a property of a row that matters for decoding and spelling only.
type prop uint64

const (
	pClamp prop = 1 << iota
	pOmod
	pOpSel
	pOpSelHi
	pNegLo
	pNegHi
	pByteSel
	pHigh
	pCbsz
	pAbid
	pBlgp
	pIndexKey8
	pIndexKey16
	pNo64
	pPacked
	pDst4OpSel // op_sel has a destination bit
	pOff       // has an offset
	pTwo       // two 8-bit offsets
	pSwizzle
	pNoGDS
	pGDSOnly
	pAddrDst // the address register is written back
	pNoRet   // an atomic without a returning form
	pRetOnly
	pBare // no operands at all
	pLDSOnly
	pSdata // SMEM with a data source
	pNoCpol
	pNoAddr
	pAddTID
	pD16
	pMFMA
	pWMMA
	pSWMMAC
	pDot
	pSOmod   // SDWA form takes omod though the VOP3 form does not
	pSNoOmod // and the other way round
	pStore   // MIMG
	pAtomic
	pAtomicX2
	pSampler
	pGather4
	pGradients
	pG16
	pCoordinates
	pLod
	pHasD16
	pMSAA
	pBVH
	pA16
	pReadM0
	pAtomicRet
	pCpol    // a bare cache control with policy bits
	pSInt1   // SDWA form: src1 is an integer
	pE32     // spelled with _e32 though there is no 64-bit form
	pBitop3  // a truth table of three inputs in the modifier bits
	pFIBC    // 64-bit form: bits 11 and 12 are FI and bound_ctrl
	pHalf2   // from gfx11 on op_sel chooses the half of src2, a shift amount, that counts
	pConst32 // constants in b16 sources are spelled as in 32-bit ones, which LLVM 19 takes them for
	pF8F6F4  // CBSZ and BLGP are the formats of A and B, which decide their widths
)

var propTokens = map[string]prop{
	"clamp": pClamp, "omod": pOmod, "op_sel": pOpSel, "op_sel_hi": pOpSelHi, "neg_lo": pNegLo, "neg_hi": pNegHi,
	"byte_sel": pByteSel, "high": pHigh, "cbsz": pCbsz, "abid": pAbid, "blgp": pBlgp,
	"index_key_8bit": pIndexKey8, "index_key_16bit": pIndexKey16, "no64": pNo64, "packed": pPacked,
	"dsel": pDst4OpSel, "off": pOff, "two": pTwo, "swz": pSwizzle, "nogds": pNoGDS, "gdsonly": pGDSOnly,
	"addrdst": pAddrDst, "noret": pNoRet, "retonly": pRetOnly, "bare": pBare, "ldsonly": pLDSOnly, "sdata": pSdata,
	"nocpol": pNoCpol, "noaddr": pNoAddr, "addtid": pAddTID, "d16": pD16, "mfma": pMFMA, "wmma": pWMMA,
	"swmmac": pSWMMAC, "dot": pDot, "somod": pSOmod, "snomod": pSNoOmod, "store": pStore, "atomic": pAtomic,
	"atomicx2": pAtomicX2, "sampler": pSampler, "gather4": pGather4, "gradients": pGradients, "g16": pG16,
	"coordinates": pCoordinates, "lodorclampormip": pLod, "hasd16": pHasD16, "msaa": pMSAA, "bvh": pBVH,
	"a16": pA16, "rm0": pReadM0, "atr": pAtomicRet, "e32": pE32, "cpol": pCpol, "bitop3": pBitop3, "fibc": pFIBC, "f8f6f4": pF8F6F4, "half2": pHalf2, "c32": pConst32, "sm=Fi": pSInt1,
}

var flagTokens = map[string]Flags{
	"rvcc": FlagReadsVCC, "wvcc": FlagWritesVCC, "rscc": FlagReadsSCC, "wscc": FlagWritesSCC, "rdst": FlagReadsDst,
	"wexec": FlagWritesEXEC, "br": FlagBranch, "term": FlagTerminator, "ld": FlagLoad, "st": FlagStore,
	"at": FlagAtomic, "mfma": FlagMFMA, "wmma": FlagMFMA, "swmmac": FlagMFMA, "trans": FlagTransc, "two": FlagTwoAddr,
	"no64": FlagNoVOP3, "iclamp": FlagIntClamp,
}

// attr is what decoding and spelling need to know about a row.
type attr struct {
	names   [NumGens]string // the spelling of each generation
	p       prop
	targets uint64 // bit by target: the row exists there
	noSDWA  uint64
	noDPP   uint64
	noDPP64 uint64 // promoted form has no DPP
	dpp64   uint64 // VOP3 rows: has DPP
	lds     uint64 // load to LDS
	noSCC   uint64 // gfx90a: the scc bit must be zero
	mods    [3]uint8
	nmods   uint8 // sources with neg/abs bits (mods != 'n')
	imm     immKind
	extra   uint8 // MIMG: extra address components
	dst     [2]opnd
	src     [4]opnd
}

// opnd is the decoder's view of one operand: file, type, width.
type opnd struct {
	file uint8 // 0 by field; 's' scalar destination, 'a' AccVGPR, 'k' literal, 'w' swap
	ty   DataType
	n    uint8
	imm  immKind
}

// modifier classes of a source
const (
	modNone = 'n'
	modFP   = 'F' // neg and abs, spelled
	modBits = 'h' // bits exist, not spelled
)

type typeInfo struct {
	ty DataType
	n  uint8
}

var typeTokens = map[string]typeInfo{
	"b8": {B8, 1}, "b16": {B16, 1}, "b32": {B32, 1}, "b64": {B64, 2}, "b96": {B96, 3}, "b128": {B128, 4},
	"b256": {B256, 8}, "b512": {B512, 16}, "b1024": {B1024, 32}, "u8": {U8, 1}, "i8": {I8, 1}, "u16": {U16, 1},
	"i16": {I16, 1}, "u32": {U32, 1}, "i32": {I32, 1}, "u64": {U64, 2}, "i64": {I64, 2}, "f16": {F16, 1},
	"bf16": {BF16, 1}, "f32": {F32, 1}, "f64": {F64, 2}, "v2f16": {V2F16, 1}, "v2bf16": {V2BF16, 1},
	"v2i16": {V2I16, 1}, "v2u16": {V2U16, 1}, "v2b16": {V2B16, 1}, "v2f32": {V2F32, 2}, "v2b32": {V2B32, 2},
	"mask": {MaskT, 2}, "fp8": {FP8, 1}, "bf8": {BF8, 1},
}

func parseType(s string) (typeInfo, error) {
	if t, ok := typeTokens[s]; ok {
		return t, nil
	}
	if b, n, ok := strings.Cut(s, "x"); ok {
		t, found := typeTokens[b]
		c, err := strconv.Atoi(n)
		if found && err == nil && c > 0 && c <= 32 {
			return typeInfo{t.ty, uint8(c)}, nil
		}
	}
	return typeInfo{}, fmt.Errorf("unknown type %q", s)
}

// tables are all that tab/ says. A process runs code of one target, so rows are read when somebody wants them.
type tables struct {
	targets []*Target
	sets    *targetSets
	names   func() map[string][]named // tab/names.isa
	all     func() *allRows

	mu   sync.Mutex
	rows []row // by Op.ID; protected by mu
	r    rowReader
}

// row is a line of a table of instructions.
type row struct {
	fmt  Format
	file string
	line int
	text string
	op   *Op // once it is read
}

// allRows are all rows, read.
type allRows struct {
	ops    []*Op
	byName map[string][]*Op
}

var load = sync.OnceValue(newTables)

func newTables() *tables {
	tb := &tables{}
	targets, err := parseTargets(readTab("targets.isa"))
	if err != nil {
		broken(err)
	}
	tb.targets, tb.sets = targets, setsOf(targets)
	tb.names = sync.OnceValue(func() map[string][]named {
		n, err := parseNames(readTab("names.isa"), tb.sets)
		if err != nil {
			broken(err)
		}
		return n
	})
	tb.all = sync.OnceValue(func() *allRows {
		a, err := tb.readAll()
		if err != nil {
			broken(err)
		}
		return a
	})
	layouts := sync.OnceValues(func() ([NumGens][]*layout, error) { return parseFormats(readTab("formats.isa")) })
	for _, t := range tb.targets {
		setDecoder(t, layouts, tb)
	}
	return tb
}

// broken ends a program whose own tables are wrong: they are part of it, and the tests read all.
func broken(err error) { panic("isa: embedded tables: " + err.Error()) }

// readTab is the text of a table, "" if there is none.
func readTab(name string) string {
	f, err := tabFS.Open("tab/" + name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	i, err := f.Stat()
	if err != nil {
		return ""
	}
	b := make([]byte, i.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return ""
	}
	return unsafe.String(unsafe.SliceData(b), len(b)) // nobody else has b
}

// lines are the lines of a table that hold something, without comments, and their numbers.
func lines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for n := 1; text != ""; n++ {
			line := text
			if i := strings.IndexByte(text, '\n'); i >= 0 {
				line, text = text[:i], text[i+1:]
			} else {
				text = ""
			}
			if i := strings.IndexByte(line, '#'); i >= 0 {
				line = line[:i]
			}
			if strings.TrimSpace(line) != "" && !yield(n, line) {
				return
			}
		}
	}
}

// word is word n of s, counted from 0, or "".
func word(s string, n int) string {
	for i := 0; i < len(s); {
		for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
			i++
		}
		first := i
		for i < len(s) && s[i] != ' ' && s[i] != '\t' {
			i++
		}
		if n == 0 {
			return s[first:i]
		}
		n--
	}
	return ""
}

// fields appends the words of s to w.
func fields(w []string, s string) []string {
	start := -1
	for i := 0; i < len(s); i++ {
		if blank := s[i] == ' ' || s[i] == '\t'; blank && start >= 0 {
			w, start = append(w, s[start:i]), -1
		} else if !blank && start < 0 {
			start = i
		}
	}
	if start >= 0 {
		w = append(w, s[start:])
	}
	return w
}

// find finds the rows. It is called with mu held.
func (tb *tables) find() {
	if tb.rows != nil {
		return
	}
	names := make([]string, 0, len(formatNames))
	for n := range formatNames {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool { return formatNames[names[i]] < formatNames[names[j]] })
	tb.rows = make([]row, 0, 2048)
	for _, n := range names {
		if n == "VOPD" {
			continue
		}
		file := strings.ToLower(n) + ".isa"
		for i, line := range lines(readTab(file)) {
			tb.rows = append(tb.rows, row{fmt: formatNames[n], file: file, line: i, text: line})
		}
	}
	tb.r.sets = tb.sets
}

// op is a row. It is called with mu held.
func (tb *tables) op(id int) (*Op, error) {
	w := &tb.rows[id]
	if w.op == nil {
		op, err := tb.r.row(w.text, w.fmt)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", w.file, w.line, err)
		}
		op.ID, w.op, w.text = id, op, ""
	}
	return w.op, nil
}

// in tells whether a row has an opcode in a generation.
func (w *row) in(g Gen) bool {
	return w.op != nil && w.op.Code[g] >= 0 || w.op == nil && !strings.HasPrefix(word(w.text, 1+int(g)), "-")
}

// ops are the rows that a target has.
func (tb *tables) ops(t *Target) ([]*Op, error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.find()
	var ops []*Op
	for id := range tb.rows {
		if !tb.rows[id].in(t.Gen) {
			continue
		}
		op, err := tb.op(id)
		if err != nil {
			return nil, err
		}
		if op.On(t) {
			ops = append(ops, op)
		}
	}
	return ops, nil
}

// readAll reads every row.
func (tb *tables) readAll() (*allRows, error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.find()
	a := &allRows{ops: make([]*Op, len(tb.rows)), byName: make(map[string][]*Op, len(tb.rows))}
	for id := range tb.rows {
		op, err := tb.op(id)
		if err != nil {
			return nil, err
		}
		a.ops[id] = op
		a.byName[op.Name] = append(a.byName[op.Name], op)
	}
	for _, op := range a.ops { // older spellings never hide a canonical name
		for _, older := range op.Aliases {
			if l := a.byName[older]; len(l) == 0 || l[0].Name != older {
				a.byName[older] = append(l, op)
			}
		}
	}
	return a, nil
}

// Ops returns every row of the tables, by ID. The slice must not be changed.
func Ops() []*Op { return load().all().ops }

// Lookup returns the row of a mnemonic without encoding suffix, by its canonical or an older spelling, or nil. Where
// generations give one name to several encoding families (v_mul_lo_u16 is VOP2 on gfx9 and VOP3 on gfx10) or operand
// shapes, it is the first row; LookupAll has them all.
func Lookup(name string) *Op {
	if l := load().all().byName[name]; len(l) > 0 {
		return l[0]
	}
	return nil
}

// LookupAll returns all rows of a mnemonic.
func LookupAll(name string) []*Op { return load().all().byName[name] }

// On reports whether the target has the row.
func (op *Op) On(t *Target) bool { return op.attr.targets&t.bit != 0 }

// Spelling returns the mnemonic as the target's assembler writes it, without encoding suffix.
func (op *Op) Spelling(t *Target) string {
	if s := op.attr.names[t.Gen]; s != "" {
		return s
	}
	return op.Name
}

// parseNames reads tab/names.isa.
func parseNames(text string, sets *targetSets) (map[string][]named, error) {
	out := map[string][]named{}
	var w []string
	for i, line := range lines(text) {
		if w = fields(w[:0], line); len(w) != 4 {
			return nil, fmt.Errorf("names.isa:%d: want table, value, name, targets", i)
		}
		v, err := strconv.ParseUint(w[1], 10, 16)
		if err != nil {
			return nil, fmt.Errorf("names.isa:%d: %w", i, err)
		}
		m, err := sets.of(w[3], ',')
		if err != nil {
			return nil, fmt.Errorf("names.isa:%d: %w", i, err)
		}
		out[w[0]] = append(out[w[0]], named{uint32(v), w[2], m})
	}
	return out, nil
}

// targetSets are the targets by what the tables call them.
type targetSets struct {
	gen  [NumGens]uint64
	name map[string]uint64 // without "gfx"
}

func setsOf(targets []*Target) *targetSets {
	s := &targetSets{name: make(map[string]uint64, len(targets))}
	for _, t := range targets {
		s.gen[t.Gen] |= t.bit
		s.name[strings.TrimPrefix(t.Name, "gfx")] |= t.bit
	}
	return s
}

// of returns the targets of a list of generations and sub-targets ("9,90a,1010").
func (s *targetSets) of(list string, sep byte) (m uint64, err error) {
	for more := true; more; {
		x := list
		i := strings.IndexByte(list, sep)
		if more = i >= 0; more {
			x, list = list[:i], list[i+1:]
		}
		bits := s.name[x]
		if g, ok := genNames[x]; ok {
			bits = s.gen[g]
		}
		if bits == 0 {
			return 0, fmt.Errorf("unknown target %q", x)
		}
		m |= bits
	}
	return m, nil
}
