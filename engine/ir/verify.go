package ir

import (
	"errors"
	"fmt"
	"strings"
)

// VerifyError is one thing wrong with a Func.
type VerifyError struct {
	Block int
	ID    ID // NoID: the block itself or its terminator
	Msg   string
}

func (e *VerifyError) Error() string {
	if e.ID == NoID {
		return fmt.Sprintf("ir: b%d: %s", e.Block, e.Msg)
	}
	return fmt.Sprintf("ir: b%d %%%d: %s", e.Block, e.ID, e.Msg)
}

// Verify checks f: every value has the arguments and result of its line in the op table, is defined once and before its
// uses in the same block, and terminators name blocks that exist.
func Verify(f *Func) error {
	c := &verifier{f: f, block: make([]int32, len(f.Values)), pos: make([]int32, len(f.Values))}
	if f.Lanes != 32 && f.Lanes != 64 {
		return fmt.Errorf("ir: %d lanes", f.Lanes)
	}
	if len(f.Blocks) == 0 {
		return errors.New("ir: no blocks")
	}
	for i := range c.block {
		c.block[i] = -1
	}
	for i, b := range f.Blocks {
		if b.Index != i {
			return &VerifyError{i, NoID, fmt.Sprintf("Index is %d", b.Index)}
		}
		c.b = b
		for n, id := range b.Code {
			c.define(id, n)
		}
	}
	for _, b := range f.Blocks {
		c.b = b
		for n, id := range b.Code {
			if c.err == nil {
				c.value(n, id)
			}
		}
		if c.err == nil {
			c.term()
		}
	}
	return c.err
}

type verifier struct {
	f     *Func
	b     *Block
	block []int32 // defining block of each value
	pos   []int32
	err   error
}

func (c *verifier) fail(id ID, format string, a ...any) {
	if c.err == nil {
		c.err = &VerifyError{c.b.Index, id, fmt.Sprintf(format, a...)}
	}
}

func (c *verifier) define(id ID, pos int) {
	if id < 0 || int(id) >= len(c.f.Values) {
		c.fail(NoID, "no value %%%d", id)
		return
	}
	if c.block[id] >= 0 {
		c.fail(id, "defined twice")
	}
	c.block[id], c.pos[id] = int32(c.b.Index), int32(pos)
}

// use checks that id is there at position pos of the current block.
func (c *verifier) use(user, id ID, pos int) bool {
	if id < 0 || int(id) >= len(c.f.Values) || int(c.block[id]) != c.b.Index || int(c.pos[id]) >= pos {
		c.fail(user, "%%%d is not defined before its use in this block", id)
		return false
	}
	return true
}

func (c *verifier) value(pos int, id ID) {
	v := c.f.V(id)
	if v.Op == OpInvalid || v.Op >= NumOps {
		c.fail(id, "invalid op %d", v.Op)
		return
	}
	specs := argSpecs[v.Op]
	var width int // of the W words
	vector := false
	vsplat := false // some argument of a W word is per lane
	for i, a := range v.Args {
		spec := ""
		switch {
		case i < len(specs):
			spec = specs[i]
		case len(specs) > 0 && strings.HasSuffix(specs[len(specs)-1], "..."):
			spec = specs[len(specs)-1]
		default:
			c.fail(id, "%s has %d arguments, at most %d are allowed", v.Op, len(v.Args), len(specs))
			return
		}
		spec, many := strings.CutSuffix(spec, "...")
		spec, optional := strings.CutSuffix(spec, "?")
		if a == NoID {
			if !optional || many {
				c.fail(id, "%s: argument %d is missing", v.Op, i)
			}
			continue
		}
		if !c.use(id, a, pos) {
			return
		}
		t := c.f.V(a).Type
		if !fits(spec, t, &width) {
			c.fail(id, "%s: argument %d is %s, want %s", v.Op, i, t, spec)
			return
		}
		if t == V32 || t == V64 || t == M || t == T {
			vector = true
			vsplat = vsplat || spec == "W" || spec == "n32" || spec == "n64" || spec == "n"
		}
	}
	for i := len(v.Args); i < len(specs); i++ {
		if !strings.HasSuffix(specs[i], "?") && !strings.HasSuffix(specs[i], "...") {
			c.fail(id, "%s has %d arguments, argument %d is missing", v.Op, len(v.Args), i)
			return
		}
	}
	res := opTable[v.Op].res
	if res == "-" {
		if v.Type != Void {
			c.fail(id, "%s has no result, but its type is %s", v.Op, v.Type)
		}
		return
	}
	if !(res == "any" && v.Type == Void) && !fits(res, v.Type, &width) {
		c.fail(id, "%s: result is %s, want %s", v.Op, v.Type, res)
		return
	}
	// A per-lane argument makes the result per lane; a uniform result needs uniform arguments.
	switch res {
	case "W", "n", "n32", "n64":
		if v.Op != OpElem && vector && v.Type.Uniform() {
			c.fail(id, "%s: per-lane arguments but a uniform result", v.Op)
		}
	case "mb":
		if vector && v.Type == S1 || vsplat && v.Type != M {
			c.fail(id, "%s: per-lane arguments but a uniform result", v.Op)
		}
	}
	c.special(id, v)
}

// fits reports whether type t matches the word spec; width is that of the W words seen, 0 when none.
func fits(spec string, t Type, width *int) bool {
	switch spec {
	case "W":
		w := t.Width()
		if w == 0 || *width != 0 && w != *width {
			return false
		}
		*width = w
		return true
	case "n":
		return t.Width() != 0
	case "n32":
		return t.Width() == 32
	case "n64":
		return t.Width() == 64
	case "s":
		return t == S32 || t == S64
	case "s32":
		return t == S32
	case "s64":
		return t == S64
	case "v32":
		return t == V32
	case "v64":
		return t == V64
	case "m":
		return t == M
	case "b":
		return t == S1
	case "mb":
		return t == M || t == S1
	case "t":
		return t == V32 || t == V64 || t == T
	case "ts":
		return t == S32 || t == S64 || t == TS
	case "any":
		return t != Void
	}
	return false
}

// special checks what the table cannot say.
func (c *verifier) special(id ID, v *Value) {
	argN := func(i int) int { return tupleLen(c.f.V(v.Args[i])) }
	switch v.Op {
	case OpPair, OpLo, OpHi, OpZext64, OpSext64, OpMulU64, OpMulS64:
		for _, a := range v.Args {
			if c.f.V(a).Type.Uniform() != v.Type.Uniform() && v.Type.Uniform() {
				c.fail(id, "%s: uniform result of per-lane arguments", v.Op)
			}
		}
	case OpTuple:
		if v.Type != T && v.Type != TS || int(v.N) != len(v.Args) {
			c.fail(id, "tuple of %d has type %s%d", len(v.Args), v.Type, v.N)
		}
		for _, a := range v.Args {
			if v.Type == TS && c.f.V(a).Type != S32 {
				c.fail(id, "tuple: per-lane element of a uniform tuple")
			}
		}
	case OpElem:
		if len(v.Args) != 1 {
			c.fail(id, "elem needs one argument")
		} else if a := c.f.V(v.Args[0]); a.Type != T && a.Type != TS || v.Imm >= uint64(a.N) || (a.Type == TS) != (v.Type == S32) {
			c.fail(id, "elem %d of %s%d as %s", v.Imm, a.Type, a.N, v.Type)
		}
	case OpPermConst, OpMPerm:
		if _, ok := v.Aux.(*[64]int8); !ok {
			c.fail(id, "%s: Aux is not a lane table", v.Op)
		}
	case OpMFMA:
		if _, ok := v.Aux.(*Matrix); !ok {
			c.fail(id, "mfma: Aux is not a Matrix")
		}
	case OpImage, OpFormat:
		if _, ok := v.Aux.(*Image); !ok {
			c.fail(id, "%s: Aux is not an Image", v.Op)
		}
	case OpLoad, OpSLoad:
		if n := tupleLen(v); int(v.Width) > n*4 || n == 0 {
			c.fail(id, "%s of %d bytes into %d registers", v.Op, v.Width, n)
		}
	case OpStore:
		if int(v.Width) > argN(3)*4 {
			c.fail(id, "store of %d bytes from %d registers", v.Width, argN(3))
		}
	case OpBufAddr, OpBufOK:
		if a := c.f.V(v.Args[0]); a.Type != TS || a.N < 4 {
			c.fail(id, "%s: descriptor is not four registers", v.Op)
		}
	}
	if c.err == nil && v.Op.Float() {
		c.kinds(id, v)
	}
	if c.err == nil && v.Op.Memory() && v.Width == 0 {
		c.fail(id, "%s: no width", v.Op)
	}
}

// kinds checks that 64-bit number formats go with 64-bit registers and others with 32-bit ones.
func (c *verifier) kinds(id ID, v *Value) {
	wide := func(k Kind, t Type) bool {
		return k == KindNone || t.Width() == 0 || (k.Bits() == 64) == (t.Width() == 64)
	}
	arg, res := v.Kind, v.Kind
	switch v.Op {
	case OpCvt, OpCvtNorm, OpCvtSR:
		arg = v.From
	case OpFExp, OpFClass, OpFCmp, OpFDivScaleVCC, OpDot, OpMFMA:
		res = KindNone
	}
	if v.Op == OpMFMA || v.Op == OpDot || len(v.Args) == 0 {
		return
	}
	if t := c.f.V(v.Args[0]).Type; !wide(arg, t) {
		c.fail(id, "%s: %s in %s", v.Op, arg, t)
	}
	if !wide(res, v.Type) {
		c.fail(id, "%s: %s in %s", v.Op, res, v.Type)
	}
}

// tupleLen returns the 32-bit registers that v's result fills.
func tupleLen(v *Value) int {
	switch v.Type {
	case S32, V32:
		return 1
	case S64, V64:
		return 2
	case T, TS:
		return int(v.N)
	}
	return 0
}

// Regs returns the number of 32-bit registers that v's result fills.
func (v *Value) Regs() int { return tupleLen(v) }

func (c *verifier) term() {
	t := &c.b.Term
	end := len(c.b.Code)
	target := func(n int) {
		if n < 0 || n >= len(c.f.Blocks) {
			c.fail(NoID, "jump to b%d, there are %d blocks", n, len(c.f.Blocks))
		}
	}
	switch t.Kind {
	case TermJump:
		target(t.Then)
	case TermBranch:
		if c.use(NoID, t.Cond, end) && c.f.V(t.Cond).Type != S1 {
			c.fail(NoID, "branch on %s", c.f.V(t.Cond).Type)
		}
		target(t.Then)
		target(t.Else)
	case TermExit:
		if t.Exit == ExitNone || int(t.Exit) >= len(exitNames) {
			c.fail(NoID, "exit %s", t.Exit)
		}
		if t.Exit == ExitIndirect && c.use(NoID, t.Cond, end) && c.f.V(t.Cond).Type != S64 {
			c.fail(NoID, "indirect exit to %s", c.f.V(t.Cond).Type)
		}
	default:
		c.fail(NoID, "terminator kind %d", t.Kind)
	}
}
