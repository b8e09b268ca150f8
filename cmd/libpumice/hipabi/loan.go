package hipabi

import "C"

import (
	"bytes"
	"strconv"
	"unsafe"

	"github.com/pumice-gpu/pumice/cmd/libpumice/caller"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// A loan is a parameter that points to memory of the program. Go may not touch that (see package caller), unless it is in the stack close above the call,
// where nearly every program has its results. Else call makes the parameter point to a copy while the function runs, and gives back what has changed.
//
// The functions that make loans take the address of the parameter: inOf and outOf of one value by a typed pointer, inAt and outAt of one by its address, ins and outs
// of several, inBytes and outBytes of a number of bytes, text of a string.
type loan struct {
	at    *uintptr // the parameter
	size  uintptr  // of the memory, or of an element of it, in bytes
	count **uint64 // where the number of elements is, if not nil
	kind  loanKind
}

type loanKind uint8

const (
	loanIn loanKind = iota
	loanOut
	loanText
	loanHandle // out, of a handle that a log shows
	loanStream // out, of a stream
	loanEvent  // out, of an event
)

// maxLoan is the most that is lent, in bytes; a larger one is an error of the program.
const maxLoan = 1 << 28

func parameter[T any](p **T) *uintptr { return (*uintptr)(unsafe.Pointer(p)) }

func sizeOf[T any]() uintptr { return unsafe.Sizeof(*new(T)) }

func inOf[T any](p **T) loan  { return loan{at: parameter(p), size: sizeOf[T]()} }
func outOf[T any](p **T) loan { return loan{at: parameter(p), size: sizeOf[T](), kind: loanOut} }
func handle(p **uintptr) loan {
	return loan{at: parameter(p), size: sizeOf[uintptr](), kind: loanHandle}
}
func newStream(p **uintptr) loan {
	return loan{at: parameter(p), size: sizeOf[uintptr](), kind: loanStream}
}
func newEvent(p **uintptr) loan {
	return loan{at: parameter(p), size: sizeOf[uintptr](), kind: loanEvent}
}
func inAt[T any](p *uintptr) loan  { return loan{at: p, size: sizeOf[T]()} }
func outAt[T any](p *uintptr) loan { return loan{at: p, size: sizeOf[T](), kind: loanOut} }

type number interface{ int32 | uint32 | uint64 }

// times is n of a size; too many are more than maxLoan.
func times[N number](n N, size uintptr) uintptr {
	if n <= 0 {
		return 0
	}
	return size * uintptr(min(uint64(n), maxLoan+1))
}

func ins[T any, N number](p **T, n N) loan {
	return loan{at: parameter(p), size: times(n, sizeOf[T]())}
}
func outs[T any, N number](p **T, n N) loan {
	return loan{at: parameter(p), size: times(n, sizeOf[T]()), kind: loanOut}
}
func insAt[T any, N number](p *uintptr, n N) loan { return loan{at: p, size: times(n, sizeOf[T]())} }
func inBytes[N number](p *uintptr, n N) loan      { return loan{at: p, size: times(n, 1)} }
func outBytes[N number](p *uintptr, n N) loan     { return loan{at: p, size: times(n, 1), kind: loanOut} }

// counted is a list with room for as many elements as the number at count says.
func counted(p **uintptr, count **uint64) loan {
	return loan{at: parameter(p), size: sizeOf[uintptr](), count: count, kind: loanOut}
}

func text(p **C.char) loan   { return loan{at: parameter(p), kind: loanText} }
func textAt(p *uintptr) loan { return loan{at: p, kind: loanText} }

// bytes is how much memory the loan is of; ok is false when the number of elements cannot be read.
func (l *loan) bytes() (n uintptr, ok bool) {
	if l.count == nil || *l.count == nil {
		return l.size, true
	}
	c, ok := caller.Get(*l.count)
	return times(c, l.size), ok
}

// near reports whether nothing has to be lent.
func (l *loan) near(t *hip.Thread) bool {
	if *l.at == 0 {
		return true
	}
	switch {
	case l.kind == loanText:
		// A string's end is not known, but that of what may be touched is.
		if !t.Near(*l.at, 1) {
			return false
		}
		return bytes.IndexByte(unsafe.Slice((*byte)(ptr(uint64(*l.at))), t.StackHigh-*l.at), 0) >= 0
	case l.count != nil && *l.count != nil:
		if !t.Near(uintptr(unsafe.Pointer(*l.count)), l.size) {
			return false
		}
		return t.Near(*l.at, times(**l.count, l.size))
	}
	return t.Near(*l.at, l.size)
}

// A borrowed loan.
type borrowed struct {
	at     uintptr // the program's memory
	memory []uint64
	before []byte // what was there
	write  bool
}

// borrow lends a parameter's memory; it returns false where the program has no such memory.
func (l *loan) borrow() (b borrowed, ok bool) {
	b.at = *l.at
	if l.kind == loanText {
		s, ok := caller.Text(b.at)
		if !ok {
			return b, false
		}
		b.memory = make([]uint64, len(s)/8+1)
		copy(b.bytes(), s)
		*l.at = uintptr(unsafe.Pointer(&b.memory[0]))
		return b, true
	}
	n, ok := l.bytes()
	if !ok || n > maxLoan {
		return b, false
	}
	b.write = l.kind != loanIn
	if b.write && !caller.Writable(b.at, n) {
		return b, false
	}
	b.memory = make([]uint64, n/8+1)
	if n > 0 && !caller.Load(unsafe.Pointer(&b.memory[0]), b.at, n) {
		return b, false
	}
	b.before = append([]byte(nil), b.bytes()[:n]...)
	*l.at = uintptr(unsafe.Pointer(&b.memory[0]))
	return b, true
}

func (b *borrowed) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&b.memory[0])), 8*len(b.memory))
}

// back writes what has changed.
func (b *borrowed) back() bool {
	n := len(b.before)
	if !b.write || n == 0 || bytes.Equal(b.before, b.bytes()[:n]) {
		return true
	}
	return caller.Store(b.at, unsafe.Pointer(&b.memory[0]), uintptr(n))
}

// far reports whether a parameter's memory has to be lent.
func far(t *hip.Thread, args []any) bool {
	for _, x := range args {
		if l, ok := x.(loan); ok && !l.near(t) {
			return true
		}
	}
	return false
}

// lend runs f with all that is far lent.
func lend(t *hip.Thread, args []any, f func() hip.Error) hip.Error {
	var lent []borrowed
	for _, x := range args {
		l, ok := x.(loan)
		if !ok || l.near(t) {
			continue
		}
		b, ok := l.borrow()
		if !ok {
			return hip.ErrInvalidValue
		}
		lent = append(lent, b)
	}
	e := f()
	for i := range lent {
		if !lent[i].back() && e == hip.Success {
			e = hip.ErrInvalidValue
		}
	}
	return e
}

// What else a log shows in a way of its own.
type (
	stream uintptr
	event  uintptr
)

// show writes parameters as AMD's runtime does in its log.
func show(args []any) string {
	var b []byte
	address := func(p uintptr) {
		if p == 0 {
			b = append(b, "char array:<null>"...)
			return
		}
		b = strconv.AppendUint(append(b, "0x"...), uint64(p), 16)
	}
	box := func(v ...uint64) {
		for i, x := range v {
			b = strconv.AppendUint(append(b, "{,,"[i]), x, 10)
		}
		b = append(b, '}')
	}
	for i, x := range args {
		if i > 0 {
			b = append(b, ", "...)
		}
		switch x := x.(type) {
		case loan:
			if s, ok := "", false; x.kind == loanText {
				if s, ok = caller.Text(*x.at); ok {
					b = append(b, s...)
					continue
				}
			}
			address(*x.at)
		case stream:
			b = append(b, showStream(uintptr(x))...)
		case event:
			b = append(b, showEvent(uintptr(x))...)
		case hip.Kind:
			b = append(b, x.String()...)
		case uintptr:
			address(x)
		case unsafe.Pointer:
			address(uintptr(x))
		case int32:
			b = strconv.AppendInt(b, int64(x), 10)
		case uint8:
			b = strconv.AppendUint(b, uint64(x), 10)
		case uint16:
			b = strconv.AppendUint(b, uint64(x), 10)
		case uint32:
			b = strconv.AppendUint(b, uint64(x), 10)
		case uint64:
			b = strconv.AppendUint(b, x, 10)
		case float32:
			b = strconv.AppendFloat(b, float64(x), 'g', 6, 32)
		case [3]uint64:
			box(x[:]...)
		case pitched:
			b = append(b, "pitchPtr:"...)
			address(uintptr(x))
		}
	}
	return string(b)
}

// pitched is the address of a hipPitchedPtr.
type pitched uintptr

func showStream(s uintptr) string {
	if s == 0 {
		return "stream:<null>"
	}
	return "stream:0x" + strconv.FormatUint(uint64(s), 16)
}

func showEvent(e uintptr) string {
	if e == 0 {
		return "event:0"
	}
	return "event:0x" + strconv.FormatUint(uint64(e), 16)
}

// made shows the handle that a call has made.
func made(args []any) string {
	for _, x := range args {
		l, ok := x.(loan)
		if !ok || l.kind < loanHandle || *l.at == 0 {
			continue
		}
		h, _ := caller.Get((*uintptr)(ptr(uint64(*l.at))))
		switch l.kind {
		case loanStream:
			return showStream(h)
		case loanEvent:
			return showEvent(h)
		}
		return "0x" + strconv.FormatUint(uint64(h), 16)
	}
	return ""
}
