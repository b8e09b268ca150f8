package jit

import (
	"math/bits"

	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// put adds a node.
func (u *affine) put(n anode) int {
	if i, ok := u.same[n]; ok {
		return i
	}
	u.nodes = append(u.nodes, n)
	u.same[n] = len(u.nodes) - 1
	if len(u.nodes) > 200 {
		refuse("too long")
	}
	return len(u.nodes) - 1
}

func (u *affine) num(x uint64) int { return u.put(anode{op: anConst, imm: x}) }

// constant tells whether a node is one.
func (u *affine) constant(i int) (uint64, bool) {
	return u.nodes[i].imm, u.nodes[i].op == anConst
}

func (u *affine) bin(op anodeOp, a, b int) int {
	x, ka := u.constant(a)
	y, kb := u.constant(b)
	switch {
	case ka && kb:
		switch op {
		case anAdd:
			return u.num(x + y)
		case anSub:
			return u.num(x - y)
		case anMul:
			return u.num(uint64(uint32(x)) * uint64(uint32(y)))
		case anAnd:
			return u.num(x & y)
		case anOr:
			return u.num(x | y)
		case anXor:
			return u.num(x ^ y)
		}
	case ka && op != anSub:
		a, b, y, ka, kb = b, a, x, false, true
	}
	if kb && y == 0 && (op == anAdd || op == anSub || op == anOr || op == anXor) {
		return a
	}
	if op != anSub && !kb && b < a {
		a, b = b, a
	}
	return u.put(anode{op: op, a: a, b: b})
}

func (u *affine) shift(op anodeOp, a int, n uint64) int {
	if n == 0 {
		return a
	}
	if x, ok := u.constant(a); ok {
		if op == anShl {
			return u.num(x << n)
		}
		return u.num(x >> n)
	}
	return u.put(anode{op: op, a: a, imm: n})
}

const low32 = 1<<32 - 1

func (u *affine) low(a int) int { return u.bin(anAnd, a, u.num(low32)) }

// input is the node of 32 bits of each lane at rm.
func (u *affine) input(rm x86.RM) int {
	for i, x := range u.inputs {
		if x.rm == rm {
			return u.put(anode{op: anIn, a: i})
		}
	}
	u.inputs = append(u.inputs, ainput{rm: rm})
	return u.put(anode{op: anIn, a: len(u.inputs) - 1})
}

// zero asks for a value that is the same in all lanes of a strip.
func (u *affine) zero(i int) {
	n := &u.nodes[i]
	switch n.op {
	case anConst, anU32, anU64:
	case anIn:
		u.inputs[n.a].zero = true
	case anInPair:
		u.inputs[n.a].zero, u.inputs[n.b].zero = true, true
	case anShl:
		u.zero(n.a)
	case anShr: // of a high half, which is; or of one that was asked for
	default:
		a, b := n.a, n.b
		u.zero(a)
		u.zero(b)
	}
}

// bounds gives the greatest step of each node.
func (u *affine) bounds() []uint64 {
	all := make([]uint64, len(u.nodes))
	for i, n := range u.nodes {
		x := uint64(0)
		switch n.op {
		case anIn, anInPair:
			if !u.inputs[n.a].zero {
				x = maxStep
			}
		case anAdd:
			x = all[n.a] + all[n.b]
		case anSub, anAnd:
			x = all[n.a]
		case anOr:
			x = max(all[n.a], all[n.b])
		case anMul:
			if all[n.a] > 0 {
				x = all[n.a] * u.nodes[n.b].imm
			}
		case anShl:
			if x = all[n.a]; bits.Len64(x)+int(n.imm) > 62 && x > 0 {
				x = 1 << 62
			} else {
				x <<= n.imm
			}
		}
		all[i] = min(x, 1<<62)
	}
	return all
}

func (u *affine) bound(i int) uint64 { return u.bounds()[i] }

func (u *affine) guard(kind aguardKind, x, y, n int) {
	g := aguard{kind, x, y, n}
	for _, h := range u.guards {
		if h == g {
			return
		}
	}
	u.guards = append(u.guards, g)
}
