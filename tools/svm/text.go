package svm

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pumice-gpu/pumice/kernel/mm"
)

// WriteText prints the timeline: for each frame what happened, and how the machine changed.
func (res *Result) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\nmachine: %v, seed %d\n", res.Scenario.Name, res.Scenario.Title, res.Config, res.Seed)
	before := map[string]string{}
	for i := range res.Frames {
		f := &res.Frames[i]
		where := ""
		if f.Line > 0 {
			where = fmt.Sprintf("line %d", f.Line)
		}
		mark := map[string]string{"event": "  · ", "step": "", "failure": "!!! "}[f.Kind]
		result := ""
		if f.Result != "" {
			result = " → " + f.Result
		}
		fmt.Fprintf(w, "%8dµs %-10s %-8s %s%s%s\n", f.Micros, f.Task, where, mark, f.Text, result)
		before = res.writeChanges(w, before, f)
	}
	if res.Left > 0 {
		fmt.Fprintf(w, "%d more moments were not recorded\n", res.Left)
	}
	fmt.Fprintln(w, res.Outcome())
}

// writeChanges prints what differs from the frame before; it returns what the next one is compared with.
func (res *Result) writeChanges(w io.Writer, before map[string]string, f *Frame) map[string]string {
	now := map[string]string{}
	var keys []string
	put := func(key, value string) {
		if _, ok := now[key]; !ok {
			keys = append(keys, key)
		}
		now[key] = value
	}
	sc := res.Scenario
	for _, p := range f.State.Processes {
		at := map[uint64]Page{}
		for _, x := range p.Pages {
			at[x.Addr] = x
		}
		areas(put, sc, p.Name, "mapping", p.VMAs)
		for _, v := range p.VMAs {
			for a := v.Start; a < v.End; a += mm.PageSize {
				put(fmt.Sprintf("%s page %#012x", p.Name, a), pageText(at[a]))
			}
		}
		for i, g := range p.GPUs {
			areas(put, sc, p.Name, fmt.Sprintf("gpu%d attributes", i), g.Attrs)
			areas(put, sc, p.Name, fmt.Sprintf("gpu%d range", i), g.Ranges)
			areas(put, sc, p.Name, fmt.Sprintf("gpu%d entries", i), g.PTEs)
		}
		if p.Queues != "" {
			put(p.Name+" queues", p.Queues)
		}
	}
	for i, n := range f.State.VRAMFree {
		put(fmt.Sprintf("gpu%d free pages", i), fmt.Sprint(n))
	}
	const indent = "                                 "
	var run struct {
		process, from, to string
		start, end        uint64
	}
	flush := func() {
		if run.end > run.start {
			fmt.Fprintf(w, "%s%s page %s: %s → %s\n", indent, run.process, sc.span(run.process, run.start, run.end), run.from, run.to)
		}
		run.end = run.start
	}
	for _, k := range keys {
		old, had := before[k]
		if had && old == now[k] {
			continue
		}
		var process string
		var addr uint64
		if n, _ := fmt.Sscanf(strings.Replace(k, " page ", " ", 1), "%s %v", &process, &addr); n == 2 && strings.Contains(k, " page ") {
			if !had {
				old = "hole"
			}
			if old == now[k] {
				continue
			}
			if run.end == addr && run.end > run.start && run.from == old && run.to == now[k] && run.process == process {
				run.end += mm.PageSize
				continue
			}
			flush()
			run.process, run.from, run.to, run.start, run.end = process, old, now[k], addr, addr+mm.PageSize
			continue
		}
		flush()
		if !had {
			fmt.Fprintf(w, "%s+ %s: %s\n", indent, k, now[k])
		} else {
			fmt.Fprintf(w, "%s%s: %s → %s\n", indent, k, old, now[k])
		}
	}
	flush()
	for _, k := range sortedKeys(before) {
		if _, ok := now[k]; !ok && !strings.Contains(k, " page ") {
			fmt.Fprintf(w, "%s- %s\n", indent, k)
		}
	}
	for _, l := range f.State.Locks {
		fmt.Fprintf(w, "%slocks of %s\n", indent, l)
	}
	return now
}

func areas(put func(k, v string), sc *Scenario, process, what string, as []Area) {
	for _, a := range as {
		put(fmt.Sprintf("%s %s %s", process, what, sc.span(process, a.Start, a.End)), a.What)
	}
}

func pageText(p Page) string {
	if p.Where == "" {
		return "hole"
	}
	s := p.Where
	if p.Where != "swap" && !p.RW {
		s += " r-"
	}
	if p.Maps > 1 {
		s += fmt.Sprintf(" shared by %d", p.Maps)
	}
	return s
}

// export is a run for other programs and for the page.
type export struct {
	Name    string    `json:"scenario"`
	Title   string    `json:"title"`
	Machine string    `json:"machine"`
	Seed    uint64    `json:"seed"`
	Failure string    `json:"failure,omitempty"`
	OK      bool      `json:"ok"`
	Steps   int       `json:"schedulerSteps"`
	Source  string    `json:"source"`
	Names   []Mapping `json:"names"`
	Frames  []Frame   `json:"frames"`
}

func (res *Result) export() export {
	o := export{res.Scenario.Name, res.Scenario.Title, res.Config.String(), res.Seed, "", res.Err == nil, res.Steps, res.Scenario.Source, res.Scenario.Names, res.Frames}
	if res.Failed != nil {
		o.Failure = firstLine(res.Failed)
	}
	return o
}

// WriteJSON prints the frames for other programs.
func (res *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(res.export())
}

// Outcome says in one line how the run went.
func (res *Result) Outcome() string {
	switch {
	case res.Err != nil:
		return "FAILS: " + firstLine(res.Err)
	case res.Failed != nil:
		return "fails as the scenario says it must: " + firstLine(res.Failed)
	}
	return fmt.Sprintf("all as the scenario says (%d scheduler steps)", res.Steps)
}
