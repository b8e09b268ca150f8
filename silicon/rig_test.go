package silicon

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
	"github.com/pumice-gpu/pumice/silicon/profile"
)

// fakeEngine runs Go functions in place of code: the program at a wave's PC.
type fakeEngine struct {
	mu    sync.Mutex
	progs map[uint64]func(w *wave.Wave) ir.Exit
	inval atomic.Int64
}

func (e *fakeEngine) Name() string                    { return "fake" }
func (e *fakeEngine) NewWorker() engine.Worker        { return fakeWorker{e} }
func (e *fakeEngine) InvalidateCode(space *mem.Space) { e.inval.Add(1) }
func (e *fakeEngine) Forget(space *mem.Space)         {}
func (e *fakeEngine) Stats() engine.Stats             { return engine.Stats{} }

type fakeWorker struct{ e *fakeEngine }

func (f fakeWorker) Close() {}
func (f fakeWorker) Run(w *wave.Wave) ir.Exit {
	f.e.mu.Lock()
	p := f.e.progs[w.PC]
	f.e.mu.Unlock()
	if p == nil {
		w.Illegal = "no program"
		w.Exit = uint32(ir.ExitIllegal)
		return ir.ExitIllegal
	}
	x := p(w)
	w.Exit = uint32(x)
	return x
}

// rig is a chip with one VMID, page tables and memory built by hand.
type rig struct {
	t      testing.TB
	d      *Device
	e      *fakeEngine
	root   uint64 // VRAM offset
	next   uint64 // VRAM bump
	va     uint64 // VA bump
	ring   []byte
	read   uint32
	irqs   chan ih.Entry
	irqMu  sync.Mutex
	faults chan FaultInfo
	qfault chan QueueFault
	ctx    VMContext
	cuMask [8]uint32 // of queues made from now on
}

const rigVMID = 8

func newRig(t testing.TB, profileName string, workers int) *rig {
	e := &fakeEngine{progs: map[uint64]func(*wave.Wave) ir.Exit{}}
	r := newRigWith(t, profileName, workers, e)
	r.e = e
	return r
}

func newRigWith(t testing.TB, profileName string, workers int, e engine.Engine) *rig {
	p, err := profile.Load(profileName)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, next: 1 << 20, va: 0x7000_0000_0000,
		irqs: make(chan ih.Entry, 4096), faults: make(chan FaultInfo, 64), qfault: make(chan QueueFault, 64)}
	r.ring = make([]byte, 64<<10)
	for i := range r.cuMask {
		r.cuMask[i] = ^uint32(0)
	}
	r.d, err = New(p, Config{Engine: e, Workers: workers, VRAMSize: 256 << 20, Interrupt: r.interrupt,
		Hooks: Hooks{
			WaveFault:  func(f *FaultInfo) { r.faults <- *f },
			QueueError: func(f *QueueFault) { r.qfault <- *f },
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.d.Close)
	if err := r.d.SetIHRing(r.ring); err != nil {
		t.Fatal(err)
	}
	r.root = r.vram(4096)
	r.ctx = VMContext{PageDirectoryBase: r.d.pteGen.EncodePDE(pte.Entry{Addr: r.root, Flags: pte.Valid}), PASID: 42, SharedBase: 1 << 48, PrivateBase: 2 << 48}
	if err := r.d.SetVMID(rigVMID, &r.ctx); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) interrupt() {
	r.irqMu.Lock()
	defer r.irqMu.Unlock()
	w, overflow := r.d.IHWritePointer()
	if overflow {
		r.t.Error("interrupt ring overflow")
	}
	for r.read != w {
		select {
		case r.irqs <- ih.Decode(r.ring[r.read:]):
		default:
		}
		r.read = (r.read + ih.EntryBytes) % uint32(len(r.ring))
	}
	r.d.SetIHReadPointer(r.read)
}

// vram takes n bytes of VRAM.
func (r *rig) vram(n uint64) uint64 {
	o := r.next
	r.next += (n + 4095) &^ 4095
	return o
}

func (r *rig) entry(off uint64) *uint64 { return (*uint64)(unsafe.Add(r.d.vram.base, off)) }

// table returns the offset of the entry of va at level, making tables on the way.
func (r *rig) table(va uint64, level pte.Level) *uint64 {
	t := r.root
	for l := pte.PDB2; l < level; l++ {
		e := r.entry(t + l.Index(va)*8)
		if *e&1 == 0 {
			*e = r.d.pteGen.EncodePDE(pte.Entry{Addr: r.vram(4096), Flags: pte.Valid})
		}
		t = r.d.pteGen.DecodePDE(*e).Addr
	}
	return r.entry(t + level.Index(va)*8)
}

const rwx = pte.Valid | pte.Read | pte.Write | pte.Exec

// alloc maps n bytes of fresh VRAM and returns their VA and host bytes.
func (r *rig) alloc(n uint64) (uint64, []byte) {
	n = (n + 4095) &^ 4095
	off := r.vram(n)
	va := r.va
	r.va += n + 4096
	for i := uint64(0); i < n; i += 4096 {
		*r.table(va+i, pte.PTB) = r.d.pteGen.EncodePTE(pte.Entry{Addr: off + i, Flags: rwx})
	}
	return va, r.d.vram.b[off : off+n]
}

// kernel makes a kernel object whose code is p.
func (r *rig) kernel(desc codeobj.Descriptor, p func(w *wave.Wave) ir.Exit) uint64 {
	va, b := r.alloc(4096)
	desc.EntryOffset = 256
	raw := desc.Encode()
	copy(b, raw[:])
	r.e.mu.Lock()
	r.e.progs[va+256] = p
	r.e.mu.Unlock()
	return va
}

// signal makes a signal with a value; with an event if event is not 0.
func (r *rig) signal(value int64, event uint32) (uint64, *aql.Signal) {
	va, b := r.alloc(64)
	s := (*aql.Signal)(unsafe.Pointer(&b[0]))
	*s = aql.Signal{Kind: aql.SignalUser, Value: value, EventID: event}
	if event != 0 {
		s.EventMailboxPtr, _ = r.alloc(8)
	}
	return va, s
}

// queue is a user-mode queue of a test.
type testQueue struct {
	r        *rig
	id       QueueID
	record   *aql.Queue
	recordVA uint64
	slots    []byte
	inactive *aql.Signal
	bell     *uint64
	dword    uint32
	mqd      []uint32
	n        uint64
}

func (r *rig) queue(slot int) *testQueue {
	const packets = 64
	q := &testQueue{r: r, id: QueueID{Compute, 0, slot}, dword: uint32(0x400 + 2*slot), n: packets}
	var b []byte
	q.recordVA, b = r.alloc(4096)
	q.record = (*aql.Queue)(unsafe.Pointer(&b[0]))
	var ring uint64
	ring, q.slots = r.alloc(packets * 64)
	for i := 0; i < len(q.slots); i += 64 {
		q.slots[i] = byte(aql.Invalid)
	}
	q.record.ReadDispatchIDFieldBaseOffset = aql.ReadDispatchIDOffset
	var sig uint64
	sig, q.inactive = r.signal(0, 77)
	q.record.QueueInactiveSignal = aql.SignalHandle(sig)
	q.bell = (*uint64)(unsafe.Add(r.d.doorbells.base, q.dword*4))
	_, m := r.alloc(4096)
	q.mqd = unsafe.Slice((*uint32)(unsafe.Pointer(&m[0])), 1024)
	c := mqd.Compute{RingBase: ring, RingBytes: packets * 64, RptrAddr: q.recordVA + 128, WptrAddr: q.recordVA + 56,
		DoorbellDword: q.dword, VMID: rigVMID, AQL: true, Active: true, CUMask: r.cuMask}
	if err := c.Encode(r.d.mqdGen, q.mqd); err != nil {
		r.t.Fatal(err)
	}
	if err := r.d.LoadQueue(q.id, unsafe.Pointer(&q.mqd[0]), rigVMID); err != nil {
		r.t.Fatal(err)
	}
	return q
}

// put writes a packet without ringing.
func (q *testQueue) put(p aql.Packet) {
	i := atomic.AddUint64(&q.record.WriteDispatchID, 1) - 1
	s := q.slots[i%q.n*64:]
	copy(s[4:64], p[4:])
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&s[0])), *(*uint32)(unsafe.Pointer(&p[0])))
}

func (q *testQueue) ring() {
	atomic.StoreUint64(q.bell, atomic.LoadUint64(&q.record.WriteDispatchID)-1)
	q.r.d.RingDoorbell(q.dword)
}

// wait waits for a signal to reach 0.
func (r *rig) wait(s *aql.Signal) {
	r.t.Helper()
	r.until(func() bool { return atomic.LoadInt64(&s.Value) <= 0 }, "signal")
	// The race detector does not see atomics in VRAM; this orders the programs before what follows.
	r.d.cus.mu.Lock()
	r.d.cus.mu.Unlock() //lint:ignore SA2001 taken for the order alone
}

func (r *rig) until(f func() bool, what string) {
	r.t.Helper()
	end := time.Now().Add(10 * time.Second)
	for !f() {
		if time.Now().After(end) {
			r.t.Fatalf("timeout: %s", what)
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func dispatchPacket(kernel uint64, grid, wg [3]uint32, signal uint64) aql.DispatchPacket {
	return aql.DispatchPacket{Header: aql.MakeHeader(aql.KernelDispatch, true, aql.ScopeSystem, aql.ScopeSystem), Setup: 3,
		GridSizeX: grid[0], GridSizeY: grid[1], GridSizeZ: grid[2],
		WorkgroupSizeX: uint16(wg[0]), WorkgroupSizeY: uint16(wg[1]), WorkgroupSizeZ: uint16(wg[2]),
		KernelObject: kernel, CompletionSignal: aql.SignalHandle(signal)}
}

// access is what the fake programs use as load and store: the host address of va.
func access(w *wave.Wave, va uint64, a mem.Access) (unsafe.Pointer, *mem.Fault) {
	p, _, _, f := w.Space.Translate(va, a)
	return p, f
}

// unitsAreFree checks that no compute unit holds resources.
func (r *rig) unitsAreFree() {
	r.t.Helper()
	c := &r.d.cus
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, u := range c.units {
		if u != (cuCost{}) {
			r.t.Errorf("unit %d still holds %+v", i, u)
		}
	}
}
