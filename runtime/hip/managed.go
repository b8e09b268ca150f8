package hip

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Managed memory is at one address for host and devices, and its pages move to who uses them. Advice says where pages should be, who may use them where they are, and how
// coherent they have to be; a prefetch moves them now.

const (
	attachGlobal = 1
	attachHost   = 2
	attachSingle = 4

	cpuDevice     int32 = -1
	invalidDevice int32 = -2

	maxAccessedBy = 1 << 20 // how many devices one may ask for
)

// MallocManaged is hipMallocManaged.
func (a *API) MallocManaged(t *Thread, out *uintptr, size uint64, flags uint32) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	if out == nil || size == 0 || flags != attachGlobal && flags != attachHost {
		return ErrInvalidValue
	}
	if e := a.refuseUnsafe(t); e != Success {
		return e
	}
	m, err := d.AllocManaged(size)
	if err != nil {
		if e := a.fromErr(err); e != ErrInvalidValue {
			return e
		}
		return ErrOutOfMemory // the size is the only argument of the allocation
	}
	m.Flags = flags
	*out = uintptr(m.Ptr)
	return Success
}

// managedRange checks a range of managed memory; with retry faults on, all memory of the process is managed.
func (a *API) managedRange(p uintptr, size uint64) (m *clr.Memory, _ Error) {
	m = a.rt.Find(uint64(p))
	if m == nil {
		if a.rt.HSA.XNACK() {
			return nil, Success
		}
		return nil, ErrInvalidValue
	}
	if m.Kind != clr.ManagedMemory || size > m.Size-(uint64(p)-m.Ptr) {
		return nil, ErrInvalidValue
	}
	return m, Success
}

// advice is what each value of hipMemoryAdvise sets; the agent is filled in.
var advice = map[int32]clr.SVMAttribute{
	1:   {Attr: clr.SVMReadMostly, Value: 1},
	2:   {Attr: clr.SVMReadMostly, Value: 0},
	3:   {Attr: clr.SVMPreferredLocation},
	4:   {Attr: clr.SVMPreferredLocation},
	5:   {Attr: clr.SVMAccessibleInPlace},
	6:   {Attr: clr.SVMAccessible},
	100: {Attr: clr.SVMGlobalFlag, Value: 1},
	101: {Attr: clr.SVMGlobalFlag, Value: 0},
}

// agentOf is the agent of a device number; -1 is the CPU.
func (a *API) agentOf(device int32) (*clr.Agent, Error) {
	if device == cpuDevice {
		return a.rt.HSA.CPU(), Success
	}
	d, e := a.deviceAt(device)
	if e != Success {
		return nil, e
	}
	return d.Agent, Success
}

// MemAdvise gives advice about managed memory.
func (a *API) MemAdvise(t *Thread, p uintptr, size uint64, what, device int32) Error {
	if _, e := a.device(t); e != Success {
		return e
	}
	x, known := advice[what]
	if readMostly := what == 1 || what == 2; !readMostly || device != invalidDevice {
		agent, e := a.agentOf(device)
		if e != Success && !readMostly {
			return e
		}
		if what == 3 || what == 5 || what == 6 {
			x.Agent = agent
		}
	}
	if p == 0 || size == 0 || !known {
		return ErrInvalidValue
	}
	m, e := a.managedRange(p, size)
	if e != Success {
		return e
	}
	if m != nil && !m.Shared {
		//fidelity: approximate hipMemAdvise: on a system where a GPU has no shared virtual memory, managed memory does not migrate and advice has no effect
		return Success
	}
	if err := a.rt.HSA.SVMSet(uint64(p), size, []clr.SVMAttribute{x}); err != nil {
		a.fromErr(err)
		return ErrInvalidValue
	}
	return Success
}

// MemPrefetch moves pages to a device, or to the CPU, in the order of a stream.
func (a *API) MemPrefetch(t *Thread, p uintptr, size uint64, device int32, s uintptr) Error {
	if p == 0 || size == 0 {
		return ErrInvalidValue
	}
	agent, e := a.agentOf(device)
	if e != Success {
		return e
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	m, e := a.managedRange(p, size)
	if e != Success {
		return e
	}
	if m != nil && !m.Shared {
		return Success
	}
	_, err := q.Host(func() error { return a.rt.HSA.SVMPrefetch(uint64(p), size, agent) })
	return a.fromErr(err)
}

// Attributes of ranges (hipMemRangeAttribute).
const (
	rangeReadMostly   = 1
	rangePreferred    = 2
	rangeAccessedBy   = 3
	rangeLastPrefetch = 4
	rangeCoherency    = 100
)

// Answers of rangeCoherency (hipMemRangeCoherencyMode).
const (
	coherencyFine   = 0
	coherencyCoarse = 1
)

// RangeQuery is one attribute that is asked for, and where the answer goes.
type RangeQuery struct {
	Data uintptr
	Size uint64
	Attr int32
}

// MemRangeGetAttributes describes a range of managed memory.
func (a *API) MemRangeGetAttributes(list []RangeQuery, p uintptr, size uint64) Error {
	if len(list) == 0 || p == 0 || size == 0 {
		return ErrInvalidValue
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	for _, x := range list {
		if x.Data == 0 || x.Size == 0 || x.Size/4 > maxAccessedBy || x.Size%4 != 0 || x.Attr != rangeAccessedBy && x.Size != 4 {
			return ErrInvalidValue
		}
	}
	if m := a.rt.Find(uint64(p)); m != nil && m.Kind != clr.ManagedMemory && len(list) == 1 && list[0].Attr == rangeCoherency {
		// The one attribute that all memory has: that of its pool, whatever the size, as in AMD's runtime.
		mode := int32(coherencyFine)
		if m.CoarseGrained() {
			mode = coherencyCoarse
		}
		return store(list[0].Data, mode)
	}
	m, e := a.managedRange(p, size)
	if e != Success {
		return e
	}
	ask := []clr.SVMAttribute{{Attr: clr.SVMReadMostly}, {Attr: clr.SVMPreferredLocation}, {Attr: clr.SVMPrefetchLocation}, {Attr: clr.SVMGlobalFlag}}
	const who = 4
	for _, d := range a.devices() {
		ask = append(ask, clr.SVMAttribute{Attr: clr.SVMAccessQuery, Agent: d.Agent})
	}
	if m == nil || m.Shared {
		if err := a.rt.HSA.SVMGet(uint64(p), size, ask); err != nil {
			a.fromErr(err)
			return ErrInvalidValue
		}
	}
	number := func(x *clr.Agent) int32 {
		if x == nil {
			return invalidDevice
		}
		for i, d := range a.devices() {
			if d.Agent == x {
				return int32(i)
			}
		}
		if !x.IsGPU() {
			return cpuDevice
		}
		return invalidDevice
	}
	for _, x := range list {
		values := make([]int32, min(x.Size/4, maxAccessedBy))
		for i := range values {
			values[i] = invalidDevice
		}
		switch x.Attr {
		case rangeReadMostly:
			values[0] = int32(ask[0].Value)
		case rangePreferred:
			values[0] = number(ask[1].Agent)
		case rangeLastPrefetch:
			values[0] = number(ask[2].Agent)
		case rangeCoherency:
			values[0] = int32(ask[3].Value)
		case rangeAccessedBy:
			n := 0
			for _, y := range ask[who:] {
				if y.Attr == clr.SVMAccessibleInPlace && n < len(values) {
					values[n] = number(y.Agent)
					n++
				}
			}
		default:
			return ErrInvalidValue
		}
		if !StoreMemory(x.Data, unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), 4*len(values))) {
			return ErrInvalidValue
		}
	}
	return Success
}
