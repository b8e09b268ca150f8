package silicon

import (
	"time"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Sched is what the chip asks of the world that it runs in: time and tasks. kernel/sched has the live and the simulated one.
type Sched interface {
	// Now is monotonic time.
	Now() time.Duration
	// Go starts f as a task.
	Go(name string, f func())
	// NewParker returns a place for one task to sleep.
	NewParker() Parker
}

// Parker puts one task to sleep. Unpark may come first: then the next Park returns at once.
type Parker interface {
	// Park sleeps until Unpark or until d has passed (negative: no limit); it reports whether Unpark was the reason. With a limit it may
	// end early.
	Park(d time.Duration) bool
	// Unpark wakes the sleeper, or lets the next Park pass. Several calls before a Park count as one.
	Unpark()
}

// Config is what a Device is built with. All functions may be nil but Interrupt, and are called from any goroutine.
type Config struct {
	// Sched gives time and tasks; nil means the live one.
	Sched Sched
	// Engine runs waves. Shared by devices of one target.
	Engine engine.Engine
	// Target is the processor; nil looks the profile's up.
	Target *isa.Target
	// Interrupt tells the driver that the IH write pointer moved. It must not block nor call queue functions of the device.
	Interrupt func()
	// Workers is the number of threads that run waves; 0 means one for each CPU.
	Workers int
	// VRAMSize overrides the profile's size in bytes; 0 keeps it.
	VRAMSize uint64
	// Hooks observe.
	Hooks Hooks
}

// Hooks are set once, at construction. A nil one costs nothing. They run on the chip's threads and must not block.
type Hooks struct {
	// DispatchBegin is called before the first wave of a dispatch starts, DispatchEnd after its last wave ended.
	DispatchBegin func(*DispatchInfo)
	DispatchEnd   func(*DispatchInfo)
	// WaveFault is called when a wave stops by a memory fault that is not to be retried, an illegal instruction or a trap
	// without a handler.
	WaveFault func(*FaultInfo)
	// QueueError is called when a queue stops on a bad packet.
	QueueError func(*QueueFault)
	// SDMA is called after each copy or fill of an SDMA engine.
	SDMA func(*SDMAInfo)
}

// QueueClass tells compute queues from SDMA queues.
type QueueClass uint8

const (
	Compute QueueClass = iota
	SDMA
)

func (c QueueClass) String() string { return [...]string{"compute", "sdma"}[c&1] }

// QueueID names a hardware queue slot. Real chips have few slots, and firmware (HWS, MES) time-slices the rest onto them; here
// Slot is free for the driver to choose, so an over-subscribed runlist needs no swapping.
//
// fidelity: approximate hqd-slots: any number of queues is mapped at once, none waits for a quantum
type QueueID struct {
	Class  QueueClass
	Engine int // SDMA engine number; 0 for compute
	Slot   int
}

// Unload says what happens to a queue's running waves.
type Unload uint8

const (
	// Drain waits for all packets that were taken to complete.
	Drain Unload = iota
	// Preempt stops waves where they are and keeps their state, to go on at the next LoadQueue of the same MQD (CWSR).
	//
	//fidelity: approximate cwsr-image: the state stays in the chip; the context save area of the process is not written
	Preempt
	// Kill stops waves and drops them.
	Kill
)

// VMContext is what VM_CONTEXTn_*, SH_MEM_* and the trap registers hold for one VMID.
type VMContext struct {
	PageDirectoryBase uint64 // root in PDE format: address and VALID, SYSTEM bits
	PASID             uint32 // reported in interrupts
	SharedBase        uint64 // flat aperture of LDS: first address (1<<48)
	PrivateBase       uint64 // flat aperture of scratch: first address (2<<48)
	Retry             bool   // XNACK: a missing page makes the wave repeat the access instead of faulting
	TBA, TMA          uint64 // trap handler and its memory, VAs; TBA 0: traps are answered by the chip model
}

// DispatchInfo describes a kernel dispatch to hooks.
type DispatchInfo struct {
	Queue        QueueID
	Doorbell     uint32 // index
	VMID, PASID  uint32
	PacketIndex  uint64 // AQL packet id
	KernelObject uint64 // VA of the kernel descriptor
	Entry        uint64 // VA of the first instruction
	Grid         [3]uint32
	Workgroup    [3]uint32
	Kernarg      uint64
	LDS          uint32 // bytes allocated to a work-group
	Private      uint32 // bytes of each work-item
	Lanes        int
	VGPRs        int
	Waves        uint64 // total
	Begin, End   uint64 // Clock ticks
}

// FaultKind says why a wave stopped.
type FaultKind uint8

const (
	FaultMemory    FaultKind = iota // page fault: IH entry sent
	FaultViolation                  // access outside LDS, scratch or the canonical range, or unaligned
	FaultIllegal                    // illegal or unimplemented instruction
	FaultTrap                       // s_trap without a handler
)

func (k FaultKind) String() string {
	return [...]string{"memory fault", "memory violation", "illegal instruction", "trap"}[k&3]
}

// FaultInfo describes a wave's fault.
type FaultInfo struct {
	DispatchInfo
	Kind        FaultKind
	Text        string // what was wrong, for people
	PC          uint64 // of the faulting instruction
	VA          uint64 // FaultMemory, FaultViolation
	Write, Exec bool   // access
	NotPresent  bool   // no valid PTE (else: right missing)
	WorkgroupID [3]uint32
	Wave        int       // in the work-group
	Lane        int       // first faulting lane, -1 for a scalar access
	WorkItem    [3]uint32 // id of that lane in its work-group
	TrapID      uint32
	// State copies the wave's registers. Only inside the hook.
	State func() *WaveState
}

// QueueFault describes a packet that stopped a queue.
type QueueFault struct {
	Queue       QueueID
	Doorbell    uint32
	VMID, PASID uint32
	PacketIndex uint64 // AQL packet id, or byte offset in an SDMA or PM4 ring
	Code        uint64 // aql.QueueError bits
	Text        string
}

// SDMAInfo describes a finished copy (Src != 0) or fill.
type SDMAInfo struct {
	Queue    QueueID
	VMID     uint32
	Dst, Src uint64
	Bytes    uint64
	Begin    uint64
	End      uint64
}
