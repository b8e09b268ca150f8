package hsa

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// Scratch is the memory of private segments. The packet processor stops in front of a dispatch that needs more than the queue has, and asks; the
// answer is written into the queue's record. One wave takes lanes times the private size, rounded up to 1 KiB; the area holds
// as many waves as the dispatch can have on the chip at once.

// scratchWave is the unit of a wave's scratch in bytes.
const scratchWave = 1024

// growScratch gives the queue the scratch that the packet at its read index asks for.
func (q *Queue) growScratch() error {
	const op = "scratch"
	idx := q.ReadIndex()
	var p aql.Packet
	src := (*aql.Packet)(hostPointer(q.ring + idx&q.mask*aql.PacketSize))
	p = *src
	d := aql.As[aql.DispatchPacket](&p)
	if d.PrivateSegmentSize == 0 {
		return fail(op, StatusInvalidPacketFormat, "the packet at %d asks for no scratch", idx)
	}
	// The record counts in lanes of a wave64 whatever the kernel's wave size: 16 bytes per lane make 1 KiB.
	lane := (uint64(d.PrivateSegmentSize) + 15) &^ 15
	wave := lane * 64
	groups := func(grid uint32, wg uint16) uint64 {
		if wg == 0 {
			return 1
		}
		return (uint64(grid) + uint64(wg) - 1) / uint64(wg)
	}
	size := uint64(d.WorkgroupSizeX) * uint64(max(d.WorkgroupSizeY, 1)) * uint64(max(d.WorkgroupSizeZ, 1))
	wavesPerGroup := (size + 31) / 32
	need := groups(d.GridSizeX, d.WorkgroupSizeX) * groups(max(d.GridSizeY, 1), max(d.WorkgroupSizeY, 1)) * groups(max(d.GridSizeZ, 1), max(d.WorkgroupSizeZ, 1)) * wavesPerGroup
	a := q.Agent
	engines := max(a.Node.Props["array_count"]/max(a.Node.Props["simd_arrays_per_engine"], 1), 1)
	slots := uint64(a.ComputeUnits) * max(a.Node.Props["max_slots_scratch_cu"], 1)
	waves := min((need+engines-1)/engines*engines, slots/engines*engines)
	// At least one work-group must fit, on one engine.
	waves = max(waves, wavesPerGroup*engines)
	const maxWaves = 1<<12 - 1
	waves = min(waves, maxWaves/engines*engines)
	total := (waves*wave + hsakmt.PageSize - 1) &^ (hsakmt.PageSize - 1)
	m, err := a.rt.kfd.Alloc(a.Node.ID, total, 0, hsakmt.Executable)
	if err != nil {
		return wrap(op, err)
	}
	if err := a.rt.kfd.Map(m, a.Node.ID); err != nil {
		_ = a.rt.kfd.Free(m)
		return wrap(op, err)
	}
	// Waves of earlier packets may still use what the queue had: it stays until the queue goes.
	q.scratch = append(q.scratch, m)
	r := q.rec
	r.ScratchBackingMemoryLocation = m.VA
	r.ScratchBackingMemoryByteSize = total
	r.ScratchWave64LaneByteSize = uint32(lane)
	r.ScratchResourceDescriptor = scratchDescriptor(a.Target.Proc.Major, m.VA, total)
	atomic.StoreUint32(&r.ComputeTmpringSize, tmpring(a.Target.Proc.Major, waves, wave, engines))
	return nil
}

// tmpring makes COMPUTE_TMPRING_SIZE: WAVES in bits 11:0, WAVESIZE from bit 12 on, in KiB up to gfx10 and in 256 bytes, per shader engine, from gfx11 on.
func tmpring(major int, waves, wave, engines uint64) uint32 {
	if major >= 11 {
		return uint32(waves/engines) | uint32(wave/256)<<12
	}
	return uint32(waves) | uint32(wave/scratchWave)<<12
}

// scratchDescriptor makes the buffer resource (V#) that kernels without architected flat scratch address private memory with: swizzled
// so that the lanes of a wave interleave dword by dword.
func scratchDescriptor(major int, base, size uint64) [4]uint32 {
	const selXYZW = 4 | 5<<3 | 6<<6 | 7<<9
	d := [4]uint32{uint32(base), uint32(base>>32) & 0xffff, uint32(min(size, 0xffffffff)), selXYZW}
	switch {
	case major >= 11:
		d[1] |= 1 << 30        // SWIZZLE_ENABLE of two bits: 4-byte elements
		d[3] |= 20<<12 | 2<<28 // FORMAT 32_UINT, OOB_SELECT raw
	case major == 10:
		d[1] |= 1 << 31                // SWIZZLE_ENABLE
		d[3] |= 20<<12 | 1<<24 | 2<<28 // FORMAT 32_UINT, RESOURCE_LEVEL, OOB_SELECT raw; the packet processor adds index stride and thread id
	default:
		d[1] |= 1 << 31                               // SWIZZLE_ENABLE
		d[3] |= 4<<12 | 4<<15 | 1<<19 | 3<<21 | 1<<23 // UINT, 32, ELEMENT_SIZE 4, INDEX_STRIDE 64, ADD_TID_ENABLE
	}
	return d
}
