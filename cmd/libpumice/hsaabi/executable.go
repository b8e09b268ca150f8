package hsaabi

/*
#include <stdint.h>

static int call_symbol(void *f, uint64_t exe, uint64_t symbol, void *data) { return ((int (*)(uint64_t, uint64_t, void *))f)(exe, symbol, data); }
static int call_agent_symbol(void *f, uint64_t exe, uint64_t agent, uint64_t symbol, void *data) {
    return ((int (*)(uint64_t, uint64_t, uint64_t, void *))f)(exe, agent, symbol, data);
}
*/
import "C"

import (
	"io"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

//export hsa_code_object_reader_create_from_memory
func hsa_code_object_reader_create_from_memory(p unsafe.Pointer, n uint64, out *uint64) int32 {
	if p == nil || n == 0 || n > 1<<40 || out == nil {
		return badArg
	}
	return give(out, readers.of(&reader{unsafe.Slice((*byte)(p), n)}))
}

//export hsa_code_object_reader_destroy
func hsa_code_object_reader_destroy(h uint64) int32 {
	if readers.get(h) == nil {
		return int32(hsa.StatusInvalidCodeObjectReader)
	}
	readers.drop(h)
	return ok
}

//export hsa_code_object_reader_create_from_file
func hsa_code_object_reader_create_from_file(fd int32, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if out == nil || fd < 0 {
		return badArg
	}
	// The file stays the program's, and so does its offset.
	var st unix.Stat_t
	if err := unix.Fstat(int(fd), &st); err != nil {
		return int32(hsa.StatusInvalidFile)
	}
	if st.Size == 0 || st.Size > 1<<40 {
		return int32(hsa.StatusInvalidFile)
	}
	dup, err := unix.Dup(int(fd))
	if err != nil {
		return int32(hsa.StatusInvalidFile)
	}
	f := os.NewFile(uintptr(dup), "code object")
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, st.Size))
	if err != nil || int64(len(b)) != st.Size {
		return int32(hsa.StatusInvalidFile)
	}
	return give(out, readers.of(&reader{b}))
}

//export hsa_executable_create_alt
func hsa_executable_create_alt(profile, rounding int32, options *C.char, out *uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if out == nil {
		return badArg
	}
	return give(out, executables.of(r.NewExecutable()))
}

//export hsa_executable_create
func hsa_executable_create(profile, st int32, options *C.char, out *uint64) int32 {
	return hsa_executable_create_alt(profile, 0, options, out)
}

//export hsa_executable_destroy
func hsa_executable_destroy(h uint64) int32 {
	e := executables.get(h)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	executables.drop(h)
	dropSymbols(e)
	return code(e.Destroy())
}

//export hsa_executable_agent_global_variable_define
func hsa_executable_agent_global_variable_define(exe, agent uint64, name *C.char, addr uintptr) int32 {
	e, a := executables.get(exe), agents.get(agent)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if name == nil {
		return badArg
	}
	return code(e.Define(a, text(name), uint64(addr)))
}

//export hsa_executable_freeze
func hsa_executable_freeze(exe uint64, options *C.char) int32 {
	e := executables.get(exe)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	return code(e.Freeze())
}

// loadCode loads a code object on an agent.
func loadCode(exe, agent uint64, b []byte, out *uint64) int32 {
	e, a := executables.get(exe), agents.get(agent)
	switch {
	case e == nil:
		return int32(hsa.StatusInvalidExecutable)
	case a == nil:
		return int32(hsa.StatusInvalidAgent)
	}
	// A copy: the memory is the program's, which may free it after the load.
	o, err := codeobj.Open(append([]byte(nil), b...))
	if err != nil {
		return int32(hsa.StatusInvalidCodeObject)
	}
	c, err := e.Load(a, o)
	if err != nil {
		return code(err)
	}
	if out != nil {
		return give(out, loaded.of(c))
	}
	return ok
}

//export hsa_executable_load_agent_code_object
func hsa_executable_load_agent_code_object(exe, agent, rd uint64, options *C.char, out *uint64) int32 {
	if executables.get(exe) == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if agents.get(agent) == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	r := readers.get(rd)
	if r == nil {
		return int32(hsa.StatusInvalidCodeObjectReader)
	}
	return loadCode(exe, agent, r.b, out)
}

// A variable of program scope is one for all agents.
//
//export hsa_executable_global_variable_define
func hsa_executable_global_variable_define(exe uint64, name *C.char, addr uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	e := executables.get(exe)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if name == nil {
		return badArg
	}
	for _, a := range r.GPUs() {
		if err := e.Define(a, text(name), uint64(addr)); err != nil {
			return code(err)
		}
	}
	return ok
}

//export hsa_executable_readonly_variable_define
func hsa_executable_readonly_variable_define(exe, agent uint64, name *C.char, addr uintptr) int32 {
	return hsa_executable_agent_global_variable_define(exe, agent, name, addr)
}

//export hsa_executable_get_info
func hsa_executable_get_info(exe uint64, attr int32, p uintptr) int32 {
	e := executables.get(exe)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if p == 0 {
		return badArg
	}
	switch attr {
	case 1: // the full profile
		return put(p, uint32(1))
	case 2:
		if e.Frozen() {
			return put(p, uint32(1))
		}
		return put(p, uint32(0))
	case 3: // what it was made with
		return put(p, uint32(0))
	}
	return badArg
}

// What loads is valid.
//
//export hsa_executable_validate_alt
func hsa_executable_validate_alt(exe uint64, options *C.char, out *uint32) int32 {
	if executables.get(exe) == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if out == nil {
		return badArg
	}
	return give(out, 0)
}

//export hsa_executable_validate
func hsa_executable_validate(exe uint64, out *uint32) int32 {
	return hsa_executable_validate_alt(exe, nil, out)
}

// A symbol has one handle, until its executable goes.
var symbolHandles struct {
	mu sync.Mutex
	of map[*hsa.Executable]map[symbolKey]uint64 // guarded by mu
}

type symbolKey struct {
	agent *hsa.Agent
	name  string
}

func symbolHandle(e *hsa.Executable, s *hsa.Symbol) uint64 {
	t := &symbolHandles
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[*hsa.Executable]map[symbolKey]uint64{}
	}
	if t.of[e] == nil {
		t.of[e] = map[symbolKey]uint64{}
	}
	k := symbolKey{s.Agent, s.Name}
	h, known := t.of[e][k]
	if !known {
		h = symbols.of(s)
		t.of[e][k] = h
	}
	return h
}

func dropSymbols(e *hsa.Executable) {
	t := &symbolHandles
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.of[e] {
		symbols.drop(h)
	}
	delete(t.of, e)
}

//export hsa_executable_get_symbol_by_name
func hsa_executable_get_symbol_by_name(exe uint64, name *C.char, agent *uint64, out *uint64) int32 {
	e := executables.get(exe)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if name == nil || out == nil {
		return badArg
	}
	var a *hsa.Agent
	if agent != nil {
		a = agents.get(*agent)
	} else if cs := e.Loaded(); len(cs) > 0 {
		a = cs[0].Agent
	}
	if a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	n := text(name)
	s, err := e.Kernel(a, n)
	if err != nil {
		if s, err = e.Variable(a, n); err != nil {
			return int32(hsa.StatusInvalidSymbolName)
		}
	}
	return give(out, symbolHandle(e, s))
}

// Symbols have no module, and kernels one call convention.
//
//export hsa_executable_get_symbol
func hsa_executable_get_symbol(exe uint64, module, name *C.char, agent uint64, convention int32, out *uint64) int32 {
	if module != nil && *module != 0 {
		return int32(hsa.StatusInvalidSymbolName)
	}
	return hsa_executable_get_symbol_by_name(exe, name, &agent, out)
}

// eachSymbol visits the symbols on an agent, nil for all.
func eachSymbol(exe uint64, of *hsa.Agent, f unsafe.Pointer, visit func(*hsa.Symbol, uint64) int32) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	e := executables.get(exe)
	if e == nil {
		return int32(hsa.StatusInvalidExecutable)
	}
	if f == nil {
		return badArg
	}
	for _, a := range r.GPUs() {
		if of != nil && a != of {
			continue
		}
		for _, s := range e.Symbols(a) {
			if st := visit(s, symbolHandle(e, s)); st != ok {
				return st
			}
		}
	}
	return ok
}

//export hsa_executable_iterate_symbols
func hsa_executable_iterate_symbols(exe uint64, f, data unsafe.Pointer) int32 {
	return eachSymbol(exe, nil, f, func(_ *hsa.Symbol, h uint64) int32 {
		return int32(C.call_symbol(f, C.uint64_t(exe), C.uint64_t(h), data))
	})
}

//export hsa_executable_iterate_agent_symbols
func hsa_executable_iterate_agent_symbols(exe, agent uint64, f, data unsafe.Pointer) int32 {
	if rt() == nil {
		return notInit
	}
	a := agents.get(agent)
	if executables.get(exe) != nil && a == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	return eachSymbol(exe, a, f, func(_ *hsa.Symbol, h uint64) int32 {
		return int32(C.call_agent_symbol(f, C.uint64_t(exe), C.uint64_t(agent), C.uint64_t(h), data))
	})
}

// There are no symbols of program scope: what is loaded is loaded on an agent.
//
//export hsa_executable_iterate_program_symbols
func hsa_executable_iterate_program_symbols(exe uint64, f, data unsafe.Pointer) int32 {
	return eachSymbol(exe, nil, f, func(*hsa.Symbol, uint64) int32 { return ok })
}

//export hsa_executable_symbol_get_info
func hsa_executable_symbol_get_info(sym uint64, attr int32, p uintptr) int32 {
	if rt() == nil {
		return notInit
	}
	s := symbols.get(sym)
	if s == nil {
		return int32(hsa.StatusInvalidExecutableSymbol)
	}
	if p == 0 {
		return badArg
	}
	switch {
	case attr == 20:
		return put(p, agents.of(s.Agent))
	case attr == 21 && s.Kernel == nil, attr == 22 && s.Kernel != nil:
		return put(p, s.Addr)
	}
	return symbolInfo(s.Name, s.Kernel, s.Size, attr, p)
}

// symbolInfo answers for a symbol, loaded or not; k is nil for a variable.
func symbolInfo(name string, k *codeobj.KernelInfo, size uint64, attr int32, p uintptr) int32 {
	switch attr {
	case 0:
		return put(p, map[bool]uint32{false: 0, true: 1}[k != nil])
	case 1:
		return put(p, uint32(len(name)))
	case 2:
		return putBytes(p, []byte(name))
	case 3:
		return put(p, uint32(0))
	case 4:
		return ok
	case 5:
		return put(p, uint32(1))
	case 17:
		return put(p, true)
	}
	if k != nil {
		switch attr {
		case 11:
			return put(p, k.KernargSegmentSize)
		case 12:
			return put(p, max(k.KernargSegmentAlign, 16))
		case 13:
			return put(p, k.GroupSegmentFixedSize)
		case 14:
			return put(p, k.PrivateSegmentFixedSize)
		case 15:
			return put(p, k.UsesDynamicStack)
		case 18:
			return put(p, uint32(0))
		}
		return badArg
	}
	switch attr {
	case 6:
		return put(p, uint32(0)) // agent allocation
	case 7:
		return put(p, uint32(0)) // global segment
	case 8:
		return put(p, uint32(4))
	case 9:
		return put(p, uint32(size))
	case 10:
		return put(p, false)
	}
	return badArg
}
