package clr

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Runtime is the set of devices of one HSA system.
type Runtime struct {
	HSA     *hsa.Runtime
	Devices []*Device
	set     Settings
	hooks   Hooks

	memory sync.Map // *hsa.Memory to *Memory
	grids  multiGrids

	objects atomic.Uint64 // the last Memory.ID

	mu       sync.Mutex
	programs map[*Program]bool // guarded by mu
}

// Settings come from the environment.
type Settings struct {
	Visible         []string // HIP_VISIBLE_DEVICES, or CUDA_VISIBLE_DEVICES; nil shows all
	MaxHWQueues     int      // GPU_MAX_HW_QUEUES
	QueueSize       uint32   // ROC_AQL_QUEUE_SIZE, packets
	SerializeKernel int      // AMD_SERIALIZE_KERNEL: 1 wait before, 2 after, 3 both
	SerializeCopy   int      // AMD_SERIALIZE_COPY
	LaunchBlocking  bool     // HIP_LAUNCH_BLOCKING
}

// SettingsFromEnv reads the variables.
func SettingsFromEnv(lookup func(string) (string, bool)) Settings {
	num := func(name string, def int) int {
		if v, ok := lookup(name); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
				return n
			}
		}
		return def
	}
	s := Settings{MaxHWQueues: max(num("GPU_MAX_HW_QUEUES", 4), 1), QueueSize: 4096, SerializeKernel: num("AMD_SERIALIZE_KERNEL", 0), SerializeCopy: num("AMD_SERIALIZE_COPY", 0), LaunchBlocking: num("HIP_LAUNCH_BLOCKING", 0) != 0}
	if n := num("ROC_AQL_QUEUE_SIZE", 0); n >= hsa.MinQueueSize && n <= hsa.MaxQueueSize && n&(n-1) == 0 {
		s.QueueSize = uint32(n)
	}
	for _, name := range []string{"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"} {
		if v, ok := lookup(name); ok && v != "" {
			s.Visible = strings.Split(v, ",")
			break
		}
	}
	return s
}

// New makes the runtime of an open HSA system.
func New(h *hsa.Runtime, s Settings) *Runtime {
	r := &Runtime{HSA: h, set: s, programs: map[*Program]bool{}}
	for _, a := range visible(h.GPUs(), s.Visible) {
		r.Devices = append(r.Devices, &Device{Agent: a, Index: len(r.Devices), rt: r, queues: map[*HostQueue]bool{}, progs: map[*Program]*loadedProgram{}})
	}
	return r
}

// NewFromEnv is New with the process's environment.
func NewFromEnv(h *hsa.Runtime) *Runtime { return New(h, SettingsFromEnv(os.LookupEnv)) }

// visible picks by index, or UUID; the list ends at the first entry that names nothing. An entry that is there already counts no more.
func visible(all []*hsa.Agent, want []string) (out []*hsa.Agent) {
	if want == nil {
		return all
	}
	add := func(a *hsa.Agent) {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for _, w := range want {
		w = strings.TrimSpace(w)
		if i, err := strconv.Atoi(w); err == nil {
			if i < 0 || i >= len(all) {
				return
			}
			add(all[i])
			continue
		}
		found := false
		for _, a := range all {
			if strings.EqualFold(a.UUID(), w) {
				add(a)
				found = true
			}
		}
		if !found {
			return
		}
	}
	return
}

// Device is a GPU as a language runtime sees it.
type Device struct {
	Agent *hsa.Agent
	Index int

	rt *Runtime

	mu         sync.Mutex
	null       *HostQueue                  // guarded by mu
	peers      []*Device                   // who reaches this device's memory; guarded by mu
	queues     map[*HostQueue]bool         // all but null; guarded by mu
	hw         []*hwQueue                  // guarded by mu
	progs      map[*Program]*loadedProgram // guarded by mu
	patterns   map[uint32]uint64           // where the bytes of a fill pattern are; guarded by mu
	patternMem *Memory                     // guarded by mu
	fault      atomic.Pointer[error]       // why the device is lost

	heapMu sync.Mutex
	heap   uint64 // device malloc's state; guarded by heapMu

	coop cooperative
}

// Runtime returns the runtime that the device belongs to.
func (d *Device) Runtime() *Runtime { return d.rt }

// Err returns why the device takes no more work, nil while it does.
func (d *Device) Err() error {
	if p := d.fault.Load(); p != nil {
		return *p
	}
	return nil
}

// SetFault marks the device as lost: waits end with the error. The first one stays.
func (d *Device) SetFault(err error) { d.fault.CompareAndSwap(nil, &err) }

// An hwQueue is an AQL queue that streams share.
type hwQueue struct {
	q     *hsa.Queue
	users int // guarded by Device.mu
	args  kernargs

	hostcallOnce sync.Once
	hostcallErr  error  // set by hostcallOnce
	hostcall     uint64 // address of the hostcall buffer; set by hostcallOnce
}

// acquireHW gives a stream the least used of the device's hardware queues, or a new one while there may be more.
func (d *Device) acquireHW() (*hwQueue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var best *hwQueue
	for _, h := range d.hw {
		if best == nil || h.users < best.users {
			best = h
		}
	}
	if best == nil || best.users > 0 && len(d.hw) < d.rt.set.MaxHWQueues {
		h, err := d.newHW()
		switch {
		case err == nil:
			d.hw = append(d.hw, h)
			best = h
		case best == nil:
			return nil, err
		}
	}
	best.users++
	return best, nil
}

func (d *Device) newHW() (*hwQueue, error) {
	h := &hwQueue{}
	size := d.rt.set.QueueSize
	for {
		q, err := d.Agent.NewQueue(size, func(s hsa.Status) { d.SetFault(queueFault(s)) })
		if err == nil {
			h.q = q
			break
		}
		if size /= 2; size < hsa.MinQueueSize {
			return nil, err
		}
	}
	h.args.d = d
	return h, nil
}

func queueFault(s hsa.Status) error {
	switch s {
	case hsa.StatusMemoryFault, hsa.StatusMemoryApertureViolation:
		return fail(ErrIllegalAddress, "%v", s)
	case hsa.StatusOutOfResources:
		return fail(ErrOutOfMemory, "scratch: %v", s)
	}
	return fail(ErrLaunchFailure, "%v", s)
}

// Synchronize waits for all streams of the device.
func (d *Device) Synchronize() error {
	d.mu.Lock()
	qs := make([]*HostQueue, 0, len(d.queues)+1)
	if d.null != nil {
		qs = append(qs, d.null)
	}
	for q := range d.queues {
		qs = append(qs, q)
	}
	d.mu.Unlock()
	var first error
	for _, q := range qs {
		if err := q.Finish(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
