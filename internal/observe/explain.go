package observe

import (
	"encoding/json"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/ih"
	abi "github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/kfd"
	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/silicon"
)

// ExplainVariable is the environment variable that makes the library write what passes through its floors to a file, which its value names
// absolutely: lines of JSON, each an ExplainEvent.
const ExplainVariable = "PUMICE_EXPLAIN"

// ExplainEvent is something that a floor did. At says which floor and what; the other fields are there as far as they make sense for it.
type ExplainEvent struct {
	NS int64  `json:"ns"` // since the process made its GPUs
	At string `json:"at"`

	Device   int    `json:"device"` // index of the GPU, from 0
	GPUID    uint32 `json:"gpu_id,omitempty"`
	Name     string `json:"name,omitempty"` // of a kernel, a command, an event of shared virtual memory
	Why      string `json:"why,omitempty"`  // cause or error
	Stream   uint64 `json:"stream,omitempty"`
	Queue    uint32 `json:"queue,omitempty"`
	Record   uint64 `json:"record,omitempty"` // hsa_queue_t
	Packet   uint64 `json:"packet,omitempty"`
	Signal   uint64 `json:"signal,omitempty"`
	Event    uint32 `json:"event,omitempty"` // KFD's event id
	Doorbell uint32 `json:"doorbell,omitempty"`
	MQD      uint64 `json:"mqd,omitempty"`
	Slot     int    `json:"slot,omitempty"`
	VMID     uint8  `json:"vmid,omitempty"`
	Object   uint64 `json:"object,omitempty"` // kernel descriptor
	Args     uint64 `json:"args,omitempty"`
	Addr     uint64 `json:"addr,omitempty"`
	Size     uint64 `json:"size,omitempty"`
	Handle   uint64 `json:"handle,omitempty"`
	Flags    uint32 `json:"flags,omitempty"`
	Kind     string `json:"kind,omitempty"`

	Grid  *[3]uint32    `json:"grid,omitempty"`  // work-items
	Group *[3]uint32    `json:"group,omitempty"` // work-items of a work-group
	Shape *ExplainShape `json:"shape,omitempty"`
	Walk  []ExplainStep `json:"walk,omitempty"`
	Arg   *int          `json:"arg,omitempty"` // number of a kernel's argument

	Node  int    `json:"node,omitempty"`
	Minor int    `json:"minor,omitempty"`
	UUID  string `json:"uuid,omitempty"`
}

// ExplainShape is what a dispatch takes of the chip.
type ExplainShape struct {
	Waves   uint64 `json:"waves"`
	Lanes   int    `json:"lanes"`
	VGPRs   int    `json:"vgprs"`
	LDS     uint32 `json:"lds"`     // bytes of a work-group
	Private uint32 `json:"private"` // bytes of a work-item
}

// ExplainStep is an entry of a page-table walk.
type ExplainStep struct {
	Level string `json:"level"`
	Table uint64 `json:"table"` // VRAM address
	Index uint64 `json:"index"`
	Raw   uint64 `json:"raw"`
	Text  string `json:"text"` // what the bits mean
	Leaf  bool   `json:"leaf,omitempty"`
}

// Points of ExplainEvent.At.
const (
	AtDevice     = "hip.device"         // a device, by its names on every floor
	AtMemory     = "clr.memory"         // a memory object was made
	AtLaunch     = "hip.launch"         // a launch came in
	AtCommand    = "clr.command"        // it became a packet of a queue
	AtArgument   = "clr.argument"       // a pointer among its arguments
	AtCall       = "kfd.call"           // an ioctl was answered
	AtQueue      = "kfd.queue"          // a queue exists
	AtInterrupt  = "kfd.interrupt"      // an entry of the interrupt ring
	AtSVM        = "svm"                // shared virtual memory did something
	AtDispatch   = "silicon.dispatch"   // the command processor took a dispatch packet
	AtDispatched = "silicon.dispatched" // its last wave ended
)

// MaxLaunches bounds how many launches are written: the first ones explain the rest.
const MaxLaunches = 1000

// Explainer writes what the hooks tell.
type Explainer struct {
	file     *os.File
	start    time.Time
	driver   *kfd.Driver
	code     *CodeMap
	launches atomic.Int64

	mu      sync.Mutex
	devices map[uint32]int  // by gpu_id; guarded by mu
	walked  map[uint64]bool // addresses whose entries have been written; guarded by mu
}

// NewExplainer is nil when the environment asks for nothing.
func NewExplainer(code *CodeMap) *Explainer {
	path := os.Getenv(ExplainVariable)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_CLOEXEC, 0o666)
	if err != nil {
		Warn(ExplainVariable + ": " + err.Error())
		return nil
	}
	return &Explainer{file: f, start: time.Now(), code: code, devices: map[uint32]int{}, walked: map[uint64]bool{}}
}

func (x *Explainer) now() int64 { return time.Since(x.start).Nanoseconds() }

// put writes an event in one write, because the program may end at any time and its children share the file.
func (x *Explainer) put(e ExplainEvent) {
	if e.NS == 0 {
		e.NS = x.now()
	}
	line, err := json.Marshal(e)
	if err != nil {
		return // there is nothing in it that cannot be written
	}
	_, _ = x.file.Write(append(line, '\n'))
}

func (x *Explainer) device(gpuID uint32) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.devices[gpuID]
}

// full reports that enough launches are written.
func (x *Explainer) full() bool { return x.launches.Load() > MaxLaunches }

// Silicon adds what the chip of a device tells.
func (x *Explainer) Silicon(h *silicon.Hooks, device int) {
	event := func(at string, d *silicon.DispatchInfo) ExplainEvent {
		return ExplainEvent{At: at, Device: device, Packet: d.PacketIndex, Doorbell: d.Doorbell, VMID: uint8(d.VMID), Object: d.KernelObject}
	}
	h.DispatchBegin = func(d *silicon.DispatchInfo) {
		if x.launches.Add(1) > MaxLaunches {
			return
		}
		e := event(AtDispatch, d)
		e.Args, e.Name = d.Kernarg, "kernel without a known name"
		if o, base, ok := x.code.Find(d.Entry); ok {
			if name, _, ok := o.Function(d.Entry - base); ok {
				e.Name = name
			}
		}
		grid, group := d.Grid, d.Workgroup
		e.Grid, e.Group = &grid, &group
		e.Shape = &ExplainShape{Waves: d.Waves, Lanes: d.Lanes, VGPRs: d.VGPRs, LDS: d.LDS, Private: d.Private}
		x.put(e)
	}
	h.DispatchEnd = func(d *silicon.DispatchInfo) {
		if !x.full() {
			x.put(event(AtDispatched, d))
		}
	}
}

// Kernel is what the driver tells.
func (x *Explainer) Kernel() kfd.Hooks {
	return kfd.Hooks{Call: x.call, Interrupt: func(gpuID uint32, e ih.Entry) {
		if x.full() {
			return
		}
		ev := ExplainEvent{At: AtInterrupt, Device: x.device(gpuID), GPUID: gpuID, VMID: e.VMID}
		switch {
		case e.Source == ih.SourceCPEndOfPipe && e.Client == ih.ClientGRBMCP:
			ev.Name, ev.Event = "end of pipe", e.Data[0]
		case e.Source == ih.SourceSDMATrap && (e.Client == ih.ClientSDMA0 || e.Client == ih.ClientSDMA1):
			ev.Name, ev.Event = "SDMA trap", e.Data[0]
		case e.Source == ih.SourceSQMessage:
			ev.Name = "message of a wave"
		case e.Source == ih.SourceVMFault && (e.Client == ih.ClientVMC || e.Client == ih.ClientUTCL2):
			ev.Name, ev.Addr = "memory fault", e.FaultVA()
			if e.Data[1]&ih.FaultRetry != 0 {
				ev.Name = "retry fault"
			}
		default:
			return
		}
		x.put(ev)
	}}
}

// call is told of ioctls; those that a journey passes by are written.
func (x *Explainer) call(c abi.Command, b []byte, err error) {
	if x.full() {
		return
	}
	e := ExplainEvent{At: AtCall, Name: c.Name}
	if err != nil {
		e.Why = err.Error()
		var n unix.Errno
		if errors.As(err, &n) {
			e.Why = unix.ErrnoName(n)
		}
	}
	switch c.Nr {
	case abi.NrAllocMemoryOfGPU:
		a := abi.Decode[abi.AllocMemoryOfGPUArgs](b)
		e.Addr, e.Size, e.Handle, e.Flags, e.GPUID = a.VAAddr, a.Size, a.Handle, a.Flags, a.GPUID
	case abi.NrMapMemoryToGPU:
		a := abi.Decode[abi.MapMemoryArgs](b)
		e.Handle = a.Handle
	case abi.NrSVM:
		a := abi.Decode[abi.SVMArgs](b)
		e.Addr, e.Size = a.StartAddr, a.Size
	case abi.NrWaitEvents, abi.NrCreateEvent, abi.NrSetEvent:
		if c.Nr == abi.NrCreateEvent {
			e.Event = abi.Decode[abi.CreateEventArgs](b).EventID
		}
	case abi.NrCreateQueue:
		a := abi.Decode[abi.CreateQueueArgs](b)
		e.Queue, e.GPUID = a.QueueID, a.GPUID
	case abi.NrAcquireVM:
		e.GPUID = abi.Decode[abi.AcquireVMArgs](b).GPUID
	default:
		return
	}
	e.Device = x.device(e.GPUID)
	x.put(e)
	if c.Nr == abi.NrCreateQueue && err == nil {
		for _, q := range x.driver.Queues() {
			if q.ID == e.Queue {
				x.put(ExplainEvent{At: AtQueue, Device: e.Device, GPUID: q.GPUID, Queue: q.ID, Kind: q.Kind, MQD: q.MQD, Slot: q.Slot, Doorbell: q.Doorbell, Addr: q.Ring})
			}
		}
	}
}

// Loaded is called when the driver is there, before anybody uses it.
func (x *Explainer) Loaded(d *kfd.Driver) {
	x.driver = d
	for i, g := range d.GPUs() {
		x.mu.Lock()
		x.devices[g.GPUID] = i
		x.mu.Unlock()
	}
	next := d.OnSVM
	d.OnSVM = func(gpu uint32, e svm.Event) {
		if next != nil {
			next(gpu, e)
		}
		ev := ExplainEvent{At: AtSVM, Device: x.device(gpu), GPUID: gpu, Name: e.Kind.String(), Why: e.Cause, Addr: e.Start, Size: e.End - e.Start}
		if e.Err != nil {
			ev.Why += " (" + e.Err.Error() + ")"
		}
		x.put(ev)
	}
}

// walk writes the page-table entries of an address on a device, once.
func (x *Explainer) walk(e ExplainEvent) {
	x.mu.Lock()
	known := x.walked[e.Addr]
	x.walked[e.Addr] = true
	x.mu.Unlock()
	if known {
		return
	}
	e.Walk = steps(x.driver.Walk(e.Device, e.Addr))
	x.put(e)
}

func steps(in []amdgpu.Step) (out []ExplainStep) {
	for _, s := range in {
		out = append(out, ExplainStep{s.Level.String(), s.Table, s.Index, s.Raw, s.Entry.String(), s.Leaf})
	}
	return out
}

// Runtime is what ROCclr tells, and the devices by their names on each floor.
func (x *Explainer) Runtime(r *clr.Runtime) {
	gpus := x.driver.GPUs()
	for i, d := range r.Devices {
		e := ExplainEvent{At: AtDevice, Device: i, Name: d.Agent.Name, UUID: d.Agent.UUID(), Node: int(d.Agent.Node.ID)}
		for _, g := range gpus {
			if g.Node == e.Node {
				e.GPUID, e.Minor = g.GPUID, g.Minor
			}
		}
		x.put(e)
	}
	r.SetHooks(clr.Hooks{
		Allocated: func(m *clr.Memory) {
			e := ExplainEvent{At: AtMemory, Addr: m.Ptr, Size: m.Size, Kind: m.Kind.String()}
			if m.Device != nil {
				e.Device = m.Device.Index
			}
			x.put(e)
		},
		Launched: func(l *clr.LaunchInfo) {
			if x.full() {
				return
			}
			grid, group := [3]uint32{l.Launch.Grid.X, l.Launch.Grid.Y, l.Launch.Grid.Z}, [3]uint32{l.Launch.Block.X, l.Launch.Block.Y, l.Launch.Block.Z}
			device := l.Stream.Device().Index
			x.put(ExplainEvent{NS: l.Began.Sub(x.start).Nanoseconds(), At: AtLaunch, Device: device, Name: l.Kernel.Name, Stream: l.Stream.Handle, Grid: &grid,
				Group: &group, Queue: l.Queue, Packet: l.Packet})
			x.put(ExplainEvent{NS: l.Ready.Sub(x.start).Nanoseconds(), At: AtCommand, Device: device, Name: l.Kernel.Name, Stream: l.Stream.Handle, Queue: l.Queue, Record: l.Record, Packet: l.Packet,
				Args: l.Args, Signal: l.Done, Size: uint64(l.Kernel.ExplicitSize())})
			for i, p := range l.Pointers() {
				if m := r.Find(p); p != 0 && m != nil {
					n := i
					x.walk(ExplainEvent{At: AtArgument, Device: device, Addr: p, Arg: &n, Name: l.Kernel.Name, Queue: l.Queue, Packet: l.Packet, Kind: m.Kind.String(),
						Size: m.Size})
				}
			}
		},
	})
}
