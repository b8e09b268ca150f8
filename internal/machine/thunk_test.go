package machine

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hsa"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// The upper half on the lower half, in one process: each test opens a machine of its own.

func newMachine(t testing.TB, gpus string) *Machine {
	t.Helper()
	ps, err := ParseGPUs(gpus)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(ps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func newHSA(t testing.TB, gpus string) *hsa.Runtime {
	t.Helper()
	r, err := hsa.Open(newMachine(t, gpus).Transport(), hsa.OptionsFromEnv(func(string) (string, bool) { return "", false }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestThunkOnKernel(t *testing.T) {
	k, err := hsakmt.Open(newMachine(t, "mi210,rx6900xt").Transport())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(k.Topology().Nodes); n != 3 {
		t.Fatalf("%d nodes", n)
	}
	m, err := k.Alloc(1, 1<<20, 0, hsakmt.HostAccess)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Map(m, 1, 2); err != nil {
		t.Fatal(err)
	}
	b := m.Bytes()
	b[0], b[len(b)-1] = 1, 2
	e, err := k.CreateEvent(kfd.EventSignal, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.WaitEvents([]*hsakmt.Event{e}, []uint64{1}, false, time.Millisecond); hsakmt.StatusOf(err) != hsakmt.WaitTimeout {
		t.Errorf("wait: %v", err)
	}
	time.AfterFunc(5*time.Millisecond, func() { _ = k.SetEvent(e) })
	ages := []uint64{1}
	if _, err := k.WaitEvents([]*hsakmt.Event{e}, ages, false, hsakmt.Infinite); err != nil || ages[0] != 2 {
		t.Errorf("wait: %v, age %d", err, ages[0])
	}
	c1, err := k.ClockCounters(1)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Millisecond)
	if c2, _ := k.ClockCounters(1); c2.GPU <= c1.GPU || c2.System <= c1.System {
		t.Errorf("clocks stand still: %+v %+v", c1, c2)
	}
	if free, err := k.Available(1); err != nil || free == 0 {
		t.Errorf("available %d %v", free, err)
	}
	if _, err := k.XNACK(); err != nil {
		t.Error(err)
	}
	app := make([]byte, 3<<20)
	r, err := k.Register(addr(&app[77]), 2<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Map(r, 1); err != nil {
		t.Fatal(err)
	}
	if err := k.Free(r); err != nil {
		t.Fatal(err)
	}
	if err := k.Free(m); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

func TestHSAAgents(t *testing.T) {
	r := newHSA(t, "mi210,radeonvii,rx6900xt")
	var names []string
	for _, g := range r.GPUs() {
		names = append(names, g.Target.String())
		if hz := g.CounterHz(); hz != 100_000_000 && hz != 25_000_000 && hz != 27_000_000 {
			t.Errorf("%s: counter at %d Hz", g.Name, hz)
		}
	}
	if len(names) != 3 || names[0] != "gfx90a:sramecc+:xnack-" || names[2] != "gfx1030" {
		t.Errorf("%v", names)
	}
}

func TestSDMACopy(t *testing.T) {
	r := newHSA(t, "mi210")
	g := r.GPUs()[0]
	dev, err := g.Pool(hsa.PoolCoarseGrained).Allocate(9<<20, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	host, err := r.CPU().Pool(hsa.PoolFineGrained).Allocate(9<<20, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AllowAccess(host, g); err != nil {
		t.Fatal(err)
	}
	for i := range host.Bytes() {
		host.Bytes()[i] = byte(i * 7 >> 3)
	}
	want := bytes.Clone(host.Bytes())
	if err := r.Copy(dev.Addr, host.Addr, 9<<20, g); err != nil {
		t.Fatal(err)
	}
	clear(host.Bytes())
	gate, _ := r.NewSignal(1)
	done, _ := r.NewSignal(1)
	if err := g.CopyAsync(host.Addr, dev.Addr, 9<<20, true, []*hsa.Signal{gate}, done); err != nil {
		t.Fatal(err)
	}
	if done.Wait(aql.CondEQ, 0, 5*time.Millisecond) == 0 || host.Bytes()[12345] != 0 {
		t.Fatal("the copy did not wait")
	}
	gate.Store(0)
	if v := done.Wait(aql.CondEQ, 0, 5*time.Second); v != 0 {
		t.Fatalf("copy not done: %d", v)
	}
	if !bytes.Equal(host.Bytes(), want) {
		t.Error("wrong data")
	}
	if s, e := done.Times(); s == 0 || e < s {
		t.Errorf("times %d %d", s, e)
	}
	done.Store(1)
	if err := g.FillAsync(dev.Addr, 0xdeadbeef, 1000, nil, done); err != nil {
		t.Fatal(err)
	}
	if v := done.Wait(aql.CondEQ, 0, 5*time.Second); v != 0 || dev.Bytes()[3999] != 0xde || dev.Bytes()[4000] != want[4000] {
		t.Error("fill")
	}
}

func TestBarrierPackets(t *testing.T) {
	r := newHSA(t, "mi210")
	q, err := r.GPUs()[0].NewQueue(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	gate, _ := r.NewSignal(1)
	for i := 0; i < 500; i++ {
		done, err := r.NewSignal(1)
		if err != nil {
			t.Fatal(err)
		}
		b := aql.BarrierPacket{Header: aql.MakeHeader(aql.BarrierAnd, true, 2, 2), CompletionSignal: done.Handle()}
		if i == 0 {
			b.DepSignal[2] = gate.Handle()
		}
		p := aql.Raw(b)
		if _, err := q.Submit(&p); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if done.Wait(aql.CondEQ, 0, 5*time.Millisecond) == 0 {
				t.Fatal("barrier did not wait")
			}
			gate.Store(0)
		}
		if v := done.Wait(aql.CondEQ, 0, 5*time.Second); v != 0 {
			t.Fatalf("barrier %d: %d", i, v)
		}
		done.Destroy()
	}
	if err := q.Destroy(); err != nil {
		t.Error(err)
	}
	if err := q.Destroy(); hsa.StatusOf(err) != hsa.StatusInvalidQueue {
		t.Errorf("%v", err)
	}
}

func TestStreams(t *testing.T) {
	rt := clr.New(newHSA(t, "mi210"), clr.SettingsFromEnv(func(string) (string, bool) { return "", false }))
	d := rt.Devices[0]
	dev, err := d.Alloc(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := d.AllocHost(1<<20, clr.HostMemory, true)
	if err != nil {
		t.Fatal(err)
	}
	q1, _ := d.NewQueue(clr.NonBlocking, 0, nil)
	q2, _ := d.NewQueue(clr.NonBlocking, 0, nil)
	gate := make(chan bool)
	var mu sync.Mutex // the order is made by the device, which the race detector does not see
	var order []int
	note := func(n int) {
		mu.Lock()
		order = append(order, n)
		mu.Unlock()
	}
	if _, err := q1.Host(func() error { <-gate; note(1); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range pin.Bytes() {
		pin.Bytes()[i] = byte(i)
	}
	if _, err := q1.Copy(dev.Ptr, pin.Ptr, clr.Linear(1<<20), true); err != nil {
		t.Fatal(err)
	}
	ev, err := q1.Marker()
	if err != nil {
		t.Fatal(err)
	}
	q2.WaitFor(ev)
	if _, err := q2.Fill(dev.Ptr+3, 0xab, 1, clr.Linear(10), true); err != nil {
		t.Fatal(err)
	}
	if _, err := q2.Host(func() error { note(2); return nil }); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Millisecond)
	if ok, _ := q2.Idle(); ok || ev.Done() {
		t.Fatal("the streams ran ahead")
	}
	close(gate)
	if err := q2.Finish(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(order) != 2 || order[0] != 1 {
		t.Errorf("order %v", order)
	}
	b := dev.Bytes()
	if b[2] != 2 || b[3] != 0xab || b[12] != 0xab || b[13] != 13 {
		t.Errorf("% x", b[:16])
	}
	// Pageable memory, both ways, in rows.
	src, dst := make([]byte, 1000), make([]byte, 1000)
	for i := range src {
		src[i] = byte(3 * i)
	}
	if _, err := d.NullQueue().Copy(dev.Ptr, addr(&src[0]), clr.Rect{Width: 10, Height: 5, Depth: 2, DstPitch: 16, SrcPitch: 20, DstSlice: 100, SrcSlice: 200}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := d.NullQueue().Copy(addr(&dst[0]), dev.Ptr, clr.Rect{Width: 10, Height: 5, Depth: 2, DstPitch: 20, SrcPitch: 16, DstSlice: 200, SrcSlice: 100}, false); err != nil {
		t.Fatal(err)
	}
	if dst[0] != 0 || dst[209] != src[209] || dst[289] != src[289] || dst[10] != 0 {
		t.Error("rectangle")
	}
	if _, err := d.NullQueue().Copy(dev.Ptr+1<<20-4, addr(&src[0]), clr.Linear(8), false); err == nil {
		t.Error("a copy beyond the end was accepted")
	}
	if err := rt.Free(dev); err != nil {
		t.Error(err)
	}
	if err := rt.Free(dev); err == nil {
		t.Error("freed twice")
	}
	if rt.Find(dev.Ptr) != nil {
		t.Error("freed memory was found")
	}
}
