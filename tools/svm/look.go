package svm

import (
	"errors"
	"fmt"

	driver "github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// expect compares the machine with what a step says of it.
func (r *runner) expect(s *Step, p *proc) error {
	switch s.op {
	case opExpectCount:
		if n := r.seen[s.name]; n != s.n {
			return fmt.Errorf("there were %d", n)
		}
	case opExpectQueue:
		q := p.queues[s.name]
		if q == nil {
			return errNoQueue
		}
		var fault *svmsim.GPUFault
		state := "running"
		if errors.As(q.Err, &fault) {
			state = "faulted"
		} else if q.Err != nil {
			state = "evicted"
		}
		if state != s.other {
			return fmt.Errorf("it is %s (%v)", state, q.Err)
		}
	case opExpectEvent, opExpectNoEvent:
		if n := r.seen[s.name]; (n > 0) != (s.op == opExpectEvent) {
			return fmt.Errorf("there were %d", n)
		}
	case opExpectPages:
		return r.expectPages(s, p)
	case opExpectQueues:
		for i, c := range p.p.On {
			if c.Stopped() != (s.name == "stopped") {
				return fmt.Errorf("not so on GPU %d", i)
			}
		}
	default:
		for i := range p.p.On {
			if s.gpu < 0 || s.gpu == i {
				if err := r.expectGPU(s, p, i); err != nil {
					return fmt.Errorf("GPU %d: %w", i, err)
				}
			}
		}
	}
	return nil
}

func (r *runner) expectPages(s *Step, p *proc) error {
	_, pages := p.space.Inspect()
	at := map[uint64]string{}
	for _, x := range pages {
		at[x.Addr] = r.m.Where(x)
	}
	for a := s.start; a < s.start+s.size; a += mm.PageSize {
		where := at[a]
		if where == "" {
			where = "hole"
		}
		if where != s.name && !(s.name == "vram" && len(where) > 4 && where[:4] == "vram") {
			return fmt.Errorf("%s is in %s", r.place(p.name, a), where)
		}
	}
	return nil
}

func (r *runner) expectGPU(s *Step, p *proc, i int) error {
	c := p.p.On[i]
	switch s.op {
	case opExpectRanges:
		n := 0
		for _, x := range c.SVM.Inspect().Ranges {
			if x.Start < s.start+s.size && s.start < x.End {
				n++
			}
		}
		if n != s.n {
			return fmt.Errorf("there are %d", n)
		}
	case opExpectMapped, opExpectUnmapped:
		for a := s.start; a < s.start+s.size; a += mm.PageSize {
			e, ok := c.Look(a)
			switch {
			case ok != (s.op == opExpectMapped):
				return fmt.Errorf("%s is not so", r.place(p.name, a))
			case ok && s.prot&mm.ProtWrite != 0 && !e.Flags.Write:
				return fmt.Errorf("%s is read-only", r.place(p.name, a))
			case ok && s.name == "ro" && e.Flags.Write:
				return fmt.Errorf("%s may be written", r.place(p.name, a))
			}
		}
	case opExpectAttr:
		got, err := c.SVM.GetAttrs(s.start, s.size)
		if err != nil {
			return err
		}
		for _, x := range s.attrs {
			if v := attrOf(got, x.Type); v != x.Value {
				return fmt.Errorf("it has %s", attrsString(got))
			}
		}
	}
	return nil
}

func attrOf(a driver.Attrs, t driver.AttrType) uint32 {
	switch t {
	case driver.AttrPreferredLoc:
		return a.Preferred
	case driver.AttrPrefetchLoc:
		return a.Prefetch
	case driver.AttrAccess:
		return a.Access
	case driver.AttrGranularity:
		return a.Granularity
	}
	return a.Flags >> (t - driver.AttrHostAccess) & 1
}

// place names an address: heap[3], or the number.
func (r *runner) place(process string, a uint64) string { return r.sc.place(process, a) }

func (r *runner) span(process string, start, end uint64) string {
	return r.sc.span(process, start, end)
}

func (sc *Scenario) named(process string, a uint64) *Mapping {
	var any *Mapping
	for i := len(sc.Names) - 1; i >= 0; i-- {
		m := &sc.Names[i]
		if a >= m.Start && a < m.Start+m.Pages<<mm.PageShift {
			if m.Process == process {
				return m
			}
			if any == nil {
				any = m
			}
		}
	}
	return any // a forked child's
}

func (sc *Scenario) place(process string, a uint64) string {
	m := sc.named(process, a)
	if m == nil {
		return fmt.Sprintf("%#x", a)
	}
	s := fmt.Sprintf("%s[%d]", m.Name, (a-m.Start)>>mm.PageShift)
	if off := a & (mm.PageSize - 1); off != 0 {
		s += fmt.Sprintf("+%d", off)
	}
	return s
}

// span names [start, end): heap[3..6], inclusive as people count pages.
func (sc *Scenario) span(process string, start, end uint64) string {
	m := sc.named(process, start)
	last := end - mm.PageSize
	switch {
	case end-start <= mm.PageSize:
		return sc.place(process, start)
	case m == nil || m != sc.named(process, last):
		return fmt.Sprintf("[%#x, %#x)", start, end)
	}
	return fmt.Sprintf("%s[%d..%d]", m.Name, (start-m.Start)>>mm.PageShift, (last-m.Start)>>mm.PageShift)
}
