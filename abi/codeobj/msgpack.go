package codeobj

import (
	"encoding/binary"
	"math"
)

// maxDepth bounds the nesting of arrays and maps in a metadata note. LLVM writes at most 5 levels.
const maxDepth = 16

// pack is a pull reader of MessagePack. The first error sticks; after it every read returns a zero value.
type pack struct {
	b     []byte
	off   int
	depth int
	err   error
}

type packKind uint8

const (
	packNil packKind = iota
	packBool
	packUint
	packInt
	packFloat
	packStr
	packBin
	packArray
	packMap
	packExt
)

var packNames = [...]string{"nil", "bool", "unsigned", "signed", "float", "string", "binary", "array", "map", "extension"}

// item is one decoded head: a scalar, or the length of what follows.
type item struct {
	kind packKind
	u    uint64 // value, or number of elements (pairs for a map)
	s    []byte // bytes of str, bin, ext
	off  int
}

func (p *pack) fail(off int, format string, args ...any) {
	if p.err == nil {
		p.err = bad("metadata", uint64(off), format, args...)
	}
}

// take returns the next n bytes.
func (p *pack) take(n uint64) []byte {
	if p.err != nil {
		return nil
	}
	if n > uint64(len(p.b)-p.off) {
		p.fail(p.off, "needs %d bytes, %d left", n, len(p.b)-p.off)
		return nil
	}
	s := p.b[p.off : p.off+int(n)]
	p.off += int(n)
	return s
}

func (p *pack) uintN(n uint64) uint64 {
	var v uint64
	for _, c := range p.take(n) {
		v = v<<8 | uint64(c)
	}
	return v
}

// next reads one head. Lengths of arrays and maps are checked against what is left, so that a caller may allocate by them.
func (p *pack) next() item {
	it := item{off: p.off}
	h := p.take(1)
	if h == nil {
		return it
	}
	var n uint64
	switch c := h[0]; {
	case c < 0x80:
		it.kind, it.u = packUint, uint64(c)
	case c >= 0xe0:
		it.kind, it.u = packInt, uint64(int64(int8(c)))
	case c < 0x90:
		it.kind, it.u = packMap, uint64(c&15)
	case c < 0xa0:
		it.kind, it.u = packArray, uint64(c&15)
	case c < 0xc0:
		it.kind, n = packStr, uint64(c&31)
	case c == 0xc0:
		it.kind = packNil
	case c == 0xc2 || c == 0xc3:
		it.kind, it.u = packBool, uint64(c&1)
	case c >= 0xc4 && c <= 0xc6:
		it.kind, n = packBin, p.uintN(1<<(c-0xc4))
	case c >= 0xc7 && c <= 0xc9:
		it.kind, n = packExt, p.uintN(1<<(c-0xc7))+1
	case c == 0xca:
		it.kind, it.u = packFloat, math.Float64bits(float64(math.Float32frombits(uint32(p.uintN(4)))))
	case c == 0xcb:
		it.kind, it.u = packFloat, p.uintN(8)
	case c >= 0xcc && c <= 0xcf:
		it.kind, it.u = packUint, p.uintN(1<<(c-0xcc))
	case c >= 0xd0 && c <= 0xd3:
		w := uint64(1) << (c - 0xd0)
		sh := 64 - 8*w
		it.kind, it.u = packInt, uint64(int64(p.uintN(w)<<sh)>>sh)
	case c >= 0xd4 && c <= 0xd8:
		it.kind, n = packExt, 1<<(c-0xd4)+1
	case c >= 0xd9 && c <= 0xdb:
		it.kind, n = packStr, p.uintN(1<<(c-0xd9))
	case c == 0xdc || c == 0xdd:
		it.kind, it.u = packArray, p.uintN(2<<(c-0xdc))
	case c == 0xde || c == 0xdf:
		it.kind, it.u = packMap, p.uintN(2<<(c-0xde))
	default:
		p.fail(it.off, "byte %#x starts no MessagePack item", c)
	}
	switch it.kind {
	case packStr, packBin, packExt:
		it.s = p.take(n)
	case packArray, packMap:
		left := uint64(len(p.b) - p.off)
		if it.kind == packMap {
			left /= 2
		}
		if p.err == nil && it.u > left {
			p.fail(it.off, "%s of %d elements with %d bytes left", packNames[it.kind], it.u, len(p.b)-p.off)
		}
	}
	if p.err != nil {
		return item{off: it.off}
	}
	return it
}

func (p *pack) expect(k packKind) (item, bool) {
	it := p.next()
	if p.err == nil && it.kind != k {
		p.fail(it.off, "found %s, want %s", packNames[it.kind], packNames[k])
	}
	return it, p.err == nil
}

func (p *pack) str() string {
	it, ok := p.expect(packStr)
	if !ok {
		return ""
	}
	return string(it.s)
}

func (p *pack) bool() bool {
	it := p.next()
	if p.err == nil && it.kind != packBool && it.kind != packUint {
		p.fail(it.off, "found %s, want bool", packNames[it.kind])
	}
	return it.u != 0
}

func (p *pack) uint32() uint32 {
	it := p.next()
	if p.err != nil {
		return 0
	}
	if it.kind != packUint && (it.kind != packInt || int64(it.u) < 0) {
		p.fail(it.off, "found %s, want unsigned", packNames[it.kind])
		return 0
	}
	if it.u > math.MaxUint32 {
		p.fail(it.off, "%d does not fit 32 bits", it.u)
		return 0
	}
	return uint32(it.u)
}

// enter and leave bracket the elements of an array or map.
func (p *pack) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.off, "nested deeper than %d levels", maxDepth)
	}
	return p.err == nil
}

func (p *pack) leave() { p.depth-- }

// eachKey calls f for each pair of a map, after its key; f must read or skip the value.
func (p *pack) eachKey(f func(key string)) {
	it, ok := p.expect(packMap)
	if !ok || !p.enter() {
		return
	}
	for i := uint64(0); i < it.u && p.err == nil; i++ {
		k := p.next()
		if p.err != nil {
			break
		}
		if k.kind != packStr {
			p.skipRest(k) // a key of another kind is no key of ours
			p.skip()
			continue
		}
		f(string(k.s))
	}
	p.leave()
}

// each calls f for each element of an array; f must read or skip it. n is the number of elements.
func (p *pack) each(f func(i, n int)) {
	it, ok := p.expect(packArray)
	if !ok || !p.enter() {
		return
	}
	for i := 0; i < int(it.u) && p.err == nil; i++ {
		f(i, int(it.u))
	}
	p.leave()
}

// skip passes over one item of any kind.
func (p *pack) skip() { p.skipRest(p.next()) }

func (p *pack) skipRest(it item) {
	n := it.u
	switch it.kind {
	case packMap:
		n *= 2
	case packArray:
	default:
		return
	}
	if p.err != nil || !p.enter() {
		return
	}
	for ; n > 0 && p.err == nil; n-- {
		p.skip()
	}
	p.leave()
}

var le = binary.LittleEndian
