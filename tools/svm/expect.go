package svm

import (
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// look reads what follows "expect" when it begins a line.
func (p *parser) look(s *Step) error {
	switch w := p.word(); w {
	case "page", "pages", "mapped", "unmapped", "attr", "ranges":
		if err := p.process(s, w != "page" && w != "pages"); err != nil {
			return err
		}
		if err := p.rng(s, true); err != nil {
			return err
		}
		if err := p.lookAt(s, w); err != nil {
			return err
		}
		if err := p.onGPU(s); err != nil {
			return err
		}
	case "queues":
		s.op = opExpectQueues
		if err := p.process(s, true); err != nil {
			return err
		}
		if s.name = p.word(); s.name != "running" && s.name != "stopped" {
			return p.errorf("running or stopped belongs here")
		}
	case "no", "event":
		s.op = opExpectEvent
		if w == "no" {
			s.op = opExpectNoEvent
			if err := p.want("event"); err != nil {
				return err
			}
		}
		s.name = p.word()
		for _, n := range eventNames() {
			if n == s.name {
				return p.end()
			}
		}
		return p.errorf("is no event; there are: %s", strings.Join(eventNames(), ", "))
	default:
		return p.errorf("page, pages, mapped, unmapped, attr, ranges, queues, event or failure belongs here")
	}
	return p.end()
}

// lookAt reads what is expected of a range.
func (p *parser) lookAt(s *Step, w string) error {
	switch w {
	case "page", "pages":
		s.op = opExpectPages
		if err := p.want("in"); err != nil {
			return err
		}
		s.name = p.word()
		place, gpu := s.name, ""
		if n, ok := strings.CutPrefix(place, "vram"); ok {
			place, gpu = "vram", n
		}
		_, err := strconv.Atoi(gpu)
		if gpu != "" && err != nil || place != "hole" && place != "ram" && place != "vram" && place != "swap" {
			return p.errorf("is no place; there are: hole, ram, vram, vram0, swap")
		}
	case "mapped":
		s.op = opExpectMapped
		s.prot = mm.ProtRead
		if p.accept("rw") {
			s.prot |= mm.ProtWrite
		} else if p.accept("ro") {
			s.name = "ro"
		}
	case "unmapped":
		s.op = opExpectUnmapped
	case "attr":
		s.op = opExpectAttr
		return p.attributes(s)
	case "ranges":
		s.op = opExpectRanges
		var err error
		s.n, err = p.number(maxPages)
		return err
	}
	return nil
}

// machine reads the words of the machine line.
func (p *parser) machine() error {
	c := &p.sc.Config
	for len(p.words) > 0 {
		key, value, _ := strings.Cut(p.word(), "=")
		n, numErr := strconv.ParseUint(value, 0, 32)
		on := value == "on"
		var ok bool
		switch key {
		case "engine":
			c.Engine, ok = engineNames[value]
		case "gpus":
			c.GPUs, ok = int(n), numErr == nil && n >= 1 && n <= maxGPUs
		case "vram":
			c.VRAM, ok = int(n), numErr == nil && n >= 1 && n <= maxPages
		case "ram":
			c.RAM, ok = int(n), numErr == nil && n <= 1<<20
		case "xnack":
			c.XNACK, ok = on, on || value == "off"
		case "hive":
			c.Hive, ok = on, on || value == "off"
		case "policy":
			c.Policy, ok = policyNames[value]
		case "window":
			c.Window, ok = n, numErr == nil && n >= 1 && n <= 1<<20 && n&(n-1) == 0
		case "chunks":
			c.Chunks, ok = parseChunks(value)
		case "mistake":
			c.Mistake = append(c.Mistake, value)
			ok = true
		default:
			return p.errorf("is no property of a machine; there are: engine, gpus, vram, ram, xnack, policy, hive, chunks, window, mistake")
		}
		if !ok {
			return p.errorf("the value is not one that %s can have", key)
		}
	}
	if c.Chunks[0] > c.Window {
		return p.errorf("the window must hold the largest chunk")
	}
	if err := c.mistakes(&svmsim.Config{}); err != nil {
		return p.errorf("%v", err)
	}
	return nil
}

// parseChunks reads range sizes in pages: powers of two, each smaller than the one before, down to 1.
func parseChunks(s string) ([]uint64, bool) {
	var out []uint64
	for w := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(w, 0, 20)
		if err != nil || n == 0 || n&(n-1) != 0 || len(out) > 0 && n >= out[len(out)-1] {
			return nil, false
		}
		out = append(out, n)
	}
	return out, out[len(out)-1] == 1
}
