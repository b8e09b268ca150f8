package aql

import (
	"reflect"
	"testing"
	"unsafe"
)

func TestPacketLayout(t *testing.T) {
	var d DispatchPacket
	for name, got := range map[string][2]uintptr{
		"setup":             {unsafe.Offsetof(d.Setup), 2},
		"workgroup_size_x":  {unsafe.Offsetof(d.WorkgroupSizeX), 4},
		"grid_size_x":       {unsafe.Offsetof(d.GridSizeX), 12},
		"private":           {unsafe.Offsetof(d.PrivateSegmentSize), 24},
		"group":             {unsafe.Offsetof(d.GroupSegmentSize), 28},
		"kernel_object":     {unsafe.Offsetof(d.KernelObject), 32},
		"kernarg_address":   {unsafe.Offsetof(d.KernargAddress), 40},
		"completion_signal": {unsafe.Offsetof(d.CompletionSignal), 56},
	} {
		if got[0] != got[1] {
			t.Errorf("%s at %d, want %d", name, got[0], got[1])
		}
	}
	for _, v := range []any{d, BarrierPacket{}, AgentDispatchPacket{}, PM4IBPacket{}, BarrierValuePacket{}} {
		ty := reflect.TypeOf(v)
		f, _ := ty.FieldByName("CompletionSignal")
		if ty.Size() != PacketSize || f.Offset != 56 {
			t.Errorf("%s: size %d, completion signal at %d", ty.Name(), ty.Size(), f.Offset)
		}
	}
	if o := unsafe.Offsetof(BarrierPacket{}.DepSignal); o != 8 {
		t.Errorf("dep_signal at %d", o)
	}
	if o := unsafe.Offsetof(PM4IBPacket{}.IBJump); o != 4 {
		t.Errorf("ib jump at %d", o)
	}
	if o := unsafe.Offsetof(BarrierValuePacket{}.Cond); o != 32 {
		t.Errorf("cond at %d", o)
	}
}

func TestQueueLayout(t *testing.T) {
	var q Queue
	if unsafe.Sizeof(HSAQueue{}) != 40 || unsafe.Sizeof(q) != QueueSize {
		t.Errorf("sizes %d %d", unsafe.Sizeof(HSAQueue{}), unsafe.Sizeof(q))
	}
	for name, got := range map[string][2]uintptr{
		"write_dispatch_id":     {unsafe.Offsetof(q.WriteDispatchID), WriteDispatchIDOffset},
		"group base hi":         {unsafe.Offsetof(q.GroupSegmentApertureBaseHi), GroupSegmentApertureBaseHiOffset},
		"private base hi":       {unsafe.Offsetof(q.PrivateSegmentApertureBaseHi), PrivateSegmentApertureBaseHi},
		"max_cu_id":             {unsafe.Offsetof(q.MaxCUID), 72},
		"max_wave_id":           {unsafe.Offsetof(q.MaxWaveID), 76},
		"read_dispatch_id":      {unsafe.Offsetof(q.ReadDispatchID), ReadDispatchIDOffset},
		"rptr base offset":      {unsafe.Offsetof(q.ReadDispatchIDFieldBaseOffset), ReadDispatchIDFieldBaseOffset},
		"compute_tmpring_size":  {unsafe.Offsetof(q.ComputeTmpringSize), ComputeTmpringSizeOffset},
		"scratch descriptor":    {unsafe.Offsetof(q.ScratchResourceDescriptor), ScratchResourceDescriptorOffset},
		"scratch location":      {unsafe.Offsetof(q.ScratchBackingMemoryLocation), ScratchBackingLocationOffset},
		"scratch bytes":         {unsafe.Offsetof(q.ScratchBackingMemoryByteSize), ScratchBackingByteSizeOffset},
		"scratch lane bytes":    {unsafe.Offsetof(q.ScratchWave64LaneByteSize), ScratchWave64LaneByteSizeOffset},
		"queue_properties":      {unsafe.Offsetof(q.QueueProperties), QueuePropertiesOffset},
		"queue_inactive_signal": {unsafe.Offsetof(q.QueueInactiveSignal), QueueInactiveSignalOffset},
	} {
		if got[0] != got[1] {
			t.Errorf("%s at %d, want %d", name, got[0], got[1])
		}
	}
}

func TestSignalLayout(t *testing.T) {
	var s Signal
	if unsafe.Sizeof(s) != SignalSize {
		t.Errorf("size %d", unsafe.Sizeof(s))
	}
	for name, got := range map[string][2]uintptr{
		"value":    {unsafe.Offsetof(s.Value), SignalValueOffset},
		"mailbox":  {unsafe.Offsetof(s.EventMailboxPtr), SignalEventMailboxOffset},
		"event id": {unsafe.Offsetof(s.EventID), SignalEventIDOffset},
		"start":    {unsafe.Offsetof(s.StartTS), SignalStartTSOffset},
		"end":      {unsafe.Offsetof(s.EndTS), SignalEndTSOffset},
		"queue":    {unsafe.Offsetof(s.QueuePtr), SignalQueuePtrOffset},
	} {
		if got[0] != got[1] {
			t.Errorf("%s at %d, want %d", name, got[0], got[1])
		}
	}
}

// Headers seen on the wire: ROCm 5.2's dispatch 0d02 and ROCm 7's 1502 and barrier 1503.
func TestHeader(t *testing.T) {
	for _, c := range []struct {
		want Header
		got  Header
	}{
		{0x0d02, MakeHeader(KernelDispatch, true, ScopeSystem, ScopeAgent)},
		{0x1502, MakeHeader(KernelDispatch, true, ScopeSystem, ScopeSystem)},
		{0x1402, MakeHeader(KernelDispatch, false, ScopeSystem, ScopeSystem)},
		{0x1503, MakeHeader(BarrierAnd, true, ScopeSystem, ScopeSystem)},
	} {
		if c.got != c.want {
			t.Errorf("%#x, want %#x", c.got, c.want)
		}
	}
	h := Header(0x0d02)
	if h.Type() != KernelDispatch || !h.Barrier() || h.Acquire() != ScopeSystem || h.Release() != ScopeAgent {
		t.Errorf("%v %v %v %v", h.Type(), h.Barrier(), h.Acquire(), h.Release())
	}
}

func TestRawRoundTrip(t *testing.T) {
	in := DispatchPacket{Header: 0x1502, Setup: 1, GridSizeX: 65536, WorkgroupSizeX: 256, KernelObject: 0x1000}
	p := Raw(in)
	if p.Header() != 0x1502 || As[DispatchPacket](&p) != in {
		t.Errorf("% x", p)
	}
}

func TestCondition(t *testing.T) {
	for _, c := range []struct {
		c    Condition
		v, o int64
		want bool
	}{
		{CondEQ, 0, 0, true}, {CondEQ, 1, 0, false}, {CondNE, 1, 0, true}, {CondNE, 0, 0, false},
		{CondLT, -1, 0, true}, {CondLT, 0, 0, false}, {CondGTE, 0, 0, true}, {CondGTE, -1, 0, false}, {9, 0, 0, false},
	} {
		if got := c.c.Holds(c.v, c.o); got != c.want {
			t.Errorf("%v %d %d: %v", c.c, c.v, c.o, got)
		}
	}
}
