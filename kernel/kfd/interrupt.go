package kfd

import (
	"fmt"

	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
)

// Widths of the event id in the context word of an interrupt, in bits (gfx9 and later).
const (
	eopIDBits  = 23
	sdmaIDBits = 28
	sqIDBits   = 24
)

// interrupt handles one entry of a device's ring where it was raised, but for memory faults, which may take long: those are for fault.
func (d *Driver) interrupt(n *node, e ih.Entry) bool {
	if h := d.cfg.Hooks.Interrupt; h != nil {
		h(n.id, e)
	}
	if d.delayed(n, e) {
		return true
	}
	return d.deliver(n, e)
}

// deliver is interrupt for an entry whose time has come.
func (d *Driver) deliver(n *node, e ih.Entry) bool {
	p := d.irqProc.Load()
	if p == nil || uint32(e.PASID) != p.pasid || e.VMID < amdgpu.FirstVMID {
		return true
	}
	switch {
	case e.Source == ih.SourceCPEndOfPipe && e.Client == ih.ClientGRBMCP:
		p.eventInterrupt(e.Data[0]&(1<<eopIDBits-1), eopIDBits)
	case e.Source == ih.SourceSDMATrap && (e.Client == ih.ClientSDMA0 || e.Client == ih.ClientSDMA1):
		p.eventInterrupt(e.Data[0]&(1<<sdmaIDBits-1), sdmaIDBits)
	case e.Source == ih.SourceSQMessage:
		if data, enc := e.SQData(); enc != ih.SQError {
			p.eventInterrupt(data, sqIDBits)
		}
	case e.Source == ih.SourceVMFault && (e.Client == ih.ClientVMC || e.Client == ih.ClientUTCL2):
		return false
	}
	return true
}

// fault handles a memory fault, on the device's interrupt task.
func (d *Driver) fault(n *node, e ih.Entry) {
	if p := d.irqProc.Load(); p != nil {
		d.vmFault(n, p, &e)
	}
}

// Around finds the mappings of the process on the index-th device that hold va, end at or before it, and start after it: address
// and size, size 0 where there is none.
func (d *Driver) Around(index int, va uint64) (holding, below, above [2]uint64) {
	p := d.irqProc.Load()
	if p == nil || index < 0 || index >= len(p.pdds) || p.pdds[index].vm == nil {
		return holding, below, above
	}
	vm := p.pdds[index].vm
	if start, size, _, ok := vm.Find(va); ok {
		return [2]uint64{start, size}, below, above
	}
	below, above = vm.Neighbours(va)
	return holding, below, above
}

// vmFault is a fault that the page tables had no answer for.
func (d *Driver) vmFault(n *node, p *process, e *ih.Entry) {
	pd := p.pdds[n.index-1]
	va := e.FaultVA()
	if e.Data[1]&ih.FaultRetry != 0 && pd.vm != nil {
		// The wave waits for its page: SVM brings it, or makes the fault final.
		p.ranges.retryFault(pd, va, e.Data[1]&ih.FaultWrite != 0)
		return
	}
	f := Fault{GPUID: n.id, VA: va, Write: e.Data[1]&ih.FaultWrite != 0, Exec: e.Data[1]&ih.FaultExec != 0,
		NotPresent: e.RingID&ih.FaultNotPresent != 0, ReadOnly: e.RingID&ih.FaultNoWrite != 0, KernelDispatchVMID: e.VMID}
	if pd.vm != nil {
		f.Below, f.Above = pd.vm.Neighbours(va)
		f.MappingStart, f.MappingSize, _, f.Inside = pd.vm.Find(va)
		f.TableVMID = pd.vm.VMID()
	}
	if d.OnFault != nil {
		d.OnFault(f)
	}
	n.smi.send(kfd.SMIEventVMFault, fmt.Sprintf("%x:%s\n", d.cfg.PID, comm()))
	m := kfd.MemoryExceptionData{VA: va, GPUID: n.id}
	if f.NotPresent {
		m.NotPresent = 1
	}
	if f.ReadOnly {
		m.ReadOnly = 1
	}
	if f.Exec && !f.NotPresent {
		m.NoExecute = 1
	}
	p.memoryException(m)
}
