// Package segment is an ordered set of disjoint ranges of addresses, each with a value: what interval trees are used for
// in the kernel.
//
// Segments are kept in a list of chunks of bounded length, so that finding one takes two binary searches and inserting or
// removing one moves a few hundred entries at most, also when there are a million. Not safe for concurrent use.
package segment

import (
	"fmt"
	"iter"
	"sort"
)

// Seg is the range [Start, End) and its value.
type Seg[V any] struct {
	Start, End uint64
	Value      V
}

// chunkMax bounds the length of a chunk; a full one is split in two.
const chunkMax = 256

// Set is a set of segments. The zero value is empty.
type Set[V any] struct {
	chunks [][]Seg[V] // none empty
	n      int
	moved  int // segments and chunks that insertions and removals have moved: what they cost
}

// Len returns the number of segments.
func (s *Set[V]) Len() int { return s.n }

// locate returns the position of the first segment that ends above addr: chunk and index; c == len(chunks) when none.
func (s *Set[V]) locate(addr uint64) (c, i int) {
	c = sort.Search(len(s.chunks), func(c int) bool {
		ch := s.chunks[c]
		return ch[len(ch)-1].End > addr
	})
	if c == len(s.chunks) {
		return c, 0
	}
	ch := s.chunks[c]
	return c, sort.Search(len(ch), func(i int) bool { return ch[i].End > addr })
}

// Find returns the segment that contains addr.
func (s *Set[V]) Find(addr uint64) (Seg[V], bool) {
	if g, ok := s.Next(addr); ok && g.Start <= addr {
		return g, true
	}
	return Seg[V]{}, false
}

// Next returns the first segment that ends above addr.
func (s *Set[V]) Next(addr uint64) (Seg[V], bool) {
	c, i := s.locate(addr)
	if c == len(s.chunks) {
		return Seg[V]{}, false
	}
	return s.chunks[c][i], true
}

// Prev returns the last segment that ends at or below addr.
func (s *Set[V]) Prev(addr uint64) (Seg[V], bool) {
	c, i := s.locate(addr)
	switch {
	case i > 0:
		return s.chunks[c][i-1], true
	case c > 0:
		ch := s.chunks[c-1]
		return ch[len(ch)-1], true
	}
	return Seg[V]{}, false
}

// All yields the segments that overlap [start, end), in order. The set must not be changed meanwhile.
func (s *Set[V]) All(start, end uint64) iter.Seq[Seg[V]] {
	return func(yield func(Seg[V]) bool) {
		c, i := s.locate(start)
		for ; c < len(s.chunks); c, i = c+1, 0 {
			for ch := s.chunks[c]; i < len(ch); i++ {
				if ch[i].Start >= end || !yield(ch[i]) {
					return
				}
			}
		}
	}
}

// Cover yields pieces that together are exactly [start, end), in order: segments clipped to it, and the holes between
// them, for which ok is false. The set must not be changed meanwhile.
func (s *Set[V]) Cover(start, end uint64) iter.Seq2[Seg[V], bool] {
	return func(yield func(Seg[V], bool) bool) {
		at := start
		for g := range s.All(start, end) {
			if g.Start > at && !yield(Seg[V]{Start: at, End: g.Start}, false) {
				return
			}
			g.Start, g.End = max(g.Start, start), min(g.End, end)
			if !yield(g, true) {
				return
			}
			at = g.End
		}
		if at < end {
			yield(Seg[V]{Start: at, End: end}, false)
		}
	}
}

// Insert adds a segment. It panics if it is empty or overlaps another: who inserts has looked.
func (s *Set[V]) Insert(start, end uint64, v V) {
	c, i := s.locate(start)
	if start >= end || c < len(s.chunks) && s.chunks[c][i].Start < end {
		panic(fmt.Sprintf("segment: [%#x, %#x) is empty or overlaps", start, end))
	}
	s.n++
	g := Seg[V]{start, end, v}
	if c == len(s.chunks) {
		if c == 0 {
			s.chunks = append(s.chunks, []Seg[V]{g})
			return
		}
		c--
		i = len(s.chunks[c])
	}
	ch := append(s.chunks[c], Seg[V]{})
	s.moved += copy(ch[i+1:], ch[i:])
	ch[i] = g
	s.chunks[c] = ch
	if len(ch) > chunkMax {
		half := append(make([]Seg[V], 0, chunkMax+1), ch[len(ch)/2:]...)
		s.chunks[c] = ch[: len(ch)/2 : len(ch)/2]
		s.chunks = append(s.chunks, nil)
		s.moved += len(half) + copy(s.chunks[c+2:], s.chunks[c+1:])
		s.chunks[c+1] = half
	}
}

// Remove takes the segment that contains addr out; false when there is none.
func (s *Set[V]) Remove(addr uint64) bool {
	c, i := s.locate(addr)
	if c == len(s.chunks) || s.chunks[c][i].Start > addr {
		return false
	}
	s.n--
	ch := s.chunks[c]
	s.chunks[c] = append(ch[:i], ch[i+1:]...)
	s.moved += len(ch) - i
	if len(s.chunks[c]) == 0 {
		s.moved += len(s.chunks) - c
		s.chunks = append(s.chunks[:c], s.chunks[c+1:]...)
	}
	return true
}

// SplitAt makes addr a boundary: a segment that crosses it becomes two with the same value.
func (s *Set[V]) SplitAt(addr uint64) {
	c, i := s.locate(addr)
	if c == len(s.chunks) || s.chunks[c][i].Start >= addr {
		return
	}
	g := s.chunks[c][i]
	s.chunks[c][i].End = addr
	s.Insert(addr, g.End, g.Value)
}

// Set gives the segment that contains addr a new value; false when there is none.
func (s *Set[V]) Set(addr uint64, v V) bool {
	c, i := s.locate(addr)
	if c == len(s.chunks) || s.chunks[c][i].Start > addr {
		return false
	}
	s.chunks[c][i].Value = v
	return true
}

// Clear removes everything in [start, end), splitting what crosses the bounds.
func (s *Set[V]) Clear(start, end uint64) {
	s.SplitAt(start)
	s.SplitAt(end)
	for {
		g, ok := s.Next(start)
		if !ok || g.Start >= end {
			return
		}
		s.Remove(g.Start)
	}
}
