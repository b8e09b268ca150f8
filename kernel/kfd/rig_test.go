package kfd

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/silicon"
	"github.com/pumice-gpu/pumice/silicon/profile"
	"golang.org/x/sys/unix"
)

// rig is a driver on real silicon without an engine: queues copy and signal, but run no kernels.
type rig struct {
	t    testing.TB
	drv  *Driver
	kfd  File
	fds  map[int]File
	gpus []uint32
}

func newRig(t testing.TB, gpus ...string) *rig { return newRigOf(t, 256<<20, gpus...) }

// newRigOf makes one whose GPUs have vram bytes of memory.
func newRigOf(t testing.TB, vram uint64, gpus ...string) *rig {
	t.Helper()
	w := sched.NewLive()
	sys, err := amdgpu.NewSystemMemory(w, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var devs []*amdgpu.Device
	var chips []*silicon.Device
	for _, g := range gpus {
		p, err := profile.Load(g)
		if err != nil {
			t.Fatal(err)
		}
		line := &amdgpu.Line{}
		chip, err := silicon.New(p, silicon.Config{Interrupt: line.Raise, VRAMSize: vram, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		d, err := amdgpu.New(w, p, amdgpu.Silicon(chip), sys, line)
		if err != nil {
			t.Fatal(err)
		}
		devs, chips = append(devs, d), append(chips, chip)
	}
	r := &rig{t: t, fds: map[int]File{}}
	r.drv, err = New(Config{World: w, FD: func(fd int) File { return r.fds[fd] }}, devs)
	if err != nil {
		t.Fatal(err)
	}
	r.kfd, err = r.drv.Open(kfd.DevicePath)
	if err != nil {
		t.Fatal(err)
	}
	for i := range gpus {
		r.gpus = append(r.gpus, uint32(i+2))
	}
	t.Cleanup(func() {
		r.drv.Exit()
		for i := range devs {
			devs[i].Close()
			chips[i].Close()
		}
		sys.Close()
	})
	return r
}

// acquire opens the render nodes and binds their address spaces.
func (r *rig) acquire() *rig {
	r.t.Helper()
	for i, id := range r.gpus {
		f, err := r.drv.Open(fmt.Sprintf("/dev/dri/renderD%d", 128+i))
		if err != nil {
			r.t.Fatal(err)
		}
		r.fds[100+i] = f
		must(r, kfd.IocAcquireVM, &kfd.AcquireVMArgs{DRMFD: uint32(100 + i), GPUID: id})
	}
	return r
}

// call does one ioctl with an argument on the heap.
func call[T kfd.Args](r *rig, req kfd.Request, a *T) error {
	heap := new(T)
	escape(heap)
	*heap = *a
	err := r.kfd.Ioctl(uint32(req), uintptr(unsafe.Pointer(heap)))
	runtime.KeepAlive(heap)
	*a = *heap
	return err
}

// escape puts what p points to on the heap: memory whose address an ioctl carries must not move with a stack.
func escape(p any) { escaped.Store(&p) }

var escaped atomic.Pointer[any]

func must[T kfd.Args](r *rig, req kfd.Request, a *T) {
	r.t.Helper()
	if err := call(r, req, a); err != nil {
		r.t.Fatalf("%s %+v: %v", req, *a, err)
	}
}

// alloc allocates a buffer, maps it to the process at va (as the thunk does, by segments), and to all GPUs.
func (r *rig) alloc(gpu int, va, size uint64, flags uint32) (handle uint64, mem []byte) {
	r.t.Helper()
	a := kfd.AllocMemoryOfGPUArgs{VAAddr: va, Size: size, GPUID: r.gpus[gpu], Flags: flags | kfd.AllocWritable | kfd.AllocExecutable}
	must(r, kfd.IocAllocMemoryOfGPU, &a)
	segs, err := r.fds[100+gpu].Mmap(a.MmapOffset, size)
	if err != nil {
		r.t.Fatalf("mmap of %#x: %v", a.MmapOffset, err)
	}
	at := va
	for _, s := range segs {
		p, err := unix.MmapPtr(s.FD, int64(s.Off), hostPtr(at), uintptr(s.Len), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED_NOREPLACE)
		if err != nil || uint64(uintptr(p)) != at {
			r.t.Fatalf("mmap at %#x: %v", at, err)
		}
		at += s.Len
	}
	r.t.Cleanup(func() { _ = unix.MunmapPtr(hostPtr(va), uintptr(size)) })
	r.mapTo(a.Handle, r.gpus...)
	return a.Handle, unsafe.Slice((*byte)(hostPtr(va)), size)
}

func (r *rig) mapTo(handle uint64, gpus ...uint32) {
	r.t.Helper()
	ids := append([]uint32(nil), gpus...)
	escape(&ids[0])
	m := kfd.MapMemoryArgs{Handle: handle, DeviceIDsArrayPtr: uint64(uintptr(unsafe.Pointer(&ids[0]))), NDevices: uint32(len(ids))}
	must(r, kfd.IocMapMemoryToGPU, &m)
	if m.NSuccess != uint32(len(ids)) {
		r.t.Fatalf("mapped on %d of %d", m.NSuccess, len(ids))
	}
	runtime.KeepAlive(ids)
}

func (r *rig) unmap(handle uint64, gpus ...uint32) error {
	ids := append([]uint32(nil), gpus...)
	escape(&ids[0])
	m := kfd.MapMemoryArgs{Handle: handle, DeviceIDsArrayPtr: uint64(uintptr(unsafe.Pointer(&ids[0]))), NDevices: uint32(len(ids))}
	err := call(r, kfd.IocUnmapMemoryFromGPU, &m)
	runtime.KeepAlive(ids)
	return err
}

// hostPtr turns an address of a mapping into a pointer.
func hostPtr(va uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&va)) }

// anon maps n bytes of private memory.
func anon(t testing.TB, n int) (uint64, []byte) {
	m, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(m) })
	return uint64(uintptr(unsafe.Pointer(&m[0]))), m
}
