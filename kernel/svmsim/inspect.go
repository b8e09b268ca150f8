package svmsim

import (
	"fmt"
	"sort"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/mm/sim"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
)

// Mapping is one entry of a GPU's page table or TLB.
type Mapping struct {
	Addr  uint64
	Entry Entry
}

// PageTable returns the entries of the GPU's page table in order. Like all of this file it takes no lock: for the running
// task of a simulated World, between two steps.
func (c *Context) PageTable() []Mapping { return sorted(c.pt) }

// TLB returns the translations the GPU remembers.
func (c *Context) TLB() []Mapping { return sorted(c.tlb) }

func sorted(m map[uint64]Entry) []Mapping {
	out := make([]Mapping, 0, len(m))
	for p, e := range m {
		out = append(out, Mapping{p << mm.PageShift, e})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Addr < out[j].Addr })
	return out
}

// StaleError says that a GPU could use a page that is not the process's any more, or has rights that the process has
// not (invariants A11 and A12 of kernel-svm §16).
type StaleError struct {
	Process string
	GPU     int
	Addr    uint64
	TLB     bool // by a remembered translation; else by the page table
	What    string
}

func (e *StaleError) Error() string {
	where := "page table"
	if e.TLB {
		where = "TLB"
	}
	return fmt.Sprintf("svmsim: %s of GPU %d has a stale entry for %s at %#x: %s", where, e.GPU, e.Process, e.Addr, e.What)
}

// Check compares what the GPUs of p could do right now with what the process has there. Nil also while the queues of p
// are stopped: no wave looks then.
func (p *Process) Check() error {
	vmas, pages := p.Space.Inspect()
	at := map[uint64]sim.Page{}
	for _, x := range pages {
		at[x.Addr] = x
	}
	for _, c := range p.On {
		if c.Stopped() {
			continue
		}
		for i, list := range [][]Mapping{c.PageTable(), c.TLB()} {
			for _, m := range list {
				if what := c.stale(vmas, at, m); what != "" {
					return &StaleError{p.Name, c.gpu.Index, m.Addr, i == 1, what}
				}
			}
		}
	}
	return nil
}

// stale says what is wrong with m, "" when nothing is.
func (c *Context) stale(vmas []mm.VMA, at map[uint64]sim.Page, m Mapping) string {
	i := sort.Search(len(vmas), func(i int) bool { return vmas[i].End > m.Addr })
	if i == len(vmas) || vmas[i].Start > m.Addr {
		return "nothing is mapped there"
	}
	if vmas[i].Prot&mm.ProtRead == 0 {
		return "it may be read, the mapping has no rights"
	}
	if m.Entry.Flags.Write && vmas[i].Prot&mm.ProtWrite == 0 {
		return "it may be written, the mapping is read-only"
	}
	x, ok := at[m.Addr]
	if !ok {
		return "the process has no page there"
	}
	if x.Folio == nil {
		return "the page is swapped out"
	}
	if x.Info.Where == "moving" {
		return "the page is being moved"
	}
	if m.Entry.Flags.Write && !x.Info.Writable {
		return "it may be written, the process's page is shared or read-only"
	}
	a, on := m.Entry.Addr, c.gpu
	switch a.Proto {
	case pagemap.System:
		f := c.gpu.dma[a.Addr]
		if f == nil {
			return "its bus address was unmapped"
		}
		if f != x.Folio {
			return fmt.Sprintf("it leads to another page (%v, not %v)", f, x.Folio)
		}
		return ""
	case pagemap.Peer:
		on, a.Addr = c.gpu.m.GPUs[a.Addr>>peerShift], a.Addr&(1<<peerShift-1)
	}
	if pm, _ := x.Folio.Device(); pm == nil || pm != on.Pages || x.Info.Index != a.Addr {
		return fmt.Sprintf("it leads to page %d of GPU %d's memory, the process has %v", a.Addr, on.Index, x.Folio)
	}
	return ""
}

// Where names the memory a page is in: "ram", "vram0" for GPU 0, "swap", "moving" while a migration has it.
func (m *Machine) Where(p sim.Page) string {
	if p.Info.Where != "vram" || p.Folio == nil {
		return p.Info.Where
	}
	for _, g := range m.GPUs {
		if pm, _ := p.Folio.Device(); pm == g.Pages {
			return fmt.Sprint("vram", g.Index)
		}
	}
	return p.Info.Where
}
