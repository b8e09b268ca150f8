package avx2

import "github.com/pumice-gpu/pumice/engine/jit/x86"

func moveHandlers(m map[*x86.Inst]func(*op)) {
	for _, i := range []*x86.Inst{x86.VMOVDQU32, x86.VMOVDQA32, x86.VMOVUPS} {
		m[i] = move(4)
	}
	for _, i := range []*x86.Inst{x86.VMOVDQU64, x86.VMOVDQA64} {
		m[i] = move(8)
	}
	m[x86.VMOVDQU8] = move(1)
	for _, i := range []*x86.Inst{x86.VMOVDQU32S, x86.VMOVDQA32S, x86.VMOVUPSS} {
		m[i] = store(4)
	}
	for _, i := range []*x86.Inst{x86.VMOVDQU64S, x86.VMOVDQA64S} {
		m[i] = store(8)
	}
	m[x86.VMOVNTDQ] = func(o *op) {
		for h := range o.halves() {
			o.raw(x86.VMOVNTDQ, o.load(o.reg, h, t0), 0, o.m.Add(32*int32(h)))
		}
	}
	m[x86.VPBROADCASTD] = broadcast(x86.VPBROADCASTD, 4)
	m[x86.VBROADCASTSS] = broadcast(x86.VPBROADCASTD, 4)
	m[x86.VPBROADCASTQ] = broadcast(x86.VPBROADCASTQ, 8)
	m[x86.VBROADCASTSD] = broadcast(x86.VPBROADCASTQ, 8)
	m[x86.VPBROADCASTDG] = func(o *op) {
		o.xmm(x86.VMOVD, t0, 0, o.m, 0)
		o.m = vr(t0)
		o.fill(x86.VPBROADCASTD, 4)
	}
	m[x86.VPBROADCASTQG] = func(o *op) {
		o.xmm(x86.VMOVQ, t0, 0, o.m, 0)
		o.m = vr(t0)
		o.fill(x86.VPBROADCASTQ, 8)
	}
	for _, i := range []*x86.Inst{x86.VMOVD, x86.VMOVQ} {
		m[i] = func(o *op) {
			d := o.into(o.reg, 0, t0)
			o.xmm(o.i, d, 0, o.m, 0)
			o.done(o.reg, 0, d)
			o.clearUpper()
		}
	}
	for _, i := range []*x86.Inst{x86.VMOVDS, x86.VMOVQS} {
		m[i] = func(o *op) { o.xmm(o.i, o.load(o.reg, 0, t0), 0, o.m, 0) }
	}
	m[x86.VPBLENDMD] = blend(4)
	m[x86.VPBLENDMQ] = blend(8)
	m[x86.VPGATHERDD] = gather
	m[x86.VPSCATTERDD] = scatter
	m[x86.VPCOMPRESSD] = compress
}

// move loads a register from another, or from memory; what a mask leaves out of memory is not touched.
func move(size int) func(*op) {
	return func(o *op) {
		inst := x86.VPMASKMOVD
		if size == 8 {
			inst = x86.VPMASKMOVQ
		}
		if o.mod.K() != 0 && o.m.IsMem() && size < 4 {
			o.unsupported()
			return
		}
		if o.m.HasBcast() { // only from the code generator's habit to pass operands on
			o.m = o.m.Plain()
			if size == 8 {
				broadcast(x86.VPBROADCASTQ, 8)(o)
			} else {
				broadcast(x86.VPBROADCASTD, 4)(o)
			}
			return
		}
		if o.mod.K() == 0 && !o.m.IsMem() && o.m.Num() == o.reg && o.l == x86.L512 {
			return
		}
		for h := range o.halves() {
			y := o.src(h, size, t2)
			switch {
			case o.mod.K() != 0 && o.m.IsMem():
				k := o.maskHalf(o.mod.K(), h, size, t3)
				if k.IsMem() {
					o.raw(x86.VMOVDQU, t3, 0, k)
				}
				o.raw(inst, t0, t3, y)
				o.write(h, size, t0)
			case o.mod.K() != 0:
				t := uint8(t2)
				if y.IsMem() {
					o.raw(x86.VMOVDQU, t, 0, y)
				} else {
					t = y.Num()
				}
				o.write(h, size, t)
			case o.reg < Regs:
				o.raw(x86.VMOVDQU, o.into(o.reg, h, t0), 0, y)
			case y.IsMem():
				o.raw(x86.VMOVDQU, t0, 0, y)
				o.done(o.reg, h, t0)
			default:
				o.done(o.reg, h, y.Num())
			}
		}
		o.clearUpper()
	}
}

func store(size int) func(*op) {
	return func(o *op) {
		if !o.m.IsMem() {
			// A move between registers by its other encoding.
			o.reg, o.m = o.m.Num(), vr(o.reg)
			move(size)(o)
			return
		}
		inst := x86.VPMASKSTD
		if size == 8 {
			inst = x86.VPMASKSTQ
		}
		for h := range o.halves() {
			x := o.load(o.reg, h, t0)
			if o.mod.K() == 0 {
				o.raw(x86.VMOVDQUS, x, 0, o.m.Add(32*int32(h)))
				continue
			}
			k := o.maskHalf(o.mod.K(), h, size, t3)
			if k.IsMem() {
				o.raw(x86.VMOVDQU, t3, 0, k)
			}
			o.raw(inst, x, t3, o.m.Add(32*int32(h)))
		}
	}
}

// broadcast fills a register with one element of memory or of another's first.
func broadcast(inst *x86.Inst, size int) func(*op) {
	return func(o *op) {
		if !o.m.IsMem() {
			o.m = o.half(o.m.Num(), 0)
		}
		o.fill(inst, size)
	}
}

// fill fills the destination with the first element of o.m, a ymm register or memory.
func (o *op) fill(inst *x86.Inst, size int) {
	d := uint8(t2)
	if o.mod.K() == 0 {
		d = o.into(o.reg, 0, t2)
	}
	o.raw(inst, d, 0, o.m)
	for h := range o.halves() {
		o.write(h, size, d)
	}
	o.clearUpper()
}

// blend takes the second source where the mask is set, the first elsewhere.
func blend(size int) func(*op) {
	return func(o *op) {
		for h := range o.halves() {
			y := o.src(h, size, t2)
			x := o.load(o.vv, h, t1)
			d := o.into(o.reg, h, t0)
			k := o.maskHalf(o.mod.K(), h, size, t3)
			if k.IsMem() {
				o.raw(x86.VMOVDQU, t3, 0, k)
			}
			o.rawI(x86.VPBLENDVB, d, x, y, t3<<4)
			o.done(o.reg, h, d)
		}
		o.clearUpper()
	}
}

// gather leaves the mask empty, as the wide one does.
func gather(o *op) {
	k := o.mod.K()
	ix := uint8(o.m.Index())
	// The whole destination is written last: it may be the index.
	for h := range 2 {
		x := o.load(ix, h, t1)
		o.copyTo(o.reg, h, t0)
		o.raw(x86.VMOVDQU, t3, 0, o.kAt(k, h))
		o.raw(x86.VPGATHERDV, t0, t3, o.m.WithIndex(x86.Vec(x)))
		o.raw(x86.VMOVDQUS, t3, 0, o.kAt(k, h)) // the gather has cleared it
		if h == 0 && ix == o.reg {
			o.raw(x86.VMOVDQUS, t0, 0, o.at(offTmp))
			continue
		}
		o.done(o.reg, h, t0)
	}
	if ix == o.reg {
		o.raw(x86.VMOVDQU, t0, 0, o.at(offTmp))
		o.done(o.reg, 0, t0)
	}
}

// lanes puts a register into memory, for access by lane.
func (o *op) lanes(v uint8, off int32) (base int32) {
	if v >= Regs {
		return offZ + 64*int32(v)
	}
	for h := range 2 {
		o.raw(x86.VMOVDQUS, o.load(v, h, t0), 0, o.at(off+32*int32(h)))
	}
	return off
}

// scatter stores lane by lane, ascending, so that of two at one address the higher wins.
func scatter(o *op) {
	a, k := o.A, o.mod.K()
	ix, x := o.lanes(uint8(o.m.Index()), offTmp), o.lanes(o.reg, offTmp+64)
	for l := range int32(16) {
		skip := a.NewLabel()
		a.AluI(x86.CMP, 4, o.kAt(k, 0).Add(4*l), 0)
		a.Jcc(x86.E, skip)
		a.G(x86.MOVSXD, 8, tmpG, o.at(ix+4*l))
		o.xmm(x86.VMOVD, t0, 0, o.at(x+4*l), 0)
		o.xmm(x86.VMOVDS, t0, 0, o.m.OneElement(tmpG), 0)
		a.Bind(skip)
	}
	o.raw(x86.VPXOR, t0, t0, vr(t0))
	for h := range 2 {
		o.raw(x86.VMOVDQUS, t0, 0, o.kAt(k, h))
	}
}

// compress moves the lanes of the mask together, to a register whose other lanes become zero.
func compress(o *op) {
	if o.m.IsMem() || !o.mod.Z() {
		o.unsupported()
		return
	}
	a, k := o.A, o.mod.K()
	x := o.lanes(o.reg, offTmp+128)
	// Each lane is stored where the next one of the mask goes; -1 in the mask counts on.
	a.MovI(tmpG, 0)
	out := x86.MX(o.Frame, tmpG, 4, o.Off+offTmp)
	for l := range int32(16) {
		o.xmm(x86.VMOVD, t0, 0, o.at(x+4*l), 0)
		o.xmm(x86.VMOVDS, t0, 0, out, 0)
		a.Alu(x86.SUB, 4, tmpG, o.kAt(k, 0).Add(4*l))
	}
	o.raw(x86.VPXOR, t0, t0, vr(t0))
	for h := range int32(2) {
		o.raw(x86.VMOVDQUS, t0, 0, out.Add(32*h))
	}
	d := o.m.Num()
	for h := range 2 {
		o.raw(x86.VMOVDQU, t0, 0, o.at(offTmp+32*int32(h)))
		o.done(d, h, t0)
	}
}
