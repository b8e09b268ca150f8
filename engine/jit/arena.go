package jit

import "github.com/pumice-gpu/pumice/engine/ir"

// arena is memory for what one compilation makes many of and forgets at its end. It is handed out from chunks that stay where
// they are, and used again by the next compilation.
type arena struct {
	values chunks[ir.Value]
	idents chunks[ir.ID]
}

func (a *arena) reset() {
	a.values.reset()
	a.idents.reset()
}

// newValue is a copy of v.
func (a *arena) newValue(v ir.Value) *ir.Value {
	p := &a.values.take(1)[0]
	*p = v
	return p
}

// ids is a list of its own.
func (a *arena) ids(l ...ir.ID) []ir.ID {
	s := a.idents.take(len(l))
	copy(s, l)
	return s
}

// rooms is memory for what stays with a Program, in chunks because there is much of it.
type rooms struct {
	infos  chunks[helperInfo]
	lists  chunks[[]place]
	places chunks[place]
}

// chunks hands out slices; after a reset what they hold at first is not said.
type chunks[T any] struct {
	all  [][]T
	at   int // index of the chunk in use
	used int // of it
}

// A chunk holds that many at least: few at first, for there are many small functions.
const firstChunk, laterChunk = 32, 256

func (c *chunks[T]) reset() { c.at, c.used = 0, 0 }

func (c *chunks[T]) take(n int) []T {
	for {
		if c.at == len(c.all) {
			size := laterChunk
			if c.at == 0 {
				size = firstChunk
			}
			c.all = append(c.all, make([]T, max(n, size)))
		}
		if b := c.all[c.at]; c.used+n <= len(b) {
			c.used += n
			return b[c.used-n : c.used : c.used]
		}
		c.at, c.used = c.at+1, 0
	}
}
