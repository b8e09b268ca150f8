package kfd

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/drm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/uaccess"
	"golang.org/x/sys/unix"
)

// Lock classes; see the package documentation.
var (
	driverClass  = &sched.Class{Name: "kfd_driver", Rank: 70}
	processClass = &sched.Class{Name: "kfd_process", Rank: 80}
	svmSetClass  = &sched.Class{Name: "kfd_svm", Rank: 85}
	dqmClass     = &sched.Class{Name: "kfd_dqm", Rank: 690} // taken in notifiers, which stop queues
	eventClass   = &sched.Class{Name: "kfd_events", Rank: 850}
	smiClass     = &sched.Class{Name: "kfd_smi", Rank: 860}
)

// File is an open device file.
type File interface {
	// Ioctl serves one command whose argument is at address arg. The error is a unix.Errno.
	Ioctl(cmd uint32, arg uintptr) error
	// Mmap tells what to map for an mmap of n bytes at an offset.
	Mmap(off, n uint64) ([]amdgpu.Segment, error)
	// Close closes the file. The process's state lives on until Driver.Exit.
	Close() error
}

// Beginner is a File with commands that sleep.
type Beginner interface {
	File
	// Begin is Ioctl for a caller that must not sleep here. Of WAIT_EVENTS, if the events have not come, it does what comes before the sleep: the caller counts as
	// waiting from now on, and rest, then not nil, sleeps and completes the call.
	Begin(cmd uint32, arg uintptr) (rest func() error, err error)
}

// Caller is a File for code in this process, whose arguments need not be looked for in the memory of a program.
type Caller interface {
	File
	// Call is Ioctl with the argument's bytes. The handler may sleep.
	Call(cmd uint32, arg []byte) error
}

// Config is what a Driver needs of the process it serves.
type Config struct {
	World  sched.World
	Memory uaccess.Memory    // nil: this process
	FD     func(fd int) File // the File behind a descriptor, nil if it is none of ours
	PID    int               // 0: this process; appears in SMI messages

	NoMigration bool              // managed memory stays in the host
	OldSVM      bool              // kernel/kfd/svm serves shared virtual memory, not kernel/amdgpu/svm
	Warn        func(text string) // told of what the system or the chip does not let us do, with locks held; may be nil
	Hooks       Hooks

	DelayInterrupts Delay // an injected fault
}

// node is a GPU as KFD knows it.
type node struct {
	dev   *amdgpu.Device
	id    uint32 // gpu_id
	index int    // number of its topology node
	minor int    // of its render node
	drm   *drm.Node
	smi   smiClients

	// Of the address space that SVM is used with; set when the first attribute is.
	svmMem *gpuMemory
	svmDev *svm.GPU
}

// Driver is the loaded module.
type Driver struct {
	cfg   Config
	world sched.World
	mem   uaccess.Memory
	nodes []*node
	sysfs *Sysfs

	mu   sched.Mutex
	proc *process // guarded by mu; nil until /dev/kfd is opened

	irqProc atomic.Pointer[process] // the same, for the interrupt task
	delays  atomic.Int64            // how many interrupts DelayInterrupts has held back

	exports exports
	// OnFault, if set before the first queue, is told of every memory fault that no page could be found for, before events go out.
	OnFault func(Fault)
	// OnSVM, if set before the first SVM call, is told what shared virtual memory does on a GPU. It is called with locks held and must not
	// call the driver.
	OnSVM func(gpuID uint32, e svm.Event)
}

// Fault is a GPU memory fault as the driver sees it.
type Fault struct {
	GPUID                         uint32
	VA                            uint64
	Write, Exec                   bool
	NotPresent, ReadOnly          bool
	Below, Above                  [2]uint64 // nearest mappings: address and size
	Inside                        bool      // VA is inside a mapping
	MappingStart, MappingSize     uint64
	KernelDispatchVMID, TableVMID uint8
}

// New makes the driver of devices, which must have been brought up but not started, all with the same SystemMemory.
func New(cfg Config, devices []*amdgpu.Device) (*Driver, error) {
	if cfg.World == nil || len(devices) == 0 {
		return nil, fmt.Errorf("kfd: need a world and at least one device")
	}
	if cfg.Memory == nil {
		cfg.Memory = uaccess.Process{}
	}
	if cfg.PID == 0 {
		cfg.PID = unix.Getpid()
	}
	d := &Driver{cfg: cfg, world: cfg.World, mem: cfg.Memory, mu: cfg.World.NewMutex(driverClass)}
	d.exports.init(d.world)
	d.exports.gpu = func(dev *amdgpu.Device) uint32 {
		for _, n := range d.nodes {
			if n.dev == dev {
				return n.id
			}
		}
		return 0
	}
	for i, dev := range devices {
		n := &node{dev: dev, index: i + 1, id: uint32(i + 2), minor: kfd.FirstRenderNode + i}
		n.drm = drm.NewNode(dev, n.minor, cfg.Memory)
		n.drm.Export = d.exports.export
		n.drm.SVM = func(vm *amdgpu.VM) drm.SVM { return d.svmOf(n, vm) }
		dev := n.dev
		n.drm.Import = func(fd int) (*amdgpu.BO, error) {
			bo, err := d.exports.find(fd)
			if err == unix.EINVAL {
				bo, err = foreign(dev, fd)
			}
			return bo, err
		}
		n.smi.init(d.world)
		d.nodes = append(d.nodes, n)
		dev.Start(func(e ih.Entry) bool { return d.interrupt(n, e) }, func(e ih.Entry) { d.fault(n, e) })
	}
	d.sysfs = newSysfs(d)
	return d, nil
}

// SetFD sets Config.FD for a caller whose descriptor table needs the driver first.
func (d *Driver) SetFD(f func(fd int) File) { d.cfg.FD = f }

// Sysfs returns the files that describe the devices.
func (d *Driver) Sysfs() *Sysfs { return d.sysfs }

// Open opens a device file by its path. ENOENT for paths that are not the driver's.
func (d *Driver) Open(path string) (File, error) {
	if path == kfd.DevicePath {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.proc == nil {
			d.proc = newProcess(d)
			d.irqProc.Store(d.proc)
			d.proc.smiLifecycle(true)
		}
		return &kfdFile{proc: d.proc}, nil
	}
	if m, ok := strings.CutPrefix(path, kfd.RenderPathStem); ok {
		minor, err := strconv.Atoi(m)
		for _, n := range d.nodes {
			if err == nil && n.minor == minor {
				return n.drm.Open()
			}
		}
	}
	return nil, unix.ENOENT
}

// Exit is the end of the process (mm release): queues are killed, buffers, events and address spaces freed. Files that are still
// open answer EBADF from then on.
func (d *Driver) Exit() {
	d.mu.Lock()
	p := d.proc
	d.proc = nil
	d.mu.Unlock()
	if p != nil {
		p.smiLifecycle(false)
		p.exit()
		d.irqProc.CompareAndSwap(p, nil)
	}
	d.exports.drop()
	for _, n := range d.nodes {
		n.smi.closeAll()
	}
}

// RingDoorbells makes every device look at its doorbells. It is cheap when none was written, and does not block.
func (d *Driver) RingDoorbells() {
	for _, n := range d.nodes {
		n.dev.Chip.RingDoorbells()
	}
}

// DoorbellSlice is the doorbell page of the process on one GPU.
type DoorbellSlice struct {
	GPUID uint32
	FD    int    // the file that user space maps, at Off
	Off   uint64 // byte offset in the file
	Mem   []byte // the same as this process sees it: 64-bit doorbells
	First uint32 // dword offset in the aperture of the first doorbell; doorbell i is at First + 2*i
	Ring  func(dword uint32)
}

// DoorbellSlices returns the doorbell pages that exist: one for each GPU the process has opened a queue or asked a page on.
func (d *Driver) DoorbellSlices() (out []DoorbellSlice) {
	d.mu.Lock()
	p := d.proc
	d.mu.Unlock()
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pd := range p.pdds {
		if pd.doorbells != nil {
			out = append(out, DoorbellSlice{pd.node.id, pd.doorbells.FD(), pd.doorbells.Off, pd.doorbells.Mem(), pd.doorbells.Dword(0), pd.node.dev.Chip.RingDoorbell})
		}
	}
	return out
}

// Devices returns the devices in topology order.
func (d *Driver) Devices() (out []*amdgpu.Device) {
	for _, n := range d.nodes {
		out = append(out, n.dev)
	}
	return out
}

// nodeByID finds a GPU.
func (d *Driver) nodeByID(gpuID uint32) *node {
	for _, n := range d.nodes {
		if n.id == gpuID {
			return n
		}
	}
	return nil
}

// kfdFile is an open /dev/kfd.
type kfdFile struct {
	proc   *process
	closed atomic.Bool
}

func (f *kfdFile) Close() error {
	if f.closed.Swap(true) {
		return unix.EBADF
	}
	return nil
}

// Mmap implements File.
func (f *kfdFile) Mmap(off, n uint64) ([]amdgpu.Segment, error) {
	if f.closed.Load() {
		return nil, unix.EBADF
	}
	return f.proc.mmap(off, n)
}

// Ioctl implements File.
func (f *kfdFile) Ioctl(cmd uint32, arg uintptr) error {
	rest, err := f.Begin(cmd, arg)
	if rest != nil {
		return rest()
	}
	return err
}

// Call implements Caller.
func (f *kfdFile) Call(cmd uint32, arg []byte) error {
	if kfd.Request(cmd).Size() > uint32(len(arg)) {
		return unix.EFAULT
	}
	rest, err := f.begin(cmd, argument{own: arg})
	if rest != nil {
		return rest()
	}
	return err
}

// argument is where the argument structure of a command is: at an address of the program, or in own.
type argument struct {
	addr uintptr
	own  []byte
}

func (a argument) read(m uaccess.Memory, b []byte) error {
	if a.own != nil {
		copy(b, a.own)
		return nil
	}
	return m.Read(uint64(a.addr), b)
}

func (a argument) write(m uaccess.Memory, b []byte) error {
	if a.own != nil {
		copy(a.own, b)
		return nil
	}
	return m.Write(uint64(a.addr), b)
}

// Begin implements Beginner.
func (f *kfdFile) Begin(cmd uint32, arg uintptr) (rest func() error, err error) {
	return f.begin(cmd, argument{addr: arg})
}

func (f *kfdFile) begin(cmd uint32, arg argument) (rest func() error, err error) {
	if f.closed.Load() || f.proc.dead.Load() {
		return nil, unix.EBADF
	}
	r := kfd.Request(cmd)
	c, ok := kfd.Lookup(r.Nr())
	h := handlers[r.Nr()]
	if r.Type() != kfd.Type || !ok || h == nil {
		// User space of the out-of-tree driver's time probes these and takes EINVAL for "not on this kernel".
		if r.Type() == kfd.Type && r.Nr() >= kfd.NrIPCImportHandle && r.Nr() <= kfd.NrPCSample {
			return nil, unix.EINVAL
		}
		return nil, unix.ENOTTY
	}
	if r.Nr() == kfd.NrWaitEvents {
		return f.beginWait(c, r, arg)
	}
	// The caller's size says how much goes in and out, ours how much there is at least; the rest is zero.
	usize := r.Size()
	size := max(usize, c.Size)
	var small [128]byte
	b := small[:]
	if size > uint32(len(small)) {
		b = make([]byte, size)
	}
	b = b[:size]
	mem := f.proc.drv.mem
	if c.Dir&kfd.DirWrite != 0 {
		if err := arg.read(mem, b[:usize]); err != nil {
			return nil, err
		}
	}
	err = h(f.proc, b)
	return nil, f.end(c, b, b[:usize], arg, err)
}

// end finishes a command: b is its argument structure, out what of it the caller has room for.
func (f *kfdFile) end(c kfd.Command, b, out []byte, arg argument, err error) error {
	if call := f.proc.drv.cfg.Hooks.Call; call != nil {
		call(c, b, err)
	}
	if c.Dir&kfd.DirRead != 0 {
		if e := arg.write(f.proc.drv.mem, out); e != nil {
			return e
		}
	}
	return err
}

// beginWait is Begin of WAIT_EVENTS.
func (f *kfdFile) beginWait(c kfd.Command, r kfd.Request, arg argument) (rest func() error, err error) {
	b := make([]byte, max(r.Size(), uint32(unsafe.Sizeof(kfd.WaitEventsArgs{}))))
	if err := arg.read(f.proc.drv.mem, b[:r.Size()]); err != nil {
		return nil, err
	}
	a := kfd.Decode[kfd.WaitEventsArgs](b)
	finish := func(err error) error {
		copy(b, kfd.Bytes(&a))
		return f.end(c, b, b[:r.Size()], arg, err)
	}
	w, err := f.proc.beginWait(&a)
	if err != nil {
		return nil, finish(err)
	}
	if a.Timeout == 0 || w.over() {
		return nil, finish(f.proc.endWait(w))
	}
	return func() error {
		w.sleep()
		return finish(f.proc.endWait(w))
	}, nil
}

// handlers by command. A command without one is ENOTTY.
var handlers [256]func(*process, []byte) error

// on adapts a method that works on the argument structure to raw bytes.
func on[T kfd.Args](m func(*process, *T) error) func(*process, []byte) error {
	return func(p *process, b []byte) error {
		var short T
		if len(b) >= int(unsafe.Sizeof(short)) && uintptr(unsafe.Pointer(&b[0]))%8 == 0 {
			return m(p, (*T)(unsafe.Pointer(&b[0])))
		}
		a := kfd.Decode[T](b)
		err := m(p, &a)
		copy(b, kfd.Bytes(&a))
		return err
	}
}

func init() {
	handlers = [256]func(*process, []byte) error{
		kfd.NrGetVersion:             on((*process).getVersion),
		kfd.NrCreateQueue:            on((*process).createQueue),
		kfd.NrDestroyQueue:           on((*process).destroyQueue),
		kfd.NrSetMemoryPolicy:        on((*process).setMemoryPolicy),
		kfd.NrGetClockCounters:       on((*process).getClockCounters),
		kfd.NrGetProcessApertures:    on((*process).getApertures),
		kfd.NrUpdateQueue:            on((*process).updateQueue),
		kfd.NrCreateEvent:            on((*process).createEvent),
		kfd.NrDestroyEvent:           on((*process).destroyEvent),
		kfd.NrSetEvent:               on((*process).setEvent),
		kfd.NrResetEvent:             on((*process).resetEvent),
		kfd.NrWaitEvents:             on((*process).waitEvents),
		kfd.NrDbgRegister:            deny,
		kfd.NrDbgUnregister:          deny,
		kfd.NrDbgAddressWatch:        deny,
		kfd.NrDbgWaveControl:         deny,
		kfd.NrSetScratchBackingVA:    on((*process).setScratchBackingVA),
		kfd.NrGetTileConfig:          on((*process).getTileConfig),
		kfd.NrSetTrapHandler:         on((*process).setTrapHandler),
		kfd.NrGetProcessAperturesNew: on((*process).getAperturesNew),
		kfd.NrAcquireVM:              on((*process).acquireVM),
		kfd.NrAllocMemoryOfGPU:       on((*process).allocMemory),
		kfd.NrIPCExportHandle:        on((*process).ipcExport),
		kfd.NrIPCImportHandle:        on((*process).ipcImport),
		kfd.NrFreeMemoryOfGPU:        on((*process).freeMemory),
		kfd.NrMapMemoryToGPU:         on((*process).mapMemory),
		kfd.NrUnmapMemoryFromGPU:     on((*process).unmapMemory),
		kfd.NrSetCUMask:              on((*process).setCUMask),
		kfd.NrGetQueueWaveState:      on((*process).getQueueWaveState),
		kfd.NrGetDmabufInfo:          on((*process).getDmabufInfo),
		kfd.NrImportDmabuf:           on((*process).importDmabuf),
		kfd.NrAllocQueueGWS:          on((*process).allocQueueGWS),
		kfd.NrSMIEvents:              on((*process).smiEvents),
		kfd.NrSVM:                    (*process).svm,
		kfd.NrSetXNACKMode:           on((*process).setXNACKMode),
		kfd.NrCRIUOp:                 deny,
		kfd.NrAvailableMemory:        on((*process).availableMemory),
		kfd.NrExportDmabuf:           on((*process).exportDmabuf),
		kfd.NrRuntimeEnable:          on((*process).runtimeEnable),
		kfd.NrDbgTrap:                on((*process).dbgTrap),
	}
}

func deny(*process, []byte) error { return unix.EPERM }
