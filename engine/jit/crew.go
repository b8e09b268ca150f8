package jit

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Waves of a work-group in one call (engine.CrewRunner). Their state blocks form a list. A wave that comes to s_barrier in compiled code
// leaves a mark, the number of the barrier's turn, and the address of the code behind it, and the code goes on with the next wave of
// the list that has not come there. When the last one has arrived a new turn begins, with the list's last wave (package silicon says why) and backward. But where the order cannot
// show (phase.go) the one that arrived last goes on itself, and the others in the order that is the other way round: the waves' registers are more than
// the first cache holds, and so the latest are the first to be used again, which gives an SGEMM a tenth. All run one Program, so they share the frame: nothing
// in it outlives a block. A wave that leaves for another reason, or whose fuel is out, ends the call, so none can keep the others from running.

// Fields of wave.Header.Spare, which are the engine's.
const (
	crewNext   = iota // state block of the next wave; 0: the wave is run alone
	crewBack          // of the one before
	crewTop           // of the last wave, which is the first behind a barrier
	crewTurn          // turn of the barrier that the wave has arrived at
	crewResume        // host address where the wave goes on
	crewSize          // waves of the crew
	crewIndex         // the wave's number in it
	crewProg          // Program.ID of the wave's code, for a sampler
	crewKinds         // what is known of addresses (ldskind.go)
)

// maxCrew is the most waves of a crew.
const maxCrew = 64

// crewDown is frameWay for the order from the last wave to the first.
const crewDown = 8 * (crewBack - crewNext)

func offSpare(n int) int32 { return int32(unsafe.Offsetof(wave.Header{}.Spare)) + int32(8*n) }

// statusHalt is STATUS.HALT: such a wave is its compute unit's.
const statusHalt = 1 << 13

// crewBarrier emits an s_barrier, at whose end fuel and PC are what they are to be, for a wave in a crew; that of a wave on its own falls through.
func (c *compiler) crewBarrier(t *ir.Term) {
	at, look := c.resumes(t.Next)
	if at < 0 {
		return
	}
	resume := c.edge(at)
	if look {
		resume = c.entryOf(at)
	}
	c.p.barriers++
	a := &c.a
	alone, last := a.NewLabel(), a.NewLabel()
	a.G(x86.MOV, 4, x86.RAX, x86.M(rFrame, frameWay))
	a.G(x86.MOV, 8, x86.RDX, x86.MX(rState, x86.RAX, 1, offSpare(crewNext)))
	a.GS(x86.TEST, 8, x86.R(x86.RDX), x86.RDX)
	a.Jcc(x86.E, alone)
	a.TestI(4, x86.M(rState, offS+4*isa.SRegSTATUS), statusHalt)
	a.Jcc(x86.NE, alone)
	c.crewResumeAt(resume)
	ordered := ordered(c.f, at)
	if ordered {
		a.MovMI(4, x86.M(rFrame, frameOrder), 1)
	}
	a.AluI(x86.SUB, 4, x86.M(rFrame, frameLeft), 1)
	a.Jcc(x86.E, last)
	a.G(x86.MOV, 8, x86.RAX, x86.M(rFrame, frameTurn))
	a.GS(x86.MOVS, 8, x86.M(rState, offSpare(crewTurn)), x86.RAX)
	c.crewOther(nil)
	c.crewSwitch(x86.R(x86.RDX))
	a.Bind(last)
	a.G(x86.MOV, 8, x86.RAX, x86.M(rState, offSpare(crewSize)))
	a.GS(x86.MOVS, 4, x86.M(rFrame, frameLeft), x86.RAX)
	a.AluI(x86.ADD, 8, x86.M(rFrame, frameTurn), 1)
	if !ordered {
		down := a.NewLabel()
		a.AluI(x86.CMP, 4, x86.M(rFrame, frameOrder), 0) // others may have come to another barrier
		a.Jcc(x86.NE, down)
		a.AluI(x86.XOR, 4, x86.M(rFrame, frameWay), crewDown)
		a.Jmp(resume)
		a.Bind(down)
	}
	a.MovMI(4, x86.M(rFrame, frameOrder), 0)
	a.MovMI(4, x86.M(rFrame, frameWay), crewDown)
	c.crewSwitch(x86.M(rState, offSpare(crewTop)))
	a.Bind(alone)
}

// crewResumeAt notes where the wave goes on when it has its turn again.
func (c *compiler) crewResumeAt(at x86.Label) {
	a := &c.a
	a.LeaL(x86.RAX, at, 0)
	a.GS(x86.MOVS, 8, x86.M(rState, offSpare(crewResume)), x86.RAX)
	if c.m.Sample {
		a.G(x86.MOV, 4, x86.RAX, x86.M(rFrame, frameFunc))
		a.GS(x86.MOVS, 4, x86.M(rState, offSpare(crewProg)), x86.RAX)
	}
}

// crewOther makes RDX, which is the next wave, the next that is not at the barrier; waves that give way in a loop (strideyield.go) may be behind those
// that are. When that is the wave itself it goes to none, if there is such a place.
func (c *compiler) crewOther(none *x86.Label) {
	a := &c.a
	again, there := a.NewLabel(), a.NewLabel()
	a.G(x86.MOV, 4, x86.RCX, x86.M(rFrame, frameWay))
	a.G(x86.MOV, 8, x86.RAX, x86.M(rFrame, frameTurn))
	a.Bind(again)
	if none != nil {
		a.Alu(x86.CMP, 8, x86.RDX, x86.R(rState))
		a.Jcc(x86.E, *none)
	}
	a.Alu(x86.CMP, 8, x86.RAX, x86.M(x86.RDX, offSpare(crewTurn)))
	a.Jcc(x86.NE, there)
	a.G(x86.MOV, 8, x86.RDX, x86.MX(x86.RDX, x86.RCX, 1, offSpare(crewNext)))
	a.Jmp(again)
	a.Bind(there)
}

// crewSwitch emits the change to the wave whose state block is at to.
func (c *compiler) crewSwitch(to x86.RM) {
	a := &c.a
	a.G(x86.MOV, 8, rState, to)
	a.GS(x86.MOVS, 8, x86.M(rFrame, frameWave), rState)
	if c.m.Sample {
		a.G(x86.MOV, 4, x86.RAX, x86.M(rState, offSpare(crewProg)))
		a.GS(x86.MOVS, 4, x86.M(rFrame, frameFunc), x86.RAX)
	}
	a.G(x86.MOV, 8, x86.RAX, x86.M(rState, offSpare(crewResume)))
	a.JmpR(x86.R(x86.RAX))
}
