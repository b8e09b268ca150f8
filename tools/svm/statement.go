package svm

import (
	"sort"
	"strconv"
	"strings"
	"time"

	driver "github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// statements are the steps that are named by their first word.
var statements map[string]func(*parser, *Step) error

func init() {
	onRange := func(o op, driven bool) func(*parser, *Step) error {
		return func(p *parser, s *Step) error {
			s.op = o
			if err := p.process(s, driven); err != nil {
				return err
			}
			return p.rng(s, false)
		}
	}
	statements = map[string]func(*parser, *Step) error{
		"process": func(p *parser, s *Step) error {
			s.op, s.process = opProcess, p.word()
			return p.newProcess(s.process)
		},
		"exit": func(p *parser, s *Step) error {
			s.op = opExit
			return p.process(s, false)
		},
		"fork": func(p *parser, s *Step) error {
			s.op = opFork
			if err := p.process(s, false); err != nil {
				return err
			}
			s.name = p.word()
			if err := p.newProcess(s.name); err != nil {
				return err
			}
			p.kids[s.name] = s.process
			return nil
		},
		"kill": func(p *parser, s *Step) error {
			s.op = opKill
			return p.process(s, true)
		},
		"fail": func(p *parser, s *Step) (err error) {
			s.op = opFail
			w := p.word()
			for i, n := range svmsim.FailPoints {
				if n == w {
					s.value = uint64(i)
					if p.accept("after") {
						s.n, err = p.number(maxPages)
					}
					return err
				}
			}
			return p.errorf("is nothing that can fail; there are: %s", strings.Join(svmsim.FailPoints[:], ", "))
		},
		"queue": func(p *parser, s *Step) (err error) {
			s.op = opQueue
			if err := p.process(s, true); err != nil {
				return err
			}
			if s.name = p.word(); s.name == "" || p.queues[s.process+" "+s.name] {
				return p.errorf("a queue needs a name of its own")
			}
			p.queues[s.process+" "+s.name] = true
			if s.start, _, err = p.addr(s.process, p.word()); err != nil {
				return err
			}
			if s.start&(mm.PageSize-1) != 0 {
				return p.errorf("a ring begins at a page")
			}
			s.gpu = 0
			return p.onGPU(s)
		},
		"destroy": func(p *parser, s *Step) error {
			s.op = opDestroy
			return p.queueName(s)
		},
		"doorbell": func(p *parser, s *Step) error {
			s.op = opDoorbell
			return p.queueName(s)
		},
		"submit": func(p *parser, s *Step) (err error) {
			s.op = opSubmit
			if err := p.queueName(s); err != nil {
				return err
			}
			if err := p.want("store"); err != nil {
				return err
			}
			if err := p.storeTo(s); err != nil {
				return err
			}
			if !p.accept("event") {
				return nil
			}
			if s.other = p.word(); !p.events[s.process+" "+s.other] {
				return p.errorf("there is no such event of %s", s.process)
			}
			return nil
		},
		"event": func(p *parser, s *Step) error {
			s.op = opEvent
			if err := p.process(s, true); err != nil {
				return err
			}
			if s.name = p.word(); s.name == "" || p.events[s.process+" "+s.name] {
				return p.errorf("an event needs a name of its own")
			}
			p.events[s.process+" "+s.name] = true
			return nil
		},
		"wait": func(p *parser, s *Step) error {
			s.op, s.wait = opWait, -1
			if err := p.process(s, true); err != nil {
				return err
			}
			if s.name = p.word(); !p.events[s.process+" "+s.name] {
				return p.errorf("there is no such event of %s", s.process)
			}
			if d, err := time.ParseDuration(p.peek()); err == nil && d >= 0 && d <= time.Hour {
				p.word()
				s.wait = d
			}
			return nil
		},
		"map":      (*parser).mapStep,
		"munmap":   onRange(opMunmap, false),
		"dontneed": onRange(opDontNeed, false),
		"reclaim":  onRange(opReclaim, false),
		"reset": func(p *parser, s *Step) error {
			if err := onRange(opReset, true)(p, s); err != nil {
				return err
			}
			return p.onGPU(s)
		},
		"mprotect": func(p *parser, s *Step) error {
			if err := onRange(opMprotect, false)(p, s); err != nil {
				return err
			}
			return p.rights(s)
		},
		"set": func(p *parser, s *Step) error {
			if err := onRange(opSet, true)(p, s); err != nil {
				return err
			}
			if err := p.attributes(s); err != nil {
				return err
			}
			return p.onGPU(s)
		},
		"prefetch": func(p *parser, s *Step) error {
			if err := onRange(opPrefetch, true)(p, s); err != nil {
				return err
			}
			if err := p.want("to"); err != nil {
				return err
			}
			w := p.word()
			if w == "system" {
				s.gpu, s.value = 0, uint64(driver.LocSysmem)
				return nil
			}
			n, ok := gpuIndex(w)
			if !ok {
				return p.errorf("system or the name of a GPU belongs here")
			}
			s.value = 1
			var err error
			s.gpu, err = p.checkGPU(n)
			return err
		},
		"cpu": (*parser).access,
		"pressure": func(p *parser, s *Step) (err error) {
			s.op = opPressure
			if err := p.gpuWord(s); err != nil {
				return err
			}
			if s.n, err = p.number(maxPages); err != nil {
				return err
			}
			return p.pagesWord()
		},
		"relax": func(p *parser, s *Step) error {
			s.op = opRelax
			return p.gpuWord(s)
		},
		"sleep": func(p *parser, s *Step) (err error) {
			s.op = opSleep
			s.wait, err = time.ParseDuration(p.word())
			if err != nil || s.wait < 0 || s.wait > time.Hour {
				return p.errorf("a time such as 5ms belongs here")
			}
			return nil
		},
		"settle": func(p *parser, s *Step) error {
			s.op = opSettle
			return nil
		},
	}
}

func (p *parser) newProcess(name string) error {
	if name == "" || strings.ContainsAny(name, "[]+{}|") {
		return p.errorf("a process needs a name")
	}
	if p.procs[name] {
		return p.errorf("there is a process of that name")
	}
	p.procs[name] = true
	return nil
}

func (p *parser) mapStep(s *Step) (err error) {
	s.op = opMap
	if err := p.process(s, false); err != nil {
		return err
	}
	s.name = p.word()
	if _, err := strconv.ParseUint(s.name, 0, 64); err == nil || s.name == "" || strings.ContainsAny(s.name, "[]+{}|") {
		return p.errorf("a mapping needs a name")
	}
	if s.n, err = p.number(maxPages); err != nil {
		return err
	}
	if s.n == 0 {
		return p.errorf("a mapping has at least one page")
	}
	if err := p.pagesWord(); err != nil {
		return err
	}
	s.size = uint64(s.n) << mm.PageShift
	s.start = p.next
	if p.accept("at") {
		if s.start, _, err = p.addr(s.process, p.word()); err != nil {
			return err
		}
		if s.start&(mm.PageSize-1) != 0 || s.start == 0 || s.start+s.size > maxAddr {
			return p.errorf("a mapping begins at a page (4096 bytes), not at 0, and ends below %#x", uint64(maxAddr))
		}
	}
	p.next = max(p.next, (s.start+s.size+1<<24-1)&^(1<<24-1))
	if err := p.rights(s); err != nil {
		return err
	}
	s.kind = kinds[s.name]
	if k, ok := strings.CutPrefix(p.peek(), "kind="); ok {
		p.word()
		if s.kind, ok = kinds[k]; !ok {
			return p.errorf("is no kind of mapping; there are: anon, heap, stack, file, io")
		}
	}
	p.sc.Names = append(p.sc.Names, Mapping{s.process, s.name, s.start, uint64(s.n)})
	return nil
}

// access reads "P load ADDR" or "P store ADDR VALUE".
func (p *parser) access(s *Step) (err error) {
	if err := p.process(s, s.gpu >= 0); err != nil {
		return err
	}
	switch p.word() {
	case "load":
		s.op = opLoad
	case "store":
		s.op = opStore
	default:
		return p.errorf("load or store belongs here")
	}
	if s.op == opStore {
		return p.storeTo(s)
	}
	return p.accessTo(s)
}

// accessTo reads ADDR.
func (p *parser) accessTo(s *Step) (err error) {
	if s.start, _, err = p.addr(s.process, p.word()); err != nil {
		return err
	}
	if s.start&7 != 0 {
		return p.errorf("an access is to 8 aligned bytes")
	}
	return nil
}

// storeTo reads ADDR VALUE.
func (p *parser) storeTo(s *Step) (err error) {
	if err := p.accessTo(s); err != nil {
		return err
	}
	if s.value, err = strconv.ParseUint(p.word(), 0, 64); err != nil {
		return p.errorf("the value to store belongs here")
	}
	return nil
}

// queueName reads the names of a process and of one of its queues.
func (p *parser) queueName(s *Step) error {
	if err := p.process(s, true); err != nil {
		return err
	}
	if s.name = p.word(); !p.queues[s.process+" "+s.name] {
		return p.errorf("there is no such queue of %s", s.process)
	}
	return nil
}

// stepNames are the words that steps begin with.
func stepNames() []string {
	out := []string{"machine", "expect", "gpu0 (and others)", "parallel", "task", "repeat"}
	for n := range statements {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}
