package lift

import (
	"math/rand"
	"os"
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

// TestHistogram checks that no instruction that compilers were seen to emit, on any of seven targets, is refused. The histogram is a file
// beside the repository: another place is named by PUMICE_ISA_HISTOGRAM.
func TestHistogram(t *testing.T) {
	name := os.Getenv("PUMICE_ISA_HISTOGRAM")
	if name == "" {
		name = "../../../shared/design/isa-histogram.tsv"
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Skip("no histogram here")
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	columns := strings.Split(lines[0], "\t")
	total := 0
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		mnemonic := cells[0]
		if strings.HasPrefix(mnemonic, ".") || mnemonic == "v_illegal" { // data, and padding
			continue
		}
		mnemonic = strings.Replace(mnemonic, "v_dual_", "v_", 1)
		for i, cell := range cells {
			if i >= len(columns) || !strings.HasPrefix(columns[i], "gfx") || cell == "0" || cell == "" {
				continue
			}
			tg := isa.TargetByName(columns[i])
			if tg == nil {
				t.Fatalf("no target %s", columns[i])
			}
			total++
			rows, known := 0, 0
			for _, op := range isa.LookupAll(mnemonic) {
				if op.On(tg) {
					rows++
					if Known(op) {
						known++
					}
				}
			}
			if rows == 0 || known < rows {
				t.Errorf("%s: %s occurs %s times: %d rows of it, %d with a meaning", columns[i], mnemonic, cell, rows, known)
			}
		}
	}
	if total < 1000 {
		t.Errorf("only %d cells", total)
	}
	t.Logf("%d mnemonics of targets", total)
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
