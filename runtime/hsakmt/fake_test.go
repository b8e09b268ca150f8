package hsakmt

import (
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// fake is the least driver that the thunk's own logic can be tested with: buffers come from one memfd, and every request is
// noted, so that a test sees what was asked. What a driver does beyond that is tested against the real ones.
type fake struct {
	mu      sync.Mutex
	fd      int
	next    uint64
	handles map[uint64]kfd.AllocMemoryOfGPUArgs
	maps    map[uint64]map[uint32]bool
	fail    map[kfd.Nr]error
	calls   map[kfd.Nr]int
	tree    fstest.MapFS
	queues  uint32
}

type fakeFile struct {
	d  *fake
	fd int
}

func newFake(t *testing.T, gpus int) *fake {
	fd, err := unix.MemfdCreate("fake-kfd", unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.Ftruncate(fd, 1<<36); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	root := topologyRoot + "/"
	f := &fake{fd: fd, handles: map[uint64]kfd.AllocMemoryOfGPUArgs{}, maps: map[uint64]map[uint32]bool{}, fail: map[kfd.Nr]error{}, calls: map[kfd.Nr]int{},
		tree: fstest.MapFS{
			root + "generation_id":                  {Data: []byte("1\n")},
			root + "system_properties":              {Data: []byte("platform_oem 5\n")},
			root + "nodes/0/gpu_id":                 {Data: []byte("0\n")},
			root + "nodes/0/properties":             {Data: []byte("cpu_cores_count 2\nmem_banks_count 1\n")},
			root + "nodes/0/mem_banks/0/properties": {Data: []byte("heap_type 0\nsize_in_bytes 1024\n")},
			root + "nodes/0/io_links/0/properties":  {Data: []byte("type 2\nnode_from 0\nnode_to 1\nweight 20\n")},
			root + "nodes/0/io_links/1/properties":  {Data: []byte("type 2\nnode_from 0\nnode_to 2\nweight 20\n")},
		}}
	for i := 1; i <= gpus; i++ {
		n := fmt.Sprintf("%snodes/%d/", root, i)
		f.tree[n+"gpu_id"] = &fstest.MapFile{Data: []byte(fmt.Sprintf("%d\n", i+1))}
		f.tree[n+"name"] = &fstest.MapFile{Data: []byte("test card\n")}
		f.tree[n+"properties"] = &fstest.MapFile{Data: []byte(fmt.Sprintf("simd_count 416\nsimd_per_cu 4\ngfx_target_version 90010\narray_count 8\nsimd_arrays_per_engine 1\ndrm_render_minor %d\nunique_id 18446744073709551615\n", 127+i))}
		f.tree[n+"mem_banks/0/properties"] = &fstest.MapFile{Data: []byte("heap_type 1\nsize_in_bytes 68702699520\n")}
		f.tree[n+"caches/0/properties"] = &fstest.MapFile{Data: []byte("level 1\nsize 16\nsibling_map 1,0,0\n")}
	}
	return f
}

func (f *fake) Open(path string) (File, error) { return &fakeFile{f, f.fd}, nil }
func (f *fake) Sysfs() fs.FS                   { return f.tree }

func (f *fakeFile) FD() int      { return f.fd }
func (f *fakeFile) Close() error { return nil }
func (f *fakeFile) Mmap(addr, n uint64, prot int, off uint64) error {
	return mmapFixed(addr, n, prot, unix.MAP_SHARED, f.fd, off&(1<<46-1)&^4095)
}

func peek32(a uint64, i uint32) *uint32 {
	return (*uint32)(unsafe.Add(hostPointer(a), 4*uintptr(i)))
}

func (f *fakeFile) Ioctl(req kfd.Request, b []byte) error {
	d := f.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[req.Nr()]++
	if err := d.fail[req.Nr()]; err != nil {
		return err
	}
	switch req.Nr() {
	case kfd.NrGetVersion:
		kfd.Encode(b, kfd.GetVersionArgs{MajorVersion: 1, MinorVersion: 17})
	case kfd.NrGetProcessAperturesNew:
		a := kfd.Decode[kfd.GetProcessAperturesNewArgs](b)
		for i := uint32(0); i < a.NumOfNodes; i++ {
			p := (*kfd.ProcessDeviceApertures)(unsafe.Add(hostPointer(a.ProcessDeviceAperturesPtr), 56*uintptr(i)))
			*p = kfd.ProcessDeviceApertures{GPUID: i + 2, GPUVMLimit: 1<<47 - 1}
		}
	case kfd.NrAllocMemoryOfGPU:
		a := kfd.Decode[kfd.AllocMemoryOfGPUArgs](b)
		d.next += 1 << 32
		a.Handle = d.next
		if a.Flags&kfd.AllocUserptr == 0 {
			a.MmapOffset = d.next & (1<<36 - 1)
		}
		d.handles[a.Handle] = a
		kfd.Encode(b, a)
	case kfd.NrFreeMemoryOfGPU:
		h := kfd.Decode[kfd.FreeMemoryOfGPUArgs](b).Handle
		if _, ok := d.handles[h]; !ok {
			return unix.EINVAL
		}
		if len(d.maps[h]) != 0 {
			return unix.EBUSY
		}
		delete(d.handles, h)
	case kfd.NrMapMemoryToGPU, kfd.NrUnmapMemoryFromGPU:
		a := kfd.Decode[kfd.MapMemoryArgs](b)
		if d.maps[a.Handle] == nil {
			d.maps[a.Handle] = map[uint32]bool{}
		}
		for ; a.NSuccess < a.NDevices; a.NSuccess++ {
			id := *peek32(a.DeviceIDsArrayPtr, a.NSuccess)
			if req.Nr() == kfd.NrMapMemoryToGPU {
				d.maps[a.Handle][id] = true
			} else {
				delete(d.maps[a.Handle], id)
			}
		}
		kfd.Encode(b, a)
	case kfd.NrCreateEvent:
		a := kfd.Decode[kfd.CreateEventArgs](b)
		a.EventID, a.EventSlotIndex, a.EventTriggerData, a.EventPageOffset = 1, 1, 1, 2<<62
		kfd.Encode(b, a)
	case kfd.NrCreateQueue:
		a := kfd.Decode[kfd.CreateQueueArgs](b)
		a.QueueID = d.queues
		a.DoorbellOffset = kfd.MmapOffset(kfd.MmapDoorbell, a.GPUID, uint64(8*(16+d.queues)))
		d.queues++
		kfd.Encode(b, a)
	case kfd.NrWaitEvents:
		a := kfd.Decode[kfd.WaitEventsArgs](b)
		a.WaitResult = kfd.WaitResultTimeout
		kfd.Encode(b, a)
	case kfd.NrAcquireVM, kfd.NrDestroyQueue:
	default:
		return unix.ENOTTY
	}
	return nil
}
