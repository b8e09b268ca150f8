package hsa

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// FragmentsVariable is the environment variable of Options.Fragments.
const FragmentsVariable = "PUMICE_FRAGMENTS"

// Options are the settings of a Runtime.
type Options struct {
	Interrupts      bool     // signals have events (HSA_ENABLE_INTERRUPT)
	SDMA            bool     // copies use the SDMA engines (HSA_ENABLE_SDMA)
	XNACK           *bool    // ask for retry faults on or off (HSA_XNACK); nil leaves them
	OverrideVersion uint32   // report another processor (HSA_OVERRIDE_GFX_VERSION), as gfx_target_version
	Visible         []string // GPUs to show, by index or UUID (ROCR_VISIBLE_DEVICES); nil shows all
	VMFaultMessage  bool     // print faults (HSA_ENABLE_VM_FAULT_MESSAGE)
	CUMasks         CUMasks  // compute units that queues may use (HSA_CU_MASK)
	Fragments       bool     // small allocations of video memory share blocks as in ROCr (PUMICE_FRAGMENTS, off by default; HSA_DISABLE_FRAGMENT_ALLOCATOR turns it off)

	// OnFault is told of memory faults and device resets instead of ending the process. The handler runs on a goroutine of its
	// own.
	OnFault func(Fault)
}

// DefaultOptions returns what the environment asks for.
func DefaultOptions() Options { return OptionsFromEnv(os.LookupEnv) }

// OptionsFromEnv reads the HSA_* and ROCR_* variables.
func OptionsFromEnv(lookup func(string) (string, bool)) Options {
	on := func(name string, def bool) bool {
		if v, ok := lookup(name); ok && v != "" {
			return v != "0"
		}
		return def
	}
	o := Options{
		Interrupts: on("HSA_ENABLE_INTERRUPT", true), SDMA: on("HSA_ENABLE_SDMA", true),
		VMFaultMessage: on("HSA_ENABLE_VM_FAULT_MESSAGE", true),
		Fragments:      on(FragmentsVariable, false) && !on("HSA_DISABLE_FRAGMENT_ALLOCATOR", false),
	}
	if v, ok := lookup("HSA_XNACK"); ok && (v == "0" || v == "1") {
		b := v == "1"
		o.XNACK = &b
	}
	if v, ok := lookup("HSA_OVERRIDE_GFX_VERSION"); ok {
		var a, b, c uint32
		if n, _ := fmt.Sscanf(v, "%d.%d.%d", &a, &b, &c); n == 3 {
			o.OverrideVersion = a*10000 + b*100 + c
		}
	}
	if v, ok := lookup("HSA_CU_MASK"); ok && v != "" {
		var err error
		if o.CUMasks, err = ParseCUMasks(v); err != nil {
			fmt.Fprintf(os.Stderr, "pumice: HSA_CU_MASK=%s is ignored: %v\n", v, err)
		}
	}
	if v, ok := lookup("ROCR_VISIBLE_DEVICES"); ok {
		o.Visible = strings.Split(v, ",")
	}
	return o
}

// Runtime is an open HSA system.
type Runtime struct {
	kfd    *hsakmt.KFD
	opts   Options
	agents []*Agent // CPUs, then GPUs
	cpu    *Agent
	gpus   []*Agent
	xnack  bool

	signals signalPool
	closed  atomic.Bool
	inside  atomic.Int64 // goroutines that wait for signals

	executables sync.Map // *Executable to true
	onFault     atomic.Pointer[func(Fault) bool]
	vmem        vmem
	interops    interops

	mu     sync.Mutex
	queues map[*Queue]bool // guarded by mu
	faults []*hsakmt.Event
}

// Open opens the driver and finds the agents.
func Open(t hsakmt.Transport, o Options) (*Runtime, error) {
	k, err := hsakmt.Open(t)
	if err != nil {
		return nil, wrap("init", err)
	}
	r := &Runtime{kfd: k, opts: o, queues: map[*Queue]bool{}}
	r.signals.table = map[uint64]*Signal{}
	if err := r.init(); err != nil {
		_ = k.Close()
		return nil, err
	}
	return r, nil
}

func (r *Runtime) init() error {
	if r.opts.XNACK != nil {
		// The driver refuses what a device cannot; then the mode stays as it is, which the target id shows.
		_ = r.kfd.SetXNACK(*r.opts.XNACK)
	}
	var err error
	if r.xnack, err = r.kfd.XNACK(); err != nil && hsakmt.StatusOf(err) != hsakmt.NotSupported {
		return wrap("init", err)
	}
	for _, n := range r.kfd.Topology().Nodes {
		if n.IsGPU() {
			a, err := r.newGPUAgent(n, r.xnack)
			if err != nil {
				return err
			}
			if a.clock0, err = r.kfd.ClockCounters(n.ID); err != nil {
				return wrap("init", err)
			}
			r.gpus = append(r.gpus, a)
			continue
		}
		a := r.newCPUAgent(n)
		if r.cpu == nil {
			r.cpu = a
		}
		r.agents = append(r.agents, a)
	}
	if r.cpu == nil {
		return fail("init", StatusError, "the topology has no CPU")
	}
	r.gpus = visible(r.gpus, r.opts.Visible)
	r.agents = append(r.agents, r.gpus...)
	if len(r.gpus) > 0 {
		return r.watchFaults()
	}
	return nil
}

// visible picks agents by the rules of ROCR_VISIBLE_DEVICES: indexes or UUIDs (or their unique prefixes), in the order named; the list ends
// at the first that names nothing or repeats.
func visible(all []*Agent, want []string) []*Agent {
	if want == nil {
		return all
	}
	var out []*Agent
	seen := map[*Agent]bool{}
	for _, w := range want {
		w = strings.TrimSpace(w)
		var a *Agent
		if i, err := strconv.Atoi(w); err == nil {
			if i >= 0 && i < len(all) {
				a = all[i]
			}
		} else if strings.HasPrefix(strings.ToUpper(w), "GPU-") && len(w) > 4 {
			n := 0
			for _, x := range all {
				if strings.HasPrefix(strings.ToLower(x.UUID()), strings.ToLower(w)) {
					a = x
					n++
				}
			}
			if n != 1 {
				a = nil
			}
		}
		if a == nil || seen[a] {
			break
		}
		seen[a] = true
		out = append(out, a)
	}
	return out
}

// Agents lists all agents: CPUs, then visible GPUs.
func (r *Runtime) Agents() []*Agent { return r.agents }

// GPUs lists the visible GPU agents.
func (r *Runtime) GPUs() []*Agent { return r.gpus }

// CPU returns the first CPU agent.
func (r *Runtime) CPU() *Agent { return r.cpu }

// XNACK reports whether retry faults are on.
func (r *Runtime) XNACK() bool { return r.xnack }

// Thunk returns the driver connection, for what HSA has no words for.
func (r *Runtime) Thunk() *hsakmt.KFD { return r.kfd }

// Close ends all queues and closes the driver.
func (r *Runtime) Close() error {
	if r.closed.Swap(true) {
		return fail("shut_down", StatusNotInitialized)
	}
	r.mu.Lock()
	var qs []*Queue
	for q := range r.queues {
		qs = append(qs, q)
	}
	r.mu.Unlock()
	for _, q := range qs {
		_ = q.Destroy()
	}
	for _, g := range r.gpus {
		g.closeSDMA()
	}
	for _, e := range r.faults {
		_ = r.kfd.DestroyEvent(e)
	}
	r.signals.mu.Lock()
	for _, s := range r.signals.table {
		if s.event != nil {
			_ = r.kfd.DestroyEvent(s.event)
		}
	}
	for _, s := range r.signals.spare {
		if s.event != nil {
			_ = r.kfd.DestroyEvent(s.event)
		}
	}
	r.signals.mu.Unlock()
	for r.inside.Load() != 0 {
		time.Sleep(50 * time.Microsecond)
	}
	return wrap("shut_down", r.kfd.Close())
}

// Fault is a memory fault, or the reset of a device.
type Fault struct {
	Agent      *Agent
	Reset      bool // the device was reset; the fields below are empty
	Addr       uint64
	NotPresent bool
	ReadOnly   bool
	NoExecute  bool
	Imprecise  bool
}

// Message words the fault as ROCr does.
func (f *Fault) Message() string {
	if f.Reset {
		return "HW Exception by GPU node-" + strconv.Itoa(f.Agent.Node.ID) + fmt.Sprintf(" (Agent handle: %p)", f.Agent) + " reason :GPU Hang"
	}
	reason := "Unknown"
	switch {
	case f.NotPresent:
		reason = "Page not present or supervisor privilege"
	case f.ReadOnly:
		reason = "Write access to a read-only page"
	case f.NoExecute:
		reason = "Execute access to a page marked NX"
	}
	addr := "(nil)"
	if f.Addr != 0 {
		addr = fmt.Sprintf("%#x", f.Addr)
	}
	return fmt.Sprintf("Memory access fault by GPU node-%d (Agent handle: %p) on address %s%s. Reason: %s.",
		f.Agent.Node.ID, f.Agent, addr, map[bool]string{true: ". May not be exact address", false: ""}[f.Imprecise], reason)
}

// HandleFaults has f asked when there is a fault, before the process ends; it does not when f says that the fault is dealt with. The last
// handler is the one that counts.
func (r *Runtime) HandleFaults(f func(Fault) bool) { r.onFault.Store(&f) }

// watchFaults waits for memory and hardware exceptions in the background.
func (r *Runtime) watchFaults() error {
	for _, typ := range []uint32{kfd.EventMemory, kfd.EventHWException} {
		e, err := r.kfd.CreateEvent(typ, false)
		if err != nil {
			return wrap("init", err)
		}
		r.faults = append(r.faults, e)
		go r.watchFault(e)
	}
	return nil
}

func (r *Runtime) watchFault(e *hsakmt.Event) {
	for r.nextFault(e) {
	}
}

// nextFault waits for a fault and deals with it. It reports whether more may come.
func (r *Runtime) nextFault(e *hsakmt.Event) bool {
	d, err := r.kfd.WaitEvents([]*hsakmt.Event{e}, nil, false, Forever)
	if err != nil || r.closed.Load() {
		return false // the event went away with the runtime
	}
	f := Fault{}
	id := d[0].Memory.GPUID
	if e.Type == kfd.EventHWException {
		f.Reset, id = true, d[0].HW().GPUID
	} else {
		m := d[0].Memory
		f.Addr, f.NotPresent, f.ReadOnly, f.NoExecute, f.Imprecise = m.VA, m.NotPresent != 0, m.ReadOnly != 0, m.NoExecute != 0, m.Imprecise != 0
	}
	for _, g := range r.gpus {
		if g.Node.GPUID == id {
			f.Agent = g
		}
	}
	if f.Agent == nil {
		f.Agent = r.gpus[0]
	}
	// Queues stop with the status of the fault, so that whoever waits for them learns of it.
	r.mu.Lock()
	var qs []*Queue
	for q := range r.queues {
		if q.Agent == f.Agent {
			qs = append(qs, q)
		}
	}
	r.mu.Unlock()
	if r.opts.OnFault != nil {
		for _, q := range qs {
			q.setError(StatusMemoryFault)
		}
		r.opts.OnFault(f)
		return false
	}
	if h := r.onFault.Load(); h != nil && (*h)(f) {
		return true
	}
	if r.opts.VMFaultMessage {
		fmt.Fprintln(os.Stderr, f.Message())
	}
	_ = unix.Kill(unix.Getpid(), unix.SIGABRT)
	return false
}
