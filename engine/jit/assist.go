//go:build linux && amd64

package jit

import (
	"sync/atomic"
	"time"
)

// The bits that MXCSR collects tell after each call whether denormals were met, not whether they cost anything: additions and comparisons take
// them in their stride. So when code has met some, its soft form (denormal.go) is made, and from then on each worker runs both by turns, for few
// instructions at first, and then the faster one for many. Both give the same results, so nothing but time depends on it.

// assists belongs to an installed Program.
type assists struct {
	makeSoft func() *installed // makes the soft form, nil when there is none; immutable
	trying   atomic.Bool
	soft     atomic.Pointer[installed]
}

const (
	trialRuns = 4    // of each form
	trialFuel = 1024 // guest instructions of a run, at most
	trialStay = 128  // times as many instructions as the trial, the faster form runs
	trialGain = 0.7  // of the time, or less, the soft form must take
)

// trial compares the forms of a Program.
type trial struct {
	runs  int // of the trial; 2*trialRuns when it is over
	met   int // hard runs that met denormals
	nanos [2]time.Duration
	insts [2]int64
	soft  bool // the form that won
	left  int64
	begun time.Time
}

// pick returns the form of ip to run now, and its trial if there is one; Worker.ran is called after the run.
func (k *Worker) pick(ip *installed) (*installed, *trial) {
	s := ip.soft.Load()
	if s == nil {
		return ip, nil
	}
	t := k.trials[ip]
	if t == nil {
		if k.trials == nil || len(k.trials) >= 256 { // of programs that may be gone
			k.trials = map[*installed]*trial{}
		}
		t = &trial{}
		k.trials[ip] = t
	}
	if t.going() {
		t.begun = time.Now()
		if t.runs&1 != 0 {
			return s, t
		}
	} else if t.soft {
		return s, t
	}
	return ip, t
}

// going reports whether runs are measured.
func (t *trial) going() bool { return t.runs < 2*trialRuns }

// ran notes that n guest instructions of ip, or of its soft form, have run.
func (k *Worker) ran(ip *installed, t *trial, n int64) {
	met := k.m.denormals
	k.m.denormals = false
	switch {
	case t == nil:
		if met {
			k.soften(ip)
		}
	case !t.going():
		if t.left -= n; t.left <= 0 {
			*t = trial{}
		}
	default:
		t.note(time.Since(t.begun), n, met)
	}
}

// soften begins to make ip's soft form.
func (k *Worker) soften(ip *installed) {
	if ip.makeSoft == nil || ip.trying.Swap(true) {
		return
	}
	e := k.e
	go func() {
		if s := ip.makeSoft(); s != nil {
			ip.soft.Store(s)
			e.forms.Add(1)
		}
	}()
}

// note adds a run of the trial, and judges when it was the last one.
func (t *trial) note(d time.Duration, n int64, met bool) {
	side := t.runs & 1
	if side == 0 && met {
		t.met++
	}
	t.nanos[side] += d
	t.insts[side] += max(n, 1)
	if t.runs++; t.going() {
		return
	}
	per := func(side int) float64 { return float64(t.nanos[side]) / float64(t.insts[side]) }
	t.soft = t.met > trialRuns/2 && per(1) < trialGain*per(0)
	t.left = trialStay * max(t.insts[0]+t.insts[1], trialFuel)
}
