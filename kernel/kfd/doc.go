// Package kfd is the compute driver: /dev/kfd, and the sysfs files that describe its GPUs.
//
// # How Linux does it
//
// A process that opens /dev/kfd becomes a kfd_process, one for each address space, which lives until the address space
// dies: closing the file frees nothing. For each GPU it has per-device data (PDD): apertures, a slice of the doorbell
// aperture, a table of buffer handles, and, after ACQUIRE_VM, the address space of an open render node. Buffers are allocated at
// a GPU virtual address that user space chose, then mapped on one or more GPUs. A queue is a ring in such a buffer plus an
// MQD that the driver fills and loads into the hardware; after that user space talks to the hardware alone, by
// doorbells. Events are the way back: the hardware writes a slot of the process's event page and raises an interrupt, whose
// handler finds the event and wakes its waiters.
//
// # How user space reaches this package
//
//	drv, err := kfd.New(kfd.Config{World: w, FD: lookup}, devices)
//	f, err := drv.Open("/dev/kfd")          // or /dev/dri/renderD128 ...; ENOENT for what is not ours
//	err = f.Ioctl(cmd, uintptr(argument))   // nil or a unix.Errno
//	segs, err := f.Mmap(offset, length)     // the caller maps these pieces of files, MAP_SHARED, one behind the other
//	err = f.Close()
//	drv.Exit()                              // the process ends: queues stop, everything is freed
//	sys := drv.Sysfs()                      // Owns, ReadFile, ReadDir, Stat, Readlink
//
// Config.FD turns a descriptor number of the process into the File behind it: ACQUIRE_VM names the render node so. It
// must follow dup.
//
// Offsets. A buffer of a render node stands at the mmap_offset that ALLOC_MEMORY_OF_GPU or GEM_MMAP returned (from 4 GiB up, as real
// DRM does). On /dev/kfd bits 63:62 of the offset say what is wanted (abi/kfd.MmapType) and bits 61:46 for which GPU; the
// rest is ignored, as user space of different ages puts different things there (kernel-abi.md §5.1). mmap takes a signed offset: pass its bits.
//
// Doorbells are memory (Segments of a memfd): whoever detects that user space has written one calls Driver.RingDoorbells, or
// finds the pages with DoorbellSlices and rings a single one.
//
// Managed memory migrates where userfaultfd is to be had (svmlive.go); PrepareFork brings it home before a fork. No goroutine of the process may
// touch managed memory by a load or store (see package mm/host).
//
// Blocking: WAIT_EVENTS blocks its caller; DESTROY_QUEUE, UPDATE_QUEUE and unmapping wait for the hardware.
//
// Errors are unix.Errno, the same as Linux gives (kernel-svm.md §11 to §14); an unknown command is ENOTTY.
//
// Lock order, outermost first: process.mu, svmState.mu, the locks of kernel/amdgpu/svm and kernel/mm, process.qMu (the device queue manager's
// lock: notifiers stop queues), the locks of kernel/drm and kernel/amdgpu. process.evMu is a leaf that the interrupt handler takes
// too, so it is never held over anything that waits for the hardware. SVM engines are called without process.mu, but by newGPU.
//
// fidelity: exact KFD ioctls GET_VERSION, GET_PROCESS_APERTURES(_NEW), ACQUIRE_VM, ALLOC/FREE/MAP/UNMAP_MEMORY, CREATE/DESTROY/UPDATE_QUEUE, events, GET_CLOCK_COUNTERS, SET_TRAP_HANDLER, AVAILABLE_MEMORY, SMI_EVENTS
// fidelity: approximate SET_MEMORY_POLICY: checked and remembered; caches are coherent anyway
// fidelity: approximate SET_CU_MASK: checked and written to the MQD
// fidelity: approximate GET_TILE_CONFIG: gb_addr_config of the profile, no tile modes (gfx9 and later have none)
// fidelity: refused CRIU_OP: EPERM, checkpointing needs a privilege that no process here has
// fidelity: refused RUNTIME_ENABLE: EINVAL, no debugger support is advertised
// fidelity: refused DBG_TRAP: EPERM, no debugger can be attached
// fidelity: refused CROSS_MEMORY_COPY, RLC_SPM, PC_SAMPLE: EINVAL, not in the upstream driver
package kfd
