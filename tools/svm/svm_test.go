package svm

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// library is every scenario that comes with Pumice.
func library(t testing.TB) []*Scenario {
	t.Helper()
	l, err := Library()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLibrary(t *testing.T) {
	l := library(t)
	if len(l) < 12 {
		t.Errorf("%d scenarios", len(l))
	}
	for _, sc := range l {
		t.Run(sc.Name, func(t *testing.T) {
			if sc.Title == "" {
				t.Error("no title")
			}
			for seed := range uint64(10) {
				res, err := Run(sc, Options{Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				if res.Err != nil {
					var b bytes.Buffer
					res.WriteText(&b)
					t.Fatalf("seed %d: %v\n%s", seed, res.Err, b.String())
				}
			}
		})
	}
}

func TestSameSeedSameTrace(t *testing.T) {
	kfd := svmsim.KFD
	for _, c := range []struct {
		name   string
		engine *svmsim.Engine
	}{{"two-users", nil}, {"xnack-off", nil}, {"munmap-during-fault", nil}, {"doorbell-lost", nil}, {"two-users", &kfd}, {"munmap-during-fault", &kfd},
		{"queue-memory", &kfd}} {
		name := c.name
		sc, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var first []byte
		for i := range 50 {
			var b bytes.Buffer
			res, err := Run(sc, Options{Seed: 7, Trace: &b, Engine: c.engine})
			if err != nil {
				t.Fatal(err)
			}
			res.WriteText(&b)
			if err := res.WriteJSON(&b); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = b.Bytes()
			} else if !bytes.Equal(first, b.Bytes()) {
				t.Fatalf("%s: run %d differs from the first", name, i+1)
			}
		}
		var other bytes.Buffer
		if _, err := Run(sc, Options{Seed: 8, Trace: &other, Engine: c.engine}); err != nil || bytes.HasPrefix(first, other.Bytes()) {
			t.Errorf("%s: another seed gives the same trace (%v)", name, err)
		}
	}
}

func TestExploreFindsAndReplays(t *testing.T) {
	sc, err := Open("two-users")
	if err != nil {
		t.Fatal(err)
	}
	found, err := Explore(sc, Options{Seed: 1}, 10, 0)
	if err != nil || found != nil {
		t.Fatalf("without a mistake: %+v, %v", found, err)
	}
	opt := Options{Seed: 1, Mistakes: []string{"skip-tlb-flush"}}
	found, err = Explore(sc, opt, 100, 60)
	if err != nil || found == nil {
		t.Fatalf("not found: %v", err)
	}
	t.Logf("seed %d, %d switches, schedule %s: %v", found.Seed, found.Switches, FormatSchedule(found.Schedule), found.Err)
	opt.Seed = found.Seed
	if opt.Replay, err = ParseSchedule(FormatSchedule(found.Schedule)); err != nil {
		t.Fatal(err)
	}
	res, err := Run(sc, opt)
	if err != nil {
		t.Fatal(err)
	}
	if res.Failed == nil || res.Failed.Error() != found.Err.Error() {
		t.Errorf("replay gives %v, want %v", res.Failed, found.Err)
	}
	opt.Mistakes = nil
	if res, err = Run(sc, opt); err != nil || res.Failed != nil {
		t.Errorf("the same schedule without the mistake: %v, %v", err, res.Failed)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"nonsense", `t:1:1: "nonsense": is no step; there are: cpu, destroy, dontneed, doorbell, event, exit, expect,`},
		{"process p\nprocess p", `t:2:9: "p": there is a process of that name`},
		{"process p\nmap p d 4 pages at 0x1001 rw", `t:2:20: "0x1001": a mapping begins at a page`},
		{"process p\nmap p d 4 pages rw\n gpu1 p load d[0]", `t:3:2: "gpu1": the machine has 1 GPUs`},
		{"process p\nmap p d 4 pages rw\n set p d access=maybe", `t:3:10: "access=maybe": the value of access is not one that it can have; there are: inplace, migrate, none`},
		{"process p\nmap p d 4 pages rw\n set p d colour=1", `is no attribute; there are: access`},
		{"process p\nmap p d 4 pages rw\n cpu p load d[0] expect whatever", `t:3:25: "whatever": is neither a value nor an error name; there are: fault, EACCES`},
		{"process p\nmap p d 4 pages rw\n cpu p load d[0] expect # nothing", `t:3:24: a value, an error name or fault belongs here`},
		{"process p\nmap p d 4 pages rw\n cpu p load d[0] 3", `t:3:18: "3": was not expected here`},
		{"process p\nmap p d 4 pages", `t:2:16: rights belong here: none, r, rw, rx or rwx`},
		{"process p\ncpu p load q[0]", `t:2:12: "q[0]": neither an address nor the name of a mapping of p`},
		{"process p\nmachine gpus=2", `must come first`},
		{"machine gpus=99", `t:1:9: "gpus=99": the value is not one that gpus can have: a number from 1 to 8`},
		{"machine chunks=4,8,1", `chunks can have: powers of two`},
		{"machine mistake=typo", `is not a mistake that the driver can make; there are:`},
		{"parallel {\nsettle", `t:1: the block is not closed`},
		{"}", `no block to close`},
		{"process p\nfork p c\nset c 0x1000 1 page access=none", `is a forked child`},
		{"expect event nothing", `is no event of the driver; there are: migrate-to-vram`},
		{"process p\nmap p d 4 pages rw\nexpect page p d[0] in space", `is no place`},
		{"process p\nfail everything", `t:2:6: "everything": is nothing that can fail; there are: alloc, map, copy, update, quiesce`},
		{"process p\ndoorbell p q", `t:2:12: "q": there is no such queue of p`},
		{"process p\nmap p d 4 pages rw\nqueue p q d[1]+8", `t:3:11: "d[1]+8": a ring begins at a page`},
		{"process p\nwait p e", `there is no such event of p`},
	} {
		_, err := Parse("t", test.text)
		var se *SyntaxError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
}

func TestExpectationsFail(t *testing.T) {
	const head = "process p\nmap p d 4 pages rw\nset p d access=migrate preferred=vram\ngpu0 p store d[0] 1\n"
	for _, step := range []string{"gpu0 p load d[0] expect 2", "expect page p d[0] in ram", "expect unmapped p d", "expect mapped p d ro", "expect ranges p d 7",
		"expect attr p d preferred=system", "expect queues p stopped", "expect no event gpu-fault", "gpu0 p load d[0] expect fault", "cpu p load 0x40000000"} {
		sc, err := Parse("t", head+step)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(sc, Options{})
		var f *FailedStepError
		if err != nil || !errors.As(res.Err, &f) || f.Line != 5 {
			t.Errorf("%s: %v, %v", step, err, res.Err)
		}
	}
	sc, err := Parse("t", `expect failure "stale"`+"\n"+head)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := Run(sc, Options{}); err != nil || res.Err == nil {
		t.Errorf("a failure that does not come is no error: %v", err)
	}
}

func TestSchedules(t *testing.T) {
	for _, s := range []sched.Schedule{{}, {0, 0, 2}, {1}, {0, 3, 0, 0, 1}} {
		got, err := ParseSchedule(FormatSchedule(s))
		if err != nil || FormatSchedule(got) != FormatSchedule(s) {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
	for _, bad := range []string{"", "1", "a:b", "1:-1", "99999999:1"} {
		if s, err := ParseSchedule(bad); err == nil {
			t.Errorf("%q: %v", bad, s)
		}
	}
}

func TestARunEnds(t *testing.T) {
	for _, text := range []string{
		"repeat 10000 {\nrepeat 10000 {\nrepeat 10000 {\n}\n}\n}",
		"repeat 10000 {\nrepeat 10000 {\nexpect no event evict\n}\n}",
		"repeat 10000 {\nrepeat 10000 {\nsleep 1h\n}\n}",
	} {
		sc, err := Parse("t", text)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(sc, Options{})
		if err != nil || res.Err == nil || len(res.Frames) > maxFrames+1 {
			t.Errorf("%q: %v, %v, %d frames", text, err, res.Err, len(res.Frames))
		}
	}
}

// FuzzRun executes whatever parses: the machine may fail, but nothing may panic.
func FuzzRun(f *testing.F) {
	for _, sc := range library(f) {
		f.Add(sc.Source, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		sc, err := Parse("fuzz", text)
		if err != nil || len(sc.Config.Mistake) > 0 {
			return
		}
		res, err := Run(sc, Options{Seed: seed, MaxSteps: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		if res.Failed != nil && strings.Contains(res.Failed.Error(), "panics") {
			t.Fatal(res.Failed)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, sc := range library(f) {
		f.Add(sc.Source)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sc, err := Parse("fuzz", text)
		var se *SyntaxError
		if err != nil && !errors.As(err, &se) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil && sc.Config.GPUs < 1 {
			t.Fatal("no GPU")
		}
	})
}
