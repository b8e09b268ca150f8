package observe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/silicon"
)

func TestReportsOncePerInstruction(t *testing.T) {
	var out strings.Builder
	r := &Reporter{out: &out, gpu: "test", isa: isa.TargetByName("gfx90a"), code: NewCodeMap(),
		around: func(va uint64) (holding, below, above [2]uint64) {
			return holding, [2]uint64{0x1000, 0x1000}, [2]uint64{0x9000, 0x1000}
		}}
	f := &silicon.FaultInfo{Kind: silicon.FaultMemory, VA: 0x2010, PC: 0x40, Write: true, NotPresent: true, Lane: 3}
	for range 100 {
		r.Fault(f)
	}
	for _, want := range []string{"write at address 0x2010 (page not present)", "lane 3",
		"16 bytes after the end of the nearest mapping 0x1000-0x2000 (4096 bytes)"} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("want %q once in\n%s", want, out.String())
		}
	}
	f.PC, f.VA = 0x44, 0x8ff8
	r.Fault(f)
	if want := "8 bytes before the nearest mapping 0x9000-0xa000"; !strings.Contains(out.String(), want) {
		t.Errorf("want %q in\n%s", want, out.String())
	}
	for pc := range uint64(1000) {
		f.PC = pc * 4
		r.Fault(f)
	}
	if n := strings.Count(out.String(), "memory fault on"); n != maxReports {
		t.Errorf("%d reports, want %d", n, maxReports)
	}
}

func TestCodeURIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "with space")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := NewCodeMap()
	escaped := strings.ReplaceAll(path, " ", "%20")
	for _, test := range []struct{ uri, want string }{
		{"file://" + escaped + "#offset=2&size=3", "234"},
		{"file://" + escaped + "#offset=0x8", "89"},
		{"file://" + escaped, "0123456789"},
	} {
		if b, err := c.read(test.uri); err != nil || string(b) != test.want {
			t.Errorf("%s: %q, %v", test.uri, b, err)
		}
	}
	for _, bad := range []string{"", "nowhere", "file://" + escaped + "#offset=9&size=2", "file://" + escaped + "#offset=11",
		"memory://1#offset=0x10&size=4", "memory://1#offset=0&size=0xffffffffffff", "file:///absent", "file://%zz", "http://x#%zz"} {
		if b, err := c.read(bad); err == nil {
			t.Errorf("%s: no error, %q", bad, b)
		}
	}
}
