package hsaabi

/*
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static int call_handle_data(void *f, uint64_t h, void *data) { return ((int (*)(uint64_t, void *))f)(h, data); }
static void call_queue_error(void *f, int status, void *queue, void *data) {
    ((void (*)(int, void *, void *))f)(status, queue, data);
}
static bool call_signal(void *f, int64_t value, void *arg) { return ((bool (*)(int64_t, void *))f)(value, arg); }
static void *call_alloc(void *f, uint64_t n) { return ((void *(*)(uint64_t))f)(n); }
static void move(void *d, void *s, uint64_t n) { memmove(d, s, n); }
*/
import "C"

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/internal/bigstack"
	"github.com/pumice-gpu/pumice/runtime/hsa"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

var userData sync.Map // *hsa.Memory to uintptr

func callHandle(f unsafe.Pointer, h uint64, data unsafe.Pointer) int32 {
	return int32(C.call_handle_data(f, C.uint64_t(h), data))
}

func callAlloc(f unsafe.Pointer, n uint64) unsafe.Pointer { return C.call_alloc(f, C.uint64_t(n)) }

func move(dst, src uintptr, n uint64) { C.move(ptr(uint64(dst)), ptr(uint64(src)), C.uint64_t(n)) }

//export hsa_signal_create
func hsa_signal_create(initial int64, n uint32, consumers *uint64, out *uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if out == nil || n > 0 && consumers == nil {
		return badArg
	}
	s, err := r.NewSignal(initial)
	if err != nil {
		return code(err)
	}
	return give(out, uint64(s.Handle()))
}

//export hsa_amd_signal_create
func hsa_amd_signal_create(initial int64, n uint32, consumers *uint64, attr uint64, out *uint64) int32 {
	const forProcesses = 2
	if attr&forProcesses == 0 {
		return hsa_signal_create(initial, n, consumers, out)
	}
	r := rt()
	if r == nil {
		return notInit
	}
	if out == nil {
		return badArg
	}
	s, err := r.NewSharedSignal(initial)
	if err != nil {
		return code(err)
	}
	return give(out, uint64(s.Handle()))
}

//export hsa_signal_destroy
func hsa_signal_destroy(h uint64) int32 {
	if h == 0 {
		return badArg
	}
	s := signal(h)
	if s == nil {
		return int32(hsa.StatusInvalidSignal)
	}
	s.Destroy()
	return ok
}

// record is a signal's memory, for the operations that need no more than that. A bad handle is the program's fault: HSA says that the behaviour is undefined,
// here nothing happens.
func record(h uint64) *aql.Signal {
	if h == 0 {
		return nil
	}
	return (*aql.Signal)(ptr(h))
}

//export hsa_signal_load
func hsa_signal_load(h uint64) int64 {
	r := record(h)
	if r == nil {
		return 0
	}
	return atomic.LoadInt64(&r.Value)
}

//export hsa_signal_store
func hsa_signal_store(h uint64, v int64) {
	if q, found := doorbells.Load(h); found {
		q.(*hsa.Queue).Ring(uint64(v))
		return
	}
	if s := signal(h); s != nil {
		s.Store(v)
	}
}

//export hsa_signal_silent_store
func hsa_signal_silent_store(h uint64, v int64) {
	if r := record(h); r != nil {
		atomic.StoreInt64(&r.Value, v)
	}
}

//export hsa_signal_add
func hsa_signal_add(h uint64, v int64) {
	if s := signal(h); s != nil {
		s.Add(v)
	}
}

//export hsa_signal_subtract
func hsa_signal_subtract(h uint64, v int64) { hsa_signal_add(h, -v) }

//export hsa_signal_and
func hsa_signal_and(h uint64, v int64) {
	if s := signal(h); s != nil {
		s.And(v)
	}
}

//export hsa_signal_or
func hsa_signal_or(h uint64, v int64) {
	if s := signal(h); s != nil {
		s.Or(v)
	}
}

//export hsa_signal_xor
func hsa_signal_xor(h uint64, v int64) {
	if s := signal(h); s != nil {
		s.Xor(v)
	}
}

//export hsa_signal_exchange
func hsa_signal_exchange(h uint64, v int64) int64 {
	if s := signal(h); s != nil {
		return s.Exchange(v)
	}
	return 0
}

//export hsa_signal_cas
func hsa_signal_cas(h uint64, old, v int64) int64 {
	if s := signal(h); s != nil {
		return s.CompareAndSwap(old, v)
	}
	return 0
}

func timeoutOf(ns uint64) time.Duration {
	if ns > 1<<62 {
		return hsa.Forever
	}
	return time.Duration(ns)
}

//export hsa_signal_wait
func hsa_signal_wait(h uint64, cond int32, compare int64, timeout uint64, hint int32) int64 {
	s := signal(h)
	if s == nil {
		return hsa_signal_load(h)
	}
	return s.Wait(aql.Condition(cond), compare, timeoutOf(timeout))
}

// conditions copies a list of conditions; good is false where there are none.
func conditions(p *int32, n uint32) (cs []aql.Condition, good bool) {
	list, good := given(p, n)
	for _, c := range list {
		cs = append(cs, aql.Condition(c))
	}
	return cs, good
}

//export hsa_amd_signal_wait_any
func hsa_amd_signal_wait_any(n uint32, list *uint64, conds *int32, values *int64, timeout uint64, hint int32, out *int64) uint32 {
	ss, good := signalList(n, list)
	if !good || n == 0 {
		return ^uint32(0)
	}
	cs, good1 := conditions(conds, n)
	vs, good2 := given(values, n)
	if !good1 || !good2 {
		return ^uint32(0)
	}
	i, v := hsa.WaitAny(ss, cs, vs, timeoutOf(timeout))
	if i < 0 {
		return ^uint32(0)
	}
	caller.Put(out, v)
	return uint32(i)
}

//export hsa_amd_signal_value_pointer
func hsa_amd_signal_value_pointer(h uint64, out *uintptr) int32 {
	s := signal(h)
	if s == nil || out == nil {
		return badArg
	}
	return give(out, uintptr(s.ValueAddr()))
}

//export hsa_amd_signal_async_handler
func hsa_amd_signal_async_handler(h uint64, cond int32, v int64, f, arg unsafe.Pointer) int32 {
	s := signal(h)
	if s == nil || f == nil {
		return badArg
	}
	s.OnSignal(aql.Condition(cond), v, func(v int64) bool { return bool(C.call_signal(f, C.int64_t(v), arg)) })
	return ok
}

//export hsa_queue_create
func hsa_queue_create(agent uint64, size uint32, typ int32, f, data unsafe.Pointer, private, group uint32, out *uintptr) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if out == nil {
		return badArg
	}
	const multi, single, cooperative = 0, 1, 2
	create := a.NewQueue
	switch typ {
	case multi, single:
	case cooperative:
		create = a.CooperativeQueue
	default:
		return badArg
	}
	var q *hsa.Queue
	q, err := create(size, func(s hsa.Status) {
		if f != nil {
			C.call_queue_error(f, C.int(s), ptr(q.Addr()), data)
		}
	})
	if err != nil {
		return code(err)
	}
	queues.Store(q.Addr(), q)
	doorbells.Store(uint64((*aql.HSAQueue)(ptr(q.Addr())).DoorbellSignal), q)
	return give(out, uintptr(q.Addr()))
}

func queue(p uintptr) *hsa.Queue {
	bigstack.Reserve()
	if v, found := queues.Load(uint64(p)); found {
		return v.(*hsa.Queue)
	}
	return nil
}

//export hsa_queue_destroy
func hsa_queue_destroy(p uintptr) int32 {
	if p == 0 {
		return badArg
	}
	if v, soft := softQueues.LoadAndDelete(p); soft {
		return code(v.(*hsa.SoftQueue).Destroy())
	}
	q := queue(p)
	if q == nil {
		return int32(hsa.StatusInvalidQueue)
	}
	bell := uint64((*aql.HSAQueue)(ptr(q.Addr())).DoorbellSignal)
	err := q.Destroy()
	if q.Gone() {
		// Another queue may have the address already.
		doorbells.CompareAndDelete(bell, q)
		queues.CompareAndDelete(uint64(p), q)
	}
	return code(err)
}

//export hsa_queue_inactivate
func hsa_queue_inactivate(p uintptr) int32 {
	if p == 0 {
		return badArg
	}
	q := queue(p)
	if _, soft := softQueues.Load(p); soft {
		return ok // whoever processes it is the program
	}
	if q == nil {
		return int32(hsa.StatusInvalidQueue)
	}
	return code(q.Inactivate())
}

func queueRecord(p uintptr) *aql.Queue {
	bigstack.Reserve()
	return (*aql.Queue)(ptr(uint64(p)))
}

//export hsa_queue_load_read_index
func hsa_queue_load_read_index(p uintptr) uint64 {
	return atomic.LoadUint64(&queueRecord(p).ReadDispatchID)
}

//export hsa_queue_load_write_index
func hsa_queue_load_write_index(p uintptr) uint64 {
	return atomic.LoadUint64(&queueRecord(p).WriteDispatchID)
}

//export hsa_queue_store_write_index
func hsa_queue_store_write_index(p uintptr, v uint64) {
	atomic.StoreUint64(&queueRecord(p).WriteDispatchID, v)
}

// The packet processor of a device queue keeps the read index itself; that of a soft queue is its program.
//
//export hsa_queue_store_read_index
func hsa_queue_store_read_index(p uintptr, v uint64) {
	if _, soft := softQueues.Load(p); soft {
		atomic.StoreUint64(&queueRecord(p).ReadDispatchID, v)
	}
}

//export hsa_queue_add_write_index
func hsa_queue_add_write_index(p uintptr, v uint64) uint64 {
	return atomic.AddUint64(&queueRecord(p).WriteDispatchID, v) - v
}

//export hsa_queue_cas_write_index
func hsa_queue_cas_write_index(p uintptr, old, v uint64) uint64 {
	a := &queueRecord(p).WriteDispatchID
	for {
		cur := atomic.LoadUint64(a)
		if cur != old || atomic.CompareAndSwapUint64(a, old, v) {
			return cur
		}
	}
}

//export hsa_amd_queue_set_priority
func hsa_amd_queue_set_priority(p uintptr, prio int32) int32 {
	q := queue(p)
	if q == nil {
		return int32(hsa.StatusInvalidQueue)
	}
	m := map[int32]hsakmt.Priority{0: hsakmt.PriorityMin, 1: hsakmt.PriorityNormal, 2: hsakmt.PriorityMax}
	v, known := m[prio]
	if !known {
		return badArg
	}
	return code(q.SetPriority(v))
}

//export hsa_amd_queue_cu_set_mask
func hsa_amd_queue_cu_set_mask(p uintptr, n uint32, mask *uint32) int32 {
	q := queue(p)
	if q == nil {
		return int32(hsa.StatusInvalidQueue)
	}
	if n%32 != 0 || n > 1<<16 || n > 0 && mask == nil {
		return badArg
	}
	words, good := given(mask, n/32)
	if !good {
		return badArg
	}
	return code(q.SetCUMask(words))
}

//export hsa_amd_queue_cu_get_mask
func hsa_amd_queue_cu_get_mask(p uintptr, n uint32, mask *uint32) int32 {
	q := queue(p)
	if q == nil {
		return int32(hsa.StatusInvalidQueue)
	}
	if n == 0 || n%32 != 0 || n > 1<<16 || mask == nil {
		return badArg
	}
	words := make([]uint32, n/32)
	copy(words, q.CUMask())
	if !caller.Store(uintptr(unsafe.Pointer(mask)), unsafe.Pointer(&words[0]), 4*uintptr(len(words))) {
		return badArg
	}
	return ok
}

//export hsa_amd_profiling_set_profiler_enabled
func hsa_amd_profiling_set_profiler_enabled(p uintptr, on int32) int32 {
	if queue(p) == nil {
		return int32(hsa.StatusInvalidQueue)
	}
	return ok // times are always taken
}

//export hsa_amd_profiling_async_copy_enable
func hsa_amd_profiling_async_copy_enable(on bool) int32 { return ok }

// times converts a signal's ticks to the system clock.
func times(a *hsa.Agent, h uint64, out *[2]uint64) int32 {
	s := signal(h)
	if s == nil {
		return int32(hsa.StatusInvalidSignal)
	}
	if out == nil {
		return badArg
	}
	c, err := a.Runtime().Thunk().ClockCounters(a.Node.ID)
	if err != nil {
		return code(err)
	}
	start, end := s.Times()
	conv := func(t uint64) uint64 { return c.System - uint64(a.Duration(c.GPU-min(t, c.GPU))) }
	out[0], out[1] = conv(start), conv(end)
	return ok
}

//export hsa_amd_profiling_get_dispatch_time
func hsa_amd_profiling_get_dispatch_time(agent, h uint64, out uintptr) int32 {
	a := agents.get(agent)
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	return times(a, h, (*[2]uint64)(ptr(uint64(out))))
}

//export hsa_amd_profiling_get_async_copy_time
func hsa_amd_profiling_get_async_copy_time(h uint64, out uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	return times(r.GPUs()[0], h, (*[2]uint64)(ptr(uint64(out))))
}

//export hsa_amd_profiling_convert_tick_to_system_domain
func hsa_amd_profiling_convert_tick_to_system_domain(agent, tick uint64, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if a == nil || !a.IsGPU() {
		return int32(hsa.StatusInvalidAgent)
	}
	if out == nil {
		return badArg
	}
	c, err := a.Runtime().Thunk().ClockCounters(a.Node.ID)
	if err != nil {
		return code(err)
	}
	if tick <= c.GPU {
		return give(out, c.System-uint64(a.Duration(c.GPU-tick)))
	}
	return give(out, c.System+uint64(a.Duration(tick-c.GPU)))
}
