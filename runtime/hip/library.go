package hip

// Libraries (hipLibrary_t, HIP 7) are modules that are loaded for all devices, and kernels of them functions.

// LibraryKernels lists the kernels of a library, at most as many as there is room for.
func (a *API) LibraryKernels(t *Thread, lib uintptr, out []uintptr) Error {
	x := a.modules.get(lib)
	if x == nil {
		return ErrInvalidValue
	}
	names, _, err := x.prog.Symbols(x.dev)
	if err != nil {
		return a.fromErr(err)
	}
	for i := range out {
		if i >= len(names) {
			out[i] = 0
			continue
		}
		if e := a.ModuleGetFunction(t, &out[i], lib, names[i]); e != Success {
			return e
		}
	}
	return Success
}

// ModuleKernelCount counts the kernels of a module.
func (a *API) ModuleKernelCount(n *uint32, m uintptr) Error {
	x := a.modules.get(m)
	if n == nil || x == nil {
		return ErrInvalidValue
	}
	names, _, err := x.prog.Symbols(x.dev)
	if err != nil {
		return a.fromErr(err)
	}
	*n = uint32(len(names))
	return Success
}

// KernelName returns the name of a function, "" if there is none.
func (a *API) KernelName(fn uintptr) string {
	f := a.funcs.get(fn)
	if f == nil {
		f = a.reg.function(fn)
	}
	if f == nil {
		return ""
	}
	return f.name
}

// KernelLibrary returns the library that a kernel is of.
func (a *API) KernelLibrary(out *uintptr, fn uintptr) Error {
	f := a.funcs.get(fn)
	if out == nil || f == nil || f.mod == nil {
		return ErrInvalidValue
	}
	*out = f.mod.handle
	return Success
}

// KernelParam returns offset and size of an explicit argument; the size may be nil.
func (a *API) KernelParam(t *Thread, fn uintptr, i uint64, off, size *uint64) Error {
	if off == nil {
		return ErrInvalidValue
	}
	k, e := a.kernelOf(t, fn)
	if e != Success {
		return e
	}
	if i >= uint64(k.NumArgs()) {
		return ErrInvalidValue
	}
	*off = uint64(k.ArgOffset(int(i)))
	if size != nil {
		*size = uint64(k.ArgSize(int(i)))
	}
	return Success
}

// FunctionBySymbol returns a function for the host key of a registered kernel.
func (a *API) FunctionBySymbol(t *Thread, out *uintptr, key uintptr) Error {
	if out == nil || key == 0 {
		return ErrInvalidValue
	}
	if _, e := a.kernelByKey(t, key); e != Success {
		return e
	}
	f := a.reg.function(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bySymbol == 0 {
		f.bySymbol = a.funcs.add(f)
	}
	*out = f.bySymbol
	return Success
}
