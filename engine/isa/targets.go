package isa

import (
	"fmt"
	"strconv"
	"strings"
)

// Targets returns every processor the tables know, in the order of tab/targets.isa. The slice must not be changed.
func Targets() []*Target { return load().targets }

// TargetByName finds a processor by its LLVM name ("gfx90a"); feature suffixes (":xnack-") are ignored.
func TargetByName(name string) *Target {
	name, _, _ = strings.Cut(name, ":")
	for _, t := range load().targets {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// TargetByMach finds a processor by EF_AMDGPU_MACH, the low byte of an AMDGPU ELF header's e_flags.
func TargetByMach(mach uint8) *Target {
	for _, t := range load().targets {
		if t.Mach == mach {
			return t
		}
	}
	return nil
}

// Wave returns the target as it decodes and spells for the given wave size. It is the target itself where the size is
// the default; Decode with the wrong one still finds the same instructions, but lane-mask operands get the wrong width.
func (t *Target) Wave(size int) *Target {
	if size == 64 && t.wave64 != nil {
		return t.wave64
	}
	if size == 32 && t.wave32 != nil {
		return t.wave32
	}
	return t
}

func parseTargets(text string) ([]*Target, error) {
	var out []*Target
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		t, err := parseTarget(w)
		if err != nil {
			return nil, fmt.Errorf("targets.isa:%d: %w", i+1, err)
		}
		t.bit = 1 << len(out)
		out = append(out, t)
	}
	if len(out) > 64 {
		return nil, fmt.Errorf("targets.isa: more than 64 targets")
	}
	return out, nil
}

func parseTarget(w []string) (*Target, error) {
	if len(w) < 3 || !strings.HasPrefix(w[0], "gfx") || len(w[0]) < 6 {
		return nil, fmt.Errorf("want name, machine, generation")
	}
	t := &Target{Name: w[0]}
	m, err := strconv.ParseUint(w[1], 16, 8)
	if err != nil {
		return nil, err
	}
	t.Mach = uint8(m)
	g, ok := genNames[w[2]]
	if !ok {
		return nil, fmt.Errorf("unknown generation %q", w[2])
	}
	t.Gen = g
	num := w[0][3:]
	major, err1 := strconv.Atoi(num[:len(num)-2])
	minor, err2 := strconv.ParseUint(num[len(num)-2:len(num)-1], 16, 8)
	step, err3 := strconv.ParseUint(num[len(num)-1:], 16, 8)
	if err1 != nil || err2 != nil || err3 != nil {
		return nil, fmt.Errorf("bad processor name %q", w[0])
	}
	t.Major, t.Minor, t.Step = major, int(minor), int(step)
	for _, s := range w[3:] {
		if v, ok := strings.CutPrefix(s, "granule="); ok {
			if t.VGPRGranule, err = strconv.Atoi(v); err != nil {
				return nil, err
			}
			continue
		}
		p, ok := map[string]*bool{"wave32": &t.Wave32, "packed": &t.PackedTID, "archflat": &t.ArchFlat,
			"acc": &t.HasAcc, "unified": &t.UnifiedAcc, "xnack": &t.Xnack, "sramecc": &t.SramECC,
			"d16keep": &t.D16Preserves, "f16zero": &t.F16ZeroesHigh, "wgttmp": &t.WGIDinTTMP}[s]
		if !ok {
			return nil, fmt.Errorf("unknown property %q", s)
		}
		*p = true
	}
	return t, nil
}
