package hip

import (
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
)

func TestFunctionName(t *testing.T) {
	for in, want := range map[string]string{
		"void ns::f<int, 3>(int*, float)": "ns::f<int, 3>", "g(int)": "g", "plain": "plain", "void h<ns::t<a b>>(void (*)(int))": "h<ns::t<a b>>",
	} {
		if got := functionName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestRTC(t *testing.T) {
	needs.Program(t, "hipcc")
	p := NewRTCProgram("#include \"my.h\"\ntemplate <class T> __global__ void twice(T *p) { p[threadIdx.x] *= TWO; }\nextern \"C\" __global__ void one(int *p) { *p = 1; }\n", "t.cu", map[string]string{"my.h": "#define TWO 2\n"})
	for _, e := range []string{"twice<float>", "one"} {
		if r := p.AddName(e); r != RTCSuccess {
			t.Fatal(r.Name())
		}
	}
	if _, r := p.Lowered("one"); r != RTCNoLoweredBefore {
		t.Error(r.Name())
	}
	if r := p.Compile(nil, []string{"--gpu-architecture=gfx90a"}); r != RTCSuccess {
		t.Fatalf("%s\n%s", r.Name(), p.Log)
	}
	if s, r := p.Lowered("twice<float>"); r != RTCSuccess || s != "_Z5twiceIfEvPT_" {
		t.Errorf("%q %s", s, r.Name())
	}
	if s, _ := p.Lowered("one"); s != "one" {
		t.Errorf("%q", s)
	}
	if p.AddName("x") != RTCNoNamesAfter {
		t.Error("a name after compilation")
	}
	bad := NewRTCProgram("__global__ void k( {", "bad.cu", nil)
	if r := bad.Compile(nil, []string{"--offload-arch=gfx90a"}); r != RTCCompilation || bad.Log == "" {
		t.Errorf("%s %q", r.Name(), bad.Log)
	}
}
