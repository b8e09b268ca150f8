package amdgpu

import (
	"sort"
)

// mapping is one entry of the list of mappings, sorted by VA.
type mapping struct {
	va, size uint64
	owner    any
}

// find returns the index of the first mapping that ends after va.
func (v *VM) find(va uint64) int {
	return sort.Search(len(v.maps), func(i int) bool { return v.maps[i].va+v.maps[i].size > va })
}

// remember enters m, which overlaps nothing.
func (v *VM) remember(m mapping) {
	i := v.find(m.va)
	v.maps = append(v.maps, mapping{})
	copy(v.maps[i+1:], v.maps[i:])
	v.maps[i] = m
}

// forget cuts [va, end) out of the list of mappings.
func (v *VM) forget(va, end uint64) {
	i := v.find(va)
	for i < len(v.maps) && v.maps[i].va < end {
		m := v.maps[i]
		mend := m.va + m.size
		v.maps = append(v.maps[:i], v.maps[i+1:]...)
		if m.va < va {
			v.remember(mapping{m.va, va - m.va, m.owner})
			i++
		}
		if mend > end {
			v.remember(mapping{end, mend - end, m.owner})
		}
	}
}

// Find returns the mapping that contains va, or ok false.
func (v *VM) Find(va uint64) (start, size uint64, owner any, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := v.find(va); i < len(v.maps) && v.maps[i].va <= va {
		m := v.maps[i]
		return m.va, m.size, m.owner, true
	}
	return 0, 0, nil, false
}

// NextMapping returns the first mapping that ends after va.
func (v *VM) NextMapping(va uint64) (start, size uint64, owner any, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := v.find(va); i < len(v.maps) {
		m := v.maps[i]
		return m.va, m.size, m.owner, true
	}
	return 0, 0, nil, false
}

// Owned returns the mappings (address, size) whose owner is o, in order.
func (v *VM) Owned(o any) (out [][2]uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range v.maps {
		if m.owner == o {
			out = append(out, [2]uint64{m.va, m.size})
		}
	}
	return out
}

// Overlaps reports whether something is mapped in [va, va+size).
func (v *VM) Overlaps(va, size uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.find(va)
	return i < len(v.maps) && v.maps[i].va < va+size
}

// Neighbours returns the mappings next to va: the one that ends at or before it and the one that starts after it. Sizes are 0
// where there is none.
func (v *VM) Neighbours(va uint64) (below, above [2]uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.find(va)
	if i > 0 {
		below = [2]uint64{v.maps[i-1].va, v.maps[i-1].size}
	}
	if i < len(v.maps) {
		above = [2]uint64{v.maps[i].va, v.maps[i].size}
	}
	return below, above
}
