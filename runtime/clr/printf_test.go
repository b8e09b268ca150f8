package clr

import (
	"math"
	"testing"
	"unsafe"
)

// words packs a format and arguments as device code does.
func words(args ...any) (w []uint64) {
	for _, a := range args {
		switch v := a.(type) {
		case string:
			b := make([]uint64, (len(v)+8)/8)
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&b[0])), 8*len(b)), v)
			w = append(w, b...)
		case int:
			w = append(w, uint64(v))
		case float64:
			w = append(w, math.Float64bits(v))
		}
	}
	return
}

// The right-hand sides are what glibc prints.
func TestFormat(t *testing.T) {
	for _, c := range []struct {
		want string
		args []any
	}{
		{"plain", []any{"plain"}},
		{"100%", []any{"100%%"}},
		{"a -5 b", []any{"a %d b", int(uint32(0xfffffffb))}},
		{"-1 4294967295", []any{"%d %u", 0xffffffff, 0xffffffff}},
		{"  42|42  |0042|+42| 42", []any{"%4d|%-4d|%04d|%+d|% d", 42, 42, 42, 42, 42}},
		{"ff FF 0xff 377 0377", []any{"%x %X %#x %o %#o", 255, 255, 255, 255, 255}},
		{"-1 255", []any{"%hhd %hhu", 255, 255}},
		{"-9223372036854775808", []any{"%lld", math.MinInt64}},
		{"00042", []any{"%.5d", 42}},
		{"   00042", []any{"%8.5d", 42}},
		{"[hello world] 7", []any{"[%s] %d", "hello world", 7}},
		{"[12345678] x", []any{"[%s] %c", "12345678", 'x' + 0}},
		{"[  hel]", []any{"[%5.3s]", "hello"}},
		{"3.141593 3.14   3", []any{"%f %.2f %3.0f", math.Pi, math.Pi, math.Pi}},
		{"3.141593e+00 1.0E-10", []any{"%e %.1E", math.Pi, 1e-10}},
		{"0.0001 1e-05 100000 1e+06 3.14159", []any{"%g %g %g %g %g", 1e-4, 1e-5, 1e5, 1e6, math.Pi}},
		{"inf -inf nan INF", []any{"%f %f %g %F", math.Inf(1), math.Inf(-1), math.NaN(), math.Inf(1)}},
		{"  inf", []any{"%05f", math.Inf(1)}},
		{"-0.500000 -0001.5", []any{"%f %07.1f", -0.5, -1.5}},
		{"0x1.8p+1", []any{"%a", 3.0}},
		{"0x10 (nil)", []any{"%p %p", 16, 0}},
		{"   7|7   ", []any{"%*d|%-*d", 4, 7, 4, 7}},
		{"%y", []any{"%y"}},
		{"%", []any{"%"}},
		{"0 ", []any{"%d %s"}},
	} {
		for i, a := range c.args {
			if r, ok := a.(rune); ok {
				c.args[i] = int(r)
			}
		}
		if got := string(formatMessage(words(c.args...))); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
}

func FuzzFormat(f *testing.F) {
	f.Add("%*.*f %s %lld", uint64(3), uint64(5))
	f.Fuzz(func(t *testing.T, s string, a, b uint64) {
		formatMessage(append(words(s), a, b))
	})
}
