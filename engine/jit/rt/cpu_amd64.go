package rt

// CPU is what this machine has.
var CPU = detect()

func detect() Features {
	var f Features
	if top, _, _, _ := cpuid(0, 0); top < 7 {
		return f
	}
	_, _, c1, _ := cpuid(1, 0)
	_, b7, c7, d7 := cpuid(7, 0)
	a71, _, _, _ := cpuid(7, 1)
	bit := func(v uint32, n int) bool { return v>>n&1 != 0 }
	if !bit(c1, 27) {
		return f // the OS does not enable XSAVE
	}
	x := xgetbv()
	f.AVX2 = x&6 == 6 && bit(c1, 28) && bit(c1, 12) && bit(c1, 29) && bit(b7, 5) && bit(b7, 3) && bit(b7, 8)
	f.AVX512 = f.AVX2 && x&0xe6 == 0xe6 && bit(b7, 16) && bit(b7, 17) && bit(b7, 30) && bit(b7, 31) && bit(b7, 28)
	if f.AVX512 {
		f.VBMI, f.VBMI2, f.BITALG, f.POPCNTD = bit(c7, 1), bit(c7, 6), bit(c7, 12), bit(c7, 14)
		f.VNNI, f.GFNI, f.FP16, f.BF16 = bit(c7, 11), bit(c7, 8), bit(d7, 23), bit(a71, 5)
	}
	return f
}
