package kfd

import (
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"golang.org/x/sys/unix"
)

// BenchmarkMigrate moves a managed buffer of 256 MiB to the GPU and home again by prefetch, beside memcpy of the same bytes in the same run.
// "of-memcpy" is memcpy's time over migration's: the aim is 0.5. The machine may be busy: the best round counts, and
// CPU time is told too.
func BenchmarkMigrate(b *testing.B) {
	const size = 256 << 20
	r := liveRigOf(b, 2<<30, true, "mi210")
	at := r.managed(size)
	_, from := anon(b, size)
	copy(from, fill(b, at, size, 1))
	var up, home, ref, upCPU, homeCPU, refCPU time.Duration
	best := func(d, c *time.Duration, from time.Time, used time.Duration) {
		if t := time.Since(from); *d == 0 || t < *d {
			*d = t
		}
		if t := processTime() - used; *c == 0 || t < *c {
			*c = t
		}
	}
	prefetch := func(loc uint32) {
		if _, err := r.svm(kfd.SVMArgs{StartAddr: at, Size: size}, attr(kfd.SVMAttrPrefetchLoc, loc)); err != nil {
			b.Fatal(err)
		}
	}
	_, dst := anon(b, size)
	copy(dst, from)
	b.SetBytes(2 * size)
	for b.Loop() {
		t, c := time.Now(), processTime()
		prefetch(r.gpus[0])
		best(&up, &upCPU, t, c)
		t, c = time.Now(), processTime()
		prefetch(kfd.SVMLocationSysmem)
		best(&home, &homeCPU, t, c)
		t, c = time.Now(), processTime()
		copy(dst, from)
		best(&ref, &refCPU, t, c)
	}
	const units = size / (2 << 20)
	b.ReportMetric(float64(up.Microseconds())/units, "µs-up/2MiB")
	b.ReportMetric(float64(home.Microseconds())/units, "µs-home/2MiB")
	b.ReportMetric(float64(ref.Microseconds())/units, "µs-memcpy/2MiB")
	b.ReportMetric(float64(upCPU.Microseconds())/units, "µs-CPU-up/2MiB")
	b.ReportMetric(float64(homeCPU.Microseconds())/units, "µs-CPU-home/2MiB")
	b.ReportMetric(float64(refCPU.Microseconds())/units, "µs-CPU-memcpy/2MiB")
	b.ReportMetric(2*float64(ref)/float64(up+home), "of-memcpy")
	b.ReportMetric(2*float64(refCPU)/float64(upCPU+homeCPU), "of-memcpy-CPU-time")
}

// processTime is the CPU time of all threads, which other processes do not change.
func processTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// BenchmarkFault is the service of a GPU's retry fault that brings a page, or 2 MiB, to video memory and maps it, and of the CPU's touch
// that brings it home again; memcpy of as many bytes beside it.
func BenchmarkFault(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"4KiB", 4 << 10}, {"2MiB", 2 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			r := liveRig(b, true, "mi210")
			at := r.managed(c.size)
			fill(b, at, c.size, 1)
			_, from := anon(b, c.size)
			_, dst := anon(b, c.size)
			p := r.drv.proc
			pd := p.pdds[0]
			word := make([]byte, 8)
			var gpu, touch, ref time.Duration
			n := 0
			for b.Loop() {
				t := time.Now()
				p.ranges.retryFault(pd, at, true)
				gpu += time.Since(t)
				if e, ok := pd.vm.Lookup(at); !ok || e.Is(pte.System) {
					b.Fatalf("not in video memory: %+v %v", e, ok)
				}
				b.StopTimer()
				time.Sleep(6 * time.Millisecond) // the time slice of what a fault has brought
				b.StartTimer()
				t = time.Now()
				if err := cpu.Read(at, word); err != nil {
					b.Fatal(err)
				}
				touch += time.Since(t)
				t = time.Now()
				copy(dst, from)
				ref += time.Since(t)
				n++
			}
			b.ReportMetric(float64(gpu.Nanoseconds())/float64(n)/1000, "µs-gpu-fault")
			b.ReportMetric(float64(touch.Nanoseconds())/float64(n)/1000, "µs-cpu-touch")
			b.ReportMetric(float64(ref.Nanoseconds())/float64(n)/1000, "µs-memcpy")
		})
	}
}
