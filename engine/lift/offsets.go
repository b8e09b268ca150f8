package lift

import "slices"

// offsets remembers things by the offset of an instruction. Code is dense in a few places, so they are kept by page.
type offsets struct {
	pages map[uint32]*offsetPage
	key   uint32 // of the page last asked for
	page  *offsetPage
	n     int // instructions seen

	leaders int // blocks
	spare   []*offsetPage
}

// release gives the pages back, for use by another.
func (t *offsets) release() []*offsetPage {
	for _, p := range t.pages {
		t.spare = append(t.spare, p)
	}
	return t.spare[:min(len(t.spare), 16)]
}

const offsetPageShift = 12 // of bytes of code

// offsetPage is what is known of the words of a page of code.
type offsetPage struct {
	size   [1 << (offsetPageShift - 2)]uint8 // of the instruction there, 0 if none is
	leader [1 << (offsetPageShift - 2)]bool  // a block begins there
	block  [1 << (offsetPageShift - 2)]int32 // its index plus one
}

// at returns the page of off and off's place in it.
func (t *offsets) at(off uint32) (*offsetPage, uint32) {
	if key := off >> offsetPageShift; t.page == nil || key != t.key {
		p := t.pages[key]
		if p == nil {
			if t.pages == nil {
				t.pages = map[uint32]*offsetPage{}
			}
			if n := len(t.spare); n > 0 {
				p, t.spare = t.spare[n-1], t.spare[:n-1]
				*p = offsetPage{}
			} else {
				p = &offsetPage{}
			}
			t.pages[key] = p
		}
		t.key, t.page = key, p
	}
	return t.page, off >> 2 & (1<<(offsetPageShift-2) - 1)
}

// sizeAt is the size of the instruction at off, 0 when there is none.
func (t *offsets) sizeAt(off uint32) uint32 {
	p, i := t.at(off)
	return uint32(p.size[i])
}

// see notes an instruction at off.
func (t *offsets) see(off, size uint32) {
	p, i := t.at(off)
	p.size[i] = uint8(size)
	t.n++
}

// lead notes that a block begins at off.
func (t *offsets) lead(off uint32) {
	p, i := t.at(off)
	if !p.leader[i] {
		p.leader[i] = true
		t.leaders++
	}
}

// setBlock notes the index of the block that begins at off.
func (t *offsets) setBlock(off uint32, n int) {
	p, i := t.at(off)
	p.block[i] = int32(n + 1)
}

// blockAt is the index of the block that begins at off.
func (t *offsets) blockAt(off uint32) (n int, ok bool) {
	p, i := t.at(off)
	return int(p.block[i]) - 1, p.block[i] != 0
}

// insts calls f for every instruction, in the order of their signed offsets.
func (t *offsets) insts(f func(off, size uint32, leader bool)) {
	keys := make([]uint32, 0, len(t.pages))
	for k := range t.pages {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b uint32) int {
		return int(int32(a<<offsetPageShift)>>offsetPageShift) - int(int32(b<<offsetPageShift)>>offsetPageShift)
	})
	for _, k := range keys {
		p := t.pages[k]
		for i, size := range p.size {
			if size != 0 {
				f(k<<offsetPageShift+uint32(i)<<2, uint32(size), p.leader[i])
			}
		}
	}
}
