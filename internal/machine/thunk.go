package machine

import (
	"io/fs"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	abi "github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/kfd"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// Transport is how a thunk in this process reaches the driver: by calls, where a real one makes system calls. A machine serves either its
// Transport or its Door, not both, because one process has one table of descriptors.
func (m *Machine) Transport() hsakmt.Transport {
	t := &transport{driver: m.Driver, files: map[int]kfd.File{}}
	m.Driver.SetFD(func(fd int) kfd.File {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.files[fd]
	})
	return t
}

type transport struct {
	driver *kfd.Driver

	mu    sync.Mutex
	files map[int]kfd.File // by the numbers that the thunk passes in arguments; guarded by mu
	last  int              // guarded by mu
	rings sync.Map         // gpu_id to kfd.DoorbellSlice
}

// firstFD keeps our numbers away from descriptors of the process.
const firstFD = 1 << 24

func (t *transport) Open(path string) (hsakmt.File, error) {
	f, err := t.driver.Open(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	h := &thunkFile{File: f, t: t, fd: firstFD + t.last}
	t.files[h.fd] = f
	return h, nil
}

func (t *transport) Sysfs() fs.FS { return sysfs{t.driver.Sysfs()} }

type thunkFile struct {
	kfd.File
	t  *transport
	fd int
}

func (f *thunkFile) FD() int { return f.fd }

func (f *thunkFile) Close() error {
	f.t.mu.Lock()
	delete(f.t.files, f.fd)
	f.t.mu.Unlock()
	return f.File.Close()
}

// arguments are buffers for ioctl arguments. They come from a pool because what is in a pool is in the heap: the driver reads an argument by its
// address, and one on a goroutine's stack, where Go also puts small slices of a size unknown to the compiler, moves.
var arguments = sync.Pool{New: func() any { return new([argumentWords]uint64) }}

const argumentWords = 1 << 13 / 8 // the size field of a request has 14 bits, but no argument comes near

// Ioctl gives the driver the argument, or, where it wants an address, that of a copy.
func (f *thunkFile) Ioctl(req abi.Request, arg []byte) error {
	if c, ok := f.File.(kfd.Caller); ok {
		return c.Call(uint32(req), arg)
	}
	words := arguments.Get().(*[argumentWords]uint64)
	defer arguments.Put(words)
	if len(arg) > len(words)*8 {
		return unix.EINVAL
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(words)), len(arg))
	copy(b, arg)
	err := f.File.Ioctl(uint32(req), uintptr(unsafe.Pointer(words)))
	copy(arg, b)
	return err
}

// Mmap maps the pieces that the driver names one behind the other.
func (f *thunkFile) Mmap(addr, length uint64, prot int, offset uint64) error {
	segments, err := f.File.Mmap(offset, length)
	if err != nil {
		return err
	}
	for _, s := range segments {
		p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
		if _, err := unix.MmapPtr(s.FD, int64(s.Off), p, uintptr(s.Len), prot, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
			return err
		}
		addr += s.Len
	}
	return nil
}

// NotifyDoorbell implements hsakmt.DoorbellNotifier: no watcher has to find out that a doorbell was written.
func (f *thunkFile) NotifyDoorbell(offset uint64) {
	_, gpu, low := abi.SplitMmapOffset(offset)
	v, ok := f.t.rings.Load(gpu)
	if !ok {
		for _, s := range f.t.driver.DoorbellSlices() {
			f.t.rings.Store(s.GPUID, s)
		}
		if v, ok = f.t.rings.Load(gpu); !ok {
			return
		}
	}
	s := v.(kfd.DoorbellSlice)
	s.Ring(s.First + uint32(low%abi.DoorbellSliceSize/4))
}

// NotifyUnmap implements hsakmt.UnmapNotifier.
func (f *thunkFile) NotifyUnmap(addr, n uint64) { f.t.driver.NotifyUnmap(addr, n) }

// sysfs shows the driver's files as an fs.FS.
type sysfs struct{ s *kfd.Sysfs }

func (s sysfs) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid} // ReadFile and ReadDir are what a thunk uses
}

func (s sysfs) ReadFile(name string) ([]byte, error) {
	b, err := s.s.ReadFile("/" + name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return b, nil
}

func (s sysfs) ReadDir(name string) ([]fs.DirEntry, error) {
	es, err := s.s.ReadDir("/" + name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	out := make([]fs.DirEntry, len(es))
	for i, e := range es {
		out[i] = dirEntry{e}
	}
	return out, nil
}

type dirEntry struct{ e kfd.DirEntry }

func (d dirEntry) Name() string               { return d.e.Name }
func (d dirEntry) IsDir() bool                { return d.e.Kind == kfd.Dir }
func (d dirEntry) Type() fs.FileMode          { return map[bool]fs.FileMode{true: fs.ModeDir}[d.IsDir()] }
func (d dirEntry) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }
