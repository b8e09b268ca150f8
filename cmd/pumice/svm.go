package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pumice-gpu/pumice/tools/svm"
)

// svmOptions are those of `pumice svm run`, `explore` and `mistakes`. The names are kept as given: explore prints how to run what it found.
type svmOptions struct {
	seeds         uint64
	xnack, policy string
	engine        string
	budget        int
	json, trace   bool
	html          string
	scenario      *svm.Scenario
	opt           svm.Options
}

func (o *svmOptions) mistakesTable() []option {
	return []option{{"engine", "drm|kfd", "which driver half: amdgpu SVM on drm_gpusvm (the default), or the older kfd_svm", func(value string) error {
		e, err := svm.ParseEngine(value)
		o.engine, o.opt.Engine = value, &e
		return err
	}}}
}

// table are the options of run and explore.
func (o *svmOptions) table() []option {
	return append(o.mistakesTable(), []option{
		{"seed", "N", "what the schedule is drawn from (1)", numberOption(&o.opt.Seed, 0, 1<<64-1)},
		{"gpus", "N", "how many GPUs, instead of the scenario's", numberOption(&o.opt.GPUs, 1, 64)},
		{"xnack", "on|off", "whether the GPU retries page faults, instead of the scenario's", func(value string) error {
			if value != "on" && value != "off" {
				return fmt.Errorf("on or off, got %q", value)
			}
			on := value == "on"
			o.xnack, o.opt.XNACK = value, &on
			return nil
		}},
		{"evict-policy", "none|fence|sync", "what eviction waits for", func(value string) error {
			p, err := svm.ParsePolicy(value)
			o.policy, o.opt.Policy = value, &p
			return err
		}},
		{"mistake", "M", "make an upstream bug again, `pumice svm mistakes` lists them; may be given several times", func(value string) error {
			o.opt.Mistakes = append(o.opt.Mistakes, value)
			return nil
		}},
	}...)
}

func (o *svmOptions) runTable() []option {
	return append(o.table(), []option{
		{"replay", "S", "the schedule that explore printed", func(value string) (err error) {
			o.opt.Replay, err = svm.ParseSchedule(value)
			return err
		}},
		{"trace", "", "print each step of the scheduler", switchOption(&o.trace)},
		{"html", "FILE", "write a page that shows the address space over time; it works offline", stringOption(&o.html)},
		jsonTable(&o.json)[0],
	}...)
}

func (o *svmOptions) exploreTable() []option {
	return append(o.table(), []option{
		{"seeds", "N", "how many seeds are tried (100)", numberOption(&o.seeds, 1, 1e9)},
		{"shrink", "N", "how many runs may be spent on shrinking a failure (200)", numberOption(&o.budget, 0, 1e9)},
	}...)
}

// newSVMOptions are the defaults.
func newSVMOptions() *svmOptions {
	return &svmOptions{seeds: 100, budget: 200, opt: svm.Options{Seed: 1}}
}

// parse reads options and the scenario, which may stand before them or after them.
func (o *svmOptions) parse(table []option, args []string) error {
	words, err := parseMixed(table, args)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return usageErrorf("one scenario's name or file belongs here, got %d", len(words))
	}
	o.scenario, err = svm.Open(words[0])
	return err
}

func svmRun(stdout, _ io.Writer, args []string) error {
	f := newSVMOptions()
	if err := f.parse(f.runTable(), args); err != nil {
		return err
	}
	if f.trace {
		f.opt.Trace = stdout
	}
	res, err := svm.Run(f.scenario, f.opt)
	if err != nil {
		return err
	}
	if f.html != "" {
		w, err := os.Create(f.html)
		if err != nil {
			return err
		}
		if err := errors.Join(res.WriteHTML(w), w.Close()); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		if err := res.WriteJSON(stdout); err != nil {
			return err
		}
	case f.html != "":
		fmt.Fprintf(stdout, "%s: %d moments written to %s\n", f.scenario.Name, len(res.Frames), f.html)
	default:
		res.WriteText(stdout)
	}
	if res.Err != nil {
		return &exitError{code: 1, err: res.Err}
	}
	return nil
}

func svmExplore(stdout, _ io.Writer, args []string) error {
	f := newSVMOptions()
	if err := f.parse(f.exploreTable(), args); err != nil {
		return err
	}
	found, err := svm.Explore(f.scenario, f.opt, int(f.seeds), f.budget)
	if err != nil {
		return err
	}
	if found == nil {
		fmt.Fprintf(stdout, "%s: no failure with seeds %d to %d\n", f.scenario.Name, f.opt.Seed, f.opt.Seed+f.seeds-1)
		return nil
	}
	fmt.Fprintf(stdout, "%s fails with seed %d, the %d. that was tried: %v\n", f.scenario.Name, found.Seed, found.Tried, found.Err)
	fmt.Fprintf(stdout, "shrunk to %d switches in %d scheduler steps; see it with\n  pumice svm run %s --seed %d --replay %s", found.Switches, found.Steps,
		f.scenario.Name, found.Seed, svm.FormatSchedule(found.Schedule))
	for _, x := range []struct{ flag, value string }{{"engine", f.engine}, {"xnack", f.xnack}, {"evict-policy", f.policy}} {
		if x.value != "" {
			fmt.Fprintf(stdout, " --%s %s", x.flag, x.value)
		}
	}
	if f.opt.GPUs > 0 {
		fmt.Fprintf(stdout, " --gpus %d", f.opt.GPUs)
	}
	for _, m := range f.opt.Mistakes {
		fmt.Fprintf(stdout, " --mistake %s", m)
	}
	fmt.Fprintln(stdout)
	if f.scenario.Fails != "" {
		return nil // it is what the scenario shows
	}
	return &exitError{code: 1, err: errors.New("a failing schedule was found")}
}

func svmList(stdout, _ io.Writer, args []string) error {
	var asJSON bool
	if err := noMore(jsonTable(&asJSON), args); err != nil {
		return err
	}
	l, err := svm.Library()
	if err != nil {
		return err
	}
	if asJSON {
		type listed struct {
			Name  string `json:"name"`
			Title string `json:"title"`
		}
		var all []listed
		for _, sc := range l {
			all = append(all, listed{sc.Name, sc.Title})
		}
		return writeJSON(stdout, all)
	}
	for _, sc := range l {
		fmt.Fprintf(stdout, "%-31s %s\n", sc.Name, sc.Title)
	}
	return nil
}

func svmShow(stdout, _ io.Writer, args []string) error {
	f := newSVMOptions()
	if err := f.parse(nil, args); err != nil {
		return err
	}
	_, err := io.WriteString(stdout, f.scenario.Source)
	return err
}

func svmMistakes(stdout, _ io.Writer, args []string) error {
	f := newSVMOptions()
	if err := noMore(f.mistakesTable(), args); err != nil {
		return err
	}
	if f.opt.Engine == nil {
		e, err := svm.ParseEngine("drm")
		if err != nil {
			return err
		}
		f.opt.Engine = &e
	}
	for _, n := range svm.MistakeNames(*f.opt.Engine) {
		fmt.Fprintln(stdout, n)
	}
	return nil
}
