// Package buddy is an allocator of address ranges in power-of-two blocks.
//
// # How Linux does it
//
// amdgpu's VRAM manager sits on the DRM buddy allocator (drivers/gpu/drm/drm_buddy.c). The range is a forest of binary
// trees: a block of order n covers 4 KiB << n and is either free, allocated, or split into two buddies of order n-1. A
// request takes the largest blocks that fit until it is satisfied, so a buffer is a list of blocks; with the contiguous flag it is one
// block of the next power of two whose unused tail is given back. Freeing a block whose buddy is free joins the two.
//
// # How this package does it
//
// The same, without the tracking of cleared blocks: who frees makes the memory zero. Free lists are last-in first-out, so that
// one sequence of calls always gives the same addresses. Not safe for concurrent use.
package buddy

import (
	"errors"
	"fmt"
	"math/bits"
)

// MinShift is the log2 of the smallest block in bytes.
const MinShift = 12

// ErrNoSpace means that no combination of free blocks satisfies a request (ENOSPC).
var ErrNoSpace = errors.New("buddy: no space")

// ErrBadRequest means that a size or alignment makes no sense (EINVAL).
var ErrBadRequest = errors.New("buddy: bad request")

const maxOrder = 51

type state uint8

const (
	free state = iota
	allocated
	split
)

type node struct {
	off         uint64
	order       uint8
	state       state
	parent      *node
	left, right *node
	prev, next  *node // of the free list
}

// Block is an allocated range. Its offset is a multiple of its size unless it was trimmed from a contiguous request.
type Block struct {
	Off, Size uint64
	n         *node
}

// Allocator hands out a range that starts at 0.
type Allocator struct {
	size  uint64
	avail uint64
	lists [maxOrder + 1]*node
}

// New returns an allocator of size bytes; a rest of less than 4 KiB is left out.
func New(size uint64) *Allocator {
	a := &Allocator{size: size &^ (1<<MinShift - 1)}
	for off := uint64(0); off < a.size; {
		// The largest block that fits here and is aligned.
		order := bits.Len64(a.size-off) - 1
		if off != 0 {
			order = min(order, bits.TrailingZeros64(off))
		}
		n := &node{off: off, order: uint8(order - MinShift)}
		a.push(n)
		off += n.size()
	}
	a.avail = a.size
	return a
}

func (n *node) size() uint64 { return 1 << (n.order + MinShift) }

func (a *Allocator) push(n *node) {
	n.state = free
	n.prev, n.next = nil, a.lists[n.order]
	if n.next != nil {
		n.next.prev = n
	}
	a.lists[n.order] = n
}

func (a *Allocator) unlink(n *node) {
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		a.lists[n.order] = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	n.prev, n.next = nil, nil
}

// Size is the number of bytes that are managed, Avail that of free ones.
func (a *Allocator) Size() uint64  { return a.size }
func (a *Allocator) Avail() uint64 { return a.avail }

// Largest is the size of the largest free block, 0 when nothing is free.
func (a *Allocator) Largest() uint64 {
	for o := maxOrder; o >= 0; o-- {
		if a.lists[o] != nil {
			return a.lists[o].size()
		}
	}
	return 0
}

// Alloc returns blocks of together size bytes (rounded up to 4 KiB), each aligned to align (0: 4 KiB; a power of two).
// contiguous asks for one block. On error nothing is allocated.
func (a *Allocator) Alloc(size, align uint64, contiguous bool) ([]Block, error) {
	if size == 0 || align&(align-1) != 0 || size > 1<<62 {
		return nil, ErrBadRequest
	}
	size = (size + 1<<MinShift - 1) &^ (1<<MinShift - 1)
	align = max(align, 1<<MinShift)
	if size > a.avail {
		return nil, ErrNoSpace
	}
	minOrder := bits.TrailingZeros64(align) - MinShift
	if contiguous {
		order := max(bits.Len64(size-1), MinShift) - MinShift
		n := a.take(max(order, minOrder))
		if n == nil {
			return nil, ErrNoSpace
		}
		a.avail -= n.size()
		return a.trim(n, size), nil
	}
	var out []Block
	for left := size; left > 0; {
		order := max(bits.Len64(left)-1-MinShift, minOrder)
		n := a.take(order)
		for n == nil && order > minOrder {
			order--
			n = a.take(order)
		}
		if n == nil {
			a.Free(out)
			return nil, ErrNoSpace
		}
		a.avail -= n.size()
		if n.size() > left {
			out = append(out, a.trim(n, left)...)
			break
		}
		out = append(out, Block{n.off, n.size(), n})
		left -= n.size()
	}
	return out, nil
}

// take removes a free block of the order, splitting a larger one if need be.
func (a *Allocator) take(order int) *node {
	for o := order; o <= maxOrder; o++ {
		n := a.lists[o]
		if n == nil {
			continue
		}
		a.unlink(n)
		for int(n.order) > order {
			n = a.split(n)
		}
		n.state = allocated
		return n
	}
	return nil
}

// split divides n, frees its right half and returns the left one, which is on no list.
func (a *Allocator) split(n *node) *node {
	n.state = split
	n.left = &node{off: n.off, order: n.order - 1, parent: n}
	n.right = &node{off: n.off + n.left.size(), order: n.order - 1, parent: n}
	a.push(n.right)
	return n.left
}

// trim gives back all of n but its first size bytes and returns the blocks that are left, in order of address.
func (a *Allocator) trim(n *node, size uint64) []Block {
	if size == n.size() {
		return []Block{{n.off, size, n}}
	}
	l := a.split(n)
	half := l.size()
	if size <= half {
		// split has freed the right half.
		a.avail += half
		l.state = allocated
		return a.trim(l, size)
	}
	a.unlink(n.right)
	l.state, n.right.state = allocated, allocated
	return append([]Block{{l.off, half, l}}, a.trim(n.right, size-half)...)
}

// Free returns blocks. Blocks not allocated from a, or freed before, panic: it is the caller's bookkeeping that is broken.
func (a *Allocator) Free(blocks []Block) {
	for _, b := range blocks {
		n := b.n
		if n == nil || n.state != allocated {
			panic(fmt.Sprintf("buddy: block at %#x is not allocated", b.Off))
		}
		a.avail += n.size()
		for n.parent != nil {
			p := n.parent
			other := p.left
			if other == n {
				other = p.right
			}
			if other.state != free {
				break
			}
			a.unlink(other)
			n.state = free
			p.left, p.right = nil, nil
			n = p
		}
		a.push(n)
	}
}
