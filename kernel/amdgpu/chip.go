package amdgpu

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/silicon"
)

// Chip is what a driver reaches of the hardware. *silicon.Device gives it through Silicon; tests have their own.
type Chip interface {
	VRAM() Aperture
	Doorbells() Aperture
	SetVMID(vmid uint32, c *silicon.VMContext) error
	SetGWS(vmid uint32, n int) error
	FlushTLB(vmid uint32)
	LoadQueue(id silicon.QueueID, mqd unsafe.Pointer, vmid uint32) error
	UnloadQueue(id silicon.QueueID, how silicon.Unload) error
	DropSaved(mqd unsafe.Pointer)
	RingDoorbell(dword uint32)
	RingDoorbells()
	SetIHRing(ring []byte) error
	IHWritePointer() (offset uint32, overflow bool)
	SetIHReadPointer(offset uint32)
	Clock() uint64
}

// Aperture is memory of the chip that the host can map: a memfd, and where this process sees it.
type Aperture interface {
	FD() int
	Size() uint64
	Base() unsafe.Pointer
	// Discard makes a page-aligned range read as zero and gives its pages back.
	Discard(off, n uint64) error
}

type siliconChip struct{ *silicon.Device }

// Silicon makes a Chip of a device.
func Silicon(d *silicon.Device) Chip { return siliconChip{d} }

func (c siliconChip) VRAM() Aperture      { return c.Device.VRAM() }
func (c siliconChip) Doorbells() Aperture { return c.Device.Doorbells() }
