package codeobj

import (
	"bytes"
	"compress/zlib"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// makeBundle writes a plain bundle of id, data pairs, entries aligned to 4096 as clang does for HIP.
func makeBundle(parts ...string) []byte {
	n := len(parts) / 2
	head := len(bundleMagic) + 8
	for i := 0; i < n; i++ {
		head += 24 + len(parts[2*i])
	}
	b := append([]byte(bundleMagic), make([]byte, 8)...)
	le.PutUint64(b[len(bundleMagic):], uint64(n))
	off := (head + 4095) &^ 4095
	var body []byte
	for i := 0; i < n; i++ {
		id, data := parts[2*i], parts[2*i+1]
		var e [24]byte
		le.PutUint64(e[:], uint64(off+len(body)))
		le.PutUint64(e[8:], uint64(len(data)))
		le.PutUint64(e[16:], uint64(len(id)))
		b = append(append(b, e[:]...), id...)
		body = append(body, data...)
		body = append(body, make([]byte, (4096-len(body)%4096)%4096)...)
	}
	return append(append(b, make([]byte, off-head)...), body...)
}

const devID = "hipv4-amdgcn-amd-amdhsa--"

func compressed(t testing.TB, raw []byte, version, method int) []byte {
	var z bytes.Buffer
	if method == 0 {
		w := zlib.NewWriter(&z)
		w.Write(raw)
		w.Close()
	} else {
		w, err := zstd.NewWriter(&z)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(raw)
		w.Close()
	}
	h := []byte(compressedMagic)
	h = le.AppendUint16(h, uint16(version))
	h = le.AppendUint16(h, uint16(method))
	switch version {
	case 1:
		h = le.AppendUint32(h, uint32(len(raw)))
	case 2:
		h = le.AppendUint32(h, uint32(24+z.Len()))
		h = le.AppendUint32(h, uint32(len(raw)))
	case 3:
		h = le.AppendUint64(h, uint64(32+z.Len()))
		h = le.AppendUint64(h, uint64(len(raw)))
	}
	h = le.AppendUint64(h, 0)
	return append(h, z.Bytes()...)
}

func TestSelect(t *testing.T) {
	u, err := OpenBundle(makeBundle("host-x86_64-unknown-linux--", "",
		devID+"gfx90a", "any", devID+"gfx90a:xnack-", "off", devID+"gfx90a:xnack+", "on",
		devID+"gfx10-3-generic", "generic", devID+"gfx1030", "exact", "hip-amdgcn-amd-amdhsa-unknown-gfx906", "env", devID+"gfx9999", "?"))
	if err != nil {
		t.Fatal(err)
	}
	for agent, want := range map[string]string{
		"gfx90a:sramecc+:xnack-": "off", "gfx90a:sramecc+:xnack+": "on", "gfx1030": "exact", "gfx1032": "generic",
		"gfx906:sramecc-:xnack-": "env", "gfx1100": "",
	} {
		a, _ := ParseTarget(agent)
		e, err := u.Select(a)
		if want == "" {
			var nt *NoTargetError
			if !errors.As(err, &nt) || !errors.Is(err, ErrNoTarget) || len(nt.Have) != 6 {
				t.Errorf("%s: %v", agent, err)
			}
			continue
		}
		if err != nil || string(e.Data) != want {
			t.Errorf("%s: %v, want %q", agent, err, want)
		}
	}
	if u.Entries[0].Device || u.Entries[0].Kind != "host" {
		t.Errorf("%+v", u.Entries[0])
	}
	if _, err := u.Entries[1].Object(); err == nil {
		t.Error("text opened as a code object")
	}
}

func TestBackToBack(t *testing.T) {
	one, two := makeBundle(devID+"gfx90a", "first"), makeBundle(devID+"gfx90a", "second")
	three := compressed(t, makeBundle(devID+"gfx90a", "third"), 2, 1)
	us, err := OpenBundles(cat(one, two, three, make([]byte, 100)))
	if err != nil || len(us) != 3 {
		t.Fatalf("%d bundles, %v", len(us), err)
	}
	for i, want := range []string{"first", "second", "third"} {
		if got := string(us[i].Entries[0].Data); got != want {
			t.Errorf("bundle %d holds %q", i, got)
		}
	}
	_, err = OpenBundles(cat(one, []byte("rubbish")))
	var fe *FormatError
	if !errors.As(err, &fe) || fe.Off != int64(len(one)) {
		t.Errorf("%v", err)
	}
}

func TestCompressed(t *testing.T) {
	raw := makeBundle(devID+"gfx90a", strings.Repeat("code", 1000))
	for version := 1; version <= 3; version++ {
		for method := 0; method <= 1; method++ {
			z := compressed(t, raw, version, method)
			if len(z) > len(raw)/2 {
				t.Fatalf("not compressed")
			}
			tail := z
			if version > 1 {
				tail = append(append([]byte{}, z...), "tail"...)
			}
			u, err := OpenBundle(tail)
			if err != nil {
				t.Errorf("version %d method %d: %v", version, method, err)
				continue
			}
			if len(u.Entries[0].Data) != 4000 || u.Size() != uint64(len(z)) {
				t.Errorf("version %d method %d: %d bytes, size %d of %d", version, method, len(u.Entries[0].Data), u.Size(), len(z))
			}
			for _, cut := range []int{5, 15, 21, len(z) / 2, len(z) - 1} {
				if _, err := OpenBundle(z[:cut]); err == nil {
					t.Errorf("version %d method %d accepted when cut to %d", version, method, cut)
				}
			}
		}
	}
	z := compressed(t, raw, 3, 1)
	le.PutUint64(z[16:], 1<<62)
	if _, err := OpenBundle(z); err == nil {
		t.Error("an absurd size was accepted")
	}
	z = compressed(t, raw, 3, 1)
	le.PutUint64(z[16:], uint64(len(raw)-1))
	if _, err := OpenBundle(z); err == nil {
		t.Error("a size too small was accepted")
	}
}

func TestClangBundle(t *testing.T) {
	b, err := os.ReadFile(clang(t, "--gpu-bundle-output", "--offload-arch=gfx1030", "--offload-arch=gfx90a:xnack-", "--offload-arch=gfx90a:xnack+"))
	if err != nil {
		t.Fatal(err)
	}
	u, err := OpenBundle(b)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := ParseTarget("gfx90a:sramecc+:xnack+")
	e, err := u.Select(a)
	if err != nil {
		t.Fatal(err)
	}
	o, err := e.Object()
	if err != nil || o.Target.String() != "gfx90a:xnack+" {
		t.Fatalf("%v %v", o, err)
	}
	if o2, _ := e.Object(); o2 != o {
		t.Error("opened twice")
	}
}

func FuzzBundle(f *testing.F) {
	f.Add(makeBundle("host-x86_64-unknown-linux", "", devID+"gfx90a:xnack-", "code"))
	f.Add(compressed(f, makeBundle(devID+"gfx90a", "code"), 2, 1))
	f.Add(compressed(f, makeBundle(devID+"gfx90a", "code"), 3, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		us, err := OpenBundles(b)
		var fe *FormatError
		if err != nil && !errors.As(err, &fe) {
			t.Fatalf("error of type %T: %v", err, err)
		}
		for _, u := range us {
			if u.Size() == 0 {
				t.Fatal("an empty bundle")
			}
		}
	})
}
