package svm

import (
	"fmt"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/segment"
)

// AttrType names an attribute of DRM_AMDGPU_GEM_SVM.
type AttrType uint32

const (
	AttrPreferredLoc AttrType = iota
	AttrPrefetchLoc
	AttrAccess
	AttrGranularity
	AttrHostAccess
	AttrCoherent
	AttrExtCoherent
	AttrHiveLocal
	AttrGPURO
	AttrGPUExec
	AttrGPUReadMostly
	numAttrTypes
)

// Locations. Any other value means the VRAM of this SVM's GPU.
const (
	LocSysmem    uint32 = 0
	LocUndefined uint32 = 0xffffffff
)

// Access values.
const (
	AccessNone         uint32 = 0
	AccessInPlace      uint32 = 1
	AccessAllowMigrate uint32 = 2
)

// Flags of a range.
const (
	FlagHostAccess uint32 = 1 << iota
	FlagCoherent
	FlagExtCoherent
	FlagHiveLocal
	FlagGPURO
	FlagGPUExec
	FlagGPUReadMostly
)

// pteFlags are those that change page-table entries.
const pteFlags = FlagCoherent | FlagExtCoherent | FlagGPURO | FlagGPUExec

// maxGranularity is the largest log2 of pages an application may ask for.
const maxGranularity = 0x1b

// Attr is one attribute of a request.
type Attr struct {
	Type  AttrType
	Value uint32
}

// Attrs are the attributes of a stretch of addresses.
type Attrs struct {
	Preferred, Prefetch uint32
	Access              uint32
	Flags               uint32
	Granularity         uint32
}

// flagOf maps flag attributes to their bit.
func flagOf(t AttrType) uint32 {
	if t < AttrHostAccess || t >= numAttrTypes {
		return 0
	}
	return 1 << (t - AttrHostAccess)
}

// with returns a with the attributes of a request applied.
func (a Attrs) with(attrs []Attr) Attrs {
	for _, x := range attrs {
		switch x.Type {
		case AttrPreferredLoc:
			a.Preferred = x.Value
		case AttrPrefetchLoc:
			a.Prefetch = x.Value
		case AttrAccess:
			a.Access = x.Value
		case AttrGranularity:
			a.Granularity = min(x.Value, maxGranularity)
		default:
			a.Flags &^= flagOf(x.Type)
			if x.Value != 0 {
				a.Flags |= flagOf(x.Type)
			}
		}
	}
	return a
}

// Value is what a has for a type of attribute; ok is false for a type that there is not.
func (a Attrs) Value(t AttrType) (v uint32, ok bool) {
	switch {
	case t == AttrPreferredLoc:
		return a.Preferred, true
	case t == AttrPrefetchLoc:
		return a.Prefetch, true
	case t == AttrAccess:
		return a.Access, true
	case t == AttrGranularity:
		return a.Granularity, true
	case flagOf(t) == 0:
		return 0, false
	case a.Flags&flagOf(t) != 0:
		return 1, true
	}
	return 0, true
}

// Check returns EINVAL for an attribute that no range can have.
func (x Attr) Check() error {
	switch {
	case x.Type >= numAttrTypes,
		x.Type == AttrAccess && x.Value > AccessAllowMigrate,
		x.Type == AttrPrefetchLoc && x.Value == LocUndefined,
		flagOf(x.Type) != 0 && x.Value > 1:
		return mm.EINVAL
	}
	return nil
}

func (a Attrs) String() string {
	return fmt.Sprintf("preferred %s, access %d, flags %#x, granularity %d", locName(a.Preferred), a.Access, a.Flags, a.Granularity)
}

func locName(l uint32) string {
	switch l {
	case LocSysmem:
		return "system"
	case LocUndefined:
		return "undefined"
	}
	return "vram"
}

// attrTree is the attribute layer. Holes mean defaults.
type attrTree struct {
	mu       sched.Mutex
	defaults Attrs
	set      segment.Set[Attrs] // guarded by mu
}

var attrClass = &sched.Class{Name: "svm attr_tree.lock", Rank: 200}

// at returns the attributes of addr and the bounds of the stretch that shares them; hole says that they are defaults.
func (t *attrTree) at(addr uint64) (a Attrs, start, end uint64, hole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	start, end = 0, ^uint64(0)
	if g, ok := t.set.Next(addr); ok {
		if g.Start <= addr {
			return g.Value, g.Start, g.End, false
		}
		end = g.Start
	}
	if g, ok := t.set.Prev(addr); ok {
		start = g.End
	}
	return t.defaults, start, end, true
}

// cover returns copies of the stretches that together are [start, end).
func (t *attrTree) cover(start, end uint64) []segment.Seg[Attrs] {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []segment.Seg[Attrs]
	for g, ok := range t.set.Cover(start, end) {
		if !ok {
			g.Value = t.defaults
		}
		out = append(out, g)
	}
	return out
}

// assign gives [start, end), which lies in one segment or hole, new attributes. Setting a hole to the defaults makes
// nothing. mu is held.
func (t *attrTree) assign(start, end uint64, a Attrs) {
	if g, ok := t.set.Find(start); !ok {
		if a != t.defaults {
			t.set.Insert(start, end, a)
		}
		return
	} else if g.Value == a {
		return
	}
	t.set.SplitAt(start)
	t.set.SplitAt(end)
	t.set.Set(start, a)
}

// reset makes [start, end) a hole.
func (t *attrTree) reset(start, end uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set.Clear(start, end)
}

// fold answers a query for [start, end): where the parts differ, locations are undefined, access is none, flags are those
// set everywhere, and granularity is the smallest.
func (t *attrTree) fold(start, end uint64) Attrs {
	var out Attrs
	for i, g := range t.cover(start, end) {
		if i == 0 {
			out = g.Value
			continue
		}
		if g.Value.Preferred != out.Preferred {
			out.Preferred = LocUndefined
		}
		if g.Value.Prefetch != out.Prefetch {
			out.Prefetch = LocUndefined
		}
		if g.Value.Access != out.Access {
			out.Access = AccessNone
		}
		out.Flags &= g.Value.Flags
		out.Granularity = min(out.Granularity, g.Value.Granularity)
	}
	return out
}

// trigger says what a change of attributes asks for.
type trigger uint8

const (
	trigAccessGain trigger = 1 << iota
	trigAccessLose
	trigPTEFlag
	trigMapFlag
	trigPrefetch
)

// classify compares attributes before and after a request.
func classify(prev, next Attrs, attrs []Attr, xnack bool) trigger {
	var t trigger
	had, has := prev.Access != AccessNone, next.Access != AccessNone
	if has && !had {
		t |= trigAccessGain
	}
	if had && !has {
		t |= trigAccessLose
	}
	changed := prev.Flags ^ next.Flags
	if changed&pteFlags != 0 {
		t |= trigPTEFlag
	}
	if changed&^pteFlags != 0 {
		t |= trigMapFlag
	}
	for _, x := range attrs {
		switch x.Type {
		case AttrPrefetchLoc: // fires also when the value is what it was
			t |= trigPrefetch
		case AttrAccess:
			// With XNACK off, access asked for again means: map what may be missing.
			if has && !xnack {
				t |= trigAccessGain
			}
		}
	}
	return t
}
