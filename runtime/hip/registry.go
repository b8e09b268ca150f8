package hip

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"sync"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Registry holds what the constructors of a program's modules register. It starts nothing: programs are opened when a device needs them.
type Registry struct {
	mu    sync.RWMutex
	next  uintptr
	bins  map[uintptr]*fatBinary
	funcs map[uintptr]*function // by host key
	vars  map[uintptr]*variable // by host address
	api   *API                  // nil until attached
}

// fatBinary is one __CudaFatBinaryWrapper.
type fatBinary struct {
	image uintptr
	once  sync.Once
	prog  *clr.Program
	err   error
	vars  []*variable // guarded by Registry.mu
	funcs []uintptr
}

// function is a kernel: of a fat binary, or of a module.
type function struct {
	name   string
	handle uintptr // what the program knows it by: host key, or the handle of a module's function
	bin    *fatBinary
	mod    *module

	mu       sync.Mutex
	kernels  map[*clr.Device]*clr.Kernel // guarded by mu
	bySymbol uintptr                     // handle that FunctionBySymbol gave out, 0 before; guarded by mu
}

// variable is a device variable with a host shadow.
type variable struct {
	name    string
	bin     *fatBinary
	size    uint64
	managed *uintptr // the host's pointer variable
	init    uintptr
	align   uint32
	done    map[*clr.Device]bool // managed: where the pointer has been written; guarded by Registry.mu
	mem     *clr.Memory
}

// fatMagic is "HIPF" as the wrapper has it.
const fatMagic = 0x48495046

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{next: firstHandle, bins: map[uintptr]*fatBinary{}, funcs: map[uintptr]*function{}, vars: map[uintptr]*variable{}}
}

// RegisterFatBinary takes the address of a wrapper: magic, version, pointer to the bundle. It returns a handle, 0 for a wrapper that is none.
func (r *Registry) RegisterFatBinary(wrapper uintptr) uintptr {
	if wrapper == 0 {
		return 0
	}
	w := bytesAt(wrapper, 24)
	if binary.LittleEndian.Uint32(w) != fatMagic || binary.LittleEndian.Uint32(w[4:]) != 1 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next += 16
	r.bins[r.next] = &fatBinary{image: uintptr(binary.LittleEndian.Uint64(w[8:]))}
	return r.next
}

// RegisterFunction names a kernel by a host key.
func (r *Registry) RegisterFunction(bin, key uintptr, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.bins[bin]; b != nil {
		r.funcs[key] = &function{name: name, handle: key, bin: b, kernels: map[*clr.Device]*clr.Kernel{}}
		b.funcs = append(b.funcs, key)
	}
}

// RegisterVar names a device variable by its host shadow.
func (r *Registry) RegisterVar(bin, host uintptr, name string, size uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.bins[bin]; b != nil {
		r.vars[host] = &variable{name: name, bin: b, size: size}
	}
}

// RegisterManagedVar names a managed variable: slot is the host's pointer variable, init the initial value.
func (r *Registry) RegisterManagedVar(bin, slot, init uintptr, name string, size uint64, align uint32) {
	r.mu.Lock()
	b := r.bins[bin]
	if b == nil {
		r.mu.Unlock()
		return
	}
	v := &variable{name: name, bin: b, size: size, managed: (*uintptr)(pointer(slot)), init: init, align: align, done: map[*clr.Device]bool{}}
	b.vars = append(b.vars, v)
	r.vars[slot] = v
	api := r.api
	r.mu.Unlock()
	if api != nil {
		api.placeManaged(v)
	}
}

// UnregisterFatBinary forgets a fat binary and unloads it.
func (r *Registry) UnregisterFatBinary(bin uintptr) {
	r.mu.Lock()
	b := r.bins[bin]
	if b == nil {
		r.mu.Unlock()
		return
	}
	delete(r.bins, bin)
	for _, k := range b.funcs {
		delete(r.funcs, k)
	}
	for k, v := range r.vars {
		if v.bin == b {
			delete(r.vars, k)
		}
	}
	r.mu.Unlock()
	b.once.Do(func() { b.err = fmt.Errorf("hip: %w", clr.ErrInvalidHandle) })
	if b.prog != nil {
		_ = b.prog.Unload()
	}
}

// attach lets managed variables come into being.
func (r *Registry) attach(a *API) {
	r.mu.Lock()
	r.api = a
	var vs []*variable
	for _, v := range r.vars {
		if v.managed != nil {
			vs = append(vs, v)
		}
	}
	r.mu.Unlock()
	for _, v := range vs {
		a.placeManaged(v)
	}
}

// placeManaged gives a managed variable its memory, at the address that the host's pointer has already if it has one.
func (a *API) placeManaged(v *variable) {
	ds := a.devices()
	if len(ds) == 0 || v.mem != nil {
		return
	}
	var err error
	if *v.managed != 0 {
		v.mem, err = ds[0].AdoptManaged(uint64(*v.managed), v.size)
	} else {
		v.mem, err = ds[0].AllocManaged(v.size)
		if err == nil {
			if v.init != 0 {
				clr.CopyShared(v.mem.Host, uint64(v.init), v.size)
			}
			*v.managed = uintptr(v.mem.Ptr)
		}
	}
	if err != nil {
		a.log.printf(logError, logAlways, "hip_registry", "managed variable %s: %v", v.name, err)
	}
}

func (r *Registry) function(key uintptr) *function {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.funcs[key]
}

func (r *Registry) variable(host uintptr) *variable {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.vars[host]
}

// program opens the fat binary, once.
func (a *API) program(b *fatBinary) (*clr.Program, error) {
	b.once.Do(func() {
		if a.rt == nil {
			b.err = fmt.Errorf("hip: %w", clr.ErrInvalidDevice)
			return
		}
		b.prog, b.err = a.rt.NewProgram(mappedFrom(b.image))
	})
	return b.prog, b.err
}

// initManaged writes the pointers of managed variables into a device's copy of the program.
func (a *API) initManaged(b *fatBinary, d *clr.Device) error {
	a.reg.mu.Lock()
	defer a.reg.mu.Unlock()
	for _, v := range b.vars {
		if v.mem == nil || v.done[d] {
			continue
		}
		addr, size, err := b.prog.Variable(d, v.name)
		if err != nil {
			continue // not used by this device's code
		}
		if size != 8 {
			return fmt.Errorf("hip: managed variable %s: its pointer has %d bytes: %w", v.name, size, clr.ErrInvalidImage)
		}
		p := v.mem.Ptr
		if err := d.Write(addr, binary.LittleEndian.AppendUint64(nil, p)); err != nil {
			return err
		}
		v.done[d] = true
	}
	return nil
}

// kernel returns the kernel of a function on a device.
func (a *API) kernel(f *function, d *clr.Device) (*clr.Kernel, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.kernels[d]; k != nil {
		return k, nil
	}
	p := (*clr.Program)(nil)
	var err error
	if f.mod != nil {
		p = f.mod.prog
	} else {
		if p, err = a.program(f.bin); err != nil {
			return nil, err
		}
	}
	k, err := p.Kernel(d, f.name)
	if err != nil {
		return nil, err
	}
	if f.bin != nil {
		if err := a.initManaged(f.bin, d); err != nil {
			return nil, err
		}
	}
	f.kernels[d] = k
	return k, nil
}

// mappedFrom returns the readable memory from an address to the end of the mappings that hold it without a gap: a fat binary's size is not known before it
// has been parsed, and the parser does not read further than it must.
func mappedFrom(addr uintptr) []byte {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	end := addr
	for s := bufio.NewScanner(bytes.NewReader(maps)); s.Scan(); {
		var lo, hi uintptr
		var prot string
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x %s", &lo, &hi, &prot); n != 3 {
			continue
		}
		if lo <= end && end < hi && prot[0] == 'r' {
			end = hi
		}
	}
	if end == addr {
		return nil
	}
	return bytesAt(addr, int(end-addr))
}
