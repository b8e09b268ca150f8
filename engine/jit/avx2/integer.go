package avx2

import (
	"encoding/binary"

	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

func integerHandlers(m map[*x86.Inst]func(*op)) {
	m[x86.VPMULLQ] = simple(8, mulQ)
	m[x86.VPMINSQ] = simple(8, minMax(false, false))
	m[x86.VPMAXSQ] = simple(8, minMax(true, false))
	m[x86.VPMINUQ] = simple(8, minMax(false, true))
	m[x86.VPMAXUQ] = simple(8, minMax(true, true))
	m[x86.VPDPWSSD] = func(o *op) { // sums of two products of words
		for h := range o.halves() {
			x := o.load(o.vv, h, t1)
			o.raw(x86.VPMADDWD, t0, x, o.src(h, 4, t2))
			o.raw(x86.VPADDD, t0, t0, o.half(o.reg, h))
			o.write(h, 4, t0)
		}
	}
	m[x86.VPABSQ] = func(o *op) {
		for h := range o.halves() {
			x := o.srcReg(h, 8, t2)
			o.raw(x86.VPXOR, t0, t0, vr(t0))
			o.raw(x86.VPCMPGTQV, t3, t0, vr(x))
			o.raw(x86.VPXOR, t0, x, vr(t3))
			o.raw(x86.VPSUBQ, t0, t0, vr(t3))
			o.write(h, 8, t0)
		}
	}
	m[x86.VPSRAQI] = func(o *op) {
		o.reg = o.vv
		for h := range o.halves() {
			x := o.srcReg(h, 8, t2)
			o.raw(x86.VPXOR, t3, t3, vr(t3))
			o.raw(x86.VPCMPGTQV, t3, t3, vr(x)) // signs
			o.rawI(x86.VPSRLQI, 0, t0, vr(x), o.imm)
			if o.imm > 0 {
				o.rawI(x86.VPSLLQI, 0, t3, vr(t3), 64-min(o.imm, 64))
				o.raw(x86.VPOR, t0, t0, vr(t3))
			}
			o.write(h, 8, t0)
		}
	}
	m[x86.VPSRAVQ] = simple(8, func(o *op, x uint8, y x86.RM) {
		// ((x ^ s) >> n) ^ s, with s all ones for a negative x
		o.raw(x86.VPXOR, t3, t3, vr(t3))
		o.raw(x86.VPCMPGTQV, t3, t3, vr(x))
		o.raw(x86.VPXOR, t0, x, vr(t3))
		o.raw(x86.VPSRLVQ, t0, t0, y)
		o.raw(x86.VPXOR, t0, t0, vr(t3))
	})
	m[x86.VGF2P8AFFINEQB] = reverse
	m[x86.VPTERNLOGD] = ternary
	m[x86.VPTERNLOGQ] = ternary
	m[x86.VPOPCNTD] = func(o *op) {
		for h := range o.halves() {
			o.popcount(o.srcReg(h, 4, t2))
			o.write(h, 4, t0)
		}
	}
	m[x86.VPLZCNTD] = func(o *op) {
		for h := range o.halves() {
			x := o.srcReg(h, 4, t2)
			// All bits below the highest one set; the others are counted.
			o.raw(x86.VMOVDQU, t0, 0, vr(x))
			for _, n := range []uint8{1, 2, 4, 8, 16} {
				o.rawI(x86.VPSRLDI, 0, t1, vr(t0), n)
				o.raw(x86.VPOR, t0, t0, vr(t1))
			}
			o.not(t0)
			o.raw(x86.VMOVDQU, t2, 0, vr(t0))
			o.popcount(t2)
			o.write(h, 4, t0)
			o.refill(4)
		}
	}
	m[x86.VPSHLDD] = double(func(o *op, x uint8, y x86.RM) { // x << n | y >> 32-n
		o.rawI(x86.VPSRLDI, 0, t0, y, 32-o.imm)
		o.rawI(x86.VPSLLDI, 0, t3, vr(x), o.imm)
	})
	m[x86.VPSHRDD] = double(func(o *op, x uint8, y x86.RM) { // x >> n | y << 32-n
		o.rawI(x86.VPSLLDI, 0, t0, y, 32-o.imm)
		o.rawI(x86.VPSRLDI, 0, t3, vr(x), o.imm)
	})
	m[x86.VPSHRDVD] = func(o *op) { // the destination >> n, with bits of vvvv from above
		for h := range o.halves() {
			n := o.srcReg(h, 4, t2)
			o.raw(x86.VPAND, t3, n, o.const32(31))
			o.copyTo(o.reg, h, t0)
			o.raw(x86.VPSRLVD, t0, t0, vr(t3))
			o.raw(x86.VMOVDQU, t1, 0, o.const32(32))
			o.raw(x86.VPSUBD, t3, t1, vr(t3))
			x := o.load(o.vv, h, t1)
			o.raw(x86.VPSLLVD, t1, x, vr(t3))
			o.raw(x86.VPOR, t0, t0, vr(t1))
			o.write(h, 4, t0)
		}
	}
}

// reverse reverses the bits of bytes, which is what the one matrix does that the code generator multiplies bits by.
func reverse(o *op) {
	if d := o.A.ConstData(o.m); len(d) != 8 || binary.LittleEndian.Uint64(d) != 0x8040201008040201 || o.imm != 0 {
		o.unsupported()
		return
	}
	var low, high [8]uint32 // of a nibble, at its new place
	for i := range low {
		for b := range uint32(4) {
			n := uint32(i&3)*4 + b
			r := n&1<<3 | n>>1&1<<2 | n>>2&1<<1 | n>>3&1
			low[i] |= r << 4 << (8 * b)
			high[i] |= r << (8 * b)
		}
	}
	for h := range o.halves() {
		x := o.load(o.vv, h, t1)
		o.raw(x86.VPAND, t0, x, o.const32(0x0f0f0f0f))
		o.raw(x86.VMOVDQU, t3, 0, o.table8(low))
		o.raw(x86.VPSHUFB, t0, t3, vr(t0))
		o.rawI(x86.VPSRLDI, 0, t1, vr(x), 4)
		o.raw(x86.VPAND, t1, t1, o.const32(0x0f0f0f0f))
		o.raw(x86.VMOVDQU, t3, 0, o.table8(high))
		o.raw(x86.VPSHUFB, t1, t3, vr(t1))
		o.raw(x86.VPOR, t0, t0, vr(t1))
		o.write(h, 8, t0)
	}
}

// simple lowers an instruction of two sources, which f does on a half from x and y to t0; x may be t1 and y in t2. t3 is free.
func simple(size int, f func(o *op, x uint8, y x86.RM)) func(*op) {
	return func(o *op) {
		for h := range o.halves() {
			x := o.load(o.vv, h, t1)
			f(o, x, o.src(h, size, t2))
			o.write(h, size, t0)
		}
		o.clearUpper()
	}
}

// double is a shift of two dwords by an immediate.
func double(f func(o *op, x uint8, y x86.RM)) func(*op) {
	return func(o *op) {
		if o.imm > 31 {
			o.unsupported()
			return
		}
		for h := range o.halves() {
			if o.imm == 0 {
				o.write(h, 4, o.load(o.vv, h, t0))
				continue
			}
			y := o.srcReg(h, 4, t2)
			f(o, o.load(o.vv, h, t1), vr(y))
			o.raw(x86.VPOR, t0, t0, vr(t3))
			o.write(h, 4, t0)
		}
		o.clearUpper()
	}
}

// mulQ multiplies qwords, by dwords.
func mulQ(o *op, x uint8, y x86.RM) {
	yr := uint8(t2)
	if y.IsMem() {
		o.raw(x86.VMOVDQU, t2, 0, y)
	} else {
		yr = y.Num()
	}
	o.rawI(x86.VPSHUFD, t0, 0, vr(yr), 0xb1)
	o.raw(x86.VPMULLD, t0, t0, vr(x)) // the two cross products, in a dword each
	o.rawI(x86.VPSRLQI, 0, t3, vr(t0), 32)
	o.raw(x86.VPADDD, t0, t0, vr(t3))
	o.rawI(x86.VPSLLQI, 0, t0, vr(t0), 32)
	o.raw(x86.VPMULUDQ, t3, x, vr(yr))
	o.raw(x86.VPADDQ, t0, t0, vr(t3))
}

func minMax(largest, unsigned bool) func(o *op, x uint8, y x86.RM) {
	return func(o *op, x uint8, y x86.RM) {
		yr := uint8(t2)
		if y.IsMem() {
			o.raw(x86.VMOVDQU, t2, 0, y)
		} else {
			yr = y.Num()
		}
		if unsigned {
			o.raw(x86.VPXOR, t0, x, o.const64(1<<63))
			o.raw(x86.VPXOR, t3, yr, o.const64(1<<63))
			o.raw(x86.VPCMPGTQV, t3, t0, vr(t3))
		} else {
			o.raw(x86.VPCMPGTQV, t3, x, vr(yr))
		}
		// t3: x is the larger one
		if largest {
			o.rawI(x86.VPBLENDVB, t0, yr, vr(x), t3<<4)
		} else {
			o.rawI(x86.VPBLENDVB, t0, x, vr(yr), t3<<4)
		}
	}
}

// ternary does the functions of three bits that the code generator asks for. Bit 4a+2b+c of the immediate is the result for bits a of the
// destination, b of vvvv and c of the third operand.
func ternary(o *op) {
	for h := range o.halves() {
		switch o.imm {
		case 0x28: // (a ^ b) & c
			o.copyTo(o.reg, h, t0)
			o.raw(x86.VPXOR, t0, t0, o.half(o.vv, h))
			o.raw(x86.VPAND, t0, t0, o.src(h, o.ternarySize(), t2))
		case 0xf6: // a | b ^ c
			o.copyTo(o.vv, h, t0)
			o.raw(x86.VPXOR, t0, t0, o.src(h, o.ternarySize(), t2))
			o.raw(x86.VPOR, t0, t0, o.half(o.reg, h))
		case 0xdc: // b | a &^ c
			o.copyTo(o.reg, h, t0)
			y := o.srcReg(h, o.ternarySize(), t2)
			o.raw(x86.VPANDN, t0, y, vr(t0))
			o.raw(x86.VPOR, t0, t0, o.half(o.vv, h))
		case 0xff:
			o.raw(x86.VPCMPEQDV, t0, t0, vr(t0))
		case 0x55:
			o.raw(x86.VPCMPEQDV, t0, t0, vr(t0))
			o.raw(x86.VPXOR, t0, t0, o.src(h, o.ternarySize(), t2))
		default:
			o.unsupported()
			return
		}
		o.write(h, o.ternarySize(), t0)
	}
	o.clearUpper()
}

func (o *op) ternarySize() int {
	if o.i == x86.VPTERNLOGQ {
		return 8
	}
	return 4
}

// popcount counts the bits of the dwords of x into t0; t1 and t3 are used.
func (o *op) popcount(x uint8) {
	// Nibbles by table, bytes to dwords by sums of pairs.
	var table [8]uint32
	for i := range table {
		for b := range uint32(4) {
			n := uint32(i&3)*4 + b
			bits := n&1 + n>>1&1 + n>>2&1 + n>>3&1
			table[i] |= bits << (8 * b)
		}
	}
	o.raw(x86.VMOVDQU, t3, 0, o.table8(table))
	o.raw(x86.VPAND, t0, x, o.const32(0x0f0f0f0f))
	o.raw(x86.VPSHUFB, t0, t3, vr(t0))
	o.rawI(x86.VPSRLDI, 0, t1, vr(x), 4)
	o.raw(x86.VPAND, t1, t1, o.const32(0x0f0f0f0f))
	o.raw(x86.VPSHUFB, t1, t3, vr(t1))
	o.raw(x86.VPADDB, t0, t0, vr(t1))
	o.raw(x86.VPMADDUBSW, t0, t0, o.const32(0x01010101))
	o.raw(x86.VPMADDWD, t0, t0, o.const32(0x00010001))
}
