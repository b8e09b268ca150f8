package isa

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
	"golang.org/x/sys/unix"
)

var bundleRE = regexp.MustCompile(`gfx[0-9a-f]+`)

// objdumpLine takes an instruction apart: a tab, the text, blanks, "// address: words", perhaps a label.
func objdumpLine(line string) (text, words string, ok bool) {
	rest, ok := strings.CutPrefix(line, "\t")
	text, rest, ok2 := strings.Cut(rest, "// ")
	_, words, ok3 := strings.Cut(rest, ": ")
	words, _, _ = strings.Cut(words, "<")
	return strings.TrimRight(text, " \t"), strings.TrimSpace(words), ok && ok2 && ok3
}

// mapFile maps a file for reading. It stays mapped.
func mapFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
}

// codeObjects returns the code objects of the offload bundles in data: all of them, or the largest of each target.
func codeObjects(data []byte, all bool) map[string][]byte {
	out := map[string][]byte{}
	magic := []byte("__CLANG_OFFLOAD_BUNDLE__")
	for {
		p := bytes.Index(data, magic)
		if p < 0 || len(data) < p+32 {
			return out
		}
		b := data[p:]
		data = data[p+len(magic):]
		n := binary.LittleEndian.Uint64(b[24:])
		q := uint64(32)
		for ; n > 0 && n < 100 && q+24 < uint64(len(b)); n-- {
			off, size := binary.LittleEndian.Uint64(b[q:]), binary.LittleEndian.Uint64(b[q+8:])
			idLen := binary.LittleEndian.Uint64(b[q+16:])
			if q+24+idLen > uint64(len(b)) || off+size > uint64(len(b)) {
				break
			}
			id := bundleRE.FindString(string(b[q+24 : q+24+idLen]))
			q += 24 + idLen
			switch {
			case id == "" || size == 0:
			case all:
				out[fmt.Sprintf("%s:%d", id, len(out))] = b[off : off+size]
			case size > uint64(len(out[id])):
				out[id] = b[off : off+size]
			}
		}
	}
}

// respelled says whether what was assembled may differ from the code it was the disassembly of: an address that the linker
// filled in may be an inline constant, the text of a 16-bit operand shows half of a literal, and hardware ignores the destination of v_cmpx.
func respelled(in *Inst, back []byte) bool {
	if n := int(in.Size) - 2; halfLiteral(in) && len(back) == n+2 && bytes.Equal(back[:n], in.bytes()[:n]) { // the text shows half of it
		return true
	}
	if in.Op.attr.p&pBare != 0 && len(back) == int(in.Size) && back[1]&0x3f == in.bytes()[1]&0x3f && back[2] == in.bytes()[2] && back[3] == in.bytes()[3] {
		return true // buffer_wbl2 of gfx90a has scope bits in code that no text shows; llvm-mc leaves them out too
	}
	for i := range in.Src[:in.NSrc] {
		if o := &in.Src[i]; o.Kind == OperandLiteral && int64(int32(o.Value)) >= -16 && int64(int32(o.Value)) <= 64 {
			return len(back) == int(in.Size)-4
		}
	}
	return in.Fmt == VOP3 && in.Op.Fmt == VOPC && in.Op.Flags&FlagWritesEXEC != 0 && len(back) == int(in.Size) && bytes.Equal(back[1:], in.bytes()[1:])
}

func (in *Inst) bytes() (b []byte) {
	for _, w := range in.Raw[:in.Size/4] {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// TestCodeObjectsAgainstObjdump disassembles what Debian's rocRAND holds for each target, every instruction in order,
// and compares it with llvm-objdump-19.
func TestCodeObjectsAgainstObjdump(t *testing.T) {
	requireLLVM(t)
	needs.Program(t, "llvm-objdump-19")
	const lib = "/usr/lib/x86_64-linux-gnu/librocrand.so.1"
	data, err := os.ReadFile(lib)
	if err != nil {
		needs.Missing(t, "no code objects: %v (package librocrand1)", err)
	}
	objects := codeObjects(data, false)
	// A long run reads other files too: make test-isa.
	for _, file := range strings.Fields(os.Getenv("PUMICE_ISA_CORPUS")) {
		data, err := mapFile(file) // rocSPARSE has more than a gigabyte
		if err != nil {
			t.Fatal(err)
		}
		found := codeObjects(data, true)
		if len(data) > 64 && string(data[:4]) == "\x7fELF" && data[18] == 224 { // EM_AMDGPU: a code object itself
			if tg := TargetByMach(data[48]); tg != nil {
				found[tg.Name] = data
			}
		}
		for name, co := range found {
			objects[name+":"+filepath.Base(file)] = co
		}
	}
	type word struct{ target, code, text string }
	known := map[word]bool{} // what has been compared: real code says the same again and again
	for name, co := range objects {
		tg := TargetByName(name)
		if tg == nil || testing.Short() && name != "gfx90a" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.co")
			if err := os.WriteFile(file, co, 0o600); err != nil {
				t.Fatal(err)
			}
			text, err := exec.Command("llvm-objdump-19", "-d", file).Output()
			if err != nil {
				t.Fatal(err)
			}
			n, bad := 0, 0
			for line := range strings.Lines(string(text)) {
				said, hex, ok := objdumpLine(line)
				if !ok {
					continue
				}
				n++
				if known[word{tg.Name, hex, said}] {
					continue
				}
				if len(known) > 2e6 { // (it is a few hundred MB)
					clear(known)
				}
				known[word{tg.Name, strings.Clone(hex), strings.Clone(said)}] = true
				var code []byte
				for _, w := range strings.Fields(hex) {
					v, err := strconv.ParseUint(w, 16, 32)
					if err != nil {
						t.Fatal(err)
					}
					code = binary.LittleEndian.AppendUint32(code, uint32(v))
				}
				var in Inst
				err := Decode(tg, code, &in)
				want := strings.Replace(strings.ReplaceAll(said, "\t", " "), "  ", " ", 1)
				if want == "v_illegal" || strings.HasPrefix(want, ".long ") { // LLVM's name for the padding word 0, and data
					continue
				}
				got := Disasm(&in, tg, 0)
				if tg.Gen == GFX12 && strings.HasPrefix(want, "image_") && imageCutShort(tg, want) {
					want = got // LLVM 19 forgets registers where the second address is v0; LLVM 21 does not
				}
				if err != nil || got != want || int(in.Size) != len(code) {
					if bad++; bad < 10 {
						t.Errorf("%x: %q (%d bytes, %v), objdump %q", code, got, in.Size, err, want)
					}
				}
				if back, err := Assemble(tg, want); !bytes.Equal(back, code) && !respelled(&in, back) {
					if bad++; bad < 10 {
						t.Errorf("%x: %q assembles to %x (%v)", code, want, back, err)
					}
				}
			}
			if n == 0 {
				t.Error("objdump found no instructions")
			}
			t.Logf("%d instructions, %d differences", n, bad)
		})
	}
}

// BenchmarkDecodeObject decodes all code that Debian's rocRAND has for a target, and assembles it from its text: what real code costs, an
// instruction.
func BenchmarkDecodeObject(b *testing.B) {
	data, err := os.ReadFile("/usr/lib/x86_64-linux-gnu/librocrand.so.1")
	if err != nil {
		b.Skip(err)
	}
	for _, name := range []string{"gfx900", "gfx90a", "gfx1030"} {
		f, err := elf.NewFile(bytes.NewReader(codeObjects(data, false)[name]))
		if err != nil {
			b.Fatal(err)
		}
		text, err := f.Section(".text").Data()
		if err != nil {
			b.Fatal(err)
		}
		tg := TargetByName(name)
		b.Run(name, func(b *testing.B) {
			var in Inst
			n := 0
			for b.Loop() {
				for at := 0; at < len(text); at += int(in.Size) {
					_ = Decode(tg, text[at:], &in)
					n++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/inst")
		})
	}
}
