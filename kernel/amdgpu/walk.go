package amdgpu

import "github.com/pumice-gpu/pumice/abi/pte"

// Step is one entry that a page-table walk reads.
type Step struct {
	Level pte.Level
	Table uint64 // VRAM address of the table
	Index uint64 // of the entry in it
	Raw   uint64
	Entry pte.Entry
	Leaf  bool // it translates: the page table's own, or a directory's that maps a huge page
}

// Walk returns the entries that a translation of va reads, from the root down to the one that translates, or to the first that leads nowhere.
func (v *VM) Walk(va uint64) (steps []Step) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for t := v.root; t != nil && !v.gone; {
		i := t.level.Index(va)
		s := Step{Level: t.level, Table: t.addr, Index: i, Raw: t.ent[i]}
		var down *table
		if t.sub != nil {
			down = t.sub[i]
		}
		if s.Leaf = down == nil; s.Leaf {
			s.Entry = v.gen.DecodePTE(s.Raw)
		} else {
			s.Entry = v.gen.DecodePDE(s.Raw)
		}
		steps = append(steps, s)
		t = down
	}
	return steps
}
