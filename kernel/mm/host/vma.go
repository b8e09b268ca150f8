package host

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"golang.org/x/sys/unix"
)

// procmapQuery is struct procmap_query of Linux 6.11.
type procmapQuery struct {
	size, flags, addr          uint64
	start, end, vmaFlags, page uint64
	offset, inode              uint64
	devMajor, devMinor         uint32
	nameSize, buildIDSize      uint32
	nameAddr, buildIDAddr      uint64
}

const (
	ioProcmapQuery = 0xc0686611 // _IOWR('f', 17, 104 bytes)
	qReadable      = 1
	qWritable      = 2
	qExecutable    = 4
	qShared        = 8
	qCoveringNext  = 0x10
)

// maps looks VMAs up.
type maps struct{ fd int } // of /proc/self/maps; -1: parse

func openMaps() *maps {
	fd, err := unix.Open("/proc/self/maps", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &maps{-1}
	}
	m := &maps{fd}
	if _, ok, supported := m.query(0); !ok && !supported {
		_ = unix.Close(fd)
		m.fd = -1
	}
	return m
}

// next returns the first VMA that ends above addr.
func (m *maps) next(addr uint64) (mm.VMA, bool) {
	if m.fd < 0 {
		return parseNext(addr)
	}
	v, ok, _ := m.query(addr)
	return v, ok
}

func (m *maps) query(addr uint64) (v mm.VMA, ok, supported bool) {
	var name [64]byte
	q := procmapQuery{flags: qCoveringNext, addr: addr, nameSize: uint32(len(name)), nameAddr: uint64(uintptr(unsafe.Pointer(&name[0])))}
	q.size = uint64(unsafe.Sizeof(q))
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(m.fd), ioProcmapQuery, uintptr(unsafe.Pointer(&q)))
	if e == unix.ENAMETOOLONG { // a long path: a file, whatever its name
		q.nameSize, q.nameAddr = 0, 0
		_, _, e = unix.Syscall(unix.SYS_IOCTL, uintptr(m.fd), ioProcmapQuery, uintptr(unsafe.Pointer(&q)))
		q.inode = max(q.inode, 1)
	}
	if e != 0 {
		return v, false, e == unix.ENOENT
	}
	text := ""
	if q.nameSize > 0 {
		text = string(name[:min(int(q.nameSize)-1, len(name))])
	}
	v = mm.VMA{Start: q.start, End: q.end, Shared: q.vmaFlags&qShared != 0}
	for _, x := range []struct {
		f uint64
		p mm.Prot
	}{{qReadable, mm.ProtRead}, {qWritable, mm.ProtWrite}, {qExecutable, mm.ProtExec}} {
		if q.vmaFlags&x.f != 0 {
			v.Prot |= x.p
		}
	}
	v.Kind = kindOf(text, q.inode != 0, v.Shared)
	return v, true, true
}

// kindOf tells what backs a VMA by the name that /proc/self/maps gives it.
func kindOf(name string, file, shared bool) mm.Kind {
	switch {
	case name == "[heap]":
		return mm.Heap
	case strings.HasPrefix(name, "[stack"):
		return mm.Stack
	case strings.HasPrefix(name, "[v"): // vdso, vvar, vsyscall
		return mm.IO
	case file || shared:
		return mm.File
	}
	return mm.Anon
}

// parseNext is next by reading the whole text, for kernels before 6.11.
func parseNext(addr uint64) (v mm.VMA, ok bool) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return v, false
	}
	defer func() { _ = f.Close() }()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		fs := strings.Fields(sc.Text())
		if len(fs) < 5 {
			continue
		}
		lo, hi, _ := strings.Cut(fs[0], "-")
		start, err1 := strconv.ParseUint(lo, 16, 64)
		end, err2 := strconv.ParseUint(hi, 16, 64)
		if err1 != nil || err2 != nil || end <= addr {
			continue
		}
		v = mm.VMA{Start: start, End: end, Shared: strings.HasSuffix(fs[1], "s")}
		for i, p := range []mm.Prot{mm.ProtRead, mm.ProtWrite, mm.ProtExec} {
			if fs[1][i] != '-' {
				v.Prot |= p
			}
		}
		name := ""
		if len(fs) > 5 {
			name = fs[5]
		}
		v.Kind = kindOf(name, fs[4] != "0", v.Shared)
		return v, true
	}
	return v, false
}
