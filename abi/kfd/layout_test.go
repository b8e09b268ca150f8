package kfd

import (
	"reflect"
	"testing"
)

// The header's own numbers (UAPI 1.17): size and the offset of each field, in order.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		v    any
		size uintptr
		offs []uintptr
	}{
		{GetVersionArgs{}, 8, []uintptr{0, 4}},
		{CreateQueueArgs{}, 96, []uintptr{0, 8, 16, 24, 32, 36, 40, 44, 48, 52, 56, 64, 72, 80, 84, 88, 92}},
		{DestroyQueueArgs{}, 8, []uintptr{0, 4}},
		{UpdateQueueArgs{}, 24, []uintptr{0, 8, 12, 16, 20}},
		{SetCUMaskArgs{}, 16, []uintptr{0, 4, 8}},
		{GetQueueWaveStateArgs{}, 24, []uintptr{0, 8, 12, 16, 20}},
		{SetMemoryPolicyArgs{}, 32, []uintptr{0, 8, 16, 20, 24, 28}},
		{GetClockCountersArgs{}, 40, []uintptr{0, 8, 16, 24, 32, 36}},
		{ProcessDeviceApertures{}, 56, []uintptr{0, 8, 16, 24, 32, 40, 48, 52}},
		{GetProcessAperturesArgs{}, 400, []uintptr{0, 392, 396}},
		{GetProcessAperturesNewArgs{}, 16, []uintptr{0, 8, 12}},
		{CreateEventArgs{}, 32, []uintptr{0, 8, 12, 16, 20, 24, 28}},
		{EventIDArgs{}, 8, []uintptr{0, 4}},
		{MemoryExceptionData{}, 32, []uintptr{0, 4, 8, 12, 16, 24, 28}},
		{HWExceptionData{}, 16, []uintptr{0, 4, 8, 12}},
		{EventData{}, 48, []uintptr{0, 32, 40, 44}},
		{WaitEventsArgs{}, 24, []uintptr{0, 8, 12, 16, 20}},
		{SetScratchBackingVAArgs{}, 16, []uintptr{0, 8, 12}},
		{GetTileConfigArgs{}, 40, []uintptr{0, 8, 16, 20, 24, 28, 32, 36}},
		{SetTrapHandlerArgs{}, 24, []uintptr{0, 8, 16, 20}},
		{AcquireVMArgs{}, 8, []uintptr{0, 4}},
		{AllocMemoryOfGPUArgs{}, 40, []uintptr{0, 8, 16, 24, 32, 36}},
		{FreeMemoryOfGPUArgs{}, 8, []uintptr{0}},
		{MapMemoryArgs{}, 24, []uintptr{0, 8, 16, 20}},
		{AllocQueueGWSArgs{}, 16, []uintptr{0, 4, 8, 12}},
		{GetDmabufInfoArgs{}, 32, []uintptr{0, 8, 16, 20, 24, 28}},
		{ImportDmabufArgs{}, 24, []uintptr{0, 8, 16, 20}},
		{ExportDmabufArgs{}, 16, []uintptr{0, 8, 12}},
		{SMIEventsArgs{}, 8, []uintptr{0, 4}},
		{SVMArgs{}, 24, []uintptr{0, 8, 16, 20}},
		{SVMAttribute{}, 8, []uintptr{0, 4}},
		{SetXNACKModeArgs{}, 4, []uintptr{0}},
		{CRIUArgs{}, 56, []uintptr{0, 8, 16, 24, 32, 36, 40, 44, 48, 52}},
		{AvailableMemoryArgs{}, 16, []uintptr{0, 8, 12}},
		{RuntimeEnableArgs{}, 16, []uintptr{0, 8, 12}},
		{DbgTrapArgs{}, 32, []uintptr{0, 4, 8}},
		{ContextSaveAreaHeader{}, 40, []uintptr{0, 4, 8, 12, 16, 20, 24, 32, 36}},
		{IPCExportHandleArgs{}, 32, []uintptr{0, 8, 24, 28}},
		{IPCImportHandleArgs{}, 48, []uintptr{0, 8, 16, 24, 40, 44}},
	} {
		ty := reflect.TypeOf(c.v)
		if ty.Size() != c.size {
			t.Errorf("%s: size %d, want %d", ty.Name(), ty.Size(), c.size)
		}
		if ty.NumField() != len(c.offs) {
			t.Errorf("%s: %d fields, want %d", ty.Name(), ty.NumField(), len(c.offs))
			continue
		}
		for i, o := range c.offs {
			if f := ty.Field(i); f.Offset != o {
				t.Errorf("%s.%s at %d, want %d", ty.Name(), f.Name, f.Offset, o)
			}
		}
	}
}

func TestRequestWords(t *testing.T) {
	want := map[Nr]Request{
		NrGetVersion: IocGetVersion, NrCreateQueue: IocCreateQueue, NrDestroyQueue: IocDestroyQueue,
		NrSetMemoryPolicy: IocSetMemoryPolicy, NrGetClockCounters: IocGetClockCounters,
		NrGetProcessApertures: IocGetProcessApertures, NrUpdateQueue: IocUpdateQueue, NrCreateEvent: IocCreateEvent,
		NrDestroyEvent: IocDestroyEvent, NrSetEvent: IocSetEvent, NrResetEvent: IocResetEvent, NrWaitEvents: IocWaitEvents,
		NrSetScratchBackingVA: IocSetScratchBackingVA, NrGetTileConfig: IocGetTileConfig,
		NrSetTrapHandler: IocSetTrapHandler, NrGetProcessAperturesNew: IocGetProcessAperturesNew,
		NrAcquireVM: IocAcquireVM, NrAllocMemoryOfGPU: IocAllocMemoryOfGPU, NrFreeMemoryOfGPU: IocFreeMemoryOfGPU,
		NrMapMemoryToGPU: IocMapMemoryToGPU, NrUnmapMemoryFromGPU: IocUnmapMemoryFromGPU, NrSetCUMask: IocSetCUMask,
		NrGetQueueWaveState: IocGetQueueWaveState, NrGetDmabufInfo: IocGetDmabufInfo, NrImportDmabuf: IocImportDmabuf,
		NrAllocQueueGWS: IocAllocQueueGWS, NrSMIEvents: IocSMIEvents, NrSVM: IocSVM, NrSetXNACKMode: IocSetXNACKMode,
		NrCRIUOp: IocCRIUOp, NrAvailableMemory: IocAvailableMemory, NrExportDmabuf: IocExportDmabuf,
		NrRuntimeEnable: IocRuntimeEnable, NrDbgTrap: IocDbgTrap,
	}
	for i, c := range Commands {
		if i > 0 && Commands[i-1].Nr >= c.Nr {
			t.Errorf("%s out of order", c.Name)
		}
		if w, ok := want[c.Nr]; ok && c.Request() != w {
			t.Errorf("%s: %#x, want %#x", c.Name, c.Request(), w)
		}
		if got := c.Request(); got.Nr() != c.Nr || got.Size() != c.Size || got.Dir() != c.Dir || got.Type() != Type {
			t.Errorf("%s: request does not split into its parts", c.Name)
		}
	}
	if got := SVMRequest(3).Size(); got != 48 {
		t.Errorf("SVM request of 3 attributes: %d bytes", got)
	}
	if _, ok := Lookup(0x27); ok {
		t.Error("command 0x27 found")
	}
}

func TestShortArgumentReadsAsZero(t *testing.T) {
	full := CreateQueueArgs{RingSize: 4096, SDMAEngineID: 7}
	b := make([]byte, 88) // ROCm 5.2's size
	Encode(b, full)
	got := Decode[CreateQueueArgs](b)
	if got.RingSize != 4096 || got.SDMAEngineID != 0 {
		t.Errorf("%+v", got)
	}
}

func TestSVMRoundTripAndLies(t *testing.T) {
	in := []SVMAttribute{{SVMAttrAccess, 2}, {SVMAttrGranularity, 9}}
	b := EncodeSVM(SVMArgs{StartAddr: 1 << 21, Size: 4096, Op: SVMOpSetAttr}, in)
	h, out, err := DecodeSVM(b)
	if err != nil || h.NAttr != 2 || !reflect.DeepEqual(in, out) {
		t.Fatalf("%+v %v %v", h, out, err)
	}
	if _, _, err := DecodeSVM(b[:len(b)-1]); err == nil {
		t.Error("a truncated argument was accepted")
	}
	if _, _, err := DecodeSVM(nil); err == nil {
		t.Error("an empty argument was accepted")
	}
}

func TestMmapOffset(t *testing.T) {
	off := MmapOffset(MmapDoorbell, 2, 0x1238)
	if off != 3<<62|2<<46|0x1238 {
		t.Fatalf("%#x", off)
	}
	if ty, id, low := SplitMmapOffset(off); ty != MmapDoorbell || id != 2 || low != 0x1238 {
		t.Errorf("%v %v %v", ty, id, low)
	}
}

func TestEventUnion(t *testing.T) {
	var d EventData
	d.SetSignalAge(0x1_0000_0002)
	if d.SignalAge() != 0x1_0000_0002 {
		t.Errorf("age %#x", d.SignalAge())
	}
	d.SetHW(HWExceptionData{ResetCause: 1, GPUID: 9})
	if h := d.HW(); h.ResetCause != 1 || h.GPUID != 9 {
		t.Errorf("%+v", h)
	}
}
