package codeobj

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	bundleMagic     = "__CLANG_OFFLOAD_BUNDLE__"
	compressedMagic = "CCOB"

	// maxEntries bounds the table of a bundle; one entry is one target, and LLVM knows about 60.
	maxEntries = 1 << 12
	maxID      = 1 << 10
)

// MaxUncompressed bounds the uncompressed size, in bytes, that a compressed bundle may declare.
const MaxUncompressed = 8 << 30

// Entry is one code object of a bundle, or its (empty) host part.
type Entry struct {
	ID     string // "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"
	Kind   string // "hip", "hipv4", "host", "openmp"...
	Device bool   // the id is that of an AMDGPU code object whose processor is known
	Target Target // of a device entry
	Data   []byte

	once sync.Once
	obj  *Object
	err  error
}

// Object opens the entry's code object, once; later calls return the same result.
func (e *Entry) Object() (*Object, error) {
	e.once.Do(func() { e.obj, e.err = Open(e.Data) })
	return e.obj, e.err
}

// Bundle is one fat binary.
type Bundle struct {
	Entries []*Entry
	size    uint64
}

// Size returns the number of bytes the bundle takes where it was found: compressed if it was.
func (b *Bundle) Size() uint64 { return b.size }

// OpenBundle reads the bundle at the start of b, plain or compressed. b may be longer than the bundle, except that a CCOB
// version 1 bundle does not tell its own size and takes all of b. Code objects are not looked into.
func OpenBundle(b []byte) (*Bundle, error) {
	switch {
	case bytes.HasPrefix(b, []byte(bundleMagic)):
		return parseBundle(b)
	case bytes.HasPrefix(b, []byte(compressedMagic)):
		raw, size, err := decompress(b)
		if err != nil {
			return nil, err
		}
		u, err := parseBundle(raw)
		if err != nil {
			return nil, err
		}
		u.size = size
		return u, nil
	}
	return nil, bad("bundle", 0, "no bundle magic")
}

// IsBundle reports whether b starts with the magic of a plain or compressed bundle.
func IsBundle(b []byte) bool {
	return bytes.HasPrefix(b, []byte(bundleMagic)) || bytes.HasPrefix(b, []byte(compressedMagic))
}

// OpenBundles reads all bundles of a section that holds several back to back, with zero bytes between them.
func OpenBundles(b []byte) ([]*Bundle, error) {
	var out []*Bundle
	for off := 0; ; {
		for off < len(b) && b[off] == 0 {
			off++
		}
		if off == len(b) {
			if out == nil {
				return nil, bad("bundle", 0, "no bundle")
			}
			return out, nil
		}
		u, err := OpenBundle(b[off:])
		if err != nil {
			var fe *FormatError
			if errors.As(err, &fe) {
				fe.Off += int64(off)
			}
			return out, err
		}
		out = append(out, u)
		off += int(u.size)
	}
}

func parseBundle(b []byte) (*Bundle, error) {
	const part = "bundle"
	pos := uint64(len(bundleMagic))
	u64 := func() (uint64, bool) {
		if pos+8 > uint64(len(b)) {
			return 0, false
		}
		v := le.Uint64(b[pos:])
		pos += 8
		return v, true
	}
	if !bytes.HasPrefix(b, []byte(bundleMagic)) {
		return nil, bad(part, 0, "no bundle magic")
	}
	n, ok := u64()
	if !ok {
		return nil, bad(part, pos, "header cut short")
	}
	if n > maxEntries {
		return nil, bad(part, pos-8, "%d entries, at most %d are plausible", n, maxEntries)
	}
	u := &Bundle{}
	for i := uint64(0); i < n; i++ {
		at := pos
		off, ok1 := u64()
		size, ok2 := u64()
		idLen, ok3 := u64()
		if !ok1 || !ok2 || !ok3 {
			return nil, bad(part, at, "entry %d cut short", i)
		}
		if idLen > maxID || idLen > uint64(len(b))-pos {
			return nil, bad(part, at+16, "entry %d has an id of %d bytes", i, idLen)
		}
		id := string(b[pos : pos+idLen])
		pos += idLen
		if off > uint64(len(b)) || size > uint64(len(b))-off {
			return nil, bad(part, at, "entry %d (%q) at %#x of %#x bytes goes beyond the end at %#x", i, id, off, size, len(b))
		}
		e := &Entry{ID: id, Data: b[off : off+size : off+size]}
		e.parseID()
		u.Entries = append(u.Entries, e)
		u.size = max(u.size, off+size)
	}
	u.size = max(u.size, pos)
	return u, nil
}

// parseID splits kind-arch-vendor-os-environment-target; the environment is mostly empty.
func (e *Entry) parseID() {
	f := strings.SplitN(e.ID, "-", 6)
	e.Kind = f[0]
	if len(f) < 6 || f[1] != "amdgcn" || e.Kind == "host" {
		return
	}
	if t, err := ParseTarget(f[5]); err == nil {
		e.Target, e.Device = t, true
	}
}

// Select returns the entry that an agent of the given target runs: the processor must fit and every setting that the
// entry's id names must be the agent's. An exact processor is preferred to a generic one, then the entry that names more
// settings. The error is a *NoTargetError when none fits.
func (b *Bundle) Select(agent Target) (*Entry, error) {
	var best *Entry
	score := -1
	var have []string
	for _, e := range b.Entries {
		if !e.Device {
			continue
		}
		have = append(have, e.ID)
		if !agent.Runs(e.Target) {
			continue
		}
		s := e.Target.named()
		if e.Target.Proc == agent.Proc {
			s += 8
		}
		if s > score {
			best, score = e, s
		}
	}
	if best == nil {
		return nil, &NoTargetError{Want: agent, Have: have}
	}
	return best, nil
}

// decompress expands a CCOB bundle and returns also the number of bytes that the compressed form takes. The 64-bit hash in the header is
// not checked: compiler versions differ in how they make it, and the frame formats check themselves.
func decompress(b []byte) (raw []byte, size uint64, err error) {
	const part = "compressed bundle"
	if len(b) < 20 {
		return nil, 0, bad(part, 0, "header cut short")
	}
	version, method := le.Uint16(b[4:]), le.Uint16(b[6:])
	var head, usize uint64
	switch version {
	case 1:
		head, size, usize = 20, uint64(len(b)), uint64(le.Uint32(b[8:]))
	case 2:
		head, size, usize = 24, uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))
	case 3:
		if len(b) < 32 {
			return nil, 0, bad(part, 0, "header cut short")
		}
		head, size, usize = 32, le.Uint64(b[8:]), le.Uint64(b[16:])
	default:
		return nil, 0, bad(part, 4, "version %d, versions 1 to 3 are known", version)
	}
	if size < head || size > uint64(len(b)) {
		return nil, 0, bad(part, 8, "claims %d bytes, %d are there", size, len(b))
	}
	if usize > MaxUncompressed {
		return nil, 0, bad(part, 8, "claims %d bytes uncompressed, the limit is %d", usize, uint64(MaxUncompressed))
	}
	src := bytes.NewReader(b[head:size])
	var r io.Reader
	switch method {
	case 0:
		z, err := zlib.NewReader(src)
		if err != nil {
			return nil, 0, &FormatError{Part: part, Off: int64(head), Msg: "zlib", Err: err}
		}
		r = z
	case 1:
		z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxUncompressed))
		if err != nil {
			return nil, 0, &FormatError{Part: part, Off: int64(head), Msg: "zstd", Err: err}
		}
		defer z.Close()
		r = z
	default:
		return nil, 0, bad(part, 6, "method %d, 0 (zlib) and 1 (zstd) are known", method)
	}
	// The buffer grows with what really comes out, so a lying header costs nothing.
	var out bytes.Buffer
	n, err := io.CopyN(&out, r, int64(usize))
	if err != nil {
		return nil, 0, &FormatError{Part: part, Off: int64(head), Msg: "ends early", Err: err}
	}
	// Reading on checks the trailer. Version 1 may be followed by anything, which zstd takes for a broken second frame.
	switch m, err := io.ReadFull(r, make([]byte, 1)); {
	case m != 0:
		return nil, 0, bad(part, head, "more than the declared %d bytes", n)
	case err != io.EOF && !(version == 1 && method == 1):
		return nil, 0, &FormatError{Part: part, Off: int64(head), Msg: "trailer", Err: err}
	}
	return out.Bytes(), size, nil
}
