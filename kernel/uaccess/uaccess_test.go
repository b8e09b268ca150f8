package uaccess

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// page maps n pages of memory outside the Go heap.
func page(t *testing.T, n, prot int) []byte {
	m, err := unix.Mmap(-1, 0, n*4096, prot, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(m) })
	return m
}

func addr(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

func TestProcess(t *testing.T) {
	for name, copyTo := range map[string]func(uint64, []byte, bool) error{"process_vm": transfer, "pipe": viaPipe} {
		t.Run(name, func(t *testing.T) {
			m := page(t, 3, unix.PROT_READ|unix.PROT_WRITE)
			want := bytes.Repeat([]byte("pumice!"), 1500)
			if err := copyTo(addr(m)+7, want, true); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(want))
			if err := copyTo(addr(m)+7, got, false); err != nil || !bytes.Equal(got, want) {
				t.Fatal(err)
			}
			ro := page(t, 1, unix.PROT_READ)
			if err := copyTo(addr(ro), want[:8], true); err != unix.EFAULT {
				t.Errorf("write to a read-only page: %v", err)
			}
			hole := page(t, 2, unix.PROT_READ|unix.PROT_WRITE)
			if err := unix.Mprotect(hole[4096:], unix.PROT_NONE); err != nil {
				t.Fatal(err)
			}
			if err := copyTo(addr(hole)+4090, got[:12], false); err != unix.EFAULT {
				t.Errorf("read across the end: %v", err)
			}
		})
	}
	var p Process
	for _, a := range []uint64{0, 8, 1 << 47, 1<<47 - 4, 1 << 63, ^uint64(0)} {
		if err := p.Read(a, make([]byte, 16)); err != unix.EFAULT {
			t.Errorf("read at %#x: %v", a, err)
		}
		if err := p.Write(a, make([]byte, 16)); err != unix.EFAULT {
			t.Errorf("write at %#x: %v", a, err)
		}
	}
}

func TestBuffer(t *testing.T) {
	f := &Buffer{Base: 0x1000, Bytes: make([]byte, 16)}
	if err := f.Write(0x1008, []byte{1, 0, 0, 0, 2, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if w, err := ReadUint32s(f, 0x1008, 2); err != nil || w[0] != 1 || w[1] != 2 {
		t.Errorf("%v %v", w, err)
	}
	for _, a := range []uint64{0xfff, 0x100d, 0x2000, ^uint64(0)} {
		if err := f.Read(a, make([]byte, 4)); err != unix.EFAULT {
			t.Errorf("%#x: %v", a, err)
		}
	}
}
