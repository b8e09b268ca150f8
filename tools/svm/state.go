package svm

import (
	"fmt"
	"strings"

	driver "github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// Frame is what the machine looked like at one moment.
type Frame struct {
	Micros int64  `json:"us"`             // virtual time
	Task   string `json:"task"`           // who ran
	Line   int    `json:"line,omitempty"` // of the step that has just ended
	Text   string `json:"text"`
	Kind   string `json:"kind"`             // "step", "event" or "failure"
	Result string `json:"result,omitempty"` // a value read, or an error
	State  State  `json:"state"`
}

// State is the machine's.
type State struct {
	Processes []ProcessState `json:"processes"`
	VRAMFree  []uint64       `json:"vramFree"` // pages, for each GPU
	Locks     []string       `json:"locks,omitempty"`
	Waiting   []string       `json:"waiting,omitempty"`
}

// ProcessState is an address space with what each GPU knows of it.
type ProcessState struct {
	Name   string     `json:"name"`
	Exited bool       `json:"exited,omitempty"`
	VMAs   []Area     `json:"vmas"`
	Pages  []Page     `json:"pages"`
	GPUs   []GPUState `json:"gpus,omitempty"` // nil for a forked child
	Queues string     `json:"queues,omitempty"`
}

// Area is a stretch of addresses and what it is.
type Area struct {
	Start uint64 `json:"start"`
	End   uint64 `json:"end"`
	What  string `json:"what"`
}

// Page is where one page lives. Pages that are mapped but have none are left out.
type Page struct {
	Addr  uint64 `json:"addr"`
	Where string `json:"where"`
	Maps  int    `json:"maps,omitempty"`
	RW    bool   `json:"rw,omitempty"` // the CPU's entry
}

// GPUState is one GPU's view of a process.
type GPUState struct {
	Attrs  []Area `json:"attrs"`
	Ranges []Area `json:"ranges"`
	PTEs   []Area `json:"ptes"`
}

// look makes a State. Nothing runs meanwhile, and no lock is taken.
func (r *runner) look() State {
	var st State
	for _, p := range r.procs {
		st.Processes = append(st.Processes, r.lookProcess(p))
	}
	for _, g := range r.m.GPUs {
		st.VRAMFree = append(st.VRAMFree, g.TTM.InspectFree()>>mm.PageShift)
	}
	for _, t := range r.sim.Tasks() {
		if len(t.Held) > 0 {
			st.Locks = append(st.Locks, t.Name+": "+counted(t.Held))
		}
		if t.Waits != "" && t.Waits != "sleep" && t.Name != "main" {
			st.Waiting = append(st.Waiting, t.Name+": "+t.Waits)
		}
	}
	return st
}

// counted joins names; one that stands there several times has their number behind it.
func counted(names []string) string {
	var out []string
	for i := 0; i < len(names); {
		n := 1
		for i+n < len(names) && names[i+n] == names[i] {
			n++
		}
		if n == 1 {
			out = append(out, names[i])
		} else {
			out = append(out, fmt.Sprintf("%s (%d of them)", names[i], n))
		}
		i += n
	}
	return strings.Join(out, ", ")
}

func (r *runner) lookProcess(p *proc) ProcessState {
	ps := ProcessState{Name: p.name, Exited: p.exited}
	vmas, pages := p.space.Inspect()
	for _, v := range vmas {
		ps.VMAs = append(ps.VMAs, Area{v.Start, v.End, rights(v.Prot) + " " + kindName(v.Kind)})
	}
	for _, x := range pages {
		ps.Pages = append(ps.Pages, Page{x.Addr, r.m.Where(x), x.Info.Maps, x.Info.Writable})
	}
	if p.p == nil {
		return ps
	}
	ps.Queues = "running"
	for _, c := range p.p.On {
		if c.Stopped() {
			ps.Queues = "stopped"
		}
		ps.GPUs = append(ps.GPUs, lookGPU(c))
	}
	return ps
}

func lookGPU(c *svmsim.Context) GPUState {
	var gs GPUState
	in := c.SVM.Inspect()
	for _, a := range in.Attrs {
		gs.Attrs = append(gs.Attrs, Area{a.Start, a.End, attrsString(a.Value)})
	}
	for _, x := range in.Ranges {
		what := "empty"
		if x.Mapped {
			what = "mapped " + pteString(x.Flags)
		}
		if x.Unmapped {
			what += ", to be collected"
		}
		if x.Queue != "" {
			what += ", queue " + x.Queue
		}
		gs.Ranges = append(gs.Ranges, Area{x.Start, x.End, what})
	}
	for _, m := range c.PageTable() {
		what := [...]string{"system", "vram", "peer"}[m.Entry.Addr.Proto] + " " + pteString(m.Entry.Flags)
		if n := len(gs.PTEs); n > 0 && gs.PTEs[n-1].End == m.Addr && gs.PTEs[n-1].What == what {
			gs.PTEs[n-1].End += mm.PageSize
			continue
		}
		gs.PTEs = append(gs.PTEs, Area{m.Addr, m.Addr + mm.PageSize, what})
	}
	return gs
}

func rights(p mm.Prot) string {
	b := []byte("---")
	for i, bit := range []mm.Prot{mm.ProtRead, mm.ProtWrite, mm.ProtExec} {
		if p&bit != 0 {
			b[i] = "rwx"[i]
		}
	}
	return string(b)
}

func kindName(k mm.Kind) string {
	for n, x := range kinds {
		if x == k {
			return n
		}
	}
	return "other"
}

func pteString(f driver.PTEFlags) string {
	s := "r-"
	if f.Write {
		s = "rw"
	}
	if f.Exec {
		s += "x"
	}
	if f.Coherent {
		s += " coherent"
	}
	if f.ExtCoherent {
		s += " ext-coherent"
	}
	return s
}

func attrsString(a driver.Attrs) string {
	loc := func(l uint32) string {
		switch l {
		case driver.LocSysmem:
			return "system"
		case driver.LocUndefined:
			return "undefined"
		}
		return "vram"
	}
	access := [...]string{"none", "inplace", "migrate"}[a.Access]
	s := fmt.Sprintf("access=%s preferred=%s", access, loc(a.Preferred))
	if a.Prefetch != driver.LocUndefined {
		s += " prefetch=" + loc(a.Prefetch)
	}
	for t := driver.AttrHostAccess; t <= driver.AttrGPUReadMostly; t++ {
		if a.Flags&(1<<(t-driver.AttrHostAccess)) != 0 && t != driver.AttrHostAccess {
			for n, x := range attrKeys {
				if x == t {
					s += " " + n
				}
			}
		}
	}
	return s
}

// eventNames are the driver's event names as scenarios write them.
func eventNames() []string {
	var out []string
	for k := driver.EvMigrateToVRAM; k <= driver.EvEvict; k++ {
		out = append(out, eventName(k))
	}
	return out
}

func eventName(k driver.EventKind) string {
	return strings.ToLower(strings.ReplaceAll(k.String(), " ", "-"))
}

// frame records what has just happened.
func (r *runner) frame(kind, text, result string, line int) {
	if r.opt.Quiet {
		return
	}
	if len(r.res.Frames) >= maxFrames && kind != "failure" {
		r.res.Left++
		return
	}
	r.res.Frames = append(r.res.Frames, Frame{Micros: r.sim.Now().Microseconds(), Task: r.sim.Current(), Line: line, Text: text, Kind: kind, Result: result,
		State: r.look()})
}
