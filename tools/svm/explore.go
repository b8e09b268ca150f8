package svm

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/kernel/sched"
)

func sortedKeys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Found is a failing run that Explore found.
type Found struct {
	Seed     uint64
	Err      error
	Schedule sched.Schedule // shrunk; with Seed it replays the failure
	Steps    int
	Tried    int // seeds until it was found
	Switches int // in the shrunk schedule
}

// Explore runs seeds opt.Seed, +1, ... n of them, until the machine fails in a way that the scenario does not say it must,
// and shrinks the schedule in at most budget more runs. Nil: no seed fails.
//
// A scenario with "expect failure" is the other way round: the failure is what is looked for.
func Explore(sc *Scenario, opt Options, n, budget int) (*Found, error) {
	opt.Quiet = true
	for i := range n {
		o := opt
		o.Seed = opt.Seed + uint64(i)
		res, err := Run(sc, o)
		if err != nil {
			return nil, err
		}
		if res.Failed == nil {
			continue
		}
		f := &sched.Failure{Seed: o.Seed, Err: res.Failed, Schedule: res.Schedule, Steps: res.Steps}
		body := func(w sched.World) {
			r := &runner{sc: sc, cfg: opt.config(sc.Config), opt: &opt, res: &Result{Scenario: sc}, sim: w.(*sched.Sim)}
			r.main()
		}
		kind := failureKind(res.Failed)
		f = sched.Shrink(f, budget, simConfig(&o), body, func(err error) bool { return failureKind(err) == kind })
		found := &Found{Seed: o.Seed, Err: f.Err, Schedule: f.Schedule, Steps: f.Steps, Tried: i + 1}
		for _, c := range f.Schedule {
			if c != 0 {
				found.Switches++
			}
		}
		return found, nil
	}
	return nil, nil
}

// failureKind tells failures apart while one is shrunk: by type, and by step for those of a step.
func failureKind(err error) string {
	k := fmt.Sprintf("%T", err)
	if s, ok := err.(*FailedStepError); ok {
		k += fmt.Sprint(s.Line)
	}
	return k
}

// FormatSchedule writes the choices that are not 0 as POSITION:CHOICE, with commas. "0:0" is the schedule of none.
func FormatSchedule(s sched.Schedule) string {
	var parts []string
	for i, c := range s {
		if c != 0 {
			parts = append(parts, fmt.Sprintf("%d:%d", i, c))
		}
	}
	if parts == nil {
		return "0:0"
	}
	return strings.Join(parts, ",")
}

// maxSchedule bounds the positions of a schedule that is read.
const maxSchedule = 10_000_000

// ParseSchedule reads what FormatSchedule writes.
func ParseSchedule(text string) (sched.Schedule, error) {
	out := sched.Schedule{}
	for part := range strings.SplitSeq(text, ",") {
		at, choice, ok := strings.Cut(part, ":")
		i, err := strconv.ParseUint(at, 10, 32)
		c, err2 := strconv.ParseInt(choice, 10, 32)
		if !ok || err != nil || err2 != nil || c < 0 || i >= maxSchedule {
			return nil, fmt.Errorf("%q is not POSITION:CHOICE", part)
		}
		for uint64(len(out)) <= i {
			out = append(out, 0)
		}
		out[i] = int32(c)
	}
	return out, nil
}
