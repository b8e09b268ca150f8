package silicon

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Work-groups that follow one another along X and are whole differ in their id only. When their waves run straight to their end, the
// engine runs many in one go (engine.Batcher), without the group's registers being set up for each. What it leaves is launched here
// as usual.

// batchPlan is how the work-groups of a dispatch are run in batches.
type batchPlan struct {
	ok bool
	n  int
	x  [2]int // the first n are scalar registers that are one more in each group

	hits, misses atomic.Int32 // batches in which waves ran, and others
	never        atomic.Bool  // there will be none
}

// runs tells whether batches of the dispatch have run.
func (p *batchPlan) runs() bool { return p.hits.Load() > 0 }

// hopeless tells whether trying costs more than it gives: the code has no form for it, or its waves do not fit. Those of a whole row of work-groups may
// not, and then the next rows' do: they are at the edge of something.
func (p *batchPlan) hopeless() bool {
	return p.never.Load() || p.misses.Load() > 64+4*p.hits.Load()
}

// init works out the plan of k.
func (p *batchPlan) init(k *dispatch) {
	if k.perWave > 0 || k.total < 2 || k.desc.WorkgroupInfo() || k.ids.series == nil {
		return
	}
	p.x[0] = isa.SRegTTMP0 + 8
	if k.target.WGIDinTTMP {
		p.x[0]++
	} else if n := len(k.user); k.desc.WorkgroupID(0) && n < isa.SRegVCCLo {
		p.x[1], p.n = n, 1
	}
	p.n++
	p.ok = true
}

// batch runs work-groups of g's share from g.index on in batches, as far as the engine does. It reports true when none is left; else
// g.index is the next one to launch, of which g.skip waves have ended.
func (g *group) batch(e engine.Worker, h *hold) (finished bool) {
	k := g.k
	b, ok := e.(engine.Batcher)
	if !ok || !k.batch.ok || k.batch.hopeless() {
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
		if n < 1 {
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
		g.run = engine.Batch{W: w, Groups: int(n), Total: k.total, Waves: k.waves, X: k.batch.x[:k.batch.n], Items: k.ids.series}
		done := b.RunBatch(&g.run)
		switch {
		case done < 0:
			k.batch.never.Store(true)
			return false
		case done == 0:
			k.batch.misses.Add(1)
			return false
		}
		k.batch.hits.Add(1)
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
