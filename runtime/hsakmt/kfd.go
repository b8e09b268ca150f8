package hsakmt

import (
	"fmt"
	"os"
	"sync"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// KFD is an open driver.
type KFD struct {
	t     Transport
	file  File
	topo  *Topology
	major uint32
	minor uint32
	gpus  []*gpu // by order of node id

	mem    memory
	events events
}

// gpu is what the thunk keeps for each GPU node.
type gpu struct {
	node     *Node
	render   File
	aperture kfd.ProcessDeviceApertures

	doorbellMu sync.Mutex
	doorbells  uint64 // address of the mapped page, 0 before the first queue; guarded by doorbellMu
	db         *Mem
}

// Open opens the driver: version, topology, apertures, and for each GPU its render node, whose address space is
// acquired for this process.
func Open(t Transport) (*KFD, error) {
	f, err := t.Open(kfd.DevicePath)
	if err != nil {
		return nil, &Error{Op: "open " + kfd.DevicePath, Status: IOChannelNotOpened, Err: err}
	}
	k := &KFD{t: t, file: f}
	if err := k.init(); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func (k *KFD) init() error {
	var v kfd.GetVersionArgs
	if err := ioctl(k, kfd.IocGetVersion, &v); err != nil {
		return err
	}
	if v.MajorVersion != kfd.MajorVersion {
		return &Error{Op: "GET_VERSION", Status: DriverMismatch, Err: fmt.Errorf("driver ABI %d.%d, this runtime speaks %d.x", v.MajorVersion, v.MinorVersion, kfd.MajorVersion)}
	}
	k.major, k.minor = v.MajorVersion, v.MinorVersion
	var err error
	if k.topo, err = ReadTopology(k.t.Sysfs()); err != nil {
		return err
	}
	addCPUCaches(os.DirFS("/"), k.topo.Nodes)
	for _, n := range k.topo.Nodes {
		if n.IsGPU() {
			k.gpus = append(k.gpus, &gpu{node: n})
		}
	}
	if len(k.gpus) == 0 {
		return nil
	}
	ap := make([]kfd.ProcessDeviceApertures, len(k.gpus))
	buf := pinned(len(ap) * kfd.SizeofProcessDeviceApertures)
	defer buf.free()
	a := kfd.GetProcessAperturesNewArgs{ProcessDeviceAperturesPtr: buf.addr, NumOfNodes: uint32(len(ap))}
	if err := ioctl(k, kfd.IocGetProcessAperturesNew, &a); err != nil {
		return err
	}
	for i := 0; i < int(a.NumOfNodes) && i < len(ap); i++ {
		p := kfd.Decode[kfd.ProcessDeviceApertures](buf.b[i*kfd.SizeofProcessDeviceApertures:])
		if g := k.gpuByID(p.GPUID); g != nil {
			g.aperture = p
		}
	}
	for _, g := range k.gpus {
		if g.aperture.GPUID == 0 {
			return &Error{Op: "GET_PROCESS_APERTURES_NEW", Status: Failed, Err: fmt.Errorf("no apertures for gpu_id %d", g.node.GPUID)}
		}
		minor := g.node.Props["drm_render_minor"]
		if minor == 0 {
			return &Error{Op: "topology", Status: Failed, Err: fmt.Errorf("node %d has no render node", g.node.ID)}
		}
		path := fmt.Sprintf("%s%d", kfd.RenderPathStem, minor)
		if g.render, err = k.t.Open(path); err != nil {
			return &Error{Op: "open " + path, Status: IOChannelNotOpened, Err: err}
		}
		if err := ioctl(k, kfd.IocAcquireVM, &kfd.AcquireVMArgs{DRMFD: uint32(g.render.FD()), GPUID: g.node.GPUID}); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the driver. The driver then frees what is left of this process: queues, events, buffers.
func (k *KFD) Close() error {
	for _, g := range k.gpus {
		if g.render != nil {
			_ = g.render.Close()
		}
	}
	err := k.file.Close()
	k.mem.dropAll()
	return err
}

// Version returns the driver's ABI version.
func (k *KFD) Version() (major, minor uint32) { return k.major, k.minor }

// Topology returns the snapshot taken when the driver was opened.
func (k *KFD) Topology() *Topology { return k.topo }

// Apertures returns the address ranges of a GPU node; ok is false for another node.
func (k *KFD) Apertures(node int) (a kfd.ProcessDeviceApertures, ok bool) {
	g := k.gpuOf(node)
	if g == nil {
		return a, false
	}
	return g.aperture, true
}

func (k *KFD) gpuByID(id uint32) *gpu {
	for _, g := range k.gpus {
		if g.node.GPUID == id {
			return g
		}
	}
	return nil
}

func (k *KFD) gpuOf(node int) *gpu {
	for _, g := range k.gpus {
		if g.node.ID == node {
			return g
		}
	}
	return nil
}

// ioctl performs a request with a typed argument.
func ioctl[T kfd.Args](k *KFD, req kfd.Request, a *T) error {
	if err := k.file.Ioctl(req, kfd.Bytes(a)); err != nil {
		return fromErrno(req.String()[len("AMDKFD_IOC_"):], err)
	}
	return nil
}
