package isa

// Images. An image instruction reads or writes texels of an image that a descriptor of eight scalar registers (T#)
// describes, directly or through a sampler (S#, four more). Its address is a list of values, one or more registers:
//
//	[offset] [bias] [reference] [gradients] coordinates [level, clamp or mip]
//
// Before gfx10 the list is consecutive registers and the descriptor alone says of how many dimensions the image is. From
// gfx10 on the instruction says so too, and the list may be scattered over the file (NSA); from gfx11 on only its first
// four values (gfx12: three) may be, and the last name is that of a run with the rest.

// Dim is the shape of an image that an instruction of gfx10 and later is for, as encoded.
type Dim uint8

const (
	Dim1D Dim = iota
	Dim2D
	Dim3D
	DimCube
	Dim1DArray
	Dim2DArray
	Dim2DMSAA
	Dim2DMSAAArray
)

// dims is what each shape adds to an address.
var dims = [8]struct {
	name              string
	coords, gradients uint8
}{
	{"1D", 1, 2}, {"2D", 2, 4}, {"3D", 3, 6}, {"CUBE", 3, 4},
	{"1D_ARRAY", 2, 2}, {"2D_ARRAY", 3, 4}, {"2D_MSAA", 3, 4}, {"2D_MSAA_ARRAY", 4, 4},
}

// String is the shape's name without the prefix SQ_RSRC_IMG_.
func (d Dim) String() string { return dims[d&7].name }

// Coords is the number of coordinates of a shape, slices and samples included.
func (d Dim) Coords() int { return int(dims[d&7].coords) }

// Gradients is the number of derivatives of a shape, by x and by y together.
func (d Dim) Gradients() int { return int(dims[d&7].gradients) }

// ImageForm is what a row of the image tables says of its address and data.
type ImageForm struct {
	Extra       int  // values before gradients and coordinates: offset, bias, reference
	Coordinates bool //
	Gradients   bool //
	G16         bool // gradients are 16 bits wide, two to a register
	Level       bool // ends with a level, a clamp or a mip number
	Sampler     bool
	Gather4     bool
	MSAA        bool
	BVH         bool
}

// ImageForm returns the form of an image instruction.
func (op *Op) ImageForm() ImageForm {
	p := op.attr.p
	return ImageForm{Extra: int(op.attr.extra), Coordinates: p&pCoordinates != 0, Gradients: p&pGradients != 0,
		G16: p&pG16 != 0, Level: p&pLod != 0, Sampler: p&pSampler != 0, Gather4: p&pGather4 != 0, MSAA: p&pMSAA != 0,
		BVH: p&pBVH != 0}
}

// AddressRegs is the number of registers of an address, for a shape and with or without 16-bit values. With 16 bits,
// two values share a register: the gradients by x, those by y, and the coordinates with what follows them, each begin a
// new one.
func (f ImageForm) AddressRegs(d Dim, a16, g16Exists bool) int {
	n := f.Extra
	c := 0
	if f.Coordinates {
		c = d.Coords()
	}
	if f.Level {
		c++
	}
	if a16 {
		c = (c + 1) / 2
	}
	if f.Gradients {
		g := d.Gradients()
		if f.G16 || a16 && !g16Exists {
			g = (g/2 + 1) / 2 * 2
		}
		n += g
	}
	return n + c
}

// AddressRun is consecutive registers of an image address.
type AddressRun struct{ Reg, N uint8 }

// fewest and most are the bounds of an address, over all shapes that a sampler takes and both widths.
func (f ImageForm) fewest() int {
	if f.Gradients {
		return f.Extra + 2
	}
	return f.Extra + 1
}

func (f ImageForm) most() int {
	f.G16 = false
	return f.AddressRegs(Dim3D, false, true)
}

// Address returns the runs of registers that hold an image instruction's address, in order.
func (in *Inst) Address() []AddressRun { return in.Addr[:in.NAddr] }

// ImageData is the number of data registers of one image instruction, the fault status register of TFE not counted.
func (in *Inst) ImageData() int {
	n := 0
	for m := in.DMask; m != 0; m &= m - 1 {
		n++
	}
	n = max(n, 1)
	p := in.Op.attr.p
	if p&pGather4 != 0 {
		n = 4
	}
	if in.D16 {
		n = (n + 1) / 2
	}
	return n
}

// usedImage tells use which fields an image instruction has.
func usedImage(d *decoder, op *Op, l *layout, use func(...fieldID)) {
	for id := range l.f {
		switch fieldID(id) {
		case fSsamp, fSamp:
			if op.attr.p&pSampler == 0 {
				continue
			}
		case fGlc, fSlc, fDlc, fScope, fTh:
			if op.attr.p&pBVH != 0 {
				continue
			}
		case fVaddr3:
			if f := op.ImageForm(); f.Sampler && d.gen == GFX12 && f.most() < 4 {
				continue
			}
		case fVaddr4:
			if op.attr.p&pBVH == 0 {
				continue
			}
		case fD16:
			if op.attr.p&pHasD16 == 0 {
				continue
			}
		}
		use(fieldID(id))
	}
}

// run adds consecutive registers to the address; false when they leave the file.
func (in *Inst) run(reg uint32, n int) bool {
	in.Addr[in.NAddr] = AddressRun{uint8(reg), uint8(n)}
	in.NAddr++
	return reg+uint32(n) <= 256
}

// mimg decodes image instructions before gfx12. Src is [vaddr, vdata, srsrc, ssamp]; vaddr is the first run of Address.
func (s *state) mimg(out *Inst) error {
	op := out.Op
	p := op.attr.p
	s.cpol(out)
	out.DMask = uint8(s.get(fDmask))
	out.UNorm, out.TFE, out.LWE = s.flag(fUnorm), s.flag(fTfe), s.flag(fLwe)
	if s.d.is90a { // which names the data's register file there
		out.Acc, out.TFE = out.TFE, false
	}
	out.D16 = s.flag(fD16)
	out.Dim = uint8(s.get(fDim))
	out.DA = s.flag(fDa)
	out.A16 = s.flag(fA16)
	if s.d.gen <= GFX940 { // the bit that was r128 on gfx8
		out.A16 = s.flag(fR128)
	} else {
		out.R128 = s.flag(fR128)
	}
	if out.D16 && p&pHasD16 == 0 {
		return ErrReserved
	}
	if err := s.imageData(out, s.get(fVdata)); err != nil {
		return err
	}
	vaddr := s.get(fVaddr)
	if s.d.gen > GFX940 && !out.shapeFits() {
		return ErrReserved
	}
	switch {
	case s.d.gen <= GFX940:
		// How many there are, the descriptor decides; LLVM spells as many as there are at least.
		n := 1
		if f := op.ImageForm(); f.Sampler {
			n = f.fewest()
		}
		if !out.run(vaddr, n) {
			return ErrReserved
		}
	case p&pBVH != 0:
		if err := s.bvhAddress(out, vaddr); err != nil {
			return err
		}
	default:
		if err := s.imageAddress(out, vaddr); err != nil {
			return err
		}
	}
	out.Src[0] = Operand{Kind: OperandVGPR, Type: B32, Reg: uint16(out.Addr[0].Reg), N: out.Addr[0].N}
	return s.imageDescriptors(out, s.get(fSrsrc)<<2, s.get(fSsamp)<<2)
}

// vimage decodes the image instructions of gfx12.
func (s *state) vimage(out *Inst) error {
	op := out.Op
	p := op.attr.p
	s.cpol(out)
	out.DMask = uint8(s.get(fDmask))
	out.UNorm, out.TFE, out.LWE = s.flag(fUnorm), s.flag(fTfe), s.flag(fLwe)
	out.D16, out.A16, out.R128 = s.flag(fD16), s.flag(fA16), s.flag(fR128)
	out.Dim = uint8(s.get(fDim))
	if out.D16 && p&pHasD16 == 0 {
		return ErrReserved
	}
	if op.Flags&FlagAtomic != 0 {
		out.GLC = out.CPol>>2&1 != 0
	}
	if err := s.imageData(out, s.get(fVdata)); err != nil {
		return err
	}
	fields := [5]fieldID{fVaddr0, fVaddr1, fVaddr2, fVaddr3, fVaddr4}
	if p&pBVH != 0 {
		if out.Dim != 0 || !out.R128 || out.D16 {
			return ErrReserved
		}
		if err := s.bvhRuns(out, func(i int) uint32 { return s.get(fields[i]) }); err != nil {
			return err
		}
	} else if !out.shapeFits() {
		return ErrReserved
	} else {
		n := op.ImageForm().AddressRegs(Dim(out.Dim), out.A16, true)
		named := 4 // VIMAGE: up to four, one register each; VSAMPLE: three and a run
		for i := range named {
			w := 1
			if out.Fmt == VSAMPLE && i == named-1 {
				w = max(n-i, 1)
			}
			if i < n || i == 0 {
				if !out.run(s.get(fields[i]), w) {
					return ErrReserved
				}
			}
		}
	}
	out.Src[0] = Operand{Kind: OperandVGPR, Type: B32, Reg: uint16(out.Addr[0].Reg), N: out.Addr[0].N}
	return s.imageDescriptors(out, s.get(fRsrc), s.get(fSamp))
}

// imageData decodes the data registers: the destination of loads and of atomics, the source of stores and atomics.
func (s *state) imageData(out *Inst, v uint32) error {
	op := out.Op
	p := op.attr.p
	n := out.ImageData()
	switch {
	case p&pBVH != 0:
		n = 4
		if out.DMask != 15 || out.TFE || out.LWE {
			return ErrReserved
		}
	case op.Flags&FlagAtomic != 0:
		// One or two registers, twice that for a compare-and-swap.
		narrow, wide := uint8(1), uint8(3)
		if p&pAtomicX2 != 0 {
			narrow, wide = 3, 15
		}
		if out.DMask != narrow && out.DMask != wide || out.TFE {
			return ErrReserved
		}
	}
	if out.TFE {
		n++
	}
	o := Operand{}
	if !vgpr(v, B32, uint8(n), out.Acc, &o) {
		return ErrReserved
	}
	out.NSrc = 4
	if op.Flags&(FlagStore|FlagAtomic) != 0 {
		out.Src[1] = o
	}
	if op.Flags&FlagStore == 0 && (op.Flags&FlagAtomic == 0 || out.GLC) {
		out.Dst[0], out.NDst = o, 1
	}
	return nil
}

// imageAddress decodes the address of gfx10 and gfx11, scattered or not.
func (s *state) imageAddress(out *Inst, vaddr uint32) error {
	n := max(out.Op.ImageForm().AddressRegs(Dim(out.Dim), out.A16, true), 1)
	words := int(s.get(fNsa))
	if words == 0 {
		if !out.run(vaddr, n) {
			return ErrReserved
		}
		return nil
	}
	named := 1 + 4*words
	if n == 1 || s.d.gen == GFX10 && (n > named || out.Op.ImageForm().most() <= named-4) {
		return ErrReserved
	}
	if len(s.code) < s.size+4*words {
		return ErrShort
	}
	more := s.code[s.size:]
	s.size += 4 * words
	out.run(vaddr, 1)
	for i := 1; i < min(n, named); i++ {
		w := 1
		if i == named-1 {
			w = n - i
		}
		if !out.run(uint32(more[i-1]), w) {
			return ErrReserved
		}
	}
	return nil
}

// shapeFits says whether the instruction exists for its shape: samples have neither levels nor filters.
func (in *Inst) shapeFits() bool {
	f := in.Op.ImageForm()
	ms := Dim(in.Dim) >= Dim2DMSAA
	switch {
	case f.BVH:
		return true
	case f.MSAA:
		return ms
	case ms:
		return !f.Sampler && !f.Level || !f.Coordinates
	}
	return true
}

// bvhAddress decodes the ray of gfx10 and gfx11.
func (s *state) bvhAddress(out *Inst, vaddr uint32) error {
	if out.Dim != 0 || !out.UNorm || !out.R128 || s.get(fSsamp) != 0 {
		return ErrReserved
	}
	n, words := out.bvhRegs(), int(s.get(fNsa))
	if words == 0 {
		if !out.run(vaddr, n) {
			return ErrReserved
		}
		return nil
	}
	if len(s.code) < s.size+4*words {
		return ErrShort
	}
	more := s.code[s.size:]
	s.size += 4 * words
	at := func(i int) uint32 {
		if i == 0 {
			return vaddr
		}
		return uint32(more[i-1])
	}
	if s.d.gen >= GFX11 {
		return s.bvhRuns(out, at)
	}
	if n > 1+4*words || n <= 4*words-3 {
		return ErrReserved
	}
	for i := range n {
		out.run(at(i), 1)
	}
	return nil
}

// bvhRegs is the registers of a ray: node pointer, extent, origin, direction and its inverse.
func (in *Inst) bvhRegs() int {
	n := 1 + 1 + 3 + 3 + 3
	if in.A16 { // the two directions share three registers
		n -= 3
	}
	if in.Op.bvh64() {
		n++
	}
	return n
}

func (op *Op) bvh64() bool { return op.Name == "image_bvh64_intersect_ray" }

// bvhRuns decodes a ray whose vectors are runs.
func (s *state) bvhRuns(out *Inst, at func(int) uint32) error {
	runs := [5]int{1, 1, 3, 3, 3}
	if out.Op.bvh64() {
		runs[0] = 2
	}
	k := 5
	if out.A16 {
		k = 4
	}
	for i, n := range runs[:k] {
		if !out.run(at(i), n) {
			return ErrReserved
		}
	}
	return nil
}

// imageDescriptors decodes the scalar operands: descriptor and sampler. A descriptor with R128 is four registers, and
// still spelled as eight.
func (s *state) imageDescriptors(out *Inst, rsrc, samp uint32) error {
	p := out.Op.attr.p
	n := uint8(8)
	if p&pBVH != 0 {
		n = 4
	}
	if rsrc > 127 || !s.sdst(rsrc, B256, n, &out.Src[2]) || out.Src[2].Reg == SRegNull {
		return ErrReserved
	}
	if p&pSampler == 0 {
		out.NSrc = 3
		return nil
	}
	if samp > 127 || !s.sdst(samp, B128, 4, &out.Src[3]) {
		return ErrReserved
	}
	return nil
}

// image prints an image instruction.
func (p *printer) image() {
	in := p.in
	if in.NDst > 0 {
		p.arg(&in.Dst[0])
	} else {
		p.arg(&in.Src[1])
	}
	p.sep()
	old := p.t.Gen <= GFX940
	if in.NAddr > 1 {
		p.str("[")
	}
	for i, r := range in.Address() {
		if i > 0 {
			p.str(", ")
		}
		p.reg("v", uint16(r.Reg), r.N)
	}
	if in.NAddr > 1 {
		p.str("]")
	}
	p.arg(&in.Src[2])
	if in.NSrc > 3 {
		p.arg(&in.Src[3])
	}
	bvh := p.a.p&pBVH != 0
	if !bvh {
		if in.DMask != 0 {
			p.str(" dmask:")
			p.hex(uint64(in.DMask))
		}
		if !old {
			p.str(" dim:SQ_RSRC_IMG_")
			p.str(Dim(in.Dim).String())
		}
		p.bit(in.UNorm, "unorm")
		p.cpol()
		p.bit(in.R128, "r128")
	}
	p.bit(in.A16, "a16")
	p.bit(in.TFE, "tfe")
	p.bit(in.LWE, "lwe")
	p.bit(in.DA, "da")
	p.bit(in.D16, "d16")
}
