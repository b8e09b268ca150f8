package hsaabi

import "C"

import (
	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

//export hsa_amd_ipc_memory_create
func hsa_amd_ipc_memory_create(p uintptr, size uint64, out uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if p == 0 || size == 0 || out == 0 {
		return badArg
	}
	m := r.Find(uint64(p))
	if m == nil || m.Addr != uint64(p) || m.Pool == nil || size > m.Size {
		return badArg
	}
	h, err := r.Share(m)
	if err != nil {
		return code(err)
	}
	return put(out, h)
}

//export hsa_amd_ipc_memory_attach
func hsa_amd_ipc_memory_attach(handle uintptr, size uint64, n uint32, list *uint64, out *uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	as, good := agentList(n, list)
	if !good || handle == 0 || out == nil {
		return badArg
	}
	if n == 0 {
		as = r.GPUs()
	}
	shared, good := caller.Get((*hsa.SharedHandle)(ptr(uint64(handle))))
	if !good {
		return badArg
	}
	m, err := r.Attach(shared, as...)
	if err != nil {
		return code(err)
	}
	if size > m.Size {
		_ = r.Free(m)
		return badArg
	}
	return give(out, uintptr(m.Addr))
}

//export hsa_amd_ipc_memory_detach
func hsa_amd_ipc_memory_detach(p uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	m := r.Find(uint64(p))
	if p == 0 || m == nil || m.Addr != uint64(p) || !m.Attached {
		return badArg
	}
	return code(r.Free(m))
}

//export hsa_amd_ipc_signal_create
func hsa_amd_ipc_signal_create(h uint64, out uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	s := signal(h)
	if s == nil {
		return int32(hsa.StatusInvalidSignal)
	}
	if out == 0 {
		return badArg
	}
	handle, err := r.ShareSignal(s)
	if err != nil {
		return code(err)
	}
	return put(out, handle)
}

//export hsa_amd_ipc_signal_attach
func hsa_amd_ipc_signal_attach(handle uintptr, out *uint64) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if handle == 0 || out == nil {
		return badArg
	}
	shared, good := caller.Get((*hsa.SharedHandle)(ptr(uint64(handle))))
	if !good {
		return badArg
	}
	s, err := r.AttachSignal(shared)
	if err != nil {
		return code(err)
	}
	return give(out, uint64(s.Handle()))
}
