package interp

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/image"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// image emits an OpImage or OpFormat: in.x has descriptor (a), address (b), data (c) and result registers; in.b is the
// sampler or the scalar offset.
func (c *compiler) image(in *inst, id ir.ID, v *ir.Value) {
	in.x = &extra{regs: c.regs(id), a: c.words(v.Args[0]), b: c.vector(v.Args[2])}
	if v.Args[1] != ir.NoID {
		in.x.s = c.words(v.Args[1])
	}
	in.c[0] = c.scalar(v.Args[3])
	if len(v.Args) > 4 {
		in.x.c = c.vector(v.Args[4])
	}
	in.run = runImage
	if v.Op == ir.OpFormat {
		in.run = runFormat
	}
}

// laneAddress reads the values of one lane's image address, one after the other.
type laneAddress struct {
	m    *machine
	regs []ref
	l    int
	half int // 0: the next 16-bit value begins a register; 1: it is a high half
}

// word is the next whole register.
func (a *laneAddress) word() uint32 {
	a.align()
	if len(a.regs) == 0 {
		return 0
	}
	x := a.m.lanes(a.regs[0])[a.l]
	a.regs = a.regs[1:]
	return x
}

// align ends a register of which only the low half was used.
func (a *laneAddress) align() {
	if a.half == 1 {
		a.regs, a.half = a.regs[1:], 0
	}
}

// short is the next 16-bit value.
func (a *laneAddress) short() uint16 {
	if len(a.regs) == 0 {
		return 0
	}
	x := uint16(a.m.lanes(a.regs[0])[a.l] >> (16 * a.half))
	if a.half ^= 1; a.half == 0 {
		a.regs = a.regs[1:]
	}
	return x
}

// float is the next float, of 16 or 32 bits.
func (a *laneAddress) float(half bool) float32 {
	if half {
		return image.FromHalf(a.short())
	}
	return math.Float32frombits(a.word())
}

// integer is the next integer, of 16 or 32 bits.
func (a *laneAddress) integer(half bool) int {
	if half {
		return int(a.short())
	}
	return int(int32(a.word()))
}

// shapes are what an instruction's dimension names.
var shapes = [8]image.Shape{isa.Dim1D: image.Shape1D, isa.Dim2D: image.Shape2D, isa.Dim3D: image.Shape3D, isa.DimCube: image.ShapeCube,
	isa.Dim1DArray: image.Shape1DArray, isa.Dim2DArray: image.Shape2DArray, isa.Dim2DMSAA: image.Shape2DMSAA, isa.Dim2DMSAAArray: image.Shape2DMSAAArray}

// coordinates and derivatives of a shape.
func dimensions(s image.Shape) (coords, gradients int) {
	switch s {
	case image.Shape1D:
		return 1, 1
	case image.Shape1DArray:
		return 2, 1
	case image.Shape2D:
		return 2, 2
	case image.Shape3D:
		return 3, 3
	}
	return 3, 2
}

// illegal stops the wave because of a descriptor.
func (m *machine) badImage(err error) bool {
	m.exit, m.text = ir.ExitIllegal, err.Error()
	return false
}

// beginImage returns the operation and its active lanes, and clears the result in all lanes.
func (m *machine) beginImage(in *inst) (*ir.Image, uint64) {
	for _, r := range in.x.regs {
		clear(m.lanes(r)[:m.n])
	}
	return in.v.Aux.(*ir.Image), m.mask(in.c[0])
}

func runImage(m *machine, in *inst) bool {
	op, k := m.beginImage(in)
	if k == 0 {
		return true
	}
	var d [8]uint32
	for i := range d {
		d[i] = m.s32(in.x.a[i])
	}
	if op.Action == ir.ImageRay {
		return m.ray(in, op, (*[4]uint32)(d[:]), k)
	}
	r, err := image.ParseResource(int(op.Gen), op.Pitched, &d)
	if err != nil {
		return m.badImage(err)
	}
	switch {
	case op.Shaped:
		r.Shape = shapes[op.Dim&7]
	case !op.Array && r.Shape == image.Shape2DArray:
		r.Shape = image.Shape2D
	case !op.Array && r.Shape == image.Shape1DArray:
		r.Shape = image.Shape1D
	}
	if r.Shape >= image.Shape2DMSAA {
		return m.badImage(&image.Error{What: "images with several samples in a texel are not implemented"})
	}
	var s image.Sampler
	if in.x.s != nil {
		var sd [4]uint32
		for i := range sd {
			sd[i] = m.s32(in.x.s[i])
		}
		s = image.ParseSampler(int(op.Gen), &sd)
	}
	switch op.Action {
	case ir.ImageSample, ir.ImageGather:
		return m.sample(in, op, r, &s, k)
	case ir.ImageStore:
		return m.imageStore(in, op, r, k)
	}
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		a := laneAddress{m: m, regs: in.x.b, l: l}
		switch op.Action {
		case ir.ImageResInfo:
			var v [4]uint32
			if a.integer(op.A16) == 0 {
				v = [4]uint32{uint32(r.Width), uint32(r.Height), uint32(r.Depth), 1}
			}
			m.texelOut(in, op, l, v, true)
		case ir.ImageAddress:
			if va, ok := m.texelAddress(&a, op, r); ok {
				m.lanes(in.x.regs[0])[l], m.lanes(in.x.regs[1])[l], m.lanes(in.x.regs[2])[l] = uint32(va), uint32(va>>32), 1
			}
		default:
			va, ok := m.texelAddress(&a, op, r)
			if !ok {
				continue
			}
			var buf [16]byte
			if !m.readTexel(va, buf[:r.Format.Bytes], l) {
				return false
			}
			m.texelOut(in, op, l, r.Selected(r.Format.Decode(buf[:r.Format.Bytes])), r.Format.Integer())
		}
	}
	return true
}

// ray tests each lane's ray against its node.
func (m *machine) ray(in *inst, op *ir.Image, d *[4]uint32, k uint64) bool {
	b, err := image.ParseBVH(int(op.Gen), d)
	if err != nil {
		return m.badImage(err)
	}
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		a := laneAddress{m: m, regs: in.x.b, l: l}
		node := uint64(a.word())
		if op.Node64 {
			node |= uint64(a.word()) << 32
		}
		var r image.Ray
		r.Extent = a.float(false)
		for i := range r.Origin {
			r.Origin[i] = a.float(false)
		}
		// Half-precision directions: gfx11 pairs a direction's component with that of its inverse.
		for i := range r.Dir {
			r.Dir[i] = a.float(op.A16)
			if op.A16 && op.Gen >= 11 {
				r.Inv[i] = a.float(true)
			}
		}
		if !op.A16 || op.Gen < 11 {
			for i := range r.Inv {
				r.Inv[i] = a.float(op.A16)
			}
		}
		res, ok := b.Intersect(node, &r, func(va uint64, p []byte) bool { return m.readTexel(va, p, l) })
		if !ok {
			return false
		}
		for i, reg := range in.x.regs {
			m.lanes(reg)[l] = res[i&3]
		}
	}
	return true
}

// texelAddress reads a lane's integer coordinates and finds the texel.
func (m *machine) texelAddress(a *laneAddress, op *ir.Image, r *image.Resource) (uint64, bool) {
	var c [3]int
	n, _ := dimensions(r.Shape)
	for i := range n {
		c[i] = a.integer(op.A16)
	}
	if op.Level == ir.LevelMip && a.integer(op.A16) != 0 {
		return 0, false // there is one level
	}
	if r.Shape == image.Shape1DArray {
		c[1], c[2] = 0, c[1]
	}
	return r.Address(c[0], c[1], c[2])
}

// readTexel reads p at va; a fault is lane l's.
func (m *machine) readTexel(va uint64, p []byte, l int) bool {
	for len(p) > 0 {
		host, left, f := m.tlb.Lookup(va, mem.Read)
		if f != nil {
			return m.stop(f, l)
		}
		n := min(left, len(p))
		copy(p[:n], unsafe.Slice((*byte)(host), n))
		p, va = p[n:], va+uint64(n)
	}
	return true
}

// texelOut puts the components that dmask chooses into the result registers.
func (m *machine) texelOut(in *inst, op *ir.Image, l int, v [4]uint32, integer bool) {
	n := 0
	for i := range v {
		if op.DMask>>i&1 == 0 && (op.DMask != 0 || i != 0) {
			continue
		}
		m.componentOut(in, op, l, n, v[i], integer)
		n++
	}
}

func (m *machine) componentOut(in *inst, op *ir.Image, l, n int, x uint32, integer bool) {
	if !op.D16 {
		if n < len(in.x.regs) {
			m.lanes(in.x.regs[n])[l] = x
		}
		return
	}
	if n/2 >= len(in.x.regs) {
		return
	}
	if integer {
		x &= 0xffff
	} else {
		x = uint32(image.ToHalf(math.Float32frombits(x)))
	}
	m.lanes(in.x.regs[n/2])[l] |= x << (16 * (n & 1))
}

// texelIn takes the components that dmask names from the data registers; others are 0, or the first.
func (m *machine) texelIn(in *inst, op *ir.Image, l int, integer, signed bool) (v [4]uint32) {
	n := 0
	for i := range v {
		if op.DMask>>i&1 == 0 && (op.DMask != 0 || i != 0) {
			if op.Broadcast {
				v[i] = m.componentIn(in, op, l, 0, integer, signed)
			}
			continue
		}
		v[i] = m.componentIn(in, op, l, n, integer, signed)
		n++
	}
	return v
}

func (m *machine) componentIn(in *inst, op *ir.Image, l, n int, integer, signed bool) uint32 {
	if !op.D16 {
		if n < len(in.x.c) {
			return m.lanes(in.x.c[n])[l]
		}
		return 0
	}
	if n/2 >= len(in.x.c) {
		return 0
	}
	half := n & 1
	if op.High {
		half = 1
	}
	h := uint16(m.lanes(in.x.c[n/2])[l] >> (16 * half))
	switch {
	case !integer:
		return math.Float32bits(image.FromHalf(h))
	case signed:
		return uint32(int32(int16(h)))
	}
	return uint32(h)
}

// imageStore writes texels. All lanes' addresses are translated before the first texel is written.
func (m *machine) imageStore(in *inst, op *ir.Image, r *image.Resource, k uint64) bool {
	n := uint64(r.Format.Bytes)
	written := uint64(0)
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		a := laneAddress{m: m, regs: in.x.b, l: l}
		va, ok := m.texelAddress(&a, op, r)
		if !ok {
			continue
		}
		if !m.writable(va, n, l) {
			return false
		}
		m.va[l] = va
		written |= 1 << l
	}
	var buf [16]byte
	for ; written != 0; written &= written - 1 {
		l := bits.TrailingZeros64(written) & 63
		v := m.texelIn(in, op, l, r.Format.Integer(), r.Format.Number == image.SInt)
		r.Format.Encode(r.Stored(v), buf[:n])
		m.split(l, buf[:n], true)
	}
	return true
}

// writable faults when n bytes from va cannot be written.
func (m *machine) writable(va, n uint64, l int) bool {
	for _, a := range [2]uint64{va, va + n - 1} {
		if _, _, f := m.tlb.Lookup(a, mem.Write); f != nil {
			return m.stop(f, l)
		}
	}
	return true
}

// sample is a sample or a gather of all lanes k.
func (m *machine) sample(in *inst, op *ir.Image, r *image.Resource, s *image.Sampler, k uint64) bool {
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		a := laneAddress{m: m, regs: in.x.b, l: l}
		q := m.query(&a, op, r, s)
		read := func(va uint64, p []byte) bool { return m.readTexel(va, p, l) }
		if op.Action == ir.ImageGather {
			c := bits.TrailingZeros8(op.DMask | 16)
			v, ok := r.Gather(s, &q, c&3, read)
			if !ok {
				return false
			}
			for i := range v {
				m.componentOut(in, op, l, i, v[i], r.Format.Integer())
			}
			continue
		}
		v, ok := r.Sample(s, &q, read)
		if !ok {
			return false
		}
		m.texelOut(in, op, l, v, r.Format.Integer())
	}
	return true
}

// query reads one lane's address of a sample.
func (m *machine) query(a *laneAddress, op *ir.Image, r *image.Resource, s *image.Sampler) image.Query {
	q := image.Query{Unorm: op.UNorm, Compare: op.Compare}
	coords, dims := dimensions(r.Shape)
	if op.Offset {
		x := a.word()
		for i := range q.Offset {
			q.Offset[i] = int(int32(x<<(26-8*i)) >> 26)
		}
	}
	lod := float32(0)
	if op.Bias {
		lod = a.float(op.A16)
		a.align()
	}
	if op.Compare {
		q.Reference = math.Float32frombits(a.word())
	}
	if op.Gradients {
		lod += m.gradientLOD(a, op, r, dims, s.Unnormalized || op.UNorm)
	}
	var c [3]float32
	for i := range coords {
		c[i] = a.float(op.A16)
	}
	q.U, q.V, q.W = c[0], c[1], c[2]
	switch op.Level {
	case ir.LevelGiven:
		lod = a.float(op.A16)
	case ir.LevelClamp:
		lod = max(lod, a.float(op.A16))
	}
	if op.Level != ir.LevelZero {
		lod = min(max(lod+s.Bias, s.MinLOD), s.MaxLOD)
	}
	q.LOD = lod
	return q
}

// gradientLOD is the level of detail of explicit derivatives: how many texels apart neighbours are.
func (m *machine) gradientLOD(a *laneAddress, op *ir.Image, r *image.Resource, dims int, unnorm bool) float32 {
	size := [3]float64{float64(r.Width), float64(r.Height), float64(r.Depth)}
	if unnorm {
		size = [3]float64{1, 1, 1}
	}
	longest := 0.0
	for range 2 {
		sum := 0.0
		for i := range dims {
			g := float64(a.float(op.G16)) * size[i]
			sum += g * g
		}
		a.align()
		longest = max(longest, sum)
	}
	return float32(math.Log2(longest) / 2)
}

func runFormat(m *machine, in *inst) bool {
	op, k := m.beginImage(in)
	if k == 0 {
		return true
	}
	var d [4]uint32
	for i := range d {
		d[i] = m.s32(in.x.a[i])
	}
	f, err := image.ParseBuffer(int(op.Gen), d[3], op.Typed, uint32(op.Format))
	if err != nil {
		return m.badImage(err)
	}
	b := newBuffer(&d, in.imm)
	var so uint64
	if in.x.s != nil {
		so = uint64(m.s32(in.x.s[0]))
	}
	vi, vo := m.lanes(in.x.b[0]), m.lanes(in.x.b[1])
	sel := image.Resource{Format: f.Format, Select: f.Select}
	if op.Typed { // the instruction's format is in the program's order
		sel.Select = [4]uint8{image.SelectX, image.SelectX + 1, image.SelectX + 2, image.SelectX + 3}
	}
	n := uint64(f.Format.Bytes)
	written := uint64(0)
	var buf [16]byte
	for ; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k) & 63
		index, off := m.bufferLane(&b, vi, vo, l)
		if !b.within(index, off, so, n) {
			continue
		}
		va := b.base + so + b.offset(index, off)
		if op.Action == ir.ImageStore {
			if !m.writable(va, n, l) {
				return false
			}
			m.va[l] = va
			written |= 1 << l
			continue
		}
		if !m.readTexel(va, buf[:n], l) {
			return false
		}
		m.texelOut(in, op, l, sel.Selected(f.Format.Decode(buf[:n])), f.Format.Integer())
	}
	for ; written != 0; written &= written - 1 {
		l := bits.TrailingZeros64(written) & 63
		v := m.texelIn(in, op, l, f.Format.Integer(), f.Format.Number == image.SInt)
		f.Format.Encode(sel.Stored(v), buf[:n])
		m.split(l, buf[:n], true)
	}
	return true
}
