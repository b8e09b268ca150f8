package rt

// Features are the instruction sets the code generator chooses by. All of them are usable: CPU and operating system.
type Features struct {
	AVX2    bool // with FMA, F16C, BMI1, BMI2
	AVX512  bool // F, BW, DQ, VL, CD
	VBMI    bool
	VBMI2   bool
	BITALG  bool
	POPCNTD bool // VPOPCNTDQ
	VNNI    bool
	GFNI    bool
	BF16    bool
	FP16    bool
}
