package lift

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// bytesAt is instruction memory that holds one piece of code.
type bytesAt struct {
	base uint64
	code []byte
}

func (b bytesAt) Fetch(pc uint64, dst []byte) int {
	if pc < b.base || pc >= b.base+uint64(len(b.code)) {
		if pc < b.base && pc+uint64(len(dst)) > b.base && pc&4095 == 0 {
			return 0
		}
		return 0
	}
	return copy(dst, b.code[pc-b.base:])
}

var encodingRE = regexp.MustCompile(`encoding: \[([0-9a-fx,]+)\]`)

// assemble runs llvm-mc; the test is skipped where it is not installed. Labels are not resolved: branches take numbers.
func assemble(t testing.TB, cpu, text string, opts ...string) []byte {
	t.Helper()
	tool := ""
	for _, n := range []string{"llvm-mc-19", "llvm-mc-15", "llvm-mc"} {
		if p, err := exec.LookPath(n); err == nil {
			tool = p
			break
		}
	}
	if tool == "" {
		t.Skip("llvm-mc is not installed")
	}
	args := append([]string{"-arch=amdgcn", "-mcpu=" + cpu, "--show-encoding"}, opts...)
	cmd := exec.Command(tool, args...)
	cmd.Stdin = strings.NewReader(text)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("llvm-mc -mcpu=%s: %v\n%s", cpu, err, errs.String())
	}
	var code []byte
	for _, m := range encodingRE.FindAllStringSubmatch(string(out), -1) {
		for _, b := range strings.Split(m[1], ",") {
			v, err := strconv.ParseUint(b, 0, 8)
			if err != nil {
				t.Fatalf("llvm-mc: %v in %s", err, m[0])
			}
			code = append(code, byte(v))
		}
	}
	return code
}

// hipMode is the MODE that HIP kernels start with before gfx12.
const hipMode = 0x3f0

// liftText assembles and lifts, and checks the IR.
func liftText(t testing.TB, cpu, text string, lanes int) *ir.Func {
	t.Helper()
	opts := []string{}
	if lanes == 64 && isa.TargetByName(cpu).Wave32 {
		opts = append(opts, "-mattr=+wavefrontsize64")
	}
	f, err := Func(bytesAt{0x1000, assemble(t, cpu, text, opts...)}, isa.TargetByName(cpu), 0x1000, hipMode, lanes)
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(f); err != nil {
		t.Fatalf("%v\n%s", err, f)
	}
	return f
}

func TestVectorAdd(t *testing.T) {
	f := liftText(t, "gfx90a", `
s_load_dwordx4 s[0:3], s[4:5], 0x0
v_lshlrev_b32_e32 v0, 2, v0
s_waitcnt lgkmcnt(0)
v_cmp_gt_u32_e32 vcc, s8, v0
s_and_saveexec_b64 s[10:11], vcc
s_cbranch_execz 6
global_load_dword v1, v0, s[0:1]
s_waitcnt vmcnt(0)
v_add_f32_e32 v1, 1.0, v1
global_store_dword v0, v1, s[2:3]
s_endpgm
`, 64)
	if os.Getenv("PRINT") != "" {
		fmt.Println(f)
	}
}

// every table row that has a meaning lifts to valid IR with plain operands.
func TestEveryMeaningNamesAnInstruction(t *testing.T) {
	names, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if isa.Lookup(n) == nil {
			t.Errorf("%s is not an instruction", n)
		}
	}
}

func words(w ...uint32) []byte {
	var b []byte
	for _, x := range w {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// TestEveryMeaningParses parses all lines: lifting does so when it first needs one.
func TestEveryMeaningParses(t *testing.T) {
	all, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	names, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range names {
		if i > 0 && n == names[i-1] {
			t.Errorf("%s has two meanings", n)
		}
		m := all.find(n)
		if m == nil {
			t.Errorf("%s is not found", n)
		} else if err := m.compile(); err != nil {
			t.Error(err)
		}
	}
}
