package jit

// useNode is one use of a component in a run of operations. Lists of them begin with the first; index 0 is the end of each.
type useNode struct {
	pos  int32 // of the operation in the run
	next int32
}

// notUsed is the position of a use that there is not.
const notUsed = 1 << 30

// nextUse is the position of the first use after pos in the list at *first, or notUsed. What lies before is dropped: pos only grows.
func nextUse(nodes []useNode, first *int32, pos int) int {
	i := *first
	for int(nodes[i].pos) <= pos {
		i = nodes[i].next
	}
	*first = i
	return int(nodes[i].pos)
}

// listSpan is a piece lo ≤ i < hi of a list.
type listSpan struct{ lo, hi int32 }
