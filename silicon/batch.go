package silicon

import (
	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Work-groups that follow one another along X and are whole differ in their id only. When their waves run straight to their end, the
// engine runs many in one go (engine.Batcher), without the group's registers being set up for each. What it leaves is launched here
// as usual.

// batchPlan is how the work-groups of a dispatch are run in batches.
type batchPlan struct {
	ok    bool
	x     []int
	items []engine.ItemSeries
}

// newBatchPlan works out the plan of k.
func newBatchPlan(k *dispatch) (p batchPlan) {
	if k.perWave > 0 || k.total < 2 || k.desc.WorkgroupInfo() || k.ids.regs == 0 {
		return p
	}
	if k.target.WGIDinTTMP {
		p.x = []int{isa.SRegTTMP0 + 9}
	} else {
		p.x = []int{isa.SRegTTMP0 + 8}
		if n := len(k.user); k.desc.WorkgroupID(0) && n < isa.SRegVCCLo {
			p.x = append(p.x, n)
		}
	}
	t := &k.ids
	if int(k.Workgroup[0]*k.Workgroup[1]*k.Workgroup[2])%k.lanes != 0 {
		return p
	}
	for r := range t.regs {
		s := engine.ItemSeries{First: make([]uint32, k.waves)}
		for w := range k.waves {
			v := t.v[(w*t.regs+r)*k.lanes:][:k.lanes]
			s.First[w] = v[0]
			step := v[1] - v[0]
			if w == 0 {
				s.Step = step
			}
			for l, x := range v {
				if x != v[0]+uint32(l)*s.Step {
					return p
				}
			}
		}
		p.items = append(p.items, s)
	}
	p.ok = true
	return p
}

// batch runs work-groups of g's share from g.index on in batches, as far as the engine does. It reports true when none is left; else
// g.index is the next one to launch, of which g.skip waves have ended.
func (g *group) batch(e engine.Worker, h *hold) (finished bool) {
	k := g.k
	b, ok := e.(engine.Batcher)
	if !ok || !k.batch.ok {
		return false
	}
	gx := uint64(k.groups[0])
	for !k.sched.stop.Load() {
		// The last group of a row or a column may be smaller.
		x, yz := g.index%gx, g.index/gx
		y, z := yz%uint64(k.groups[1]), yz/uint64(k.groups[1])
		whole := func(i int, at uint64) uint64 { return max(uint64(k.Grid[i]/k.Workgroup[i]), at) - at }
		n := min(g.share+1, whole(0, x))
		if whole(1, y) == 0 || whole(2, z) == 0 {
			n = 0
		}
		if n < 2 {
			return false
		}
		g.id = [3]uint32{uint32(x), uint32(y), uint32(z)}
		g.size, g.n = k.Workgroup, k.waves
		if !g.used {
			g.bind()
		}
		w := &g.waves[0]
		w.PC, w.Resume = k.Entry, 0
		g.scalars(w)
		w.SetEXEC(^uint64(0) >> (64 - k.lanes))
		h.take(w.Space)
		done := b.RunBatch(&engine.Batch{W: w, Groups: int(n), Waves: k.waves, X: k.batch.x, Items: k.batch.items})
		groups := uint64(done / k.waves)
		g.skip = done % k.waves
		g.ended += groups
		if groups == g.share+1 {
			g.index += g.share
			g.share = 0
			return true
		}
		g.index += groups
		g.share -= groups
		if done < k.waves || g.skip > 0 {
			return false
		}
	}
	return false
}
