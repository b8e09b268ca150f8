package clr

import (
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// formatMessage formats a device printf: words hold the format string, padded to whole words, and then the arguments, one word each, strings inline like the
// format. It follows C's fprintf.
func formatMessage(words []uint64) []byte {
	a := &printArgs{w: words}
	format := a.text()
	var out []byte
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			return append(out, format...)
		}
		out = append(out, format[:i]...)
		format = format[i+1:]
		var ok bool
		if out, format, ok = a.conversion(out, format); !ok {
			return append(out, "%"+format...)
		}
	}
}

// printArgs reads arguments off; missing ones are 0.
type printArgs struct{ w []uint64 }

func (a *printArgs) next() uint64 {
	if len(a.w) == 0 {
		return 0
	}
	v := a.w[0]
	a.w = a.w[1:]
	return v
}

// text reads an inline string up to its zero byte.
func (a *printArgs) text() string {
	if len(a.w) == 0 {
		return ""
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&a.w[0])), 8*len(a.w))
	n := 0
	for n < len(b) && b[n] != 0 {
		n++
	}
	s := string(b[:n])
	a.w = a.w[min((n+8)/8, len(a.w)):]
	return s
}

// spec is one conversion.
type spec struct {
	minus, plus, space, alt, zero bool
	width, prec                   int // prec -1: none
}

// maxField bounds widths and precisions.
const maxField = 1 << 12

// conversion formats what follows a percent sign. ok is false for a conversion that C does not have; rest is then unchanged.
func (a *printArgs) conversion(out []byte, rest string) (_ []byte, _ string, ok bool) {
	whole := rest
	s := spec{prec: -1}
flags:
	for rest != "" {
		switch rest[0] {
		case '-':
			s.minus = true
		case '+':
			s.plus = true
		case ' ':
			s.space = true
		case '#':
			s.alt = true
		case '0':
			s.zero = true
		default:
			break flags
		}
		rest = rest[1:]
	}
	number := func() int {
		if strings.HasPrefix(rest, "*") {
			rest = rest[1:]
			return int(int32(a.next()))
		}
		n := 0
		for rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			n = min(n*10+int(rest[0]-'0'), maxField)
			rest = rest[1:]
		}
		return n
	}
	if s.width = number(); s.width < 0 {
		s.minus, s.width = true, -s.width
	}
	s.width = min(s.width, maxField)
	if strings.HasPrefix(rest, ".") {
		rest = rest[1:]
		s.prec = min(number(), maxField)
	}
	size := 4
	for rest != "" && strings.IndexByte("hljztLq", rest[0]) >= 0 {
		switch rest[0] {
		case 'h':
			size /= 2
		default:
			size = 8
		}
		rest = rest[1:]
	}
	if rest == "" {
		return out, whole, false
	}
	c := rest[0]
	rest = rest[1:]
	switch c {
	case '%':
		return append(out, '%'), rest, true
	case 'd', 'i':
		v := a.next()
		sh := 64 - 8*uint(max(size, 1))
		return append(out, s.signed(int64(v<<sh)>>sh)...), rest, true
	case 'u', 'o', 'x', 'X':
		v := a.next()
		sh := 64 - 8*uint(max(size, 1))
		return append(out, s.unsigned(v<<sh>>sh, c)...), rest, true
	case 'c':
		return append(out, s.pad(string([]byte{byte(a.next())}))...), rest, true
	case 's':
		t := a.text()
		if s.prec >= 0 && s.prec < len(t) {
			t = t[:s.prec]
		}
		return append(out, s.pad(t)...), rest, true
	case 'p':
		v := a.next()
		if v == 0 {
			return append(out, s.pad("(nil)")...), rest, true
		}
		return append(out, s.pad("0x"+strconv.FormatUint(v, 16))...), rest, true
	case 'f', 'F', 'e', 'E', 'g', 'G', 'a', 'A':
		return append(out, s.float(math.Float64frombits(a.next()), c)...), rest, true
	case 'n':
		a.next() // what it points to is not ours to write
		return out, rest, true
	}
	return out, whole, false
}

// pad fills to the width with spaces.
func (s *spec) pad(t string) string {
	if n := s.width - len(t); n > 0 {
		if s.minus {
			return t + strings.Repeat(" ", n)
		}
		return strings.Repeat(" ", n) + t
	}
	return t
}

// number pads digits that follow a sign or prefix, with zeros if asked.
func (s *spec) number(prefix, digits string, zeros bool) string {
	if n := s.width - len(prefix) - len(digits); zeros && n > 0 && !s.minus {
		digits = strings.Repeat("0", n) + digits
	}
	return s.pad(prefix + digits)
}

func (s *spec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case s.plus:
		return "+"
	case s.space:
		return " "
	}
	return ""
}

func (s *spec) digits(v uint64, base int) string {
	if v == 0 && s.prec == 0 {
		return ""
	}
	d := strconv.FormatUint(v, base)
	if n := s.prec - len(d); n > 0 {
		d = strings.Repeat("0", n) + d
	}
	return d
}

func (s *spec) signed(v int64) string {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	return s.number(s.sign(v < 0), s.digits(u, 10), s.zero && s.prec < 0)
}

func (s *spec) unsigned(v uint64, c byte) string {
	prefix, d := "", ""
	switch c {
	case 'u':
		d = s.digits(v, 10)
	case 'o':
		d = s.digits(v, 8)
		if s.alt && !strings.HasPrefix(d, "0") {
			d = "0" + d
		}
	default:
		d = s.digits(v, 16)
		if s.alt && v != 0 {
			prefix = "0x"
		}
		if c == 'X' {
			prefix, d = strings.ToUpper(prefix), strings.ToUpper(d)
		}
	}
	return s.number(prefix, d, s.zero && s.prec < 0)
}

func (s *spec) float(v float64, c byte) string {
	upper := c < 'a'
	low := c | 0x20
	sign := s.sign(math.Signbit(v))
	var d string
	special := false
	switch {
	case math.IsNaN(v):
		d, special = "nan", true
	case math.IsInf(v, 0):
		d, special = "inf", true
	default:
		v = math.Abs(v)
		prec := s.prec
		if prec < 0 {
			prec = 6
		}
		switch low {
		case 'f':
			d = strconv.FormatFloat(v, 'f', prec, 64)
			if s.alt && prec == 0 {
				d += "."
			}
		case 'e':
			d = strconv.FormatFloat(v, 'e', prec, 64)
		case 'g':
			d = general(v, prec, s.alt)
		case 'a':
			d = hexFloat(v, s.prec)
		}
	}
	if low == 'a' && !special {
		sign, d = sign+"0x", strings.TrimPrefix(d, "0x")
	}
	if upper {
		sign, d = strings.ToUpper(sign), strings.ToUpper(d)
	}
	return s.number(sign, d, s.zero && !special)
}

// general is %g: the shorter of %e and %f with prec significant digits, without trailing zeros unless alt.
func general(v float64, prec int, alt bool) string {
	if prec == 0 {
		prec = 1
	}
	e := strconv.FormatFloat(v, 'e', prec-1, 64)
	x, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if x < -4 || x >= prec {
		if !alt {
			m, exp, _ := strings.Cut(e, "e")
			e = trimZeros(m) + "e" + exp
		}
		return e
	}
	f := strconv.FormatFloat(v, 'f', prec-1-x, 64)
	if !alt {
		f = trimZeros(f)
	}
	return f
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// hexFloat is %a: C writes the exponent without leading zeros.
func hexFloat(v float64, prec int) string {
	s := strconv.FormatFloat(v, 'x', prec, 64)
	m, exp, _ := strings.Cut(s, "p")
	sign, digits := exp[:1], strings.TrimLeft(exp[1:], "0")
	if digits == "" {
		digits = "0"
	}
	return m + "p" + sign + digits
}
