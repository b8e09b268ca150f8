// Package interval is a set of ranges of addresses that may overlap, each with a value: what Linux's interval_tree is, on which
// mmu_interval_notifiers and reverse maps live. (Ranges that are disjoint are package segment's.)
//
// It is a treap ordered by start, in which each node knows the largest end below it: to find the k ranges that meet another takes about
// k + log n steps, to insert or remove one about log n. Priorities come from the order of insertion by a fixed hash, so that the same
// operations give the same tree. Not safe for concurrent use.
package interval

import "iter"

// Tree is the set. The zero value is empty.
type Tree[V any] struct {
	root  *Node[V]
	n     int
	seq   uint64
	steps int
}

// Node is a range in a Tree.
type Node[V any] struct {
	Start, End  uint64
	Value       V
	seq         uint64 // orders ranges of the same start
	prio        uint64
	max         uint64 // largest End of the node and what is below it
	left, right *Node[V]
}

// Len returns the number of ranges.
func (t *Tree[V]) Len() int { return t.n }

// Steps returns how many nodes operations have looked at so far: what they cost, for tests.
func (t *Tree[V]) Steps() int { return t.steps }

// Insert adds [start, end) and returns what Remove takes.
func (t *Tree[V]) Insert(start, end uint64, v V) *Node[V] {
	t.seq++
	n := &Node[V]{Start: start, End: end, Value: v, seq: t.seq, prio: scatter(t.seq), max: end}
	t.root = t.insert(t.root, n)
	t.n++
	return n
}

// scatter makes priorities of numbers (splitmix64's finisher).
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (n *Node[V]) before(m *Node[V]) bool {
	return n.Start < m.Start || n.Start == m.Start && n.seq < m.seq
}

// update makes max right after the children have changed.
func (n *Node[V]) update() *Node[V] {
	n.max = n.End
	if n.left != nil {
		n.max = max(n.max, n.left.max)
	}
	if n.right != nil {
		n.max = max(n.max, n.right.max)
	}
	return n
}

func (t *Tree[V]) insert(at, n *Node[V]) *Node[V] {
	if at == nil {
		return n
	}
	t.steps++
	if n.prio > at.prio {
		n.left, n.right = t.split(at, n)
		return n.update()
	}
	if n.before(at) {
		at.left = t.insert(at.left, n)
	} else {
		at.right = t.insert(at.right, n)
	}
	return at.update()
}

// split divides what is below at into what comes before n and what after.
func (t *Tree[V]) split(at, n *Node[V]) (before, after *Node[V]) {
	if at == nil {
		return nil, nil
	}
	t.steps++
	if at.before(n) {
		at.right, after = t.split(at.right, n)
		return at.update(), after
	}
	before, at.left = t.split(at.left, n)
	return before, at.update()
}

// Remove takes a range out; false when it is not in.
func (t *Tree[V]) Remove(n *Node[V]) bool {
	was := t.n
	t.root = t.remove(t.root, n)
	return t.n < was
}

func (t *Tree[V]) remove(at, n *Node[V]) *Node[V] {
	if at == nil {
		return nil
	}
	t.steps++
	if at == n {
		t.n--
		return t.join(at.left, at.right)
	}
	if n.before(at) {
		at.left = t.remove(at.left, n)
	} else {
		at.right = t.remove(at.right, n)
	}
	return at.update()
}

func (t *Tree[V]) join(a, b *Node[V]) *Node[V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	t.steps++
	if a.prio > b.prio {
		a.right = t.join(a.right, b)
		return a.update()
	}
	b.left = t.join(a, b.left)
	return b.update()
}

// Overlapping yields the ranges that meet [start, end), by start and then by age. The tree must not be changed meanwhile.
func (t *Tree[V]) Overlapping(start, end uint64) iter.Seq[*Node[V]] {
	return func(yield func(*Node[V]) bool) { t.overlapping(t.root, start, end, yield) }
}

func (t *Tree[V]) overlapping(n *Node[V], start, end uint64, yield func(*Node[V]) bool) bool {
	if n == nil {
		return true
	}
	t.steps++
	if n.max <= start {
		return true
	}
	if !t.overlapping(n.left, start, end, yield) {
		return false
	}
	if n.Start >= end {
		return true
	}
	if n.End > start && !yield(n) {
		return false
	}
	return t.overlapping(n.right, start, end, yield)
}
