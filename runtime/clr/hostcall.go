package clr

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Hostcall is how device code asks the host for something: printf, assert, memory. A wave takes a packet off the free stack of a buffer in fine-grained memory, fills in
// 8 words for each of its lanes, pushes the packet on the ready stack, adds 1 to a doorbell signal, and spins on the packet's control word. A goroutine
// of ours waits for the doorbell, serves what is on the ready stack, and clears the ready bit. The wave reads the answers and puts the packet back.
//
// Stacks are linked by indices whose upper bits are a tag against reuse (ABA); 0 is the empty stack, so index and tag are never both 0.
//
// The layout is that of ROCm's device library (hostcall, "version 1").

// hostcallBuffer is the head of the buffer.
type hostcallBuffer struct {
	headers    uint64
	payloads   uint64
	doorbell   aql.SignalHandle
	freeStack  uint64
	readyStack uint64
	indexMask  uint64
}

// hostcallHeader is one packet's header.
type hostcallHeader struct {
	next       uint64
	activeMask uint64
	service    uint32
	control    uint32 // bit 0: ready
}

const (
	hostcallLanes   = 64
	hostcallSlots   = 8
	hostcallPayload = hostcallLanes * hostcallSlots * 8 // bytes

	serviceFunctionCall = 1
	servicePrintf       = 2
	serviceMemory       = 3
	serviceSanitizer    = 4
)

// CallHost calls a host function of C, void f(uint64_t *output, const uint64_t *input), for service 1. nil where there is no C.
var CallHost func(f uint64, output *[2]uint64, input *[7]uint64)

// WriteText writes what device code prints. The C library puts stdio here, so that it mixes well with what the program prints.
var WriteText = func(stderr bool, b []byte) {
	f := os.Stdout
	if stderr {
		f = os.Stderr
	}
	_, _ = f.Write(b)
}

// hostcallService serves one buffer.
type hostcallService struct {
	dev      *Device
	mem      *hsa.Memory
	head     *hostcallBuffer
	bell     *hsa.Signal
	messages map[uint64]*message
	nextID   uint64
}

// message collects the words of one printf of one lane.
type message struct{ words []uint64 }

// startHostcall makes the buffer of a hardware queue and starts its service, once.
func (h *hwQueue) startHostcall(d *Device) error {
	h.hostcallOnce.Do(func() { h.hostcallErr = h.newHostcall(d) })
	return h.hostcallErr
}

func (h *hwQueue) newHostcall(d *Device) error {
	packets := uint64(d.Agent.ComputeUnits * max(d.Agent.MaxWavesPerCU, 1))
	mask := uint64(1)
	for mask < packets {
		mask = mask<<1 | 1
	}
	headersAt := uint64(128)
	payloadsAt := (headersAt + packets*uint64(unsafe.Sizeof(hostcallHeader{})) + 4095) &^ 4095
	r := d.rt.HSA
	m, err := r.CPU().Pool(hsa.PoolFineGrained).Allocate(payloadsAt+packets*hostcallPayload, 0, hsa.AllocUncached)
	if err != nil {
		return allocError(err)
	}
	if err := r.AllowAccess(m, d.Agent); err != nil {
		_ = r.Free(m)
		return allocError(err)
	}
	bell, err := r.NewSignal(0)
	if err != nil {
		_ = r.Free(m)
		return err
	}
	s := &hostcallService{dev: d, mem: m, head: (*hostcallBuffer)(hostPointer(m.Host)), bell: bell, messages: map[uint64]*message{}, nextID: 1}
	*s.head = hostcallBuffer{headers: m.Addr + headersAt, payloads: m.Addr + payloadsAt, doorbell: bell.Handle(), indexMask: mask}
	// Every packet on the free stack. The last one has index 0, so the link to it carries tag 1.
	next := mask + 1
	s.header(0).next = 0
	for i := uint64(1); i < packets; i++ {
		s.header(i).next = next
		next = i
	}
	s.head.freeStack = next
	h.hostcall = m.Addr
	go s.run()
	return nil
}

func (s *hostcallService) header(i uint64) *hostcallHeader {
	return (*hostcallHeader)(hostPointer(s.head.headers + (i&s.head.indexMask)*uint64(unsafe.Sizeof(hostcallHeader{}))))
}

func (s *hostcallService) payload(i uint64) *[hostcallLanes][hostcallSlots]uint64 {
	return (*[hostcallLanes][hostcallSlots]uint64)(hostPointer(s.head.payloads + (i&s.head.indexMask)*hostcallPayload))
}

// run serves until the runtime closes.
func (s *hostcallService) run() {
	s.bell.OnSignal(aql.CondNE, 0, func(v int64) bool {
		s.bell.Add(-v) // what comes meanwhile rings again
		s.serve()
		return true
	})
}

// serve handles everything on the ready stack.
func (s *hostcallService) serve() {
	for p := atomic.SwapUint64(&s.head.readyStack, 0); p != 0; {
		h := s.header(p)
		next := atomic.LoadUint64(&h.next)
		lanes := s.payload(p)
		for lane, mask := 0, h.activeMask; mask != 0; lane, mask = lane+1, mask>>1 {
			if mask&1 != 0 {
				s.lane(h.service, &lanes[lane])
			}
		}
		atomic.AndUint32(&h.control, ^uint32(1))
		p = next
	}
}

func (s *hostcallService) lane(service uint32, w *[hostcallSlots]uint64) {
	switch service {
	case servicePrintf:
		s.printf(w)
	case serviceMemory:
		if w[0] != 0 {
			if m := s.dev.rt.Find(w[0]); m != nil {
				// Not Runtime.Free: it would wait for the very kernel that asks.
				s.dev.rt.memory.Delete(m.mem)
				_ = s.dev.rt.HSA.Free(m.mem)
			}
			w[0] = 0
			return
		}
		if m, err := s.dev.Alloc(w[1]); err == nil {
			w[0] = m.Ptr
		}
	case serviceFunctionCall:
		if CallHost == nil {
			s.complain("a device function calls a host function, which needs the C library")
			w[0], w[1] = 0, 0
			return
		}
		var out [2]uint64
		in := [7]uint64(w[1:])
		CallHost(w[0], &out, &in)
		w[0], w[1] = out[0], out[1]
	default:
		//fidelity: refused hostcall service 4: the address sanitizer has no host part here
		s.complain(fmt.Sprintf("hostcall service %d is not implemented", service))
		w[0], w[1] = 0, 0
	}
}

func (s *hostcallService) complain(text string) {
	WriteText(true, []byte("pumice: "+text+"\n"))
}

// printf takes one packet's part of a message. Word 0: bit 0 first part, bit 1 last part, bits 7:5 number of words, bits 63:8 the message's id, which the first part's answer
// gives.
func (s *hostcallService) printf(w *[hostcallSlots]uint64) {
	d := w[0]
	begin, end, n, id := d&1 != 0, d&2 != 0, int(d>>5&7), d>>8
	if begin {
		id = s.nextID
		s.nextID++
		s.messages[id] = &message{}
	}
	m := s.messages[id]
	if m == nil {
		s.complain(fmt.Sprintf("device printf: part of message %d, which was not begun", id))
		w[0] = 0
		return
	}
	m.words = append(m.words, w[1:1+n]...)
	if !end {
		w[0] = id << 8 // the device sets flags and length of the next part itself
		return
	}
	delete(s.messages, id)
	if len(m.words) == 0 {
		w[0] = 0
		return
	}
	text := formatMessage(m.words[1:])
	WriteText(m.words[0]&1 != 0, text)
	w[0] = uint64(len(text))
}
