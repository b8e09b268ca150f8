package hsakmt

import (
	"github.com/pumice-gpu/pumice/abi/kfd"
)

// Clocks are counters read at one moment.
type Clocks struct {
	GPU    uint64 // ticks of the device's reference counter; 0 for a CPU node
	CPU    uint64 // ns
	System uint64 // ticks of SystemFreq
	Freq   uint64 // Hz
}

// ClockCounters reads the clocks of a node at one moment.
func (k *KFD) ClockCounters(node int) (Clocks, error) {
	if node < 0 || node >= len(k.topo.Nodes) {
		return Clocks{}, fail("GET_CLOCK_COUNTERS", InvalidNodeUnit)
	}
	a := kfd.GetClockCountersArgs{GPUID: k.topo.Nodes[node].GPUID}
	err := ioctl(k, kfd.IocGetClockCounters, &a)
	return Clocks{a.GPUClockCounter, a.CPUClockCounter, a.SystemClockCounter, a.SystemClockFreq}, err
}

// XNACK reports whether retry faults are on for this process.
func (k *KFD) XNACK() (bool, error) {
	a := kfd.SetXNACKModeArgs{XNACKEnabled: -1}
	err := ioctl(k, kfd.IocSetXNACKMode, &a)
	return a.XNACKEnabled > 0, err
}

// SetXNACK switches retry faults on or off; the driver refuses while queues exist, or when a device cannot.
func (k *KFD) SetXNACK(on bool) error {
	a := kfd.SetXNACKModeArgs{}
	if on {
		a.XNACKEnabled = 1
	}
	return ioctl(k, kfd.IocSetXNACKMode, &a)
}

// SVM performs an SVM operation (kfd.SVMOp*) on a page-aligned range; attributes are read or filled in place.
func (k *KFD) SVM(op uint32, addr, size uint64, attrs []kfd.SVMAttribute) error {
	b := kfd.EncodeSVM(kfd.SVMArgs{StartAddr: addr, Size: size, Op: op}, attrs)
	if err := k.file.Ioctl(kfd.SVMRequest(len(attrs)), b); err != nil {
		return fromErrno("SVM", err)
	}
	if op == kfd.SVMOpGetAttr {
		if _, out, err := kfd.DecodeSVM(b); err == nil {
			copy(attrs, out)
		}
	}
	return nil
}

// SetMemoryPolicy sets the cache policies of a GPU node's default and alternate aperture.
func (k *KFD) SetMemoryPolicy(node int, def, alt uint32, base, size uint64) error {
	g := k.gpuOf(node)
	if g == nil {
		return fail("SET_MEMORY_POLICY", InvalidNodeUnit)
	}
	return ioctl(k, kfd.IocSetMemoryPolicy, &kfd.SetMemoryPolicyArgs{AlternateApertureBase: base, AlternateApertureSize: size, GPUID: g.node.GPUID, DefaultPolicy: def, AlternatePolicy: alt})
}

// ExportDmabuf returns a descriptor that stands for the allocation in other processes; the caller closes it.
func (k *KFD) ExportDmabuf(m *Mem) (fd int, err error) {
	a := kfd.ExportDmabufArgs{Handle: m.Handle}
	err = ioctl(k, kfd.IocExportDmabuf, &a)
	return int(a.DmabufFD), err
}
