package hsakmt

import (
	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// Shared virtual memory is memory of the process that the driver is told about by attributes of address ranges: which GPUs may use it, where it should be. Its pages move between
// host and devices; their addresses do not. The runtime itself must not load from it or store to it, because a page that is on a device comes home by a fault, which
// the driver, perhaps in this process, has to serve.

// chunkSize is the driver's piece between a page and hugeSize.
const chunkSize = 64 << 10

// AllocSVM takes size bytes of fresh private memory of the process. No GPU may use it before SVM says so.
func (k *KFD) AllocSVM(size uint64) (*Mem, error) {
	const op = "alloc_svm"
	if size == 0 || size > 1<<46 {
		return nil, fail(op, InvalidParameter)
	}
	size = (size + PageSize - 1) &^ (PageSize - 1)
	// The driver maps in naturally aligned pieces of these sizes, each for a price that hardly depends on the size.
	align := uint64(PageSize)
	switch {
	case size >= hugeSize:
		align = hugeSize
	case size >= chunkSize:
		align = chunkSize
	}
	m := &Mem{Size: size, svm: true, mapped: map[int]bool{}}
	var err error
	if m.VA, m.reserved, m.resLen, err = reserve(size, align); err != nil {
		return nil, fromErrno(op, err)
	}
	if err := mmapFixed(m.VA, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, -1, 0); err != nil {
		unreserve(m.reserved, m.resLen)
		return nil, fromErrno(op, err)
	}
	m.Host = m.VA
	k.mem.add(m)
	return m, nil
}

// AdoptSVM is AllocSVM for memory that the process has already. Free then leaves it.
func (k *KFD) AdoptSVM(addr, size uint64) (*Mem, error) {
	if addr == 0 || addr%PageSize != 0 || size == 0 {
		return nil, fail("adopt_svm", InvalidParameter)
	}
	m := &Mem{VA: addr, Host: addr, Size: size, svm: true, mapped: map[int]bool{}}
	k.mem.add(m)
	return m, nil
}

// SVMSupported reports whether every GPU takes part in shared virtual memory.
func (k *KFD) SVMSupported() bool {
	for _, g := range k.gpus {
		if g.node.Props["capability"]&kfd.CapSVMAPISupported == 0 {
			return false
		}
	}
	return len(k.gpus) > 0
}
