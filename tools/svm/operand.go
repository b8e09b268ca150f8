package svm

import (
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/kernel/mm"
)

func (p *parser) number(limit int) (int, error) {
	n, err := strconv.ParseUint(p.word(), 0, 32)
	if err != nil || n > uint64(limit) {
		return 0, p.errorf("a number from 0 to %d belongs here", limit)
	}
	return int(n), nil
}

func gpuIndex(w string) (int, bool) {
	d, ok := strings.CutPrefix(w, "gpu")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(d)
	return n, err == nil && n >= 0
}

func (p *parser) checkGPU(n int) (int, error) {
	if n >= p.sc.Config.GPUs {
		return 0, p.errorf("the machine has %d GPUs", p.sc.Config.GPUs)
	}
	return n, nil
}

// onGPU reads "on gpuN" if it is there.
func (p *parser) onGPU(s *Step) (err error) {
	if !p.accept("on") {
		return nil
	}
	n, ok := gpuIndex(p.word())
	if !ok {
		return p.errorf("the name of a GPU belongs here (gpu0)")
	}
	s.gpu, err = p.checkGPU(n)
	return err
}

// process reads the name of one that exists. driven says that the step needs the GPU driver, which a forked child has not.
func (p *parser) process(s *Step, driven bool) error {
	s.process = p.word()
	if !p.procs[s.process] {
		return p.errorf("there is no such process")
	}
	if driven && p.kids[s.process] != "" {
		return p.errorf("is a forked child: the GPU driver does not follow it")
	}
	return nil
}

// addr reads an address: a number or NAME[PAGE], and +BYTES.
func (p *parser) addr(process, w string) (at uint64, m *Mapping, err error) {
	base, off, plus := strings.Cut(w, "+")
	var add uint64
	if plus {
		if add, err = strconv.ParseUint(off, 0, 46); err != nil {
			return 0, nil, p.errorf("what follows + is a number of bytes")
		}
	}
	name, index, bracket := strings.Cut(base, "[")
	if at, err = strconv.ParseUint(name, 0, 46); err != nil {
		if m = p.mapping(process, name); m == nil {
			return 0, nil, p.errorf("neither an address nor the name of a mapping of %s", process)
		}
		at = m.Start
	}
	if bracket {
		index, ok := strings.CutSuffix(index, "]")
		n, err := strconv.ParseUint(index, 0, 32)
		if !ok || err != nil {
			return 0, nil, p.errorf("in brackets belongs a page number")
		}
		add += n << mm.PageShift
	}
	if bracket || plus {
		m = nil
	}
	return at + add, m, nil
}

func (p *parser) mapping(process, name string) *Mapping {
	if parent := p.kids[process]; parent != "" {
		process = parent
	}
	for i := len(p.sc.Names) - 1; i >= 0; i-- {
		if m := &p.sc.Names[i]; m.Process == process && m.Name == name {
			return m
		}
	}
	return nil
}

// rng reads a range: an address and a size, or the name of a mapping. one accepts an address alone, for its page.
func (p *parser) rng(s *Step, one bool) error {
	at, m, err := p.addr(s.process, p.word())
	if err != nil {
		return err
	}
	s.start = at
	if n, err := strconv.ParseUint(p.peek(), 0, 32); err == nil && len(p.words) > 1 && strings.HasPrefix(p.words[1].text, "page") {
		p.word()
		if n == 0 || n > maxPages {
			return p.errorf("a size from 1 to %d pages belongs here", maxPages)
		}
		p.word()
		s.size = n << mm.PageShift
		return nil
	}
	switch {
	case m != nil:
		s.size = m.Pages << mm.PageShift
	case one:
		s.start &^= mm.PageSize - 1
		s.size = mm.PageSize
	default:
		return p.errorf("a size must follow (4 pages)")
	}
	return nil
}

func parseRights(w string) (mm.Prot, bool) {
	p, ok := map[string]mm.Prot{"none": 0, "r": mm.ProtRead, "ro": mm.ProtRead, "rw": mm.ProtRead | mm.ProtWrite, "rx": mm.ProtRead | mm.ProtExec,
		"rwx": mm.ProtRead | mm.ProtWrite | mm.ProtExec}[w]
	return p, ok
}

var kinds = map[string]mm.Kind{"anon": mm.Anon, "heap": mm.Heap, "stack": mm.Stack, "file": mm.File, "io": mm.IO}

func (p *parser) rights(s *Step) (err error) {
	prot, ok := parseRights(p.word())
	if !ok {
		return p.errorf("rights belong here: none, r, rw, rx or rwx")
	}
	s.prot = prot
	return nil
}

func (p *parser) gpuWord(s *Step) (err error) {
	n, ok := gpuIndex(p.word())
	if !ok {
		return p.errorf("the name of a GPU belongs here (gpu0)")
	}
	s.gpu, err = p.checkGPU(n)
	return err
}

func (p *parser) pagesWord() error {
	if w := p.word(); w != "page" && w != "pages" {
		return p.errorf("pages belongs here")
	}
	return nil
}
