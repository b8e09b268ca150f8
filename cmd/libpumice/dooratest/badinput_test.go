package dooratest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
)

// TestBadInput makes the calls of testdata/badhip.def and badhsa.def and compares what comes back. Nothing may crash or hang.
//
// With PUMICE_TEST_AMD set it also makes them on AMD's own libraries, and checks that the tables are right about those; that takes a minute, because each crash of
// AMD's ends a program.
func TestBadInput(t *testing.T) {
	bin := binaries(t)
	for api, lib := range map[string]string{"hip": "amdhip64", "hsa": "hsa-runtime64"} {
		t.Run(api, func(t *testing.T) {
			b := badInput{dir: t.TempDir(), pumice: filepath.Join(bin, "pumice"), crash: -1}
			prog := filepath.Join(b.dir, "prog")
			need(t, "gcc", "-O1", "-Wall", "-Werror", "-Wno-deprecated-declarations", "testdata/bad"+api+".c", "-o", prog, "-l"+lib)
			if api == "hip" {
				need(t, "hipcc", "--genco", "--offload-arch=gfx90a", "-x", "hip", "testdata/saxpy.hip", "-o", filepath.Join(b.dir, "module"))
			}
			b.compare(t, prog, "pumice", func(r badRow) int { return r.want })
			if os.Getenv("PUMICE_TEST_AMD") != "" {
				t.Run("amd", func(t *testing.T) { b.compare(t, prog, "system", func(r badRow) int { return r.theirs }) })
			}
		})
	}
}

// binaries is the folder of what `make build` leaves.
func binaries(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("PUMICE_TEST_BIN")
	if bin == "" {
		var err error
		if bin, err = filepath.Abs("../../../bin"); err != nil {
			t.Fatal(err)
		}
	}
	needs.File(t, filepath.Join(bin, "rocm/libamdhip64.so.5"), "`make build`")
	needs.Program(t, "hipcc")
	return bin
}

func need(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

type badInput struct {
	dir, pumice string
	crash       int // stands for a crash in the tables
}

// A badRow is a row that a program has printed.
type badRow struct {
	number, line      int
	what, call        string
	got, want, theirs int
}

func (b badInput) compare(t *testing.T, prog, door string, want func(badRow) int) {
	t.Helper()
	for from := 0; ; {
		out, err := b.run(prog, door, from)
		rows, ended, perr := parseRows(out, b.crash)
		if perr != nil {
			t.Fatalf("%v\n%s", perr, out)
		}
		for _, r := range rows {
			if w := want(r); r.got != w {
				t.Errorf("line %d of the table: %s, %s: %d, must be %d", r.line, r.call, r.what, r.got, w)
			}
		}
		if ended {
			return
		}
		if len(rows) == 0 {
			t.Fatalf("from row %d: %v\n%s", from, err, out)
		}
		if door == "pumice" {
			t.Errorf("ended in row %d: %v", rows[len(rows)-1].number, err)
		}
		from = rows[len(rows)-1].number + 1
	}
}

func (b badInput) run(prog, door string, from int) (string, error) {
	cmd := exec.Command("sh", "-c", `ulimit -c 0; exec "$@"`, "sh", b.pumice, "run", "--rocm", door, "--gpu", "mi210,mi210", "--", prog, strconv.Itoa(from))
	cmd.Env = append(os.Environ(), "MODULE="+filepath.Join(b.dir, "module"))
	out, err := cmd.Output()
	return string(out), err
}

// parseRows reads what a program has printed; the last row may lack its end, and then has crashed.
func parseRows(out string, crash int) (rows []badRow, ended bool, err error) {
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if f[0] == "END" {
			return rows, true, nil
		}
		if f[0] != "ROW" {
			continue
		}
		r := badRow{what: f[3], call: f[4], got: crash, theirs: crash}
		for i, into := range map[int]*int{1: &r.number, 2: &r.line, 5: &r.got, 6: &r.want, 7: &r.theirs} {
			if i >= len(f) || f[i] == "" {
				continue
			}
			if *into, err = strconv.Atoi(f[i]); err != nil {
				return nil, false, fmt.Errorf("%q: %w", line, err)
			}
		}
		rows = append(rows, r)
	}
	return rows, false, nil
}
