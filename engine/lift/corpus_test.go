package lift

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// textOf is the code of a code object, as instruction memory.
func textOf(t *testing.T, data []byte) (bytesAt, []elf.Symbol) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(".text")
	if s == nil {
		return bytesAt{}, nil
	}
	code, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	syms, _ := f.Symbols()
	dyn, _ := f.DynamicSymbols()
	return bytesAt{s.Addr, code}, append(syms, dyn...)
}

// liftObject lifts every function of a code object and counts what could not be lifted, and guest instructions and
// IR values.
func liftObject(t *testing.T, e *codeobj.Entry, missing map[string]int) (insts, values int) {
	t.Helper()
	name, _, _ := strings.Cut(e.ID[strings.LastIndex(e.ID, "--")+2:], ":")
	tg := isa.TargetByName(name)
	if tg == nil || len(e.Data) == 0 {
		return 0, 0
	}
	src, syms := textOf(t, e.Data)
	seen := map[uint64]bool{}
	lanes := 64
	if tg.Wave32 {
		lanes = 32
	}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || seen[s.Value] {
			continue
		}
		seen[s.Value] = true
		f, err := Func(src, tg, s.Value, hipMode, lanes)
		if err != nil {
			continue // a function without code in this object
		}
		if err := ir.Verify(f); err != nil {
			t.Errorf("%s %s: %v", e.ID, s.Name, err)
			continue
		}
		for _, b := range f.Blocks {
			insts += b.Insts
			values += len(b.Code)
			if b.Term.Exit == ir.ExitIllegal {
				missing[name+" "+b.Term.Msg]++
			}
		}
	}
	return insts, values
}

// bundles returns the device entries of every fat binary in a file.
func bundles(path string) ([]*codeobj.Entry, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) > 64 && codeobj.IsELF(b) && b[18] == 224 { // a code object by itself
		if tg := isa.TargetByMach(b[48]); tg != nil {
			return []*codeobj.Entry{{ID: "--" + tg.Name, Data: b}}, nil
		}
	}
	var out []*codeobj.Entry
	for off := 0; ; {
		i := bytes.Index(b[off:], []byte("__CLANG_OFFLOAD_BUNDLE__"))
		if i < 0 {
			break
		}
		off += i
		u, err := codeobj.OpenBundle(b[off:])
		if err != nil || u.Size() == 0 {
			off += 8
			continue
		}
		out = append(out, u.Entries...)
		off += int(u.Size())
	}
	return out, nil
}

// TestCorpus lifts the compiled examples, Debian's rocRAND, and the files that CORPUS names (a glob).
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	var files []string
	globs := []string{"../../build/examples/*/*"}
	if g := os.Getenv("CORPUS"); g != "" {
		globs = []string{g}
	} else {
		globs = append(globs, "/usr/lib/x86_64-linux-gnu/librocrand.so.1.1")
	}
	for _, g := range globs {
		m, _ := filepath.Glob(g)
		files = append(files, m...)
	}
	missing := map[string]int{}
	insts, values := 0, 0
	sample, _ := strconv.Atoi(os.Getenv("CORPUS_SAMPLE")) // every how many'th code object
	sample = max(sample, 1)
	start := time.Now()
	for _, p := range files {
		if st, err := os.Stat(p); err != nil || st.IsDir() || strings.Contains(p, "/faults/") {
			continue
		}
		es, err := bundles(p)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range es {
			if i%sample != 0 {
				continue
			}
			n, v := liftObject(t, e, missing)
			insts, values = insts+n, values+v
		}
	}
	if insts == 0 {
		t.Skip("no compiled programs here")
	}
	var l []string
	for m := range missing {
		l = append(l, m)
	}
	sort.Strings(l)
	for _, m := range l {
		t.Errorf("%d blocks end with: %s", missing[m], m)
	}
	t.Logf("%d files, %d instructions, %d IR values, %.0f ns an instruction", len(files), insts, values, float64(time.Since(start).Nanoseconds())/float64(insts))
}
