package profile

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestBuiltIn(t *testing.T) {
	names := Names()
	if len(names) < 3 {
		t.Fatal(names)
	}
	for _, n := range names {
		p, err := Load(n)
		if err != nil {
			t.Fatal(err)
		}
		if p.Name != n {
			t.Errorf("%s is named %s", n, p.Name)
		}
		// A process may choose retry faults where KFD_SUPPORT_XNACK_PER_PROCESS says so; elsewhere the driver's default at boot is off.
		if chooses := map[string]bool{"gfx90a": true, "gfx942": true, "gfx950": true}; p.XNACK != chooses[p.Target] {
			t.Errorf("%s: xnack %t", n, p.XNACK)
		}
	}
	for target, cus := range map[string]int{"gfx90a": 104, "gfx906": 60, "gfx900": 64, "gfx1030": 80} {
		if p, err := Load(target); err != nil || p.Shape.CUs != cus {
			t.Errorf("%s: %v %+v", target, err, p)
		}
	}
	if _, err := Load("voodoo2"); err == nil || !strings.Contains(err.Error(), "mi210") {
		t.Error(err)
	}
}

func TestParseErrors(t *testing.T) {
	good, _ := data.ReadFile("data/mi210.json")
	for _, c := range []struct{ old, new, want string }{
		{`"cus": 104`, `"cus": 500`, "shape.cus: is 500, must be 1 to 112"},
		{`"cus": 104`, `"cus": "many"`, "Shape.CUs: has a string"},
		{`"waveSize": 64`, `"waveSize": 16`, "shape.waveSize: is 16"},
		{`"name"`, `"nom"`, `unknown field "nom"`},
		{`"gbAddrConfig": "0x2a114042"`, `"gbAddrConfig": "0x2a11404a"`, "pipe interleave"},
		{`"gbAddrConfig": "0x2a114042"`, `"gbAddrConfig": "zebra"`, "not a 32-bit number"},
		{`{`, `{,`, ":1: invalid character"},
	} {
		_, err := Parse("p.json", []byte(strings.Replace(string(good), c.old, c.new, 1)))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
	f := t.TempDir() + "/mine.json"
	if err := os.WriteFile(f, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(f); err != nil || p.Target != "gfx90a" {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	good, _ := data.ReadFile("data/mi210.json")
	f.Add(good)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse("f", b)
		if (p == nil) == (err == nil) {
			t.Fatal(p, err)
		}
	})
}
