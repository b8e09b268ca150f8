package kfd

import (
	"errors"
	"testing"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/silicon"
	"golang.org/x/sys/unix"
)

// stuckChip does not let queues go while stuck is set.
type stuckChip struct {
	amdgpu.Chip
	stuck bool
}

func (c *stuckChip) UnloadQueue(id silicon.QueueID, how silicon.Unload) error {
	if c.stuck {
		return errors.New("the scheduler does not answer")
	}
	return c.Chip.UnloadQueue(id, how)
}

// TestStuckQueue asks for a queue to be stopped that the chip does not let go: everybody who wants it off the hardware hears of it, the queue goes
// on, and the next who asks has it stopped.
func TestStuckQueue(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	warned := 0
	r.drv.cfg.Warn = func(string) { warned++ }
	dev := r.drv.nodes[0].dev
	chip := &stuckChip{Chip: dev.Chip}
	dev.Chip = chip
	const src, dst = 0x7d0000000000, 0x7d0000100000
	_, from := r.alloc(0, src, 4096, kfd.AllocGTT)
	_, to := r.alloc(0, dst, 4096, kfd.AllocGTT)
	c := newCopier(r, 0, 0x7e0000000000)
	n := byte(0)
	works := func() {
		t.Helper()
		n++
		from[0] = n
		if c.copy(dst, src, 4096); to[0] != n {
			t.Errorf("copied %d, want %d", to[0], n)
		}
	}
	p := r.drv.proc
	q := p.queue(c.id)
	works()
	chip.stuck = true
	for range 2 {
		if err := p.Quiesce(); err != unix.ETIME {
			t.Errorf("quiesce: %v", err)
		}
	}
	works() // it could not be stopped
	chip.stuck = false
	if err := p.Quiesce(); err != nil || q.loaded {
		t.Errorf("quiesce once more: %v, loaded %v", err, q.loaded)
	}
	for range 3 {
		if q.loaded {
			t.Error("runs before all have resumed it")
		}
		p.Resume()
	}
	works()
	chip.stuck = true
	update := kfd.UpdateQueueArgs{RingBaseAddress: q.args.RingBaseAddress, QueueID: c.id, RingSize: q.args.RingSize, QueuePercentage: 0, QueuePriority: 7}
	if err := call(r, kfd.IocUpdateQueue, &update); err != unix.ETIME || q.args.QueuePercentage != 100 {
		t.Errorf("update: %v, percentage %d", err, q.args.QueuePercentage)
	}
	works()
	if err := call(r, kfd.IocDestroyQueue, &kfd.DestroyQueueArgs{QueueID: c.id}); err != unix.ETIME {
		t.Errorf("destroy: %v", err)
	}
	if p.queue(c.id) != nil {
		t.Error("the queue is still there")
	}
	if warned != 4 {
		t.Errorf("%d warnings, want 4: two of quiesce, and update, destroy", warned)
	}
	chip.stuck = false
	if err := chip.UnloadQueue(q.hqd, silicon.Kill); err != nil {
		t.Error(err)
	}
}
