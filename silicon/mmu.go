package silicon

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// NumVMIDs is the number of address spaces that the chip can hold at once.
const NumVMIDs = 16

// Bits of an entry that every generation has at the same place (abi/pte has the whole layout, and a test compares).
const (
	pteValid  = 1 << 0
	pteSystem = 1 << 1
	pteExec   = 1 << 4
	pteRead   = 1 << 5
	pteWrite  = 1 << 6
	ptePage   = 0x0000_ffff_ffff_f000
	pdeTable  = 0x0000_ffff_ffff_ffc0
)

// vm is one VMID: the walker of its page tables, and the accesses of CP and SDMA, which do not go through a worker's TLB.
// Every such access holds guard for reading while it uses a host address; FlushTLB takes it for writing.
type vm struct {
	dev *Device
	id  uint32

	guard   sync.RWMutex
	ctx     atomic.Pointer[vmState]
	flushes atomic.Uint64 // TLB flushes so far
	gws     gws
}

func retryable(err error) bool {
	f, ok := err.(*mem.Fault)
	return ok && f.Kind == mem.FaultRetry
}

// vmState is a VMID's registers. A new one, with a new Space, is made by each SetVMID.
type vmState struct {
	VMContext
	space *mem.Space
	root  uint64
}

// SetVMID loads the registers of a VMID; nil disables it. No queue may be loaded on the VMID when its process changes; a
// driver that only changes Retry or the trap handler of the same root may do so at any time.
func (d *Device) SetVMID(vmid uint32, c *VMContext) error {
	if vmid >= NumVMIDs {
		return fmt.Errorf("silicon: VMID %d, there are %d", vmid, NumVMIDs)
	}
	v := &d.vms[vmid]
	old := v.ctx.Load()
	if c == nil {
		_ = d.SetGWS(vmid, 0)
		v.ctx.Store(nil)
		d.FlushTLB(vmid)
		if old != nil {
			old.space.Flush()
			if d.cfg.Engine != nil {
				d.cfg.Engine.Forget(old.space)
			}
		}
		return nil
	}
	n := &vmState{VMContext: *c, root: c.PageDirectoryBase}
	if old != nil && old.root == n.root && old.SharedBase == n.SharedBase && old.PrivateBase == n.PrivateBase {
		n.space = old.space // same address space: keep its compiled code
	} else {
		n.space = &mem.Space{Translator: v, ID: vmid, SharedBase: c.SharedBase, PrivateBase: c.PrivateBase}
	}
	v.ctx.Store(n)
	d.FlushTLB(vmid)
	if old != nil && old.space != n.space {
		old.space.Flush()
		if d.cfg.Engine != nil {
			d.cfg.Engine.Forget(old.space)
		}
	}
	return nil
}

// FlushTLB returns when no wave, CP or SDMA access can use a translation read from the page tables before the call. Waves that
// wait for a retry fault try again.
func (d *Device) FlushTLB(vmid uint32) {
	if vmid >= NumVMIDs {
		return
	}
	v := &d.vms[vmid]
	v.guard.Lock()
	v.guard.Unlock() //lint:ignore SA2001 all readers that came before are gone
	if s := v.ctx.Load(); s != nil {
		s.space.Flush()
	}
	d.retry(vmid)
}

// Translate walks the page tables. It implements mem.Translator.
func (v *vm) Translate(va uint64, a mem.Access) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	s := v.ctx.Load()
	if s == nil {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	if top := va >> 48; top != 0 && top != 0xffff {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultAperture}
	}
	entry, shift := v.walk(s.root, va)
	if entry&pteValid == 0 {
		return v.notValid(s, va, a, entry)
	}
	var rights mem.Access
	if entry&pteRead != 0 {
		rights |= mem.Read
	}
	if entry&pteWrite != 0 {
		rights |= mem.Write
	}
	if entry&pteExec != 0 {
		rights |= mem.Exec
	}
	if a&^rights != 0 {
		kind := mem.FaultNotPresent
		switch missing := a &^ rights; {
		case missing&mem.Exec != 0:
			kind = mem.FaultNoExec
		case missing&mem.Write != 0 && rights&mem.Read != 0:
			kind = mem.FaultReadOnly
		}
		if s.Retry {
			kind = mem.FaultRetry
		}
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: kind}
	}
	in := va & (1<<shift - 1)
	n := uint64(1)<<shift - in
	if shift == pte.PageShift {
		// FRAGMENT promises that the naturally aligned run around the page goes on; a run beyond one table is not followed.
		if f := uint(entry >> 7 & 31); f > 0 {
			run := uint64(1) << (pte.PageShift + min(f, pte.LevelBits))
			n = run - va&(run-1)
		}
	}
	addr := entry&ptePage&^(1<<shift-1) + in
	if entry&pteSystem != 0 {
		return pointer(addr), n, rights, nil
	}
	vram := v.dev.vram
	if addr >= vram.size {
		return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent}
	}
	return unsafe.Add(vram.base, addr), min(n, vram.size-addr), rights, nil
}

// notValid is the slow end of Translate: a hole, a PRT page, or an entry that the driver made to end a retry.
func (v *vm) notValid(s *vmState, va uint64, a mem.Access, entry uint64) (unsafe.Pointer, uint64, mem.Access, *mem.Fault) {
	g := v.dev.pteGen
	if e := g.DecodePTE(entry); e.Is(pte.PRT) && !e.Is(pte.Exec) {
		// Partially resident: reads give zero, writes go nowhere.
		in := va & (pte.PageSize - 1)
		if a&mem.Write != 0 {
			return unsafe.Add(v.dev.sink, in), pte.PageSize - in, mem.Write, nil
		}
		return unsafe.Add(v.dev.zero, in), pte.PageSize - in, mem.Read, nil
	}
	kind := mem.FaultNotPresent
	if s.Retry && !g.IsNoRetry(entry) {
		kind = mem.FaultRetry
	}
	return nil, 0, 0, &mem.Fault{VA: va, Access: a, Kind: kind}
}

// walk returns the leaf that translates va, or the first entry that is not valid, and the log2 of the bytes that it covers.
func (v *vm) walk(root, va uint64) (entry uint64, shift uint) {
	entry = root
	for level := pte.PDB2; ; level++ {
		if entry&pteValid == 0 {
			return entry, level.Shift() + pte.LevelBits
		}
		table := entry&pdeTable + level.Index(va)*pte.EntryBytes
		var p unsafe.Pointer
		if entry&pteSystem != 0 {
			p = pointer(table)
		} else if table+pte.EntryBytes <= v.dev.vram.size {
			p = unsafe.Add(v.dev.vram.base, table)
		} else {
			return 0, level.Shift() // a table outside the memory maps nothing
		}
		entry = atomic.LoadUint64((*uint64)(p))
		if level == pte.PTB || entry&pteValid != 0 && v.dev.pteGen.IsLeaf(entry) {
			return entry, level.Shift()
		}
	}
}

// missing says for an interrupt what the page of a failed access did not have.
func (v *vm) missing(f *mem.Fault) (notPresent, noRead, noWrite bool) {
	s := v.ctx.Load()
	if s == nil {
		return true, false, false
	}
	e, _ := v.walk(s.root, f.VA)
	if e&pteValid == 0 {
		return true, false, false
	}
	return false, e&pteRead == 0, e&pteWrite == 0
}

// use calls f with each host-contiguous piece of [va, va+n); the pieces may not be kept.
func (v *vm) use(va, n uint64, a mem.Access, f func(b []byte)) (err error) {
	if n == 0 {
		return nil
	}
	v.guard.RLock()
	defer v.guard.RUnlock()
	defer caught(debug.SetPanicOnFault(true), va, a, &err)
	for n > 0 {
		p, m, _, fault := v.Translate(va, a)
		if fault != nil {
			fault.Lane = -1
			return fault
		}
		m = min(m, n)
		f(unsafe.Slice((*byte)(p), m))
		va, n = va+m, n-m
	}
	return nil
}

// caught ends an access that began with debug.SetPanicOnFault(true): it turns a fault of this process (system memory that went away under
// the page tables) into a memory fault. It is deferred directly, without a closure: there are several accesses in a launch.
func caught(old bool, va uint64, a mem.Access, err *error) {
	debug.SetPanicOnFault(old)
	if r := recover(); r != nil {
		if _, ok := r.(interface{ Addr() uintptr }); !ok {
			panic(r)
		}
		*err = &mem.Fault{VA: va, Access: a, Kind: mem.FaultNotPresent, Lane: -1}
	}
}

// word calls f with the host address of the naturally aligned datum of n bytes at va.
func (v *vm) word(va, n uint64, a mem.Access, f func(p unsafe.Pointer)) (err error) {
	if va&(n-1) != 0 {
		return &mem.Fault{VA: va, Access: a, Kind: mem.FaultUnaligned, Lane: -1}
	}
	v.guard.RLock()
	defer v.guard.RUnlock()
	defer caught(debug.SetPanicOnFault(true), va, a, &err)
	p, _, _, fault := v.Translate(va, a)
	if fault != nil {
		fault.Lane = -1
		return fault
	}
	f(p)
	return nil
}

func (v *vm) load32(va uint64) (x uint32, err error) {
	err = v.word(va, 4, mem.Read, func(p unsafe.Pointer) { x = atomic.LoadUint32((*uint32)(p)) })
	return
}

func (v *vm) load64(va uint64) (x uint64, err error) {
	err = v.word(va, 8, mem.Read, func(p unsafe.Pointer) { x = atomic.LoadUint64((*uint64)(p)) })
	return
}

func (v *vm) store32(va uint64, x uint32) error {
	return v.word(va, 4, mem.Write, func(p unsafe.Pointer) { atomic.StoreUint32((*uint32)(p), x) })
}

func (v *vm) store64(va uint64, x uint64) error {
	return v.word(va, 8, mem.Write, func(p unsafe.Pointer) { atomic.StoreUint64((*uint64)(p), x) })
}

func (v *vm) add64(va uint64, x uint64) error {
	return v.word(va, 8, mem.Read|mem.Write, func(p unsafe.Pointer) { atomic.AddUint64((*uint64)(p), x) })
}

func (v *vm) read(va uint64, b []byte) error {
	return v.use(va, uint64(len(b)), mem.Read, func(p []byte) { b = b[copy(b, p):] })
}

func (v *vm) write(va uint64, b []byte) error {
	return v.use(va, uint64(len(b)), mem.Write, func(p []byte) { b = b[copy(p, b):] })
}
