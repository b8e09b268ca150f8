package silicon

import (
	"fmt"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/ih"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Bits of STATUS and TRAPSTS (gfx9 to gfx11).
const (
	statusPriv   = 1 << 5
	statusTrapEn = 1 << 6
	statusInTG   = 1 << 11
	statusHalt   = 1 << 13
	statusValid  = 1 << 16

	trapstsMemViol = 1 << 8
	trapstsIllegal = 1 << 11
)

// Trap ids (LLVM AMDGPU usage, trap handler ABI).
const (
	trapHardware = 0
	trapDebugger = 1
	trapAbort    = 2 // llvm.trap
	trapDebug    = 3 // llvm.debugtrap
)

const (
	memoryViolation    = aql.ErrMemoryViolation
	illegalInstruction = aql.ErrIllegalInstruction
)

// trap handles s_trap: the process's handler runs, or the model answers as ROCr's handler does.
func (g *group) trap(w *wave.Wave, id uint32) {
	if g.enter(w, id) {
		if id == trapAbort {
			g.expect(w, aql.ErrTrap)
		}
		return
	}
	if id == trapDebug {
		w.PC += 4
		return
	}
	text := fmt.Sprintf("s_trap %d", id)
	if id == trapAbort {
		text += " (abort)"
	}
	g.report(w, FaultTrap, text)
	g.answer(w, aql.ErrTrap)
}

// illegal handles an instruction that does not decode or is not implemented.
func (g *group) illegal(w *wave.Wave, text string) {
	g.report(w, FaultIllegal, text)
	w.S[isa.SRegTRAPSTS] |= trapstsIllegal
	g.exception(w, illegalInstruction)
}

// exception handles a hardware exception whose TRAPSTS bit is set.
func (g *group) exception(w *wave.Wave, code aql.QueueError) {
	if g.enter(w, trapHardware) {
		g.expect(w, code)
		return
	}
	g.answer(w, code)
}

// expect notes that the trap handler is to tell of a fatal trap. ROCr 5.2's handler for gfx10 does not: it halts the wave for a
// debugger, and on the real chip the program then waits for ever. A wave that is halted with nothing told is answered by the
// model.
//
// fidelity: approximate untold-traps: a fatal trap that the trap handler keeps to itself stops the queue with its error
func (g *group) expect(w *wave.Wave, code aql.QueueError) {
	if g.untold == nil {
		g.untold = make(map[int]aql.QueueError)
	}
	g.untold[w.Index] = code
}

// enter starts the trap handler with the state that the first-level handler of the driver leaves to it: ttmp0/1 PC and trap id,
// ttmp12 STATUS, ttmp14/15 TMA. It reports false when there is no handler or w is in it.
//
// fidelity: approximate traps-gfx11: from gfx11 on the process's handler is not run; the chip answers as ROCr's handler does
// fidelity: approximate trap-entry: the driver's first-level handler is not run, its results are set
func (g *group) enter(w *wave.Wave, id uint32) bool {
	st := g.k.state
	s := &w.S
	if st.TBA == 0 || s[isa.SRegSTATUS]&statusPriv != 0 || g.k.target.Gen >= isa.GFX11 {
		return false
	}
	if _, _, _, f := g.k.vm.Translate(st.TBA, mem.Exec); f != nil {
		return false
	}
	ttmp := s[isa.SRegTTMP0:]
	ttmp[0] = uint32(w.PC)
	ttmp[1] = uint32(w.PC>>32)&0xffff | id&0xff<<16
	ttmp[12] = s[isa.SRegSTATUS]
	ttmp[14], ttmp[15] = uint32(st.TMA), uint32(st.TMA>>32)
	s[isa.SRegSTATUS] |= statusPriv
	w.PC = st.TBA
	w.Resume = 0
	return true
}

// answer does what ROCr's trap handler does for a fatal trap: the queue's inactive signal gets the code, the wave halts.
func (g *group) answer(w *wave.Wave, code aql.QueueError) {
	k := g.k
	g.stop(w)
	if k.aql == nil || k.aql.inactive(uint64(code)) != nil {
		k.q.dev.interrupt(ih.BadOpcode(uint8(k.vm.id), uint16(k.state.PASID), k.q.doorbell&0x3ff))
	}
}

// Hardware register numbers (isa.md §3.3).
const (
	hwMode       = 1
	hwStatus     = 2
	hwTrapsts    = 3
	hwID         = 4
	hwGPRAlloc   = 5
	hwLDSAlloc   = 6
	hwIBSts      = 7
	hwSHMemBases = 15
	hwTBALo      = 16
	hwTBAHi      = 17
	hwTMALo      = 18
	hwTMAHi      = 19
	hwFlatScrLo  = 20
	hwFlatScrHi  = 21
	hwXnackMask  = 22
	hwID1        = 23
	hwID2        = 24
	hwCycles     = 29
	hwCyclesHi   = 30
)

// HWReg is s_getreg. Registers that are not modelled read 0.
//
// fidelity: approximate hwreg: IB_STS, POPS and performance registers read 0
func (g *group) HWReg(w *wave.Wave, id uint32) uint32 {
	k := g.k
	d := k.q.dev
	switch id {
	case lift.HWWaveInGroup:
		return uint32(w.Index)
	case hwMode:
		return w.S[isa.SRegMODE]
	case hwStatus:
		return w.S[isa.SRegSTATUS]
	case hwTrapsts:
		return w.S[isa.SRegTRAPSTS]
	case hwGPRAlloc:
		return uint32(k.nvgpr/4-1) << 8 & 0x3f00
	case hwLDSAlloc:
		return uint32(k.lds/512) << 12
	case hwSHMemBases:
		return uint32(k.state.PrivateBase>>48)&0xffff | uint32(k.state.SharedBase>>48)<<16
	case hwTBALo:
		return uint32(k.state.TBA >> 8)
	case hwTBAHi:
		return uint32(k.state.TBA >> 40)
	case hwTMALo:
		return uint32(k.state.TMA >> 8)
	case hwTMAHi:
		return uint32(k.state.TMA >> 40)
	case hwFlatScrLo:
		if k.target.Gen == isa.GFX940 {
			return 0 // XCC_ID
		}
		return w.S[isa.SRegFlatScratchLo]
	case hwFlatScrHi:
		return w.S[isa.SRegFlatScratchHi]
	case hwXnackMask:
		return w.S[isa.SRegXnackMaskLo]
	case hwCycles:
		return uint32(g.Time(2))
	case hwCyclesHi:
		return uint32(g.Time(2) >> 32)
	case hwID, hwID1, hwID2:
		return g.place(d, w, id)
	}
	return 0
}

// place is HW_ID and its successors: where the wave is.
func (g *group) place(d *Device, w *wave.Wave, id uint32) uint32 {
	k := g.k
	shape := &d.profile.Shape
	simd := uint32(w.Index % shape.SIMDsPerCU)
	slot := uint32(w.Index / shape.SIMDsPerCU)
	e, a, c := d.cus.where(g.unit)
	engine, array, cu := uint32(e), uint32(a), uint32(c)
	switch id {
	case hwID:
		return slot&15 | simd&3<<4 | cu&15<<8 | array&1<<12 | engine&7<<13 | uint32(g.index)&15<<16 | k.vm.id&15<<20 | uint32(k.q.id.Slot)&7<<24
	case hwID1:
		return slot&31 | simd&3<<8 | cu&15<<10 | array&1<<16 | engine&7<<18
	}
	return uint32(k.q.id.Slot)&15 | 1<<8 | uint32(g.index)&31<<16 | k.vm.id&15<<24
}

// SetHWReg is s_setreg.
func (g *group) SetHWReg(w *wave.Wave, id, v uint32) {
	switch id {
	case hwMode:
		w.S[isa.SRegMODE] = v
	case hwStatus:
		w.S[isa.SRegSTATUS] = v
	case hwTrapsts:
		w.S[isa.SRegTRAPSTS] = v
	case hwFlatScrLo:
		w.S[isa.SRegFlatScratchLo] = v
	case hwFlatScrHi:
		w.S[isa.SRegFlatScratchHi] = v
	case hwXnackMask:
		w.S[isa.SRegXnackMaskLo] = v
	}
}

// Time reads a clock: 0 and 2 the engine clock, 1 the reference counter.
func (g *group) Time(which uint64) uint64 {
	d := g.k.q.dev
	if which == 1 {
		return d.Clock()
	}
	return uint64(d.sched.Now().Nanoseconds()) * uint64(d.profile.Clocks.EngineMHz) / 1000
}

// Messages of s_sendmsg and s_sendmsg_rtn.
const (
	msgInterrupt   = 1
	msgGetDoorbell = 10

	rtnDoorbell = 0x80
	rtnDDID     = 0x81
	rtnTMA      = 0x82
	rtnRealtime = 0x83
	rtnTBA      = 0x85
)

// Msg is s_sendmsg.
func (g *group) Msg(w *wave.Wave, msg, m0 uint32) {
	k := g.k
	switch msg & 15 {
	case msgInterrupt:
		delete(g.untold, w.Index)
		k.q.dev.interrupt(ih.SQMessage(uint8(k.vm.id), uint16(k.state.PASID), m0&0xffffff))
	case msgGetDoorbell:
		// The answer comes in EXEC_LO; bit 31 says that it has not come.
		w.S[isa.SRegEXECLo] = g.doorbellID()
	}
}

// doorbellID is the doorbell's number in its process's slice, by which a trap handler finds the queue.
func (g *group) doorbellID() uint32 { return g.k.q.doorbell / 2 & 0x3ff }

// MsgRtn is s_sendmsg_rtn.
func (g *group) MsgRtn(w *wave.Wave, msg uint32) uint64 {
	switch msg {
	case rtnDoorbell:
		return uint64(g.doorbellID())
	case rtnTMA:
		return g.k.state.TMA
	case rtnRealtime:
		return g.k.q.dev.Clock()
	case rtnTBA:
		return g.k.state.TBA
	}
	return 0
}
