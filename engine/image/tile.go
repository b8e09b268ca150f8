package image

import "fmt"

// tile is a layout of blocks: for each bit of a byte offset in a block, which coordinate bit it is. Bits of the texel's
// own bytes come first and are none.
type tile struct {
	log2          int // of the block's bytes
	bits          [18]coord
	w, h, d       int // log2 of a block's size in texels
	thick         bool
	bytesPerTexel int
}

// coord is one bit of x, y or z.
type coord struct {
	axis uint8 // 'x', 'y', 'z'; 0: a bit inside the texel
	bit  uint8
}

// The order in which coordinate bits fill a micro block, least significant first, by log2 of the texel's bytes: of 256
// bytes (S: standard, D: display, R: rotated), and of 1 KiB for the standard and Z order of three-dimensional images.
var (
	standard2 = [5]string{"xxxxyyyy", "xxxyyyx", "xxyyyx", "xyyxx", "yyxx"}
	rotated2  = [5]string{"yyyxxxxy", "yyyxxxx", "yyxyxx", "yxyxx", "yyxx"}
	standard3 = [5]string{"xxxxyyzzzy", "xxxyyzzzy", "xxyyzzyx", "xyyzzxx", "yyzzxx"}
	zorder3   = [5]string{"xyxyzzxzyx", "xyxyzzzyx", "xyxzyzyx", "xyzxzyx", "xyzzyx"}
	// In the display order bits do not always come in their own order.
	display2 = [5][]coord{
		{{'x', 0}, {'x', 1}, {'x', 2}, {'y', 1}, {'y', 0}, {'y', 2}, {'x', 3}, {'y', 3}},
		{{'x', 0}, {'x', 1}, {'x', 2}, {'y', 0}, {'y', 1}, {'y', 2}, {'x', 3}},
		{{'x', 0}, {'x', 1}, {'y', 0}, {'x', 2}, {'y', 1}, {'y', 2}},
		{{'x', 0}, {'y', 0}, {'x', 1}, {'x', 2}, {'y', 1}},
		{{'x', 0}, {'y', 0}, {'x', 1}, {'y', 1}},
	}
)

// order is the family of a layout.
type order uint8

const (
	orderZ order = iota
	orderS
	orderD
	orderR
)

// layoutOf is the layout of a swizzle mode.
func layoutOf(gen int, mode uint32, threeD bool, bytes int) (t tile, linear bool, err error) {
	if mode == 0 {
		return t, true, nil
	}
	if bytes&(bytes-1) != 0 {
		return t, false, &Error{fmt.Sprintf("texels of %d bytes cannot be tiled", bytes)}
	}
	var o order
	size := 0
	if gen >= 12 {
		o = orderS
		if mode > 7 {
			return t, false, &Error{fmt.Sprintf("swizzle mode %d is reserved", mode)}
		}
		size = []int{0, 8, 12, 16, 18, 12, 16, 18}[mode]
		threeD = mode >= 5
	} else {
		o = order(mode & 3)
		switch {
		case mode < 4:
			size = 8
		case mode < 8 || mode >= 20 && mode < 24:
			size = 12
		case mode >= 28 && gen >= 11:
			size = 18
		case mode >= 12 && mode < 16 || mode >= 28:
			return t, false, &Error{fmt.Sprintf("swizzle mode %d (variable block size) is not implemented", mode)}
		default:
			size = 16
		}
		if o == orderR && gen >= 10 { // render order there, not rotated
			o = orderZ
		}
	}
	// Blocks of a three-dimensional image are thick in two orders; in the others it is slice by slice.
	k := order(mode & 3)
	thick := threeD && (gen >= 12 || k == orderS || gen >= 10 && k == orderD || gen <= 9 && k == orderZ)
	if thick && k == orderD {
		o = orderS
	}
	return newTile(size, o, thick, bytes), false, nil
}

// newTile makes the layout of blocks of 1<<size bytes.
func newTile(size int, o order, thick bool, bytes int) tile {
	t := tile{log2: size, thick: thick, bytesPerTexel: bytes}
	e := 0
	for 1<<e < bytes {
		e++
	}
	var used [3]uint8
	at := e
	add := func(axis byte) {
		k := axis - 'x'
		t.bits[at] = coord{axis, used[k]}
		used[k]++
		at++
	}
	micro := ""
	switch {
	case thick && o == orderZ:
		micro = zorder3[e]
	case thick:
		micro = standard3[e]
	case o == orderZ: // 64 bytes, x and y by turns
		for i := e; i < 6; i++ {
			micro += string("xy"[(i-e)&1])
		}
	case o == orderD:
		for _, c := range display2[e] {
			t.bits[at] = c
			used[c.axis-'x']++
			at++
		}
	case o == orderR:
		micro = rotated2[e]
	default:
		micro = standard2[e]
	}
	for i := range micro {
		if at < size {
			add(micro[i])
		}
	}
	for at < size {
		switch {
		case thick:
			add("xzy"[at%3])
		case at&1 == 0:
			add('y')
		default:
			add('x')
		}
	}
	t.w, t.h, t.d = int(used[0]), int(used[1]), int(used[2])
	return t
}

// offset is where a texel lies in an image whose rows are pitch texels and whose slices are height rows.
func (t *tile) offset(x, y, z, pitch, height int) uint64 {
	across := (pitch + 1<<t.w - 1) >> t.w
	down := (height + 1<<t.h - 1) >> t.h
	block := uint64((z>>t.d*down+y>>t.h)*across + x>>t.w)
	in := uint64(0)
	for i := range t.log2 {
		c := t.bits[i]
		var v int
		switch c.axis {
		case 'x':
			v = x
		case 'y':
			v = y
		case 'z':
			v = z
		default:
			continue
		}
		in |= uint64(v>>c.bit&1) << i
	}
	return block<<t.log2 | in
}
