package silicon

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// cus is the array of compute units, the workgroup dispatcher in front of it, and the worker threads that stand in for it.
//
// Residency follows the chip: a work-group is placed on a unit that has wave slots, VGPRs, SGPRs and LDS for it. A unit is
// a CU, or a work-group processor (two CUs that share LDS) from gfx10 on.
//
// fidelity: approximate cu-placement: registers are counted for a whole unit, not for each SIMD
type cus struct {
	dev    *Device
	target *isa.Target
	proc   *codeobj.Processor
	max    cuCost

	seq    atomic.Uint64 // changes when there may be work
	spin   atomic.Int32  // workers that look for work without sleeping
	ring   atomic.Int32  // goroutines that rang a doorbell and will look for work
	parked atomic.Int32  // work-groups that wait for a page

	mu     sync.Mutex
	units  []cuCost    // what is in use; guarded by mu
	cursor int         // unit to try first; guarded by mu
	list   []*dispatch // that have work; guarded by mu
	turn   int         // dispatch to look at first; guarded by mu
	idle   []*worker   // parked; guarded by mu
	ended  bool        // guarded by mu

	workers []*worker
	once    sync.Once
	live    sync.WaitGroup
	helper  helper
}

// cuCost is an amount of a unit's resources.
type cuCost struct{ waves, vgprs, sgprs, lds int }

func (c cuCost) plus(o cuCost) cuCost {
	return cuCost{c.waves + o.waves, c.vgprs + o.vgprs, c.sgprs + o.sgprs, c.lds + o.lds}
}

func (c cuCost) minus(o cuCost) cuCost {
	return cuCost{c.waves - o.waves, c.vgprs - o.vgprs, c.sgprs - o.sgprs, c.lds - o.lds}
}

func (c cuCost) within(m cuCost) bool {
	return c.waves <= m.waves && c.vgprs <= m.vgprs && c.sgprs <= m.sgprs && c.lds <= m.lds
}

// dispatchSched is what the workgroup dispatcher knows of a dispatch; guarded by cus.mu.
type dispatchSched struct {
	next      uint64        // work-group to start
	back      []span        // before next, but handed out and given back unstarted
	finished  uint64        // work-groups
	resident  int           // started and not finished
	running   int           // of these: on a worker now
	ready     []*group      // resident, gave their turn away
	blocked   []*group      // resident, wait for a page or for GWS, or are halted
	goal      int           // resident groups wanted
	turns     int           // given away since a group last finished or goal grew
	began     time.Duration // when the first work-group was placed
	suspended bool
	halted    bool // a wave faulted: nothing more is started
	listed    bool
	waiter    Parker // of a suspend that waits for running to become 0
	spare     []*group
	stop      atomic.Bool // suspended or halted, for running groups to see
}

// span is work-groups [from, to) of a grid.
type span struct{ from, to uint64 }

// left returns how many work-groups have not been started.
func (s *dispatchSched) left(k *dispatch) uint64 {
	n := k.total - s.next
	for _, b := range s.back {
		n += b.to - b.from
	}
	return n
}

// maxShare bounds how many work-groups a worker starts for one look at the dispatcher; of those that may run in batches (batch.go), four times as many.
const maxShare = 32

// share takes the next work-groups: one, and how many more may follow it in the same turn. Several are taken only while there are
// many for each worker. Their worker runs one after the other; when one has to wait, the rest is given back (unshare), so
// that nothing waits for a work-group that cannot start.
func (s *dispatchSched) share(k *dispatch, workers int) (first, more uint64) {
	n := uint64(1)
	switch {
	case s.goal > workers:
	case workers == 1 && k.batch.runs(): // nobody to share with
		n = 8 * maxShare
	case k.batch.runs(): // a look costs more than a few of them
		n = max(maxShare/2, min(4*maxShare, s.left(k)/uint64(4*workers)))
	case workers == 1:
		n = maxShare
	default:
		n = max(1, min(maxShare, s.left(k)/uint64(8*workers)))
	}
	if len(s.back) > 0 {
		b := &s.back[len(s.back)-1]
		first = b.from
		n = min(n, b.to-b.from)
		if b.from += n; b.from == b.to {
			s.back = s.back[:len(s.back)-1]
		}
		return first, n - 1
	}
	first = s.next
	n = min(n, k.total-s.next)
	s.next += n
	return first, n - 1
}

// unshare gives back what g has not started.
func (s *dispatchSched) unshare(g *group) {
	if g.share > 0 {
		s.back = append(s.back, span{g.index + 1, g.index + 1 + g.share})
		g.share = 0
	}
}

func (c *cus) init(d *Device, workers int) {
	c.dev = d
	if c.target = d.cfg.Target; c.target == nil {
		c.target = isa.TargetByName(d.profile.Target)
	}
	c.proc = codeobj.LookupProcessor(d.profile.Target)
	s := &d.profile.Shape
	n, per := s.CUs, 1
	if d.profile.GfxTargetVersion >= 100000 {
		n, per = (s.CUs+1)/2, 2
	}
	c.units = make([]cuCost, n)
	c.max = cuCost{
		waves: per * s.SIMDsPerCU * s.WavesPerSIMD,
		vgprs: per * s.SIMDsPerCU * s.VGPRsPerSIMD * s.WaveSize,
		sgprs: per * s.SIMDsPerCU * s.SGPRsPerSIMD,
		lds:   per * s.LDSPerCU,
	}
	for i := range workers {
		c.workers = append(c.workers, &worker{cus: c, index: i, park: d.sched.NewParker()})
	}
}

// costOf returns what one work-group takes of a unit.
func (c *cus) costOf(k *dispatch) cuCost {
	granule := 4
	switch {
	case c.target.UnifiedAcc:
		granule = 8
	case c.target.Major >= 11 && c.dev.profile.Shape.VGPRsPerSIMD == 1536:
		granule = 12 * 64 / k.lanes
	case c.target.Major >= 11 || c.target.Major == 10 && c.target.Minor >= 3:
		granule = 8 * 64 / k.lanes
	case c.target.Major == 10:
		granule = 4 * 64 / k.lanes
	}
	vgprs := k.nvgpr
	if c.target.UnifiedAcc {
		vgprs += k.nacc
	}
	vgprs = (vgprs + granule - 1) / granule * granule
	return cuCost{waves: k.waves, vgprs: k.waves * vgprs * k.lanes, sgprs: k.waves * int(k.desc.SGPRs(c.proc)), lds: k.lds}
}

func (c *cus) fits(x cuCost) bool { return x.within(c.max) }

// add makes a dispatch known to the workers.
func (c *cus) add(k *dispatch) {
	c.once.Do(c.start)
	c.mu.Lock()
	k.sched.goal = len(c.workers)
	if x := c.helper.at(k); x.batches && x.entry == k.Entry {
		k.batch.hits.Store(1)
	}
	c.enlist(k)
	c.mu.Unlock()
}

// enlist puts k on the list and wakes a worker; called with mu held.
func (c *cus) enlist(k *dispatch) {
	if !k.sched.listed {
		k.sched.listed = true
		c.list = append(c.list, k)
	}
	c.seq.Add(1)
	c.wake()
}

// wake gets one sleeping worker up, unless one is looking for work anyway; called with mu held.
func (c *cus) wake() {
	if n := len(c.idle); n > 0 && c.spin.Load() == 0 && c.ring.Load() == 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		w.park.Unpark()
	}
}

func (c *cus) start() {
	for _, w := range c.workers {
		c.live.Add(1)
		c.dev.sched.Go("worker", w.loop)
	}
}

func (c *cus) close() {
	c.mu.Lock()
	c.ended = true
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	c.seq.Add(1)
	for _, w := range idle {
		w.park.Unpark()
	}
	c.live.Wait()
	c.helper.close()
}

// outcome says what became of a work-group's turn.
type outcome uint8

const (
	groupNew     outcome = iota
	groupYields          // a wave sleeps or ran out of fuel
	groupBlocked         // every wave that is left waits for a page or for GWS, or is halted
	groupFinished
)

// next takes back group g (nil: none) after a turn and returns the group for the next one; g == nil and ok mean that there is no work now.
func (c *cus) next(g *group, o outcome) (n *group, done *dispatch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g != nil {
		done = c.take(g, o)
	}
	if c.ended {
		return nil, done
	}
	for i := range len(c.list) {
		k := c.list[(c.turn+i)%len(c.list)]
		s := &k.sched
		if s.left(k) > 0 && (s.resident < s.goal || len(s.ready) == 0) {
			if n = c.place(k); n != nil {
				break
			}
		}
		if len(s.ready) > 0 {
			n = s.ready[0]
			s.ready = s.ready[:copy(s.ready, s.ready[1:])]
			s.running++
			break
		}
	}
	if n == nil {
		return nil, done
	}
	c.turn++
	if (len(c.idle) > 0 || c.spin.Load() > 0) && c.more() {
		c.seq.Add(1)
		c.wake()
	}
	return n, done
}

// more reports whether another worker would find work; called with mu held.
func (c *cus) more() bool {
	for _, k := range c.list {
		if len(k.sched.ready) > 0 || k.sched.left(k) > 0 {
			return true
		}
	}
	return false
}

// take puts g where it belongs after a turn; it returns the dispatch when that was its last group. Called with mu held.
func (c *cus) take(g *group, o outcome) *dispatch {
	k := g.k
	s := &k.sched
	s.running--
	s.finished += g.ended
	g.ended = 0
	s.unshare(g)
	switch o {
	case groupFinished:
		c.units[g.unit] = c.units[g.unit].minus(k.cost)
		if k.perWave > 0 {
			k.shader.slots.free = append(k.shader.slots.free, g.scratch...)
		}
		s.resident--
		s.turns = 0
		if s.goal > len(c.workers) {
			s.goal--
		}
		s.spare = append(s.spare, g)
	case groupYields:
		s.ready = append(s.ready, g)
		if s.turns++; s.turns >= s.resident {
			// A whole round and nobody finished: they may wait for groups that have not started.
			s.turns = 0
			s.goal = min(2*s.goal, 1<<20)
		}
	case groupBlocked:
		if g.pages && k.vm.flushes.Load() != g.flushes {
			g.unpage()
			s.ready = append(s.ready, g)
			break
		}
		if len(g.waits) > 0 && g.released() {
			s.ready = append(s.ready, g)
			break
		}
		if g.pages {
			c.parked.Add(1)
			c.dev.poller.kick()
		}
		s.blocked = append(s.blocked, g)
	}
	if s.finished == k.total {
		s.running++ // until complete is through
		c.delist(k)
		k.keptN = k.block
		for _, g := range s.spare {
			g.tame()
		}
		n := 0
		if k.aql != nil {
			n = min(len(s.spare), len(c.workers))
		}
		for _, g := range s.spare[n:] {
			c.dev.pool.put(g.block, k.block)
		}
		k.kept, s.spare = s.spare[:n], nil
		return k
	}
	if s.running == 0 && s.waiter != nil {
		s.waiter.Unpark()
	}
	return nil
}

func (c *cus) delist(k *dispatch) {
	for i, x := range c.list {
		if x == k {
			c.list = append(c.list[:i], c.list[i+1:]...)
			break
		}
	}
	k.sched.listed = false
}

// where returns the place of a unit in the chip. Units are numbered round the shader engines, then round an engine's arrays.
func (c *cus) where(unit int) (engine, array, cu int) {
	s := &c.dev.profile.Shape
	in := unit / s.ShaderEngines
	return unit % s.ShaderEngines, in % s.ArraysPerEngine, in / s.ArraysPerEngine
}

// enabled reports whether a queue's mask lets it use a unit. A word holds a shader engine's CUs, bits 15:0 of its first array and
// 31:16 of its second; a WGP has two bits that stand together.
//
// fidelity: approximate cu-mask-xcc: engines from the ninth on (MI300X) take the words of the first eight again
func (c *cus) enabled(mask *[8]uint32, unit int) bool {
	engine, array, cu := c.where(unit)
	bits := uint32(1)
	if c.dev.profile.GfxTargetVersion >= 100000 {
		cu, bits = 2*cu, 3
	}
	return mask[engine%8]>>(cu+16*array)&bits != 0
}

// place starts the next work-group of k if a unit has room; called with mu held.
func (c *cus) place(k *dispatch) *group {
	s := &k.sched
	if k.perWave > 0 && len(k.shader.slots.free) < k.waves {
		return nil
	}
	unit := -1
	mask := k.shader.cuMask.Load()
	for i := range c.units {
		u := (c.cursor + i) % len(c.units)
		if !c.enabled(mask, u) {
			continue
		}
		if c.units[u].plus(k.cost).within(c.max) {
			unit = u
			break
		}
	}
	if unit < 0 {
		return nil
	}
	var g *group
	if n := len(s.spare); n > 0 {
		g = s.spare[n-1]
		s.spare = s.spare[:n-1]
	} else {
		b, err := c.dev.pool.get(k.block)
		if err != nil {
			return nil // the host has no memory: wait until another group ends
		}
		g = newGroup(k, b)
	}
	c.cursor = unit + 1
	c.units[unit] = c.units[unit].plus(k.cost)
	if k.perWave > 0 {
		f := k.shader.slots.free
		g.scratch = append(g.scratch[:0], f[len(f)-k.waves:]...)
		k.shader.slots.free = f[:len(f)-k.waves]
	}
	g.unit, g.fresh, g.ended = unit, true, 0
	if s.next == 0 && k.total > helpGroups {
		s.began = c.dev.sched.Now()
	}
	g.index, g.share = s.share(k, len(c.workers))
	s.resident++
	s.running++
	return g
}

// halt stops a dispatch after a fault: what runs ends its turn, nothing is started.
func (c *cus) halt(k *dispatch) {
	c.mu.Lock()
	k.sched.halted = true
	k.sched.stop.Store(true)
	c.delist(k)
	c.mu.Unlock()
}

// suspend takes a dispatch off the compute units and returns when none of its waves runs.
func (c *cus) suspend(k *dispatch) {
	p := c.dev.sched.NewParker()
	c.mu.Lock()
	s := &k.sched
	s.suspended = true
	s.stop.Store(true)
	c.delist(k)
	for s.running > 0 {
		s.waiter = p
		c.mu.Unlock()
		p.Park(-1)
		c.mu.Lock()
	}
	s.waiter = nil
	c.mu.Unlock()
}

// resume lets a suspended dispatch go on.
func (c *cus) resume(k *dispatch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := &k.sched; s.suspended && !s.halted {
		s.suspended = false
		s.stop.Store(false)
		c.enlist(k)
	}
}

// discard frees the work-groups of a suspended dispatch that will not go on.
func (c *cus) discard(k *dispatch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &k.sched
	k.vm.gws.drop(k)
	for _, l := range [][]*group{s.ready, s.blocked} {
		for _, g := range l {
			c.units[g.unit] = c.units[g.unit].minus(k.cost)
			if k.perWave > 0 {
				k.shader.slots.free = append(k.shader.slots.free, g.scratch...)
			}
			g.tame()
			c.dev.pool.put(g.block, k.block)
		}
	}
	for _, g := range s.blocked {
		if g.pages {
			c.parked.Add(-1)
		}
	}
	for _, g := range s.spare {
		g.tame()
		c.dev.pool.put(g.block, k.block)
	}
	s.ready, s.blocked, s.spare = nil, nil, nil
	s.resident = 0
}

// retry lets waves of a VMID that wait for a page try again; vmid NumVMIDs means all.
func (c *cus) retry(vmid uint32) {
	if vmid < NumVMIDs {
		c.dev.vms[vmid].flushes.Add(1)
	}
	if c.parked.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.list {
		if vmid < NumVMIDs && k.vm.id != vmid {
			continue
		}
		s := &k.sched
		keep := s.blocked[:0]
		for _, g := range s.blocked {
			if !g.pages {
				keep = append(keep, g)
				continue
			}
			g.unpage()
			c.parked.Add(-1)
			s.ready = append(s.ready, g)
		}
		s.blocked = keep
		c.seq.Add(1)
		c.wake()
	}
}

// complete ends a dispatch: its packet is complete, and the queue goes on.
func (k *dispatch) complete() {
	k.End = k.q.dev.Clock()
	if h := k.q.dev.cfg.Hooks.DispatchEnd; h != nil {
		h(&k.DispatchInfo)
	}
	k.packet.completeAt(k.End, k.completion)
	c := &k.q.dev.cus
	if k.total > helpGroups {
		took := c.dev.sched.Now() - k.sched.began
		c.mu.Lock()
		c.helper.at(k).whole(k, took)
		c.mu.Unlock()
	}
	k.q.finished(k)
	c.mu.Lock()
	k.sched.running--
	if k.sched.running == 0 && k.sched.waiter != nil {
		k.sched.waiter.Unpark()
	}
	c.mu.Unlock()
	if q := k.q; k.aql != nil {
		q.mu.Lock()
		q.keep(k)
		q.mu.Unlock()
	}
}

var _ wave.Env = (*group)(nil)
