package hsa

import (
	"encoding/binary"
	"sort"
	"sync"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/codeobj"
)

// Executable is a set of code objects loaded on agents. It is built up, frozen, and from then on its symbols have addresses.
type Executable struct {
	rt *Runtime

	mu     sync.Mutex
	frozen bool                         // guarded by mu
	loaded []*LoadedCode                // guarded by mu
	extern map[*Agent]map[string]uint64 // addresses of variables that the program defines; guarded by mu
	dead   bool
}

// LoadedCode is one code object on one agent.
type LoadedCode struct {
	Agent  *Agent
	Object *codeobj.Object
	Base   uint64 // what addresses of the object are relative to, on the agent
	Size   uint64
	mem    *Memory
}

// Symbol is a kernel or variable of an executable.
type Symbol struct {
	Name   string
	Agent  *Agent
	Addr   uint64              // of a variable; of a kernel, its kernel object: the descriptor's address
	Size   uint64              // bytes of a variable
	Kernel *codeobj.KernelInfo // nil for a variable
	Code   *LoadedCode
}

// NewExecutable makes an empty executable.
func (r *Runtime) NewExecutable() *Executable {
	e := &Executable{rt: r, extern: map[*Agent]map[string]uint64{}}
	r.executables.Store(e, true)
	return e
}

// CodeAt returns the code object that is loaded at an address of any agent, and its load address.
func (r *Runtime) CodeAt(addr uint64) (o *codeobj.Object, base uint64, ok bool) {
	r.executables.Range(func(k, _ any) bool {
		for _, c := range k.(*Executable).Loaded() {
			if addr-c.Base < c.Size {
				o, base, ok = c.Object, c.Base, true
			}
		}
		return !ok
	})
	return
}

// Define gives a variable that code objects refer to but do not define an address on an agent.
func (e *Executable) Define(a *Agent, name string, addr uint64) error {
	const op = "executable_agent_global_variable_define"
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.frozen {
		return fail(op, StatusFrozenExecutable)
	}
	if e.extern[a] == nil {
		e.extern[a] = map[string]uint64{}
	}
	if _, ok := e.extern[a][name]; ok {
		return fail(op, StatusVariableAlreadyDefined, "%s", name)
	}
	e.extern[a][name] = addr
	return nil
}

// Load takes a code object in for an agent, whose target must run it. Memory is taken now and filled at Freeze.
func (e *Executable) Load(a *Agent, o *codeobj.Object) (*LoadedCode, error) {
	const op = "executable_load_agent_code_object"
	if !a.IsGPU() {
		return nil, fail(op, StatusInvalidAgent)
	}
	if !a.Target.Runs(o.Target) {
		return nil, fail(op, StatusInvalidISA, "code for %s does not run on %s", o.Target, a.Target)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.frozen {
		return nil, fail(op, StatusFrozenExecutable)
	}
	m, err := a.Pool(PoolCoarseGrained).Allocate(o.ImageSize(), o.ImageAlign(), AllocExecutable)
	if err != nil {
		return nil, err
	}
	c := &LoadedCode{Agent: a, Object: o, Base: m.Addr, Size: o.ImageSize(), mem: m}
	e.loaded = append(e.loaded, c)
	return c, nil
}

// Freeze resolves references, applies relocations and writes the images to their agents.
func (e *Executable) Freeze() error {
	const op = "executable_freeze"
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.frozen {
		return fail(op, StatusFrozenExecutable)
	}
	for _, c := range e.loaded {
		img := make([]byte, c.Size)
		for i := range c.Object.Segments {
			s := &c.Object.Segments[i]
			copy(img[s.VAddr:], s.Data)
		}
		for i := range c.Object.Relocs {
			r := &c.Object.Relocs[i]
			var s uint64
			if r.Symbol != nil {
				var ok bool
				if s, ok = e.resolve(c, r.Symbol); !ok {
					return fail(op, StatusVariableUndefined, "%s", r.Symbol.Name)
				}
			}
			v, n, err := r.Value(s, c.Base)
			if err != nil {
				return &Error{Op: op, Status: StatusInvalidCodeObject, Err: err}
			}
			switch n {
			case 4:
				binary.LittleEndian.PutUint32(img[r.Offset:], uint32(v))
			case 8:
				binary.LittleEndian.PutUint64(img[r.Offset:], v)
			}
		}
		if err := c.Agent.writeCode(c.mem, img); err != nil {
			return err
		}
	}
	e.frozen = true
	return nil
}

// resolve finds the address of a symbol for code object c: its own, another's on the same agent, or a defined one.
func (e *Executable) resolve(c *LoadedCode, s *codeobj.Symbol) (uint64, bool) {
	if !s.Undefined() {
		return c.Base + s.Value, true
	}
	for _, o := range e.loaded {
		if o.Agent == c.Agent {
			if d := o.Object.Symbol(s.Name); d != nil {
				return o.Base + d.Value, true
			}
		}
	}
	if a, ok := e.extern[c.Agent][s.Name]; ok {
		return a, true
	}
	return 0, s.Binding == 2 // an undefined weak symbol is 0
}

// Kernel finds a kernel on an agent, by name with or without ".kd".
func (e *Executable) Kernel(a *Agent, name string) (*Symbol, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	for _, c := range e.loaded {
		if c.Agent != a {
			continue
		}
		var k *codeobj.KernelInfo
		if k, err = c.Object.Kernel(name); err == nil {
			return &Symbol{Name: k.Symbol, Agent: a, Addr: c.Base + k.DescVA, Size: codeobj.DescriptorSize, Kernel: k, Code: c}, nil
		}
	}
	return nil, &Error{Op: "executable_get_symbol", Status: StatusInvalidSymbolName, Err: err}
}

// Variable finds a variable on an agent.
func (e *Executable) Variable(a *Agent, name string) (*Symbol, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.loaded {
		if c.Agent != a {
			continue
		}
		if s := c.Object.Symbol(name); s != nil && s.Type == codeobj.SymObject {
			return &Symbol{Name: name, Agent: a, Addr: c.Base + s.Value, Size: s.Size, Code: c}, nil
		}
	}
	if v, ok := e.extern[a][name]; ok {
		return &Symbol{Name: name, Agent: a, Addr: v}, nil
	}
	return nil, fail("executable_get_symbol", StatusInvalidSymbolName, "%s", name)
}

// Symbols lists kernels and variables on an agent, by name.
func (e *Executable) Symbols(a *Agent) (out []*Symbol) {
	e.mu.Lock()
	loaded := append([]*LoadedCode(nil), e.loaded...)
	e.mu.Unlock()
	for _, c := range loaded {
		if c.Agent != a {
			continue
		}
		isKernel := map[string]bool{}
		if c.Object.Meta != nil {
			for i := range c.Object.Meta.Kernels {
				k := &c.Object.Meta.Kernels[i]
				if s, err := e.Kernel(a, k.Symbol); err == nil {
					isKernel[k.Symbol] = true
					out = append(out, s)
				}
			}
		}
		for _, s := range c.Object.Symbols() {
			if s.Type == codeobj.SymObject && !s.Undefined() && !isKernel[s.Name] {
				out = append(out, &Symbol{Name: s.Name, Agent: a, Addr: c.Base + s.Value, Size: s.Size, Code: c})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return
}

// Frozen reports whether the executable is frozen.
func (e *Executable) Frozen() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.frozen
}

// Loaded lists the code objects.
func (e *Executable) Loaded() []*LoadedCode {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*LoadedCode(nil), e.loaded...)
}

// Destroy unloads everything. Kernels must not run any more.
func (e *Executable) Destroy() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dead {
		return fail("executable_destroy", StatusInvalidExecutable)
	}
	e.dead, e.frozen = true, true
	e.rt.executables.Delete(e)
	var first error
	for _, c := range e.loaded {
		c.Agent.mu.Lock()
		c.Agent.codeFreed = true
		c.Agent.mu.Unlock()
		if err := e.rt.Free(c.mem); err != nil && first == nil {
			first = err
		}
	}
	e.loaded = nil
	return first
}

// writeCode writes an image to an agent's memory, by the CPU where it reaches it, and makes the agent forget instructions that it may have cached
// from these addresses.
func (a *Agent) writeCode(m *Memory, img []byte) error {
	if b := m.Bytes(); b != nil {
		copy(b, img)
	} else {
		stage, err := a.rt.systemAlloc(uint64(len(img)), 0)
		if err != nil {
			return wrap("code copy", err)
		}
		defer a.rt.kfd.Free(stage)
		copy(unsafe.Slice((*byte)(hostPointer(stage.VA)), len(img)), img)
		if err := a.rt.Copy(m.Addr, stage.VA, uint64(len(img)), a); err != nil {
			return err
		}
	}
	a.mu.Lock()
	stale := a.codeFreed
	a.mu.Unlock()
	if !stale {
		return nil
	}
	return a.invalidateCode()
}
