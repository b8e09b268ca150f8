package svm

import (
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/kernel/mm"
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
	case "events":
		s.op, s.name = opExpectCount, p.word()
		if err := p.eventWord(s); err != nil {
			return err
		}
		var err error
		if s.n, err = p.number(maxSteps); err != nil {
			return err
		}
	case "queue":
		s.op = opExpectQueue
		if err := p.queueName(s); err != nil {
			return err
		}
		if s.other = p.word(); s.other != "running" && s.other != "evicted" && s.other != "faulted" {
			return p.errorf("running, evicted or faulted belongs here")
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
		return p.eventWord(s)
	default:
		return p.errorf("page, pages, mapped, unmapped, attr, ranges, queues, queue, event, no event, events or failure belongs here")
	}
	return nil
}

// eventWord checks the name of an event of the driver.
func (p *parser) eventWord(s *Step) error {
	for _, n := range eventNames() {
		if n == s.name {
			return nil
		}
	}
	return p.errorf("is no event of the driver; there are: %s", strings.Join(eventNames(), ", "))
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
