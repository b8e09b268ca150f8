package hip

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// maxThreadStreams is how many devices may have per-thread default streams.
const maxThreadStreams = 64

// MaxPushed is how deep launches may be nested in one thread.
const MaxPushed = 16

// LaunchConfig is what a <<<>>> pushes.
type LaunchConfig struct {
	Grid, Block clr.Dim3
	Shared      uint64
	Stream      uintptr
}

// Thread is the state of one application thread. It holds no Go pointers, so that it can be a thread-local variable of C.
type Thread struct {
	// What Go may touch of the thread's stack, see Near; set before each call.
	StackLow, StackHigh uintptr

	Device    int32 // current device
	Last      Error // of the last call, see GetLastError
	Depth     int32
	Streams   [maxThreadStreams]uintptr // handles of the per-thread default streams by device, 0 before the first use
	Configs   [MaxPushed]LaunchConfig
	Arguments [256]byte // hipSetupArgument
	ArgSize   uint64

	ID          uint64 // given to threads that capture
	CaptureMode int32
}

// API is one HIP runtime.
type API struct {
	rt   *clr.Runtime // nil without devices
	Face int          // SONAME version whose behaviour is asked for: 5, 6 or 7
	reg  *Registry
	log  *logger

	tracer atomic.Pointer[Tracer]

	streams handles[stream]
	events  handles[event]
	modules handles[module]
	funcs   handles[function]

	mu     sync.Mutex
	flags  map[int]uint32            // hipSetDeviceFlags by device; guarded by mu
	peers  map[[2]int]bool           // enabled peer access; guarded by mu
	hosts  map[uint64]*pinned        // registered host memory by address; guarded by mu
	limits map[uint32]uint64         // guarded by mu
	mapped map[*clr.Memory]*physical // by mapping; guarded by mu

	physicals handles[physical]
	externals handles[external]

	graphs      handles[graph]
	nodes       handles[node]
	execs       handles[graphExec]
	objects     handles[userObject]
	goneObjects sync.Map // handles of user objects that were destroyed

	noCode sync.Once // for tellNoCode

	captures atomic.Int32  // captures under way
	threads  atomic.Uint64 // the last Thread.ID

	graphMu    sync.Mutex        // graphs, their nodes, captures, user objects
	nodeID     uint64            // guarded by graphMu
	captureID  uint64            // guarded by graphMu
	captureSet map[*capture]bool // guarded by graphMu

	memMu     sync.Mutex                   // memory of graphs and of pools
	graphMem  map[*clr.Memory]*graphMemory // guarded by memMu
	graphHigh map[int32]*[2]uint64         // high marks, guarded by memMu
	pools     pools
	poolSet   map[*pool]bool // all that hold memory; guarded by memMu
}

// New makes the API over a clr runtime, or over nil where there is no device. Registrations made in reg before take effect.
func New(rt *clr.Runtime, reg *Registry, face int) *API {
	a := &API{rt: rt, Face: face, reg: reg, flags: map[int]uint32{}, peers: map[[2]int]bool{}, hosts: map[uint64]*pinned{}, limits: map[uint32]uint64{}, captureSet: map[*capture]bool{}, log: newLogger(os.LookupEnv, face)}
	reg.attach(a)
	return a
}

// A handles table gives objects the opaque numbers that C programs know them by.
type handles[T any] struct {
	mu sync.RWMutex
	m  map[uintptr]*T // guarded by mu
}

// firstHandle is above the values that stand for special streams, and below any address.
const firstHandle = 0x10000

// lastHandle is the latest handle. No two objects of whatever kind have the same, so that one of a wrong kind is noticed.
var lastHandle atomic.Uintptr

func init() { lastHandle.Store(firstHandle) }

func (h *handles[T]) add(x *T) uintptr {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.m == nil {
		h.m = map[uintptr]*T{}
	}
	k := lastHandle.Add(16)
	h.m[k] = x
	return k
}

func (h *handles[T]) get(k uintptr) *T {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.m[k]
}

func (h *handles[T]) remove(k uintptr) *T {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.m[k]
	delete(h.m, k)
	return x
}

// Call runs one API function for a thread: it keeps the thread's last error.
func (a *API) Call(t *Thread, name string, f func() Error) Error {
	e := a.run(name, f)
	a.remember(t, e)
	if a.LogsCalls() {
		a.logReturn(name, e, "")
	}
	return e
}

// CallLogged is Call where LogsCalls; params is what the call was given as it shall be shown, and result says what it has made.
func (a *API) CallLogged(t *Thread, name, params string, f func() Error, result func() string) Error {
	a.log.printf(logInfo, logAPI, "hip_api", "\x1b[32m%s ( %s )\x1b[0m", name, params)
	e := a.run(name, f)
	a.remember(t, e)
	made := ""
	if e == Success {
		made = result()
	}
	a.logReturn(name, e, made)
	return e
}

// LogsCalls reports whether AMD_LOG_LEVEL and AMD_LOG_MASK ask for calls.
func (a *API) LogsCalls() bool { return a.log.wants(logInfo, logAPI) }

func (a *API) logReturn(name string, e Error, made string) {
	a.log.printf(logInfo, logAPI, "hip_api", "%s: Returned %s : %s", name, e.Name(), made)
}

// remember keeps the last error of a thread. From HIP 7 on only real errors are remembered.
func (a *API) remember(t *Thread, e Error) {
	if a.Face < 7 || e != Success && e != ErrNotReady {
		t.Last = e
	}
}

// GetLastError returns and clears the thread's last error.
func (a *API) GetLastError(t *Thread) Error {
	e := t.Last
	t.Last = Success
	return e
}

// PeekAtLastError returns the thread's last error.
func (a *API) PeekAtLastError(t *Thread) Error { return t.Last }

// ErrorString is hipGetErrorString: the name up to HIP 5, the description from 6 on.
func (a *API) ErrorString(e Error) string {
	if a.Face <= 5 {
		return e.Name()
	}
	return e.Text()
}

// devices returns the devices; none if there is no driver.
func (a *API) devices() []*clr.Device {
	if a.rt == nil {
		return nil
	}
	return a.rt.Devices
}

// device returns the thread's current device. The error is hipErrorInvalidDevice also when there is none at all, as AMD's runtime has it;
// only hipGetDeviceCount says hipErrorNoDevice.
func (a *API) device(t *Thread) (*clr.Device, Error) { return a.deviceAt(t.Device) }

func (a *API) deviceAt(i int32) (*clr.Device, Error) {
	ds := a.devices()
	if i < 0 || int(i) >= len(ds) {
		return nil, ErrInvalidDevice
	}
	return ds[i], Success
}

// codeOf maps errors of clr.
func codeOf(err error) Error {
	if err == nil {
		return Success
	}
	var e Error
	if errors.As(err, &e) {
		return e
	}
	for _, m := range [...]struct {
		err error
		e   Error
	}{
		{clr.ErrInvalidValue, ErrInvalidValue}, {clr.ErrInvalidDevice, ErrInvalidDevice}, {clr.ErrInvalidHandle, ErrInvalidHandle},
		{clr.ErrInvalidKernel, ErrInvalidDeviceFunction}, {clr.ErrNoBinary, ErrNoBinaryForGpu}, {clr.ErrInvalidImage, ErrInvalidImage},
		{clr.ErrNotFound, ErrNotFound}, {clr.ErrOutOfMemory, ErrOutOfMemory}, {clr.ErrLaunchBounds, ErrInvalidValue},
		{clr.ErrSharedMemory, ErrOutOfMemory}, {clr.ErrNotSupported, ErrNotSupported}, {clr.ErrNotReady, ErrNotReady},
		{clr.ErrIllegalAddress, ErrIllegalAddress}, {clr.ErrLaunchFailure, ErrLaunchFailure}, {clr.ErrTooLarge, ErrCooperativeLaunchTooLarge},
	} {
		if errors.Is(err, m.err) {
			return m.e
		}
	}
	return ErrUnknown
}

// fromErr maps an error and logs what it says, which the code does not.
func (a *API) fromErr(err error) Error {
	e := codeOf(err)
	if e != Success && e != ErrNotReady && a.log.wants(logError, logAlways) {
		a.log.printf(logError, logAlways, "hip_error", "%v", err)
	}
	return e
}

// Devices lists the devices in order of their numbers.
func (a *API) Devices() []*clr.Device { return a.devices() }
