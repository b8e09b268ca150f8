package clr

import (
	"errors"
	"sync"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Program is a fat binary, a bundle, or a single code object. Devices load it on first use.
type Program struct {
	rt     *Runtime
	bundle *codeobj.Bundle // or
	single *codeobj.Object
	mu     sync.Mutex
	gone   bool // guarded by mu
}

// loadedProgram is a program on one device.
type loadedProgram struct {
	once    sync.Once
	err     error
	exe     *hsa.Executable
	object  *codeobj.Object
	mu      sync.Mutex
	kernels map[string]*Kernel // guarded by mu
}

// NewProgram takes a bundle of either form, or an ELF code object. The bytes must stay as they are. They may be longer than the program. What
// is wrong with a code object is reported when a device needs it.
func (r *Runtime) NewProgram(image []byte) (*Program, error) {
	p := &Program{rt: r}
	switch {
	case codeobj.IsBundle(image):
		b, err := codeobj.OpenBundle(image)
		if err != nil {
			return nil, fail(ErrInvalidImage, "%v", err)
		}
		p.bundle = b
	case codeobj.IsELF(image):
		n, err := codeobj.Size(image)
		if err != nil {
			return nil, fail(ErrInvalidImage, "%v", err)
		}
		if p.single, err = codeobj.Open(image[:n]); err != nil {
			return nil, fail(ErrInvalidImage, "%v", err)
		}
	default:
		return nil, fail(ErrInvalidImage, "neither a bundle nor an ELF file")
	}
	r.mu.Lock()
	r.programs[p] = true
	r.mu.Unlock()
	return p, nil
}

// object picks the code object for a device.
func (p *Program) object(d *Device) (*codeobj.Object, error) {
	if p.single != nil {
		if !d.Agent.Target.Runs(p.single.Target) {
			return nil, fail(ErrNoBinary, "code for %s does not run on %s", p.single.Target, d.Agent.Target)
		}
		return p.single, nil
	}
	e, err := p.bundle.Select(d.Agent.Target)
	if err != nil {
		return nil, fail(ErrNoBinary, "%v", err)
	}
	o, err := e.Object()
	if err != nil {
		return nil, fail(ErrInvalidImage, "%v", err)
	}
	return o, nil
}

// Targets are what the program has code for: "gfx90a:xnack-".
func (p *Program) Targets() []string {
	if p.single != nil {
		return []string{p.single.Target.String()}
	}
	var out []string
	for _, e := range p.bundle.Entries {
		if e.Device {
			out = append(out, e.Target.String())
		}
	}
	return out
}

// load loads the program on a device, once.
func (p *Program) load(d *Device) (*loadedProgram, error) {
	p.mu.Lock()
	gone := p.gone
	p.mu.Unlock()
	if gone {
		return nil, fail(ErrInvalidHandle, "unloaded program")
	}
	d.mu.Lock()
	l := d.progs[p]
	if l == nil {
		l = &loadedProgram{kernels: map[string]*Kernel{}}
		d.progs[p] = l
	}
	d.mu.Unlock()
	l.once.Do(func() { l.err = l.load(p, d) })
	return l, l.err
}

func (l *loadedProgram) load(p *Program, d *Device) error {
	o, err := p.object(d)
	if err != nil {
		return err
	}
	x := d.rt.HSA.NewExecutable()
	if _, err := x.Load(d.Agent, o); err != nil {
		return loadError(err)
	}
	if err := x.Freeze(); err != nil {
		_ = x.Destroy()
		return loadError(err)
	}
	l.exe, l.object = x, o
	return nil
}

func loadError(err error) error {
	switch hsa.StatusOf(err) {
	case hsa.StatusOutOfResources, hsa.StatusInvalidAllocation:
		return fail(ErrOutOfMemory, "%v", err)
	case hsa.StatusInvalidISA:
		return fail(ErrNoBinary, "%v", err)
	case hsa.StatusVariableUndefined:
		return fail(ErrNotFound, "%v", err)
	}
	return fail(ErrInvalidImage, "%v", err)
}

// Unload takes the program off all devices, after waiting for them.
func (p *Program) Unload() error {
	p.mu.Lock()
	if p.gone {
		p.mu.Unlock()
		return fail(ErrInvalidHandle, "program unloaded twice")
	}
	p.gone = true
	p.mu.Unlock()
	var errs []error
	for _, d := range p.rt.Devices {
		d.mu.Lock()
		l := d.progs[p]
		delete(d.progs, p)
		d.mu.Unlock()
		if l == nil || l.exe == nil {
			continue
		}
		errs = append(errs, d.Synchronize(), l.exe.Destroy())
	}
	p.rt.mu.Lock()
	delete(p.rt.programs, p)
	p.rt.mu.Unlock()
	return errors.Join(errs...)
}

// Variable returns address and size of a variable of the program on a device.
func (p *Program) Variable(d *Device, name string) (addr, size uint64, err error) {
	l, err := p.load(d)
	if err != nil {
		return 0, 0, err
	}
	s, err := l.exe.Variable(d.Agent, name)
	if err != nil {
		return 0, 0, fail(ErrNotFound, "variable %q", name)
	}
	return s.Addr, s.Size, nil
}

// Symbols lists the names of kernels and variables on a device.
func (p *Program) Symbols(d *Device) (kernels, variables []string, err error) {
	l, err := p.load(d)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range l.exe.Symbols(d.Agent) {
		if s.Kernel != nil {
			kernels = append(kernels, s.Kernel.Name)
		} else {
			variables = append(variables, s.Name)
		}
	}
	return
}
