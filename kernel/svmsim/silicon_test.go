package svmsim_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/abi/mqd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	kfdsvm "github.com/pumice-gpu/pumice/kernel/kfd/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
	"github.com/pumice-gpu/pumice/silicon"
	"github.com/pumice-gpu/pumice/silicon/profile"
)

// chipSched lets a chip live in a World. The chip calls Unpark and Interrupt with its own locks held, which the World does not know: nobody else may
// run then, so both are done by a task.
type chipSched struct{ sched.World }

func (s chipSched) Go(name string, f func()) { s.World.Go("chip: "+name, true, f) }
func (s chipSched) NewParker() silicon.Parker {
	return &chipParker{w: s.World, q: s.NewWaitQueue("chip")}
}

type chipParker struct {
	w   sched.World
	q   sched.WaitQueue
	set bool
}

func (p *chipParker) Park(d time.Duration) bool {
	return p.q.Wait(func() bool { was := p.set; p.set = false; return was }, d)
}

func (p *chipParker) Unpark() {
	p.set = true
	p.w.Go("unpark", false, p.q.Wake)
}

// chip is an MI210 with its driver (kernel/amdgpu) in a World. It implements svmsim.Hardware.
type chip struct {
	w    sched.World
	chip *silicon.Device
	dev  *amdgpu.Device
	line amdgpu.Line

	xnack bool
	procs map[*svmsim.Process]*chipProc
	bells uint32
	fault error // what a wave or a queue died of
}

// chipProc is a process on a chip.
type chipProc struct {
	p      *svmsim.Process
	vm     *amdgpu.VM
	queues []*chipQueue
	object uint64 // kernel object
}

func newChip(w sched.World, xnack bool) (*chip, error) {
	pr, err := profile.Load("mi210")
	if err != nil {
		return nil, err
	}
	c := &chip{w: w, xnack: xnack, procs: map[*svmsim.Process]*chipProc{}, bells: 0x400}
	c.chip, err = silicon.New(pr, silicon.Config{Sched: chipSched{w}, Engine: interp.New(), Workers: 2, VRAMSize: 32 << 20,
		Interrupt: func() { w.Go("interrupt", false, c.line.Raise) },
		Hooks: silicon.Hooks{
			WaveFault:  func(f *silicon.FaultInfo) { c.fault = fmt.Errorf("%v at %#x, PC %#x: %s", f.Kind, f.VA, f.PC, f.Text) },
			QueueError: func(f *silicon.QueueFault) { c.fault = errors.New(f.Text) },
		}})
	if err != nil {
		return nil, err
	}
	if c.dev, err = amdgpu.New(w, pr, amdgpu.Silicon(c.chip), nil, &c.line); err != nil {
		return nil, err
	}
	c.dev.Start(func(e ih.Entry) bool { return e.Source != ih.SourceVMFault }, c.serve)
	return c, nil
}

// serve serves a retry fault, as kernel/kfd does.
func (c *chip) serve(e ih.Entry) {
	for _, x := range c.procs {
		if x.vm.VMID() != e.VMID || e.Data[1]&ih.FaultRetry == 0 {
			continue
		}
		err := x.p.On[0].SVM.HandleFault(e.FaultVA(), e.Data[1]&ih.FaultWrite != 0)
		if err != nil {
			_ = x.vm.SetPage(e.FaultVA(), c.dev.PTE.NoRetry())
		}
		x.vm.Flush()
	}
}

func (c *chip) VRAM() []byte { return c.chip.VRAM().Bytes()[c.dev.SVMBase:] }

// of is what the chip has of a process, made when it is first asked for.
func (c *chip) of(p *svmsim.Process) *chipProc {
	x := c.procs[p]
	if x == nil {
		vm, err := c.dev.NewVM()
		if err == nil {
			err = c.dev.Bind(vm, silicon.VMContext{PASID: uint32(len(c.procs) + 1), SharedBase: 1 << 48, PrivateBase: 2 << 48, Retry: c.xnack})
		}
		if err != nil {
			c.w.Fail(err)
		}
		x = &chipProc{p: p, vm: vm}
		c.procs[p] = x
	}
	return x
}

func (c *chip) Enter(p *svmsim.Process, addr uint64, page []byte, f svm.PTEFlags) error {
	at, base := uint64(uintptr(unsafe.Pointer(&page[0]))), uint64(uintptr(c.chip.VRAM().Base()))
	e := amdgpu.Extent{Addr: at, Len: mm.PageSize, System: true}
	if at-base < c.chip.VRAM().Size() {
		e.Addr, e.System = at-base, false
	}
	if e.Addr&(mm.PageSize-1) != 0 {
		c.w.Fail(fmt.Errorf("a page at %#x", at))
	}
	fl := amdgpu.PageFlags{Flags: pte.Read}
	if f.Write {
		fl.Flags |= pte.Write
	}
	return c.of(p).vm.Enter(addr, []amdgpu.Extent{e}, fl)
}

func (c *chip) Clear(p *svmsim.Process, start, end uint64) { c.of(p).vm.Clear(start, end-start) }

func (c *chip) Flush(p *svmsim.Process) { c.of(p).vm.Flush() }

func (c *chip) Stop(p *svmsim.Process) error {
	for _, q := range c.of(p).queues {
		if err := c.chip.UnloadQueue(q.id, silicon.Preempt); err != nil {
			return err
		}
	}
	return nil
}

func (c *chip) Start(p *svmsim.Process) {
	for _, q := range c.of(p).queues {
		if err := q.load(); err != nil {
			c.w.Fail(err)
		}
	}
}

// stores is the kernel of the test, for gfx90a: stores 64 bits at an address; both are its arguments.
var stores = []uint32{
	0xc00a0100, 0, // s_load_dwordx4 s[4:7], s[0:1], 0x0
	0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
	0x7e000204, 0x7e020205, // v_mov_b32 v0, s4; v_mov_b32 v1, s5
	0x7e040206, 0x7e060207, // v_mov_b32 v2, s6; v_mov_b32 v3, s7
	0xdc748000, 0x007f0200, // global_store_dwordx2 v[0:1], v[2:3], off
	0xbf8c0f70, // s_waitcnt vmcnt(0)
	0xbf810000, // s_endpgm
}

const codeVA = 0x7000_0000_0000

// kernel puts the kernel into video memory, once for a process.
func (c *chip) kernel(p *svmsim.Process) (object uint64, err error) {
	x := c.of(p)
	if x.object != 0 {
		return x.object, nil
	}
	bo, err := c.dev.NewBO(amdgpu.VRAM, mm.PageSize)
	if err != nil {
		return 0, err
	}
	host, _ := bo.Host(0)
	b := unsafe.Slice((*byte)(host), mm.PageSize)
	d := codeobj.Descriptor{EntryOffset: 256, KernargSize: 16, RSRC1: 2 | 0xf<<16 | 1<<21 | 1<<23, RSRC2: 2 << 1, Properties: codeobj.EnableKernargSegmentPtr}
	raw := d.Encode()
	copy(b, raw[:])
	for i, w := range stores {
		binary.LittleEndian.PutUint32(b[256+4*i:], w)
	}
	off := uint64(uintptr(host)) - uint64(uintptr(c.chip.VRAM().Base()))
	x.object = codeVA
	return codeVA, x.vm.Map(codeVA, mm.PageSize, []amdgpu.Extent{{Addr: off, Len: mm.PageSize}}, amdgpu.PageFlags{Flags: pte.Read | pte.Exec}, x)
}

// chipQueue is an AQL queue in memory of a process: a page for the ring, one for the pointers, one for signals, one for arguments.
type chipQueue struct {
	c      *chip
	p      *svmsim.Process
	id     silicon.QueueID
	at     uint64
	object uint64
	mqd    []uint32
	bell   *uint64
	dword  uint32
	n      uint64
}

const (
	ringAt    = 0
	recordAt  = mm.PageSize
	signalAt  = 2 * mm.PageSize
	argsAt    = 3 * mm.PageSize
	queueSize = 4 * mm.PageSize
	slots     = mm.PageSize / aql.PacketSize
	wptrAt    = recordAt + 56
)

func (c *chip) newQueue(p *svmsim.Process, at uint64) (*chipQueue, error) {
	q := &chipQueue{c: c, p: p, at: at, id: silicon.QueueID{Class: silicon.Compute, Slot: int(c.bells)}, mqd: make([]uint32, mqd.ComputeWords), dword: c.bells}
	c.bells += 2
	var err error
	if q.object, err = c.kernel(p); err != nil {
		return nil, err
	}
	for i := range uint64(slots) {
		if err := p.Store64(at+i*aql.PacketSize, uint64(aql.Invalid)); err != nil {
			return nil, err
		}
	}
	q.bell = (*uint64)(unsafe.Add(c.chip.Doorbells().Base(), q.dword*4))
	m := mqd.Compute{RingBase: at, RingBytes: mm.PageSize, RptrAddr: at + recordAt + aql.ReadDispatchIDOffset, WptrAddr: at + wptrAt, DoorbellDword: q.dword,
		VMID: c.of(p).vm.VMID(), AQL: true, Active: true}
	for i := range m.CUMask {
		m.CUMask[i] = ^uint32(0)
	}
	if err := m.Encode(c.dev.MQD, q.mqd); err != nil {
		return nil, err
	}
	c.of(p).queues = append(c.of(p).queues, q)
	if p.On[0].Stopped() {
		return q, nil // Start loads it
	}
	return q, q.load()
}

func (q *chipQueue) load() error {
	return q.c.chip.LoadQueue(q.id, unsafe.Pointer(&q.mqd[0]), uint32(q.c.of(q.p).vm.VMID()))
}

// submit asks for a store, and rings perhaps before the packet is whole.
func (q *chipQueue) submit(addr, v uint64, early bool) (signal uint64, err error) {
	i := q.n % slots
	q.n++
	slot, args := q.at+i*aql.PacketSize, q.at+argsAt+i*16
	signal = q.at + signalAt + i*64
	p := aql.Raw(aql.DispatchPacket{Header: aql.MakeHeader(aql.KernelDispatch, true, aql.ScopeSystem, aql.ScopeSystem), Setup: 1, GridSizeX: 64, GridSizeY: 1,
		GridSizeZ: 1, WorkgroupSizeX: 64, WorkgroupSizeY: 1, WorkgroupSizeZ: 1, KernelObject: q.object, KernargAddress: args, CompletionSignal: aql.SignalHandle(signal)})
	store := func(at, x uint64) { err = errors.Join(err, q.p.Store64(at, x)) }
	store(args, addr)
	store(args+8, v)
	store(signal, uint64(aql.SignalUser))
	store(signal+8, 1)
	store(q.at+wptrAt, q.n)
	if early {
		q.ring()
	}
	for k := uint64(8); k < aql.PacketSize; k += 8 {
		store(slot+k, binary.LittleEndian.Uint64(p[k:]))
	}
	store(slot, binary.LittleEndian.Uint64(p[:]))
	q.ring()
	return signal, err
}

func (q *chipQueue) ring() {
	*q.bell = q.n - 1
	q.c.chip.RingDoorbell(q.dword)
}

// wait waits for a signal.
func (q *chipQueue) wait(signal uint64) error {
	for end := q.c.w.Now() + 10*time.Second; ; q.c.w.Sleep(20 * time.Microsecond) {
		v, err := q.p.Load64(signal + 8)
		switch {
		case err != nil:
			return err
		case q.c.fault != nil:
			return q.c.fault
		case v == 0:
			return nil
		case q.c.w.Now() > end:
			return errors.New("the signal does not come")
		}
	}
}

// onChip lets kernels of a real queue store into memory that is moved, swapped out and shared with children meanwhile, under a second process that
// wants the video memory too.
func onChip(cfg svmsim.Config, c *chip) func(w sched.World) {
	return func(w sched.World) {
		must := func(what string, err error) {
			if err != nil {
				w.Fail(fmt.Errorf("%s: %w", what, err))
			}
		}
		m := svmsim.New(w, cfg)
		const n = 8
		left := 2
		end := w.NewWaitQueue("end")
		var ps []*svmsim.Process
		for k := range 2 {
			p, err := m.NewProcess(fmt.Sprint("p", k))
			must("process", err)
			ps = append(ps, p)
			must("mmap", p.Mmap(base, n*mm.PageSize, rw, mm.Anon))
			must("mmap", p.Mmap(base+queueAt, queueSize, rw, mm.Anon))
			d := p.On[0].SVM
			access := []svm.Attr{{Type: svm.AttrAccess, Value: svm.AccessAllowMigrate}}
			must("access", d.SetAttrs(base, n*mm.PageSize, access))
			must("access", queueMemory(p, base+queueAt, cfg.XNACK))
			q, err := c.newQueue(p, base+queueAt)
			must("queue", err)
			busy := true
			w.Go("user"+p.Name, false, func() {
				for i := range uint64(25) {
					addr, v := base+w.Rand64()%n*mm.PageSize+w.Rand64()%4*8, i+1
					s, err := q.submit(addr, v, w.Rand64()%4 == 0)
					must("submit", err)
					must("wait", q.wait(s))
					got, err := p.Load64(addr)
					must("load", err)
					if got != v {
						w.Fail(fmt.Errorf("%s: %#x holds %d, want %d", p.Name, addr, got, v))
					}
				}
				busy = false
				left--
				end.Wake()
			})
			w.Go("mover"+p.Name, false, func() {
				for busy {
					at, size := base+w.Rand64()%n*mm.PageSize, mm.PageSize*(1+w.Rand64()%3)
					if w.Rand64()%4 == 0 {
						at, size = base+queueAt+w.Rand64()%4*mm.PageSize, mm.PageSize
					}
					size = min(size, base+n*mm.PageSize-min(at, base+(n-1)*mm.PageSize))
					switch w.Rand64() % 6 {
					case 0, 1, 2:
						must("prefetch", d.SetAttrs(at, size, []svm.Attr{{Type: svm.AttrPrefetchLoc, Value: uint32(w.Rand64() % 2)}}))
					case 3:
						p.Reclaim(at, size, 2)
					case 4:
						p.Fork(fmt.Sprint("child", w.Rand64())).Exit()
					case 5:
						w.Sleep(time.Duration(w.Rand64()%3) * time.Millisecond)
					}
					must("check", p.Check())
				}
				left--
				end.Wake()
			})
			left += 2
		}
		left -= 2
		end.Wait(func() bool { return left == 0 }, sched.Forever)
		for _, p := range ps {
			x := c.of(p)
			qs := x.queues
			x.queues = nil
			for _, q := range qs {
				if err := c.chip.UnloadQueue(q.id, silicon.Kill); err != nil && !p.On[0].Stopped() {
					w.Fail(err)
				}
			}
			p.Close()
			c.dev.Unbind(x.vm)
			x.vm.Close()
		}
	}
}

// queueMemory makes memory fit for a queue: it is to be mapped when the queue is loaded.
func queueMemory(p *svmsim.Process, at uint64, xnack bool) error {
	if v, ok := p.On[0].SVM.(kfdsvm.View); ok {
		list := []kfd.SVMAttribute{{Type: kfd.SVMAttrAccessInPlace, Value: v.ID()}, {Type: kfd.SVMAttrSetFlags, Value: kfd.SVMFlagGPUAlwaysMapped}}
		return v.S.SetAttrs(at, queueSize, list)
	}
	err := p.On[0].SVM.SetAttrs(at, queueSize, []svm.Attr{{Type: svm.AttrAccess, Value: svm.AccessInPlace}})
	for i := uint64(0); xnack && i < queueSize; i += mm.PageSize {
		err = errors.Join(err, p.On[0].Access(at+i, true, func([]byte) {}))
	}
	return err
}

// queueAt is where a queue is, behind base.
const queueAt = 64 * mm.PageSize

// TestRealQueue runs queues of real silicon, with its command processor, its compute units and the interpreter, in the simulated world.
func TestRealQueue(t *testing.T) {
	for _, engine := range []svmsim.Engine{svmsim.DRM, svmsim.KFD} {
		for _, xnack := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/xnack=%v", engineName[engine], xnack), func(t *testing.T) {
				first := firstSeed()
				for seed := first; seed < first+uint64(max(ops(t, 1000)/100, 1)); seed++ {
					if err := realQueue(engine, xnack, seed); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
				}
			})
		}
	}
}

// TestRealQueueFound: a CPU fault held its page and waited for the list of ranges, while a GPU fault held the list and waited for the page, which a fork
// had made read-only.
func TestRealQueueFound(t *testing.T) {
	if err := realQueue(svmsim.KFD, true, 283665341); err != nil {
		t.Error(err)
	}
}

func realQueue(engine svmsim.Engine, xnack bool, seed uint64) error {
	s := sched.NewSim(sched.SimConfig{Seed: seed})
	var c *chip
	err := s.Run(func() {
		var err error
		if c, err = newChip(s, xnack); err != nil {
			s.Fail(err)
		}
		cfg := small(svmsim.Config{Engine: engine, XNACK: xnack, Policy: svm.EvictFence, Hardware: func(int) svmsim.Hardware { return c }})
		onChip(cfg, c)(s)
	})
	if c != nil && c.chip != nil {
		c.chip.Close()
	}
	return err
}
