package mqd

import (
	"fmt"
	"math/bits"
)

// Gen is a generation of the layouts, the major number of the graphics IP.
type Gen uint8

// Generations.
const (
	V9  Gen = 9
	V10 Gen = 10
	V11 Gen = 11
	V12 Gen = 12
)

// GenOf returns the layout of a chip by its gfx_target_version; ok is false for chips that have none here.
func GenOf(gfxTargetVersion uint32) (g Gen, ok bool) {
	g = Gen(gfxTargetVersion / 10000)
	return g, g >= V9 && g <= V12
}

// Sizes in bytes. On gfx9 a copy of the control stack follows a compute MQD, one page after its start.
const (
	ComputeBytes = 2048
	ComputeWords = ComputeBytes / 4
	SDMABytes    = 520 // v10 is the longest
	SDMAWords    = SDMABytes / 4
)

// Header is the first word of every compute MQD.
const Header = 0xC0310800

// Word offsets of a compute MQD.
const (
	wHeader           = 0
	wStaticSE0        = 23 // SE0 and SE1
	wStaticSE2        = 26 // SE2 and SE3
	wMiscReserved     = 32
	wMQDBaseLo        = 128
	wActive           = 130
	wVMID             = 131
	wPersistentState  = 132
	wPipePriority     = 133
	wQueuePriority    = 134
	wQuantum          = 135
	wPQBaseLo         = 136
	wPQRptr           = 138
	wRptrReportLo     = 139
	wWptrPollLo       = 141
	wDoorbellControl  = 143
	wPQControl        = 145
	wIBControl        = 149
	wIQTimer          = 150
	wMQDControl       = 162
	wEOPBaseLo        = 165
	wEOPControl       = 167
	wCtxSaveBaseLo    = 171
	wCtxSaveControl   = 173
	wCntlStackOffset  = 174
	wCntlStackSize    = 175
	wWGStateOffset    = 176
	wCtxSaveSize      = 177
	wAQLControl       = 181
	wPQWptrLo         = 182
	wMQDStrideV9      = 226
	persistentPreload = 1
)

// wStaticSE4 is where the masks of shader engines 4 to 7 start.
func (g Gen) wStaticSE4() int {
	if g >= V11 {
		return 44
	}
	return 39
}

// Bits of words.
const (
	doorbellBIFDrop   = 1 << 1
	doorbellOffShift  = 2
	doorbellOffMask   = 1<<26 - 1
	doorbellEnable    = 1 << 30
	pqSizeMask        = 0x3f
	pqRptrBlockShift  = 8
	pqQueueFull       = 1 << 14
	pqWPPClamp        = 1 << 16
	pqSlotBasedShift  = 18
	pqNoUpdateRptr    = 1 << 27
	mqdPrivState      = 1 << 8
	ibMinAvailShift   = 20
	quantumEnable     = 1
	quantumScaleShift = 4
	quantumDurShift   = 8
)

// Compute is the meaning of a compute MQD (AQL or PM4). Addresses are GPU virtual addresses of the queue's VMID, but for
// MQDAddr.
type Compute struct {
	MQDAddr        uint64 // bus address of the MQD itself
	RingBase       uint64 // 256-byte aligned
	RingBytes      uint32 // power of two
	RptrAddr       uint64 // where the chip reports its read pointer; AQL: the amd_queue's read_dispatch_id
	WptrAddr       uint64 // where user space keeps the write pointer; AQL: write_dispatch_id
	DoorbellDword  uint32 // absolute offset in the doorbell aperture, in dwords
	VMID           uint8
	AQL            bool
	NoUpdateRptr   bool  // AQL: the CP leaves the reported read pointer to microcode (not on 9.4.3)
	PipePriority   uint8 // 0 low, 1 medium, 2 high
	QueuePriority  uint8 // 0..15
	EOPBase        uint64
	EOPBytes       uint32 // power of two, or 0
	CtxSaveBase    uint64
	CtxSaveBytes   uint32
	CtlStackBytes  uint32
	CtlStackOffset uint32 // after a save: start of the used part of the control stack
	WGStateOffset  uint32 // after a save: start of the used part of the wave state
	CUMask         [8]uint32
	Active         bool
	Rptr           uint32 // dwords (AQL: in the unit of the ring: packets*16)
	Wptr           uint64
}

// Encode writes c into an MQD of at least ComputeWords words; everything else is cleared.
func (c *Compute) Encode(g Gen, w []uint32) error {
	if len(w) < ComputeWords {
		return fmt.Errorf("mqd: %d words for a compute MQD, need %d", len(w), ComputeWords)
	}
	if c.RingBytes&(c.RingBytes-1) != 0 || c.EOPBytes&(c.EOPBytes-1) != 0 {
		return fmt.Errorf("mqd: ring of %d or EOP of %d bytes is no power of two", c.RingBytes, c.EOPBytes)
	}
	clear(w[:ComputeWords])
	w[wHeader] = Header
	for i, m := range c.CUMask[:2] {
		w[wStaticSE0+i] = m
	}
	for i, m := range c.CUMask[2:4] {
		w[wStaticSE2+i] = m
	}
	for i, m := range c.CUMask[4:] {
		w[g.wStaticSE4()+i] = m
	}
	put64(w[wMQDBaseLo:], c.MQDAddr)
	if c.Active {
		w[wActive] = 1
	}
	w[wVMID] = uint32(c.VMID & 15)
	w[wPersistentState] = persistentPreload | 0x53<<8
	w[wPipePriority] = uint32(c.PipePriority)
	w[wQueuePriority] = uint32(c.QueuePriority)
	w[wQuantum] = quantumEnable | 1<<quantumScaleShift | 1<<quantumDurShift
	put64(w[wPQBaseLo:], c.RingBase>>8)
	w[wPQRptr] = c.Rptr
	put64(w[wRptrReportLo:], c.RptrAddr)
	put64(w[wWptrPollLo:], c.WptrAddr)
	w[wDoorbellControl] = c.DoorbellDword<<doorbellOffShift | doorbellEnable
	w[wPQControl] = 5<<pqRptrBlockShift | sizeField(c.RingBytes)
	if c.AQL {
		w[wDoorbellControl] |= doorbellBIFDrop
		w[wPQControl] |= 2<<pqSlotBasedShift | pqQueueFull | pqWPPClamp
		if c.NoUpdateRptr {
			w[wPQControl] |= pqNoUpdateRptr
		}
		w[wAQLControl] = 1
	}
	w[wIBControl] = 3 << ibMinAvailShift
	w[wMQDControl] = mqdPrivState
	put64(w[wEOPBaseLo:], c.EOPBase>>8)
	if c.EOPBytes != 0 {
		w[wEOPControl] = min(0xa, sizeField(c.EOPBytes))
	}
	put64(w[wCtxSaveBaseLo:], c.CtxSaveBase)
	w[wCtxSaveSize] = c.CtxSaveBytes
	w[wCntlStackSize] = c.CtlStackBytes
	w[wCntlStackOffset] = c.CtlStackOffset
	w[wWGStateOffset] = c.WGStateOffset
	put64(w[wPQWptrLo:], c.Wptr)
	if g == V9 {
		w[wMQDStrideV9] = ComputeBytes
	}
	return nil
}

// DecodeCompute reads an MQD. EOP sizes above 8 KiB read as 8 KiB: the field cannot say more.
func DecodeCompute(g Gen, w []uint32) (c Compute, err error) {
	if len(w) < ComputeWords {
		return c, fmt.Errorf("mqd: %d words for a compute MQD, need %d", len(w), ComputeWords)
	}
	if w[wHeader] != Header {
		return c, fmt.Errorf("mqd: header %#x, want %#x", w[wHeader], uint32(Header))
	}
	copy(c.CUMask[:2], w[wStaticSE0:])
	copy(c.CUMask[2:4], w[wStaticSE2:])
	copy(c.CUMask[4:], w[g.wStaticSE4():])
	c.MQDAddr = get64(w[wMQDBaseLo:])
	c.Active = w[wActive]&1 != 0
	c.VMID = uint8(w[wVMID] & 15)
	c.PipePriority = uint8(w[wPipePriority])
	c.QueuePriority = uint8(w[wQueuePriority])
	c.RingBase = get64(w[wPQBaseLo:]) << 8
	c.RingBytes = fieldSize(w[wPQControl])
	c.Rptr = w[wPQRptr]
	c.RptrAddr = get64(w[wRptrReportLo:])
	c.WptrAddr = get64(w[wWptrPollLo:])
	c.DoorbellDword = w[wDoorbellControl] >> doorbellOffShift & doorbellOffMask
	c.AQL = w[wAQLControl]&1 != 0
	c.NoUpdateRptr = w[wPQControl]&pqNoUpdateRptr != 0
	c.EOPBase = get64(w[wEOPBaseLo:]) << 8
	if w[wEOPControl] != 0 {
		c.EOPBytes = fieldSize(w[wEOPControl])
	}
	c.CtxSaveBase = get64(w[wCtxSaveBaseLo:])
	c.CtxSaveBytes = w[wCtxSaveSize]
	c.CtlStackBytes = w[wCntlStackSize]
	c.CtlStackOffset = w[wCntlStackOffset]
	c.WGStateOffset = w[wWGStateOffset]
	c.Wptr = get64(w[wPQWptrLo:])
	return c, nil
}

// StoreActive marks the queue as on (or off) the hardware.
func StoreActive(w []uint32, on bool) {
	w[wActive] = 0
	if on {
		w[wActive] = 1
	}
}

// StorePointers saves the read and write pointer of a compute queue that leaves the hardware.
func StorePointers(w []uint32, rptr uint32, wptr uint64) {
	w[wPQRptr] = rptr
	put64(w[wPQWptrLo:], wptr)
}

// StoreSave saves where the used parts of the control stack and of the wave state start.
func StoreSave(w []uint32, ctlStackOffset, wgStateOffset uint32) {
	w[wCntlStackOffset], w[wWGStateOffset] = ctlStackOffset, wgStateOffset
}

func put64(w []uint32, v uint64) { w[0], w[1] = uint32(v), uint32(v>>32) }

func get64(w []uint32) uint64 { return uint64(w[0]) | uint64(w[1])<<32 }

// sizeField encodes a size in bytes as log2(dwords)-1.
func sizeField(n uint32) uint32 {
	if n < 8 {
		return 0
	}
	return uint32(bits.TrailingZeros32(n)) - 3
}

func fieldSize(f uint32) uint32 { return 8 << min(f&pqSizeMask, 28) }
