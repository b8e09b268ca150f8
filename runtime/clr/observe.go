package clr

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/codeobj"
)

// Hooks let tools look on. They are set before the first stream and never changed; a nil one costs a comparison. They run on the caller's
// thread, with locks held, and must not call the runtime.
type Hooks struct {
	// Launched is told of each kernel whose packet is in the ring.
	Launched func(*LaunchInfo)
	// Allocated is told of each new memory object.
	Allocated func(*Memory)
}

// LaunchInfo says what became of a launch on its way down.
type LaunchInfo struct {
	Began  time.Time // when the launch came in
	Ready  time.Time // when the packet was complete, just before the doorbell
	Kernel *Kernel
	Launch *Launch
	Stream *HostQueue
	Queue  uint32 // the driver's number of the hardware queue
	Record uint64 // address of the queue's record: hsa_queue_t
	Packet uint64 // index of the AQL packet in the queue
	Args   uint64 // address of the kernarg segment
	Done   uint64 // handle of the packet's completion signal, 0 for none
}

// Pointers returns the explicit arguments that point to global memory, by their number; 0 for the others. It reads the kernarg segment, which
// is the launch's own until the kernel has ended: use it inside the hook.
func (l *LaunchInfo) Pointers() []uint64 {
	out := make([]uint64, len(l.Kernel.explicit))
	for i := range l.Kernel.explicit {
		if a := &l.Kernel.explicit[i]; a.Kind == codeobj.GlobalBuffer && a.Size == 8 {
			out[i] = binary.LittleEndian.Uint64(unsafe.Slice((*byte)(hostPointer(l.Args+uint64(a.Offset))), 8))
		}
	}
	return out
}

// SetHooks sets what looks on.
func (r *Runtime) SetHooks(h Hooks) { r.hooks = h }

// allocated enters a new memory object.
func (r *Runtime) allocated(h any, m *Memory) {
	m.ID = r.objects.Add(1)
	r.memory.Store(h, m)
	if f := r.hooks.Allocated; f != nil {
		f(m)
	}
}
