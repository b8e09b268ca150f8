package hsaabi

/*
#include <stdint.h>

static int call_isa(void *f, uint64_t h, void *data) { return ((int (*)(uint64_t, void *))f)(h, data); }
*/
import "C"

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// isaOf resolves a handle.
func isaOf(h uint64) (i hsa.ISA, status int32) {
	if rt() == nil {
		return i, notInit
	}
	if i = isas.get(h); i.Target.Proc == nil {
		return i, int32(hsa.StatusInvalidISA)
	}
	return i, ok
}

// visited is the agent whose parts a function wants to be called with.
func visited(agent uint64, f unsafe.Pointer) (*hsa.Agent, int32) {
	if rt() == nil {
		return nil, notInit
	}
	a := agents.get(agent)
	switch {
	case a == nil:
		return nil, int32(hsa.StatusInvalidAgent)
	case f == nil:
		return nil, badArg
	}
	return a, ok
}

//export hsa_agent_iterate_isas
func hsa_agent_iterate_isas(agent uint64, f, data unsafe.Pointer) int32 {
	a, st := visited(agent, f)
	if st != ok {
		return st
	}
	if !a.IsGPU() {
		return ok
	}
	return int32(C.call_isa(f, C.uint64_t(isas.of(a.ISA())), data))
}

//export hsa_isa_from_name
func hsa_isa_from_name(name *C.char, out *uint64) int32 {
	if rt() == nil {
		return notInit
	}
	if name == nil || out == nil {
		return badArg
	}
	i, err := hsa.ISAByName(text(name))
	if err != nil {
		return code(err)
	}
	return give(out, isas.of(i))
}

//export hsa_isa_get_info_alt
func hsa_isa_get_info_alt(isa uint64, attr int32, p uintptr) int32 {
	i, st := isaOf(isa)
	if st != ok {
		return st
	}
	if p == 0 {
		return badArg
	}
	name := i.Name()
	const wavefrontsPerUnit = 40
	switch attr {
	case 0:
		return put(p, uint32(len(name)+1))
	case 1:
		return putText(p, name, len(name)+1)
	case 2:
		return put(p, uint32(1))
	case 3:
		return put(p, i.WavefrontSize())
	case 4:
		return put(p, uint32(wavefrontsPerUnit))
	case 5:
		return put(p, [2]bool{false, true})
	case 6:
		return put(p, [2]bool{true, false})
	case 7, 8:
		return put(p, [3]bool{false, false, true})
	case 9:
		return put(p, true)
	case 12:
		n := uint16(hsa.MaxWorkgroup)
		return put(p, [3]uint16{n, n, n})
	case 13:
		return put(p, uint32(hsa.MaxWorkgroup))
	case 14:
		return put(p, [3]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1})
	case 16:
		return put(p, uint64(1<<32-1))
	case 17:
		return put(p, uint32(32))
	}
	return badArg
}

// An ISA has one call convention, which index names.
//
//export hsa_isa_get_info
func hsa_isa_get_info(isa uint64, attr int32, index uint32, p uintptr) int32 {
	_, st := isaOf(isa)
	if st == ok && p != 0 && index != 0 {
		return int32(hsa.StatusInvalidIndex)
	}
	return hsa_isa_get_info_alt(isa, attr, p)
}

//export hsa_isa_compatible
func hsa_isa_compatible(codeISA, agentISA uint64, out *bool) int32 {
	c, st := isaOf(codeISA)
	if st != ok {
		return st
	}
	a, st := isaOf(agentISA)
	if st != ok {
		return st
	}
	if out == nil {
		return badArg
	}
	return give(out, a.Runs(c))
}

func validProfile(p int32) bool { return p == 0 || p == 1 }

// Exceptions are neither broken upon nor detected.
//
//export hsa_isa_get_exception_policies
func hsa_isa_get_exception_policies(isa uint64, profile int32, mask *uint16) int32 {
	if _, st := isaOf(isa); st != ok {
		return st
	}
	if !validProfile(profile) || mask == nil {
		return badArg
	}
	return give(mask, 0)
}

//export hsa_agent_get_exception_policies
func hsa_agent_get_exception_policies(agent uint64, profile int32, mask *uint16) int32 {
	if rt() == nil {
		return notInit
	}
	if agents.get(agent) == nil {
		return int32(hsa.StatusInvalidAgent)
	}
	if !validProfile(profile) || mask == nil {
		return badArg
	}
	return give(mask, 0)
}

// Every precision rounds once, in a fused multiply and add.
//
//export hsa_isa_get_round_method
func hsa_isa_get_round_method(isa uint64, fp, flush int32, out *int32) int32 {
	if _, st := isaOf(isa); st != ok {
		return st
	}
	const half, double, single = 1, 4, 1
	if fp != half && fp != 2 && fp != double || flush != 1 && flush != 2 || out == nil {
		return badArg
	}
	return give(out, single)
}

// A wavefront's handle is its ISA's: there is one kind for each.
//
//export hsa_isa_iterate_wavefronts
func hsa_isa_iterate_wavefronts(isa uint64, f, data unsafe.Pointer) int32 {
	if rt() == nil {
		return notInit
	}
	if f == nil {
		return badArg
	}
	if _, st := isaOf(isa); st != ok {
		return st
	}
	return int32(C.call_isa(f, C.uint64_t(isa), data))
}

//export hsa_wavefront_get_info
func hsa_wavefront_get_info(w uint64, attr int32, p uintptr) int32 {
	i, st := isaOf(w)
	if st == int32(hsa.StatusInvalidISA) {
		return int32(hsa.StatusInvalidWavefront)
	}
	if st != ok {
		return st
	}
	if p == 0 || attr != 0 {
		return badArg
	}
	return put(p, i.WavefrontSize())
}
