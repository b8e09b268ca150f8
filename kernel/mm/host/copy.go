package host

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"golang.org/x/sys/unix"
)

// maxIOV is how many pieces one system call copies.
const maxIOV = 512

// CopyOut puts the content of staging pages into memory of the caller, page by page. A nil page (a hole) is zeroes. Memory of a device (see Attach) gets the very
// pages. Else the kernel copies, by its own mapping of all memory: to touch pages that were just moved would cost a hardware page-table fill for each, which under
// virtualisation is dearer than the copy.
func (s *Space) CopyOut(dst []unsafe.Pointer, src []mm.Folio) error {
	if len(dst) == 0 || !s.devices.contains(addressOf(dst[0])) {
		return transfer(dst, src, false)
	}
	for i := 0; i < len(dst); {
		j := i + 1
		for j < len(dst) && addressOf(dst[j]) == addressOf(dst[j-1])+mm.PageSize {
			j++
		}
		if err := s.fillDevice(dst[i:j], src[i:j]); err != nil {
			return err
		}
		i = j
	}
	return nil
}

// CopyIn fills pages that AllocFolio gave from memory of the caller, which must not change before they are in place. Pages that are nil are
// skipped.
func (s *Space) CopyIn(dst []mm.Folio, src []unsafe.Pointer) error {
	return transfer(src, dst, true)
}

func transfer(mem []unsafe.Pointer, pages []mm.Folio, in bool) error {
	var local []unix.Iovec
	var remote []unix.RemoteIovec
	total := 0
	flush := func() error {
		if total == 0 {
			return nil
		}
		var n int
		var err error
		if in {
			n, err = unix.ProcessVMWritev(unix.Getpid(), local, remote, 0)
		} else {
			n, err = unix.ProcessVMReadv(unix.Getpid(), local, remote, 0)
		}
		if err != nil || n != total {
			return transferSlow(local, remote, in)
		}
		local, remote, total = local[:0], remote[:0], 0
		return nil
	}
	for i, f := range pages {
		x, _ := f.(*sysFolio)
		if x == nil {
			if !in {
				clear(unsafe.Slice((*byte)(mem[i]), mm.PageSize))
			}
			continue
		}
		if x.stage == 0 {
			x.src = mem[i]
			continue
		}
		// Join what is contiguous on both sides.
		if k := len(local) - 1; k >= 0 && uint64(remote[k].Base)+uint64(remote[k].Len) == x.stage &&
			unsafe.Add(unsafe.Pointer(local[k].Base), local[k].Len) == mem[i] {
			remote[k].Len += mm.PageSize
			local[k].SetLen(remote[k].Len)
		} else {
			v := unix.Iovec{Base: (*byte)(mem[i])}
			v.SetLen(mm.PageSize)
			local = append(local, v)
			remote = append(remote, unix.RemoteIovec{Base: uintptr(x.stage), Len: mm.PageSize})
		}
		total += mm.PageSize
		if len(local) == maxIOV {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// transferSlow copies by hand where process_vm_readv is forbidden.
func transferSlow(local []unix.Iovec, remote []unix.RemoteIovec, in bool) error {
	for i := range local {
		a := unsafe.Slice(local[i].Base, remote[i].Len)
		b := memory(uint64(remote[i].Base), uint64(remote[i].Len))
		if in {
			copy(b, a)
		} else {
			copy(a, b)
		}
	}
	return nil
}
