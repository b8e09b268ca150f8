package kfd

import (
	"fmt"

	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/silicon"
)

// Hooks let tools look on. They are set before /dev/kfd is opened and never changed; a nil one costs a comparison. They run where the thing
// happens, with locks held, and must neither block nor call the driver.
type Hooks struct {
	// Call is told of each ioctl of /dev/kfd that a handler has answered: its argument as the kernel leaves it (kfd.Decode reads it; valid during
	// the call only), and the errno or nil.
	Call func(c kfd.Command, arg []byte, err error)
	// Interrupt is told of each entry of a GPU's interrupt ring.
	Interrupt func(gpuID uint32, e ih.Entry)
}

// Queue describes a user queue of the process.
type Queue struct {
	ID       uint32
	GPUID    uint32
	Kind     string // "compute", or "SDMA engine" and its number
	MQD      uint64 // bus address of the memory queue descriptor
	Ring     uint64 // VA
	Slot     int    // the hardware queue that the MQD is loaded into
	Doorbell uint32 // dword index in the device's doorbell aperture
}

// Queues lists the user queues of the process.
func (d *Driver) Queues() (out []Queue) {
	p := d.irqProc.Load()
	if p == nil {
		return nil
	}
	p.qMu.Lock()
	defer p.qMu.Unlock()
	for _, q := range p.sortedQueues() {
		x := Queue{ID: q.id, GPUID: q.pd.node.id, Ring: q.args.RingBaseAddress, Slot: q.hqd.Slot}
		x.Kind = "compute"
		if q.hqd.Class == silicon.SDMA {
			x.Kind = fmt.Sprintf("SDMA engine %d", q.hqd.Engine)
		}
		if e := q.mqd.Extents(); len(e) > 0 {
			x.MQD = e[0].Addr
		}
		if db, err := q.pd.slice(); err == nil {
			x.Doorbell = db.Dword(q.doorbell)
		}
		out = append(out, x)
	}
	return out
}

// GPU is what the driver calls a device.
type GPU struct {
	Node  int // of the topology
	GPUID uint32
	Minor int // of its render node
}

// GPUs lists the devices in the order of their nodes.
func (d *Driver) GPUs() (out []GPU) {
	for _, n := range d.nodes {
		out = append(out, GPU{Node: n.index, GPUID: n.id, Minor: n.minor})
	}
	return out
}

// Walk returns the page-table entries that the process's VM on the index-th device has for va; nil if the process has no VM there.
func (d *Driver) Walk(index int, va uint64) []amdgpu.Step {
	p := d.irqProc.Load()
	if p == nil || index < 0 || index >= len(p.pdds) || p.pdds[index].vm == nil {
		return nil
	}
	return p.pdds[index].vm.Walk(va)
}
