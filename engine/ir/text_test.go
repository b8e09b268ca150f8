package ir

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var sample = `func 0x7f0000001000 mode=0x2f0 lanes=64 target=gfx90a lo=0 hi=24 size=24
b0 @0 insts=2:
  %0:v32 = vget imm=0x1 @0
  %1:m = mget imm=0x7e @0
  %2:v32 = fma %0, %0, %0 kind=f32 fp=rne+ieee+dx10 @4
  %3 = vset %2, %1 imm=0x2 @4
  %4:s64 = sget64 imm=0x4 @8
  %5:t4 = load %4, %0, %1 width=16 order=glc+slc imm=0x8000000000000010 @8
  %6:v32 = elem %5 imm=0x3 @8
  %7:v32 = permconst %6 perm=` + perm64 + ` @12
  %8:v32 = atomic %4, %0, %1, %7 space=flat width=4 atomic=umax order=return @12
  %9:s1 = misz %1 @16
  branch %9 b1 b0 @16
b1 @20 insts=1:
  %10:v32 = vget imm=0x1 @20
  %11:m = icmp %10, %10 pred=slt @20
  %12 = mset %11 imm=0x6a @20
  exit illegal next=24 text="v_foo \"x\", 1" @20
`

var perm64 = strings.TrimSuffix(strings.Repeat("-1,63,0,5,", 16), ",")

func TestParsePrintsTheSame(t *testing.T) {
	f, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(f); err != nil {
		t.Fatal(err)
	}
	if got := f.String(); got != sample {
		t.Errorf("printed:\n%s\nwant:\n%s", got, sample)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"lanes=64", "lanes=33", "line 1: lanes"},
		{"vget", "vgot", `line 3: unknown op "vgot"`},
		{"%2:v32 = fma", "%0:v32 = fma", "defined twice"},
		{"%1:m =", "%1:q =", "unknown type"},
		{"width=16", "width=x", "bad number"},
		{"kind=f32", "kind=f33", "unknown kind"},
		{"  branch %9 b1 b0 @16\n", "", "no terminator"},
		{"b1 @20", "b2 @20", "expected b1"},
		{"%0:v32 = vget", "%99999999:v32 = vget", "too large"},
	} {
		bad := strings.Replace(sample, c.from, c.to, 1)
		_, err := Parse(bad)
		var se *SyntaxError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: error %v, want %q", c.to, c.from, err, c.want)
		}
	}
}

func TestVerifyErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"fma %0, %0, %0", "fma %0, %0", "argument 2 is missing"},
		{"permconst %6", "permconst %4", "argument 0 is s64, want n32"},
		{"fma %0, %0, %0", "fma %0, %0, %5", "not defined before its use"},
		{"%2:v32 = fma", "%2:s32 = fma", "uniform result"},
		{"vset %2, %1", "vset %2, %9", "not defined before its use"},
		{"b1 b0", "b7 b0", "there are 2 blocks"},
		{"branch %9", "branch %8", "branch on v32"},
		{"imm=0x3", "imm=0x4", "elem 4"},
		{"width=16", "width=32", "load of 32 bytes into 4"},
		{"%11:m = icmp", "%11:s1 = icmp", "uniform result"},
		{"icmp %10, %10", "icmp %8, %10", "not defined before its use in this block"},
	} {
		f, err := Parse(strings.Replace(sample, c.from, c.to, 1))
		if err != nil {
			t.Errorf("%q: %v", c.to, err)
			continue
		}
		var ve *VerifyError
		if err := Verify(f); !errors.As(err, &ve) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: error %v, want %q", c.to, c.from, err, c.want)
		}
	}
}

// Every op has a line whose words are known.
func TestOpTable(t *testing.T) {
	words := map[string]bool{"W": true, "n": true, "n32": true, "n64": true, "s": true, "s32": true, "s64": true, "v32": true,
		"v64": true, "m": true, "b": true, "mb": true, "t": true, "ts": true, "any": true}
	for op := OpInvalid + 1; op < NumOps; op++ {
		if opTable[op].name == "" {
			t.Errorf("op %d has no line", op)
		}
		if opByName[opTable[op].name] != op {
			t.Errorf("name %q is used twice", opTable[op].name)
		}
		for _, a := range argSpecs[op] {
			a = strings.TrimSuffix(strings.TrimSuffix(a, "..."), "?")
			if !words[a] {
				t.Errorf("%s: unknown word %q", op, a)
			}
		}
		if r := opTable[op].res; r != "-" && !words[r] {
			t.Errorf("%s: unknown result word %q", op, r)
		}
	}
}

// Any Value, sensible or not, comes back from its text.
func TestRoundTripAnyValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &Func{PC: rapid.Uint64().Draw(t, "pc"), Lanes: 64, Lo: rapid.Int32().Draw(t, "lo")}
		b := &Block{}
		f.Blocks = []*Block{b}
		u8 := func(n int) uint8 { return uint8(rapid.IntRange(0, n-1).Draw(t, "f")) }
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			v := Value{Op: Op(rapid.IntRange(1, int(NumOps)-1).Draw(t, "op")), Type: Type(u8(len(typeNames))), Kind: Kind(u8(len(kindNames))),
				From: Kind(u8(len(kindNames))), FP: FP(u8(256)), Pred: Pred(u8(len(predNames))), Space: Space(u8(len(spaceNames))),
				Width: u8(256), Sign: u8(2) == 1, Atomic: AtomicOp(u8(len(atomicNames))), Order: Order(u8(32)),
				Imm: rapid.Uint64().Draw(t, "imm"), PC: rapid.Uint32().Draw(t, "pc")}
			if v.Type == T || v.Type == TS {
				v.N = u8(256)
			}
			for range u8(5) {
				v.Args = append(v.Args, ID(rapid.IntRange(-1, 4).Draw(t, "arg")))
			}
			switch u8(4) {
			case 1:
				v.Aux = rapid.String().Draw(t, "text")
			case 2:
				v.Aux = &Matrix{M: 16, N: 16, K: 4, Blocks: 1, A: F16, C: F32, CBSZ: u8(8), Neg: u8(8), Sparse: u8(2) == 1}
			case 3:
				v.Aux = &[64]int8{3, -1, 63}
			}
			f.Add(b, v)
		}
		b.Term = Term{Kind: TermExit, Exit: ExitEndPgm, Imm: rapid.Uint64().Draw(t, "imm"), Msg: rapid.String().Draw(t, "msg")}
		text := f.String()
		g, err := Parse(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if got := g.String(); got != text {
			t.Fatalf("printed\n%s\nwas\n%s", got, text)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("func 0 lanes=32\nb0 @0 insts=0:\n  jump b0 @0\n")
	f.Fuzz(func(t *testing.T, s string) {
		fn, err := Parse(s)
		if err != nil {
			return
		}
		_ = Verify(fn) // must not panic
		text := fn.String()
		g, err := Parse(text)
		if err != nil {
			t.Fatalf("printed text does not parse: %v\n%s", err, text)
		}
		if g.String() != text {
			t.Fatalf("not stable:\n%s", text)
		}
	})
}
