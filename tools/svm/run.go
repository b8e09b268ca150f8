package svm

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"syscall"

	driver "github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/mm/sim"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
	"github.com/pumice-gpu/pumice/kernel/ttm"
)

// Options of a run. What is set goes before what the scenario says.
type Options struct {
	Seed     uint64
	Replay   sched.Schedule // see sched.SimConfig
	Engine   *svmsim.Engine
	XNACK    *bool
	Policy   *driver.EvictPolicy
	GPUs     int
	Mistakes []string  // kernel-svm §17's bugs that the driver makes, by name (MistakeNames)
	Trace    io.Writer // gets a line for each step of the scheduler
	Quiet    bool      // record no frames
	MaxSteps int       // of the scheduler; 0: 200000
}

// Result is what a run was.
type Result struct {
	Scenario *Scenario
	Config   Config
	Seed     uint64
	Frames   []Frame
	Err      error // nil: it went as the scenario says
	Failed   error // how the machine failed, also when the scenario expects that
	Left     int   // moments that were not recorded: a run has at most 5000
	Schedule sched.Schedule
	Steps    int
}

// config is the machine of a run.
func (o *Options) config(c Config) Config {
	if o.XNACK != nil {
		c.XNACK = *o.XNACK
	}
	if o.Policy != nil {
		c.Policy = *o.Policy
	}
	if o.Engine != nil {
		c.Engine = *o.Engine
	}
	if c.Engine == svmsim.KFD && c.Policy == driver.EvictSync {
		c.Policy = driver.EvictFence // amdkfd has no other
	}
	if o.GPUs > 0 {
		c.GPUs = o.GPUs
	}
	c.Mistake = append(append([]string(nil), c.Mistake...), o.Mistakes...)
	return c
}

// proc is a process of the scenario; p is nil for a forked child, which has no GPU driver.
type proc struct {
	name   string
	space  *sim.Space
	p      *svmsim.Process
	exited bool
	queues map[string]*svmsim.Queue
	events map[string]*svmsim.Event
}

// runner is one run.
type runner struct {
	sc    *Scenario
	cfg   Config
	opt   *Options
	sim   *sched.Sim
	m     *svmsim.Machine
	procs []*proc
	held  map[int][]*ttm.BO        // buffers of pressure, by GPU
	fails map[svmsim.FailPoint]int // uses until one fails; 0: none does
	seen  map[string]int           // events by name
	res   *Result
	child int // numbers tasks
	done  int // steps executed
}

// Limits of a run: a scenario is to be read by people.
const (
	maxExecuted = 100_000
	maxFrames   = 5_000
)

// CheckGPUs says whether the scenario can run on n GPUs: its steps must name no other.
func (sc *Scenario) CheckGPUs(n int) error {
	var walk func([]*Step) error
	walk = func(steps []*Step) error {
		for _, s := range steps {
			if s.gpu >= n {
				return fmt.Errorf("%s:%d: %q needs GPU %d; the machine has %d", sc.Name, s.Line, s.Text, s.gpu, n)
			}
			if err := walk(s.body); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(sc.Steps)
}

// Run executes a scenario once. The error is for options that cannot be; how the run went is in Result.
func Run(sc *Scenario, opt Options) (*Result, error) {
	cfg := opt.config(sc.Config)
	if err := cfg.mistakes(&svmsim.Config{}); err != nil {
		return nil, err
	}
	if cfg.GPUs > maxGPUs {
		return nil, fmt.Errorf("at most %d GPUs, got %d", maxGPUs, cfg.GPUs)
	}
	if err := sc.CheckGPUs(cfg.GPUs); err != nil {
		return nil, err
	}
	r := &runner{sc: sc, cfg: cfg, opt: &opt, res: &Result{Scenario: sc, Config: cfg, Seed: opt.Seed}}
	r.sim = sched.NewSim(simConfig(&opt))
	err := r.sim.Run(r.main)
	r.res.Failed = err
	r.res.Schedule, r.res.Steps = r.sim.Schedule(), r.sim.Steps()
	if err != nil && r.m != nil {
		r.frame("failure", "the machine fails", firstLine(err), 0)
	}
	r.res.Err = sc.verdict(err)
	return r.res, nil
}

func simConfig(o *Options) sched.SimConfig {
	max := o.MaxSteps
	if max == 0 {
		max = 200_000
	}
	return sched.SimConfig{Seed: o.Seed, Replay: o.Replay, MaxSteps: max, Trace: o.Trace}
}

// verdict compares how the machine failed with what the scenario says.
func (sc *Scenario) verdict(err error) error {
	switch {
	case sc.Fails == "":
		return err
	case err == nil:
		return fmt.Errorf("%s: the run must fail with %q and did not", sc.Name, sc.Fails)
	case !strings.Contains(err.Error(), sc.Fails):
		return fmt.Errorf("%s: the run must fail with %q, but: %w", sc.Name, sc.Fails, err)
	}
	return nil
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

// main is the first task of the run.
func (r *runner) main() {
	r.held, r.seen, r.fails = map[int][]*ttm.BO{}, map[string]int{}, map[svmsim.FailPoint]int{}
	c := svmsim.Config{Engine: r.cfg.Engine, GPUs: r.cfg.GPUs, VRAM: uint64(r.cfg.VRAM) << mm.PageShift, RAM: r.cfg.RAM, XNACK: r.cfg.XNACK, Policy: r.cfg.Policy,
		SameHive: r.cfg.Hive, Notifier: r.cfg.Window << mm.PageShift, Event: r.event, Fail: r.failsNow,
		Pinned: uint64(r.cfg.Pinned) << mm.PageShift}
	_ = r.cfg.mistakes(&c) // they were looked at before
	for _, n := range r.cfg.Chunks {
		c.Chunks = append(c.Chunks, n<<mm.PageShift)
	}
	r.m = svmsim.New(r.sim, c)
	r.steps(r.sc.Steps)
	r.end()
}

// failsNow says whether this use of a place that can fail is the one that a scenario wants to fail.
func (r *runner) failsNow(p svmsim.FailPoint) bool {
	if r.fails[p] == 0 {
		return false
	}
	r.fails[p]--
	if r.fails[p] > 0 {
		return false
	}
	r.frame("event", p.String()+" fails", "", 0)
	return true
}

// event is called by the drivers, under whatever locks they hold.
func (r *runner) event(gpu int, p *svmsim.Process, e driver.Event) {
	name := eventName(e.Kind)
	r.seen[name]++
	text := fmt.Sprintf("gpu%d %s %s", gpu, p.Name, name)
	if e.End > e.Start {
		text += " " + r.span(p.Name, e.Start, e.End)
	}
	if e.Cause != "" {
		text += " (" + e.Cause + ")"
	}
	result := ""
	if e.Err != nil {
		result = errorText(e.Err)
	}
	r.frame("event", text, result, 0)
}

// end closes everything and looks for what is left.
func (r *runner) end() {
	for i := range r.m.GPUs {
		r.relax(i)
	}
	for _, p := range r.procs {
		r.exit(p)
	}
	if n := r.m.Mem.UsedPages(); n != 0 {
		r.sim.Fail(fmt.Errorf("at the end %d system pages are left", n))
	}
	for i, g := range r.m.GPUs {
		free, bos, _ := g.TTM.Usage()
		if free != uint64(r.cfg.VRAM)<<mm.PageShift || bos != 0 || g.Mappings() != 0 {
			r.sim.Fail(fmt.Errorf("at the end GPU %d has %d pages free of %d, %d buffers, %d bus addresses in use", i, free>>mm.PageShift, r.cfg.VRAM, bos, g.Mappings()))
		}
	}
	r.frame("step", "end: every process has exited, nothing is left", "", 0)
}

func (r *runner) exit(p *proc) {
	if p.exited {
		return
	}
	p.exited = true
	if p.p != nil {
		p.p.Close()
		return
	}
	p.space.Exit()
}

// steps executes a block.
func (r *runner) steps(list []*Step) {
	for _, s := range list {
		if r.done++; r.done > maxExecuted {
			r.sim.Fail(fmt.Errorf("%s:%d: more than %d steps were executed", r.sc.Name, s.Line, maxExecuted))
		}
		switch s.op {
		case opRepeat:
			for range s.n {
				if len(s.body) > 0 {
					r.steps(s.body)
				}
			}
		case opTask:
			r.steps(s.body)
		case opParallel:
			r.parallel(s)
		default:
			r.step(s)
		}
	}
}

func (r *runner) parallel(s *Step) {
	left := len(s.body)
	done := r.sim.NewWaitQueue("parallel tasks")
	for _, b := range s.body {
		name := b.name
		if b.op != opTask {
			r.child++
			name = fmt.Sprint("task", r.child)
		}
		r.sim.Go(name, false, func() {
			r.steps([]*Step{b})
			left--
			done.Wake()
		})
	}
	done.Wait(func() bool { return left == 0 }, sched.Forever)
	r.frame("step", "parallel: all tasks have ended", "", s.Line)
}

// FailedStepError says that a step did not do what the scenario says.
type FailedStepError struct {
	File string
	Line int
	Text string
	Got  string
	Err  error // what the step returned, if anything
}

func (e *FailedStepError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Text, e.Got)
}

func (e *FailedStepError) Unwrap() error { return e.Err }

// step executes one and compares the outcome.
func (r *runner) step(s *Step) {
	value, err := r.do(s)
	result := ""
	switch {
	case err != nil:
		result = errorText(err)
	case s.op == opLoad:
		result = number(value)
	}
	r.frame("step", s.Text, result, s.Line)
	if !s.expected(value, err) {
		got := "gives " + result
		if result == "" {
			got = "succeeds"
		}
		r.sim.Fail(&FailedStepError{r.sc.Name, s.Line, s.Text, got, err})
	}
	for _, p := range r.procs {
		if p.p != nil && !p.exited {
			if err := p.p.Check(); err != nil {
				r.sim.Fail(err)
			}
		}
	}
}

// errorList are the names in order.
func errorList() []string {
	var out []string
	for n := range errorNames {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// errorNames are what "expect" may ask for, besides values and "fault".
var errorNames = map[string]error{"EACCES": syscall.EACCES, "EAGAIN": mm.EAGAIN, "EBUSY": mm.EBUSY, "EFAULT": mm.EFAULT, "EINVAL": mm.EINVAL, "ENOENT": mm.ENOENT,
	"ENOMEM": mm.ENOMEM, "EOPNOTSUPP": mm.EOPNOTSUPP, "EPERM": mm.EPERM, "exited": errGone, "ETIME": mm.ETIME, "SIGSEGV": mm.ErrSIGSEGV, "SIGBUS": mm.ErrSIGBUS}

func errorText(err error) string {
	var f *svmsim.GPUFault
	name := ""
	for n, e := range errorNames {
		if errors.Is(err, e) {
			name = n
		}
	}
	if errors.As(err, &f) {
		return "fault " + name
	}
	var no syscall.Errno
	if name != "" && errors.As(err, &no) && err == error(no) || name == "SIGSEGV" || name == "SIGBUS" {
		return name
	}
	return err.Error()
}

func (s *Step) expected(value uint64, err error) bool {
	if len(s.expect) == 0 {
		return err == nil
	}
	for _, x := range s.expect {
		var f *svmsim.GPUFault
		switch want, isValue := strconv.ParseUint(x, 0, 64); {
		case isValue == nil:
			if err == nil && value == want {
				return true
			}
		case x == "fault":
			if errors.As(err, &f) {
				return true
			}
		case errors.Is(err, errorNames[x]):
			return true
		}
	}
	return false
}

func (r *runner) proc(name string) *proc {
	for _, p := range r.procs {
		if p.name == name {
			return p
		}
	}
	return nil
}

var errGone = errors.New("the process has exited")
