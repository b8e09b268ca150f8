package hsaabi

/*
#include <stdint.h>

static int call_serialize(void *f, uint64_t n, uint64_t data, void **out) { return ((int (*)(uint64_t, uint64_t, void **))f)(n, data, out); }
static int call_code_symbol(void *f, uint64_t object, uint64_t symbol, void *data) { return ((int (*)(uint64_t, uint64_t, void *))f)(object, symbol, data); }
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Code objects of HSA 1.0: a thing of its own between the file and the executable, which readers replaced.

// codeSymbol is a symbol of a code object that is not loaded.
type codeSymbol struct {
	name   string
	size   uint64
	kernel *codeobj.KernelInfo // nil for a variable
}

type codeObject struct {
	o       *codeobj.Object
	symbols map[string]uint64 // handles; written when it is made
	names   []string
}

var (
	codeObjects handles[*codeObject]
	codeSymbols handles[*codeSymbol]
)

func codeObjectOf(h uint64) (*codeObject, int32) {
	if rt() == nil {
		return nil, notInit
	}
	c := codeObjects.get(h)
	if c == nil {
		return nil, int32(hsa.StatusInvalidCodeObject)
	}
	return c, ok
}

//export hsa_code_object_deserialize
func hsa_code_object_deserialize(p unsafe.Pointer, n uint64, options *C.char, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if p == nil || n == 0 || n > 1<<30 || out == nil {
		return badArg
	}
	b := make([]byte, n)
	if !caller.Load(unsafe.Pointer(&b[0]), uintptr(p), uintptr(n)) {
		return badArg
	}
	o, err := codeobj.Open(b)
	if err != nil {
		return int32(hsa.StatusInvalidCodeObject)
	}
	c := &codeObject{o: o, symbols: map[string]uint64{}}
	add := func(s *codeSymbol) {
		c.symbols[s.name] = codeSymbols.of(s)
		c.names = append(c.names, s.name)
	}
	if o.Meta != nil {
		for i := range o.Meta.Kernels {
			if k, err := o.Kernel(o.Meta.Kernels[i].Symbol); err == nil {
				add(&codeSymbol{name: k.Symbol, kernel: k})
			}
		}
	}
	for _, s := range o.Symbols() {
		if _, known := c.symbols[s.Name]; !known && s.Type == codeobj.SymObject && !s.Undefined() {
			add(&codeSymbol{name: s.Name, size: s.Size})
		}
	}
	return give(out, codeObjects.of(c))
}

//export hsa_code_object_serialize
func hsa_code_object_serialize(h uint64, alloc unsafe.Pointer, data uint64, options *C.char, out *unsafe.Pointer, size *uint64) int32 {
	c, st := codeObjectOf(h)
	if st != ok {
		return st
	}
	if alloc == nil || out == nil || size == nil {
		return badArg
	}
	b := c.o.Bytes()
	var p unsafe.Pointer
	if st := int32(C.call_serialize(alloc, C.uint64_t(len(b)), C.uint64_t(data), &p)); st != ok {
		return st
	}
	if p == nil {
		return int32(hsa.StatusOutOfResources)
	}
	if st := putBytes(uintptr(p), b); st != ok {
		return st
	}
	if st := give(out, p); st != ok {
		return st
	}
	return give(size, uint64(len(b)))
}

//export hsa_code_object_destroy
func hsa_code_object_destroy(h uint64) int32 {
	c, st := codeObjectOf(h)
	if st != ok {
		return st
	}
	for _, s := range c.symbols {
		codeSymbols.drop(s)
	}
	codeObjects.drop(h)
	return ok
}

//export hsa_code_object_get_info
func hsa_code_object_get_info(h uint64, attr int32, p uintptr) int32 {
	c, st := codeObjectOf(h)
	if st != ok {
		return st
	}
	if p == 0 {
		return badArg
	}
	switch attr {
	case 0: // "the version, as text of 64 bytes"
		return putText(p, fmt.Sprint(c.o.Version), 64)
	case 1: // a program
		return put(p, uint32(0))
	case 2:
		return put(p, isas.of(hsa.ISA{Target: c.o.Target}))
	case 3: // large
		return put(p, uint32(1))
	case 4: // full
		return put(p, uint32(1))
	case 5: // to nearest
		return put(p, uint32(2))
	}
	return badArg
}

//export hsa_code_object_get_symbol
func hsa_code_object_get_symbol(h uint64, name *C.char, out *uint64) int32 {
	c, st := codeObjectOf(h)
	if st != ok {
		return st
	}
	if name == nil || out == nil {
		return badArg
	}
	n := text(name)
	for _, n := range [...]string{n, n + ".kd"} {
		if s, found := c.symbols[n]; found {
			return give(out, s)
		}
	}
	return int32(hsa.StatusInvalidSymbolName)
}

//export hsa_code_object_get_symbol_from_name
func hsa_code_object_get_symbol_from_name(h uint64, module, name *C.char, out *uint64) int32 {
	if module != nil && *module != 0 {
		return int32(hsa.StatusInvalidSymbolName)
	}
	return hsa_code_object_get_symbol(h, name, out)
}

//export hsa_code_object_iterate_symbols
func hsa_code_object_iterate_symbols(h uint64, f, data unsafe.Pointer) int32 {
	c, st := codeObjectOf(h)
	if st != ok {
		return st
	}
	if f == nil {
		return badArg
	}
	for _, n := range c.names {
		if st := int32(C.call_code_symbol(f, C.uint64_t(h), C.uint64_t(c.symbols[n]), data)); st != ok {
			return st
		}
	}
	return ok
}

//export hsa_executable_load_code_object
func hsa_executable_load_code_object(exe, agent, h uint64, options *C.char) int32 {
	c, st := codeObjectOf(h)
	if executables.get(exe) == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if st != ok {
		return st
	}
	return loadCode(exe, agent, c.o.Bytes(), nil)
}

//export hsa_code_symbol_get_info
func hsa_code_symbol_get_info(h uint64, attr int32, p uintptr) int32 {
	if rt() == nil {
		return notInit
	}
	s := codeSymbols.get(h)
	if s == nil {
		return int32(hsa.StatusInvalidCodeSymbol)
	}
	if p == 0 {
		return badArg
	}
	return symbolInfo(s.name, s.kernel, s.size, attr, p)
}
