package codeobj

import (
	"fmt"
	"strings"
)

// Processor is one row of the table of AMDGPU processors: what the MACH byte of e_flags means.
type Processor struct {
	Name    string
	Mach    uint8
	Major   int // 9, 10, 11...; version Major.Minor.Stepping, the last two in hex in the name
	Minor   int
	Step    int
	XNACK   bool // XNACK can be chosen
	SRAMECC bool // SRAM ECC can be chosen
	// Members are the processors that run code of this generic one; nil for a real processor. For a generic processor
	// the version is that of its first member.
	Members []string
}

// Processors lists every processor from gfx700 on that a V3 to V6 code object may name, by MACH value.
var Processors = []Processor{
	{Name: "gfx700", Mach: 0x22, Major: 7},
	{Name: "gfx701", Mach: 0x23, Major: 7, Step: 1},
	{Name: "gfx702", Mach: 0x24, Major: 7, Step: 2},
	{Name: "gfx703", Mach: 0x25, Major: 7, Step: 3},
	{Name: "gfx704", Mach: 0x26, Major: 7, Step: 4},
	{Name: "gfx801", Mach: 0x28, Major: 8, Step: 1, XNACK: true},
	{Name: "gfx802", Mach: 0x29, Major: 8, Step: 2},
	{Name: "gfx803", Mach: 0x2a, Major: 8, Step: 3},
	{Name: "gfx810", Mach: 0x2b, Major: 8, Minor: 1, XNACK: true},
	{Name: "gfx900", Mach: 0x2c, Major: 9, XNACK: true},
	{Name: "gfx902", Mach: 0x2d, Major: 9, Step: 2, XNACK: true},
	{Name: "gfx904", Mach: 0x2e, Major: 9, Step: 4, XNACK: true},
	{Name: "gfx906", Mach: 0x2f, Major: 9, Step: 6, XNACK: true, SRAMECC: true},
	{Name: "gfx908", Mach: 0x30, Major: 9, Step: 8, XNACK: true, SRAMECC: true},
	{Name: "gfx909", Mach: 0x31, Major: 9, Step: 9, XNACK: true},
	{Name: "gfx90c", Mach: 0x32, Major: 9, Step: 12, XNACK: true},
	{Name: "gfx1010", Mach: 0x33, Major: 10, Minor: 1, XNACK: true},
	{Name: "gfx1011", Mach: 0x34, Major: 10, Minor: 1, Step: 1, XNACK: true},
	{Name: "gfx1012", Mach: 0x35, Major: 10, Minor: 1, Step: 2, XNACK: true},
	{Name: "gfx1030", Mach: 0x36, Major: 10, Minor: 3},
	{Name: "gfx1031", Mach: 0x37, Major: 10, Minor: 3, Step: 1},
	{Name: "gfx1032", Mach: 0x38, Major: 10, Minor: 3, Step: 2},
	{Name: "gfx1033", Mach: 0x39, Major: 10, Minor: 3, Step: 3},
	{Name: "gfx705", Mach: 0x3b, Major: 7, Step: 5},
	{Name: "gfx805", Mach: 0x3c, Major: 8, Step: 5},
	{Name: "gfx1035", Mach: 0x3d, Major: 10, Minor: 3, Step: 5},
	{Name: "gfx1034", Mach: 0x3e, Major: 10, Minor: 3, Step: 4},
	{Name: "gfx90a", Mach: 0x3f, Major: 9, Step: 10, XNACK: true, SRAMECC: true},
	{Name: "gfx940", Mach: 0x40, Major: 9, Minor: 4, XNACK: true, SRAMECC: true},
	{Name: "gfx1100", Mach: 0x41, Major: 11},
	{Name: "gfx1013", Mach: 0x42, Major: 10, Minor: 1, Step: 3, XNACK: true},
	{Name: "gfx1150", Mach: 0x43, Major: 11, Minor: 5},
	{Name: "gfx1103", Mach: 0x44, Major: 11, Step: 3},
	{Name: "gfx1036", Mach: 0x45, Major: 10, Minor: 3, Step: 6},
	{Name: "gfx1101", Mach: 0x46, Major: 11, Step: 1},
	{Name: "gfx1102", Mach: 0x47, Major: 11, Step: 2},
	{Name: "gfx1200", Mach: 0x48, Major: 12},
	{Name: "gfx1250", Mach: 0x49, Major: 12, Minor: 5},
	{Name: "gfx1151", Mach: 0x4a, Major: 11, Minor: 5, Step: 1},
	{Name: "gfx941", Mach: 0x4b, Major: 9, Minor: 4, Step: 1, XNACK: true, SRAMECC: true},
	{Name: "gfx942", Mach: 0x4c, Major: 9, Minor: 4, Step: 2, XNACK: true, SRAMECC: true},
	{Name: "gfx1201", Mach: 0x4e, Major: 12, Step: 1},
	{Name: "gfx950", Mach: 0x4f, Major: 9, Minor: 5, XNACK: true, SRAMECC: true},
	{Name: "gfx9-generic", Mach: 0x51, Major: 9, XNACK: true, Members: []string{"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
	{Name: "gfx10-1-generic", Mach: 0x52, Major: 10, Minor: 1, XNACK: true, Members: []string{"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
	{Name: "gfx10-3-generic", Mach: 0x53, Major: 10, Minor: 3, Members: []string{"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
	{Name: "gfx11-generic", Mach: 0x54, Major: 11, Members: []string{"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
	{Name: "gfx1152", Mach: 0x55, Major: 11, Minor: 5, Step: 2},
	{Name: "gfx1153", Mach: 0x58, Major: 11, Minor: 5, Step: 3},
	{Name: "gfx12-generic", Mach: 0x59, Major: 12, Members: []string{"gfx1200", "gfx1201"}},
	{Name: "gfx9-4-generic", Mach: 0x5f, Major: 9, Minor: 4, XNACK: true, SRAMECC: true, Members: []string{"gfx940", "gfx941", "gfx942", "gfx950"}},
}

var (
	procByName = map[string]*Processor{}
	procByMach [256]*Processor
)

func init() {
	for i := range Processors {
		p := &Processors[i]
		procByName[p.Name] = p
		procByMach[p.Mach] = p
	}
}

// LookupProcessor finds a processor by name, nil if there is none.
func LookupProcessor(name string) *Processor { return procByName[name] }

// ProcessorByMach finds a processor by the MACH byte of e_flags, nil if there is none.
func ProcessorByMach(mach uint8) *Processor { return procByMach[mach] }

// ProcessorByVersion finds the real processor with the version that the topology's gfx_target_version property
// encodes as major*10000 + minor*100 + stepping, nil if there is none.
func ProcessorByVersion(v uint32) *Processor {
	for i := range Processors {
		p := &Processors[i]
		if p.Members == nil && p.Version() == v {
			return p
		}
	}
	return nil
}

// Version returns major*10000 + minor*100 + stepping.
func (p *Processor) Version() uint32 { return uint32(p.Major*10000 + p.Minor*100 + p.Step) }

// Runs reports whether p, a real processor, runs code made for q: the same one, or a generic one that has it as a member.
func (p *Processor) Runs(q *Processor) bool {
	if p == q {
		return true
	}
	for _, m := range q.Members {
		if m == p.Name {
			return true
		}
	}
	return false
}

// Setting is what code assumes, or an agent has, of a target feature.
type Setting uint8

// Settings, with the values of the e_flags fields.
const (
	Unsupported Setting = 0 // the processor has no choice
	Any         Setting = 1 // code runs in either mode
	Off         Setting = 2
	On          Setting = 3
)

// Target is a target id: a processor with settings.
type Target struct {
	Proc    *Processor
	XNACK   Setting
	SRAMECC Setting
}

// ParseTarget reads a target id such as gfx90a:sramecc+:xnack-, optionally with the triple in front
// (amdgcn-amd-amdhsa--gfx90a:xnack-).
func ParseTarget(id string) (Target, error) {
	s := id
	if i := strings.Index(s, "gfx"); i > 0 && strings.HasPrefix(s, "amdgcn-") {
		s = s[i:]
	}
	name, feats, _ := strings.Cut(s, ":")
	p := procByName[name]
	if p == nil {
		return Target{}, bad("target id", 0, "unknown processor %q in %q", name, id)
	}
	t := Target{Proc: p}
	if p.XNACK {
		t.XNACK = Any
	}
	if p.SRAMECC {
		t.SRAMECC = Any
	}
	for feats != "" {
		var f string
		f, feats, _ = strings.Cut(feats, ":")
		if len(f) < 2 {
			return Target{}, bad("target id", uint64(len(id)-len(feats)), "bad feature %q in %q", f, id)
		}
		var set Setting
		switch f[len(f)-1] {
		case '+':
			set = On
		case '-':
			set = Off
		default:
			return Target{}, bad("target id", uint64(len(id)-len(feats)), "feature %q of %q has no + or -", f, id)
		}
		var dst *Setting
		switch f[:len(f)-1] {
		case "xnack":
			dst = &t.XNACK
		case "sramecc":
			dst = &t.SRAMECC
		default:
			return Target{}, bad("target id", uint64(len(id)-len(feats)), "unknown feature %q in %q", f, id)
		}
		if *dst != Any {
			return Target{}, bad("target id", uint64(len(id)-len(feats)), "feature %q of %q is repeated or not supported by %s", f, id, name)
		}
		*dst = set
	}
	return t, nil
}

// targetFromFlags decodes the e_flags of a V3 or later code object.
func targetFromFlags(flags uint32, version int) (Target, error) {
	p := procByMach[flags&0xff]
	if p == nil {
		return Target{}, bad("ELF header", 48, "unknown MACH %#x in e_flags %#x", flags&0xff, flags)
	}
	t := Target{Proc: p}
	if version == 3 {
		// V3 has one bit for each: on, or not.
		if p.XNACK {
			t.XNACK = Off + Setting(flags>>8&1)
		}
		if p.SRAMECC {
			t.SRAMECC = Off + Setting(flags>>9&1)
		}
		return t, nil
	}
	t.XNACK, t.SRAMECC = Setting(flags>>8&3), Setting(flags>>10&3)
	return t, nil
}

// String writes the target id in its canonical form: features in alphabetical order, those at Any left out.
func (t Target) String() string {
	if t.Proc == nil {
		return "none"
	}
	s := t.Proc.Name
	for _, f := range [...]struct {
		n string
		v Setting
	}{{"sramecc", t.SRAMECC}, {"xnack", t.XNACK}} {
		switch f.v {
		case On:
			s += ":" + f.n + "+"
		case Off:
			s += ":" + f.n + "-"
		}
	}
	return s
}

// Triple writes the target id behind its triple: the ISA name of HSA.
func (t Target) Triple() string { return "amdgcn-amd-amdhsa--" + t.String() }

// named counts the settings that the target id names.
func (t Target) named() (n int) {
	if t.XNACK >= Off {
		n++
	}
	if t.SRAMECC >= Off {
		n++
	}
	return
}

// Runs reports whether an agent of target t, whose settings are On, Off or Unsupported, runs code of target code.
func (t Target) Runs(code Target) bool {
	if t.Proc == nil || code.Proc == nil || !t.Proc.Runs(code.Proc) {
		return false
	}
	ok := func(agent, code Setting) bool { return code < Off || code == agent }
	return ok(t.XNACK, code.XNACK) && ok(t.SRAMECC, code.SRAMECC)
}

// GoString is for test failures.
func (t Target) GoString() string { return fmt.Sprintf("codeobj.Target(%s)", t) }
