package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/pumice-gpu/pumice/tools/svm"
)

// svmFlags are those of `pumice svm run` and `explore`.
type svmFlags struct {
	seed, seeds   uint64
	xnack, policy string
	engine        string
	gpus, budget  int
	json, trace   bool
	html, replay  string
	mistakes      []string
	scenario      *svm.Scenario
	opt           svm.Options
}

// svmVerbs are the parts of `pumice svm`.
var svmVerbs = map[string]func(stdout io.Writer, args []string) error{
	"run": svmRun, "explore": svmExplore, "list": svmList, "show": svmShow, "mistakes": svmMistakes,
}

func svmCommand(stdout, _ io.Writer, args []string) error {
	if len(args) == 0 {
		return usageErrorf("run, explore, list, show or mistakes belongs here")
	}
	f := svmVerbs[args[0]]
	if f == nil {
		return usageErrorf("no `svm %s`; there are: run, explore, list, show, mistakes", args[0])
	}
	return f(stdout, args[1:])
}

func parseSVM(name string, args []string) (*svmFlags, error) {
	f := &svmFlags{}
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Uint64Var(&f.seed, "seed", 1, "")
	fs.StringVar(&f.xnack, "xnack", "", "")
	fs.StringVar(&f.policy, "evict-policy", "", "")
	fs.StringVar(&f.engine, "engine", "", "")
	fs.IntVar(&f.gpus, "gpus", 0, "")
	fs.StringVar(&f.replay, "replay", "", "")
	fs.Func("mistake", "", func(s string) error { f.mistakes = append(f.mistakes, s); return nil })
	if name == "explore" {
		fs.Uint64Var(&f.seeds, "seeds", 100, "")
		fs.IntVar(&f.budget, "shrink", 200, "")
	} else {
		fs.BoolVar(&f.json, "json", false, "")
		fs.BoolVar(&f.trace, "trace", false, "")
		fs.StringVar(&f.html, "html", "", "")
	}
	// The scenario may stand before the options or after them.
	file := ""
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			return nil, usageErrorf("%v", err)
		}
		if args = fs.Args(); len(args) > 0 {
			if file != "" {
				return nil, usageErrorf("one scenario, got %q and %q", file, args[0])
			}
			file, args = args[0], args[1:]
		}
	}
	if file == "" {
		return nil, usageErrorf("a scenario's name or file belongs here")
	}
	if err := f.options(); err != nil {
		return nil, err
	}
	var err error
	f.scenario, err = svm.Open(file)
	return f, err
}

// options turns flags into those of a run.
func (f *svmFlags) options() error {
	f.opt = svm.Options{Seed: f.seed, GPUs: f.gpus, Mistakes: f.mistakes}
	if f.engine != "" {
		e, err := svm.ParseEngine(f.engine)
		if err != nil {
			return usageErrorf("--engine: %v", err)
		}
		f.opt.Engine = &e
	}
	if f.gpus < 0 {
		return usageErrorf("--gpus: %d GPUs cannot be", f.gpus)
	}
	if f.xnack != "" {
		if f.xnack != "on" && f.xnack != "off" {
			return usageErrorf("--xnack: on or off, got %q", f.xnack)
		}
		on := f.xnack == "on"
		f.opt.XNACK = &on
	}
	if f.policy != "" {
		p, err := svm.ParsePolicy(f.policy)
		if err != nil {
			return usageErrorf("--evict-policy: %v", err)
		}
		f.opt.Policy = &p
	}
	if f.replay != "" {
		s, err := svm.ParseSchedule(f.replay)
		if err != nil {
			return usageErrorf("--replay: %v", err)
		}
		f.opt.Replay = s
	}
	return nil
}

func svmRun(stdout io.Writer, args []string) error {
	f, err := parseSVM("run", args)
	if err != nil {
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
		return &exitError{1, res.Err}
	}
	return nil
}

func svmExplore(stdout io.Writer, args []string) error {
	f, err := parseSVM("explore", args)
	if err != nil {
		return err
	}
	if f.opt.Replay != nil {
		return usageErrorf("--replay is for `svm run`")
	}
	if f.seeds == 0 || f.seeds > 1e9 {
		return usageErrorf("--seeds: from 1 to 1000000000, got %d", f.seeds)
	}
	found, err := svm.Explore(f.scenario, f.opt, int(f.seeds), f.budget)
	if err != nil {
		return err
	}
	if found == nil {
		fmt.Fprintf(stdout, "%s: no failure with seeds %d to %d\n", f.scenario.Name, f.seed, f.seed+f.seeds-1)
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
	if f.gpus > 0 {
		fmt.Fprintf(stdout, " --gpus %d", f.gpus)
	}
	for _, m := range f.mistakes {
		fmt.Fprintf(stdout, " --mistake %s", m)
	}
	fmt.Fprintln(stdout)
	if f.scenario.Fails != "" {
		return nil // it is what the scenario shows
	}
	return &exitError{1, errors.New("a failing schedule was found")}
}

func svmList(stdout io.Writer, args []string) error {
	if len(args) > 0 {
		return usageErrorf("no arguments, got %q", args)
	}
	l, err := svm.Library()
	if err != nil {
		return err
	}
	for _, sc := range l {
		fmt.Fprintf(stdout, "%-29s %s\n", sc.Name, sc.Title)
	}
	return nil
}

func svmShow(stdout io.Writer, args []string) error {
	if len(args) != 1 {
		return usageErrorf("one scenario, got %d", len(args))
	}
	sc, err := svm.Open(args[0])
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, sc.Source)
	return err
}

func svmMistakes(stdout io.Writer, args []string) error {
	fs := flag.NewFlagSet("mistakes", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	name := fs.String("engine", "drm", "")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
		return usageErrorf("only --engine drm|kfd belongs here, got %q", args)
	}
	e, err := svm.ParseEngine(*name)
	if err != nil {
		return usageErrorf("--engine: %v", err)
	}
	for _, n := range svm.MistakeNames(e) {
		fmt.Fprintln(stdout, n)
	}
	return nil
}
