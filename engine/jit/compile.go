package jit

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/avx2"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// Program is the machine code of one Func, position independent.
type Program struct {
	Func     *ir.Func
	Code     []byte
	Entry    []int // offset of the code that each block of the Func compiled is entered at
	blocks   []int // offset of each block's code
	Frame    int   // bytes of frame it needs
	MXCSR    uint32
	helpers  int  // operations left to the evaluator
	bases    bool // reads the hardware register of the apertures
	Marks    []Mark
	Listing  []Line
	Cold     int            // offset of the code that is seldom run: exits to helpers, fuel
	ID       uint32         // of a sampler's, or 0
	Serial   uint32         // what its code says it is when it returns to Go
	regs     wave.Registers // that it uses
	loops    int            // blocks that run strip after strip
	yields   int            // loops in which waves of a crew give way to each other (strideyield.go)
	strides  int            // blocks that have a form for equal steps from lane to lane (stride.go)
	windows  int            // accesses that have one
	tiled    int            // versions of regions for how their loads lie
	scaled   []scaledFMA    // what retScaled asks for
	barriers int            // where waves of a crew change
	kinds    bool           // its code keeps bits of crewKinds (ldskind.go)
	affines  []int32        // areas of the runs of affine addresses (affine.go)
	carries  []int32        // those of such as carry registers
	settling int            // offset of the code that writes these
	*Stream                 // of a stream
	// slots tells where each value lives that a helper operation reads or writes.
	slots []*helperInfo // by ir.ID; nil for others
}

// helperInfo describes one helper operation for the Go side.
type helperInfo struct {
	id   ir.ID
	args [][]place // by argument, then component
	res  []place

	again   x86.Label // start of a global access, to try again once the TLB is filled
	againAt int       // its offset; 0 for other operations
	span    span      // of an access that looks at a Range, when all lanes are active and follow one another
	always  bool      // the code cannot do it itself
	window  int       // of the TLB's, for a global access
	affine  *affineLoadInfo

	exits *atomic.Uint64 // counts, or nil

	once sync.Once // makes the interpreter's form
	made any
	err  error
}

// ErrUnsupported is why a Func was not compiled.
type ErrUnsupported struct{ Why string }

func (e *ErrUnsupported) Error() string { return "jit: " + e.Why }

// value is what the compiler knows about an ir.Value of the current block.
type value struct {
	comps   []int32 // its components; empty for constants
	key     int64   // place of its definition: segment, position
	uses    int32
	dead    bool
	moot    int32 // of a write of a VGPR: behind this place nobody sees it; 0 if somebody does
	scope   ir.ID // see findScopes
	pending int32 // see planner
	conv    ir.ID // the same value in the other 64-bit form, or 0
	sum     ir.ID // the last addition whose first argument it is, or 0
	sooner  ir.ID // of an addition: the one before with the same first argument, or 0
	q       bool  // V64 kept as two vectors of eight qwords, not as a vector of low and one of high halves
}

type compKind uint8

const (
	compZ compKind = iota // one zmm for each strip
	compK                 // lane mask
	compG                 // uniform value
)

// comp is a component of a value: what a register can hold.
type comp struct {
	id   ir.ID
	kind compKind
	wide bool  // compG of 64 bits
	shr  uint8 // of a constant: the component is its bits from here on
	of   int32 // compG: it is the high half of this one, or -1
	slot int32 // frame offset, or -1
	home int32 // state offset where it can be read, or -1
	last int32 // last segment that uses it
	def  int32 // segment that defines it
	arg  uint8 // 1 + the pointer that leads to it, in a routine (shared.go); or 0
}

type segKind uint8

const (
	segScalar segKind = iota
	segVector
	segWave
	segStores // LDS stores of dwords at one address
)

type segment struct {
	kind segKind
	ops  []ir.ID
}

// compiler holds the state of compiling one Func; it is reused.
type compiler struct {
	f      *ir.Func
	a      x86.Asm
	lanes  int
	strips int
	p      *Program

	b      *ir.Block
	n      int         // values of f; IDs from here on are the compiler's own, of the current block
	over   []*ir.Value // by ID: values, or changed copies of them
	code   []ir.ID     // of the current block, with the compiler's own
	gets   []ir.ID     // those of code that read registers
	zero   ir.ID       // constant 0, or NoID
	writes lastWrites
	live   []liveness // by block, with Options.Lazy
	next   [][2]int   // blocks that follow one, or -1
	arena
	rooms  rooms
	pl     planner
	vals   []value // by ir.ID
	comps  []comp  // of the current block
	slab   []int32
	segs   []segment
	seg    int32 // segment being emitted
	labels []x86.Label
	tails  []func() // cold code, emitted behind the blocks

	routines []routine // that the function's accesses share

	spots     []affineSpot
	kindLoops []kindLoop
	kinds     int // bits that are taken
	copies    fullCopies
	frame     int32   // bytes used
	scaled    int32   // of the block, see scaledArea; or 0
	frameMax  int32   //
	free      []int32 // free 64·strips-byte slots
	freeG     []int32 // free 8-byte slots
	expire    [][]int32
	homes     [vgprs][]int32 // components read from the home of a VGPR
	homed     []uint64       // VGPRs that have any

	// room for one use after the other
	lastUse      []int64
	layoutWrites []write
	savedComps   []savedComp

	g scalars
	r region
	m marker

	cpu     rt.Features
	foreign map[ir.ID]bool // operations that the helper does because the CPU lacks an instruction
	lacking map[ir.ID]bool // those that turned out to be in this compilation
}

// compilers are those that have nothing to do: their memory is used again.
var compilers = sync.Pool{New: func() any { return new(compiler) }}

// wide tells whether this machine has what the code generator emits of AVX-512.
var wide = rt.CPU.AVX512 && rt.CPU.POPCNTD && rt.CPU.VBMI2 && rt.CPU.GFNI

// hostAVX2 tells whether code for this machine is to be lowered to AVX2.
var hostAVX2 = !wide

// HostOptions are the options of code for this machine.
func HostOptions() Options { return Options{AVX2: hostAVX2} }

// Compile makes machine code for f.
func Compile(f *ir.Func) (*Program, error) { return CompileWith(f, HostOptions()) }

// CompileWith is Compile with options.
func CompileWith(f *ir.Func, o Options) (*Program, error) {
	c := compilers.Get().(*compiler)
	p, err := c.compileWith(f, o)
	c.f, c.p, c.b, c.rooms = nil, nil, nil, rooms{}
	compilers.Put(c) // not after a panic: it may be in any state
	return p, err
}

func (c *compiler) compileWith(f *ir.Func, o Options) (*Program, error) {
	clear(c.foreign)
	for {
		c.start(o)
		p, err := c.compile(f)
		if len(c.lacking) == 0 {
			return p, err
		}
		if c.foreign == nil {
			c.foreign = map[ir.ID]bool{}
		}
		for id := range c.lacking {
			c.foreign[id] = true
		}
	}
}

// start has the compiler forget the options of the Program before; begin rests on those of this one.
func (c *compiler) start(o Options) {
	c.cpu = rt.CPU
	if o.AVX2 {
		c.cpu = rt.Features{AVX2: rt.CPU.AVX2}
	}
	c.startMarks(o)
	c.lower()
}

// isForeign tells whether the helper does id for want of an instruction.
func (c *compiler) isForeign(id ir.ID) bool { return len(c.foreign) > 0 && c.foreign[id] }

// lower makes the assembler lower AVX-512 to AVX2, if it is to. Operations with an instruction for which that is not possible are noted in
// lacking; the next compilation leaves them to the helper.
func (c *compiler) lower() {
	clear(c.lacking)
	c.a.Lower = nil
	if !c.m.AVX2 {
		return
	}
	l := avx2.Lowering{A: &c.a, Frame: rFrame, Off: frameAVX2, Unsupported: func(name string) {
		if id := c.m.cur; id < 0 || int(id) >= c.n || c.foreign[id] {
			c.a.Fail("AVX2 has nothing for " + name)
			return
		}
		if c.lacking == nil {
			c.lacking = map[ir.ID]bool{}
		}
		c.lacking[c.m.cur] = true
	}}
	c.a.Lower = l.Lower
}

// frameStart is where the frame's values begin.
func (c *compiler) frameStart() int32 {
	if c.m.AVX2 {
		return frameAVX2 + avx2.FrameSize
	}
	return frameAVX2
}

func (c *compiler) compile(f *ir.Func) (*Program, error) {
	if f.Lanes != 32 && f.Lanes != 64 {
		return nil, &ErrUnsupported{fmt.Sprintf("%d lanes", f.Lanes)}
	}
	f, copies := c.withCopies(f)
	c.begin(f, copies)
	for i := range f.Blocks {
		c.labels = append(c.labels, c.a.NewLabel())
		if c.copies.of[i] >= 0 {
			c.copies.entry[i] = c.a.NewLabel()
		}
	}
	for i, b := range f.Blocks {
		c.a.Align(16)
		c.a.Bind(c.labels[i])
		c.block(b)
	}
	c.p.Cold = c.a.Len()
	for i := 0; i < len(c.tails); i++ {
		c.tails[i]()
	}
	c.emitEntries()
	c.emitRoutines()
	c.emitSettling()
	code, err := c.a.Finish()
	if err != nil {
		return nil, err
	}
	c.p.Code = append([]byte(nil), code...)
	for id, h := range c.p.slots {
		if h == nil {
			continue
		}
		if h.affine != nil {
			h.affine.again = c.a.Offset(h.affine.start)
		}
		if v := &f.Values[id]; v.Space == ir.Global && (v.Op == ir.OpLoad || v.Op == ir.OpStore) && h.again != 0 {
			h.againAt = c.a.Offset(h.again)
		}
	}
	for i := range c.copies.first {
		c.p.Entry = append(c.p.Entry, c.a.Offset(c.entryOf(i)))
	}
	for i := range f.Blocks {
		c.p.blocks = append(c.p.blocks, c.a.Offset(c.labels[i]))
	}
	c.p.Frame = int(c.frameMax)
	return c.p, nil
}

// begin makes c ready for f.
func (c *compiler) begin(f *ir.Func, copies fullCopies) {
	c.copies = copies
	c.f, c.lanes, c.strips = f, f.Lanes, f.Lanes/16
	c.a.Reset()
	c.p = &Program{Func: f, slots: make([]*helperInfo, len(f.Values)), MXCSR: rt.MXCSRDefault, Serial: c.m.Serial}
	c.arena.reset()
	c.rooms = rooms{}
	if cap(c.vals) < len(f.Values) {
		c.vals = make([]value, len(f.Values))
	}
	c.n = len(f.Values)
	c.vals = c.vals[:c.n]
	c.original()
	if c.pl.turn > 1<<30 {
		c.pl = planner{}
	}
	c.labels = c.labels[:0]
	c.tails, c.routines = c.tails[:0], c.routines[:0]
	c.frameMax = c.frameStart()
	c.affineSpots()
	c.findKindLoops()
	if c.m.Lazy {
		c.findLiveness()
	}
}

// original makes the Func's values those that it came with.
func (c *compiler) original() {
	if cap(c.over) < c.n {
		c.over = make([]*ir.Value, c.n, c.n+c.n/8)
	}
	c.over = c.over[:c.n]
	for i := range c.over {
		c.over[i] = &c.f.Values[i]
	}
}

// block compiles one block.
func (c *compiler) block(b *ir.Block) {
	c.b = b
	c.over, c.code, c.zero = c.over[:c.n], c.code[:0], ir.NoID
	c.vals = c.vals[:c.n]
	c.comps, c.slab, c.segs = c.comps[:0], c.slab[:0], c.segs[:0]
	c.frame, c.scaled = c.frameStart(), 0
	c.free, c.freeG = c.free[:0], c.freeG[:0]
	c.emitStride()
	c.plan()
	if !c.m.Quick {
		if l := c.findLoop(); l != nil {
			c.emitLoop(l)
			c.p.loops++
		}
	}
	var run *affine
	var runStart, runUsual x86.Label
	spot, tries := c.affineSpot(), 0
	for i := range c.segs {
		c.seg = int32(i)
		c.unmark()
		s := &c.segs[i]
		if spot != nil && run == nil && tries < maxAffineTries && c.affineStart(i) {
			tries++
			if run = c.findAffine(spot, i); run != nil {
				runStart, runUsual = c.a.NewLabel(), c.a.NewLabel()
				c.a.Jmp(runStart)
				c.a.Bind(runUsual)
			}
		}
		c.forgetKept(s.ops)
		switch s.kind {
		case segScalar:
			if run != nil && i <= run.last {
				run.scalar = append(run.scalar, affineScalar{i, c.compsNow()})
			}
			c.scalarSegment(s.ops)
		case segVector:
			c.vectorSegment(s.ops)
		case segStores:
			c.ldsStores(s.ops)
		case segWave:
			c.waveOp(s.ops[0])
		}
		for _, k := range c.expire[i] {
			c.releaseSlot(k)
		}
		if run != nil && run.last == i {
			done := c.a.NewLabel()
			c.a.Jmp(done)
			c.emitAffine(run, runStart, runUsual)
			c.a.Bind(done)
		}
	}
	c.seg = int32(len(c.segs))
	c.unmark()
	c.terminator()
	c.frameMax = max(c.frameMax, c.frame)
}

// slot gives component k a slot in the frame.
func (c *compiler) slot(k int32) int32 {
	m := &c.comps[k]
	if m.slot >= 0 {
		return m.slot
	}
	free, size := &c.freeG, int32(8)
	if m.kind == compZ {
		free, size = &c.free, int32(64*c.strips)
	}
	if n := len(*free); n > 0 {
		m.slot = (*free)[n-1]
		*free = (*free)[:n-1]
	} else {
		if size > 8 {
			c.frame = (c.frame + 63) &^ 63
		}
		m.slot = c.frame
		c.frame += size
	}
	if last := max(m.last, c.seg); int(last) < len(c.expire) {
		c.expire[last] = append(c.expire[last], k)
	}
	return m.slot
}

// slot16 is 16 bytes of frame for the rest of the block.
func (c *compiler) slot16() int32 {
	c.frame = (c.frame + 15) &^ 15
	c.frame += 16
	return c.frame - 16
}

func (c *compiler) releaseSlot(k int32) {
	m := &c.comps[k]
	if m.slot < 0 {
		return
	}
	if m.kind == compZ {
		c.free = append(c.free, m.slot)
	} else {
		c.freeG = append(c.freeG, m.slot)
	}
	m.slot = -1
}

func (c *compiler) v(id ir.ID) *ir.Value { return c.over[id] }

// replace changes value id.
func (c *compiler) replace(id ir.ID, v *ir.Value) { c.over[id] = v }

// add makes a value of the compiler's own.
func (c *compiler) add(v ir.Value) ir.ID {
	id := ir.ID(len(c.over))
	c.over = append(c.over, c.newValue(v))
	c.vals = append(c.vals, value{uses: 1, scope: scopeAll})
	return id
}

// compConst gives the bits of a component that is a constant.
func (c *compiler) compConst(k int32) (uint64, bool) {
	m := &c.comps[k]
	x, ok := c.isConst(m.id)
	return x >> m.shr, ok
}

// isConst tells whether id is a constant, and its bits.
func (c *compiler) isConst(id ir.ID) (uint64, bool) {
	v := c.v(id)
	switch v.Op {
	case ir.OpConst:
		return v.Imm, true
	case ir.OpUndef:
		return 0, true
	case ir.OpPC:
		return c.f.PC + uint64(int64(int32(v.Imm))), true
	case ir.OpSplat:
		return c.isConst(v.Args[0])
	}
	return 0, false
}

// fullMask tells whether the mask id is known to hold all lanes.
func (c *compiler) fullMask(id ir.ID) bool {
	x, ok := c.isConst(id)
	return ok && x == c.full()
}

func (c *compiler) full() uint64 {
	if c.lanes == 64 {
		return ^uint64(0)
	}
	return 1<<c.lanes - 1
}

func isVec(t ir.Type) bool { return t == ir.V32 || t == ir.V64 || t == ir.T }
