package hip

import (
	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Virtual memory management: a program reserves addresses, creates memory, maps the one at the other, and says which devices may use it.

// Allocation is what hipMemAllocationProp says, in no particular layout.
type Allocation struct {
	Type     int32
	Handles  int32
	Location Location
}

// The layouts of hipMemAllocationProp: HIP 5.2 begins with a byte for compression, later ones with the type. Only pinned memory (1) of a device (1) can be asked
// for, so a program's structure shows which one it is.
const (
	propOld = iota
	propNew
)

func readProp(p uintptr) (a Allocation, layout int) {
	word := func(i uintptr) int32 { return *(*int32)(pointer(p + 4*i)) }
	if word(0)&0xff == allocPinned && word(2) == locationDevice && word(4) != allocPinned {
		return Allocation{Type: word(0), Handles: word(1), Location: Location{word(2), word(3)}}, propNew
	}
	return Allocation{Type: word(4), Handles: word(3), Location: Location{word(1), word(2)}}, propOld
}

func (a *Allocation) write(p uintptr, layout int) {
	clear(bytesAt(p, 32))
	word := func(i uintptr, v int32) { *(*int32)(pointer(p + 4*i)) = v }
	if layout == propNew {
		word(0, a.Type)
		word(1, a.Handles)
		word(2, a.Location.Type)
		word(3, a.Location.ID)
		return
	}
	word(1, a.Location.Type)
	word(2, a.Location.ID)
	word(3, a.Handles)
	word(4, a.Type)
}

// physical is a hipMemGenericAllocationHandle_t.
type physical struct {
	handle uintptr
	h      *clr.Physical
	prop   Allocation
	layout int
	d      *clr.Device
	refs   int  // handles of the program; guarded by API.mu
	maps   int  // guarded by API.mu
	gone   bool // no handle is left; guarded by API.mu
}

// MemGranularity is hipMemGetAllocationGranularity: option 0 is the least, 1 the recommended.
func (a *API) MemGranularity(out *uint64, prop uintptr, option int32) Error {
	if out == nil || prop == 0 || option < 0 || option > 1 {
		return ErrInvalidValue
	}
	p, _ := readProp(prop)
	d, e := a.allocationDevice(&p)
	if e != Success {
		return e
	}
	*out = d.VRAM().VMemGranule(option == 1)
	return Success
}

func (a *API) allocationDevice(p *Allocation) (*clr.Device, Error) {
	if p.Type != allocPinned || p.Location.Type != locationDevice {
		return nil, ErrInvalidValue
	}
	d, e := a.deviceAt(p.Location.ID)
	if e != Success {
		return nil, ErrInvalidValue
	}
	return d, Success
}

// MemAddressReserve takes addresses, at hint if that is free.
func (a *API) MemAddressReserve(out *uintptr, size, align uint64, hint uintptr, flags uint64) Error {
	if out == nil || flags != 0 {
		return ErrInvalidValue
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	if size == 0 || size%clr.Granule != 0 || align&(align-1) != 0 {
		return ErrOutOfMemory // as AMD's runtime says
	}
	va, err := a.rt.HSA.ReserveAddress(uint64(hint), size, align)
	if err != nil {
		return ErrOutOfMemory
	}
	*out = uintptr(va)
	return Success
}

// MemAddressFree gives a whole reservation back.
func (a *API) MemAddressFree(p uintptr, size uint64) Error {
	if p == 0 || size == 0 {
		return ErrInvalidValue
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	if err := a.rt.HSA.FreeAddress(uint64(p), size); err != nil {
		return ErrInvalidValue
	}
	return Success
}

// MemCreate makes memory without an address.
func (a *API) MemCreate(out *uintptr, size uint64, prop uintptr, flags uint64) Error {
	if out == nil || size == 0 || prop == 0 || flags != 0 {
		return ErrInvalidValue
	}
	p, layout := readProp(prop)
	d, e := a.allocationDevice(&p)
	if e != Success {
		return e
	}
	if p.Handles != handleNone && p.Handles != handleFD {
		return ErrNotSupported
	}
	if total, _ := d.Agent.Node.LocalMemory(); size > total {
		return ErrOutOfMemory
	}
	if size%clr.Granule != 0 {
		return ErrInvalidValue
	}
	h, err := d.VRAM().CreatePhysical(size)
	if err != nil {
		return ErrOutOfMemory
	}
	x := &physical{h: h, prop: p, layout: layout, d: d, refs: 1}
	x.handle = a.physicals.add(x)
	*out = x.handle
	return Success
}

// MemRelease takes a handle away. Memory that is mapped stays until it is unmapped.
func (a *API) MemRelease(h uintptr) Error {
	x := a.physicals.get(h)
	if x == nil {
		return ErrInvalidValue
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.gone {
		return ErrInvalidValue
	}
	x.refs--
	if x.refs == 0 {
		x.gone = true
		if x.maps == 0 {
			a.physicals.remove(h)
		}
		_, err := x.h.Release()
		return a.fromErr(err)
	}
	return Success
}

// MemRetain returns the handle of what is mapped at an address, which must be released once more.
func (a *API) MemRetain(out *uintptr, p uintptr) Error {
	if out == nil || p == 0 || len(a.devices()) == 0 {
		return ErrInvalidValue
	}
	m := a.rt.Find(uint64(p))
	if m == nil {
		return ErrInvalidValue
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.mapped[m]
	if x == nil {
		return ErrInvalidValue
	}
	if x.gone {
		x.gone = false
		x.h.Retain()
	}
	x.refs++
	*out = x.handle
	return Success
}

// MemGetProperties describes a memory as it was asked for.
func (a *API) MemGetProperties(prop, h uintptr) Error {
	x := a.physicals.get(h)
	if prop == 0 || x == nil {
		return ErrInvalidValue
	}
	x.prop.write(prop, x.layout)
	return Success
}

// MemMap maps a whole memory in a reservation. No device reaches it before MemSetAccess.
func (a *API) MemMap(p uintptr, size, offset uint64, h uintptr, flags uint64) Error {
	x := a.physicals.get(h)
	if p == 0 || size == 0 || offset != 0 || flags != 0 || x == nil || x.gone {
		return ErrInvalidValue
	}
	hm, err := a.rt.HSA.MapPhysical(x.h, uint64(p), size)
	if err != nil {
		return ErrInvalidValue
	}
	m := x.d.AdoptMapping(hm)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mapped == nil {
		a.mapped = map[*clr.Memory]*physical{}
	}
	a.mapped[m] = x
	x.maps++
	return Success
}

// MemUnmap ends the mappings that fill a range, after waiting for the devices. The addresses stay reserved.
func (a *API) MemUnmap(p uintptr, size uint64) Error {
	if p == 0 || size == 0 || len(a.devices()) == 0 {
		return ErrInvalidValue
	}
	var list []*clr.Memory
	a.mu.Lock()
	for at := uint64(p); at < uint64(p)+size; {
		m := a.rt.Find(at)
		if m == nil || a.mapped[m] == nil || m.Ptr != at || m.Size > uint64(p)+size-at {
			a.mu.Unlock()
			return ErrInvalidValue
		}
		list = append(list, m)
		at += m.Size
	}
	a.mu.Unlock()
	for _, d := range a.devices() {
		if err := d.Synchronize(); err != nil && d.Err() == nil {
			return a.fromErr(err)
		}
	}
	for _, m := range list {
		if err := a.rt.DropMapping(m); err != nil {
			return a.fromErr(err)
		}
		a.mu.Lock()
		x := a.mapped[m]
		delete(a.mapped, m)
		if x.maps--; x.maps == 0 && x.gone {
			a.physicals.remove(x.handle)
		}
		a.mu.Unlock()
	}
	return Success
}

// MemSetAccess says what devices may do with the mappings that fill a range.
func (a *API) MemSetAccess(p uintptr, size uint64, descs []AccessDesc) Error {
	if p == 0 || size == 0 || len(descs) == 0 {
		return ErrInvalidValue
	}
	for _, x := range descs {
		if _, e := a.deviceAt(x.Location.ID); e != Success || x.Location.Type != locationDevice || x.Flags != 0 && x.Flags != 1 && x.Flags != 3 {
			return ErrInvalidValue
		}
	}
	for _, x := range descs {
		d := a.devices()[x.Location.ID]
		if err := a.rt.HSA.SetAccess(uint64(p), size, d.Agent, clr.Access(x.Flags)); err != nil {
			return ErrInvalidValue
		}
	}
	for at := uint64(p); at < uint64(p)+size; {
		m := a.rt.Find(at)
		if m == nil {
			break
		}
		m.Remap()
		at = m.Ptr + m.Size
	}
	return Success
}

// MemGetAccess tells what a device may do with what is mapped at an address.
func (a *API) MemGetAccess(out *uint64, l *Location, p uintptr) Error {
	if out == nil || l == nil || p == 0 || l.Type != locationDevice {
		return ErrInvalidValue
	}
	d, e := a.deviceAt(l.ID)
	if e != Success {
		return ErrInvalidValue
	}
	x, err := a.rt.HSA.GetAccess(uint64(p), d.Agent)
	if err != nil {
		return ErrInvalidValue
	}
	*out = uint64(x)
	return Success
}

// MemExport makes a file descriptor of a memory, for another process.
func (a *API) MemExport(out *int32, h uintptr, kind int32, flags uint64) Error {
	x := a.physicals.get(h)
	if out == nil || x == nil || x.gone || flags != 0 || kind == handleNone || kind != x.prop.Handles {
		return ErrInvalidValue
	}
	fd, err := x.h.Export()
	if err != nil {
		return a.fromErr(err)
	}
	*out = int32(fd)
	return Success
}

// sharedFD reads the descriptor in a parameter that programs fill in two ways: with the number itself, or with the address of a variable that holds it.
func sharedFD(p uintptr) int {
	const largest = 1 << 20
	if p < largest {
		return int(p)
	}
	fd, ok := load[int32](p)
	if !ok {
		return -1
	}
	return int(fd)
}

// MemImport makes a handle of memory from a file descriptor.
func (a *API) MemImport(t *Thread, out *uintptr, shared uintptr, kind int32) Error {
	if out == nil || shared == 0 || kind != handleFD {
		return ErrInvalidValue
	}
	if _, e := a.device(t); e != Success {
		return e
	}
	h, err := a.rt.HSA.ImportPhysical(sharedFD(shared))
	if err != nil {
		return ErrInvalidValue
	}
	for i, d := range a.devices() {
		if d.Agent == h.Pool.Agent {
			x := &physical{h: h, prop: Allocation{Type: allocPinned, Handles: kind, Location: Location{locationDevice, int32(i)}}, layout: propNew, d: d, refs: 1}
			if a.Face <= 5 {
				x.layout = propOld
			}
			x.handle = a.physicals.add(x)
			*out = x.handle
			return Success
		}
	}
	_, _ = h.Release()
	return ErrInvalidDevice
}
