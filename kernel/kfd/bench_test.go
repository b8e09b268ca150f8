package kfd

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/kfd"
)

// BenchmarkEventRoundTrip is interrupt to return of WAIT_EVENTS and back.
func BenchmarkEventRoundTrip(b *testing.B) {
	r := newRig(b, "mi210").acquire()
	h, slots := r.alloc(0, 0x7e0000000000, kfd.EventPageSize, kfd.AllocGTT)
	a := kfd.CreateEventArgs{EventPageOffset: h, EventType: kfd.EventSignal, AutoReset: 1}
	must(r, kfd.IocCreateEvent, &a)
	slot := (*uint64)(unsafe.Pointer(&slots[a.EventID*8]))
	done, stop := make(chan uint32), make(chan bool)
	go func() {
		for {
			select {
			case done <- r.wait(b, 10_000, a.EventID):
			case <-stop:
				return
			}
		}
	}()
	for b.Loop() {
		atomic.StoreUint64(slot, 1)
		r.drv.interrupt(r.drv.nodes[0], ih.EndOfPipe(8, firstPASID, a.EventID))
		if <-done != kfd.WaitResultComplete {
			b.Fatal("lost")
		}
	}
	close(stop)
	atomic.StoreUint64(slot, 1)
	r.drv.interrupt(r.drv.nodes[0], ih.EndOfPipe(8, firstPASID, a.EventID))
}

// BenchmarkIoctl is the cost of the entry: the smallest command.
func BenchmarkIoctl(b *testing.B) {
	r := newRig(b, "mi210")
	v := new(kfd.GetVersionArgs)
	escape(v)
	for b.Loop() {
		_ = r.kfd.Ioctl(uint32(kfd.IocGetVersion), uintptr(unsafe.Pointer(v)))
	}
}
