package kfd

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/kfd"
)

func TestDelayInterrupts(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	h, slots := r.alloc(0, 0x7e0000000000, kfd.EventPageSize, kfd.AllocGTT)
	a := kfd.CreateEventArgs{EventPageOffset: h, EventType: kfd.EventSignal, AutoReset: 1}
	must(r, kfd.IocCreateEvent, &a)
	raise := func() {
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&slots[a.EventID*8])), uint64(a.EventID))
		r.drv.interrupt(r.drv.nodes[0], ih.EndOfPipe(8, uint16(firstPASID), a.EventID))
	}
	pending := func() bool {
		return atomic.LoadUint64((*uint64)(unsafe.Pointer(&slots[a.EventID*8]))) != kfd.UnsignaledSlot
	}
	// One that does not come as long as the test runs, and then those that do.
	r.drv.cfg.DelayInterrupts = Delay{By: 24 * time.Hour, Percent: 100, Count: 1}
	if raise(); !pending() {
		t.Error("the interrupt was not held back")
	}
	if raise(); pending() {
		t.Error("more than one was held back")
	}
	_, _, _ = r.waitRaw(false, 0, kfd.EventData{EventID: a.EventID})
	r.drv.cfg.DelayInterrupts = Delay{By: 24 * time.Hour, Percent: 0}
	if raise(); pending() {
		t.Error("one was held back that had no chance to be")
	}
	_, _, _ = r.waitRaw(false, 0, kfd.EventData{EventID: a.EventID})
	r.drv.cfg.DelayInterrupts = Delay{By: time.Millisecond, Percent: 100}
	raise()
	const forever = 0xfffffffe
	if _, res, err := r.waitRaw(false, forever, kfd.EventData{EventID: a.EventID}); err != nil || res != kfd.WaitResultComplete {
		t.Errorf("the interrupt that was held back: %v %v", res, err)
	}
}
