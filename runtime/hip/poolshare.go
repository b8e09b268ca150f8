package hip

import (
	"os"

	"golang.org/x/sys/unix"
)

// Pools of several processes. A pool is shared by a descriptor, which says whose it is; its allocations one by one. An imported pool gives no memory, it
// only holds what is imported into it.

// sharedPool is the content of a pool's descriptor.
type sharedPool struct {
	Magic  uint64
	PID    uint64
	Device int64
}

const sharedPoolMagic = 0x6c6f6f70696d7570

// PoolExport makes a descriptor of a pool that was created for that.
func (a *API) PoolExport(out uintptr, h uintptr, kind int32, flags uint32) Error {
	p := a.pools.table.get(h)
	if p == nil || out == 0 || flags != 0 || kind == handleNone || kind != p.props.HandleTypes || p.imported {
		return ErrInvalidValue
	}
	fd, err := unix.MemfdCreate("pumice-pool", unix.MFD_CLOEXEC)
	if err != nil {
		return ErrOperatingSystem
	}
	x := sharedPool{sharedPoolMagic, uint64(os.Getpid()), int64(p.d.Index)}
	if _, err := unix.Pwrite(fd, structBytes(&x), 0); err != nil {
		_ = unix.Close(fd)
		return ErrOperatingSystem
	}
	*(*int32)(pointer(out)) = int32(fd)
	return Success
}

// PoolImport makes a pool from a descriptor.
func (a *API) PoolImport(out *uintptr, shared uintptr, kind int32, flags uint32) Error {
	if out == nil || shared == 0 || flags != 0 || kind != handleFD {
		return ErrInvalidValue
	}
	var x sharedPool
	if n, err := unix.Pread(sharedFD(shared), structBytes(&x), 0); err != nil || n != len(structBytes(&x)) || x.Magic != sharedPoolMagic {
		return ErrInvalidValue
	}
	d, e := a.deviceAt(int32(x.Device))
	if e != Success {
		return ErrInvalidValue
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	p := a.newPoolLocked(d, PoolProps{AllocType: allocPinned, HandleTypes: kind, Location: Location{locationDevice, int32(x.Device)}})
	p.imported = true
	*out = p.handle
	return Success
}

// PoolExportPointer makes a handle (64 bytes) of an allocation of a pool.
func (a *API) PoolExportPointer(out, p uintptr) Error {
	if out == 0 || p == 0 {
		return ErrInvalidValue
	}
	if e := a.IpcGetMemHandle(out, p); e != Success {
		return ErrInvalidValue
	}
	return Success
}

// PoolImportPointer maps an allocation of another process's pool. hipFreeAsync or hipFree ends that.
func (a *API) PoolImportPointer(out *uintptr, h uintptr, data *ipcMem) Error {
	p := a.pools.table.get(h)
	if out == nil || data == nil || p == nil || !p.imported || data.Size == 0 || data.Offset >= data.Size {
		return ErrInvalidValue
	}
	if data.PID == uint64(os.Getpid()) {
		// The pool's own process has the memory already.
		return ErrInvalidValue
	}
	m, err := p.d.Attach(data.Handle, data.Size)
	if err != nil {
		a.fromErr(err)
		return ErrInvalidValue
	}
	a.memMu.Lock()
	defer a.memMu.Unlock()
	p.used[m.Ptr] = &poolBlock{m: m, p: p}
	p.usedBytes += m.Size
	p.reserved += m.Size
	*out = uintptr(m.Ptr + data.Offset)
	return Success
}
