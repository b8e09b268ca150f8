package avx2

import "github.com/pumice-gpu/pumice/engine/jit/x86"

func convertHandlers(m map[*x86.Inst]func(*op)) {
	m[x86.VCVTPS2PD] = lengthen(x86.VCVTPS2PDV)
	m[x86.VCVTDQ2PD] = lengthen(x86.VCVTDQ2PDV)
	m[x86.VCVTPH2PS] = lengthen(x86.VCVTPH2PS)
	m[x86.VCVTUDQ2PD] = unsignedToDouble
	m[x86.VCVTPD2PS] = shorten(x86.VCVTPD2PSV)
	m[x86.VCVTPD2DQ] = shorten(x86.VCVTPD2DQV)
	m[x86.VCVTTPD2DQ] = shorten(x86.VCVTTPD2DQV)
	m[x86.VCVTTPD2UDQ] = doubleToUnsigned
	m[x86.VCVTTPS2UDQ] = singleToUnsigned
	m[x86.VCVTUDQ2PS] = unsignedToSingle
	m[x86.VCVTPS2PH] = toHalf
	m[x86.VCVTQQ2PD] = signedToDouble
	m[x86.VCVTTPD2QQ] = doubleToSigned
}

// lengthen converts to elements twice as long: half h comes from 16 bytes of the source.
func lengthen(inst *x86.Inst) func(*op) {
	return func(o *op) {
		if o.m.HasBcast() || o.l != x86.L512 {
			o.unsupported()
			return
		}
		size := 8
		if inst == x86.VCVTPH2PS {
			size = 4
		}
		for h := 1; h >= 0; h-- {
			d := uint8(t0)
			if o.mod.K() == 0 {
				d = o.into(o.reg, h, t0)
			}
			o.raw(inst, d, 0, o.part(h, 16))
			o.write(h, size, d)
		}
	}
}

// join puts xmm t1 above xmm t0 and makes them the destination's lower half; the upper one is zero.
func (o *op) join() {
	if o.mod.K() != 0 {
		o.unsupported()
		return
	}
	o.rawI(x86.VINSERTI128, t0, t0, vr(t1), 1)
	o.done(o.reg, 0, t0)
	o.zero(o.reg, 1)
}

// shorten converts to elements half as long.
func shorten(inst *x86.Inst) func(*op) {
	return func(o *op) {
		if o.m.HasBcast() || o.l != x86.L512 {
			o.unsupported()
			return
		}
		for h := range 2 {
			o.raw(inst, uint8(t0+h), 0, o.sources(h))
		}
		o.join()
	}
}

func toHalf(o *op) {
	if o.l != x86.L512 || o.m.IsMem() || o.mod.K() != 0 {
		o.unsupported()
		return
	}
	// The destination is the r/m operand.
	for h := range 2 {
		o.rawI(x86.VCVTPS2PH, o.load(o.reg, h, t2), 0, vr(uint8(t0+h)), o.imm)
	}
	o.reg = o.m.Num()
	o.join()
}

// unsignedToDouble: the number less 2^31 as a signed one, plus 2^31, is exact.
func unsignedToDouble(o *op) {
	if o.m.HasBcast() || o.l != x86.L512 || o.mod.K() != 0 {
		o.unsupported()
		return
	}
	for h := 1; h >= 0; h-- {
		d := o.into(o.reg, h, t0)
		s := o.part(h, 16)
		o.xmm(x86.VMOVDQU, t1, 0, s, 0)
		o.xmm(x86.VPXOR, t1, t1, o.const32(1<<31), 0)
		o.raw(x86.VCVTDQ2PDV, d, 0, vr(t1))
		o.raw(x86.VADDPD, d, d, o.const64(0x41e0000000000000))
		o.raw(x86.VPAND, d, d, o.const64(1<<63-1)) // of 0, when rounding is downwards
		o.done(o.reg, h, d)
	}
}

// unsignedToSingle goes by double, which is exact, so that there is one rounding.
func unsignedToSingle(o *op) {
	if o.m.HasBcast() || o.l != x86.L512 || o.mod.K() != 0 {
		o.unsupported()
		return
	}
	for h := range 2 {
		x := o.srcReg(h, 4, t2)
		o.raw(x86.VPXOR, t3, x, o.const32(1<<31))
		o.raw(x86.VCVTDQ2PDV, t0, 0, vr(t3))
		o.rawI(x86.VEXTRACTI128, t3, 0, vr(t1), 1)
		o.raw(x86.VCVTDQ2PDV, t1, 0, vr(t1))
		for _, t := range []uint8{t0, t1} {
			o.raw(x86.VADDPD, t, t, o.const64(0x41e0000000000000))
			o.raw(x86.VPAND, t, t, o.const64(1<<63-1)) // of 0, when rounding is downwards
			o.raw(x86.VCVTPD2PSV, t, 0, vr(t))
		}
		o.rawI(x86.VINSERTI128, t0, t0, vr(t1), 1)
		o.done(o.reg, h, t0)
	}
}

// singleToUnsigned: from 2^31 on what exceeds it is converted and the top bit set; what is no unsigned number gives all ones.
func singleToUnsigned(o *op) {
	if o.m.HasBcast() || o.l != x86.L512 || o.mod.K() != 0 {
		o.unsupported()
		return
	}
	for h := range 2 {
		x := o.srcReg(h, 4, t2)
		o.rawI(x86.VCMPPSV, t3, x, o.const32(0x4f000000), 0x1d) // at least 2^31
		o.raw(x86.VPAND, t0, t3, o.const32(0x4f000000))
		o.raw(x86.VSUBPS, t0, x, vr(t0))
		o.raw(x86.VCVTTPS2DQ, t0, 0, vr(t0))
		o.rawI(x86.VPSLLDI, 0, t3, vr(t3), 31)
		o.raw(x86.VPXOR, t0, t0, vr(t3))
		// in range: -1 < x < 2^32
		o.rawI(x86.VCMPPSV, t1, x, o.const32(0xbf800000), 0x1e)
		o.rawI(x86.VCMPPSV, t3, x, o.const32(0x4f800000), 0x11)
		o.raw(x86.VPAND, t1, t1, vr(t3))
		o.not(t1)
		o.raw(x86.VPOR, t0, t0, vr(t1))
		o.done(o.reg, h, t0)
	}
}

func doubleToUnsigned(o *op) {
	if o.m.HasBcast() || o.l != x86.L512 {
		o.unsupported()
		return
	}
	for h := range 2 {
		t := uint8(t0 + h)
		x := uint8(t2)
		o.raw(x86.VMOVDQU, x, 0, o.sources(h))
		o.rawI(x86.VCMPPDV, t3, x, o.const64(0x41e0000000000000), 0x1d)
		o.raw(x86.VPAND, t, t3, o.const64(0x41e0000000000000))
		o.raw(x86.VSUBPD, t, x, vr(t))
		o.raw(x86.VCVTTPD2DQV, t, 0, vr(t))
		// What of it is a sign to flip, and what is out of range, as dwords: a comparison's low halves.
		o.rawI(x86.VPSLLQI, 0, t3, vr(t3), 31)
		o.dwords(t3)
		o.xmm(x86.VPXOR, t, t, vr(t3), 0)
		o.rawI(x86.VCMPPDV, t3, x, o.const64(0xbff0000000000000), 0x1e)
		o.rawI(x86.VCMPPDV, x, x, o.const64(0x41f0000000000000), 0x11)
		o.raw(x86.VPAND, t3, t3, vr(x))
		o.not(t3)
		o.dwords(t3)
		o.xmm(x86.VPOR, t, t, vr(t3), 0)
	}
	o.join()
}

// dwords makes the low dwords of four qwords in t an xmm register.
func (o *op) dwords(t uint8) {
	o.rawI(x86.VPSHUFD, t, 0, vr(t), 0x88)
	o.rawI(x86.VPERMQI, t, 0, vr(t), 0x08)
}

// signedToDouble: high and low dword go apart; each is exact, and the sum rounds once.
func signedToDouble(o *op) {
	if o.m.HasBcast() || o.l != x86.L512 || o.mod.K() != 0 {
		o.unsupported()
		return
	}
	for h := range 2 {
		x := o.srcReg(h, 8, t2)
		// 2^52 + low; 2^84 + 2^63 + high·2^32
		o.rawI(x86.VPBLENDD, t0, x, o.const64(0x4330000000000000), 0xaa)
		o.rawI(x86.VPSRLQI, 0, t1, vr(x), 32)
		o.raw(x86.VPXOR, t1, t1, o.const64(0x4530000080000000))
		o.raw(x86.VSUBPD, t1, t1, o.const64(0x4530000080100000))
		o.raw(x86.VADDPD, t0, t0, vr(t1))
		o.raw(x86.VPCMPEQQV, t3, x, o.const64(0)) // whose sum has a sign when rounding is downwards
		o.raw(x86.VPANDN, t0, t3, vr(t0))
		o.done(o.reg, h, t0)
	}
}

// doubleToSigned truncates. Only numbers below 2^51 are asked for; others give what nobody uses.
func doubleToSigned(o *op) {
	if o.m.HasBcast() || o.l != x86.L512 || o.mod.K() != 0 {
		o.unsupported()
		return
	}
	const magic = 0x4338000000000000 // 1.5·2^52
	for h := range 2 {
		o.rawI(x86.VROUNDPD, t0, 0, o.sources(h), 11)
		o.raw(x86.VADDPD, t0, t0, o.const64(magic))
		o.raw(x86.VPSUBQ, t0, t0, o.const64(magic))
		o.done(o.reg, h, t0)
	}
}
