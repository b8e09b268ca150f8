package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pumice-gpu/pumice/"

// rules say what a package may import of this module, by path prefix: the longest matching rule counts. A package may always
// import what is in its own folder's rule.
var rules = []struct {
	from string
	may  []string
}{
	// The byte layouts are the bottom: they import each other only.
	{"abi", []string{"abi"}},
	// engine knows nothing of HSA, HIP, KFD; of abi it needs code objects for symbols and lines in its reports.
	{"engine", []string{"engine", "abi/codeobj"}},
	{"silicon", []string{"silicon", "engine", "abi"}},
	{"silicon/profile", []string{"silicon/profile", "abi"}},
	{"kernel/sched", []string{"kernel/sched"}},
	{"kernel", []string{"kernel", "silicon", "abi"}},
	// runtime reaches the kernel only through abi and a transport.
	{"runtime/hsakmt", []string{"runtime/hsakmt", "abi"}},
	{"runtime/hsa", []string{"runtime/hsa", "runtime/hsakmt", "abi"}},
	{"runtime/clr", []string{"runtime/clr", "runtime/hsa", "abi"}},
	{"runtime/hip", []string{"runtime/hip", "runtime/clr", "abi"}},
	// Tools look on through hooks.
	{"tools", []string{"tools", "abi", "engine", "silicon", "kernel", "runtime", "internal/observe"}},
	// The doors and the one wiring place.
	{"internal/doorc", []string{"internal/doorc", "abi", "kernel/uaccess"}},
	{"internal/observe", []string{"internal/observe", "abi", "kernel", "silicon", "engine", "runtime"}},
	{"internal/machine", []string{"internal", "abi", "kernel", "silicon", "engine", "runtime"}},
	{"internal/archtest", nil},
	{"internal/needs", nil}, // tests of every floor use it
	{"cmd", []string{"cmd", "internal", "abi", "kernel", "silicon", "engine", "runtime", "tools"}},
	{"bench", []string{"bench", "internal", "abi", "kernel", "silicon", "engine", "runtime"}},
}

type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports"}, args...)...)
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// under is whether path is prefix or in its folder.
func under(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

// allowed is whether a package may import another, both without the module's name, and whether any rule speaks of it.
func allowed(from, to string) (ok, known bool) {
	best := -1
	for i, r := range rules {
		if under(from, r.from) && (best < 0 || len(r.from) > len(rules[best].from)) {
			best = i
		}
	}
	if best < 0 {
		return false, false
	}
	for _, m := range rules[best].may {
		if under(to, m) {
			return true, true
		}
	}
	return false, true
}

func TestImportsGoDownward(t *testing.T) {
	packages := list(t, "./...")
	if len(packages) < 10 {
		t.Fatalf("only %d packages found", len(packages))
	}
	for _, p := range packages {
		from, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, module)
			if !ours {
				continue
			}
			switch ok, known := allowed(from, to); {
			case !known:
				t.Errorf("no rule says what %s may import: add one to archtest and to ARCHITECTURE.md", from)
			case !ok:
				t.Errorf("%s imports %s, which is not below it", from, to)
			}
		}
	}
}

// TestRulesRefuse makes sure that the rules are not so wide that nothing could fail.
func TestRulesRefuse(t *testing.T) {
	for _, bad := range [][2]string{
		{"engine/interp", "silicon"}, {"engine/lift", "abi/kfd"}, {"abi/kfd", "kernel/kfd"}, {"silicon", "kernel/sched"},
		{"kernel/kfd", "runtime/hsakmt"}, {"kernel/kfd", "engine"}, {"runtime/hip", "runtime/hsa"}, {"runtime/hsa", "kernel/kfd"},
		{"runtime/hsakmt", "silicon"}, {"kernel/kfd", "tools/trace"}, {"silicon/profile", "silicon"}, {"engine/ir", "engines"},
	} {
		if ok, _ := allowed(bad[0], bad[1]); ok {
			t.Errorf("%s may import %s", bad[0], bad[1])
		}
	}
}

// core are the only modules that code of the floors may use; tests may use more, and tools what toolModules adds.
var core = []string{"golang.org/x/sys", "github.com/klauspost/compress"}

var toolModules = []string{"github.com/ianlancetaylor/demangle"}

func TestFloorsUseFewModules(t *testing.T) {
	for _, p := range list(t, "./...") {
		for _, i := range p.Imports {
			first, _, _ := strings.Cut(i, "/")
			if under(i, strings.TrimSuffix(module, "/")) || !strings.Contains(first, ".") {
				continue
			}
			ok := false
			modules := core
			if under(p.ImportPath, module+"tools") {
				modules = append(slices.Clip(core), toolModules...)
			}
			for _, c := range modules {
				ok = ok || under(i, c)
			}
			if !ok {
				t.Errorf("%s imports %s; the floors use only the standard library and %s", p.ImportPath, i, strings.Join(core, ", "))
			}
		}
	}
}

func TestBuildsWithoutCgo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds everything")
	}
	var packages []string
	for _, p := range list(t, "./...") {
		if !under(p.ImportPath, module+"cmd/libpumice") {
			packages = append(packages, p.ImportPath)
		}
	}
	cmd := exec.Command("go", append([]string{"build", "-o", os.DevNull}, packages...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("CGO_ENABLED=0 go build: %v\n%s", err, out)
	}
}
