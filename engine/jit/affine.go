package jit

import (
	"slices"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// A loop over tiles works out addresses from lane numbers and loads from them. Such a run of a block, from some segment to a global load, has a second form
// that does the arithmetic for the first and the last lane of each strip only. Each of its lane-wise operations on 32 or 64 bits is
// done, exactly, for these corners: a vector of quadwords, which are the first and the last lane of strip 0, those of strip 1, and so
// on. What makes a lane between them the sum of the first lane's value and so many equal steps is checked by guards (affineguard.go):
//
//   - A register that the run reads has steps between 0 and maxStep that are equal in all lanes of the wave, or is the same in all lanes of each strip
//     where the arithmetic asks for that, as a product does. All lanes are looked at.
//   - Sums, and shifts to the left, of such values have steps too, modulo 2^32 or 2^64. Where a value is extended, or its carry taken, no lane of a strip
//     may wrap: as the steps are small and not negative, the last lane then is not below the first.
//   - Carries and high halves are equal in the two corners, and so between them.
//   - Lane addresses of a load follow one another: the last lane's is 15 elements from the first's. (15 has an inverse modulo 2^64.)
//   - The strips lie in the load's window (mem.Window).
//
// Nothing is written before all guards have held. When one does not, the usual form runs from the same state, and so finds the exact
// mask, fault or page, and the run is not tried again for a while. When they hold, a strip's load is one of the host, straight to the home of its VGPR,
// and each VGPR that the run leaves behind is written once, from its corners.
//
// What comes from registers that the loop does not write is the same in each of its iterations: it is checked and worked out once when the wave comes into the loop (affineloop.go).

// maxStep is the greatest step of an input.
const maxStep = 255

// affine is a run being compiled.
type affine struct {
	c           *compiler
	spot        *affineSpot
	first, last int // segments
	inside      map[ir.ID]bool
	before      map[ir.ID]bool
	set         map[ir.ID]ir.ID  // the value that a VGet gives when the run has written the register before
	left        map[uint64]ir.ID // what the run leaves in the VGPRs that it writes
	full        ir.ID            // the mask of its writes and loads, or NoID when that is known to be full

	vals   map[ir.ID]*aval
	masks  map[ir.ID]*amask
	sums   map[[2]ir.ID]*aval // 32-bit sums, by their terms
	wides  map[[4]ir.ID]*awide
	nodes  []anode
	same   map[anode]int
	inputs []ainput
	guards []aguard
	loads  []aload
	writes []awrite
	flags  []aflag
	slots  []int32 // components of loads that are read from their slots behind the run

	scalar  []affineScalar
	scalars map[ir.ID]bool // their operations
	carried []acarried
}

// anodeOp is an operation on corners; all give quadwords, and 32-bit values are zero-extended.
type anodeOp uint8

const (
	anConst  anodeOp = iota // imm
	anU32                   // dword at rm, in all lanes
	anU64                   // quadword at rm
	anIn                    // input a
	anInPair                // inputs a and b: low and high half
	anAdd
	anSub
	anMul // of the low halves
	anAnd
	anOr
	anXor
	anShl // by imm
	anShr
)

// anode is a value of the corners. It is compared with others, so it holds what defines it and nothing else.
type anode struct {
	op   anodeOp
	a, b int
	imm  uint64
	rm   x86.RM
}

// ainput is 32 bits of each lane that the run reads.
type ainput struct {
	rm   x86.RM // of strip 0
	zero bool   // it must be the same in all lanes of a strip
}

type aguardKind uint8

const (
	guardMono     aguardKind = iota // no lane of x wraps
	guardHigh                       // the high half of x is one in each strip
	guardDisjoint                   // x has only bits below those of y
	guardStep                       // x's last lane is n from its first
	guardCarry                      // flag n is one in each strip
)

type aguard struct {
	kind aguardKind
	x, y int
	n    int
}

// aload is a load of the run.
type aload struct {
	id   ir.ID
	node int      // address
	to   [][]adst // where each of its dwords goes
}

// adst is where 32 bits of each lane go: to base+off for strip 0.
type adst struct{ rm x86.RM }

// awrite is a value to be written for all lanes.
type awrite struct {
	val *aval
	rm  x86.RM
}

// aflag is a lane mask to be written: the carry of x + y = sum.
type aflag struct {
	x, sum int
	wide   bool
	rm     x86.RM
	k      int32 // place in the frame, of a byte
}

// affineLoad tells whether a run may do the load.
func affineLoad(v *ir.Value) bool {
	return v.Op == ir.OpLoad && v.Space == ir.Global && v.Args[1] != ir.NoID && v.Imm&ir.OffSigned == 0 &&
		(v.Width == 4 && v.Type == ir.V32 || v.Width == 8 && (v.Type == ir.V64 || v.Type == ir.T && v.N == 2) || v.Width == 16 && v.Type == ir.T && v.N == 4)
}

// maxAffineTries is at how many segments of a block a run is looked for.
const maxAffineTries = 3

// affineStart tells whether a run may begin at segment i: behind what none goes over, or with a load.
func (c *compiler) affineStart(i int) bool {
	switch g := &c.segs[i]; {
	case g.kind == segScalar:
		return false
	case g.kind == segWave:
		return g.ops[0] < ir.ID(c.n) && affineLoad(c.f.V(g.ops[0]))
	}
	return i == 0 || c.segs[i-1].kind == segScalar
}

// affineLoadInfo is what Go needs to move the window of a load in a run.
type affineLoadInfo struct {
	start x86.Label // of the run
	again int       // its offset
	at    int32     // where the corners' addresses are in the frame
	n     int       // how many
}

// findAffine finds the run of the block that begins at segment first, if there is one.
func (c *compiler) findAffine(s *affineSpot, first int) *affine {
	// It ends with one of the last loads.
	end, loads := -1, 0
	var ends []int
	lastLoad := first
	for i, g := range c.segs[first:] {
		if g.kind == segWave && g.ops[0] < ir.ID(c.n) && affineLoad(c.f.V(g.ops[0])) {
			lastLoad = first + i
		}
	}
	u := &affineScalars{c: c, made: map[ir.ID]bool{}}
scan:
	for i := first; i < len(c.segs); i++ {
		g := &c.segs[i]
		if g.kind == segStores { // into the LDS; they must be done
			break
		}
		switch g.kind {
		case segScalar:
			if i == first || !u.scalar(g.ops) {
				break scan
			}
		case segVector:
			if !u.vector(g.ops) {
				break scan
			}
			for _, id := range g.ops {
				v := c.v(id)
				if id < ir.ID(c.n) {
					v = c.f.V(id)
				}
				switch {
				case v.Op == ir.OpVSet, v.Op == ir.OpVGet, v.Op == ir.OpLoad, v.Op >= ir.NumOps:
				case v.Op == ir.OpMSet && v.Imm != isa.SRegEXECLo:
				case v.Op.Pure() && !v.Op.Cross():
				default:
					break scan
				}
			}
			if end >= 0 && i > lastLoad {
				ends = append(ends, i)
			}
		case segWave:
			v := c.f.V(g.ops[0])
			if g.ops[0] >= ir.ID(c.n) || !affineLoad(v) || c.foreign[g.ops[0]] || !c.canGlobal(v) {
				break scan
			}
			end = i
			u.made[g.ops[0]] = true
			if loads++; loads > 1 {
				ends = append(ends, i)
			}
		}
	}
	slices.Reverse(ends)
	for n, end := range ends {
		if n == 3 {
			break
		}
		u := &affine{c: c, spot: s, first: first, last: end}
		if u.evaluate() == nil {
			return u
		}
	}
	return nil
}
