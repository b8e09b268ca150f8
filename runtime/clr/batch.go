package clr

import (
	"slices"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
)

// Prepared is a launch that can be made many times: its explicit arguments are bytes (Launch.Packed), and it has been checked.
type Prepared struct {
	Kernel *Kernel
	Launch Launch
}

// alone reports whether the launch is not like others, and cannot share a submission with them.
func (p *Prepared) alone() bool { return p.Launch.Cooperative }

// Prepare checks a launch and copies its arguments.
func (k *Kernel) Prepare(l Launch) (*Prepared, error) {
	if err := k.check(&l); err != nil {
		return nil, err
	}
	b := make([]byte, k.ExplicitSize())
	if l.Packed != nil {
		copy(b, l.Packed)
	} else {
		for i := range k.explicit {
			if x := &k.explicit[i]; x.Kind != codeobj.DynamicSharedPointer {
				l.Arg(i, b[x.Offset:x.Offset+x.Size:x.Offset+x.Size])
			}
		}
	}
	l.Packed, l.Arg, l.Timed = b, nil, false
	return &Prepared{k, l}, nil
}

// ArgOffset returns where the bytes of an explicit argument are in Launch.Packed.
func (k *Kernel) ArgOffset(i int) int { return int(k.explicit[i].Offset) }

// batchPackets is how many packets one doorbell announces: few enough that the first kernel starts while the others are written.
const batchPackets = 32

// LaunchAll runs kernels one after the other, as Launch does with each, with what is common to all of them done once: the order with other streams, locks,
// doorbells.
func (q *HostQueue) LaunchAll(ps []*Prepared) error {
	set := &q.dev.rt.set
	if len(ps) == 1 || set.SerializeKernel != 0 || set.LaunchBlocking || slices.ContainsFunc(ps, (*Prepared).alone) || q.dev.rt.hooks.Launched != nil {
		for _, p := range ps {
			if _, err := q.Launch(p.Kernel, &p.Launch); err != nil {
				return err
			}
		}
		return nil
	}
	extra, err := q.implicit()
	if err != nil {
		return err
	}
	var heap uint64
	for _, p := range ps {
		if p.Kernel.dev != q.dev {
			return fail(ErrInvalidHandle, "kernel of device %d on a stream of device %d", p.Kernel.dev.Index, q.dev.Index)
		}
		if heap == 0 && p.Kernel.needs(codeobj.HiddenHeapV1) {
			if heap, err = q.dev.deviceHeap(); err != nil {
				return err
			}
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	hw, err := q.hwLocked()
	if err != nil {
		return err
	}
	pkts, _, err := q.waitsLocked(extra)
	if err != nil {
		return err
	}
	hw.args.mu.Lock()
	defer hw.args.mu.Unlock()
	flush := func() error {
		if len(pkts) == 0 {
			return nil
		}
		_, err := hw.q.Submit(pkts...)
		pkts = pkts[:0]
		q.tail = tail{aql: true}
		return err
	}
	var packets [batchPackets]aql.Packet
	for i, p := range ps {
		k := p.Kernel
		if k.needs(codeobj.HiddenHostcallBuffer) {
			if err := hw.startHostcall(q.dev); err != nil {
				return err
			}
		}
		args, err := hw.args.take(hw.q, k.argSize, uint64(k.KernargSegmentAlign), flush)
		if err != nil {
			return q.submitError(err)
		}
		k.fill(args, &p.Launch, hw, heap)
		slot := &packets[i%batchPackets]
		*slot = k.packet(&p.Launch, args.addr, 0)
		pkts = append(pkts, slot)
		if i%batchPackets == batchPackets-1 || i == len(ps)-1 {
			if err := flush(); err != nil {
				return q.submitError(err)
			}
		}
	}
	return nil
}
