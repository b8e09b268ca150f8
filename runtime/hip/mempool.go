package hip

import (
	"slices"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Memory pools. hipMallocAsync takes memory out of a pool in the order of a stream, hipFreeAsync gives it back in the order of a stream. The pool keeps what is free,
// with the stream that gave it back: the same stream can have it again at once, because its work is in order; another when the first has come so far, or when it is
// made to wait for it. What is free beyond the release threshold goes back to the device when the program next waits for a stream, an event or the device.

const (
	allocPinned    = 1
	locationDevice = 1
	handleNone     = 0
	handleFD       = 1
)

// pool is a hipMemPool_t, guarded by API.memMu.
type pool struct {
	handle uintptr
	d      *clr.Device
	props  PoolProps
	def    bool // the device's own, which cannot be destroyed
	gone   bool // destroyed; memory in use lives on

	imported bool // another process's: it gives no memory

	policy    [3]int32 // reuse: follow event dependencies, opportunistic, internal dependencies
	threshold uint64
	used      map[uint64]*poolBlock // by address
	free      []*poolBlock
	access    map[*clr.Device]int32

	usedBytes, usedHigh, reserved, reservedHigh uint64
}

type poolBlock struct {
	m *clr.Memory
	p *pool
	q *clr.HostQueue // that freed it
}

// done reports whether the stream has come past the point where the block was freed.
func (b *poolBlock) done() bool {
	idle, err := b.q.Idle()
	return err != nil || idle
}

// Attributes of pools (hipMemPoolAttr).
const (
	poolReuseFollowEvent = iota + 1
	poolReuseOpportunistic
	poolReuseInternal
	poolReleaseThreshold
	poolReservedCurrent
	poolReservedHigh
	poolUsedCurrent
	poolUsedHigh
)

// pools of the API: by device the default one and the current one.
type pools struct {
	table   handles[pool]
	def     map[int32]*pool // guarded by API.memMu
	current map[int32]*pool // guarded by API.memMu
	// idle counts bytes that are free in pools beyond their thresholds, so that a wait does not look for nothing.
	idle atomic.Int64
}

func (a *API) newPoolLocked(d *clr.Device, props PoolProps) *pool {
	p := &pool{d: d, props: props, policy: [3]int32{1, 1, 1}, used: map[uint64]*poolBlock{}, access: map[*clr.Device]int32{d: 3}}
	p.handle = a.pools.table.add(p)
	if a.poolSet == nil {
		a.poolSet = map[*pool]bool{}
	}
	a.poolSet[p] = true
	return p
}

// defaultPoolLocked returns a device's own pool.
func (a *API) defaultPoolLocked(dev int32) *pool {
	p := a.pools.def[dev]
	if p == nil {
		if a.pools.def == nil {
			a.pools.def, a.pools.current = map[int32]*pool{}, map[int32]*pool{}
		}
		p = a.newPoolLocked(a.devices()[dev], PoolProps{AllocType: allocPinned, HandleTypes: handleNone, Location: Location{locationDevice, dev}})
		p.def = true
		a.pools.def[dev] = p
	}
	return p
}

func (a *API) currentPoolLocked(dev int32) *pool {
	if p := a.pools.current[dev]; p != nil {
		return p
	}
	return a.defaultPoolLocked(dev)
}

// DeviceGetPool returns a device's current pool, or its default one.
func (a *API) DeviceGetPool(out *uintptr, dev int32, def bool) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if _, e := a.deviceAt(dev); e != Success {
		if def {
			return e
		}
		return ErrInvalidValue
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	p := a.defaultPoolLocked(dev)
	if !def {
		p = a.currentPoolLocked(dev)
	}
	*out = p.handle
	return Success
}

// DeviceSetPool makes a pool the one that hipMallocAsync takes from.
func (a *API) DeviceSetPool(dev int32, h uintptr) Error {
	p := a.pools.table.get(h)
	if p == nil {
		return ErrInvalidValue
	}
	if _, e := a.deviceAt(dev); e != Success {
		return ErrInvalidValue
	}
	if p.d.Index != int(dev) {
		return ErrInvalidDevice
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	a.defaultPoolLocked(dev)
	a.pools.current[dev] = p
	return Success
}

// PoolCreate makes a pool.
func (a *API) PoolCreate(out *uintptr, props *PoolProps) Error {
	if out == nil || props == nil || props.AllocType != allocPinned || props.Location.Type != locationDevice {
		return ErrInvalidValue
	}
	if props.HandleTypes != handleNone && props.HandleTypes != handleFD {
		return ErrInvalidValue
	}
	d, e := a.deviceAt(props.Location.ID)
	if e != Success {
		return ErrInvalidValue
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	*out = a.newPoolLocked(d, *props).handle
	return Success
}

// PoolDestroy ends a pool. Memory in use stays until it is freed.
func (a *API) PoolDestroy(h uintptr) Error {
	a.memMu.Lock()
	p := a.pools.table.get(h)
	if p == nil || p.def {
		a.memMu.Unlock()
		return ErrInvalidValue
	}
	a.pools.table.remove(h)
	dev := int32(p.d.Index)
	if a.pools.current[dev] == p {
		a.pools.current[dev] = nil
	}
	p.gone, p.threshold = true, 0
	a.memMu.Unlock()
	a.trim(p, 0, true)
	return Success
}

// MallocAsync takes memory from a pool, 0 for the device's current one, in the order of a stream.
func (a *API) MallocAsync(t *Thread, out *uintptr, size uint64, h, s uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	dev := int32(q.Device().Index)
	a.memMu.Lock()
	p := a.currentPoolLocked(dev)
	a.memMu.Unlock()
	if h != 0 {
		if p = a.pools.table.get(h); p == nil {
			return ErrInvalidValue
		}
	}
	if size == 0 {
		*out = 0
		if h != 0 {
			return ErrInvalidValue
		}
		return Success
	}
	if a.capturing() {
		done, e := a.captured(t, s, func() (nodeOp, Error) {
			m, e := a.newGraphMemory(int32(p.d.Index), size)
			if e != Success {
				return nil, e
			}
			*out = uintptr(m.m.Ptr)
			return &allocOp{MemAllocNodeParams{Props: PoolProps{AllocType: allocPinned, Location: Location{locationDevice, int32(p.d.Index)}}, Size: size, Ptr: *out}, m}, Success
		})
		if done {
			return e
		}
	}
	if p.imported {
		return ErrInvalidValue
	}
	ptr, e := a.allocate(p, size, q)
	if e == Success {
		*out = uintptr(ptr)
	}
	return e
}

// allocate takes memory out of a pool for a stream.
func (a *API) allocate(p *pool, size uint64, q *clr.HostQueue) (uint64, Error) {
	if total, _ := p.d.Agent.Node.LocalMemory(); size > total {
		return 0, ErrOutOfMemory
	}
	a.memMu.Lock()
	b := p.reuse(size, q)
	if b != nil {
		p.takeLocked(b)
		a.memMu.Unlock()
		return b.m.Ptr, Success
	}
	a.memMu.Unlock()
	m, err := p.d.Alloc(size)
	if codeOf(err) == ErrOutOfMemory {
		// What pools keep is there for whoever needs it.
		a.memMu.Lock()
		var all []*pool
		for _, x := range a.pools.def {
			all = append(all, x)
		}
		all = append(all, p)
		a.memMu.Unlock()
		for _, x := range all {
			if x.d == p.d {
				a.trim(x, 0, true)
			}
		}
		m, err = p.d.Alloc(size)
	}
	if err != nil {
		return 0, a.fromErr(err)
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	for d := range p.access {
		if d != p.d {
			if err := a.rt.Reach(m, d); err != nil {
				a.rt.Discard(m)
				return 0, a.fromErr(err)
			}
		}
	}
	p.reserved += m.Size
	p.reservedHigh = max(p.reservedHigh, p.reserved)
	p.takeLocked(&poolBlock{m: m, p: p})
	return m.Ptr, Success
}

func (p *pool) takeLocked(b *poolBlock) {
	b.q = nil
	p.used[b.m.Ptr] = b
	p.usedBytes += b.m.Size
	p.usedHigh = max(p.usedHigh, p.usedBytes)
}

// reuse finds a free block that is large enough, and not much larger: one that the stream itself freed, one whose stream is past it, or, where the pool allows, one for
// which the stream is made to wait.
func (p *pool) reuse(size uint64, q *clr.HostQueue) *poolBlock {
	best, rank := -1, 0
	for i, b := range p.free {
		if b.m.Size < size || b.m.Size > 2*size && b.m.Size > 64<<10 {
			continue
		}
		r := 0
		switch {
		case b.q == q:
			r = 3
		case p.policy[1] != 0 && b.done():
			r = 2
		case p.policy[2] != 0:
			r = 1
		}
		if r > rank || r == rank && r > 0 && b.m.Size < p.free[best].m.Size {
			best, rank = i, r
		}
	}
	if best < 0 {
		return nil
	}
	b := p.free[best]
	if rank == 1 {
		if e, err := b.q.Last(); err == nil && e != nil {
			q.WaitFor(e)
		}
	}
	p.free = slices.Delete(p.free, best, best+1)
	return b
}

// FreeAsync gives memory back in the order of a stream. Memory that is no pool's is freed when the stream has come so far, which the call waits for.
func (a *API) FreeAsync(t *Thread, ptr, s uintptr) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	if ptr == 0 {
		return ErrInvalidValue
	}
	m := a.rt.Find(uint64(ptr))
	if m == nil || m.Ptr != uint64(ptr) || m.Kind != clr.DeviceMemory || m.Mapped || m.Attached && !a.pooled(m) {
		return ErrInvalidValue
	}
	if a.capturing() {
		if done, e := a.captured(t, s, func() (nodeOp, Error) { return a.newFreeOp(m), Success }); done {
			return e
		}
	}
	return a.freeOrdered(q, ptr)
}

// freeOrdered frees memory of a graph, of a pool, or of the device, after what a stream has been given.
func (a *API) freeOrdered(q *clr.HostQueue, ptr uintptr) Error {
	m := a.rt.Find(uint64(ptr))
	if m == nil || m.Ptr != uint64(ptr) {
		return ErrInvalidValue
	}
	if mine, e := a.freeGraphMemory(m); mine {
		return e
	}
	if mine, e := a.freeToPool(q, m); mine {
		return e
	}
	if err := q.Finish(); err != nil {
		return a.fromErr(err)
	}
	return a.fromErr(a.rt.Free(m))
}

// pooled reports whether memory is of a pool, and in use.
func (a *API) pooled(m *clr.Memory) bool {
	a.memMu.Lock()
	defer a.memMu.Unlock()
	for p := range a.poolSet {
		if p.used[m.Ptr] != nil {
			return true
		}
	}
	return false
}

// freeToPool gives memory back to the pool that it is of, and reports whether there is one. Without a stream nothing uses the memory any more.
func (a *API) freeToPool(q *clr.HostQueue, m *clr.Memory) (bool, Error) {
	a.memMu.Lock()
	defer a.memMu.Unlock()
	var b *poolBlock
	for p := range a.poolSet {
		if b = p.used[m.Ptr]; b != nil {
			break
		}
		if slices.ContainsFunc(p.free, func(f *poolBlock) bool { return f.m == m }) {
			return true, ErrInvalidValue // freed twice
		}
	}
	if b == nil {
		return false, Success
	}
	p := b.p
	delete(p.used, m.Ptr)
	p.usedBytes -= m.Size
	if b.q = q; q == nil {
		b.q = p.d.NullQueue()
	}
	if p.imported {
		// The memory is not to be used again: it is the other process's.
		p.reserved -= m.Size
		_, err := b.q.Host(func() error { a.rt.Discard(m); return nil })
		return true, a.fromErr(err)
	}
	p.free = append(p.free, b)
	if p.reserved > p.threshold {
		a.pools.idle.Store(1)
	}
	return true, Success
}

// trim gives free blocks back to the device until a pool holds no more than keep bytes. Blocks whose stream is not past them are waited for or left.
func (a *API) trim(p *pool, keep uint64, wait bool) {
	for i := 0; ; {
		a.memMu.Lock()
		if p.reserved <= keep || i >= len(p.free) {
			a.memMu.Unlock()
			return
		}
		b := p.free[i]
		if !b.done() {
			if !wait {
				i++
				a.memMu.Unlock()
				continue
			}
			a.memMu.Unlock()
			_ = b.q.Finish()
			continue
		}
		p.free = slices.Delete(p.free, i, i+1)
		p.reserved -= b.m.Size
		a.memMu.Unlock()
		a.rt.Discard(b.m)
	}
}

// trimPools is called when the program has waited for something: pools give back what is beyond their thresholds.
func (a *API) trimPools() {
	if a.pools.idle.Load() == 0 || a.pools.idle.Swap(0) == 0 {
		return
	}
	a.memMu.Lock()
	var all []*pool
	for p := range a.poolSet {
		all = append(all, p)
	}
	a.memMu.Unlock()
	for _, p := range all {
		a.trim(p, p.threshold, false)
		a.memMu.Lock()
		if len(p.free) > 0 && p.reserved > p.threshold {
			a.pools.idle.Store(1)
		}
		if p.gone && len(p.used) == 0 && len(p.free) == 0 {
			delete(a.poolSet, p)
		}
		a.memMu.Unlock()
	}
}

// PoolTrim gives memory back to the device until no more than keep bytes are held.
func (a *API) PoolTrim(h uintptr, keep uint64) Error {
	p := a.pools.table.get(h)
	if p == nil {
		return ErrInvalidValue
	}
	a.trim(p, keep, false)
	return Success
}

// PoolSetAttribute changes an attribute; v points to an int for the policies, to 64 bits for the rest.
func (a *API) PoolSetAttribute(h uintptr, attr int32, v uintptr) Error {
	p := a.pools.table.get(h)
	if p == nil || v == 0 {
		return ErrInvalidValue
	}
	var x uint64
	if b := structBytes(&x)[:poolAttributeSize(attr)]; !LoadMemory(b, v) {
		return ErrInvalidValue
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	switch attr {
	case poolReuseFollowEvent, poolReuseOpportunistic, poolReuseInternal:
		p.policy[attr-poolReuseFollowEvent] = int32(x)
	case poolReleaseThreshold:
		p.threshold = x
		a.pools.idle.Store(1)
	case poolReservedHigh, poolUsedHigh:
		if x != 0 {
			return ErrInvalidValue
		}
		if attr == poolUsedHigh {
			p.usedHigh = p.usedBytes
		} else {
			p.reservedHigh = p.reserved
		}
	default:
		return ErrInvalidValue
	}
	return Success
}

// PoolGetAttribute reads an attribute.
func (a *API) PoolGetAttribute(h uintptr, attr int32, v uintptr) Error {
	p := a.pools.table.get(h)
	if p == nil || v == 0 {
		return ErrInvalidValue
	}
	x, ok := a.poolAttribute(p, attr)
	if !ok || !StoreMemory(v, structBytes(&x)[:poolAttributeSize(attr)]) {
		return ErrInvalidValue
	}
	return Success
}

// poolAttributeSize is the size of an attribute's value.
func poolAttributeSize(attr int32) int {
	switch attr {
	case poolReuseFollowEvent, poolReuseOpportunistic, poolReuseInternal:
		return 4
	}
	return 8
}

func (a *API) poolAttribute(p *pool, attr int32) (uint64, bool) {
	a.memMu.Lock()
	defer a.memMu.Unlock()
	switch attr {
	case poolReuseFollowEvent, poolReuseOpportunistic, poolReuseInternal:
		return uint64(p.policy[attr-poolReuseFollowEvent]), true
	case poolReleaseThreshold:
		return p.threshold, true
	case poolReservedCurrent:
		return p.reserved, true
	case poolReservedHigh:
		return p.reservedHigh, true
	case poolUsedCurrent:
		return p.usedBytes, true
	case poolUsedHigh:
		return p.usedHigh, true
	}
	return 0, false
}

// PoolSetAccess lets other devices reach a pool's memory, what there is and what will be.
func (a *API) PoolSetAccess(h uintptr, descs []AccessDesc) Error {
	p := a.pools.table.get(h)
	if p == nil {
		return ErrInvalidValue
	}
	for _, x := range descs {
		d, e := a.deviceAt(x.Location.ID)
		switch {
		case x.Location.Type != locationDevice:
			return ErrInvalidValue
		case e != Success:
			return ErrInvalidDevice
		case x.Flags == 0 && d == p.d: // the pool's own device always has access
			return ErrInvalidDevice
		case x.Flags != 0 && x.Flags != 1 && x.Flags != 3:
			return ErrInvalidValue
		}
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	for _, x := range descs {
		d := a.devices()[x.Location.ID]
		if x.Flags == 0 {
			delete(p.access, d)
			continue
		}
		p.access[d] = x.Flags
		if d == p.d {
			continue
		}
		for _, b := range p.used {
			if err := a.rt.Reach(b.m, d); err != nil {
				return a.fromErr(err)
			}
		}
		for _, b := range p.free {
			if err := a.rt.Reach(b.m, d); err != nil {
				return a.fromErr(err)
			}
		}
	}
	return Success
}

// PoolGetAccess tells what access a device has.
func (a *API) PoolGetAccess(out *int32, h uintptr, l *Location) Error {
	p := a.pools.table.get(h)
	if p == nil || out == nil || l == nil || l.Type != locationDevice {
		return ErrInvalidValue
	}
	d, e := a.deviceAt(l.ID)
	if e != Success {
		return ErrInvalidValue
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	*out = p.access[d]
	return Success
}
