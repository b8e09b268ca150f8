package clr

import "time"

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
	Kernel *Kernel
	Launch *Launch
	Stream *HostQueue
	Queue  uint32 // the driver's number of the hardware queue
	Record uint64 // address of the queue's record: hsa_queue_t
	Packet uint64 // index of the AQL packet in the queue
	Args   uint64 // address of the kernarg segment
	Done   uint64 // handle of the packet's completion signal, 0 for none
}

// SetHooks sets what looks on.
func (r *Runtime) SetHooks(h Hooks) { r.hooks = h }

func (r *Runtime) allocated(h any, m *Memory) {
	r.memory.Store(h, m)
	if f := r.hooks.Allocated; f != nil {
		f(m)
	}
}
