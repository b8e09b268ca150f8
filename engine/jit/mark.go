package jit

import (
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Options are what the compiler does besides.
type Options struct {
	Listing  bool   // fill Program.Marks and Program.Listing
	Sample   bool   // code keeps its guest PC in the frame, for a sampler
	AVX2     bool   // use no later vector instructions than AVX2's
	Soft     bool   // f32 multiplications take no longer with denormals (denormal.go)
	Serial   uint32 // of the Program, not 0, if others may jump into it
	Lazy     bool   // VGPRs that nobody reads again may keep what they hold (liveness.go)
	allAtEnd bool   // with Lazy: the end of the program reads all VGPRs, for tests
	Quick    bool   // compile fast: loops and regions have no second form for full EXEC
}

// Mark says that the host code from At on does operation ID of the Func (or one of the compiler's own, when ID is not one
// of its values) for the guest instruction at PC, an offset from Func.PC.
type Mark struct {
	At int
	ID ir.ID
	PC uint32
}

// Line is a host instruction, label or constant.
type Line struct {
	At   int
	Text string
}

// marker is the compiler's state for Options.
type marker struct {
	Options
	cur ir.ID  // operation being emitted
	pc  uint32 // that the frame holds here, when known
	ok  bool

	envSet bool // of a stream: an operation has set its environment
}

// startMarks begins a compilation.
func (c *compiler) startMarks(o Options) {
	c.m = marker{Options: o}
	c.a.List = nil
	if o.Listing {
		c.a.List = func(at int, text string) { c.p.Listing = append(c.p.Listing, Line{at, text}) }
	}
}

// mark is called before the code of operation id.
func (c *compiler) mark(id ir.ID, pc uint32) {
	c.m.cur = id
	if c.m.Listing {
		c.p.Marks = append(c.p.Marks, Mark{c.a.Len(), id, pc})
	}
	if c.m.Sample && (!c.m.ok || c.m.pc != pc) {
		c.a.MovMI(4, x86.M(rFrame, framePC), int32(pc))
		c.m.pc, c.m.ok = pc, true
	}
}

// unmark is called where code may come from elsewhere: what the frame holds is not known.
func (c *compiler) unmark() { c.m.ok = false }
