//go:build linux && amd64

package jit

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// deviceCode gives the code objects in a file: of its fat binaries, or the file itself.
func deviceCode(tb testing.TB, path string) (out []*codeobj.Entry) {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if len(b) > 64 && codeobj.IsELF(b) && b[18] == 224 {
		if tg := isa.TargetByMach(b[48]); tg != nil {
			return []*codeobj.Entry{{ID: "--" + tg.Name, Data: b}}
		}
	}
	for off := 0; ; {
		i := bytes.Index(b[off:], []byte("__CLANG_OFFLOAD_BUNDLE__"))
		if i < 0 {
			return out
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
}

// textSyms gives the code of a code object as memory, and the addresses of its functions.
func textSyms(tb testing.TB, e *codeobj.Entry) (text *flat, at []uint64) {
	tb.Helper()
	f, err := elf.NewFile(bytes.NewReader(e.Data))
	if err != nil {
		tb.Fatal(err)
	}
	s := f.Section(".text")
	if s == nil {
		return nil, nil
	}
	code, err := s.Data()
	if err != nil {
		tb.Fatal(err)
	}
	syms, _ := f.Symbols()
	dyn, _ := f.DynamicSymbols()
	seen := map[uint64]bool{}
	for _, s := range append(syms, dyn...) {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && !seen[s.Value] {
			seen[s.Value] = true
			at = append(at, s.Value)
		}
	}
	return &flat{va: s.Addr, b: code}, at
}

// TestCorpus compiles the functions of Debian's rocRAND, or of the files that CORPUS names (a glob), all of which must compile: each
// CORPUS_SAMPLE'th one. It logs how fast lifting and compiling are, a hash of all code, and which operations are left
// to the helper, by how many there are in the code. CORPUS_MODE is the MODE that it is lifted for.
func TestCorpus(t *testing.T) {
	needJIT(t)
	runtime.LockOSThread() // cpuTime is the thread's
	defer runtime.UnlockOSThread()
	glob, sample := os.Getenv("CORPUS"), 41
	if glob == "" {
		glob = "/usr/lib/x86_64-linux-gnu/librocrand.so.1.1"
	} else {
		sample = 1
	}
	if n, err := strconv.Atoi(os.Getenv("CORPUS_SAMPLE")); err == nil {
		sample = n
	}
	mode := uint32(0x3f0)
	if m, err := strconv.ParseUint(os.Getenv("CORPUS_MODE"), 0, 32); err == nil {
		mode = uint32(m)
	}
	var list []string
	for _, g := range strings.Fields(glob) {
		m, _ := filepath.Glob(g)
		list = append(list, m...)
	}
	o := Options{AVX2: hostAVX2 || os.Getenv("CORPUS_AVX2") != "", Quick: os.Getenv("CORPUS_QUICK") != ""}
	helpers := map[string]int{}
	hash := sha256.New()
	var lifting, compiling time.Duration
	funcs, insts, largest, values, code, count := 0, 0, 0, 0, 0, 0
	for _, path := range list {
		for _, e := range deviceCode(t, path) {
			if len(e.Data) == 0 {
				continue
			}
			name, _, _ := strings.Cut(e.ID[strings.LastIndex(e.ID, "--")+2:], ":")
			tg := isa.TargetByName(name)
			if tg == nil {
				continue
			}
			lanes := 64
			if tg.Wave32 {
				lanes = 32
			}
			text, at := textSyms(t, e)
			for _, pc := range at {
				if count++; count%sample != 0 {
					continue
				}
				t0 := cpuTime()
				f, err := lift.Func(textSource{text}, tg.Wave(lanes), pc, mode, lanes)
				if err != nil {
					continue // a function without code in this object
				}
				t1 := cpuTime()
				p, err := CompileWith(f, o)
				if err != nil {
					t.Errorf("%s %#x: %v", e.ID, pc, err)
					continue
				}
				lifting, compiling = lifting+t1-t0, compiling+cpuTime()-t1
				hash.Write(p.Code)
				funcs, code = funcs+1, code+len(p.Code)
				n := 0
				for _, b := range f.Blocks {
					n += b.Insts
					values += len(b.Code)
				}
				insts, largest = insts+n, max(largest, n)
				for id, h := range p.slots {
					if h != nil && h.always {
						helpers[OpText(f, ir.ID(id))]++
					}
				}
			}
		}
	}
	if insts == 0 {
		t.Skip("no device code here")
	}
	var l []string
	total := 0
	for s, n := range helpers {
		l = append(l, s)
		total += n
	}
	sort.Slice(l, func(i, j int) bool {
		if helpers[l[i]] != helpers[l[j]] {
			return helpers[l[i]] > helpers[l[j]]
		}
		return l[i] < l[j]
	})
	for _, s := range l[:min(len(l), 60)] {
		t.Logf("%7d %s", helpers[s], s)
	}
	rate := func(d time.Duration) float64 { return float64(insts) / d.Seconds() / 1e6 }
	t.Logf("%d functions, %d instructions (%d in one), %d values, %d bytes of code; %d operations by the helper; lifting %.3f, compiling %.3f M instructions/s; hash %x",
		funcs, insts, largest, values, code, total, rate(lifting), rate(compiling), hash.Sum(nil)[:8])
}
