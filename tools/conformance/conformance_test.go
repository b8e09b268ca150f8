package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeCases are the cases of the fake test program, in order.
var fakeCases = []string{"Good.one", "Good.two", "Bad.check", "Bad.dies", "Slow.spins", "Good.skips", "Good/0.typed"}

// TestMain is the fake test program when it is told so.
func TestMain(m *testing.M) {
	if mode := os.Getenv("CONFORMANCE_FAKE"); mode != "" {
		fake(mode)
		return
	}
	os.Exit(m.Run())
}

func fake(mode string) {
	filter := "*"
	for _, a := range os.Args[1:] {
		if f, ok := strings.CutPrefix(a, "--gtest_flagfile="); ok {
			b, err := os.ReadFile(f)
			if err != nil {
				panic(err)
			}
			filter, _, _ = strings.Cut(strings.TrimPrefix(string(b), "--gtest_filter="), "\n")
		}
		if a == "--gtest_list_tests" {
			if mode != "plain" {
				fmt.Println("Running main() from gtest_main.cc\nGood.\n  one\n  two\n  DISABLED_three\nBad.\n  check\n  dies\nSlow.\n  spins")
				fmt.Println("DISABLED_All.\n  none\nGood.\n  skips\nGood/0.  # TypeParam = int\n  typed  # GetParam() = 3")
			}
			return
		}
	}
	if mode == "plain" {
		os.Exit(3)
	}
	for _, n := range fakeCases {
		if filter != "*" && !strings.Contains(":"+filter+":", ":"+n+":") {
			continue
		}
		if mode == "stops" {
			break
		}
		fmt.Printf("[ RUN      ] %s\n", n)
		switch n {
		case "Bad.check":
			fmt.Printf("no newline[  FAILED  ] %s, where TypeParam = a<b, c> (1 ms)\n", n)
			continue
		case "Bad.dies":
			fmt.Fprintln(os.Stderr, "oh dear")
			os.Exit(7)
		case "Slow.spins":
			for n := 0; mode == "spins" && n >= 0; n++ {
			}
			if mode == "hangs" {
				time.Sleep(time.Hour)
			}
		case "Good.skips":
			fmt.Printf("[  SKIPPED ] %s (0 ms)\n", n)
			continue
		}
		fmt.Printf("[       OK ] %s (0 ms)\n", n)
	}
	fmt.Println("[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Bad.check, where TypeParam = a<b, c>")
	os.Exit(1)
}

// runFake runs the fake program and gives "case outcome[: why]" lines.
func runFake(t *testing.T, mode string, l limits) []string {
	t.Helper()
	if l.perCase == 0 {
		l.perCase = time.Hour
	}
	if l.perProgram == 0 {
		l.perProgram = time.Hour
	}
	if l.quiet == 0 {
		l.quiet = time.Hour
	}
	l.memory = 1 << 40
	r := &runner{limits: l, logs: t.TempDir(), poll: time.Millisecond, command: func(program string, args ...string) *exec.Cmd {
		c := exec.Command(program, args...)
		c.Env = append(os.Environ(), "CONFORMANCE_FAKE="+mode)
		return c
	}}
	rs, err := r.program(context.Background(), os.Args[0], "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range rs {
		s := c.name + " " + c.outcome.String()
		if c.why != "" {
			s += ": " + c.why
		}
		got = append(got, s)
	}
	return got
}

func TestRun(t *testing.T) {
	want := []string{"Good.one passed", "Good.two passed", "Bad.check failed: its own checks", "Bad.dies failed: exit status 7: oh dear",
		"Slow.spins passed", "Good.skips skipped", "Good/0.typed passed"}
	if d := cmp.Diff(want, runFake(t, "works", limits{})); d != "" {
		t.Error(d)
	}
	want[4] = "Slow.spins cut off: more than 500ms of processor time"
	if d := cmp.Diff(want, runFake(t, "spins", limits{perCase: 500 * time.Millisecond})); d != "" {
		t.Error(d)
	}
	want[4] = "Slow.spins failed: hangs: no use of the processor in 2s"
	if d := cmp.Diff(want, runFake(t, "hangs", limits{quiet: 2 * time.Second})); d != "" {
		t.Error(d)
	}
	// The budget ends in the spinning case, and none begins after it.
	got := runFake(t, "spins", limits{perProgram: time.Second})
	if d := cmp.Diff([]string{"Slow.spins cut off: the program's budget is used up", "Good.skips cut off: not begun: the program's budget is used up",
		"Good/0.typed cut off: not begun: the program's budget is used up"}, got[4:]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"(program) failed: exit status 3: "}, runFake(t, "plain", limits{})); d != "" {
		t.Error(d)
	}
	if got := runFake(t, "stops", limits{}); len(got) != len(fakeCases) || !strings.HasPrefix(got[0], "Good.one failed: did not run") {
		t.Errorf("a program that runs none of its cases: %q", got)
	}
}

func TestParseLine(t *testing.T) {
	for line, want := range map[string]event{
		"[ RUN      ] A/1.b/2":                             {eventRun, "A/1.b/2"},
		"[       OK ] A/1.b/2 (12 ms)":                     {eventPass, "A/1.b/2"},
		"[  FAILED  ] A.b, where GetParam() = 3 (12 ms)":   {eventFail, "A.b"},
		"[  FAILED  ] A.b, where GetParam() = 3":           {},
		"[  SKIPPED ] A.b (0 ms)":                          {eventSkip, "A.b"},
		"[  PASSED  ] 3 tests.":                            {},
		"[----------] 4 tests from A, where TypeParam = b": {},
	} {
		if got := parseLine(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func TestKnown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("# remark\np A.b\treads too far\np A.c\ttoo\n")
	k, err := readKnown(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	got := map[string][]result{"p": {{name: "A.b", outcome: failed}, {name: "A.c"}, {name: "A.d", outcome: cut}}}
	if err := k.check(&out, got); err != nil || !strings.Contains(out.String(), "passes now, take it from the list: p A.c") {
		t.Errorf("%v %q", err, out.String())
	}
	got["p"] = append(got["p"], result{name: "A.e", outcome: failed})
	if err := k.check(&out, got); err == nil {
		t.Error("a new failure is no error")
	}
	write("p A.b reads too far\n")
	if _, err := readKnown(file); err == nil {
		t.Error("a line without a tab is no error")
	}
}

// TestSlice: the slice of CI can be read, and a bad line cannot.
func TestSlice(t *testing.T) {
	ps, err := readSlice("slice")
	if err != nil || len(ps) < 5 {
		t.Errorf("%d lines, %v", len(ps), err)
	}
	file := filepath.Join(t.TempDir(), "slice")
	for _, s := range []string{"rocrand test_x 3", "rocrand test_x many *", "nosuch test_x 3 *"} {
		if err := os.WriteFile(file, []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readSlice(file); err == nil {
			t.Errorf("%q is no error", s)
		}
	}
}
