package inspect_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
	"github.com/pumice-gpu/pumice/tools/inspect"
)

const source = `
typedef unsigned u32;
__attribute__((device)) __attribute__((noinline)) float helper(float x) { return __builtin_amdgcn_sinf(x) * 2.0f; }
__attribute__((global)) void twice(float *p) {
  u32 i = __builtin_amdgcn_workitem_id_x();
  p[i] = helper(p[i]);
}
`

// build compiles source for the targets; skipped where there is no clang-15, which CI installs.
func build(t *testing.T, targets ...string) string {
	clang := needs.Program(t, "clang-15")
	dir := t.TempDir()
	src := filepath.Join(dir, "twice.hip")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "twice.hipfb")
	args := []string{"-x", "hip", "-nogpuinc", "-nogpulib", "--cuda-device-only", "-O1", "-g", "-c", src, "-o", out}
	for _, tg := range targets {
		args = append(args, "--offload-arch="+tg)
	}
	if len(targets) > 1 {
		args = append(args, "--gpu-bundle-output")
	}
	if b, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, b)
	}
	return out
}

func TestDisasmOfAFatBinary(t *testing.T) {
	file := build(t, "gfx90a", "gfx1030")
	objs, _, err := inspect.Open(file, "")
	if err != nil || len(objs) != 2 {
		t.Fatalf("Open: %d objects, %v; want 2", len(objs), err)
	}
	objs, _, err = inspect.Open(file, "gfx1030")
	if err != nil || len(objs) != 1 {
		t.Fatalf("Open for gfx1030: %d objects, %v", len(objs), err)
	}
	if _, _, err := inspect.Open(file, "gfx906"); err == nil || !strings.Contains(err.Error(), "gfx90a") {
		t.Errorf("Open for a target that is not there: %v; want the ones that are", err)
	}
	ls, err := inspect.Disasm(objs[0], "twice")
	if err != nil || len(ls) != 1 || !ls[0].Kernel {
		t.Fatalf("Disasm: %+v, %v; want one kernel", ls, err)
	}
	var b bytes.Buffer
	ls[0].WriteText(&b)
	for _, want := range []string{"kernel _Z5twicePf", "s_endpgm", "; " + strings.TrimSuffix(file, "fb") + ":6", "global_load_dword"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	var j bytes.Buffer
	if err := inspect.WriteJSON(&j, ls); err != nil || !strings.Contains(j.String(), `"function":"_Z5twicePf"`) {
		t.Errorf("JSON: %v\n%s", err, j.String())
	}
}

func TestCoverageClasses(t *testing.T) {
	objs, _, err := inspect.Open(build(t, "gfx90a"), "")
	if err != nil {
		t.Fatal(err)
	}
	uses, err := inspect.Coverage(objs)
	if err != nil {
		t.Fatal(err)
	}
	class := map[string]inspect.Class{}
	for _, u := range uses {
		class[u.Mnemonic] = u.Class
		if u.Class == inspect.Approximate && (len(u.In) == 0 || u.Why == "") {
			t.Errorf("%s is %s, but where is not said", u.Mnemonic, u.Class)
		}
	}
	if class["v_sin_f32"] != inspect.Approximate || class["s_endpgm"] != inspect.Exact {
		t.Errorf("v_sin_f32 is %q, s_endpgm %q; want approximate and exact", class["v_sin_f32"], class["s_endpgm"])
	}
}

// TestApproximations has instructions that are approximate everywhere, on one processor only, by their kind, and not at all.
func TestApproximations(t *testing.T) {
	for _, x := range []struct {
		mnemonic, target string
		class            inspect.Class
		why              string
	}{
		{"v_cvt_pk_u8_f32", "gfx90a", inspect.Approximate, "isa-cvt-pk-u8"},
		{"v_mfma_f32_32x32x8f16", "gfx90a", inspect.Exact, ""},
		{"v_mfma_f32_32x32x8f16", "gfx950", inspect.Approximate, "matrix-cdna4"},
		{"v_sin_f32", "gfx1100", inspect.Approximate, "transcendentals"},
		{"v_add_f32", "gfx1100", inspect.Exact, ""},
		{"v_interp_p1_f32", "gfx1030", inspect.Refused, ""},
	} {
		if class, why := inspect.Classify(x.mnemonic, x.target); class != x.class || why != x.why {
			t.Errorf("%s on %s: %q, %q; want %q, %q", x.mnemonic, x.target, class, why, x.class, x.why)
		}
	}
}

// TestApproximationsAreTold: what coverage calls approximate has a line in FIDELITY.md.
func TestApproximationsAreTold(t *testing.T) {
	page, err := os.ReadFile("../../FIDELITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range inspect.Reasons() {
		if !strings.Contains(string(page), why) {
			t.Errorf("FIDELITY.md has no %q", why)
		}
	}
}
