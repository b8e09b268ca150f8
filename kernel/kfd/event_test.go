package kfd

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func (r *rig) event(kind uint32, autoReset bool) uint32 {
	r.t.Helper()
	a := kfd.CreateEventArgs{EventType: kind}
	if autoReset {
		a.AutoReset = 1
	}
	must(r, kfd.IocCreateEvent, &a)
	return a.EventID
}

// waitRaw does one WAIT_EVENTS and returns the events as the driver left them.
func (r *rig) waitRaw(all bool, ms uint32, d ...kfd.EventData) ([]kfd.EventData, uint32, error) {
	a := kfd.WaitEventsArgs{NumEvents: uint32(len(d)), Timeout: ms}
	if len(d) > 0 {
		escape(&d[0])
		a.EventsPtr = uint64(uintptr(unsafe.Pointer(&d[0])))
	}
	if all {
		a.WaitForAll = 1
	}
	err := call(r, kfd.IocWaitEvents, &a)
	return d, a.WaitResult, err
}

func TestEventsAgainstModel(t *testing.T) {
	r := newRig(t, "mi210")
	type model struct {
		auto, signaled bool
		age            uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		events := map[uint32]*model{}
		var ids []uint32
		add := func() {
			auto := rapid.Bool().Draw(t, "auto")
			id := r.event(kfd.EventSignal, auto)
			if events[id] != nil {
				t.Fatalf("id %d given twice", id)
			}
			events[id] = &model{auto: auto, age: 1}
			ids = append(ids, id)
		}
		for range 3 {
			add()
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := rapid.SampledFrom(ids).Draw(t, "id")
			m := events[id]
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0:
				must(r, kfd.IocSetEvent, &kfd.EventIDArgs{EventID: id})
				m.signaled = true
				m.age++
			case 1:
				must(r, kfd.IocResetEvent, &kfd.EventIDArgs{EventID: id})
				m.signaled = false
			default:
				other := rapid.SampledFrom(ids).Draw(t, "other")
				set := []uint32{id}
				if other != id {
					set = append(set, other)
				}
				all := rapid.Bool().Draw(t, "all")
				var d []kfd.EventData
				ready, n := map[uint32]bool{}, 0
				for _, e := range set {
					x := kfd.EventData{EventID: e}
					var last uint64
					if rapid.Bool().Draw(t, "ages") {
						last = uint64(rapid.IntRange(1, 4).Draw(t, "last"))
						x.SetSignalAge(last)
					}
					d = append(d, x)
					if events[e].signaled || last != 0 && last != events[e].age {
						ready[e] = true
						n++
					}
				}
				want := uint32(kfd.WaitResultTimeout)
				if n == len(set) || !all && n > 0 {
					want = kfd.WaitResultComplete
				}
				out, got, err := r.waitRaw(all, 0, d...)
				if err != nil || got != want {
					t.Fatalf("wait %v all %v: %d %v, want %d", set, all, got, err, want)
				}
				for i, e := range set {
					if want == kfd.WaitResultComplete {
						if events[e].auto {
							events[e].signaled = false
						}
						if d[i].SignalAge() != 0 && ready[e] && out[i].SignalAge() != events[e].age {
							t.Fatalf("age %d, want %d", out[i].SignalAge(), events[e].age)
						}
					}
				}
			}
		}
		for _, id := range ids {
			must(r, kfd.IocDestroyEvent, &kfd.EventIDArgs{EventID: id})
		}
	})
}

func TestWaitWakes(t *testing.T) {
	r := newRig(t, "mi210")
	a, b := r.event(kfd.EventSignal, true), r.event(kfd.EventSignal, false)
	type result struct {
		res uint32
		err error
	}
	wait := func(all bool, ids ...uint32) chan result {
		c := make(chan result, 1)
		d := make([]kfd.EventData, len(ids))
		for i, id := range ids {
			d[i].EventID = id
		}
		go func() {
			_, res, err := r.waitRaw(all, 10_000, d...)
			c <- result{res, err}
		}()
		time.Sleep(20 * time.Millisecond) // it may also come late: then the event is set already, with the same result
		return c
	}
	set := func(id uint32) { must(r, kfd.IocSetEvent, &kfd.EventIDArgs{EventID: id}) }
	both := wait(true, a, b)
	set(a)
	select {
	case x := <-both:
		t.Fatalf("wait for all returned after one: %+v", x)
	case <-time.After(20 * time.Millisecond):
	}
	set(b)
	if x := <-both; x.err != nil || x.res != kfd.WaitResultComplete {
		t.Errorf("%+v", x)
	}
	if _, res, _ := r.waitRaw(false, 0, kfd.EventData{EventID: a}); res != kfd.WaitResultTimeout {
		t.Error("an auto-reset event with a waiter stayed set")
	}
	c := wait(false, a)
	must(r, kfd.IocDestroyEvent, &kfd.EventIDArgs{EventID: a})
	if x := <-c; x.err != unix.EIO || x.res != kfd.WaitResultFail {
		t.Errorf("wait on a destroyed event: %+v", x)
	}
	start := time.Now()
	must(r, kfd.IocResetEvent, &kfd.EventIDArgs{EventID: b})
	if _, res, err := r.waitRaw(false, 50, kfd.EventData{EventID: b}); res != kfd.WaitResultTimeout || err != nil || time.Since(start) < 45*time.Millisecond {
		t.Errorf("timeout: %d %v after %v", res, err, time.Since(start))
	}
}

func TestAll4095Events(t *testing.T) {
	r := newRig(t, "mi210")
	d := make([]kfd.EventData, 4095)
	for i := range d {
		d[i].EventID = r.event(kfd.EventSignal, true)
	}
	if err := call(r, kfd.IocCreateEvent, &kfd.CreateEventArgs{}); err != unix.ENOSPC {
		t.Errorf("event 4096: %v", err)
	}
	for _, x := range d {
		must(r, kfd.IocSetEvent, &kfd.EventIDArgs{EventID: x.EventID})
	}
	if _, res, err := r.waitRaw(true, 1000, d...); res != kfd.WaitResultComplete || err != nil {
		t.Errorf("%d %v", res, err)
	}
}

func TestInterruptFindsSlot(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	h, slots := r.alloc(0, 0x7e0000000000, kfd.EventPageSize, kfd.AllocGTT)
	a := kfd.CreateEventArgs{EventPageOffset: h, EventType: kfd.EventSignal, AutoReset: 1}
	must(r, kfd.IocCreateEvent, &a)
	b := r.event(kfd.EventSignal, true)
	if err := call(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: h}); err != unix.EPERM {
		t.Errorf("free of the event page: %v", err)
	}
	slot := func(id uint32) *uint64 { return (*uint64)(unsafe.Pointer(&slots[id*8])) }
	is := func(id uint32) bool {
		_, res, _ := r.waitRaw(false, 0, kfd.EventData{EventID: id})
		return res == kfd.WaitResultComplete
	}
	n := r.drv.nodes[0]
	// The slot decides: an interrupt without a written slot sets nothing.
	r.drv.interrupt(n, ih.EndOfPipe(8, uint16(firstPASID), b))
	if is(a.EventID) || is(b) {
		t.Error("an interrupt set an event whose slot was not written")
	}
	atomic.StoreUint64(slot(b), uint64(b))
	r.drv.interrupt(n, ih.EndOfPipe(8, uint16(firstPASID), b))
	if is(a.EventID) || !is(b) || atomic.LoadUint64(slot(b)) != kfd.UnsignaledSlot {
		t.Error("the interrupt did not find its slot")
	}
	// Id 0 makes the driver look at all slots.
	atomic.StoreUint64(slot(a.EventID), 1)
	r.drv.interrupt(n, ih.SDMATrap(0, 8, uint16(firstPASID), 0))
	if !is(a.EventID) {
		t.Error("the scan did not find the slot")
	}
	atomic.StoreUint64(slot(a.EventID), 1)
	r.drv.interrupt(n, ih.SQMessage(8, uint16(firstPASID), a.EventID))
	if !is(a.EventID) {
		t.Error("an SQ message did not set its event")
	}
	// Another process's interrupt is not ours.
	atomic.StoreUint64(slot(b), 1)
	r.drv.interrupt(n, ih.EndOfPipe(8, 0x7777, b))
	if is(b) {
		t.Error("a stranger's interrupt set an event")
	}
}

func TestMemoryException(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	id := r.event(kfd.EventMemory, false)
	r.alloc(0, 0x7e0000000000, 8192, kfd.AllocGTT)
	var got Fault
	r.drv.OnFault = func(f Fault) { got = f }
	r.drv.fault(r.drv.nodes[0], ih.VMFault(8, uint16(firstPASID), 0x7e0000003000, ih.FaultNotPresent, ih.FaultWrite))
	d, res, err := r.waitRaw(false, 0, kfd.EventData{EventID: id})
	if err != nil || res != kfd.WaitResultComplete {
		t.Fatal(res, err)
	}
	if m := d[0].Memory; m.VA != 0x7e0000003000 || m.NotPresent != 1 || m.ReadOnly != 0 || m.GPUID != 2 {
		t.Errorf("%+v", m)
	}
	if got.Below != [2]uint64{0x7e0000000000, 8192} || got.Inside || !got.Write {
		t.Errorf("%+v", got)
	}
}

// A caller counts as waiting when Begin has returned: an event that is set then is its own, and a later call that also waits for it gets nothing. Two threads of ROCr do that
// when a queue goes, with one event for all signals of queues.
func TestBegunWaitIsWoken(t *testing.T) {
	r := newRig(t, "mi210")
	id := r.event(kfd.EventSignal, true)
	d := &kfd.EventData{EventID: id}
	a := &kfd.WaitEventsArgs{NumEvents: 1, Timeout: 1000, EventsPtr: uint64(uintptr(unsafe.Pointer(d)))}
	escape(d)
	escape(a)
	rest, err := r.kfd.(Beginner).Begin(uint32(kfd.IocWaitEvents), uintptr(unsafe.Pointer(a)))
	if rest == nil || err != nil {
		t.Fatalf("nothing to wait for: %v", err)
	}
	must(r, kfd.IocSetEvent, &kfd.EventIDArgs{EventID: id})
	if _, result, err := r.waitRaw(false, 0, kfd.EventData{EventID: id}); err != nil || result != kfd.WaitResultTimeout {
		t.Errorf("a later call got the event: %v, %v", result, err)
	}
	if err := rest(); err != nil || a.WaitResult != kfd.WaitResultComplete {
		t.Errorf("the earlier call did not: %v, %v", a.WaitResult, err)
	}
}
