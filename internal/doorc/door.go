package doorc

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Kernel opens the devices of a Door's Tree.
type Kernel interface {
	// OpenDevice opens a character device by its path; the error is an errno.
	OpenDevice(path string) (OpenFile, error)
}

// OpenFile is an opened device.
type OpenFile interface {
	// Begin does a request. arg is whatever the application passed; a bad address is EFAULT. 0 is success. Of a request that has to wait it does what comes before: what is
	// waited for is noted when Begin returns, and rest, then not nil, waits and tells how it ended.
	Begin(request uint32, arg uintptr) (errno unix.Errno, rest func() unix.Errno)
	// Mmap says what memory a mapping of length bytes at offset shows; the error is an errno. It maps nothing.
	Mmap(offset, length uint64) ([]Segment, error)
	// Close drops the last reference.
	Close()
}

// Segment is a piece of a device mapping: Length bytes of the file FD from Offset on, all multiples of the page size.
type Segment struct {
	FD     int
	Offset uint64
	Length uint64
	// Ring is set for a doorbell page: it is told the byte offset in FD of a doorbell whose value has changed, or may have. It
	// may be called from any goroutine, and must not block.
	Ring func(offset uint64)
}

// Opened is what Open made: a new descriptor of this process, and for a Device the handle for the calls on it.
type Opened struct {
	Node   *Node
	FD     int
	Handle uint64
}

// Door answers the stub. Its methods' errors are errnos.
type Door struct {
	// Trace, set before the first call or never, is told of each call on a device, strace-like.
	Trace func(call string)

	kernel Kernel
	tree   *Tree

	mu    sync.Mutex
	files map[uint64]openDevice // guarded by mu
	last  uint64                // handle given last; guarded by mu
}

// openDevice is a device and the memfd that stands for it.
type openDevice struct {
	OpenFile
	dev, ino uint64
}

// New returns a Door to a tree whose devices the kernel opens.
func New(kernel Kernel, tree *Tree) *Door {
	return &Door{kernel: kernel, tree: tree, files: make(map[uint64]openDevice)}
}

// Stat finds a path; follow says whether a symbolic link at its end is followed.
func (d *Door) Stat(path string, follow bool) (n *Node, err error) {
	if d.Trace != nil {
		defer func() { d.Trace(fmt.Sprintf("stat(%q) = %s", path, result(errnoOf(err), false))) }()
	}
	return d.tree.Walk(path, follow)
}

// Open is open(2).
func (d *Door) Open(path string, flags int) (o Opened, err error) {
	if d.Trace != nil {
		defer func() { d.Trace(fmt.Sprintf("open(%q, %#x) = %s", path, flags, result(errnoOf(err), false))) }()
	}
	n, err := d.tree.Walk(path, flags&unix.O_NOFOLLOW == 0)
	if err != nil {
		return Opened{}, err
	}
	writes := flags&unix.O_ACCMODE != unix.O_RDONLY
	switch {
	case flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return Opened{}, unix.EEXIST
	case n.Kind != Dir && flags&unix.O_DIRECTORY != 0:
		return Opened{}, unix.ENOTDIR
	case n.Kind == Dir && writes:
		return Opened{}, unix.EISDIR
	case n.Kind == Link:
		return Opened{}, unix.ELOOP
	case n.Kind == File && writes:
		return Opened{}, unix.EACCES
	}
	switch n.Kind {
	case Device:
		return d.openDevice(n, flags)
	case Dir:
		var records []byte
		for _, e := range d.entries(n) {
			records = append(records, byte(e.kind))
			records = append(records, e.name...)
			records = append(records, 0)
		}
		fd, err := memoryFile(n.path, flags, records)
		return Opened{Node: n, FD: fd}, err
	default:
		fd, err := memoryFile(n.path, flags, n.Content())
		return Opened{Node: n, FD: fd}, err
	}
}

type entry struct {
	name string
	kind Kind
}

// entries lists a directory as readdir does.
func (d *Door) entries(n *Node) []entry {
	list := []entry{{".", Dir}, {"..", Dir}}
	for _, name := range n.children {
		child := d.tree.nodes[joinPath(n.path, name)]
		list = append(list, entry{name, child.Kind})
	}
	return list
}

func joinPath(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

func (d *Door) openDevice(n *Node, flags int) (Opened, error) {
	f, err := d.kernel.OpenDevice(n.path)
	if err != nil {
		return Opened{}, err
	}
	fd, err := unix.MemfdCreate("pumice:"+n.path, memfdFlags(flags))
	if err != nil {
		f.Close()
		return Opened{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		_ = unix.Close(fd)
		return Opened{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	d.files[d.last] = openDevice{f, st.Dev, st.Ino}
	return Opened{Node: n, FD: fd, Handle: d.last}, nil
}

// memfdFlags keeps close-on-exec as the application asked; sealing lets the content be made read-only.
func memfdFlags(flags int) int {
	m := unix.MFD_ALLOW_SEALING
	if flags&unix.O_CLOEXEC != 0 {
		m |= unix.MFD_CLOEXEC
	}
	return m
}

// memoryFile returns a descriptor at offset 0 of a sealed memory file with this content.
func memoryFile(name string, flags int, content []byte) (int, error) {
	fd, err := unix.MemfdCreate("pumice:"+name, memfdFlags(flags))
	if err != nil {
		return -1, err
	}
	for done := 0; done < len(content); {
		n, err := unix.Pwrite(fd, content[done:], int64(done))
		if err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
		done += n
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Readlink is readlink(2).
func (d *Door) Readlink(path string) (string, error) {
	n, err := d.tree.Walk(path, false)
	if err != nil {
		return "", err
	}
	if n.Kind != Link {
		return "", unix.EINVAL
	}
	return n.Target, nil
}

// Realpath is realpath(3).
func (d *Door) Realpath(path string) (string, error) {
	n, err := d.tree.Walk(path, true)
	if err != nil {
		return "", err
	}
	return n.path, nil
}

func (d *Door) file(handle uint64) OpenFile {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[handle].OpenFile
}

// FileOf is the device behind a descriptor of this process, or nil.
func (d *Door) FileOf(fd int) OpenFile {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		if f.ino == st.Ino && f.dev == st.Dev {
			return f.OpenFile
		}
	}
	return nil
}

// Ioctl does a request on a device. When it has to wait it returns pending, and calls complete once from another goroutine.
func (d *Door) Ioctl(handle uint64, request uint32, arg uintptr, complete func(unix.Errno)) (errno unix.Errno, pending bool) {
	if d.Trace != nil {
		before := argument(request, arg)
		defer func() {
			d.Trace(fmt.Sprintf("ioctl(%d, %s, %s) = %s%s", handle, requestName(request), before, result(errno, pending), output(request, arg, before)))
		}()
	}
	f := d.file(handle)
	if f == nil {
		return unix.EBADF, false
	}
	errno, rest := f.Begin(request, arg)
	if rest == nil {
		return errno, false
	}
	go func() { complete(rest()) }()
	return 0, true
}

// Mmap says what a mapping of a device shows. The pieces' lengths add up to length.
func (d *Door) Mmap(handle, offset, length uint64) (_ []Segment, err error) {
	if d.Trace != nil {
		call := fmt.Sprintf("mmap(%d, %#x, %#x)", handle, offset, length)
		defer func() { d.Trace(fmt.Sprintf("%s = %s", call, result(errnoOf(err), false))) }()
	}
	f := d.file(handle)
	if f == nil {
		return nil, unix.EBADF
	}
	segments, err := f.Mmap(offset, length)
	if err != nil {
		return nil, err
	}
	for _, s := range segments {
		if s.Length > length {
			return nil, unix.EINVAL
		}
		length -= s.Length
	}
	if length != 0 {
		return nil, unix.EINVAL
	}
	return segments, nil
}

// Close drops the stub's reference to a device.
func (d *Door) Close(handle uint64) error {
	d.mu.Lock()
	f := d.files[handle].OpenFile
	delete(d.files, handle)
	d.mu.Unlock()
	if f == nil {
		return unix.EBADF
	}
	f.Close()
	return nil
}

func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	return Errno(err)
}

// Errno is the errno of an error that a Door returned.
func Errno(err error) unix.Errno {
	var e unix.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.EIO
}
