package silicon

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// launch sets up the registers of all waves (isa.md §4.4: user SGPRs, system SGPRs, work-item ids). VGPRs that are not set
// up hold what the work-group before left in them, as on the chip, or zero; a dispatch never sees another one's.
func (g *group) launch() {
	k := g.k
	gx, gy := uint64(k.groups[0]), uint64(k.groups[1])
	x, yz := g.index%gx, g.index/gx
	g.id = [3]uint32{uint32(x), uint32(yz % gy), uint32(yz / gy)}
	for i := range 3 {
		g.size[i] = min(k.Workgroup[i], k.Grid[i]-g.id[i]*k.Workgroup[i])
	}
	items := int(g.size[0] * g.size[1] * g.size[2])
	g.n = (items + k.lanes - 1) / k.lanes
	g.live, g.pages, g.barriers = g.n, false, [numBarriers]barrier{}
	if !g.used {
		g.bind()
	}
	if !g.clean {
		g.wipe()
	}
	if k.lds > 0 {
		clear(unsafe.Slice((*byte)(unsafe.Add(g.block, k.waves*k.stateSize)), k.lds))
	}
	ids := k.ids
	if g.size != k.Workgroup {
		if g.edge == nil || g.edge.size != g.size {
			g.edge = newItemIDs(k, g.size)
		}
		ids = g.edge
	}
	for i := range g.skip {
		g.states[i] = waveEnded
	}
	g.live -= g.skip
	for i := g.skip; i < g.n; i++ {
		w := &g.waves[i]
		g.states[i] = waveReady
		w.PC, w.Resume = k.Entry, 0
		g.scalars(w)
		lanes := min(k.lanes, items-i*k.lanes)
		w.SetEXEC(^uint64(0) >> (64 - lanes))
		ids.copy(w)
	}
	g.skip = 0
}

// bind lays the waves' states out in the block: headers are zeroed, VGPRs not yet (wipe).
func (g *group) bind() {
	k := g.k
	lds := uint64(uintptr(unsafe.Add(g.block, k.waves*k.stateSize)))
	for i := range g.waves {
		w := &g.waves[i]
		base := unsafe.Add(g.block, i*k.stateSize)
		clear(unsafe.Slice((*byte)(base), wave.VGPROffset))
		*w = wave.Wave{Target: k.target, Space: k.state.space, Env: g, Group: g, Index: i}
		w.Bind(base, k.lanes, k.nvgpr, k.nacc)
		w.LDS, w.LDSLen = lds, uint64(k.lds)
	}
	g.used, g.clean, g.layout = true, false, newLayout(k)
}

// wipe zeroes the VGPRs that the dispatch before left. Batches need none. What lies between the two kinds of registers
// is zero (tame).
func (g *group) wipe() {
	k := g.k
	for i := range g.waves {
		v := unsafe.Add(g.waves[i].Base, wave.VGPROffset)
		clear(unsafe.Slice((*byte)(v), k.nvgpr*k.lanes*4))
		if k.nacc > 0 {
			clear(unsafe.Slice((*byte)(unsafe.Add(v, 256*k.lanes*4)), k.nacc*k.lanes*4))
		}
	}
	g.clean = true
}

// tame zeroes the states of waves of g whose code may have written where no registers are.
func (g *group) tame() {
	for i := range g.waves {
		if w := &g.waves[i]; w.Wild {
			clear(unsafe.Slice((*byte)(w.Base), g.k.stateSize))
			w.Wild = false
		}
	}
}

// scalars sets up a wave's scalar state.
func (g *group) scalars(w *wave.Wave) {
	k := g.k
	s := &w.S
	*s = k.proto
	n := len(k.user)
	put := func(v uint32) {
		if n < isa.SRegVCCLo {
			s[n] = v
			n++
		}
	}
	ttmp := s[isa.SRegTTMP0:]
	var offset uint64
	if k.perWave > 0 {
		offset = uint64(g.scratch[w.Index]) * k.perWave
	}
	if k.target.WGIDinTTMP {
		ttmp[9] = g.id[0]
		ttmp[7] = g.id[1]&0xffff | g.id[2]<<16
	} else {
		for i := range 3 {
			if k.desc.WorkgroupID(i) {
				put(g.id[i])
			}
			ttmp[8+i] = g.id[i]
		}
		if k.desc.WorkgroupInfo() {
			info := uint32(g.n) & 0x3f
			if w.Index == 0 {
				info |= 1 << 31 // first wave
			}
			put(info)
		}
		if k.desc.PrivateSegment() && !k.target.ArchFlat {
			put(uint32(offset))
		}
		ttmp[6] = uint32(k.PacketIndex) & 0x1ffffff
	}
	ttmp[11] = uint32(w.Index) & 0x3f
	if k.target.ArchFlat && k.perWave > 0 {
		base := k.scratch.location + offset
		s[isa.SRegFlatScratchLo], s[isa.SRegFlatScratchHi] = uint32(base), uint32(base>>32)
	}
}

// newProto is what of a wave's scalar state is the same for all waves of k.
func newProto(k *dispatch) (s [isa.NumSRegs]uint32) {
	copy(s[:], k.user)
	s[isa.SRegMODE], s[isa.SRegSTATUS] = k.mode, k.status
	return s
}

// itemIDs holds what the work-item id registers of the waves of a work-group start with: for each wave, registers times
// lanes. Work-groups of the same size have the same.
type itemIDs struct {
	size [3]uint32
	key  itemKey
	regs int
	v    []uint32

	series []engine.ItemSeries // the same in a few numbers, for each register; nil when that is not possible
}

// itemKey is what the ids of a work-group depend on beside its size.
type itemKey struct {
	ids    int // codeobj.Descriptor.WorkitemIDs
	packed bool
	lanes  int
	nvgpr  int
}

// newItemKey is that of k.
func newItemKey(k *dispatch) itemKey {
	return itemKey{int(k.desc.WorkitemIDs()), k.target.PackedTID, k.lanes, min(k.nvgpr, 3)}
}

// newItemIDs works out the ids of a work-group of the given size.
func newItemIDs(k *dispatch, size [3]uint32) *itemIDs {
	ids := int(k.desc.WorkitemIDs())
	packed := k.target.PackedTID
	t := &itemIDs{size: size, key: newItemKey(k), regs: 1}
	if !packed {
		t.regs = min(ids, 2) + 1
	}
	t.regs = min(t.regs, k.nvgpr)
	t.v = make([]uint32, k.waves*t.regs*k.lanes)
	if t.regs == 0 {
		return t
	}
	var item [3]uint32
	for i := range int(size[0] * size[1] * size[2]) {
		r := t.v[i/k.lanes*t.regs*k.lanes:]
		l := i % k.lanes
		if packed {
			// Only enabled ids are packed: code that asks for x alone does not mask.
			v := item[0]
			if ids >= 1 {
				v |= item[1] << 10
			}
			if ids >= 2 {
				v |= item[2] << 20
			}
			r[l] = v
		} else {
			for n := range t.regs {
				r[n*k.lanes+l] = item[n]
			}
		}
		if item[0]++; item[0] == size[0] {
			item[0] = 0
			if item[1]++; item[1] == size[1] {
				item[1] = 0
				item[2]++
			}
		}
	}
	t.series = t.newSeries(k.waves)
	return t
}

// newSeries describes the registers of waves that are all whole, when each goes up by the same in all lanes of all waves.
func (t *itemIDs) newSeries(waves int) (l []engine.ItemSeries) {
	lanes := t.key.lanes
	if int(t.size[0]*t.size[1]*t.size[2])%lanes != 0 {
		return nil
	}
	for r := range t.regs {
		s := engine.ItemSeries{First: make([]uint32, waves)}
		s.Step = t.v[r*lanes+1] - t.v[r*lanes]
		for w := range waves {
			v := t.v[(w*t.regs+r)*lanes:][:lanes]
			s.First[w] = v[0]
			for l, x := range v {
				if x != v[0]+uint32(l)*s.Step {
					return nil
				}
			}
		}
		l = append(l, s)
	}
	return l
}

// copy sets w's registers. They are the first ones, one behind the other.
func (t *itemIDs) copy(w *wave.Wave) {
	n := t.regs * w.Lanes
	if n == 0 {
		return
	}
	copy(unsafe.Slice((*uint32)(unsafe.Add(w.Base, wave.VGPROffset)), n), t.v[w.Index*n:])
}
