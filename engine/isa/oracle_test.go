package isa

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
)

// oracle runs llvm-mc-19 over records, one process for many: LLVM's disassembler dies on some reserved words, and then
// only its process does.
type oracle struct {
	target string
	attr   string
	newer  bool // LLVM 21
}

// answer is what LLVM says of a record's bytes: the instructions it finds in them. Text is that of one at the start of
// the record, or "".
type answer struct {
	text  string
	exact bool // the record is this one instruction, no more and no less
	crash bool // LLVM died
}

var warnRE = regexp.MustCompile(`^<stdin>:(\d+):(\d+): warning: invalid instruction encoding`)

// newer is where scripts/llvm-newer unpacks an LLVM that knows gfx950.
const newer = "../../build/llvm-21"

// mc returns the command that runs llvm-mc, or nil when there is no such LLVM here.
func mc(newerLLVM bool) []string {
	if !newerLLVM {
		return []string{"llvm-mc-19"}
	}
	root := newer
	if r := os.Getenv("PUMICE_LLVM_NEWER"); r != "" {
		root = r
	}
	if _, err := os.Stat(root + "/.complete"); err != nil {
		return nil
	}
	return []string{root + "/usr/lib64/ld-linux-x86-64.so.2", "--library-path", root + "/usr/lib/x86_64-linux-gnu:" + root + "/usr/lib/llvm-21/lib",
		root + "/usr/lib/llvm-21/bin/llvm-mc"}
}

func requireLLVM(t *testing.T) {
	t.Helper()
	needs.Program(t, "llvm-mc-19") // else the decoder is not compared with LLVM
}

// ask returns LLVM's answers. A record where it dies is answered by crash, and the rest asked again.
func (o oracle) ask(t *testing.T, recs [][]byte) []answer {
	t.Helper()
	out, died := o.run(t, recs)
	if !died {
		return out
	}
	if len(recs) == 1 {
		return []answer{{crash: true}}
	}
	h := len(recs) / 2
	return append(o.ask(t, recs[:h]), o.ask(t, recs[h:])...)
}

// run gives one process all records, each in a bracketed block on a line of its own, followed by a numbered s_nop that
// shows in the output where the record ends.
func (o oracle) run(t *testing.T, recs [][]byte) ([]answer, bool) {
	t.Helper()
	var in bytes.Buffer
	block := func(b []byte) {
		for i, x := range b {
			fmt.Fprintf(&in, "%c0x%02x", "[,"[min(i, 1)], x)
		}
		in.WriteString("]\n")
	}
	for i, r := range recs {
		block(r)
		block(binary.LittleEndian.AppendUint32(nil, 0xbf800000|uint32(i&0xffff)))
	}
	tool := mc(o.newer)
	cmd := exec.Command(tool[0], append(tool[1:], "--disassemble", "--triple=amdgcn-amd-amdhsa", "--mcpu="+o.target, "--mattr="+o.attr)...)
	cmd.Stdin = &in
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) && exit.ExitCode() == 1 {
		// there were words it does not know
	} else if err != nil {
		return nil, true
	}
	bad := map[int]int{} // record: 1 when its first word is unknown, 2 when only later ones are
	for _, line := range strings.Split(stderr.String(), "\n") {
		if m := warnRE.FindStringSubmatch(line); m != nil {
			l, _ := strconv.Atoi(m[1])
			if i := (l - 1) / 2; m[2] == "2" {
				bad[i] = 1
			} else if bad[i] == 0 {
				bad[i] = 2
			}
		}
	}
	out := make([]answer, len(recs))
	lines := strings.Split(stdout.String(), "\n")
	next := 0
	for i := range recs {
		var got []string
		for {
			if next == len(lines) {
				t.Fatalf("%s: the output of llvm-mc-19 ends at record %d of %d", o.target, i, len(recs))
			}
			text, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(lines[next], "\t", " ")), "; Warning")
			next++
			if n, ok := strings.CutPrefix(text, "s_nop "); ok {
				if v, err := strconv.ParseUint(n, 0, 32); err == nil && uint32(v)&0xffff == uint32(i&0xffff) {
					break
				}
			}
			if text = strings.TrimSpace(text); text != "" && text != ".text" {
				got = append(got, text)
			}
		}
		if bad[i] != 1 && len(got) > 0 { // (it writes two spaces behind some image instructions)
			out[i] = answer{text: strings.Replace(got[0], "  ", " ", 1), exact: len(got) == 1 && bad[i] == 0}
		}
	}
	return out, false
}

var opSelRE = regexp.MustCompile(` op_sel:\[[01,]*\]`)

// fault explains a difference that is LLVM's, or "" when there is no excuse. The list is short on purpose.
func fault(tg *Target, in *Inst, ours string, a answer) string {
	switch {
	case a.crash:
		return "LLVM crashes (reserved SDWA selects, tuples of special registers)"
	case tg.Name == "gfx950" && faultOf21(in, ours, a) != "":
		return faultOf21(in, ours, a)
	case strings.Contains(a.text, "/*"):
		return "LLVM decodes it and complains in a comment"
	case strings.Contains(a.text, "sext(") && !strings.Contains(a.text, "_sdwa"):
		return "LLVM spells the ignored neg bit of an integer source as sext"
	case tg.UnifiedAcc && a.text+" gds" == ours:
		return "LLVM loses the gds bit of returning two-data DS instructions on gfx90a"
	case in.Op != nil && (strings.Contains(ours, ".h") || in.Fmt == VOP3 && in.Op.Name == "v_mov_b16"):
		return "LLVM 19 has no high halves (true16) but for v_mov_b16 in 32 bits"
	case in.Op != nil && in.Op.Name == "v_swap_b16":
		return "LLVM 19 has no v_swap_b16"
	case in.Op != nil && in.halved() && opSelRE.ReplaceAllString(ours, "") == a.text:
		return "LLVM 19 loses op_sel of 16-bit instructions of gfx11 and gfx12, which choose halves"
	case strings.Contains(a.text, "v_wmma_") && strings.ReplaceAll(a.text, "0.15915494309189532", "0.15915494") == ours:
		return "LLVM prints a float constant of gfx11's WMMA as a double"
	case strings.Contains(a.text, "v_cndmask_b32_dpp") && strings.Contains(a.text, ", vcc_lo|"),
		strings.Contains(a.text, "v_cndmask_b32_dpp") && strings.Contains(a.text, ", vcc|"):
		return "LLVM prints VCC inside the absolute value bars of gfx12's v_cndmask_b32_dpp"
	case ours == "" && regexp.MustCompile(`[, ]null[, ]|null$`).MatchString(a.text):
		return "LLVM's tuples of special registers are what the compiler made of undefined behaviour"
	case ours == "" && regexp.MustCompile(`^\S+ src_`).MatchString(a.text):
		return "LLVM takes a read-only register as destination"
	case ours == "" && strings.HasPrefix(a.text, "v_wmma_") && strings.Contains(a.text, ", 0x"):
		return "LLVM takes a literal as a matrix"
	case ours == "" && strings.Contains(a.text, " src_") && wideSource(a.text):
		return "LLVM takes special registers as matrix operands and tuples"
	case ours == "" && strings.HasPrefix(a.text, "v_accvgpr_") && strings.Contains(a.text, ", src_"):
		return "LLVM takes a special register where an AccVGPR stands"
	case ours == "" && strings.HasPrefix(a.text, "v_interp_"):
		return "LLVM takes scalar sources in VINTERP"
	case ours == "" && strings.Contains(a.text, "buffer_") && strings.Contains(a.text, ", 0x"):
		return "LLVM takes a literal soffset"
	case ours == "" && strings.HasPrefix(a.text, "image_") && strings.Contains(a.text, ", src_"):
		return "LLVM takes special registers as image descriptors"
	case strings.HasPrefix(a.text, "image_gather4") && in.D16 && in.TFE && imageCutShort(tg, a.text):
		return "LLVM prints the wrong number of registers for image_gather4 with both d16 and tfe"
	case a.text == "" && strings.HasPrefix(ours, "image_") && in.D16 && int(in.Dst[0].Reg)+4 > 256:
		return "LLVM refuses image_gather4 with d16 in the last registers"
	case ours == "" && strings.HasPrefix(a.text, "image_") && imageCutShort(tg, a.text):
		return "LLVM prints an image instruction whose registers leave the file, or that does not exist, with fewer registers"
	case ours == "" && tg.Gen <= GFX940 && strings.Contains(a.text, "0x") && a.text[0] == 'v':
		return "LLVM takes a literal in VOP3, which gfx9 has not"
	case ours == "" && tg.Gen >= GFX11 && strings.Contains(a.text, "_dpp ") && regexp.MustCompile(`[ (|-]0x[0-9a-f]+[|)]*[ ,]`).MatchString(a.text):
		return "LLVM takes a literal behind a DPP word, where no encoding has one"
	case ours == "" && tg.Name == "gfx1010" && strings.HasPrefix(a.text, "scratch_load_") && strings.Contains(a.text, "off, off") && strings.HasSuffix(a.text, " lds"):
		return "LLVM 19 takes loads to LDS without an address on gfx1010, which has no such form of other loads"
	case ours == "" && in.Op == nil && (strings.HasPrefix(a.text, "v_readfirstlane_b32") || strings.HasPrefix(a.text, "v_illegal")):
		return "LLVM accepts a constant register as a destination, and names an all-zero word"
	case ours == "" && strings.Contains(a.text, "_sdwa"):
		return "LLVM accepts a reserved dst_unused and prints UNUSED_PAD"
	}
	return ""
}

// faultOf21 is fault for LLVM 21, where it differs from LLVM 19 on targets that both know: gfx950 is decoded as gfx942 was.
func faultOf21(in *Inst, ours string, a answer) string {
	if in.Op == nil {
		switch {
		case strings.HasPrefix(a.text, "v_permlane") && strings.Contains(a.text, "src_"), strings.HasPrefix(a.text, "v_permlane") && strings.Contains(a.text, "null"):
			return "LLVM takes special registers in lane swaps"
		case strings.Contains(a.text, "_f8f6f4") && regexp.MustCompile(`(cbsz|blgp):[567]`).MatchString(a.text):
			return "LLVM takes formats of f8f6f4 that do not exist"
		case strings.HasPrefix(a.text, "v_accvgpr_") && strings.Contains(a.text, ", src_"):
			return "LLVM takes a special register where an AccVGPR stands"
		}
		return ""
	}
	n := in.Op.Name
	switch {
	case a.text == "" && in.Fmt == VOP3 && strings.IndexByte(string(in.Op.attr.mods[:]), modBits) >= 0 && strings.Contains(n, "16"):
		return "LLVM 21 refuses neg and abs bits of 16-bit integer operations, which LLVM 19 ignores"
	case in.Fmt == VOP3P && (strings.HasPrefix(n, "v_dot4_") || strings.HasPrefix(n, "v_dot8_")):
		return "LLVM 21 refuses or ignores op_sel of integer dot products, which LLVM 19 spells"
	case n == "v_alignbit_b32" || n == "v_alignbyte_b32":
		return "LLVM 21 spells op_sel of v_alignbit, which LLVM 19 ignores"
	case n == "ds_swizzle_b32" && (strings.Contains(a.text, "FFT") || strings.Contains(a.text, "ROTATE")):
		return "LLVM 21 spells FFT and rotate swizzles, LLVM 19 their number"
	case a.text == "" && n == "v_cvt_pk_bf16_f32":
		return "LLVM wants bit 13 of v_cvt_pk_bf16_f32 zero, as of no other instruction"
	case a.text+" gds" == ours:
		return "LLVM loses the gds bit"
	}
	return ""
}

// compare checks our decoding of records against LLVM's.
func compare(t *testing.T, tg *Target, recs [][4]uint32) {
	t.Helper()
	attr := ""
	if tg.wave32 != nil {
		attr = "+wavefrontsize64,-wavefrontsize32"
	}
	insts := make([]Inst, len(recs))
	blocks := make([][]byte, len(recs))
	for i, r := range recs {
		var code []byte
		for _, w := range r {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		if Decode(tg, code, &insts[i]) == nil {
			code = code[:insts[i].Size] // LLVM must find exactly one instruction in these
		}
		blocks[i] = code
	}
	newer := tg.Name == "gfx950"
	if mc(newer) == nil {
		t.Logf("%s: no LLVM here knows it (scripts/llvm-newer)", tg.Name)
		return
	}
	answers := oracle{tg.Name, attr, newer}.ask(t, blocks)
	excuses := map[string]int{}
	bad, same := 0, 0
	for i, r := range recs {
		in, a := &insts[i], answers[i]
		ours := ""
		if in.Op != nil {
			ours = Disasm(in, tg, 0)
		}
		if !a.crash && ours == a.text && (a.exact || ours == "") {
			same++
			continue
		}
		if e := fault(tg, in, ours, a); e != "" {
			excuses[e]++
			continue
		}
		if bad++; bad <= 10 {
			t.Errorf("%s: %08x %08x %08x\n LLVM %s (exact: %v)\n ours %s (%d bytes)", tg.Name, r[0], r[1], r[2], a.text, a.exact, ours, in.Size)
		}
	}
	if bad > 10 {
		t.Errorf("%s: %d differences of %d", tg.Name, bad, len(recs))
	}
	for e, n := range excuses {
		t.Logf("%s: %5d %s", tg.Name, n, e)
	}
	t.Logf("%s: %d of %d alike", tg.Name, same, len(recs))
}

// testTargets are those the tables promise whole.
var testTargets = []string{"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1151",
	"gfx1200", "gfx1201"}

// TestRandomWordsAgainstLLVM compares names, sizes and operands over random words.
func TestRandomWordsAgainstLLVM(t *testing.T) {
	requireLLVM(t)
	n := wordsAsked(20000)
	if testing.Short() {
		n = 2000
	}
	for i, name := range testTargets {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(i), 7))
			for left := n; left > 0; left -= 20000 {
				recs := make([][4]uint32, min(left, 20000))
				for j := range recs {
					recs[j] = [4]uint32{rnd.Uint32(), rnd.Uint32(), rnd.Uint32(), rnd.Uint32()}
				}
				compare(t, TargetByName(name), recs)
			}
		})
	}
}

// walk makes words for every opcode of every encoding family of a target, with n random fillings each.
func walk(tg *Target, n int, rnd *rand.Rand) [][4]uint32 {
	var recs [][4]uint32
	d := tg.decoder()
	for f := Format(1); f < NumFormats; f++ {
		l := d.lay[f]
		if l == nil {
			continue
		}
		for code := uint32(0); code < 1<<l.opW; code++ {
			for k := 0; k < n; k++ {
				var r [4]uint32
				for i := range r {
					r[i] = rnd.Uint32()
				}
				w := words{lo: uint64(r[0]) | uint64(r[1])<<32, hi: uint64(r[2])}
				if k&1 == 0 && code < uint32(len(d.tab[f])) && d.tab[f][code].op != nil { // half of them keep to what the row allows
					w.lo &^= d.tab[f][code].mbz.lo
					w.hi &^= d.tab[f][code].mbz.hi
				}
				pre := field{shift: l.preShift, width: l.preWidth}
				pre.put(&w, l.preValue)
				l.f[fOp].put(&w, code)
				if k&3 == 3 && f >= VOP2 && l.has(fSrc0) { // a second word, or a literal, which random words seldom ask for
					second := []uint32{codeSDWA, codeDPP16, codeDPP8, codeDPP8FI, 255}[rnd.Uint32N(5)]
					l.f[fSrc0].put(&w, second)
					if second == codeSDWA && d.sdwa != nil { // LLVM dies of reserved selects
						x := words{lo: w.lo >> 32}
						for _, id := range [...]fieldID{fSel0, fSel1, fDstSel} {
							d.sdwa.f[id].put(&x, rnd.Uint32N(7))
						}
						d.sdwa.f[fDstUnused].put(&x, rnd.Uint32N(3))
						w.lo = w.lo&(1<<32-1) | x.lo<<32
					}
				}
				if l.has(fSeg) {
					l.f[fSeg].put(&w, map[Format]uint32{FLAT: 0, SCRATCH: 1, GLOBAL: 2}[f])
				}
				recs = append(recs, [4]uint32{uint32(w.lo), uint32(w.lo >> 32), uint32(w.hi), r[3]})
			}
		}
	}
	return recs
}

// TestOpcodeWalkAgainstLLVM asks about every value of every opcode field.
func TestOpcodeWalkAgainstLLVM(t *testing.T) {
	requireLLVM(t)
	n := 4
	switch {
	case testing.Short():
		n = 1
	case wordsAsked(0) > 0:
		n = 100
	}
	for i, name := range testTargets {
		t.Run(name, func(t *testing.T) {
			tg, n := TargetByName(name), n
			rnd := rand.New(rand.NewPCG(uint64(i), 9))
			for ; n > 0; n -= 4 {
				compare(t, tg, walk(tg, min(n, 4), rnd))
			}
		})
	}
}

// TestWave64AgainstLLVM compares the wave64 spelling of the wave32 generations.
func TestWave64AgainstLLVM(t *testing.T) {
	requireLLVM(t)
	for i, name := range []string{"gfx1030", "gfx1100", "gfx1200"} {
		tg := TargetByName(name).Wave(64)
		compare(t, tg, walk(tg, 1, rand.New(rand.NewPCG(uint64(i), 11))))
	}
}

// wideSource says whether an instruction has a source of more than two registers, or one from the matrix registers.
func wideSource(text string) bool {
	name, _, _ := strings.Cut(text, " ")
	for _, s := range []string{"_e32", "_e64"} {
		name = strings.TrimSuffix(name, s)
	}
	for _, op := range LookupAll(name) {
		if op.Flags&FlagMFMA != 0 {
			return true
		}
		for _, s := range op.Src {
			if s.N > 2 {
				return true
			}
		}
	}
	return false
}

var imageRE = regexp.MustCompile(`^(\S+) [va](\[?\d+)(?::(\d+)\])?, (\[.*\]|v\S+), \S+`)
var runRE = regexp.MustCompile(`v(?:\[(\d+):(\d+)\]|\d+)`)

// imageCutShort says whether the text of an image instruction names other numbers of registers than dmask, d16, tfe and
// dim ask for.
func imageCutShort(tg *Target, text string) bool {
	m := imageRE.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	var op *Op
	for _, o := range LookupAll(m[1]) {
		if o.On(tg) {
			op = o
		}
	}
	if op == nil {
		return false
	}
	regs := func(s string) int {
		n := 0
		for _, r := range runRE.FindAllStringSubmatch(s, -1) {
			lo, _ := strconv.Atoi(r[1])
			hi, _ := strconv.Atoi(r[2])
			n += hi - lo + 1
		}
		return n
	}
	in := Inst{Op: op, Access: Access{D16: strings.Contains(text, " d16"), TFE: strings.Contains(text, " tfe")}}
	if _, s, ok := strings.Cut(text, "dmask:0x"); ok {
		v, _ := strconv.ParseUint(s[:1], 16, 8)
		in.DMask = uint8(v)
	}
	want := in.ImageData()
	if in.TFE {
		want++
	}
	data, _, _ := strings.Cut(strings.TrimPrefix(text, m[1]+" "), ", ")
	if regs(strings.Replace(data, "a", "v", 1)) != want {
		return true
	}
	if op.Flags&FlagAtomic != 0 { // a dmask that is not the data's width
		x2 := op.attr.p&pAtomicX2 != 0
		if in.TFE || in.DMask != 3 && (in.DMask != 1 || x2) && (in.DMask != 15 || !x2) {
			return true
		}
	}
	_, dim, ok := strings.Cut(text, "dim:SQ_RSRC_IMG_")
	if !ok {
		return false
	}
	dim, _, _ = strings.Cut(dim, " ")
	for d := Dim1D; d <= Dim2DMSAAArray; d++ {
		if d.String() == dim {
			in.Dim = uint8(d)
			a16 := strings.Contains(text, " a16")
			return !in.shapeFits() || regs(m[4]) != op.ImageForm().AddressRegs(d, a16, true)
		}
	}
	return false
}
