package rt

// MXCSRDefault is the floating-point control Go code runs under: all exceptions masked, nearest even, denormals kept.
const MXCSRDefault = 0x1f80

// MXCSR bits.
const (
	MXCSRDAZ = 1 << 6
	MXCSRFTZ = 1 << 15
)
