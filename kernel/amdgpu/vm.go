package amdgpu

import (
	"fmt"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

var vmClass = &sched.Class{Name: "amdgpu_vm", Rank: 710, Nests: true}

// MaxVA is one past the highest GPU virtual address that user space may map.
const MaxVA = 1 << 47

// MinVA is the lowest one (AMDGPU_VA_RESERVED_BOTTOM).
const MinVA = 64 << 10

// Extent is a run of memory as a page table sees it.
type Extent struct {
	Addr   uint64 // VRAM offset, or bus address
	Len    uint64 // bytes
	System bool
}

// PageFlags is how a mapping is to be entered into the page table: pte.Read, Write, Exec, Snooped, NoAlloc, and a cache
// policy.
type PageFlags struct {
	Flags pte.Flags
	MType pte.MType
}

// VM is a GPU address space. Safe for concurrent use.
type VM struct {
	gen   pte.Gen
	mem   tables
	flush func(vm *VM) // returns when no translation made before is in use

	mu    sched.Mutex
	root  *table   // guarded by mu
	limbo []uint64 // tables to free after the next flush; guarded by mu
	maps  []mapping
	gone  bool // guarded by mu: Close was called

	vmid atomic.Int32 // 0: none
}

// newVM makes an empty address space.
func newVM(w sched.World, gen pte.Gen, mem tables, flush func(*VM)) (*VM, error) {
	v := &VM{gen: gen, mem: mem, flush: flush, mu: w.NewMutex(vmClass)}
	var err error
	v.root, err = v.newTable(pte.PDB2)
	return v, err
}

// Base is the value of the VMID's page directory base register.
func (v *VM) Base() uint64 { return v.gen.EncodePDE(pte.Entry{Addr: v.root.addr, Flags: pte.Valid}) }

// VMID returns the hardware context the VM is bound to, 0 when it has none.
func (v *VM) VMID() uint8 { return uint8(v.vmid.Load()) }

// checkRange refuses ranges outside the address space or not page aligned: EINVAL.
func checkRange(va, size uint64) error {
	if size == 0 || (va|size)&(pte.PageSize-1) != 0 || va < MinVA || va >= MaxVA || size > MaxVA-va {
		return unix.EINVAL
	}
	return nil
}

// Map enters [va, va+size) into the page tables: the extents in order, which must be at least size long, page by page
// aligned. What was mapped there is replaced. owner is remembered for Find. Errors: EINVAL, ENOMEM (then nothing of the range is mapped).
func (v *VM) Map(va, size uint64, ext []Extent, f PageFlags, owner any) error {
	if err := checkRange(va, size); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return unix.EINVAL
	}
	end := va + size
	v.breakFragments(va, end)
	at, replaced := va, false
	for _, e := range ext {
		if at == end {
			break
		}
		n := min(e.Len, end-at)
		if (e.Addr|n)&(pte.PageSize-1) != 0 {
			v.abort(va, at)
			return unix.EINVAL
		}
		fl := f.Flags | pte.Valid
		if e.System {
			fl |= pte.System
		}
		r, err := v.enter(at, n, pte.Entry{Addr: e.Addr, Flags: fl, MType: f.MType})
		replaced = replaced || r
		if err != nil {
			v.abort(va, at+n)
			return err
		}
		at += n
	}
	if at != end {
		v.abort(va, at)
		return unix.EINVAL
	}
	v.forget(va, end)
	v.remember(mapping{va, size, owner})
	if replaced || len(v.limbo) > 0 {
		v.flushLocked()
	}
	return nil
}

// abort takes back what a failed Map has entered.
func (v *VM) abort(va, end uint64) {
	if end > va {
		_ = v.clear(v.root, va, end)
	}
	v.forget(va, end)
	v.flushLocked()
}

// Unmap clears [va, va+size) and returns when no translation of it can be in use.
func (v *VM) Unmap(va, size uint64) error {
	if err := checkRange(va, size); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return nil
	}
	v.breakFragments(va, va+size)
	if err := v.clear(v.root, va, va+size); err != nil {
		return err
	}
	v.forget(va, va+size)
	v.flushLocked()
	return nil
}

// Enter writes entries for the extents from va on, over what is there, without entering a mapping into the list and without a flush: shared
// virtual memory keeps its own books and flushes when it must.
func (v *VM) Enter(va uint64, ext []Extent, f PageFlags) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return unix.EINVAL
	}
	var size uint64
	for _, e := range ext {
		size += e.Len
	}
	if err := checkRange(va, size); err != nil {
		return err
	}
	v.breakFragments(va, va+size)
	for _, e := range ext {
		fl := f.Flags | pte.Valid
		if e.System {
			fl |= pte.System
		}
		if _, err := v.enter(va, e.Len, pte.Entry{Addr: e.Addr, Flags: fl, MType: f.MType}); err != nil {
			return err
		}
		va += e.Len
	}
	return nil
}

// Clear empties [va, va+size) without a flush. Where a huge entry would have to be split and there is no memory for a table, all of it
// goes: who uses it asks again.
func (v *VM) Clear(va, size uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone || checkRange(va, size) != nil {
		return
	}
	v.breakFragments(va, va+size)
	if v.clear(v.root, va, va+size) != nil {
		lo, hi := va&^(pte.HugeSize-1), (va+size+pte.HugeSize-1)&^(pte.HugeSize-1)
		_ = v.clear(v.root, lo, hi)
	}
}

// SetPage replaces the leaf of one page (SVM and the fault handler use it). raw entries are the caller's; flush is theirs too.
func (v *VM) SetPage(va uint64, raw uint64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone || checkRange(va&^(pte.PageSize-1), pte.PageSize) != nil {
		return unix.EINVAL
	}
	va &^= pte.PageSize - 1
	v.breakFragments(va, va+pte.PageSize)
	t, err := v.descend(va)
	if err != nil {
		return err
	}
	v.put(t, pte.PTB.Index(va), raw)
	return nil
}

// Flush waits until every cached translation of the VM is gone.
func (v *VM) Flush() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.flushLocked()
}

func (v *VM) flushLocked() {
	if v.flush != nil {
		v.flush(v)
	}
	for _, a := range v.limbo {
		v.mem.freeTable(a)
	}
	v.limbo = v.limbo[:0]
}

// Close frees all tables. Nothing may use the VM's VMID any more.
func (v *VM) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return
	}
	v.gone = true
	v.maps = nil
	v.discard(v.root)
	v.flushLocked()
}

func (v *VM) String() string { return fmt.Sprintf("vm(root %#x, vmid %d)", v.root.addr, v.VMID()) }
