package amdgpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/buddy"
	"golang.org/x/sys/unix"
)

// Domain is where a buffer lives.
type Domain uint8

// Domains.
const (
	VRAM Domain = iota + 1
	GTT
	Userptr
	Doorbell
	MMIO
	Foreign // another process's
)

func (d Domain) String() string {
	return [...]string{"none", "vram", "gtt", "userptr", "doorbell", "mmio", "foreign"}[d]
}

// BO is a buffer object. Immutable but for its reference count.
type BO struct {
	Dev    *Device
	Domain Domain
	Size   uint64 // bytes, a multiple of the page size
	// MmapOffset is where the buffer stands in its render node, 0 when it cannot be mapped.
	MmapOffset uint64

	blocks []buddy.Block // VRAM and GTT
	host   uint64        // userptr, foreign: address; doorbell: offset in the aperture
	files  []Segment     // foreign
	gone   func()        // foreign: told when the last reference is dropped
	round  uint64        // bytes that RoundVRAM counts on top of Size
	refs   atomic.Int32
}

// Segment is a piece of a file to map.
type Segment struct {
	FD  int
	Off uint64
	Len uint64
	// Ring is set for doorbells: it is told the byte offset in FD of one that was written.
	Ring func(off uint64)
}

// NewBO allocates a zeroed buffer of size bytes (rounded up to pages) in VRAM or GTT. Errors: EINVAL, ENOMEM.
func (d *Device) NewBO(dom Domain, size uint64) (*BO, error) {
	if size == 0 || size > 1<<46 {
		return nil, unix.EINVAL
	}
	b := &BO{Dev: d, Domain: dom, Size: (size + pte.PageSize - 1) &^ (pte.PageSize - 1)}
	b.refs.Store(1)
	var err error
	switch dom {
	case VRAM:
		err = d.allocVRAM(b)
	case GTT, MMIO:
		b.blocks, err = d.Sys.alloc(b.Size)
	default:
		err = unix.EINVAL
	}
	if err != nil {
		return nil, err
	}
	if dom != MMIO {
		d.publish(b)
	}
	return b, nil
}

// allocVRAM takes one range, aligned to 2 MiB for large buffers so that huge pages can be used; where there is none, several of 2 MiB and more,
// and where these are not there either, any.
//
// Linux takes pieces unless it is told not to (KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS, best effort): its hardware looks each page up anyhow. Here compiled code
// runs over a buffer in one piece without a look-up, and a matrix product of buffers in pieces runs at half its speed.
func (d *Device) allocVRAM(b *BO) (err error) {
	d.vramMu.Lock()
	defer d.vramMu.Unlock()
	align := uint64(0)
	if b.Size >= hugeSize {
		align = hugeSize
	}
	if b.blocks, err = d.vram.Alloc(b.Size, align, true); err == nil {
		return nil
	}
	if b.Size >= hugeSize {
		// The last block may be smaller than 2 MiB: it stands behind the aligned ones.
		whole := b.Size &^ (hugeSize - 1)
		if b.blocks, err = d.vram.Alloc(whole, hugeSize, false); err == nil && whole < b.Size {
			var rest []buddy.Block
			if rest, err = d.vram.Alloc(b.Size-whole, 0, false); err != nil {
				d.vram.Free(b.blocks)
			}
			b.blocks = append(b.blocks, rest...)
		}
		if err == nil {
			return nil
		}
	}
	if b.blocks, err = d.vram.Alloc(b.Size, 0, false); err != nil {
		return unix.ENOMEM
	}
	return nil
}

// publish gives b an offset in the device's render node.
func (d *Device) publish(b *BO) {
	d.vramMu.Lock()
	defer d.vramMu.Unlock()
	b.MmapOffset = d.offsets
	d.offsets += b.Size + pte.PageSize // a hole between buffers: a mapping never runs into the next
	d.bos[b.MmapOffset>>pte.PageShift] = b
}

// NewUserptr makes a buffer of the process's own memory at [addr, addr+size). Its pages are faulted in, for writing if write.
// Errors: EINVAL (unaligned), EFAULT (not mapped, or not with these rights).
func (d *Device) NewUserptr(addr, size uint64, write bool) (*BO, error) {
	if size == 0 || (addr|size)&(pte.PageSize-1) != 0 || addr+size < addr || addr+size > 1<<47 {
		return nil, unix.EINVAL
	}
	if err := Populate(addr, size, write); err != nil {
		return nil, err
	}
	b := &BO{Dev: d, Domain: Userptr, Size: size, host: addr}
	b.refs.Store(1)
	return b, nil
}

// Populate faults the pages of [addr, addr+size) of this process in. EFAULT where that cannot be.
func Populate(addr, size uint64, write bool) error {
	const madvPopulateRead, madvPopulateWrite = 22, 23
	advice := uintptr(madvPopulateRead)
	if write {
		advice = madvPopulateWrite
	}
	for {
		_, _, e := unix.Syscall(unix.SYS_MADVISE, uintptr(addr), uintptr(size), advice)
		switch e {
		case 0:
			return nil
		case unix.EINTR, unix.EAGAIN:
			continue
		case unix.EINVAL: // before Linux 5.14, or a mapping that cannot be populated
			return Mapped(addr, size)
		}
		return unix.EFAULT
	}
}

// Mapped returns nil when every page of [addr, addr+size) of this process is mapped, whatever its rights, else EFAULT.
func Mapped(addr, size uint64) error {
	// mincore writes a byte for each page; a bounded buffer keeps that small.
	var vec [4096]byte
	for size > 0 {
		n := min(size, uint64(len(vec))*pte.PageSize)
		if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(addr), uintptr(n), uintptr(unsafe.Pointer(&vec[0]))); e != 0 {
			return unix.EFAULT
		}
		addr, size = addr+n, size-n
	}
	return nil
}

// NewDoorbellBO makes a buffer of a process's doorbells, to be mapped into a GPU.
func (d *Device) NewDoorbellBO(db *Doorbells) *BO {
	b := &BO{Dev: d, Domain: Doorbell, Size: doorbellSlice, host: db.Off}
	b.refs.Store(1)
	return b
}

// Get takes a reference.
func (b *BO) Get() *BO {
	b.refs.Add(1)
	return b
}

// RoundVRAM counts a buffer in VRAM as if its size were a multiple of granule, for as long as it lives; see Device.VRAMRounding. At most once for a buffer.
func (b *BO) RoundVRAM(granule uint64) {
	b.round = (b.Size+granule-1)&^(granule-1) - b.Size
	b.Dev.rounding.Add(b.round)
}

// Put drops one. The last one frees the memory: no page table may map it any more.
func (b *BO) Put() {
	if b.refs.Add(-1) != 0 {
		return
	}
	d := b.Dev
	d.rounding.Add(-b.round)
	if b.MmapOffset != 0 {
		d.vramMu.Lock()
		delete(d.bos, b.MmapOffset>>pte.PageShift)
		d.vramMu.Unlock()
	}
	switch b.Domain {
	case VRAM:
		for _, x := range b.blocks {
			_ = d.Chip.VRAM().Discard(x.Off, x.Size)
		}
		d.vramMu.Lock()
		d.vram.Free(b.blocks)
		d.vramMu.Unlock()
	case GTT, MMIO:
		d.Sys.free(b.blocks)
	case Foreign:
		_, _, _ = unix.Syscall(unix.SYS_MUNMAP, uintptr(b.host), uintptr(b.Size), 0)
		b.gone()
	}
}

// Extents is the buffer as page tables of its device see it.
func (b *BO) Extents() []Extent {
	switch b.Domain {
	case VRAM:
		e := make([]Extent, len(b.blocks))
		for i, x := range b.blocks {
			e[i] = Extent{Addr: x.Off, Len: x.Size}
		}
		return e
	case Userptr, Foreign:
		return []Extent{{Addr: b.host, Len: b.Size, System: true}}
	case Doorbell:
		return []Extent{{Addr: uint64(uintptr(b.Dev.Chip.Doorbells().Base())) + b.host, Len: b.Size, System: true}}
	}
	return b.hostExtents(uint64(uintptr(b.Dev.Sys.base)))
}

// PeerExtents is the buffer as another device sees it: its VRAM is bus memory there.
func (b *BO) PeerExtents() []Extent {
	if b.Domain != VRAM {
		return b.Extents()
	}
	return b.hostExtents(uint64(uintptr(b.Dev.Chip.VRAM().Base())))
}

func (b *BO) hostExtents(base uint64) []Extent {
	e := make([]Extent, len(b.blocks))
	for i, x := range b.blocks {
		e[i] = Extent{Addr: base + x.Off, Len: x.Size, System: true}
	}
	return e
}

// Host returns where this process sees byte off of the buffer, and how many bytes from there on are contiguous.
func (b *BO) Host(off uint64) (unsafe.Pointer, uint64) {
	for _, e := range b.PeerExtents() {
		if off < e.Len {
			return pointer(e.Addr + off), e.Len - off
		}
		off -= e.Len
	}
	return nil, 0
}

// Segments tells which pieces of which files make up [off, off+n) of the buffer. EINVAL outside it, or for memory that has no file.
func (b *BO) Segments(off, n uint64) ([]Segment, error) {
	n = (n + pte.PageSize - 1) &^ (pte.PageSize - 1)
	if off&(pte.PageSize-1) != 0 || n == 0 || off >= b.Size || n > b.Size-off {
		return nil, unix.EINVAL
	}
	fd := b.Dev.Sys.fd
	switch b.Domain {
	case VRAM:
		fd = b.Dev.Chip.VRAM().FD()
	case Doorbell:
		return []Segment{{FD: b.Dev.Chip.Doorbells().FD(), Off: b.host + off, Len: n, Ring: b.Dev.ringAt}}, nil
	case Userptr:
		return nil, unix.EINVAL
	case Foreign:
		return cut(b.files, off, n), nil
	}
	var out []Segment
	for _, x := range b.blocks {
		if off >= x.Size {
			off -= x.Size
			continue
		}
		l := min(x.Size-off, n)
		if k := len(out); k > 0 && out[k-1].Off+out[k-1].Len == x.Off+off {
			out[k-1].Len += l
		} else {
			out = append(out, Segment{FD: fd, Off: x.Off + off, Len: l})
		}
		n -= l
		off = 0
		if n == 0 {
			break
		}
	}
	return out, nil
}

// cut returns the part [off, off+n) of pieces that follow each other.
func cut(files []Segment, off, n uint64) (out []Segment) {
	for _, f := range files {
		if off >= f.Len {
			off -= f.Len
			continue
		}
		l := min(f.Len-off, n)
		out = append(out, Segment{FD: f.FD, Off: f.Off + off, Len: l})
		if n -= l; n == 0 {
			break
		}
		off = 0
	}
	return
}

// NewForeign makes a buffer of memory of another process: pieces of files that it has shared. To this device it is memory on the bus. gone is called when the buffer is no more;
// the files stay open until then. Errors: EINVAL, ENOMEM.
func (d *Device) NewForeign(files []Segment, gone func()) (*BO, error) {
	var size uint64
	for _, f := range files {
		if (f.Off|f.Len)&(pte.PageSize-1) != 0 || f.Len == 0 || f.Len > 1<<46-size {
			return nil, unix.EINVAL
		}
		size += f.Len
	}
	if size == 0 {
		return nil, unix.EINVAL
	}
	// Aligned as its first piece is, so that huge pages fit.
	p, _, e := unix.Syscall6(unix.SYS_MMAP, 0, uintptr(size+hugeSize), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, ^uintptr(0), 0)
	if e != 0 {
		return nil, unix.ENOMEM
	}
	raw, end := uint64(p), uint64(p)+size+hugeSize
	host := (raw+hugeSize-1)&^(hugeSize-1) + files[0].Off&(hugeSize-1)
	if host+size > end {
		host -= hugeSize
	}
	if host < raw {
		host = raw
	}
	unmap := func(from, to uint64) {
		if to > from {
			_, _, _ = unix.Syscall(unix.SYS_MUNMAP, uintptr(from), uintptr(to-from), 0)
		}
	}
	unmap(raw, host)
	unmap(host+size, end)
	at := host
	for _, f := range files {
		if _, err := unix.MmapPtr(f.FD, int64(f.Off), pointer(at), uintptr(f.Len), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
			unmap(host, host+size)
			return nil, unix.EINVAL
		}
		at += f.Len
	}
	b := &BO{Dev: d, Domain: Foreign, Size: size, host: host, files: files, gone: gone}
	b.refs.Store(1)
	d.publish(b)
	return b, nil
}

// BOAt finds the buffer that stands at an mmap offset of the render node.
func (d *Device) BOAt(off uint64) (b *BO, within uint64, ok bool) {
	d.vramMu.Lock()
	defer d.vramMu.Unlock()
	if b = d.bos[off>>pte.PageShift]; b != nil {
		return b, off - b.MmapOffset, true
	}
	for _, b := range d.bos {
		if off >= b.MmapOffset && off < b.MmapOffset+b.Size {
			return b, off - b.MmapOffset, true
		}
	}
	return nil, 0, false
}

// pointer turns a host address outside the Go heap into a pointer.
func pointer(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
