package hip

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Stream memory operations: a stream writes a word when it has come so far, or goes on when a word has a value. Other streams, devices and the host write the words.

// Conditions of StreamWaitValue (hipStreamWaitValue*).
const (
	waitGreaterEqual = 0
	waitEqual        = 1
	waitAnd          = 2
	waitNor          = 3
)

// word is an address that both the CPU and devices reach; nil if there is none.
func (a *API) word(p uintptr, size uint64) *clr.Memory {
	m := a.rt.Find(uint64(p))
	if m == nil || m.Shared || m.Host == 0 {
		return nil
	}
	off := uint64(p) - m.Ptr
	if off >= m.Size {
		off = uint64(p) - m.Host
	}
	if off > m.Size || size > m.Size-off {
		return nil
	}
	return m
}

// hostAddress is where the CPU sees an address of a memory object.
func hostAddress(m *clr.Memory, p uintptr) uintptr {
	if off := uint64(p) - m.Ptr; off < m.Size {
		return uintptr(m.Host + off)
	}
	return p
}

// StreamWriteValue stores a value of 4 or 8 bytes in the order of a stream.
func (a *API) StreamWriteValue(t *Thread, s, p uintptr, v uint64, size int) Error {
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	return a.writeValue(q, p, v, size)
}

func (a *API) writeValue(q *clr.HostQueue, p uintptr, v uint64, size int) Error {
	if p == 0 || p%uintptr(size) != 0 {
		return ErrInvalidValue
	}
	if m := a.word(p, uint64(size)); m != nil {
		at := hostAddress(m, p)
		_, err := q.Host(func() error {
			if size == 8 {
				atomic.StoreUint64((*uint64)(pointer(at)), v)
			} else {
				atomic.StoreUint32((*uint32)(pointer(at)), uint32(v))
			}
			return nil
		})
		return a.fromErr(err)
	}
	if a.rt.Find(uint64(p)) == nil {
		return ErrInvalidValue
	}
	// Memory that only devices reach, or whose pages move: a fill of a word, the low one first.
	if _, err := q.Fill(uint64(p), uint32(v), 4, clr.Linear(4), true); err != nil || size == 4 {
		return a.fromErr(err)
	}
	_, err := q.Fill(uint64(p)+4, uint32(v>>32), 4, clr.Linear(4), true)
	return a.fromErr(err)
}

// StreamWaitValue makes a stream wait until a word of 4 or 8 bytes, masked, fulfils a condition.
func (a *API) StreamWaitValue(t *Thread, s, p uintptr, v uint64, flags uint32, mask uint64, size int) Error {
	//fidelity: approximate hipStreamWaitValue32, hipStreamWaitValue64: the word must be memory that the host reaches, which is not migrating managed memory; a thread polls it
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	return a.waitValue(q, p, v, flags, mask, size)
}

func (a *API) waitValue(q *clr.HostQueue, p uintptr, v uint64, flags uint32, mask uint64, size int) Error {
	if p == 0 || p%uintptr(size) != 0 || flags > waitNor {
		return ErrInvalidValue
	}
	m := a.word(p, uint64(size))
	if m == nil {
		return ErrInvalidValue
	}
	at := hostAddress(m, p)
	load := func() uint64 { return uint64(atomic.LoadUint32((*uint32)(pointer(at)))) }
	if size == 8 {
		load = func() uint64 { return atomic.LoadUint64((*uint64)(pointer(at))) }
	} else {
		mask, v = uint64(uint32(mask)), uint64(uint32(v))
	}
	holds := func() bool {
		x := load() & mask
		switch flags {
		case waitGreaterEqual:
			return x >= v
		case waitEqual:
			return x == v
		case waitAnd:
			return x&v != 0
		}
		nor := ^(x | v&mask)
		if size == 4 {
			nor &= 0xffffffff
		}
		return nor != 0
	}
	_, err := q.Host(func() error {
		for pause := 5 * time.Microsecond; !holds(); pause = min(2*pause, 200*time.Microsecond) {
			if err := q.Device().Err(); err != nil {
				return err
			}
			time.Sleep(pause)
		}
		return nil
	})
	return a.fromErr(err)
}

// memOpSize is hipStreamBatchMemOpParams: operation, address, value and flags at fixed places.
const memOpSize = 48

// Operations of a memOps.
const (
	memOpWait32  = 1
	memOpWrite32 = 2
	memOpWait64  = 4
	memOpWrite64 = 5
)

// readMemOps checks and copies operations of the program.
func readMemOps(n uint32, p uintptr) (memOps, Error) {
	if n == 0 || n > 256 || p == 0 {
		return nil, ErrInvalidValue
	}
	ops := make(memOps, n*memOpSize/8)
	if !LoadMemory(unsafe.Slice((*byte)(unsafe.Pointer(&ops[0])), 8*len(ops)), p) {
		return nil, ErrInvalidValue
	}
	for i := 0; i < len(ops); i += memOpSize / 8 {
		switch uint32(ops[i]) {
		case memOpWait32, memOpWrite32, memOpWait64, memOpWrite64:
		default:
			return nil, ErrInvalidValue
		}
	}
	return ops, Success
}

// runMemOps gives operations to a queue.
func (a *API) runMemOps(q *clr.HostQueue, ops memOps) Error {
	for ; len(ops) > 0; ops = ops[memOpSize/8:] {
		addr, v, f := uintptr(ops[1]), ops[2], uint32(ops[3])
		e := Success
		switch uint32(ops[0]) {
		case memOpWait32:
			e = a.waitValue(q, addr, v, f, ^uint64(0), 4)
		case memOpWait64:
			e = a.waitValue(q, addr, v, f, ^uint64(0), 8)
		case memOpWrite32:
			e = a.writeValue(q, addr, v, 4)
		case memOpWrite64:
			e = a.writeValue(q, addr, v, 8)
		}
		if e != Success {
			return e
		}
	}
	return Success
}

// StreamBatchMemOp does stream memory operations one after the other.
func (a *API) StreamBatchMemOp(t *Thread, s uintptr, n uint32, p uintptr, flags uint32) Error {
	if flags != 0 {
		return ErrInvalidValue
	}
	ops, e := readMemOps(n, p)
	if e != Success {
		return e
	}
	q, e := a.queue(t, s)
	if e != Success {
		return e
	}
	return a.runMemOps(q, ops)
}
