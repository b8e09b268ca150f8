package doorc

import (
	"io"
	"os"
	"path"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

func testTree() *Tree {
	t := NewTree()
	t.AddText("/a/b/text", "content\n")
	t.AddDevice("/dev/thing", 235, 7)
	t.AddLink("/a/relative", "b/text")
	t.AddLink("/a/absolute", "/a/b")
	t.AddLink("/a/up", "../dev")
	t.AddLink("/loop/one", "two")
	t.AddLink("/loop/two", "one")
	t.AddLink("/dangling", "/nowhere")
	t.AddDir("/empty")
	return t
}

func TestWalk(t *testing.T) {
	tree := testTree()
	for _, test := range []struct {
		path   string
		follow bool
		want   string // canonical path
		err    error
	}{
		{"/", true, "/", nil},
		{"/a/b/text", true, "/a/b/text", nil},
		{"/a//b/./text/", true, "/a/b/text", nil},
		{"/a/b/../b/text", true, "/a/b/text", nil},
		{"/../../a", true, "/a", nil},
		{"/a/relative", true, "/a/b/text", nil},
		{"/a/relative", false, "/a/relative", nil},
		{"/a/absolute/text", false, "/a/b/text", nil},
		{"/a/up/thing", true, "/dev/thing", nil},
		{"/a/up", false, "/a/up", nil},
		{"/absent", true, "", unix.ENOENT},
		{"/a/b/text/x", true, "", unix.ENOTDIR},
		{"/loop/one", true, "", unix.ELOOP},
		{"/loop/one", false, "/loop/one", nil},
		{"/dangling", true, "", unix.ENOENT},
	} {
		n, err := tree.Walk(test.path, test.follow)
		if err != test.err {
			t.Errorf("Walk(%q, %v): error %v, want %v", test.path, test.follow, err, test.err)
		} else if err == nil && n.Path() != test.want {
			t.Errorf("Walk(%q, %v) = %q, want %q", test.path, test.follow, n.Path(), test.want)
		}
	}
}

// FuzzWalk: a look-up always ends, and what it finds is in the tree under its canonical name.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{"/a/relative", "a/up/../b", "//", "/loop/one/x", "..", "\x00"} {
		f.Add(seed)
	}
	tree := testTree()
	f.Fuzz(func(t *testing.T, p string) {
		n, err := tree.Walk(p, true)
		if err != nil {
			return
		}
		if n.Kind == Link {
			t.Errorf("Walk(%q) ends at the link %q", p, n.Path())
		}
		if again, err := tree.Walk(n.Path(), false); err != nil || again != n || path.Clean(n.Path()) != n.Path() {
			t.Errorf("Walk(%q) = %q, which leads elsewhere (%v)", p, n.Path(), err)
		}
	})
}

type fakeKernel struct {
	segments []Segment
	wait     chan struct{} // WAIT_EVENTS with a time-out ends when it is closed
	closed   int
}

func (k *fakeKernel) OpenDevice(string) (OpenFile, error) { return k, nil }
func (k *fakeKernel) Close()                              { k.closed++ }
func (k *fakeKernel) Mmap(uint64, uint64) ([]Segment, error) {
	return k.segments, nil
}

func (k *fakeKernel) Begin(request uint32, arg uintptr) (unix.Errno, func() unix.Errno) {
	if arg > 4096 && kfd.Request(request).Nr() == kfd.NrWaitEvents {
		args := (*kfd.WaitEventsArgs)(*(*unsafe.Pointer)(unsafe.Pointer(&arg)))
		select {
		case <-k.wait:
		default:
			if args.Timeout != 0 {
				return 0, func() unix.Errno { return k.Ioctl(request, arg) }
			}
		}
	}
	return k.Ioctl(request, arg), nil
}

func (k *fakeKernel) Ioctl(request uint32, arg uintptr) unix.Errno {
	if kfd.Request(request).Nr() != kfd.NrWaitEvents {
		return unix.ENOTTY
	}
	if arg == 0 {
		return unix.EFAULT
	}
	args := (*kfd.WaitEventsArgs)(*(*unsafe.Pointer)(unsafe.Pointer(&arg)))
	args.WaitResult = kfd.WaitResultComplete
	select {
	case <-k.wait:
	default:
		if args.Timeout == 0 {
			args.WaitResult = kfd.WaitResultTimeout
			return 0
		}
		<-k.wait
	}
	return 0
}

func openThing(t *testing.T, k *fakeKernel) (*Door, Opened) {
	t.Helper()
	d := New(k, testTree())
	o, err := d.Open("/dev/thing", unix.O_RDWR|unix.O_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(o.FD) })
	return d, o
}

func TestOpen(t *testing.T) {
	d := New(&fakeKernel{}, testTree())
	for _, test := range []struct {
		path  string
		flags int
		want  error
	}{
		{"/a/b/text", unix.O_RDONLY, nil},
		{"/a/relative", unix.O_RDONLY, nil},
		{"/a/relative", unix.O_RDONLY | unix.O_NOFOLLOW, unix.ELOOP},
		{"/a/b/text", unix.O_RDWR, unix.EACCES},
		{"/a/b/text", unix.O_RDONLY | unix.O_DIRECTORY, unix.ENOTDIR},
		{"/a/b/text", unix.O_RDWR | unix.O_CREAT | unix.O_EXCL, unix.EEXIST},
		{"/a", unix.O_RDONLY | unix.O_DIRECTORY, nil},
		{"/a", unix.O_WRONLY, unix.EISDIR},
		{"/dev/thing", unix.O_RDWR, nil},
		{"/absent", unix.O_RDONLY, unix.ENOENT},
	} {
		o, err := d.Open(test.path, test.flags)
		if err != test.want {
			t.Errorf("Open(%q, %#x): %v, want %v", test.path, test.flags, err, test.want)
		}
		if err == nil {
			_ = unix.Close(o.FD)
		}
	}
	o, err := d.Open("/a/b/text", unix.O_RDONLY|unix.O_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(o.FD), "text")
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "content\n" {
		t.Errorf("read %q, %v", b, err)
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("a file could be written to")
	}
	if fl, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || fl != unix.FD_CLOEXEC {
		t.Errorf("descriptor flags %d, %v", fl, err)
	}
	dir, err := d.Open("/a", unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	g := os.NewFile(uintptr(dir.FD), "dir")
	defer g.Close()
	b, err := io.ReadAll(g)
	want := "\x02.\x00\x02..\x00\x03absolute\x00\x02b\x00\x03relative\x00\x03up\x00"
	if err != nil || string(b) != want {
		t.Errorf("directory %q, %v, want %q", b, err, want)
	}
}

func TestDeviceIdentity(t *testing.T) {
	k := &fakeKernel{}
	d, o := openThing(t, k)
	copied, err := unix.Dup(o.FD)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(copied) }()
	if d.FileOf(o.FD) != OpenFile(k) || d.FileOf(copied) != OpenFile(k) {
		t.Error("the device is not known by its descriptors")
	}
	if d.FileOf(0) != nil || d.FileOf(-1) != nil {
		t.Error("a device behind a descriptor that is none")
	}
	if err := d.Close(o.Handle); err != nil || k.closed != 1 {
		t.Errorf("Close: %v, closed %d times", err, k.closed)
	}
	if err := d.Close(o.Handle); err != unix.EBADF || k.closed != 1 {
		t.Errorf("second Close: %v, closed %d times", err, k.closed)
	}
	if e, pending := d.Ioctl(o.Handle, 0x4b7f, 0, nil); e != unix.EBADF || pending {
		t.Errorf("ioctl on a closed device: %v", e)
	}
	if _, err := d.Mmap(o.Handle, 0, 4096); err != unix.EBADF {
		t.Errorf("mmap of a closed device: %v", err)
	}
}

func TestMmapLengthsAddUp(t *testing.T) {
	for _, test := range []struct {
		lengths []uint64
		want    error
	}{
		{[]uint64{8192}, nil}, {[]uint64{4096, 4096}, nil}, {[]uint64{4096}, unix.EINVAL}, {[]uint64{4096, 8192}, unix.EINVAL},
		{nil, unix.EINVAL}, {[]uint64{1<<64 - 4096, 12288}, unix.EINVAL},
	} {
		k := &fakeKernel{}
		for _, n := range test.lengths {
			k.segments = append(k.segments, Segment{Length: n})
		}
		d, o := openThing(t, k)
		if _, err := d.Mmap(o.Handle, 0, 8192); err != test.want {
			t.Errorf("%v: %v, want %v", test.lengths, err, test.want)
		}
	}
}

func TestWaitEvents(t *testing.T) {
	k := &fakeKernel{wait: make(chan struct{})}
	d, o := openThing(t, k)
	request := uint32(kfd.MakeRequest(kfd.DirRW, kfd.NrWaitEvents, uint32(unsafe.Sizeof(kfd.WaitEventsArgs{}))))
	args := &kfd.WaitEventsArgs{}
	arg := uintptr(unsafe.Pointer(args))
	never := func(unix.Errno) { t.Error("completed although it was not pending") }

	if e, pending := d.Ioctl(o.Handle, request, arg, never); e != 0 || pending || args.WaitResult != kfd.WaitResultTimeout {
		t.Errorf("no time-out: %v, pending %v, result %d", e, pending, args.WaitResult)
	}
	if e, pending := d.Ioctl(o.Handle, request, 0, never); e != unix.EFAULT || pending {
		t.Errorf("null argument: %v, pending %v", e, pending)
	}
	args.Timeout, args.WaitResult = 1000, 77
	done := make(chan unix.Errno, 1)
	if e, pending := d.Ioctl(o.Handle, request, arg, func(e unix.Errno) { done <- e }); e != 0 || !pending {
		t.Fatalf("nothing set: %v, pending %v", e, pending)
	}
	close(k.wait)
	if e := <-done; e != 0 || args.WaitResult != kfd.WaitResultComplete {
		t.Errorf("completed with %v, result %d", e, args.WaitResult)
	}
	args.WaitResult = 77
	if e, pending := d.Ioctl(o.Handle, request, arg, never); e != 0 || pending || args.WaitResult != kfd.WaitResultComplete {
		t.Errorf("event set: %v, pending %v, result %d", e, pending, args.WaitResult)
	}
}

func TestTrace(t *testing.T) {
	k := &fakeKernel{}
	d, o := openThing(t, k)
	var calls []string
	d.Trace = func(call string) { calls = append(calls, call) }
	_, _ = d.Ioctl(o.Handle, uint32(kfd.MakeRequest(kfd.DirRead, kfd.NrGetVersion, 8)), 16, nil)
	_, _ = d.Stat("/absent", true)
	if got := strings.Join(calls, "\n"); !strings.Contains(got, "AMDKFD_IOC_GET_VERSION, 0x10 (bad address)) = -1 ENOTTY") ||
		!strings.Contains(got, `stat("/absent") = -1 ENOENT`) {
		t.Errorf("traced:\n%s", got)
	}
}
