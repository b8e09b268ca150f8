package hip

import "slices"

// position is how far each lane must have come: steps of the lane, 0 where the list is too short.
type position []int

func (p position) at(l int) int {
	if l < len(p) {
		return p[l]
	}
	return 0
}

// merged returns what is behind both positions.
func (p position) merged(o position) position {
	m := make(position, max(len(p), len(o)))
	for l := range m {
		m[l] = max(p.at(l), o.at(l))
	}
	return m
}

// planner lays nodes out on lanes.
type planner struct {
	a      *API
	x      *graphExec
	steps  [][]int            // by lane: indices of steps
	known  []position         // by lane: what its last step comes after, itself included
	behind map[*node]position // what must be done before what depends on a node
	last   []*node            // by lane
}

// plan lays the graph out.
func (x *graphExec) plan(a *API) {
	p := &planner{a: a, x: x, behind: map[*node]position{}}
	p.graph(x.g, nil)
}

// graph lays out a graph all of whose nodes come after a position, and returns the position behind all of it.
func (p *planner) graph(g *graph, from position) (end position) {
	order, _ := g.order()
	end = from
	for _, n := range order {
		need := from
		for _, d := range n.deps {
			need = need.merged(p.behind[d])
		}
		var done position
		switch op := n.op.(type) {
		case emptyOp:
			done = need
		case *childOp:
			done = p.graph(op.g, need)
		default:
			done = p.place(n, need)
		}
		p.behind[n] = done
		end = end.merged(done)
	}
	return end
}

// lane chooses where a node goes: behind the last step of a lane if it depends on that, because then nothing has to be waited for; else on a lane of its own
// while there may be more; else where least is to be done.
func (p *planner) lane(n *node) int {
	lanes := &p.x.lanes
	dev := p.a.devices()[p.x.g.dev]
	k, pinned := n.op.(*kernelOp)
	if pinned {
		dev = p.a.devices()[k.dev]
	}
	least := -1
	for l := range *lanes {
		if pinned && (*lanes)[l].dev != dev {
			continue
		}
		if slices.Contains(n.deps, p.last[l]) {
			return l
		}
		if least < 0 || len(p.steps[l]) < len(p.steps[least]) {
			least = l
		}
	}
	if len(*lanes) < maxLanes || least < 0 {
		*lanes = append(*lanes, lane{dev: dev})
		p.steps, p.known, p.last = append(p.steps, nil), append(p.known, nil), append(p.last, nil)
		return len(*lanes) - 1
	}
	return least
}

// place puts a node on a lane, and returns the position behind it.
func (p *planner) place(n *node, need position) position {
	x, l := p.x, p.lane(n)
	s := step{n: n, lane: l}
	for o := range need {
		if o != l && need[o] > p.known[l].at(o) {
			w := p.steps[o][need[o]-1]
			x.steps[w].mark = true
			s.waits = append(s.waits, w)
		}
	}
	x.steps = append(x.steps, s)
	p.steps[l] = append(p.steps[l], len(x.steps)-1)
	p.last[l] = n
	own := make(position, l+1)
	own[l] = len(p.steps[l])
	p.known[l] = p.known[l].merged(need).merged(own)
	return p.known[l]
}
