package interp

import (
	"fmt"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lane"
)

func isVec(t ir.Type) bool { return t == ir.V32 || t == ir.V64 || t == ir.T }

// emit appends the code of value id.
func (c *compiler) emit(id ir.ID) {
	v := c.f.V(id)
	in := inst{v: v, pc: v.PC, imm: v.Imm, mask: noRef}
	for i := range in.d {
		in.d[i], in.a[i], in.b[i], in.c[i], in.e[i] = noRef, noRef, noRef, noRef, noRef
	}
	for i, cp := range c.vals[id] {
		if i < 2 {
			in.d[i] = c.ref(cp)
		}
		if f, ok := c.dest[cp.root]; ok {
			in.mask = c.ref(f.mask)
		}
	}
	if !c.special(&in, id, v) {
		c.pure(&in, v)
	}
	if in.run == nil {
		in.run = runIllegal
	}
	c.out.code = append(c.out.code, in)
}

// scalar returns the place of a uniform or mask argument.
func (c *compiler) scalar(id ir.ID) ref {
	if id == ir.NoID {
		return noRef
	}
	return c.ref(c.vals[id][0])
}

// vector returns the registers of an argument of a per-lane operation; uniform ones are spread first.
func (c *compiler) vector(id ir.ID) []ref {
	if id == ir.NoID {
		return nil
	}
	var out []ref
	l := c.vals[id]
	switch t := c.f.V(id).Type; t {
	case ir.S64:
		l = []comp{l[0], {l[0].root, l[0].off + 4}}
		fallthrough
	case ir.S32, ir.TS:
		for _, cp := range l {
			out = append(out, c.spread(cp))
		}
	default:
		for _, cp := range l {
			out = append(out, c.ref(cp))
		}
	}
	return out
}

// spread returns a vector register that holds a uniform 32-bit value in all lanes.
func (c *compiler) spread(cp comp) ref {
	if r := &c.roots[cp.root]; r.kind == rootConst {
		return c.constant(true, r.x>>(8*cp.off)&0xffffffff)
	}
	if r, ok := c.splats[cp]; ok {
		return r
	}
	r := c.slot(true)
	c.splats[cp] = r
	c.out.code = append(c.out.code, inst{run: runSplat, d: [2]ref{r, noRef}, a: [2]ref{c.ref(cp), noRef}, mask: noRef})
	return r
}

func pair(l []ref) [2]ref {
	r := [2]ref{noRef, noRef}
	copy(r[:], l)
	return r
}

// special emits what is not a plain lane operation; it reports whether it did.
func (c *compiler) special(in *inst, id ir.ID, v *ir.Value) bool {
	arg := func(i int) ir.ID {
		if i < len(v.Args) {
			return v.Args[i]
		}
		return ir.NoID
	}
	switch v.Op {
	case ir.OpVGet:
		in.run, in.a[0] = runCopyV, c.vgprRef(int(v.Imm))
	case ir.OpSGet, ir.OpSGet64, ir.OpMGet:
		c.sget(in, v)
	case ir.OpVSet:
		in.run, in.a, in.d[0], in.mask = runCopyV, pair(c.vector(arg(0))), c.vgprRef(int(v.Imm)), c.scalar(arg(1))
	case ir.OpSSet, ir.OpSSet64, ir.OpMSet:
		c.sset(in, v)
	case ir.OpHWGet:
		in.run = runHWGet
	case ir.OpHWSet:
		in.run, in.a[0] = runHWSet, c.scalar(arg(0))
	case ir.OpTime:
		in.run = runTime
	case ir.OpMsg:
		in.run, in.a[0] = runMsg, c.scalar(arg(0))
	case ir.OpMsgRtn:
		in.run = runMsgRtn
	case ir.OpFence:
		in.run = runNothing
	case ir.OpSplat:
		if !isVec(v.Type) {
			return false
		}
		in.a, in.run = pair(c.vector(arg(0))), runCopyV // uniform ones are spread by c.vector
		if v.Type == ir.V64 {
			in.x = &extra{a: in.a[:], regs: c.regs(id)}
			in.run = runTuple
		}
	case ir.OpMToV:
		in.a[0], in.b[0], in.c[0] = c.scalar(arg(0)), c.constant(true, 1), c.constant(true, 0)
		in.run = runSelect
	case ir.OpLaneID:
		in.run, in.k32 = runV32, kernLaneID
	case ir.OpMbcntLo, ir.OpMbcntHi:
		in.run, in.k32 = runV32, kernMbcntLo
		if v.Op == ir.OpMbcntHi {
			in.k32 = kernMbcntHi
		}
		in.a, in.b = pair(c.vector(arg(0))), pair(c.vector(arg(1)))
	case ir.OpTuple:
		in.x = &extra{a: c.tupleArgs(v), regs: c.regs(id)}
		in.run = runTuple
	case ir.OpPair:
		if v.Type == ir.S64 {
			in.run, in.a[0], in.b[0] = runPairS, c.scalar(arg(0)), c.scalar(arg(1))
			return true
		}
		in.x = &extra{a: append(c.vector(arg(0)), c.vector(arg(1))...), regs: c.regs(id)}
		in.run = runTuple
	case ir.OpSToM:
		in.run, in.a[0] = runSToM, c.scalar(arg(0))
		if c.f.V(arg(0)).Type == ir.S32 {
			in.imm = 1
		}
	case ir.OpMToS:
		in.run, in.a[0] = runCopyS, c.scalar(arg(0))
	case ir.OpMAnd, ir.OpMOr, ir.OpMXor, ir.OpMNot, ir.OpMIsZ, ir.OpMFull:
		c.maskOp(in, v)
	case ir.OpReadLane:
		in.run, in.a, in.b[0] = runReadLane, pair(c.vector(arg(0))), c.scalar(arg(1))
	case ir.OpReadFirst:
		in.run, in.a, in.b[0] = runReadFirst, pair(c.vector(arg(0))), c.scalar(arg(1))
	case ir.OpWriteLane:
		in.run, in.a, in.b[0], in.c[0] = runWriteLane, pair(c.vector(arg(0))), c.scalar(arg(1)), c.scalar(arg(2))
	case ir.OpPermConst:
		in.run, in.a = runPermConst, pair(c.vector(arg(0)))
	case ir.OpMPerm:
		in.run, in.a[0] = runMPerm, c.scalar(arg(0))
	case ir.OpBPermute, ir.OpPermute:
		in.run, in.a, in.b, in.c[0] = runBPermute, pair(c.vector(arg(0))), pair(c.vector(arg(1))), c.scalar(arg(2))
		if v.Op == ir.OpPermute {
			in.run = runPermute
		}
	case ir.OpLoad, ir.OpStore, ir.OpAtomic:
		c.memory(in, id, v)
	case ir.OpSLoad, ir.OpSStore, ir.OpSAtomic:
		c.scalarMemory(in, id, v)
	case ir.OpImage, ir.OpFormat:
		c.image(in, id, v)
	case ir.OpBufAddr, ir.OpBufOK:
		in.x = &extra{}
		for _, cp := range c.vals[arg(0)] {
			in.x.a = append(in.x.a, c.ref(cp))
		}
		in.a, in.b, in.c[0] = pair(c.vector(arg(1))), pair(c.vector(arg(2))), c.scalar(arg(3))
		in.run = runBufAddr
		if v.Op == ir.OpBufOK {
			in.run = runBufOK
		}
	case ir.OpMFMA:
		in.x = &extra{regs: c.regs(id), a: c.vector(arg(0)), b: c.vector(arg(1)), c: c.vector(arg(2))}
		if arg(3) != ir.NoID {
			in.e = pair(c.vector(arg(3)))
		}
		in.run = runMatrix
		in.x.matrix = planMatrix(v, c.f.Lanes)
	default:
		return false
	}
	return true
}

func (c *compiler) regs(id ir.ID) []ref {
	var l []ref
	for _, cp := range c.vals[id] {
		l = append(l, c.ref(cp))
	}
	return l
}

func (c *compiler) tupleArgs(v *ir.Value) []ref {
	var l []ref
	for _, a := range v.Args {
		l = append(l, c.vector(a)[0])
	}
	return l
}

func (c *compiler) sget(in *inst, v *ir.Value) {
	n := int(v.Imm)
	in.run, in.a[0] = runCopyS, sgprRef(n)
	if v.Op == ir.OpSGet || v.Op == ir.OpMGet && c.f.Lanes == 32 {
		in.run = runCopyS32
	}
	if n == isa.SRegNull || n < 0 || n+1 >= isa.NumSRegs {
		in.a[0] = c.constant(false, 0) // null, or beyond the file
	}
}

func (c *compiler) sset(in *inst, v *ir.Value) {
	n := int(v.Imm)
	in.a[0], in.d[0] = c.scalar(v.Args[0]), sgprRef(n)
	in.run = runSSet64
	if v.Op == ir.OpSSet || v.Op == ir.OpMSet && c.f.Lanes == 32 {
		in.run = runSSet32
	}
	if n == isa.SRegNull || n < 0 || n+1 >= isa.NumSRegs {
		in.run = runNothing
	}
}

func (c *compiler) maskOp(in *inst, v *ir.Value) {
	in.a[0] = c.scalar(v.Args[0])
	in.imm = c.p.full
	if c.f.V(v.Args[0]).Type == ir.S1 {
		in.imm = 1
	}
	if len(v.Args) > 1 {
		in.b[0] = c.scalar(v.Args[1])
	}
	in.run = map[ir.Op]func(*machine, *inst) bool{ir.OpMAnd: runMAnd, ir.OpMOr: runMOr, ir.OpMXor: runMXor, ir.OpMNot: runMNot,
		ir.OpMIsZ: runMIsZ, ir.OpMFull: runMFull}[v.Op]
}

// pure emits an operation of package lane: by a fast loop where there is one.
func (c *compiler) pure(in *inst, v *ir.Value) {
	width := 32
	for _, a := range v.Args {
		if a == ir.NoID {
			continue
		}
		if w := c.f.V(a).Type.Width(); w != 0 {
			width = w
			break
		}
	}
	in.fn = lane.Func(v, width)
	if in.fn == nil {
		in.run, in.x = runIllegal, nil
		c.p.illegal(in, v)
		return
	}
	vec := isVec(v.Type)
	for _, a := range v.Args {
		if a != ir.NoID && isVec(c.f.V(a).Type) {
			vec = true
		}
	}
	if !vec && v.Type != ir.M {
		c.uniform(in, v)
		return
	}
	places := [4]*[2]ref{&in.a, &in.b, &in.c, &in.e}
	for i, a := range v.Args {
		if a == ir.NoID || i >= 4 {
			continue
		}
		switch t := c.f.V(a).Type; t {
		case ir.M:
			in.w[i], places[i][0] = argM, c.scalar(a)
		case ir.S1:
			in.w[i], places[i][0] = arg64, c.scalar(a)
		case ir.S64, ir.V64:
			in.w[i], *places[i] = argV64, pair(c.vector(a))
		default:
			in.w[i], *places[i] = argV32, pair(c.vector(a))
		}
	}
	switch v.Type {
	case ir.V32:
		in.res, in.run = argV32, runLanes
	case ir.V64:
		in.res, in.run = argV64, runLanes
	case ir.M:
		in.res, in.run = argM, runLanesM
	}
	fast(in, v, width)
}

// uniform emits a pure operation on uniform values.
func (c *compiler) uniform(in *inst, v *ir.Value) {
	places := [4]*[2]ref{&in.a, &in.b, &in.c, &in.e}
	for i, a := range v.Args {
		if a == ir.NoID || i >= 4 {
			continue
		}
		places[i][0] = c.scalar(a)
		in.w[i] = arg64
		if c.f.V(a).Type == ir.S32 {
			in.w[i] = arg32
		}
	}
	in.res = arg64
	if v.Type == ir.S32 {
		in.res = arg32
	}
	in.run = runUniform
	fastUniform(in, v)
}

// illegal records why in cannot run.
func (p *program) illegal(in *inst, v *ir.Value) {
	in.x = nil
	in.v = &ir.Value{Op: v.Op, PC: v.PC, Aux: fmt.Sprintf("interp: %s kind=%s from=%s is not implemented", v.Op, v.Kind, v.From)}
}

func (c *compiler) memory(in *inst, id ir.ID, v *ir.Value) {
	in.a[0] = noRef
	if v.Args[0] != ir.NoID {
		in.a[0] = c.scalar(v.Args[0])
		in.w[0] = arg64
		if c.f.V(v.Args[0]).Type == ir.S32 {
			in.w[0] = arg32
		}
	}
	if off := v.Args[1]; off != ir.NoID {
		in.b = pair(c.vector(off))
		in.w[1] = argV32
		if c.f.V(off).Type.Width() == 64 {
			in.w[1] = argV64
		}
	}
	in.c[0] = c.scalar(v.Args[2])
	in.x = &extra{regs: c.regs(id), fused: make([]bool, len(c.vals[id]))}
	for i, cp := range c.vals[id] {
		_, in.x.fused[i] = c.dest[cp.root]
	}
	if len(v.Args) > 3 {
		in.x.a = c.vector(v.Args[3])
	}
	if len(v.Args) > 4 {
		in.x.b = c.vector(v.Args[4])
	}
	switch v.Op {
	case ir.OpLoad:
		in.run = runLoad
	case ir.OpStore:
		in.run = runStore
	default:
		in.run = runAtomic
		if len(in.x.a) == 0 {
			in.run = runIllegal
		}
	}
}

func (c *compiler) scalarMemory(in *inst, id ir.ID, v *ir.Value) {
	in.a[0] = c.scalar(v.Args[0])
	in.w[0] = arg64
	if c.f.V(v.Args[0]).Type == ir.S32 {
		in.w[0] = arg32
	}
	if len(v.Args) > 1 {
		in.b[0] = c.scalar(v.Args[1])
	}
	in.x = &extra{regs: c.words(id)}
	if len(v.Args) > 2 {
		in.x.a = c.words(v.Args[2])
	}
	if len(v.Args) > 3 && v.Args[3] != ir.NoID {
		in.x.b = c.words(v.Args[3])
	}
	switch v.Op {
	case ir.OpSLoad:
		in.run = runSLoad
	case ir.OpSStore:
		in.run = runSStore
	default:
		in.run = runSAtomic
	}
	if v.Type == ir.S32 || v.Type == ir.TS {
		in.res = arg32
	}
}

// words returns the places of a uniform value's 32-bit words.
func (c *compiler) words(id ir.ID) []ref {
	l := c.regs(id)
	if c.f.V(id).Type == ir.S64 {
		l = append(l, l[0]+4)
	}
	return l
}
