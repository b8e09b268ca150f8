package sim

import "github.com/pumice-gpu/pumice/kernel/mm"

// Page is one page-table entry as Inspect shows it.
type Page struct {
	Addr  uint64
	Info  PageInfo
	Folio mm.Folio // nil for swap
}

// Inspect returns the mappings and the page-table entries in order of address. It takes no lock: for the running task
// of a simulated World, between two steps. (Look is for everybody, but is a step.)
func (s *Space) Inspect() ([]mm.VMA, []Page) {
	var pages []Page
	for page := range s.sortedPages(0, ^uint64(0)) {
		p := s.ptes[page]
		x := Page{Addr: page << mm.PageShift, Info: p.info()}
		if p.folio != nil && p.state != pteSwap {
			x.Folio = p.folio
		}
		pages = append(pages, x)
	}
	return s.listVMAs(), pages
}

// info describes an entry; the PTL is held, or nothing else runs.
func (p *pte) info() PageInfo {
	info := PageInfo{Writable: p.writable}
	switch p.state {
	case pteSwap:
		info.Where = "swap"
		return info
	case pteMigration:
		info.Where = "moving"
	case pteDevice:
		info.Where, info.Index = "vram", p.folio.idx
	default:
		info.Where, info.Index = "ram", uint64(p.folio.id)
	}
	info.Ref, info.Maps = p.folio.ref, p.folio.maps
	return info
}

// NotifierSteps returns how many nodes of the tree of notifiers were looked at so far: what changes of the address space cost.
func (s *Space) NotifierSteps() int { return s.notifiers.Steps() }
