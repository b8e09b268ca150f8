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

// chunks hands out slices; what they hold at first is not said.
type chunks[T any] struct {
	all  [][]T
	at   int // the chunk in use
	used int // of it
}

// chunkLen is how many a chunk holds at least.
const chunkLen = 512

func (c *chunks[T]) reset() { c.at, c.used = 0, 0 }

func (c *chunks[T]) take(n int) []T {
	for {
		if c.at == len(c.all) {
			c.all = append(c.all, make([]T, max(n, chunkLen)))
		}
		if b := c.all[c.at]; c.used+n <= len(b) {
			c.used += n
			return b[c.used-n : c.used : c.used]
		}
		c.at, c.used = c.at+1, 0
	}
}
