package mqd

import (
	"fmt"
	"math/bits"
)

// sdmaLayout is where a generation keeps the fields, in words.
type sdmaLayout struct {
	rptrLo, rptrHi, doorbell, doorbellOffset, pollLo, pollHi, engine, queue int
	rptr, wptr                                                              int // read and write pointer, low word first
}

// Words of every generation.
const (
	wRBCntl   = 0
	wRBBaseLo = 1
)

var sdmaLayouts = map[Gen]sdmaLayout{
	V9:  {rptr: 3, wptr: 5, rptrHi: 8, rptrLo: 9, doorbell: 18, doorbellOffset: 22, pollHi: 28, pollLo: 29, engine: 126, queue: 127},
	V10: {rptr: 3, wptr: 5, rptrHi: 8, rptrLo: 9, doorbell: 18, doorbellOffset: 22, pollHi: 28, pollLo: 29, engine: 128, queue: 129},
	V11: {rptr: 3, wptr: 5, rptrHi: 7, rptrLo: 8, doorbell: 17, doorbellOffset: 19, pollHi: 26, pollLo: 27, engine: 126, queue: 127},
	V12: {rptr: 3, wptr: 5, rptrLo: 9, rptrHi: 10, doorbell: 15, doorbellOffset: 17, pollHi: 26, pollLo: 27, engine: 126, queue: 127},
}

// Bits of words.
const (
	rbEnable            = 1 << 0
	rbSizeShift         = 1
	rbRptrWriteback     = 1 << 12
	rbRptrTimerShift    = 16
	rbVMIDShift         = 24
	sdmaDoorbellEnable  = 1 << 28
	sdmaDoorbellShift   = 2
	sdmaRptrWritebackHz = 6
)

// SDMA is the meaning of an SDMA MQD. Pointers count bytes.
type SDMA struct {
	RingBase      uint64 // 256-byte aligned
	RingBytes     uint32 // power of two
	RptrAddr      uint64
	WptrAddr      uint64
	DoorbellDword uint32 // absolute offset in the doorbell aperture, in dwords
	VMID          uint8
	Active        bool
	Engine        uint32
	Queue         uint32 // of the engine
	Rptr, Wptr    uint64
}

// Encode writes s into an MQD of at least SDMAWords words; everything else is cleared.
func (s *SDMA) Encode(g Gen, w []uint32) error {
	l, ok := sdmaLayouts[g]
	if !ok || len(w) < SDMAWords {
		return fmt.Errorf("mqd: no SDMA MQD of generation %d in %d words", g, len(w))
	}
	if s.RingBytes&(s.RingBytes-1) != 0 {
		return fmt.Errorf("mqd: ring of %d bytes is no power of two", s.RingBytes)
	}
	clear(w[:SDMAWords])
	w[wRBCntl] = uint32(bits.Len32(s.RingBytes/4)-1)&31<<rbSizeShift | rbRptrWriteback | sdmaRptrWritebackHz<<rbRptrTimerShift |
		uint32(s.VMID&15)<<rbVMIDShift
	if s.RingBytes < 4 {
		w[wRBCntl] &^= 31 << rbSizeShift
	}
	if s.Active {
		w[wRBCntl] |= rbEnable
	}
	put64(w[wRBBaseLo:], s.RingBase>>8)
	put64(w[l.rptr:], s.Rptr)
	put64(w[l.wptr:], s.Wptr)
	w[l.rptrLo], w[l.rptrHi] = uint32(s.RptrAddr), uint32(s.RptrAddr>>32)
	w[l.pollLo], w[l.pollHi] = uint32(s.WptrAddr), uint32(s.WptrAddr>>32)
	w[l.doorbell] = sdmaDoorbellEnable
	w[l.doorbellOffset] = s.DoorbellDword << sdmaDoorbellShift
	w[l.engine], w[l.queue] = s.Engine, s.Queue
	return nil
}

// DecodeSDMA reads an SDMA MQD.
func DecodeSDMA(g Gen, w []uint32) (s SDMA, err error) {
	l, ok := sdmaLayouts[g]
	if !ok || len(w) < SDMAWords {
		return s, fmt.Errorf("mqd: no SDMA MQD of generation %d in %d words", g, len(w))
	}
	s.RingBase = get64(w[wRBBaseLo:]) << 8
	s.RingBytes = 4 << min(w[wRBCntl]>>rbSizeShift&31, 29)
	s.VMID = uint8(w[wRBCntl] >> rbVMIDShift & 15)
	s.Active = w[wRBCntl]&rbEnable != 0
	s.RptrAddr = uint64(w[l.rptrLo]) | uint64(w[l.rptrHi])<<32
	s.WptrAddr = uint64(w[l.pollLo]) | uint64(w[l.pollHi])<<32
	s.DoorbellDword = w[l.doorbellOffset] >> sdmaDoorbellShift
	s.Engine, s.Queue = w[l.engine], w[l.queue]
	s.Rptr, s.Wptr = get64(w[l.rptr:]), get64(w[l.wptr:])
	return s, nil
}

// StoreSDMAPointers saves the pointers of an SDMA queue that leaves the hardware.
func StoreSDMAPointers(g Gen, w []uint32, rptr, wptr uint64) {
	l := sdmaLayouts[g]
	put64(w[l.rptr:], rptr)
	put64(w[l.wptr:], wptr)
}
