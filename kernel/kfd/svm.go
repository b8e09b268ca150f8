package kfd

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/segment"
	"golang.org/x/sys/unix"
)

// svmState is the process's shared virtual memory while it stays in host memory: attributes by address, and which pages each GPU
// has mapped. A page's GPU entry is its host address. Guarded by process.mu.
//
// With XNACK off, an access attribute maps its range at once, because the hardware cannot wait for a page. With XNACK on a range is
// mapped when a wave misses it.
//
// fidelity: approximate SVM: memory stays in the host; prefetch and preferred locations are remembered and answered, pages do not move
type svmState struct {
	attrs segment.Set[svmAttrs]
}

// svmAttrs are the attributes of a range. GPU sets are bit masks by node.
type svmAttrs struct {
	preferred, prefetch uint32
	flags               uint32
	granularity         uint8
	access              uint64 // GPUs with ACCESS
	inPlace             uint64 // GPUs with ACCESS_IN_PLACE
	none                uint64 // GPUs with NO_ACCESS
}

// svmOwner marks SVM mappings in a VM's list.
type svmOwner struct{}

var svmMapping = &svmOwner{}

const defaultGranularity = 9

func (s *svmState) init() {}

// defaults are what a range has whose attributes were never set: with XNACK on, every GPU may fault it in.
func (p *process) defaults() svmAttrs {
	a := svmAttrs{preferred: kfd.SVMLocationUndefined, prefetch: kfd.SVMLocationUndefined,
		flags: kfd.SVMFlagHostAccess | kfd.SVMFlagCoherent, granularity: defaultGranularity}
	if p.xnack {
		a.inPlace = 0
		a.access = 1<<len(p.pdds) - 1
	}
	return a
}

// overlaps reports whether a registered range lies in [va, va+size).
func (s *svmState) overlaps(va, size uint64) bool {
	g, ok := s.attrs.Next(va)
	return ok && g.Start < va+size
}

// mapped reports whether [va, va+size) is SVM memory that a GPU has mapped.
func (s *svmState) mapped(pd *pdd, va, size uint64) bool {
	for at := va &^ (pte.PageSize - 1); at < va+size; at += pte.PageSize {
		if _, ok := pd.vm.Lookup(at); !ok {
			return false
		}
	}
	return true
}

func (s *svmState) close(p *process) {}

// newGPU maps what a GPU may access that has joined late.
func (s *svmState) newGPU(p *process, pd *pdd) error {
	if p.xnack {
		return nil
	}
	bit := uint64(1) << (pd.node.index - 1)
	for g := range s.attrs.All(0, ^uint64(0)) {
		if (g.Value.access|g.Value.inPlace)&bit != 0 {
			_ = p.svmMap(pd, g.Start, g.End, g.Value.flags)
		}
	}
	return nil
}

// svm is AMDKFD_IOC_SVM.
func (p *process) svm(b []byte) error {
	h, attrs, err := kfd.DecodeSVM(b)
	if err != nil {
		return unix.EINVAL
	}
	if h.StartAddr&(pte.PageSize-1) != 0 || h.Size&(pte.PageSize-1) != 0 || h.Size == 0 || h.StartAddr == 0 || h.StartAddr+h.Size < h.StartAddr {
		return unix.EINVAL
	}
	if h.StartAddr+h.Size > amdgpu.MaxVA {
		return unix.EFAULT
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch h.Op {
	case kfd.SVMOpSetAttr:
		return p.svmSet(h.StartAddr, h.StartAddr+h.Size, attrs)
	case kfd.SVMOpGetAttr:
		if err := p.svmGet(h.StartAddr, h.StartAddr+h.Size, attrs); err != nil {
			return err
		}
		for i, a := range attrs {
			kfd.Encode(b[kfd.SizeofSVMArgs+i*kfd.SizeofSVMAttribute:], a)
		}
		return nil
	}
	return unix.EINVAL
}

// gpuBit is a GPU's bit in the access sets, 0 for an unknown one.
func (p *process) gpuBit(gpuID uint32) uint64 {
	if pd, err := p.pdd(gpuID); err == nil {
		return 1 << (pd.node.index - 1)
	}
	return 0
}

// svmCheck refuses attributes that make no sense.
func (p *process) svmCheck(attrs []kfd.SVMAttribute) error {
	if len(attrs) == 0 {
		return unix.EINVAL
	}
	for _, a := range attrs {
		switch a.Type {
		case kfd.SVMAttrPreferredLoc:
			if a.Value != kfd.SVMLocationSysmem && a.Value != kfd.SVMLocationUndefined && p.gpuBit(a.Value) == 0 {
				return unix.EINVAL
			}
		case kfd.SVMAttrPrefetchLoc:
			if a.Value == kfd.SVMLocationUndefined || a.Value != kfd.SVMLocationSysmem && p.gpuBit(a.Value) == 0 {
				return unix.EINVAL
			}
		case kfd.SVMAttrAccess, kfd.SVMAttrAccessInPlace, kfd.SVMAttrNoAccess:
			if p.gpuBit(a.Value) == 0 {
				return unix.EINVAL
			}
		case kfd.SVMAttrSetFlags, kfd.SVMAttrClrFlags, kfd.SVMAttrGranularity:
		default:
			return unix.EINVAL
		}
	}
	return nil
}

func (p *process) svmSet(start, end uint64, attrs []kfd.SVMAttribute) error {
	if err := p.svmCheck(attrs); err != nil {
		return err
	}
	// Every page must be somebody's memory, and no buffer may stand there on a GPU.
	if err := amdgpu.Mapped(start, end-start); err != nil {
		return unix.EFAULT
	}
	for _, pd := range p.pdds {
		if pd.vm != nil && pd.foreign(start, end) {
			return unix.EADDRINUSE
		}
	}
	s := &p.ranges
	s.attrs.SplitAt(start)
	s.attrs.SplitAt(end)
	type piece struct {
		start, end uint64
		old, new   svmAttrs
		known      bool
	}
	var pieces []piece
	for g, ok := range s.attrs.Cover(start, end) {
		old := g.Value
		if !ok {
			old = p.defaults()
		}
		pieces = append(pieces, piece{g.Start, g.End, old, p.apply(old, attrs), ok})
	}
	for _, x := range pieces {
		if x.known {
			s.attrs.Set(x.start, x.new)
		} else {
			s.attrs.Insert(x.start, x.end, x.new)
		}
		if err := p.svmUpdate(x.start, x.end, x.old, x.new); err != nil {
			return err
		}
	}
	return nil
}

// apply is the attributes after a call.
func (p *process) apply(a svmAttrs, attrs []kfd.SVMAttribute) svmAttrs {
	for _, x := range attrs {
		bit := p.gpuBit(x.Value)
		switch x.Type {
		case kfd.SVMAttrPreferredLoc:
			a.preferred = x.Value
		case kfd.SVMAttrPrefetchLoc:
			a.prefetch = x.Value
		case kfd.SVMAttrAccess:
			a.access, a.inPlace, a.none = a.access|bit, a.inPlace&^bit, a.none&^bit
		case kfd.SVMAttrAccessInPlace:
			a.access, a.inPlace, a.none = a.access&^bit, a.inPlace|bit, a.none&^bit
		case kfd.SVMAttrNoAccess:
			a.access, a.inPlace, a.none = a.access&^bit, a.inPlace&^bit, a.none|bit
		case kfd.SVMAttrSetFlags:
			a.flags |= x.Value
		case kfd.SVMAttrClrFlags:
			a.flags &^= x.Value
		case kfd.SVMAttrGranularity:
			a.granularity = uint8(min(x.Value, 0x3f))
		}
	}
	return a
}

// svmUpdate brings page tables in line with new attributes.
func (p *process) svmUpdate(start, end uint64, old, new svmAttrs) error {
	const mappingFlags = kfd.SVMFlagCoherent | kfd.SVMFlagGPURO | kfd.SVMFlagGPUExec | kfd.SVMFlagExtCoherent
	for _, pd := range p.pdds {
		if pd.vm == nil {
			continue
		}
		bit := uint64(1) << (pd.node.index - 1)
		may := (new.access|new.inPlace)&bit != 0
		_, there := pd.vm.Lookup(start)
		switch {
		case !may:
			if there {
				if err := pd.vm.Unmap(start, end-start); err != nil {
					return err
				}
			}
		case p.xnack && !there && new.flags&kfd.SVMFlagGPUAlwaysMapped == 0:
			// The next miss brings it.
		default:
			if there && (old.flags^new.flags)&mappingFlags == 0 {
				continue
			}
			if err := p.svmMap(pd, start, end, new.flags); err != nil {
				return err
			}
		}
	}
	return nil
}

// foreign reports whether something that is not SVM is mapped in [start, end).
func (pd *pdd) foreign(start, end uint64) bool {
	for at := start; at < end; {
		s, n, owner, ok := pd.vm.NextMapping(at)
		if !ok || s >= end {
			return false
		}
		if owner != any(svmMapping) {
			return true
		}
		at = s + n
	}
	return false
}

// svmMap enters host memory into a GPU's page tables.
func (p *process) svmMap(pd *pdd, start, end uint64, flags uint32) error {
	f := amdgpu.PageFlags{Flags: pte.Read | pte.Write | pte.Snooped}
	write := flags&kfd.SVMFlagGPURO == 0
	if !write {
		f.Flags &^= pte.Write
	}
	if flags&kfd.SVMFlagGPUExec != 0 {
		f.Flags |= pte.Exec
	}
	if err := amdgpu.Populate(start, end-start, write); err != nil {
		// A mapping that the process itself may only read is read-only for the GPU too.
		if !write || amdgpu.Populate(start, end-start, false) != nil {
			return unix.EFAULT
		}
		f.Flags &^= pte.Write
	}
	coherent := flags&(kfd.SVMFlagCoherent|kfd.SVMFlagExtCoherent) != 0
	f.MType = MTypeOf(pd.node.dev, false, false, false, coherent, flags&kfd.SVMFlagExtCoherent != 0)
	return pd.vm.Map(start, end-start, []amdgpu.Extent{{Addr: start, Len: end - start, System: true}}, f, svmMapping)
}

// svmGet folds attributes over a range: what differs is undefined, access is the least, flags are those that all have.
func (p *process) svmGet(start, end uint64, attrs []kfd.SVMAttribute) error {
	for _, a := range attrs {
		switch a.Type {
		case kfd.SVMAttrPreferredLoc, kfd.SVMAttrPrefetchLoc, kfd.SVMAttrSetFlags, kfd.SVMAttrClrFlags, kfd.SVMAttrGranularity:
		case kfd.SVMAttrAccess, kfd.SVMAttrAccessInPlace, kfd.SVMAttrNoAccess:
			if p.gpuBit(a.Value) == 0 {
				return unix.EINVAL
			}
		default:
			return unix.EINVAL
		}
	}
	if err := amdgpu.Mapped(start, end-start); err != nil {
		return unix.EFAULT
	}
	first := true
	var preferred, prefetch uint32
	set, clr := ^uint32(0), ^uint32(0)
	gran := uint8(0x3f)
	all := uint64(1)<<len(p.pdds) - 1
	access, inPlace := all, all
	for g, ok := range p.ranges.attrs.Cover(start, end) {
		v := g.Value
		if !ok {
			v = p.defaults()
		}
		if first {
			preferred, prefetch = v.preferred, v.prefetch
		}
		first = false
		if v.preferred != preferred {
			preferred = kfd.SVMLocationUndefined
		}
		if v.prefetch != prefetch {
			prefetch = kfd.SVMLocationUndefined
		}
		set, clr = set&v.flags, clr&^v.flags
		gran = min(gran, v.granularity)
		access &= v.access
		inPlace &= v.access | v.inPlace
	}
	for i := range attrs {
		a := &attrs[i]
		switch a.Type {
		case kfd.SVMAttrPreferredLoc:
			a.Value = preferred
		case kfd.SVMAttrPrefetchLoc:
			a.Value = prefetch
		case kfd.SVMAttrSetFlags:
			a.Value = set
		case kfd.SVMAttrClrFlags:
			a.Value = clr
		case kfd.SVMAttrGranularity:
			a.Value = uint32(gran)
		default:
			// The type is rewritten to what holds on the whole range.
			bit := p.gpuBit(a.Value)
			switch {
			case access&bit != 0:
				a.Type = kfd.SVMAttrAccess
			case inPlace&bit != 0:
				a.Type = kfd.SVMAttrAccessInPlace
			default:
				a.Type = kfd.SVMAttrNoAccess
			}
		}
	}
	return nil
}

// retryFault serves a wave that waits for the page at va.
func (s *svmState) retryFault(p *process, pd *pdd, va uint64, write bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bit := uint64(1) << (pd.node.index - 1)
	a, start, end := p.defaults(), va, va+pte.PageSize
	if g, ok := s.attrs.Find(va); ok {
		a = g.Value
		size := uint64(pte.PageSize) << min(a.granularity, 20)
		start = max(g.Start, va&^(size-1))
		end = min(g.End, va&^(size-1)+size)
	} else if mbits := amdgpu.Mapped(va, pte.PageSize); mbits == nil {
		// Unregistered memory (malloc): as much of a naturally aligned 64 KiB as is there.
		start, end = mappedAround(va, 64<<10)
	}
	ok := (a.access|a.inPlace)&bit != 0 && !(write && a.flags&kfd.SVMFlagGPURO != 0)
	if ok && !pd.foreign(start, end) && p.svmMap(pd, start, end, a.flags) == nil {
		pd.vm.Flush()
		return
	}
	if ok && (end-start) > pte.PageSize && !pd.foreign(va, va+pte.PageSize) && p.svmMap(pd, va, va+pte.PageSize, a.flags) == nil {
		pd.vm.Flush()
		return
	}
	// Nobody can bring it: make the fault final.
	_ = pd.vm.SetPage(va, pd.node.dev.PTE.NoRetry())
	pd.vm.Flush()
}

// mappedAround returns the largest aligned power-of-two range up to size around va that the process has mapped.
func mappedAround(va, size uint64) (start, end uint64) {
	for n := size; n > pte.PageSize; n = 1 << (bits.Len64(n) - 2) {
		s := va &^ (n - 1)
		if amdgpu.Mapped(s, n) == nil {
			return s, s + n
		}
	}
	return va &^ (pte.PageSize - 1), va&^(pte.PageSize-1) + pte.PageSize
}

// NotifyUnmap tells the driver that the process has unmapped (or is about to replace) [addr, addr+n) of its own memory: SVM mappings
// of it end. It is what an MMU notifier tells Linux's driver.
func (d *Driver) NotifyUnmap(addr, n uint64) {
	d.mu.Lock()
	p := d.proc
	d.mu.Unlock()
	if p == nil || n == 0 || addr+n < addr || addr >= amdgpu.MaxVA {
		return
	}
	start, end := addr&^(pte.PageSize-1), (addr+n+pte.PageSize-1)&^(pte.PageSize-1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranges.attrs.Clear(start, end)
	for _, pd := range p.pdds {
		if pd.vm == nil {
			continue
		}
		for at := start; at < end; {
			s, size, owner, ok := pd.vm.NextMapping(at)
			if !ok || s >= end {
				break
			}
			if owner == any(svmMapping) {
				from, to := max(s, start), min(s+size, end)
				_ = pd.vm.Unmap(from, to-from)
			}
			at = s + size
		}
	}
}
