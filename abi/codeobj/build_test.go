package codeobj

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pumice-gpu/pumice/internal/needs"
)

// Builders of test input: a small hand-built ELF that needs no tools, and code objects made by clang when it is there.

// packStrBytes etc. write MessagePack, enough of it for metadata.
func mpStr(s string) []byte {
	if len(s) < 32 {
		return append([]byte{0xa0 | byte(len(s))}, s...)
	}
	return append([]byte{0xd9, byte(len(s))}, s...)
}
func mpUint(v uint32) []byte {
	return []byte{0xce, byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
}
func mpMap(n int) []byte { return []byte{0xde, byte(n >> 8), byte(n)} }
func mpArr(n int) []byte { return []byte{0xdc, byte(n >> 8), byte(n)} }

func cat(p ...[]byte) (b []byte) {
	for _, x := range p {
		b = append(b, x...)
	}
	return
}

func handMeta() []byte {
	arg := cat(mpMap(3), mpStr(".offset"), mpUint(0), mpStr(".size"), mpUint(8), mpStr(".value_kind"), mpStr("global_buffer"))
	hid := cat(mpMap(3), mpStr(".offset"), mpUint(8), mpStr(".size"), mpUint(8), mpStr(".value_kind"), mpStr("hidden_none"))
	k := cat(mpMap(5), mpStr(".name"), mpStr("k"), mpStr(".symbol"), mpStr("k.kd"),
		mpStr(".kernarg_segment_size"), mpUint(16), mpStr(".args"), mpArr(2), arg, hid,
		mpStr(".reqd_workgroup_size"), mpArr(3), mpUint(64), mpUint(2), mpUint(1))
	return cat(mpMap(3), mpStr("amdhsa.version"), mpArr(2), mpUint(1), mpUint(2),
		mpStr("amdhsa.future"), mpMap(1), mpStr("x"), mpArr(1), mpUint(9), // an unknown key is passed over
		mpStr("amdhsa.kernels"), mpArr(1), k)
}

// handELF builds a V5 gfx90a object with one kernel "k", a variable "v" and an ABS64 relocation to it; without section
// headers, so that the dynamic table has to do.
func handELF() []byte {
	const (
		noteOff = 0x200
		symOff  = 0x600
		strOff  = 0x700
		hashOff = 0x740
		relaOff = 0x760
		kdOff   = 0x800
		codeOff = 0x900
		dynOff  = 0xa00
		varOff  = 0xb00
		size    = 0xb10
	)
	b := make([]byte, size)
	copy(b, "\x7fELF\x02\x01\x01")
	b[7], b[8] = osABIHSA, 3
	le.PutUint16(b[16:], etDyn)
	le.PutUint16(b[18:], emAMDGPU)
	le.PutUint64(b[32:], 64)
	le.PutUint32(b[48:], 0x53f)
	le.PutUint16(b[54:], phdrSize)
	le.PutUint16(b[56:], 5)
	ph := func(i int, typ, flags uint32, off, n, align uint64) {
		p := b[64+i*phdrSize:]
		le.PutUint32(p, typ)
		le.PutUint32(p[4:], flags)
		for j, v := range []uint64{off, off, off, n, n, align} {
			le.PutUint64(p[8+8*j:], v)
		}
	}
	ph(0, ptLoad, 4, 0, 0x8ff, 0x100)
	ph(1, ptLoad, 5, codeOff, 0x100, 0x100)
	ph(2, ptLoad, 6, dynOff, size-dynOff, 0x100)
	ph(3, ptDynamic, 6, dynOff, 9*16, 8)
	m := handMeta()
	ph(4, ptNote, 4, noteOff, uint64(12+8+len(m)+3)&^3, 4)
	le.PutUint32(b[noteOff:], 7)
	le.PutUint32(b[noteOff+4:], uint32(len(m)))
	le.PutUint32(b[noteOff+8:], noteMetadata)
	copy(b[noteOff+12:], "AMDGPU\x00\x00")
	copy(b[noteOff+20:], m)
	copy(b[strOff:], "\x00k\x00k.kd\x00v\x00")
	sym := func(i int, name uint32, typ byte, va, n uint64) {
		s := b[symOff+i*symSize:]
		le.PutUint32(s, name)
		s[4], s[5] = 1<<4|typ, 3
		le.PutUint16(s[6:], 1)
		le.PutUint64(s[8:], va)
		le.PutUint64(s[16:], n)
	}
	sym(1, 1, 2, codeOff, 64)
	sym(2, 3, 1, kdOff, 64)
	sym(3, 8, 1, varOff, 8)
	le.PutUint32(b[hashOff+4:], 4)
	le.PutUint64(b[relaOff:], varOff)
	le.PutUint64(b[relaOff+8:], 3<<32|uint64(RelocAbs64))
	le.PutUint64(b[relaOff+16:], 5)
	d := Descriptor{EntryOffset: codeOff - kdOff, RSRC1: 0x00af0041, RSRC2: 0x91, RSRC3: 1, Properties: 9, KernargSize: 16}
	e := d.Encode()
	copy(b[kdOff:], e[:])
	for i, kv := range [][2]uint64{{dtHash, hashOff}, {dtStrtab, strOff}, {dtStrSz, 16}, {dtSymtab, symOff}, {dtSymEnt, symSize},
		{dtRela, relaOff}, {dtRelaSz, relaSize}, {dtRelaEnt, relaSize}} {
		le.PutUint64(b[dynOff+i*16:], kv[0])
		le.PutUint64(b[dynOff+i*16+8:], kv[1])
	}
	return b
}

// clang compiles testdata/kernels.hip and returns the path of the result; it skips the test when clang-15 is not there.
func clang(t testing.TB, args ...string) string {
	t.Helper()
	cc := needs.Program(t, "clang-15")
	out := filepath.Join(t.TempDir(), "k.out")
	cmd := exec.Command(cc, append([]string{"-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O2", "testdata/kernels.hip", "-o", out}, args...)...)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return out
}
