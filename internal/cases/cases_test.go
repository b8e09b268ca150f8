package cases

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/internal/machine"
	"github.com/pumice-gpu/pumice/internal/needs"
)

// A row is one case on one or more GPUs.
type row struct {
	name    string
	program string // "" for the one of all HIP cases
	gpus    string // separate runs, "mi210" if empty
	amd     string // why it is not run on AMD's HIP runtime; "" where it is
	hsa     string // what fails with AMD's HIP on Pumice's HSA, which is then left out
	env     string // variables, with spaces between
	check   func(t *testing.T, o outcome)
}

// An outcome is what a program left.
type outcome struct {
	door, out, errs string
	code            int // -1 for a signal
	signal          string
}

var rows = []row{
	{name: "issue_hip_cpu_27", gpus: "mi210 rx6900xt"},
	{name: "issue_hip_cpu_29", gpus: "mi210 rx6900xt"},
	{name: "issue_hip_1982"},
	{name: "issue_hip_1790"},
	{name: "issue_hip_3289", amd: "5.2.3 refuses a box whose z is not 0 while x and y are, which is the report"},
	{name: "issue_hip_1245"},
	{name: "issue_hip_2350"},
	{name: "issue_legacy_rocm_build_5425", amd: "5.2.3 misprints a right-justified string and the number after it, which is the report", check: twice},
	{name: "issue_hip_2266", check: eightLines},
	{name: "issue_kokkos_3996"},
	{name: "issue_rocm_systems_2516", amd: noVMM},
	{name: "issue_rocr_runtime_285", amd: noVMM},
	{name: "issue_rocm_systems_5444"},
	{name: "issue_rocm_systems_5444", env: "HSA_XNACK=1", amd: "one run is enough"},
	{name: "issue_rocm_systems_7896", amd: "takes three times as long, and shows nothing that door A does not"},
	{name: "issue_rocm_systems_7896", env: "PUMICE_INJECT=irq=20%delay(20)", amd: "one run is enough"},
	{name: "issue_rocm_systems_5071", program: "hsa"},
	{name: "issue_chipstar_1103"},
	{name: "issue_rocm_systems_6053"},
	{name: "issue_rocm_systems_8812", program: "hsa"},
	{name: "issue_mgpusim_64", gpus: "mi210 rx6900xt"},
	{name: "issue_legacy_rocm_build_664", amd: "gives out parts of mappings of 2 MiB, so that a store just past a buffer meets memory", check: fault(
		`write at address 0x[0-9a-f]+ \(page not present\)`,
		`kernel _ZN21legacy_rocm_build_6644pastEPii`,
		`instruction at \S+\+0x[0-9a-f]+ in issue_legacy_rocm_build_664.hip:8: global_store_dword`,
		`work-group \(0,0,0\) of a grid of \(64,1,1\) work-items, wave 0, lane 3: work-item \(3,0,0\)`,
		`\b0 bytes after the end of the nearest mapping 0x[0-9a-f]+-0x[0-9a-f]+ \(4096 bytes\)`,
		rocrFault+`0x[0-9a-f]+000\. Reason: Page not present or supervisor privilege\.`)},
	{name: "issue_rocr_debug_agent_2", env: "WHERE=0x12345678", check: fault(
		`write at address 0x12345678 \(page not present\)`,
		`in issue_legacy_rocm_build_664.hip:11: global_store_dword`,
		`bytes before the nearest mapping`,
		rocrFault+`0x12345000\. Reason: Page not present or supervisor privilege\.`)},
	{name: "issue_rocr_debug_agent_2", env: "WHERE=0xdead0000", gpus: "rx6900xt", check: fault(
		`write at address 0xdead0000 \(page not present\)`,
		rocrFault+`0xdead0000\. Reason: Page not present or supervisor privilege\.`)},
	{name: "issue_hipfire_569", amd: "5.2.3 does not know compressed bundles"},
	{name: "issue_hipfire_569", program: "hsa"},
	{name: "built_saxpy"},
	{name: "issue_hip_tests_412", gpus: "mi210 rx6900xt"},
}

const noVMM = "5.2.3 has the functions of virtual memory, but they do not work"

// rocrFault begins ROCr's own line about a memory fault.
const rocrFault = `(?m)^Memory access fault by GPU node-1 \(Agent handle: 0x[0-9a-f]+\) on address `

// fault expects the report of a fault, by patterns, and the abort.
func fault(patterns ...string) func(t *testing.T, o outcome) {
	return func(t *testing.T, o outcome) {
		if o.signal != "aborted" {
			t.Errorf("code %d, signal %q; a fault aborts", o.code, o.signal)
		}
		for _, p := range patterns {
			if !regexp.MustCompile(p).MatchString(o.errs) {
				t.Errorf("the report has no %s:\n%s", p, o.errs)
			}
		}
	}
}

// eightLines is for printf of eight threads.
func eightLines(t *testing.T, o outcome) {
	right(t, o)
	for i := range 8 {
		if line := "hello from thread " + string(rune('0'+i)) + "\n"; strings.Count(o.out, line) != 1 {
			t.Errorf("%q is not there once:\n%s", line, o.out)
		}
	}
	if n := strings.Count(o.out, "\n"); n != 9 {
		t.Errorf("%d lines, must be 9:\n%s", n, o.out)
	}
}

// twice is for output that the device and the host make alike.
func twice(t *testing.T, o outcome) {
	right(t, o)
	lines := strings.SplitAfter(o.out, "\n")
	if len(lines) != 6 || lines[0] != lines[2] || lines[1] != lines[3] || lines[0] != "    pumice 42\n" {
		t.Errorf("printf of the device is not that of the host:\n%s", o.out)
	}
}

func right(t *testing.T, o outcome) {
	if o.code != 0 || !strings.Contains(o.out, "right: ") {
		t.Errorf("code %d, signal %q\n%s%s", o.code, o.signal, o.out, o.errs)
	}
}

func TestIssues(t *testing.T) {
	b := built(t)
	ran := map[string]bool{}
	defer func() {
		for _, r := range rows {
			if !ran[r.name] {
				t.Errorf("%s ran by no door", r.name)
			}
		}
	}()
	for _, r := range rows {
		doors := []string{"pumice", "system", "hsa"}
		if r.program == "hsa" || r.hsa != "" {
			doors = doors[:2]
		}
		if r.amd != "" {
			doors = doors[:1]
			if r.name == "issue_legacy_rocm_build_664" {
				doors = []string{"pumice", "hsa"}
			}
		}
		gpus := strings.Fields(r.gpus)
		if len(gpus) == 0 {
			gpus = []string{"mi210"}
		}
		for i, gpu := range gpus {
			for _, door := range doors {
				if i > 0 && door != "pumice" {
					continue // the GPU makes no difference to AMD's libraries
				}
				ran[r.name] = true
				t.Run(strings.Join([]string{r.name, gpu, door}, "/"), func(t *testing.T) {
					o := b.run(t, r, gpu, door)
					if r.check != nil {
						r.check(t, o)
					} else {
						right(t, o)
					}
				})
			}
		}
	}
}

// programs are the built programs, and the folder that they are in.
type programs struct{ dir, pumice string }

var theBuild struct {
	once sync.Once
	programs
}

// built builds the programs at the first call.
func built(t *testing.T) programs {
	t.Helper()
	theBuild.once.Do(func() { theBuild.programs = build(t) })
	if theBuild.dir == "" {
		t.Skip("the programs could not be built")
	}
	return theBuild.programs
}

func TestMain(m *testing.M) {
	code := m.Run()
	if theBuild.dir != "" {
		_ = os.RemoveAll(theBuild.dir)
	}
	os.Exit(code)
}

func build(t *testing.T) programs {
	t.Helper()
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("PUMICE_TEST_BIN"); dir != "" {
		bin = dir
	}
	b := programs{pumice: filepath.Join(bin, "pumice")}
	needs.File(t, filepath.Join(bin, "rocm/libamdhip64.so.5"), "`make build`")
	needs.Program(t, "hipcc")
	if b.dir, err = os.MkdirTemp("", "pumice-cases-"); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	// Line tables, because a fault's line is part of what is reported.
	run("hipcc", "-std=c++17", "-O1", "-Wall", "-Werror", "-gline-tables-only", "-Wno-unused-command-line-argument", "--offload-arch=gfx90a", "--offload-arch=gfx1030",
		"-x", "hip", "testdata/cases.hip", "-o", filepath.Join(b.dir, "cases"), "-lpthread")
	run("gcc", "-O1", "-Wall", "-Werror", "testdata/hsa.c", "-o", filepath.Join(b.dir, "hsa"), "-lhsa-runtime64", "-lpthread")
	bundle, err := fatBinary(filepath.Join(b.dir, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"bundle": bundle, "ccob": compressed(t, bundle), "saxpy": machine.Saxpy()} {
		if err := os.WriteFile(filepath.Join(b.dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// fatBinary is the bundle of device code in a program.
func fatBinary(path string) ([]byte, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := f.Section(".hip_fatbin")
	if s == nil {
		return nil, errors.New("no .hip_fatbin")
	}
	data, err := s.Data()
	if err != nil {
		return nil, err
	}
	u, err := codeobj.OpenBundle(data)
	if err != nil {
		return nil, err
	}
	return data[:u.Size()], nil
}

// compressed wraps a bundle as compilers of ROCm 7 do: CCOB, version 3, zstd.
func compressed(t *testing.T, bundle []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	body := w.EncodeAll(bundle, nil)
	var b bytes.Buffer
	b.WriteString("CCOB")
	for _, v := range []any{uint16(3), uint16(1), uint64(32 + len(body)), uint64(len(bundle)), uint64(0)} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return append(b.Bytes(), body...)
}

func (b programs) run(t *testing.T, r row, gpu, door string) outcome {
	t.Helper()
	program := r.program
	if program == "" {
		program = "cases"
	}
	// A fault's core file would only take time.
	cmd := exec.Command("sh", "-c", `ulimit -c 0; exec "$@"`, "sh", b.pumice, "run", "--rocm", door, "--gpu", gpu, "--", filepath.Join(b.dir, program), r.name)
	cmd.Env = append(os.Environ(), "MODULE="+filepath.Join(b.dir, "ccob"), "BUNDLE="+filepath.Join(b.dir, "bundle"), "SAXPY="+filepath.Join(b.dir, "saxpy"))
	cmd.Env = append(cmd.Env, strings.Fields(r.env)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	o := outcome{door: door, out: out.String(), errs: errs.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		o.code = exit.ExitCode()
		if _, s, ok := strings.Cut(exit.String(), "signal: "); ok {
			o.signal, _, _ = strings.Cut(s, " ")
		}
	} else if err != nil {
		t.Fatal(err)
	}
	return o
}
