package hsa

import (
	"github.com/pumice-gpu/pumice/abi/aql"
)

// The utility queue of an agent carries the runtime's own packets.

func (a *Agent) utilityQueue() (*Queue, error) {
	a.mu.Lock()
	q := a.utility
	a.mu.Unlock()
	if q != nil {
		return q, nil
	}
	q, err := a.NewQueue(MinQueueSize, nil)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	if a.utility == nil {
		a.utility = q
		q = nil
	}
	u := a.utility
	a.mu.Unlock()
	if q != nil {
		_ = q.Destroy() // somebody else was faster
	}
	return u, nil
}

// PM4 numbers of the one command below (public driver headers of the gfx9 and gfx10 command processors).
const (
	pm4IndirectBuffer = 0xc0023f00
	pm4AcquireMem9    = 0xc0055800 // 7 dwords
	pm4AcquireMem10   = 0xc0065800 // 8 dwords
	ibValid           = 1 << 23
	cpCoherInstr      = 1<<27 | 1<<29 | 1<<23 // SH_ICACHE, SH_KCACHE, TC_ACTION
	gcrInstr          = 1<<0 | 1<<7 | 1<<8 | 1<<9 | 1<<14
)

// invalidateCode makes the agent's instruction caches forget everything: an ACQUIRE_MEM in an indirect buffer.
func (a *Agent) invalidateCode() error {
	const op = "invalidate code"
	q, err := a.utilityQueue()
	if err != nil {
		return err
	}
	ib, err := a.rt.systemAlloc(4096, 0)
	if err != nil {
		return wrap(op, err)
	}
	defer a.rt.kfd.Free(ib)
	var w []uint32
	if a.Target.Proc.Major >= 10 {
		w = []uint32{pm4AcquireMem10, 0, 0xffffffff, 0xff, 0, 0, 4, gcrInstr}
	} else {
		w = []uint32{pm4AcquireMem9, cpCoherInstr, 0xffffffff, 0xff, 0, 0, 4}
	}
	for i, v := range w {
		*(*uint32)(hostPointer(ib.VA + 4*uint64(i))) = v
	}
	done, err := a.rt.NewSignal(1)
	if err != nil {
		return err
	}
	defer done.Destroy()
	p := aql.Raw(aql.PM4IBPacket{
		Header: aql.MakeHeader(aql.VendorSpecific, true, aql.ScopeSystem, aql.ScopeSystem), Format: aql.AMDPM4IB,
		IBJump: [4]uint32{pm4IndirectBuffer, lo(ib.VA), hi(ib.VA), ibValid | uint32(len(w))}, DWCountRemain: 10, CompletionSignal: done.Handle(),
	})
	if _, err := q.Submit(&p); err != nil {
		return err
	}
	if err := a.rt.await(op, done, q); err != nil {
		return err
	}
	a.mu.Lock()
	a.codeFreed = false
	a.mu.Unlock()
	return nil
}
