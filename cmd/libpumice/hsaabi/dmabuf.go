package hsaabi

import "C"

import (
	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// Memory as DMA-BUF descriptors, out and in.

//export hsa_amd_portable_export_dmabuf
func hsa_amd_portable_export_dmabuf(p uintptr, size uint64, fd *int32, off *uint64) int32 {
	return hsa_amd_portable_export_dmabuf_v2(p, size, fd, off, 0)
}

// The flag says that another device on PCIe shall reach the memory, which takes a large BAR.
//
//export hsa_amd_portable_export_dmabuf_v2
func hsa_amd_portable_export_dmabuf_v2(p uintptr, size uint64, fd *int32, off *uint64, flags uint64) int32 {
	const overPCIe = 1
	r := rt()
	if r == nil {
		return notInit
	}
	if p == 0 || size == 0 || fd == nil || off == nil {
		return badArg
	}
	m := r.Find(uint64(p))
	if m == nil || m.Pool == nil || size > m.Size-(uint64(p)-m.Addr) {
		return int32(hsa.StatusInvalidAllocation)
	}
	if !m.Pool.Agent.IsGPU() {
		return int32(hsa.StatusInvalidAgent)
	}
	if flags&overPCIe != 0 && !m.Pool.Agent.LargeBAR() {
		return int32(hsa.StatusNotSupported)
	}
	n, err := r.ExportDmabuf(m)
	if err != nil {
		return code(err)
	}
	if st := give(fd, int32(n)); st != ok {
		return st
	}
	return give(off, m.Offset()+uint64(p)-m.Addr)
}

//export hsa_amd_portable_close_dmabuf
func hsa_amd_portable_close_dmabuf(fd int32) int32 {
	if unix.Close(int(fd)) != nil {
		return int32(hsa.StatusResourceFree)
	}
	return ok
}

// There is no metadata: it describes images to drivers of graphics, and comes with buffers of those.
//
//export hsa_amd_interop_map_buffer
func hsa_amd_interop_map_buffer(n uint32, list *uint64, fd int32, flags uint32, size *uint64, out *uintptr, metaSize *uint64, meta *uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	if list == nil || n == 0 || size == nil || out == nil || flags != 0 {
		return badArg
	}
	as, good := agentList(n, list)
	if !good {
		return int32(hsa.StatusInvalidAgent)
	}
	m, err := r.MapInterop(int(fd), as...)
	if err != nil {
		if hsa.StatusOf(err) == hsa.StatusOutOfResources {
			return code(err)
		}
		return failure
	}
	caller.Put(metaSize, 0)
	caller.Put(meta, 0)
	if st := give(size, m.Size); st != ok {
		return st
	}
	return give(out, uintptr(m.Addr))
}

//export hsa_amd_interop_unmap_buffer
func hsa_amd_interop_unmap_buffer(p uintptr) int32 {
	r := rt()
	if r == nil {
		return notInit
	}
	return code(r.UnmapInterop(uint64(p)))
}
