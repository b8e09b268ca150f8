package kfd

import (
	"fmt"
	"unsafe"
)

// Args is the set of fixed-size argument structures.
type Args interface {
	GetVersionArgs | CreateQueueArgs | DestroyQueueArgs | UpdateQueueArgs | SetCUMaskArgs | GetQueueWaveStateArgs |
		SetMemoryPolicyArgs | GetClockCountersArgs | ProcessDeviceApertures | GetProcessAperturesArgs |
		GetProcessAperturesNewArgs | CreateEventArgs | EventIDArgs | MemoryExceptionData | HWExceptionData | EventData |
		WaitEventsArgs | SetScratchBackingVAArgs | GetTileConfigArgs | SetTrapHandlerArgs | AcquireVMArgs |
		AllocMemoryOfGPUArgs | FreeMemoryOfGPUArgs | MapMemoryArgs | AllocQueueGWSArgs | GetDmabufInfoArgs |
		ImportDmabufArgs | ExportDmabufArgs | SMIEventsArgs | SVMArgs | SVMAttribute | SetXNACKModeArgs | CRIUArgs |
		AvailableMemoryArgs | RuntimeEnableArgs | DbgTrapArgs | ContextSaveAreaHeader | IPCExportHandleArgs |
		IPCImportHandleArgs
}

// Bytes returns the memory of an argument structure itself: writing to the slice writes the structure. It is how a structure
// becomes the argument of an in-process or a real ioctl.
func Bytes[T Args](a *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a))
}

// Decode copies an argument out of b. As the driver does, it takes what there is: missing bytes at the end read as zero,
// extra ones are ignored.
func Decode[T Args](b []byte) T {
	var a T
	copy(Bytes(&a), b)
	return a
}

// Encode copies an argument into b, as much of it as fits, and reports the number of bytes written.
func Encode[T Args](b []byte, a T) int { return copy(b, Bytes(&a)) }

// DecodeSVM splits the argument of an SVM call into head and attributes. It fails when b is shorter than the number of
// attributes that the head claims.
func DecodeSVM(b []byte) (SVMArgs, []SVMAttribute, error) {
	h := Decode[SVMArgs](b)
	if len(b) < SizeofSVMArgs {
		return h, nil, fmt.Errorf("kfd: SVM argument of %d bytes, need at least %d", len(b), SizeofSVMArgs)
	}
	rest := b[SizeofSVMArgs:]
	if uint64(h.NAttr)*SizeofSVMAttribute > uint64(len(rest)) {
		return h, nil, fmt.Errorf("kfd: SVM argument claims %d attributes but has room for %d", h.NAttr, len(rest)/SizeofSVMAttribute)
	}
	attrs := make([]SVMAttribute, h.NAttr)
	for i := range attrs {
		attrs[i] = Decode[SVMAttribute](rest[i*SizeofSVMAttribute:])
	}
	return h, attrs, nil
}

// EncodeSVM makes the argument of an SVM call; NAttr of the head is set from attrs.
func EncodeSVM(h SVMArgs, attrs []SVMAttribute) []byte {
	h.NAttr = uint32(len(attrs))
	b := make([]byte, SizeofSVMArgs+len(attrs)*SizeofSVMAttribute)
	Encode(b, h)
	for i, a := range attrs {
		Encode(b[SizeofSVMArgs+i*SizeofSVMAttribute:], a)
	}
	return b
}

// HW reads the union of an event's data as a hardware exception.
func (d *EventData) HW() HWExceptionData { return Decode[HWExceptionData](Bytes(&d.Memory)) }

// SetHW writes the union of an event's data as a hardware exception.
func (d *EventData) SetHW(h HWExceptionData) {
	d.Memory = MemoryExceptionData{}
	Encode(Bytes(&d.Memory), h)
}

// SignalAge reads the union of a signal event's data: the last age its caller has seen (0: age checking off).
func (d *EventData) SignalAge() uint64 {
	return uint64(d.Memory.NotPresent) | uint64(d.Memory.ReadOnly)<<32
}

// SetSignalAge writes the union of a signal event's data.
func (d *EventData) SetSignalAge(age uint64) {
	d.Memory.NotPresent, d.Memory.ReadOnly = uint32(age), uint32(age>>32)
}
