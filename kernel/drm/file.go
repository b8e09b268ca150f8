package drm

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/drm"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/uaccess"
	"golang.org/x/sys/unix"
)

var fileClass = &sched.Class{Name: "drm_file", Rank: 650}

// Node is a render node.
type Node struct {
	Dev   *amdgpu.Device
	Minor int // 128 and up
	mem   uaccess.Memory
	// Export gives a buffer to another part of the process as a descriptor, Import finds it again; set by the KFD driver, which shares
	// its DMA-BUF table. Nil refuses PRIME.
	Export func(*amdgpu.BO) (int, error)
	Import func(fd int) (*amdgpu.BO, error)
	// SVM finds the shared virtual memory of an address space, nil where there is none; set by the KFD driver. Nil refuses DRM_AMDGPU_GEM_SVM.
	SVM func(*amdgpu.VM) SVM
}

// NewNode makes the render node of a device; ioctl arguments are addresses in mem.
func NewNode(dev *amdgpu.Device, minor int, mem uaccess.Memory) *Node {
	return &Node{Dev: dev, Minor: minor, mem: mem}
}

// object is a GEM handle's buffer with its mappings in this file's VM.
type object struct {
	bo        *amdgpu.BO
	domains   uint64
	flags     uint64
	alignment uint64
	meta      drm.GEMMetadataArgs
}

// File is an open render node. Safe for concurrent use.
type File struct {
	node *Node
	vm   *amdgpu.VM

	mu      sched.Mutex
	handles map[uint32]*object // guarded by mu
	next    uint32             // guarded by mu
	closed  bool               // guarded by mu
	keepVM  bool               // KFD has taken the VM and closes it; guarded by mu
}

// Open makes a File with an empty address space.
func (n *Node) Open() (*File, error) {
	vm, err := n.Dev.NewVM()
	if err != nil {
		return nil, err
	}
	return &File{node: n, vm: vm, mu: n.Dev.World.NewMutex(fileClass), handles: map[uint32]*object{}}, nil
}

// Node is what was opened.
func (f *File) Node() *Node { return f.node }

// AcquireVM hands the file's address space to KFD, which closes it when the process ends. The file goes on using it.
func (f *File) AcquireVM() *amdgpu.VM {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keepVM = true
	return f.vm
}

// Close frees the handles and, unless KFD has it, the address space.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return unix.EBADF
	}
	f.closed = true
	for h, o := range f.handles {
		f.unmapAll(o)
		o.bo.Put()
		delete(f.handles, h)
	}
	if !f.keepVM {
		f.node.Dev.Unbind(f.vm)
		f.vm.Close()
	}
	return nil
}

// unmapAll takes o out of the page tables; called with mu held.
func (f *File) unmapAll(o *object) {
	for _, m := range f.vm.Owned(o) {
		_ = f.vm.Unmap(m[0], m[1])
	}
}

// Mmap tells what to map for an mmap of the node at off: EINVAL when no buffer stands there, EACCES never (a node has one user).
func (f *File) Mmap(off, n uint64) ([]amdgpu.Segment, error) {
	b, within, ok := f.node.Dev.BOAt(off)
	if !ok {
		return nil, unix.EINVAL
	}
	return b.Segments(within, n)
}

// Ioctl serves one command; arg is the address of its argument.
func (f *File) Ioctl(cmd uint32, arg uintptr) error {
	if byte(cmd>>8) != drm.Type {
		return unix.ENOTTY
	}
	c, ok := drm.Lookup(drm.Nr(cmd))
	if !ok {
		return unix.EINVAL
	}
	h := handlers[c.Nr]
	if h == nil {
		return unix.EOPNOTSUPP
	}
	f.mu.Lock()
	closed := f.closed
	f.mu.Unlock()
	if closed {
		return unix.EBADF
	}
	// As drm_ioctl: the caller's size says how much goes in and out, the kernel's how much is there at least.
	usize := cmd >> 16 & 0x3fff
	b := make([]byte, max(usize, c.Size))
	if cmd>>30&1 != 0 {
		if err := f.node.mem.Read(uint64(arg), b[:usize]); err != nil {
			return err
		}
	}
	err := h(f, b)
	if cmd>>31 != 0 {
		if e := f.node.mem.Write(uint64(arg), b[:usize]); e != nil {
			return e
		}
	}
	return err
}

// handlers by command; commands of the table without one are refused.
var handlers = map[drm.Nr]func(*File, []byte) error{
	drm.NrVersion:          on((*File).version),
	drm.NrGetUnique:        on((*File).unique),
	drm.NrGetClient:        on((*File).client),
	drm.NrGetCap:           on((*File).capability),
	drm.NrGEMClose:         on((*File).gemClose),
	drm.NrPrimeHandleToFD:  on((*File).primeExport),
	drm.NrPrimeFDToHandle:  on((*File).primeImport),
	drm.NrAMDGPUGEMCreate:  on((*File).gemCreate),
	drm.NrAMDGPUGEMMmap:    on((*File).gemMmap),
	drm.NrAMDGPUGEMWait:    on((*File).gemWait),
	drm.NrAMDGPUGEMVA:      on((*File).gemVA),
	drm.NrAMDGPUGEMOp:      on((*File).gemOp),
	drm.NrAMDGPUGEMUserptr: on((*File).gemUserptr),
	drm.NrAMDGPUGEMMeta:    on((*File).gemMetadata),
	drm.NrAMDGPUVM:         on((*File).vmOp),
	drm.NrAMDGPUGEMSVM:     on((*File).gemSVM),
	drm.NrAMDGPUInfo:       on((*File).info),
}

// on adapts a method that works on the argument structure to raw bytes.
func on[T drm.Args](m func(*File, *T) error) func(*File, []byte) error {
	return func(f *File, b []byte) error {
		a := drm.Decode[T](b)
		err := m(f, &a)
		copy(b, drm.Bytes(&a))
		return err
	}
}

func (f *File) version(a *drm.VersionArgs) error {
	a.Major, a.Minor, a.Patch = drm.Major, drm.Minor, drm.Patch
	for _, s := range []struct {
		ptr  uint64
		size *uint64
		text string
	}{{a.Name, &a.NameLen, "amdgpu"}, {a.Date, &a.DateLen, "20150101"}, {a.Desc, &a.DescLen, "AMD GPU"}} {
		n := min(*s.size, uint64(len(s.text)))
		*s.size = uint64(len(s.text))
		if n > 0 && s.ptr != 0 {
			if err := f.node.mem.Write(s.ptr, []byte(s.text[:n])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *File) unique(a *drm.GetUniqueArgs) error {
	a.Len = 0 // a render node has no unique name until SET_VERSION, which it refuses
	return nil
}

func (f *File) client(a *drm.GetClientArgs) error {
	if a.Idx != 0 {
		return unix.EINVAL
	}
	*a = drm.GetClientArgs{Auth: 1, PID: uint64(unix.Getpid()), UID: uint64(unix.Getuid())}
	return nil
}

func (f *File) capability(a *drm.GetCapArgs) error {
	a.Value = 0
	switch a.Capability {
	case drm.CapPrime:
		if f.node.Export != nil {
			a.Value = drm.PrimeCapImport | drm.PrimeCapExport
		}
	case drm.CapTimestampMono:
		a.Value = 1
	case drm.CapSyncobj, drm.CapSyncobjTimeline:
	default:
		return unix.EOPNOTSUPP
	}
	return nil
}

// add gives o a handle.
func (f *File) add(o *object) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		f.next++
		if f.next != 0 && f.handles[f.next] == nil {
			f.handles[f.next] = o
			return f.next
		}
	}
}

func (f *File) object(h uint32) (*object, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.handles[h]; o != nil {
		return o, nil
	}
	return nil, unix.ENOENT
}

func (f *File) gemClose(a *drm.GEMCloseArgs) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.handles[a.Handle]
	if o == nil {
		return unix.EINVAL
	}
	delete(f.handles, a.Handle)
	f.unmapAll(o)
	o.bo.Put()
	return nil
}

func (f *File) primeExport(a *drm.PrimeArgs) error {
	if f.node.Export == nil {
		return unix.EOPNOTSUPP
	}
	o, err := f.object(a.Handle)
	if err != nil {
		return err
	}
	fd, err := f.node.Export(o.bo)
	a.FD = int32(fd)
	return err
}

func (f *File) primeImport(a *drm.PrimeArgs) error {
	if f.node.Import == nil {
		return unix.EOPNOTSUPP
	}
	bo, err := f.node.Import(int(a.FD))
	if err != nil {
		return err
	}
	a.Handle = f.add(&object{bo: bo, domains: domainOf(bo)})
	return nil
}

func domainOf(b *amdgpu.BO) uint64 {
	if b.Domain == amdgpu.VRAM {
		return drm.DomainVRAM
	}
	return drm.DomainGTT
}

func (f *File) gemCreate(a *drm.GEMCreateArgs) error {
	if a.DomainFlags&^uint64(drm.CreateKnown) != 0 || a.Domains&^uint64(0x7f) != 0 || a.Domains == 0 {
		return unix.EINVAL
	}
	if a.Alignment&(a.Alignment-1) != 0 {
		return unix.EINVAL
	}
	dom := amdgpu.GTT
	switch {
	case a.Domains&(drm.DomainGDS|drm.DomainGWS|drm.DomainOA|drm.DomainDoorbell) != 0:
		return unix.EINVAL // on-chip resources: only for graphics queues
	case a.Domains&drm.DomainVRAM != 0:
		dom = amdgpu.VRAM
	}
	bo, err := f.node.Dev.NewBO(dom, a.Size)
	if err == unix.ENOMEM && dom == amdgpu.VRAM && a.Domains&drm.DomainGTT != 0 {
		bo, err = f.node.Dev.NewBO(amdgpu.GTT, a.Size)
	}
	if err != nil {
		return err
	}
	o := &object{bo: bo, domains: a.Domains, flags: a.DomainFlags, alignment: a.Alignment}
	h := f.add(o)
	*a = drm.GEMCreateArgs{Size: uint64(h)} // the answer overlays the first word
	return nil
}

func (f *File) gemMmap(a *drm.GEMMmapArgs) error {
	o, err := f.object(uint32(a.HandleOrOffset))
	if err != nil {
		return err
	}
	if o.bo.MmapOffset == 0 || o.flags&drm.CreateNoCPUAccess != 0 {
		return unix.EPERM
	}
	a.HandleOrOffset = o.bo.MmapOffset
	return nil
}

func (f *File) gemWait(a *drm.GEMWaitIdleArgs) error {
	o, err := f.object(a.Handle)
	if err != nil {
		return err
	}
	// No command stream of this node can be using it.
	b := unsafe.Slice((*uint32)(unsafe.Pointer(a)), 2)
	b[0], b[1] = 0, uint32(domainOf(o.bo))
	return nil
}

func (f *File) gemUserptr(a *drm.GEMUserptrArgs) error {
	if a.Flags&^uint32(drm.UserptrReadonly|drm.UserptrAnononly|drm.UserptrValidate|drm.UserptrRegister) != 0 {
		return unix.EINVAL
	}
	if a.Flags&drm.UserptrReadonly == 0 && a.Flags&drm.UserptrRegister == 0 {
		return unix.EACCES // writable memory must be watched
	}
	bo, err := f.node.Dev.NewUserptr(a.Addr, a.Size, a.Flags&drm.UserptrReadonly == 0)
	if err != nil {
		return err
	}
	a.Handle = f.add(&object{bo: bo, domains: drm.DomainGTT})
	return nil
}

func (f *File) gemOp(a *drm.GEMOpArgs) error {
	o, err := f.object(a.Handle)
	if err != nil {
		return err
	}
	switch a.Op {
	case drm.GEMOpGetCreateInfo:
		info := drm.GEMCreateArgs{Size: o.bo.Size, Alignment: o.alignment, Domains: domainOf(o.bo), DomainFlags: o.flags}
		return f.node.mem.Write(a.Value, drm.Bytes(&info))
	case drm.GEMOpSetPlacement:
		if o.bo.Domain == amdgpu.Userptr {
			return unix.EPERM
		}
		f.mu.Lock()
		o.domains = a.Value & (drm.DomainVRAM | drm.DomainGTT | drm.DomainCPU)
		f.mu.Unlock()
		return nil
	}
	return unix.EINVAL
}

func (f *File) gemMetadata(a *drm.GEMMetadataArgs) error {
	o, err := f.object(a.Handle)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch a.Op {
	case drm.MetadataGet:
		h := a.Handle
		*a = o.meta
		a.Handle, a.Op = h, drm.MetadataGet
		return nil
	case drm.MetadataSet:
		if a.DataSize > 256 {
			return unix.EINVAL
		}
		o.meta = *a
		return nil
	}
	return unix.EINVAL
}

// vmOp reserves or releases the dedicated VMID that debuggers use: there is none to reserve.
func (f *File) vmOp(a *drm.VMArgs) error {
	if a.Op != 1 && a.Op != 2 || a.Flags != 0 {
		return unix.EINVAL
	}
	return unix.EOPNOTSUPP
}

func (f *File) gemVA(a *drm.GEMVAArgs) error {
	if a.VAAddress < amdgpu.MinVA || a.Flags&^uint32(drm.VMFlagsKnown) != 0 {
		return unix.EINVAL
	}
	a.VAAddress &= 1<<48 - 1 // the hole of canonical addresses
	switch a.Operation {
	case drm.VAOpMap, drm.VAOpReplace:
	case drm.VAOpUnmap, drm.VAOpClear:
	default:
		return unix.EINVAL
	}
	if a.Operation == drm.VAOpClear {
		return f.vm.Unmap(a.VAAddress, a.MapSize)
	}
	if a.Flags&drm.VMPagePRT != 0 {
		return unix.EOPNOTSUPP
	}
	o, err := f.object(a.Handle)
	if err != nil {
		return err
	}
	if a.Operation == drm.VAOpUnmap {
		for _, m := range f.vm.Owned(o) {
			if m[0] == a.VAAddress {
				return f.vm.Unmap(m[0], m[1])
			}
		}
		return unix.ENOENT
	}
	if (a.OffsetInBO|a.MapSize)&(pte.PageSize-1) != 0 || a.OffsetInBO > o.bo.Size || a.MapSize > o.bo.Size-a.OffsetInBO {
		return unix.EINVAL
	}
	if a.Operation == drm.VAOpMap && f.vm.Overlaps(a.VAAddress, a.MapSize) {
		return unix.EINVAL
	}
	ext := o.bo.Extents()
	if o.bo.Dev != f.node.Dev {
		ext = o.bo.PeerExtents()
	}
	return f.vm.Map(a.VAAddress, a.MapSize, slice(ext, a.OffsetInBO), pageFlags(a.Flags, o.bo), o)
}

// pageFlags turns AMDGPU_VM_* into page-table flags.
func pageFlags(fl uint32, b *amdgpu.BO) (p amdgpu.PageFlags) {
	for _, x := range []struct {
		vm uint32
		f  pte.Flags
	}{{drm.VMPageReadable, pte.Read}, {drm.VMPageWriteable, pte.Write}, {drm.VMPageExecutable, pte.Exec}, {drm.VMPageNoAlloc, pte.NoAlloc}} {
		if fl&x.vm != 0 {
			p.Flags |= x.f
		}
	}
	if b.Domain != amdgpu.VRAM {
		p.Flags |= pte.Snooped
	}
	switch fl & drm.VMMTypeMask >> drm.VMMTypeShift {
	case drm.VMMTypeWC, drm.VMMTypeRW:
		p.MType = pte.RW
	case drm.VMMTypeCC:
		p.MType = pte.CC
	case drm.VMMTypeUC:
		p.MType = pte.UC
	}
	return p
}

// slice drops the first off bytes of a list of extents.
func slice(ext []amdgpu.Extent, off uint64) []amdgpu.Extent {
	for i, e := range ext {
		if off < e.Len {
			out := append([]amdgpu.Extent{{Addr: e.Addr + off, Len: e.Len - off, System: e.System}}, ext[i+1:]...)
			return out
		}
		off -= e.Len
	}
	return nil
}
