package lift

import (
	"math/rand"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// TestRandomInstructions lifts random words that decode, on every target: whatever has a meaning gives valid IR, and
// nothing panics.
func TestRandomInstructions(t *testing.T) {
	n := 60000
	if testing.Short() {
		n = 6000
	}
	refused := map[string]map[string]int{}
	for _, tg := range isa.Targets() {
		r := rand.New(rand.NewSource(1))
		for lanes := 32; lanes <= 64; lanes += 32 {
			if lanes == 32 && !tg.Wave32 {
				continue
			}
			seen := 0
			for seen < n/len(isa.Targets()) {
				code := words(r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32(), 0xbf810000)
				var in isa.Inst
				if isa.Decode(tg.Wave(lanes), code, &in) != nil {
					continue
				}
				seen++
				f, err := Func(bytesAt{0x1000, code[:in.Size]}, tg, 0x1000, r.Uint32(), lanes)
				if err != nil {
					t.Fatal(err)
				}
				if err := ir.Verify(f); err != nil {
					t.Fatalf("%s %s %08x: %v\n%s", tg.Name, in.Op.Name, in.Raw[:in.Size/4], err, f)
				}
				if tm := f.Blocks[0].Term; tm.Exit == ir.ExitIllegal && Known(in.Op) {
					if refused[in.Op.Name] == nil {
						refused[in.Op.Name] = map[string]int{}
					}
					refused[in.Op.Name][tm.Msg[:strings.LastIndexByte(tm.Msg, ' ')]]++
				}
			}
		}
	}
	if testing.Verbose() {
		for op, m := range refused {
			for msg, k := range m {
				t.Logf("%s: %d times %s", op, k, msg)
			}
		}
	}
}

// TestHistogram prints which mnemonics of the measured histogram have no meaning yet.
func TestHistogram(t *testing.T) {
	b, err := os.ReadFile("../../../shared/design/isa-histogram.tsv")
	if err != nil {
		t.Skip("no histogram here")
	}
	var missing []string
	total := 0
	for _, line := range strings.Split(string(b), "\n")[1:] {
		name, _, ok := strings.Cut(line, "\t")
		if !ok || strings.HasPrefix(name, ".") || name == "v_illegal" {
			continue
		}
		name = strings.Replace(name, "v_dual_", "v_", 1)
		total++
		known := false
		for _, op := range isa.LookupAll(name) {
			known = known || Known(op)
		}
		if !known {
			missing = append(missing, name)
		}
	}
	sort.Strings(missing)
	t.Logf("%d of %d mnemonics have no meaning: %s", len(missing), total, strings.Join(missing, " "))
}

// TestTableCoverage prints the rows of the tables without meaning.
func TestTableCoverage(t *testing.T) {
	var missing []string
	for _, op := range isa.Ops() {
		if !Known(op) {
			missing = append(missing, op.Name)
		}
	}
	t.Logf("%d of %d rows have no meaning", len(missing), len(isa.Ops()))
	if testing.Verbose() {
		t.Log(strings.Join(missing, " "))
	}
}
