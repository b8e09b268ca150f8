package lift

import (
	"strings"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// An image instruction becomes one operation on its descriptors, address registers and data registers: what they mean
// is known only when the descriptors are. Atomics become the texel's address and an ordinary atomic there. Typed buffer
// accesses are alike: one operation that knows the buffer's addressing and its format.

func addImageRules(r map[string]rule) {
	r["image"] = func(c *ictx, args []string) error { return c.image(args[0]) }
	r["image_atomic"] = func(c *ictx, args []string) error { return c.imageAtomic(args[0]) }
	r["bvh"] = bvhRule
	r["format_load"] = func(c *ictx, args []string) error { return c.format(args[0], false) }
	r["format_store"] = func(c *ictx, args []string) error { return c.format(args[0], true) }
}

// imageGen is the generation of a target's descriptors.
func (l *lifter) imageGen() uint8 {
	switch {
	case l.gen >= isa.GFX12:
		return 12
	case l.gen >= isa.GFX11:
		return 11
	case l.gen >= isa.GFX10:
		return 10
	}
	return 9
}

// imageOp is what the instruction's fields and name say.
func (c *ictx) imageOp(action ir.ImageAction) *ir.Image {
	in := c.in
	m := &ir.Image{Action: action, Gen: c.imageGen(), Dim: in.Dim, DMask: in.DMask, UNorm: in.UNorm, A16: in.A16, D16: in.D16, Array: in.DA}
	m.Shaped = m.Gen >= 10
	m.Pitched = m.Gen >= 11 || m.Gen == 10 && c.t.Minor >= 3
	m.Broadcast = m.Gen >= 12
	f := c.op.ImageForm()
	m.Gradients, m.G16 = f.Gradients, f.G16 || f.Gradients && in.A16 && m.Gen == 9
	switch name := strings.TrimSuffix(c.op.Name, "_g16") + "_"; {
	case strings.Contains(name, "_lz_"):
		m.Level = ir.LevelZero
	case strings.Contains(name, "_cl_"):
		m.Level = ir.LevelClamp
	case strings.Contains(name, "_l_"):
		m.Level = ir.LevelGiven
	case strings.Contains(name, "_mip_"), action == ir.ImageResInfo:
		m.Level = ir.LevelMip
	}
	if f.Sampler {
		for _, w := range strings.Split(c.op.Name, "_") {
			switch w {
			case "o":
				m.Offset = true
			case "b":
				m.Bias = true
			case "c":
				m.Compare = true
			}
		}
	}
	return m
}

// descriptor reads n scalar registers of operand o, and zeros up to all.
func (c *ictx) descriptor(o *isa.Operand, n, all int) ir.ID {
	d := make([]ir.ID, all)
	for i := range d {
		d[i] = c.c32(0)
		if i < n {
			d[i] = c.sget(int(o.Reg) + i)
		}
	}
	return c.pure(ir.Value{Op: ir.OpTuple, Type: ir.TS, N: uint8(all)}, d...)
}

// vectors is a tuple of per-lane registers.
func (c *ictx) vectors(d []ir.ID) ir.ID {
	for i := range d {
		d[i] = c.perLane(d[i])
	}
	return c.pure(ir.Value{Op: ir.OpTuple, Type: ir.T, N: uint8(len(d))}, d...)
}

// imageAddress reads all address registers. Before gfx10 how many there are is in the descriptor: as many as there may
// be are read, but none beyond those that the wave surely has: its registers come in fours, and the code names those that it
// has written. A function's arguments it need not name, but then its kernel has more than a few.
func (c *ictx) imageAddress() ir.ID {
	var d []ir.ID
	if c.imageGen() == 9 {
		first := int(c.in.Addr[0].Reg)
		last := max(c.lastVGPR(), first|3)
		if c.calls {
			last = max(last, first+2)
		}
		for i := range c.op.ImageForm().AddressRegs(isa.Dim3D, c.in.A16, false) {
			if first+i <= last && first+i < 256 {
				d = append(d, c.vget(first+i))
			}
		}
	}
	for _, r := range c.in.Address() {
		if c.imageGen() == 9 {
			break
		}
		for i := range int(r.N) {
			d = append(d, c.vget(int(r.Reg)+i))
		}
	}
	return c.vectors(d)
}

// imageArgs is the arguments of an OpImage but for the data.
func (c *ictx) imageArgs() ([]ir.ID, error) {
	rs := &c.in.Src[2]
	if rs.Kind != isa.OperandSGPR {
		return nil, errOperand
	}
	n := 8
	if c.in.R128 {
		n = 4
	}
	samp := ir.NoID
	if c.op.ImageForm().Sampler {
		if c.in.Src[3].Kind != isa.OperandSGPR {
			return nil, errOperand
		}
		samp = c.descriptor(&c.in.Src[3], 4, 4)
	}
	return []ir.ID{c.descriptor(rs, n, 8), samp, c.imageAddress(), c.mask}, nil
}

func (c *ictx) image(what string) error {
	action := map[string]ir.ImageAction{"load": ir.ImageLoad, "store": ir.ImageStore, "sample": ir.ImageSample,
		"gather": ir.ImageGather, "resinfo": ir.ImageResInfo}[what]
	m := c.imageOp(action)
	args, err := c.imageArgs()
	if err != nil {
		return err
	}
	n := c.in.ImageData()
	if action == ir.ImageStore {
		args = append(args, c.vectors(c.regs(&c.in.Src[1], 0, n)))
		c.raw(ir.Value{Op: ir.OpImage, Width: 4, Order: c.order(), Aux: m}, args...)
		return nil
	}
	x := c.raw(ir.Value{Op: ir.OpImage, Type: ir.T, N: uint8(n), Width: 4, Order: c.order(), Aux: m}, args...)
	c.texels(x, n)
	return nil
}

// bvhRule is image_bvh_intersect_ray and image_bvh64_intersect_ray.
func bvhRule(c *ictx, args []string) error {
	o := c.dataOperand(true)
	if o == nil || c.in.Src[2].Kind != isa.OperandSGPR {
		return errOperand
	}
	m := &ir.Image{Action: ir.ImageRay, Gen: c.imageGen(), DMask: 15, A16: c.in.A16, Node64: args[0] == "64"}
	x := c.raw(ir.Value{Op: ir.OpImage, Type: ir.T, N: 4, Width: 4, Order: c.order(), Aux: m}, c.descriptor(&c.in.Src[2], 4, 8), ir.NoID,
		c.imageAddress(), c.mask)
	d := make([]ir.ID, 4)
	for i := range d {
		d[i] = c.opi(ir.OpElem, ir.V32, uint64(i), x)
	}
	c.setRegs(o, 0, d)
	return nil
}

// texels writes n data registers, and 0 to the one that reports missing pages: none are.
func (c *ictx) texels(x ir.ID, n int) {
	d := make([]ir.ID, 0, n+1)
	for i := range n {
		d = append(d, c.opi(ir.OpElem, ir.V32, uint64(i), x))
	}
	if c.in.TFE {
		d = append(d, c.c32(0))
	}
	c.setRegs(&c.in.Dst[0], 0, d)
}

// imageAtomic is an atomic on a texel of 32 or 64 bits.
func (c *ictx) imageAtomic(name string) error {
	k, ok := atomicOps[name]
	if !ok {
		return errNoMeaning
	}
	args, err := c.imageArgs()
	if err != nil {
		return err
	}
	t := memType{bytes: 4}
	n := c.in.ImageData()
	if k.op == ir.AtomicCmpSwap {
		n /= 2
	}
	if n == 2 {
		t.bytes = 8
	}
	m := c.imageOp(ir.ImageAddress)
	x := c.raw(ir.Value{Op: ir.OpImage, Type: ir.T, N: 3, Width: uint8(t.bytes), Order: c.order(), Aux: m}, args...)
	part := func(i uint64) ir.ID { return c.opi(ir.OpElem, ir.V32, i, x) }
	in := c.pure(ir.Value{Op: ir.OpICmp, Type: ir.M, Pred: ir.NE}, part(2), c.c32(0))
	a := address{space: ir.Global, base: ir.NoID, off: c.pair(part(0), part(1)), mask: c.opx(ir.OpMAnd, ir.M, c.mask, in)}
	o := &c.in.Src[1]
	data, data2 := c.gather(c.regs(o, 0, n)), ir.NoID
	if k.op == ir.AtomicCmpSwap {
		data2 = c.gather(c.regs(o, n, n))
	}
	return c.atomic1(a, k.op, k.kind, t, data, data2, c.in.GLC, c.dataOperand(true))
}

// format is a typed buffer access of as many components as what names.
func (c *ictx) format(what string, store bool) error {
	a, err := c.whereBuffer()
	if err != nil {
		return err
	}
	comps := len(strings.TrimSuffix(what, "_hi"))
	m := &ir.Image{Gen: c.imageGen(), DMask: 1<<comps - 1, D16: strings.Contains(c.op.Name, "d16"), High: strings.HasSuffix(what, "_hi")}
	m.Broadcast = m.Gen >= 12
	if c.in.Fmt == isa.MTBUF {
		m.Typed, m.Format = true, c.in.MTFmt
	}
	b := a.buf
	zero := c.c32(0)
	part := func(x ir.ID) ir.ID {
		if x == ir.NoID {
			return zero
		}
		return x
	}
	desc := c.pure(ir.Value{Op: ir.OpTuple, Type: ir.TS, N: 4}, b.word[:]...)
	args := []ir.ID{desc, b.soffset, c.vectors([]ir.ID{part(b.vindex), part(b.voffset)}), c.mask}
	v := ir.Value{Op: ir.OpFormat, Width: 4, Order: c.order(), Imm: uint64(uint32(c.in.Offset)) | b.flags | ir.BufOffEn, Aux: m}
	n := comps
	if m.D16 {
		n = (n + 1) / 2
	}
	if store {
		m.Action = ir.ImageStore
		c.raw(v, append(args, c.vectors(c.regs(&c.in.Src[1], 0, n)))...)
		return nil
	}
	v.Type, v.N = ir.T, uint8(n)
	x := c.raw(v, args...)
	if c.in.LDS || c.op.Name == "buffer_load_lds_format_x" {
		if n != 1 {
			return errOperand
		}
		c.toLDS(2, []ir.ID{c.opi(ir.OpElem, ir.V32, 0, x)})
		return nil
	}
	if m.D16 && n == 1 && comps == 1 {
		t := memType{bytes: 2, d16: true, high: m.High}
		c.loaded(&c.in.Dst[0], t, []ir.ID{c.opi(ir.OpElem, ir.V32, 0, x)})
		return nil
	}
	c.texels(x, n)
	return nil
}
