package kfd

import (
	"encoding/binary"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/drm"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"golang.org/x/sys/unix"
)

// TestBadArguments is the table of what each command refuses, and how.
func TestBadArguments(t *testing.T) {
	r := newRig(t, "mi210", "rx6900xt")
	check := func(name string, got, want error) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	alloc := func(a kfd.AllocMemoryOfGPUArgs) error { return call(r, kfd.IocAllocMemoryOfGPU, &a) }
	check("alloc before acquire", alloc(kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096, Flags: kfd.AllocGTT}), unix.EINVAL)
	check("queue before acquire", call(r, kfd.IocCreateQueue, validQueue(t)), unix.ESRCH)
	check("trap handler before acquire", call(r, kfd.IocSetTrapHandler, &kfd.SetTrapHandlerArgs{GPUID: 2}), unix.ESRCH)
	check("acquire, no such fd", call(r, kfd.IocAcquireVM, &kfd.AcquireVMArgs{DRMFD: 99, GPUID: 2}), unix.EINVAL)
	r.acquire()
	check("acquire twice", call(r, kfd.IocAcquireVM, &kfd.AcquireVMArgs{DRMFD: 100, GPUID: 2}), nil)
	other, err := r.drv.Open("/dev/dri/renderD128")
	if err != nil {
		t.Fatal(err)
	}
	r.fds[200] = other
	check("acquire of another file", call(r, kfd.IocAcquireVM, &kfd.AcquireVMArgs{DRMFD: 200, GPUID: 2}), unix.EBUSY)
	check("acquire of another GPU's file", call(r, kfd.IocAcquireVM, &kfd.AcquireVMArgs{DRMFD: 100, GPUID: 3}), unix.EBUSY)
	check("acquire, no such GPU", call(r, kfd.IocAcquireVM, &kfd.AcquireVMArgs{DRMFD: 100, GPUID: 9}), unix.EINVAL)
	check("acquire, the KFD file", func() error {
		r.fds[201] = r.kfd
		return call(r, kfd.IocAcquireVM, &kfd.AcquireVMArgs{DRMFD: 201, GPUID: 2})
	}(), unix.EINVAL)

	// Requests themselves.
	check("unknown command", r.kfd.Ioctl(0xc0084b27, 0), unix.ENOTTY)
	check("out-of-tree command", r.kfd.Ioctl(0xc0284b82, 0), unix.EINVAL)
	check("another device's type", r.kfd.Ioctl(0xc0046400, 0), unix.ENOTTY)
	for _, c := range kfd.Commands {
		if c.Nr >= 0x80 {
			continue
		}
		if err := r.kfd.Ioctl(uint32(c.Request()), 8); err != unix.EFAULT && (c.Dir != kfd.DirWrite || err == nil) {
			t.Errorf("%s with argument at 8: %v", c.Name, err)
		}
	}

	for name, c := range map[string]struct {
		a    kfd.AllocMemoryOfGPUArgs
		want error
	}{
		"size 0":             {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Flags: kfd.AllocGTT}, unix.EINVAL},
		"no domain":          {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096}, unix.EINVAL},
		"two domains":        {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096, Flags: kfd.AllocGTT | kfd.AllocVRAM}, unix.EINVAL},
		"no such GPU":        {kfd.AllocMemoryOfGPUArgs{GPUID: 7, Size: 4096, Flags: kfd.AllocGTT}, unix.EINVAL},
		"too much VRAM":      {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 1 << 30, Flags: kfd.AllocVRAM}, unix.ENOMEM},
		"too much GTT":       {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 1 << 40, Flags: kfd.AllocGTT}, unix.ENOMEM},
		"absurd size":        {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 1 << 63, Flags: kfd.AllocGTT}, unix.EINVAL},
		"unaligned VA":       {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096, VAAddr: 0x7e0000000100, Flags: kfd.AllocGTT}, unix.EINVAL},
		"VA in the hole":     {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096, VAAddr: 1 << 60, Flags: kfd.AllocGTT}, unix.EINVAL},
		"VA at the end":      {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 8192, VAAddr: 1<<47 - 4096, Flags: kfd.AllocGTT}, unix.EINVAL},
		"userptr to nothing": {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096, VAAddr: 1 << 40, MmapOffset: 0x7d0000000000, Flags: kfd.AllocUserptr}, unix.EFAULT},
		"unaligned userptr":  {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096, VAAddr: 1 << 40, MmapOffset: 0x7d0000000010, Flags: kfd.AllocUserptr}, unix.EINVAL},
		"doorbell size":      {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096, VAAddr: 1 << 40, Flags: kfd.AllocDoorbell}, unix.EINVAL},
		"MMIO size":          {kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 8192, VAAddr: 1 << 40, Flags: kfd.AllocMMIORemap}, unix.EINVAL},
	} {
		check("alloc "+name, alloc(c.a), c.want)
	}
	check("free, bad handle", call(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: kfd.Handle(2, 99)}), unix.EINVAL)
	check("free, bad GPU", call(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: 1}), unix.EINVAL)

	h, _ := r.alloc(0, 0x7e0000000000, 1<<20, kfd.AllocGTT)
	ids := []uint32{2, 7}
	escape(&ids[0])
	idp := uint64(uintptr(unsafe.Pointer(&ids[0])))
	for name, c := range map[string]struct {
		a    kfd.MapMemoryArgs
		want error
	}{
		"no devices":    {kfd.MapMemoryArgs{Handle: h, DeviceIDsArrayPtr: idp}, unix.EINVAL},
		"n_success":     {kfd.MapMemoryArgs{Handle: h, DeviceIDsArrayPtr: idp, NDevices: 1, NSuccess: 2}, unix.EINVAL},
		"bad array":     {kfd.MapMemoryArgs{Handle: h, DeviceIDsArrayPtr: 16, NDevices: 1}, unix.EFAULT},
		"huge array":    {kfd.MapMemoryArgs{Handle: h, DeviceIDsArrayPtr: idp, NDevices: 1 << 31}, unix.ENOMEM},
		"bad handle":    {kfd.MapMemoryArgs{Handle: 77, DeviceIDsArrayPtr: idp, NDevices: 1}, unix.EINVAL},
		"bad device":    {kfd.MapMemoryArgs{Handle: h, DeviceIDsArrayPtr: idp, NDevices: 2}, unix.EINVAL},
		"second is bad": {kfd.MapMemoryArgs{Handle: h, DeviceIDsArrayPtr: idp, NDevices: 2, NSuccess: 1}, unix.EINVAL},
	} {
		a := c.a
		check("map "+name, call(r, kfd.IocMapMemoryToGPU, &a), c.want)
		if name == "bad device" && a.NSuccess != 1 {
			t.Errorf("map stopped at %d", a.NSuccess)
		}
		a = c.a
		check("unmap "+name, call(r, kfd.IocUnmapMemoryFromGPU, &a), c.want)
	}
	r.mapTo(h, 2, 3)

	ring := func(f func(q *kfd.CreateQueueArgs)) error {
		q := *validQueue(t)
		q.RingBaseAddress, q.RingSize = 0x7e0000000000, 65536
		q.ReadPointerAddress, q.WritePointerAddress = 0x7e0000080080, 0x7e0000080038
		f(&q)
		return call(r, kfd.IocCreateQueue, &q)
	}
	for name, c := range map[string]struct {
		f    func(q *kfd.CreateQueueArgs)
		want error
	}{
		"ring size":         {func(q *kfd.CreateQueueArgs) { q.RingSize = 65535 }, unix.EINVAL},
		"percentage":        {func(q *kfd.CreateQueueArgs) { q.QueuePercentage = 101 }, unix.EINVAL},
		"priority":          {func(q *kfd.CreateQueueArgs) { q.QueuePriority = 16 }, unix.EINVAL},
		"GPU":               {func(q *kfd.CreateQueueArgs) { q.GPUID = 5 }, unix.EINVAL},
		"type":              {func(q *kfd.CreateQueueArgs) { q.QueueType = 9 }, unix.EOPNOTSUPP},
		"read pointer":      {func(q *kfd.CreateQueueArgs) { q.ReadPointerAddress = 8 }, unix.EFAULT},
		"write pointer":     {func(q *kfd.CreateQueueArgs) { q.WritePointerAddress = 1 << 62 }, unix.EFAULT},
		"ring out of place": {func(q *kfd.CreateQueueArgs) { q.RingBaseAddress = 0x7e1000000000 }, unix.EINVAL},
		"ring too long":     {func(q *kfd.CreateQueueArgs) { q.RingSize = 2 << 20 }, unix.EINVAL},
		"ring address":      {func(q *kfd.CreateQueueArgs) { q.RingBaseAddress = 1 << 50 }, unix.EFAULT},
		"EOP":               {func(q *kfd.CreateQueueArgs) { q.EOPBufferAddress, q.EOPBufferSize = 1<<41, 4096 }, unix.EINVAL},
		"SDMA engine":       {func(q *kfd.CreateQueueArgs) { q.QueueType, q.SDMAEngineID = kfd.QueueTypeSDMAByEngID, 50 }, unix.EINVAL},
	} {
		check("create queue, bad "+name, ring(c.f), c.want)
	}
	if n := len(r.drv.proc.queues); n != 0 {
		t.Errorf("%d queues after failures", n)
	}
	for _, b := range r.drv.proc.pdds[0].handles {
		if b.queues != 0 {
			t.Errorf("buffer %d is held by %d queues that do not exist", b.idr, b.queues)
		}
	}
	check("destroy queue", call(r, kfd.IocDestroyQueue, &kfd.DestroyQueueArgs{QueueID: 5}), unix.EINVAL)
	check("update queue", call(r, kfd.IocUpdateQueue, &kfd.UpdateQueueArgs{QueueID: 5}), unix.EFAULT)
	check("update, size", call(r, kfd.IocUpdateQueue, &kfd.UpdateQueueArgs{RingSize: 3}), unix.EINVAL)
	check("cu mask 0", call(r, kfd.IocSetCUMask, &kfd.SetCUMaskArgs{}), unix.EINVAL)
	check("cu mask 33", call(r, kfd.IocSetCUMask, &kfd.SetCUMaskArgs{NumCUMask: 33}), unix.EINVAL)
	check("cu mask pointer", call(r, kfd.IocSetCUMask, &kfd.SetCUMaskArgs{NumCUMask: 32, CUMaskPtr: 16}), unix.EFAULT)
	check("cu mask queue", call(r, kfd.IocSetCUMask, &kfd.SetCUMaskArgs{NumCUMask: 32, CUMaskPtr: idp, QueueID: 9}), unix.EFAULT)
	check("wave state", call(r, kfd.IocGetQueueWaveState, &kfd.GetQueueWaveStateArgs{QueueID: 9}), unix.EINVAL)
	check("gws", call(r, kfd.IocAllocQueueGWS, &kfd.AllocQueueGWSArgs{QueueID: 9, NumGWS: 1}), unix.EINVAL)
	check("memory policy", call(r, kfd.IocSetMemoryPolicy, &kfd.SetMemoryPolicyArgs{GPUID: 2, DefaultPolicy: 2}), unix.EINVAL)
	check("memory policy GPU", call(r, kfd.IocSetMemoryPolicy, &kfd.SetMemoryPolicyArgs{GPUID: 9}), unix.EINVAL)
	check("scratch GPU", call(r, kfd.IocSetScratchBackingVA, &kfd.SetScratchBackingVAArgs{GPUID: 9}), unix.EINVAL)
	check("tile config GPU", call(r, kfd.IocGetTileConfig, &kfd.GetTileConfigArgs{GPUID: 9}), unix.EINVAL)
	check("trap handler GPU", call(r, kfd.IocSetTrapHandler, &kfd.SetTrapHandlerArgs{GPUID: 9}), unix.EINVAL)
	check("available memory GPU", call(r, kfd.IocAvailableMemory, &kfd.AvailableMemoryArgs{GPUID: 9}), unix.EINVAL)
	check("SMI GPU", call(r, kfd.IocSMIEvents, &kfd.SMIEventsArgs{GPUID: 9}), unix.EINVAL)
	check("event type", call(r, kfd.IocCreateEvent, &kfd.CreateEventArgs{EventType: 9}), unix.EINVAL)
	check("event page", call(r, kfd.IocCreateEvent, &kfd.CreateEventArgs{EventPageOffset: 12345}), unix.EINVAL)
	for _, req := range []kfd.Request{kfd.IocDestroyEvent, kfd.IocSetEvent, kfd.IocResetEvent} {
		check(req.String(), call(r, req, &kfd.EventIDArgs{EventID: 77}), unix.EINVAL)
	}
	mem := kfd.CreateEventArgs{EventType: kfd.EventMemory}
	must(r, kfd.IocCreateEvent, &mem)
	check("set a memory event", call(r, kfd.IocSetEvent, &kfd.EventIDArgs{EventID: mem.EventID}), unix.EINVAL)
	check("wait, bad array", call(r, kfd.IocWaitEvents, &kfd.WaitEventsArgs{EventsPtr: 16, NumEvents: 1}), unix.EFAULT)
	check("wait, huge array", call(r, kfd.IocWaitEvents, &kfd.WaitEventsArgs{EventsPtr: 16, NumEvents: ^uint32(0)}), unix.ENOMEM)
	_, _, err = r.waitRaw(false, 0, kfd.EventData{EventID: mem.EventID}, kfd.EventData{EventID: 3000})
	check("wait, unknown event", err, unix.EINVAL)
	check("xnack off", call(r, kfd.IocSetXNACKMode, &kfd.SetXNACKModeArgs{XNACKEnabled: 0}), nil)
	check("xnack on a GPU that cannot", call(r, kfd.IocSetXNACKMode, &kfd.SetXNACKModeArgs{XNACKEnabled: 1}), unix.EPERM)
	q := kfd.SetXNACKModeArgs{XNACKEnabled: -1}
	check("xnack query", call(r, kfd.IocSetXNACKMode, &q), nil)
	if q.XNACKEnabled != 0 {
		t.Errorf("xnack %d", q.XNACKEnabled)
	}
	check("criu", call(r, kfd.IocCRIUOp, &kfd.CRIUArgs{}), unix.EPERM)
	check("runtime enable", call(r, kfd.IocRuntimeEnable, &kfd.RuntimeEnableArgs{ModeMask: 1}), unix.EINVAL)
	check("dbg trap, stranger", call(r, kfd.IocDbgTrap, &kfd.DbgTrapArgs{PID: 1 << 30}), unix.ESRCH)
	check("dbg trap, self", call(r, kfd.IocDbgTrap, &kfd.DbgTrapArgs{PID: uint32(unix.Getpid())}), unix.EPERM)
	check("dbg trap, op", call(r, kfd.IocDbgTrap, &kfd.DbgTrapArgs{Op: 99}), unix.EINVAL)
	check("dmabuf info", call(r, kfd.IocGetDmabufInfo, &kfd.GetDmabufInfoArgs{DmabufFD: 0}), unix.EINVAL)
	check("dmabuf import", call(r, kfd.IocImportDmabuf, &kfd.ImportDmabufArgs{DmabufFD: 0, GPUID: 2}), unix.EINVAL)
	check("dmabuf export", call(r, kfd.IocExportDmabuf, &kfd.ExportDmabufArgs{Handle: 5}), unix.EINVAL)

	addr, _ := anon(t, 4*4096)
	for name, c := range map[string]struct {
		h     kfd.SVMArgs
		attrs []kfd.SVMAttribute
		want  error
	}{
		"unaligned":     {kfd.SVMArgs{StartAddr: addr + 1, Size: 4096}, attr(0, 0), unix.EINVAL},
		"size 0":        {kfd.SVMArgs{StartAddr: addr}, attr(0, 0), unix.EINVAL},
		"operation":     {kfd.SVMArgs{StartAddr: addr, Size: 4096, Op: 3}, attr(0, 0), unix.EINVAL},
		"no attributes": {kfd.SVMArgs{StartAddr: addr, Size: 4096}, nil, unix.EINVAL},
		"type":          {kfd.SVMArgs{StartAddr: addr, Size: 4096}, attr(8, 0), unix.EINVAL},
		"get type":      {kfd.SVMArgs{StartAddr: addr, Size: 4096, Op: 1}, attr(8, 0), unix.EINVAL},
		"GPU":           {kfd.SVMArgs{StartAddr: addr, Size: 4096}, attr(kfd.SVMAttrAccess, 9), unix.EINVAL},
		"prefetch":      {kfd.SVMArgs{StartAddr: addr, Size: 4096}, attr(kfd.SVMAttrPrefetchLoc, kfd.SVMLocationUndefined), unix.EINVAL},
		"unmapped":      {kfd.SVMArgs{StartAddr: 0x7d0000000000, Size: 4096}, attr(0, 0), unix.EFAULT},
		"a buffer":      {kfd.SVMArgs{StartAddr: 0x7e0000000000, Size: 4096}, attr(0, 0), unix.EADDRINUSE},
		"good":          {kfd.SVMArgs{StartAddr: addr, Size: 4096}, attr(kfd.SVMAttrAccess, 2), nil},
	} {
		_, err := r.svm(c.h, c.attrs)
		check("svm "+name, err, c.want)
	}
	check("alloc over svm", alloc(kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096, VAAddr: addr, Flags: kfd.AllocGTT}), unix.EADDRINUSE)
	check("userptr of svm", alloc(kfd.AllocMemoryOfGPUArgs{GPUID: 2, Size: 4096, VAAddr: 1 << 41, MmapOffset: addr, Flags: kfd.AllocUserptr}), unix.EADDRINUSE)

	// Mappings.
	for name, c := range map[string]struct {
		f    File
		off  uint64
		n    uint64
		want error
	}{
		"doorbell length": {r.kfd, kfd.MmapOffset(kfd.MmapDoorbell, 2, 0), 4096, unix.EINVAL},
		"doorbell GPU":    {r.kfd, kfd.MmapOffset(kfd.MmapDoorbell, 9, 0), 8192, unix.EINVAL},
		"events":          {r.kfd, kfd.MmapOffset(kfd.MmapEvents, 0, 0), 4096, unix.EINVAL},
		"MMIO":            {r.kfd, kfd.MmapOffset(kfd.MmapMMIO, 2, 0), 4096, unix.EINVAL},
		"reserved":        {r.kfd, kfd.MmapOffset(kfd.MmapReservedMem, 2, 0), 4096, unix.EFAULT},
		"render, offset":  {r.fds[100], 12345 << 12, 4096, unix.EINVAL},
		"render, length":  {r.fds[100], 1 << 32, 1 << 30, unix.EINVAL},
	} {
		_, err := c.f.Mmap(c.off, c.n)
		check("mmap "+name, err, c.want)
	}
}

// validQueue is a queue whose pointers are real memory.
func validQueue(t testing.TB) *kfd.CreateQueueArgs {
	at, _ := anon(t, 4096)
	return &kfd.CreateQueueArgs{RingBaseAddress: at, RingSize: 4096, ReadPointerAddress: at, WritePointerAddress: at + 8, GPUID: 2,
		QueueType: kfd.QueueTypeComputeAQL, QueuePercentage: 100, QueuePriority: 7}
}

func attr(typ, value uint32) []kfd.SVMAttribute { return []kfd.SVMAttribute{{Type: typ, Value: value}} }

// svm does one SVM call and returns the attributes as the driver left them.
func (r *rig) svm(h kfd.SVMArgs, attrs []kfd.SVMAttribute) ([]kfd.SVMAttribute, error) {
	b := kfd.EncodeSVM(h, attrs)
	escape(&b[0])
	if err := r.kfd.Ioctl(uint32(kfd.SVMRequest(len(attrs))), uintptr(unsafe.Pointer(&b[0]))); err != nil {
		return nil, err
	}
	_, out, err := kfd.DecodeSVM(b)
	return out, err
}

func TestSVMAttributes(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	addr, _ := anon(t, 16*4096)
	get := func(start, pages uint64, typ, val uint32) kfd.SVMAttribute {
		out, err := r.svm(kfd.SVMArgs{StartAddr: start, Size: pages * 4096, Op: kfd.SVMOpGetAttr}, attr(typ, val))
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	set := func(start, pages uint64, typ, val uint32) {
		if _, err := r.svm(kfd.SVMArgs{StartAddr: start, Size: pages * 4096}, attr(typ, val)); err != nil {
			t.Fatal(err)
		}
	}
	if a := get(addr, 16, kfd.SVMAttrPreferredLoc, 0); a.Value != kfd.SVMLocationUndefined {
		t.Errorf("default location %#x", a.Value)
	}
	if a := get(addr, 16, kfd.SVMAttrAccess, 2); a.Type != kfd.SVMAttrNoAccess {
		t.Errorf("default access %d", a.Type)
	}
	set(addr, 8, kfd.SVMAttrPreferredLoc, 2)
	set(addr+4*4096, 8, kfd.SVMAttrAccess, 2)
	if a := get(addr, 8, kfd.SVMAttrPreferredLoc, 0); a.Value != 2 {
		t.Errorf("location %#x", a.Value)
	}
	if a := get(addr, 9, kfd.SVMAttrPreferredLoc, 0); a.Value != kfd.SVMLocationUndefined {
		t.Errorf("mixed location %#x", a.Value)
	}
	// What is not registered does not count if something is.
	if a := get(addr+8*4096, 8, kfd.SVMAttrAccess, 2); a.Type != kfd.SVMAttrAccess {
		t.Errorf("access of pages of which the second half is not registered: %d", a.Type)
	}
	set(addr+10*4096, 2, kfd.SVMAttrAccessInPlace, 2)
	if a := get(addr+8*4096, 4, kfd.SVMAttrAccess, 2); a.Type != kfd.SVMAttrNoAccess {
		t.Errorf("access of pages that are accessed in two ways: %d", a.Type)
	}
	for _, typ := range []uint32{kfd.SVMAttrAccessInPlace, kfd.SVMAttrNoAccess} {
		if _, err := r.svm(kfd.SVMArgs{StartAddr: addr, Size: 4096, Op: kfd.SVMOpGetAttr}, attr(typ, 2)); err != unix.EINVAL {
			t.Errorf("query of attribute %d: %v", typ, err)
		}
	}
	vm := r.drv.proc.pdds[0].vm
	_, live := r.drv.proc.ranges.current().(*svmLive)
	for i := range uint64(16) {
		e, ok := vm.Lookup(addr + i*4096)
		inVRAM := live && i < 8 // its preferred location
		if ok != (i >= 4 && i < 12) || ok && e.Is(2) == inVRAM || ok && !inVRAM && e.Addr != addr+i*4096 {
			t.Errorf("page %d: %v %s", i, ok, e)
		}
	}
	set(addr+6*4096, 2, kfd.SVMAttrSetFlags, kfd.SVMFlagGPURO)
	if e, _ := vm.Lookup(addr + 6*4096); e.Is(1 << 6) {
		t.Errorf("read-only page: %s", e)
	}
	if e, _ := vm.Lookup(addr + 8*4096); !e.Is(1 << 6) {
		t.Errorf("its neighbour: %s", e)
	}
	if _, _, e := unix.Syscall(unix.SYS_MUNMAP, uintptr(addr+5*4096), 4096, 0); e != 0 {
		t.Fatal(e)
	}
	if !live {
		r.drv.NotifyUnmap(addr+5*4096, 4096)
	}
	// The neighbours come back when the restore worker has run.
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		_, gone := vm.Lookup(addr + 5*4096)
		_, left := vm.Lookup(addr + 4*4096)
		_, right := vm.Lookup(addr + 6*4096)
		if !gone && left && right {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after munmap: page %v, neighbours %v %v", gone, left, right)
		}
	}
	if _, err := r.svm(kfd.SVMArgs{StartAddr: addr, Size: 16 * 4096, Op: kfd.SVMOpGetAttr}, attr(0, 0)); err != unix.EFAULT {
		t.Errorf("attributes of a range with a hole: %v", err)
	}
}

func TestDmabuf(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	h, mem := r.alloc(0, 0x7e0000000000, 1<<20, kfd.AllocVRAM|kfd.AllocPublic)
	mem[5] = 9
	x := kfd.ExportDmabufArgs{Handle: h, Flags: unix.O_CLOEXEC}
	must(r, kfd.IocExportDmabuf, &x)
	i := kfd.GetDmabufInfoArgs{DmabufFD: x.DmabufFD}
	must(r, kfd.IocGetDmabufInfo, &i)
	if i.Size != 1<<20 || i.GPUID != 2 || i.Flags&kfd.AllocVRAM == 0 {
		t.Errorf("%+v", i)
	}
	m := kfd.ImportDmabufArgs{DmabufFD: x.DmabufFD, GPUID: 2, VAAddr: 0x7e1000000000}
	must(r, kfd.IocImportDmabuf, &m)
	r.mapTo(m.Handle, 2)
	vm := r.drv.proc.pdds[0].vm
	a, _ := vm.Lookup(0x7e0000000000)
	b, ok := vm.Lookup(0x7e1000000000)
	if !ok || a.Addr != b.Addr {
		t.Errorf("import maps %s, export %s", b, a)
	}
	used := r.drv.nodes[0].dev.VRAMFree()
	if err := r.unmap(h, 2); err != nil {
		t.Fatal(err)
	}
	must(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: h})
	if r.drv.nodes[0].dev.VRAMFree() != used {
		t.Error("memory that is imported was freed")
	}
	if err := r.unmap(m.Handle, 2); err != nil {
		t.Fatal(err)
	}
	must(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: m.Handle})
	_ = unix.Close(int(x.DmabufFD))
	r.drv.exports.sweep()
	if got := r.drv.nodes[0].dev.VRAMFree(); got != used+1<<20 {
		t.Errorf("%#x bytes free, want %#x", got, used+1<<20)
	}
}

func TestSMI(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	a := kfd.SMIEventsArgs{GPUID: 2}
	must(r, kfd.IocSMIEvents, &a)
	fd := int(a.AnonFD)
	defer func() { _ = unix.Close(fd) }()
	b := make([]byte, 256)
	if _, err := unix.Read(fd, b); err != unix.EAGAIN {
		t.Errorf("read of nothing: %v", err)
	}
	var mask [8]byte
	binary.LittleEndian.PutUint64(mask[:], 1<<(kfd.SMIEventVMFault-1))
	if _, err := unix.Write(fd, mask[:]); err != nil {
		t.Fatal(err)
	}
	r.drv.nodes[0].smi.send(kfd.SMIEventVMFault, "4d2:task\n")
	r.drv.nodes[0].smi.send(kfd.SMIEventMigrateStart, "not asked for\n")
	n, err := unix.Read(fd, b)
	if err != nil || string(b[:n]) != "1 4d2:task\n" {
		t.Errorf("%q %v", b[:n], err)
	}
}

// TestRenderNode asks what libdrm asks.
func TestRenderNode(t *testing.T) {
	r := newRig(t, "mi210")
	f, err := r.drv.Open("/dev/dri/renderD128")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	io := func(nr drm.Nr, p unsafe.Pointer) error {
		escape(p)
		c, _ := drm.Lookup(nr)
		return f.Ioctl(c.Request(), uintptr(p))
	}
	name := make([]byte, 16)
	escape(&name[0])
	v := &drm.VersionArgs{Name: uint64(uintptr(unsafe.Pointer(&name[0]))), NameLen: 16}
	if err := io(drm.NrVersion, unsafe.Pointer(v)); err != nil || string(name[:v.NameLen]) != "amdgpu" || v.Major != 3 {
		t.Errorf("%v %q %+v", err, name, v)
	}
	dev := &drm.InfoDevice{}
	q := &drm.InfoArgs{ReturnPointer: uint64(uintptr(unsafe.Pointer(dev))), ReturnSize: 368, Query: drm.InfoDevInfo}
	if err := io(drm.NrAMDGPUInfo, unsafe.Pointer(q)); err != nil || dev.DeviceID != 0x740f || dev.Family != 141 || dev.GPUCounterFreq != 100000 || dev.CUActiveNumber != 104 {
		t.Errorf("%v %+v", err, dev)
	}
	if dev.MALLSize != 0 || dev.TCPCacheSize != 0 {
		t.Error("more was written than asked for")
	}
	mmr := new(uint32)
	q = &drm.InfoArgs{ReturnPointer: uint64(uintptr(unsafe.Pointer(mmr))), ReturnSize: 4, Query: drm.InfoReadMMR, Arg: [4]uint32{drm.RegGBAddrConfig, 1, ^uint32(0)}}
	if err := io(drm.NrAMDGPUInfo, unsafe.Pointer(q)); err != nil || *mmr != 0x2a114042 {
		t.Errorf("%v %#x", err, *mmr)
	}
	c := &drm.GEMCreateArgs{Size: 1 << 20, Domains: drm.DomainVRAM}
	if err := io(drm.NrAMDGPUGEMCreate, unsafe.Pointer(c)); err != nil {
		t.Fatal(err)
	}
	h := uint32(c.Size)
	m := &drm.GEMMmapArgs{HandleOrOffset: uint64(h)}
	if err := io(drm.NrAMDGPUGEMMmap, unsafe.Pointer(m)); err != nil {
		t.Fatal(err)
	}
	if s, err := f.Mmap(m.HandleOrOffset, 1<<20); err != nil || len(s) == 0 {
		t.Errorf("%v %v", s, err)
	}
	va := &drm.GEMVAArgs{Handle: h, Operation: drm.VAOpMap, Flags: drm.VMPageReadable | drm.VMPageWriteable, VAAddress: 1 << 40, MapSize: 1 << 20}
	if err := io(drm.NrAMDGPUGEMVA, unsafe.Pointer(va)); err != nil {
		t.Fatal(err)
	}
	if err := io(drm.NrAMDGPUGEMVA, unsafe.Pointer(va)); err != unix.EINVAL {
		t.Errorf("map over a mapping: %v", err)
	}
	for name, c := range map[string]struct {
		nr   drm.Nr
		p    unsafe.Pointer
		want error
	}{
		"unknown query": {drm.NrAMDGPUInfo, unsafe.Pointer(&drm.InfoArgs{ReturnPointer: 1 << 20, ReturnSize: 4, Query: 0x99}), unix.EINVAL},
		"info pointer":  {drm.NrAMDGPUInfo, unsafe.Pointer(&drm.InfoArgs{ReturnPointer: 16, ReturnSize: 4}), unix.EFAULT},
		"close":         {drm.NrGEMClose, unsafe.Pointer(&drm.GEMCloseArgs{Handle: 99}), unix.EINVAL},
		"mmap":          {drm.NrAMDGPUGEMMmap, unsafe.Pointer(&drm.GEMMmapArgs{HandleOrOffset: 99}), unix.ENOENT},
		"domain":        {drm.NrAMDGPUGEMCreate, unsafe.Pointer(&drm.GEMCreateArgs{Size: 4096, Domains: 0x100}), unix.EINVAL},
		"size":          {drm.NrAMDGPUGEMCreate, unsafe.Pointer(&drm.GEMCreateArgs{Domains: 4}), unix.EINVAL},
		"va low":        {drm.NrAMDGPUGEMVA, unsafe.Pointer(&drm.GEMVAArgs{Handle: h, Operation: 1, VAAddress: 4096, MapSize: 4096}), unix.EINVAL},
		"va range":      {drm.NrAMDGPUGEMVA, unsafe.Pointer(&drm.GEMVAArgs{Handle: h, Operation: 1, VAAddress: 1 << 41, MapSize: 2 << 20}), unix.EINVAL},
		"va unmap":      {drm.NrAMDGPUGEMVA, unsafe.Pointer(&drm.GEMVAArgs{Handle: h, Operation: 2, VAAddress: 1 << 42, MapSize: 4096}), unix.ENOENT},
		"submission":    {drm.NrAMDGPUCtx, unsafe.Pointer(&drm.CtxArgs{Op: 1}), unix.EOPNOTSUPP},
		"userptr":       {drm.NrAMDGPUGEMUserptr, unsafe.Pointer(&drm.GEMUserptrArgs{Size: 4096, Addr: 4096}), unix.EACCES},
	} {
		if err := io(c.nr, c.p); err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := io(drm.NrGEMClose, unsafe.Pointer(&drm.GEMCloseArgs{Handle: h})); err != nil {
		t.Error(err)
	}
	if _, err := f.Mmap(m.HandleOrOffset, 4096); err != unix.EINVAL {
		t.Errorf("mmap of a closed buffer: %v", err)
	}
}

// TestSVMLimit registers more than the machine has, which could not be resident.
func TestSVMLimit(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	const size = 1 << 40
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	h := kfd.SVMArgs{StartAddr: uint64(uintptr(unsafe.Pointer(&mem[0]))), Size: size}
	if _, err := r.svm(h, attr(kfd.SVMAttrAccess, r.gpus[0])); err != unix.ENOMEM {
		t.Errorf("%v", err)
	}
}
