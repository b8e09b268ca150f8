package drm

import "fmt"

// Type is the ioctl type letter.
const Type = 'd'

// Version of the amdgpu DRM interface described here (KMS_DRIVER_MAJOR, MINOR, PATCHLEVEL).
const (
	Major = 3
	Minor = 54
	Patch = 0
)

// CommandBase is the number of the first driver command.
const CommandBase = 0x40

// Nr is a command number.
type Nr uint8

// Commands of every DRM driver.
const (
	NrVersion          Nr = 0x00
	NrGetUnique        Nr = 0x01
	NrGetMagic         Nr = 0x02
	NrGetClient        Nr = 0x05
	NrSetVersion       Nr = 0x07
	NrGEMClose         Nr = 0x09
	NrGetCap           Nr = 0x0c
	NrSetClientCap     Nr = 0x0d
	NrPrimeHandleToFD  Nr = 0x2d
	NrPrimeFDToHandle  Nr = 0x2e
	NrSyncobjCreate    Nr = 0xbf
	NrSyncobjDestroy   Nr = 0xc0
	NrSyncobjHandleFD  Nr = 0xc1
	NrSyncobjFDHandle  Nr = 0xc2
	NrSyncobjWait      Nr = 0xc3
	NrSyncobjReset     Nr = 0xc4
	NrSyncobjSignal    Nr = 0xc5
	NrAMDGPUGEMCreate  Nr = CommandBase + 0x00
	NrAMDGPUGEMMmap    Nr = CommandBase + 0x01
	NrAMDGPUCtx        Nr = CommandBase + 0x02
	NrAMDGPUBOList     Nr = CommandBase + 0x03
	NrAMDGPUCS         Nr = CommandBase + 0x04
	NrAMDGPUInfo       Nr = CommandBase + 0x05
	NrAMDGPUGEMMeta    Nr = CommandBase + 0x06
	NrAMDGPUGEMWait    Nr = CommandBase + 0x07
	NrAMDGPUGEMVA      Nr = CommandBase + 0x08
	NrAMDGPUWaitCS     Nr = CommandBase + 0x09
	NrAMDGPUGEMOp      Nr = CommandBase + 0x10
	NrAMDGPUGEMUserptr Nr = CommandBase + 0x11
	NrAMDGPUWaitFences Nr = CommandBase + 0x12
	NrAMDGPUVM         Nr = CommandBase + 0x13
	NrAMDGPUFenceToFD  Nr = CommandBase + 0x14
	NrAMDGPUSched      Nr = CommandBase + 0x15
	NrAMDGPUUserq      Nr = CommandBase + 0x16
	NrAMDGPUGEMSVM     Nr = CommandBase + 0x1a
)

// Command describes a command.
type Command struct {
	Nr   Nr
	Name string
	Size uint32 // of the argument, bytes
	Dir  uint8  // 1 write, 2 read, 3 both
}

// Commands is the table of commands that a render node knows, by ascending number.
var Commands = []Command{
	{NrVersion, "VERSION", 64, 3},
	{NrGetUnique, "GET_UNIQUE", 16, 3},
	{NrGetMagic, "GET_MAGIC", 4, 2},
	{NrGetClient, "GET_CLIENT", 40, 3},
	{NrSetVersion, "SET_VERSION", 16, 3},
	{NrGEMClose, "GEM_CLOSE", 8, 1},
	{NrGetCap, "GET_CAP", 16, 3},
	{NrSetClientCap, "SET_CLIENT_CAP", 16, 1},
	{NrPrimeHandleToFD, "PRIME_HANDLE_TO_FD", 12, 3},
	{NrPrimeFDToHandle, "PRIME_FD_TO_HANDLE", 12, 3},
	{NrAMDGPUGEMCreate, "AMDGPU_GEM_CREATE", 32, 3},
	{NrAMDGPUGEMMmap, "AMDGPU_GEM_MMAP", 8, 3},
	{NrAMDGPUCtx, "AMDGPU_CTX", 16, 3},
	{NrAMDGPUBOList, "AMDGPU_BO_LIST", 24, 3},
	{NrAMDGPUCS, "AMDGPU_CS", 24, 3},
	{NrAMDGPUInfo, "AMDGPU_INFO", 32, 1},
	{NrAMDGPUGEMMeta, "AMDGPU_GEM_METADATA", 288, 3},
	{NrAMDGPUGEMWait, "AMDGPU_GEM_WAIT_IDLE", 16, 3},
	{NrAMDGPUGEMVA, "AMDGPU_GEM_VA", 40, 1},
	{NrAMDGPUWaitCS, "AMDGPU_WAIT_CS", 32, 3},
	{NrAMDGPUGEMOp, "AMDGPU_GEM_OP", 16, 3},
	{NrAMDGPUGEMUserptr, "AMDGPU_GEM_USERPTR", 24, 3},
	{NrAMDGPUWaitFences, "AMDGPU_WAIT_FENCES", 24, 3},
	{NrAMDGPUVM, "AMDGPU_VM", 8, 3},
	{NrAMDGPUFenceToFD, "AMDGPU_FENCE_TO_HANDLE", 32, 3},
	{NrAMDGPUSched, "AMDGPU_SCHED", 16, 1},
	{NrAMDGPUUserq, "AMDGPU_USERQ", 80, 3},
	{NrAMDGPUGEMSVM, "AMDGPU_GEM_SVM", 32, 3},
	{NrSyncobjCreate, "SYNCOBJ_CREATE", 8, 3},
	{NrSyncobjDestroy, "SYNCOBJ_DESTROY", 8, 3},
	{NrSyncobjHandleFD, "SYNCOBJ_HANDLE_TO_FD", 16, 3},
	{NrSyncobjFDHandle, "SYNCOBJ_FD_TO_HANDLE", 16, 3},
	{NrSyncobjWait, "SYNCOBJ_WAIT", 40, 3},
	{NrSyncobjReset, "SYNCOBJ_RESET", 16, 3},
	{NrSyncobjSignal, "SYNCOBJ_SIGNAL", 16, 3},
}

// Request returns the request word of the command.
func (c Command) Request() uint32 { return uint32(c.Dir)<<30 | c.Size<<16 | Type<<8 | uint32(c.Nr) }

// Lookup finds a command by number.
func Lookup(nr Nr) (Command, bool) {
	for _, c := range Commands {
		if c.Nr == nr {
			return c, true
		}
	}
	return Command{}, false
}

func (n Nr) String() string {
	if c, ok := Lookup(n); ok {
		return "DRM_IOCTL_" + c.Name
	}
	return fmt.Sprintf("DRM_IOCTL_%#02x", uint8(n))
}
