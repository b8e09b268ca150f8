package sched

import "fmt"

// Failure is a failing run that can be replayed.
type Failure struct {
	Seed     uint64
	Err      error
	Schedule Schedule // for SimConfig.Replay
	Steps    int
}

func (f *Failure) Error() string {
	return fmt.Sprintf("seed %d after %d steps: %v", f.Seed, f.Steps, f.Err)
}

func (f *Failure) Unwrap() error { return f.Err }

// Explore runs scenario under seeds first, first+1, ... n times, and returns the first failure (nil: none). scenario
// builds everything it needs in the World it is given.
func Explore(first uint64, n int, cfg SimConfig, scenario func(World)) *Failure {
	for i := range n {
		c := cfg
		c.Seed = first + uint64(i)
		if f := runOnce(c, scenario); f != nil {
			return f
		}
	}
	return nil
}

func runOnce(cfg SimConfig, scenario func(World)) *Failure {
	s := NewSim(cfg)
	if err := s.Run(func() { scenario(s) }); err != nil {
		return &Failure{Seed: cfg.Seed, Err: err, Schedule: s.Schedule(), Steps: s.Steps()}
	}
	return nil
}

// Shrink looks for a simpler schedule that still fails: a shorter one, with fewer switches. It runs scenario at most
// budget times. same says whether an error is the one that is being shrunk; nil accepts any.
func Shrink(f *Failure, budget int, cfg SimConfig, scenario func(World), same func(error) bool) *Failure {
	best := f
	try := func(sch Schedule) bool {
		if budget <= 0 {
			return false
		}
		budget--
		c := cfg
		c.Seed, c.Replay, c.Trace = f.Seed, sch, nil
		g := runOnce(c, scenario)
		if g == nil || same != nil && !same(g.Err) {
			return false
		}
		g.Schedule = trim(g.Schedule)
		if cost(g.Schedule) < cost(best.Schedule) {
			best = g
			return true
		}
		return false
	}
	try(trim(best.Schedule))
	for size := max(len(best.Schedule)/2, 1); size >= 1 && budget > 0; size /= 2 {
		for at := 0; at < len(best.Schedule) && budget > 0; {
			sch := append(Schedule(nil), best.Schedule...)
			end := min(at+size, len(sch))
			clear(sch[at:end])
			if !try(sch) {
				at = end
			} else {
				at = min(at+size, len(best.Schedule))
			}
		}
	}
	return best
}

// trim drops trailing zeros: a schedule that has run out means zeros.
func trim(s Schedule) Schedule {
	for len(s) > 0 && s[len(s)-1] == 0 {
		s = s[:len(s)-1]
	}
	if s == nil {
		s = Schedule{}
	}
	return s
}

// cost orders schedules: fewer switches first, then shorter.
func cost(s Schedule) int {
	n := len(trim(s))
	for _, c := range s {
		if c != 0 {
			n += 1 << 16
		}
	}
	return n
}
