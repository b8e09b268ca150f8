package kfd

import "fmt"

// Version of the user ABI described here, as GET_VERSION reports it.
const (
	MajorVersion = 1
	MinorVersion = 17
)

// Type is the ioctl type letter of every KFD request.
const Type = 'K'

// Dir is the direction field of a request word, seen from user space.
type Dir uint8

// Directions of the data in a request.
const (
	DirNone  Dir = 0
	DirWrite Dir = 1 // user space writes the argument, the kernel reads it
	DirRead  Dir = 2 // the kernel writes the argument
	DirRW    Dir = 3
)

// Request is a whole ioctl request word.
type Request uint32

// MakeRequest packs a request word of the KFD type. Size is in bytes and must be below 16384.
func MakeRequest(d Dir, nr Nr, size uint32) Request {
	return Request(uint32(d)<<30 | (size&0x3fff)<<16 | Type<<8 | uint32(nr))
}

// Nr returns the command number of the request.
func (r Request) Nr() Nr { return Nr(r & 0xff) }

// Type returns the ioctl type letter of the request; it is 'K' for KFD.
func (r Request) Type() byte { return byte(r >> 8) }

// Size returns the size of the argument in bytes, as the caller was compiled.
func (r Request) Size() uint32 { return uint32(r>>16) & 0x3fff }

// Dir returns the direction of the argument.
func (r Request) Dir() Dir { return Dir(r >> 30) }

// String names the command, for traces: "AMDKFD_IOC_CREATE_QUEUE".
func (r Request) String() string {
	if r.Type() != Type {
		return fmt.Sprintf("ioctl(%#x)", uint32(r))
	}
	return r.Nr().String()
}

// Nr is a command number.
type Nr uint8

// Command numbers. 0x01 to 0x26 are upstream; 0x80 to 0x85 exist only in AMD's out-of-tree driver.
const (
	NrGetVersion             Nr = 0x01
	NrCreateQueue            Nr = 0x02
	NrDestroyQueue           Nr = 0x03
	NrSetMemoryPolicy        Nr = 0x04
	NrGetClockCounters       Nr = 0x05
	NrGetProcessApertures    Nr = 0x06
	NrUpdateQueue            Nr = 0x07
	NrCreateEvent            Nr = 0x08
	NrDestroyEvent           Nr = 0x09
	NrSetEvent               Nr = 0x0a
	NrResetEvent             Nr = 0x0b
	NrWaitEvents             Nr = 0x0c
	NrDbgRegister            Nr = 0x0d // deprecated
	NrDbgUnregister          Nr = 0x0e // deprecated
	NrDbgAddressWatch        Nr = 0x0f // deprecated
	NrDbgWaveControl         Nr = 0x10 // deprecated
	NrSetScratchBackingVA    Nr = 0x11
	NrGetTileConfig          Nr = 0x12
	NrSetTrapHandler         Nr = 0x13
	NrGetProcessAperturesNew Nr = 0x14
	NrAcquireVM              Nr = 0x15
	NrAllocMemoryOfGPU       Nr = 0x16
	NrFreeMemoryOfGPU        Nr = 0x17
	NrMapMemoryToGPU         Nr = 0x18
	NrUnmapMemoryFromGPU     Nr = 0x19
	NrSetCUMask              Nr = 0x1a
	NrGetQueueWaveState      Nr = 0x1b
	NrGetDmabufInfo          Nr = 0x1c
	NrImportDmabuf           Nr = 0x1d
	NrAllocQueueGWS          Nr = 0x1e
	NrSMIEvents              Nr = 0x1f
	NrSVM                    Nr = 0x20
	NrSetXNACKMode           Nr = 0x21
	NrCRIUOp                 Nr = 0x22
	NrAvailableMemory        Nr = 0x23
	NrExportDmabuf           Nr = 0x24
	NrRuntimeEnable          Nr = 0x25
	NrDbgTrap                Nr = 0x26
	NrIPCImportHandle        Nr = 0x80 // out of tree
	NrIPCExportHandle        Nr = 0x81 // out of tree
	NrDbgTrapOld             Nr = 0x82 // out of tree
	NrCrossMemoryCopy        Nr = 0x83 // out of tree
	NrRLCSPM                 Nr = 0x84 // out of tree
	NrPCSample               Nr = 0x85 // out of tree
)

// Command describes one command: its name without the AMDKFD_IOC_ prefix, direction and argument size in UAPI 1.17.
type Command struct {
	Nr   Nr
	Name string
	Dir  Dir
	Size uint32
}

// Request returns the request word of the command.
func (c Command) Request() Request { return MakeRequest(c.Dir, c.Nr, c.Size) }

// Commands is the table of all commands, by ascending number.
var Commands = []Command{
	{NrGetVersion, "GET_VERSION", DirRead, 8},
	{NrCreateQueue, "CREATE_QUEUE", DirRW, 96},
	{NrDestroyQueue, "DESTROY_QUEUE", DirRW, 8},
	{NrSetMemoryPolicy, "SET_MEMORY_POLICY", DirWrite, 32},
	{NrGetClockCounters, "GET_CLOCK_COUNTERS", DirRW, 40},
	{NrGetProcessApertures, "GET_PROCESS_APERTURES", DirRead, 400},
	{NrUpdateQueue, "UPDATE_QUEUE", DirWrite, 24},
	{NrCreateEvent, "CREATE_EVENT", DirRW, 32},
	{NrDestroyEvent, "DESTROY_EVENT", DirWrite, 8},
	{NrSetEvent, "SET_EVENT", DirWrite, 8},
	{NrResetEvent, "RESET_EVENT", DirWrite, 8},
	{NrWaitEvents, "WAIT_EVENTS", DirRW, 24},
	{NrDbgRegister, "DBG_REGISTER_DEPRECATED", DirWrite, 8},
	{NrDbgUnregister, "DBG_UNREGISTER_DEPRECATED", DirWrite, 8},
	{NrDbgAddressWatch, "DBG_ADDRESS_WATCH_DEPRECATED", DirWrite, 16},
	{NrDbgWaveControl, "DBG_WAVE_CONTROL_DEPRECATED", DirWrite, 16},
	{NrSetScratchBackingVA, "SET_SCRATCH_BACKING_VA", DirRW, 16},
	{NrGetTileConfig, "GET_TILE_CONFIG", DirRW, 40},
	{NrSetTrapHandler, "SET_TRAP_HANDLER", DirWrite, 24},
	{NrGetProcessAperturesNew, "GET_PROCESS_APERTURES_NEW", DirRW, 16},
	{NrAcquireVM, "ACQUIRE_VM", DirWrite, 8},
	{NrAllocMemoryOfGPU, "ALLOC_MEMORY_OF_GPU", DirRW, 40},
	{NrFreeMemoryOfGPU, "FREE_MEMORY_OF_GPU", DirWrite, 8},
	{NrMapMemoryToGPU, "MAP_MEMORY_TO_GPU", DirRW, 24},
	{NrUnmapMemoryFromGPU, "UNMAP_MEMORY_FROM_GPU", DirRW, 24},
	{NrSetCUMask, "SET_CU_MASK", DirWrite, 16},
	{NrGetQueueWaveState, "GET_QUEUE_WAVE_STATE", DirRW, 24},
	{NrGetDmabufInfo, "GET_DMABUF_INFO", DirRW, 32},
	{NrImportDmabuf, "IMPORT_DMABUF", DirRW, 24},
	{NrAllocQueueGWS, "ALLOC_QUEUE_GWS", DirRW, 16},
	{NrSMIEvents, "SMI_EVENTS", DirRW, 8},
	{NrSVM, "SVM", DirRW, 24},
	{NrSetXNACKMode, "SET_XNACK_MODE", DirRW, 4},
	{NrCRIUOp, "CRIU_OP", DirRW, 56},
	{NrAvailableMemory, "AVAILABLE_MEMORY", DirRW, 16},
	{NrExportDmabuf, "EXPORT_DMABUF", DirRW, 16},
	{NrRuntimeEnable, "RUNTIME_ENABLE", DirRW, 16},
	{NrDbgTrap, "DBG_TRAP", DirRW, 32},
	{NrIPCImportHandle, "IPC_IMPORT_HANDLE", DirRW, 48},
	{NrIPCExportHandle, "IPC_EXPORT_HANDLE", DirRW, 32},
	{NrDbgTrapOld, "DBG_TRAP_OLD", DirRW, 40},
	{NrCrossMemoryCopy, "CROSS_MEMORY_COPY", DirRW, 48},
	{NrRLCSPM, "RLC_SPM", DirRW, 32},
	{NrPCSample, "PC_SAMPLE", DirRW, 32},
}

var byNr = func() (t [256]*Command) {
	for i := range Commands {
		t[Commands[i].Nr] = &Commands[i]
	}
	return
}()

// Lookup finds a command by number; ok is false for a number the ABI does not assign.
func Lookup(nr Nr) (c Command, ok bool) {
	if p := byNr[nr]; p != nil {
		return *p, true
	}
	return Command{}, false
}

// String names the command as the header does: "AMDKFD_IOC_SVM".
func (n Nr) String() string {
	if p := byNr[n]; p != nil {
		return "AMDKFD_IOC_" + p.Name
	}
	return fmt.Sprintf("AMDKFD_IOC_%#02x", uint8(n))
}

// Request words of the upstream commands, as compiled from UAPI 1.17. An SVM request is longer by SVMAttribute per attribute;
// SVMRequest makes it.
const (
	IocGetVersion             Request = 0x80084b01
	IocCreateQueue            Request = 0xc0604b02
	IocDestroyQueue           Request = 0xc0084b03
	IocSetMemoryPolicy        Request = 0x40204b04
	IocGetClockCounters       Request = 0xc0284b05
	IocGetProcessApertures    Request = 0x81904b06
	IocUpdateQueue            Request = 0x40184b07
	IocCreateEvent            Request = 0xc0204b08
	IocDestroyEvent           Request = 0x40084b09
	IocSetEvent               Request = 0x40084b0a
	IocResetEvent             Request = 0x40084b0b
	IocWaitEvents             Request = 0xc0184b0c
	IocSetScratchBackingVA    Request = 0xc0104b11
	IocGetTileConfig          Request = 0xc0284b12
	IocSetTrapHandler         Request = 0x40184b13
	IocGetProcessAperturesNew Request = 0xc0104b14
	IocAcquireVM              Request = 0x40084b15
	IocAllocMemoryOfGPU       Request = 0xc0284b16
	IocFreeMemoryOfGPU        Request = 0x40084b17
	IocMapMemoryToGPU         Request = 0xc0184b18
	IocUnmapMemoryFromGPU     Request = 0xc0184b19
	IocSetCUMask              Request = 0x40104b1a
	IocGetQueueWaveState      Request = 0xc0184b1b
	IocGetDmabufInfo          Request = 0xc0204b1c
	IocImportDmabuf           Request = 0xc0184b1d
	IocAllocQueueGWS          Request = 0xc0104b1e
	IocSMIEvents              Request = 0xc0084b1f
	IocSVM                    Request = 0xc0184b20
	IocSetXNACKMode           Request = 0xc0044b21
	IocCRIUOp                 Request = 0xc0384b22
	IocAvailableMemory        Request = 0xc0104b23
	IocExportDmabuf           Request = 0xc0104b24
	IocRuntimeEnable          Request = 0xc0104b25
	IocDbgTrap                Request = 0xc0204b26
	IocIPCImportHandle        Request = 0xc0304b80 // out of tree
	IocIPCExportHandle        Request = 0xc0204b81 // out of tree
)

// SVMRequest returns the request word of an SVM call with n attributes. The kernel reads the number of attributes from
// SVMArgs.NAttr and refuses the call with EINVAL when the size in the word disagrees.
func SVMRequest(n int) Request {
	return MakeRequest(DirRW, NrSVM, uint32(SizeofSVMArgs+n*SizeofSVMAttribute))
}
