package hip

import (
	"encoding/binary"
	"os"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// module is a hipModule_t.
type module struct {
	prog   *clr.Program
	dev    *clr.Device
	handle uintptr
	fns    []uintptr
}

// ModuleLoad loads a file; ModuleLoadData an image in memory.
func (a *API) ModuleLoad(t *Thread, out *uintptr, path string) Error {
	if out == nil || path == "" {
		return ErrInvalidValue
	}
	if _, e := a.device(t); e != Success {
		return e
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return ErrFileNotFound
	}
	return a.moduleLoad(t, out, b)
}

// ModuleLoadData loads an image whose size is found by parsing it.
func (a *API) ModuleLoadData(t *Thread, out *uintptr, image uintptr) Error {
	if out == nil || image == 0 {
		return ErrInvalidValue
	}
	if _, e := a.device(t); e != Success {
		return e
	}
	b, e := a.imageAt(image)
	if e != Success {
		return e
	}
	if len(b) >= 24 && binary.LittleEndian.Uint32(b) == fatMagic {
		b = mappedFrom(uintptr(binary.LittleEndian.Uint64(b[8:])))
	}
	return a.moduleLoad(t, out, b)
}

// imageAt is the memory from an image's address on, as far as the image may reach. What lies in memory of the runtime is copied: it may be anywhere.
func (a *API) imageAt(image uintptr) ([]byte, Error) {
	m := a.rt.Find(uint64(image))
	if m == nil || uint64(image)-m.Host >= m.Size {
		return mappedFrom(image), Success
	}
	b := make([]byte, m.Host+m.Size-uint64(image))
	if !LoadMemory(b, image) {
		return nil, ErrInvalidValue
	}
	return b, Success
}

func (a *API) moduleLoad(t *Thread, out *uintptr, b []byte) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	p, err := a.rt.NewProgram(b)
	if err != nil {
		if a.Face <= 5 && codeOf(err) == ErrInvalidImage {
			return ErrInvalidKernelFile
		}
		return a.fromErr(err)
	}
	// Loading now reports now what is wrong with the image.
	if _, _, err := p.Symbols(d); err != nil {
		_ = p.Unload()
		return a.fromErr(err)
	}
	m := &module{prog: p, dev: d}
	m.handle = a.modules.add(m)
	*out = m.handle
	return Success
}

// ModuleUnload unloads a module; its functions become invalid.
func (a *API) ModuleUnload(m uintptr) Error {
	x := a.modules.remove(m)
	if x == nil {
		return a.noModule()
	}
	for _, f := range x.fns {
		a.funcs.remove(f)
	}
	return a.fromErr(x.prog.Unload())
}

// ModuleGetFunction finds a kernel of a module.
func (a *API) ModuleGetFunction(t *Thread, out *uintptr, m uintptr, name string) Error {
	if out == nil || name == "" {
		return ErrInvalidValue
	}
	x := a.modules.get(m)
	if x == nil {
		return a.noModule()
	}
	f := &function{name: name, mod: x, kernels: map[*clr.Device]*clr.Kernel{}}
	if _, err := a.kernel(f, x.dev); err != nil {
		return a.fromErr(err)
	}
	*out = a.funcs.add(f)
	f.handle = *out
	a.mu.Lock()
	x.fns = append(x.fns, *out)
	a.mu.Unlock()
	return Success
}

// ModuleGetGlobal finds a variable of a module.
func (a *API) ModuleGetGlobal(out *uintptr, size *uint64, m uintptr, name string) Error {
	if name == "" {
		return ErrInvalidValue
	}
	x := a.modules.get(m)
	if x == nil {
		return a.noModule()
	}
	addr, n, err := x.prog.Variable(x.dev, name)
	if err != nil {
		return a.fromErr(err)
	}
	if out != nil {
		*out = uintptr(addr)
	}
	if size != nil {
		*size = n
	}
	return Success
}
