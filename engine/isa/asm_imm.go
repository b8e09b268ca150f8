package isa

import (
	"math"
	"strings"
)

// imm takes the next operand as an immediate of a kind.
func (a *asm) imm(k immKind) uint32 {
	if k == immEndpgm && a.peek() == "" {
		return 0
	}
	s := a.arg()
	number := func(lo, hi int64) uint32 {
		v, ok := parseNumber(s)
		if !ok || v < lo || v > hi {
			a.fail(errOperandBad)
		}
		return uint32(v)
	}
	switch k {
	case immWaitcnt, immDepctr, immDelay:
		// Several words are one operand.
		words := append([]string{s}, a.line.mods...)
		a.used = 1<<len(a.line.mods) - 1
		return a.counters(k, words)
	case immLabel, immS16, immU16, immEndpgm:
		return number(-1<<15, 1<<16-1) & 0xffff
	case immGPRIdx:
		return a.gprIdx(s)
	case immHwreg:
		return a.hwreg(s)
	case immSendmsg:
		return a.sendmsg(s)
	case immVersion:
		return a.version(s)
	case immSlot:
		if i := strings.TrimPrefix(s, "invalid_param_"); i != s {
			s = i
			return number(0, 511)
		}
		v, ok := map[string]uint32{"p10": 0, "p20": 1, "p0": 2}[s]
		if !ok {
			a.fail(errOperandBad)
		}
		return v
	}
	if c, ok := floatCodes[s]; ok {
		return inlineF32[c-240] & 0xffff
	}
	return number(math.MinInt16, 1<<32-1) & 0xffff
}

// call splits "name(arguments)".
func call(s string) (name, args string, ok bool) {
	name, args, ok = strings.Cut(s, "(")
	args, ok2 := strings.CutSuffix(args, ")")
	return name, args, ok && ok2
}

func (a *asm) gprIdx(s string) uint32 {
	if v, ok := parseNumber(s); ok {
		return uint32(v)
	}
	name, args, ok := call(s)
	if !ok || name != "gpr_idx" {
		a.fail(errOperandBad)
	}
	var v uint32
	for _, w := range strings.Split(args, ",") {
		switch strings.TrimSpace(w) {
		case "SRC0":
			v |= 1
		case "SRC1":
			v |= 2
		case "SRC2":
			v |= 4
		case "DST":
			v |= 8
		case "":
		default:
			a.fail(errOperandBad)
		}
	}
	return v
}

// counters reads s_waitcnt, s_waitcnt_depctr and s_delay_alu.
func (a *asm) counters(k immKind, words []string) uint32 {
	if len(words) == 1 {
		if v, ok := parseNumber(words[0]); ok {
			return uint32(v) & 0xffff
		}
	}
	if k == immDelay {
		return a.delay(words)
	}
	// All fields that are not named are at their greatest value.
	var v uint32
	fields := map[string][2]field{}
	add := func(name string, f, hi field) { fields[name] = [2]field{f, hi} }
	bit := func(shift, width uint8) field { return field{shift: shift, width: width} }
	if k == immWaitcnt {
		switch a.t.Gen {
		case GFX9, GFX940:
			add("vmcnt", bit(0, 4), bit(14, 2))
			add("expcnt", bit(4, 3), field{})
			add("lgkmcnt", bit(8, 4), field{})
		case GFX10:
			add("vmcnt", bit(0, 4), bit(14, 2))
			add("expcnt", bit(4, 3), field{})
			add("lgkmcnt", bit(8, 6), field{})
		default:
			add("vmcnt", bit(10, 6), field{})
			add("expcnt", bit(0, 3), field{})
			add("lgkmcnt", bit(4, 6), field{})
		}
	} else {
		add("depctr_hold_cnt", bit(7, 1), field{})
		add("depctr_sa_sdst", bit(0, 1), field{})
		add("depctr_va_vdst", bit(12, 4), field{})
		add("depctr_va_sdst", bit(9, 3), field{})
		add("depctr_va_ssrc", bit(8, 1), field{})
		add("depctr_va_vcc", bit(1, 1), field{})
		add("depctr_vm_vsrc", bit(2, 3), field{})
		if a.t.Gen == GFX10 && a.t.Minor < 3 {
			delete(fields, "depctr_hold_cnt")
		}
	}
	put := func(f field, x uint32) {
		if f.width != 0 {
			m := uint32(1)<<f.width - 1
			v = v&^(m<<f.shift) | x&m<<f.shift
		}
	}
	for _, f := range fields {
		put(f[0], ^uint32(0))
		put(f[1], ^uint32(0))
	}
	for _, w := range words {
		name, args, ok := call(w)
		x, isNum := parseNumber(args)
		f, known := fields[name]
		if !ok || !isNum || !known || x < 0 || x >= 1<<(f[0].width+f[1].width) {
			a.fail(errOperandBad)
			return 0
		}
		put(f[0], uint32(x))
		put(f[1], uint32(x)>>f[0].width)
	}
	return v
}

func (a *asm) delay(words []string) (v uint32) {
	for i, w := range words {
		if w == "|" && i > 0 {
			continue
		}
		name, arg, ok := call(w)
		names, shift := delayIDs[:], 0
		switch name {
		case "instid0":
		case "instid1":
			shift = 7
		case "instskip":
			names, shift = delaySkips[:], 4
		default:
			ok = false
		}
		found := false
		for i, n := range names {
			if n == arg {
				v |= uint32(i) << shift
				found = true
			}
		}
		if !ok || !found {
			a.fail(errOperandBad)
		}
	}
	return v
}

// named finds the number of a name, or reads a number.
func (a *asm) named(tab, s string) (uint32, bool) {
	for _, n := range load().names()[tab] {
		if n.name == s && n.targets&a.t.bit != 0 {
			return n.value, true
		}
	}
	v, ok := parseNumber(s)
	return uint32(v), ok && v >= 0 && v < 1<<16
}

func (a *asm) hwreg(s string) uint32 {
	if v, ok := parseNumber(s); ok {
		return uint32(v) & 0xffff
	}
	name, args, ok := call(s)
	w := strings.Split(args, ",")
	for i := range w {
		w[i] = strings.TrimSpace(w[i])
	}
	id, known := a.named("hwreg", w[0])
	off, size := int64(0), int64(32)
	if len(w) == 3 {
		var ok1, ok2 bool
		off, ok1 = parseNumber(w[1])
		size, ok2 = parseNumber(w[2])
		ok = ok && ok1 && ok2
	}
	if !ok || !known || name != "hwreg" || len(w) != 1 && len(w) != 3 || id > 63 || off < 0 || off > 31 || size < 1 || size > 32 {
		a.fail(errOperandBad)
		return 0
	}
	return id | uint32(off)<<6 | uint32(size-1)<<11
}

func (a *asm) sendmsg(s string) uint32 {
	if v, ok := parseNumber(s); ok {
		return uint32(v) & 0xffff
	}
	name, args, ok := call(s)
	w := strings.Split(args, ",")
	for i := range w {
		w[i] = strings.TrimSpace(w[i])
	}
	id, known := a.named("msg", w[0])
	ok = ok && known && name == "sendmsg" && len(w) <= 3
	var op, stream uint32
	if ok && len(w) > 1 {
		if op, known = a.named("sysmsg", w[1]); !known || id != 15 {
			op, known = a.named("gsop", w[1])
		}
		ok = known
	}
	if ok && len(w) > 2 {
		stream, ok = a.named("", w[2])
	}
	if !ok {
		a.fail(errOperandBad)
		return 0
	}
	return id | op<<4 | stream<<8
}

func (a *asm) version(s string) (v uint32) {
	if v, ok := parseNumber(s); ok {
		return uint32(v) & 0xffff
	}
	for _, w := range strings.Split(strings.NewReplacer("(", "", ")", "").Replace(s), "|") {
		switch w {
		case "UC_VERSION_W64_BIT":
			v |= 1 << 13
		case "UC_VERSION_W32_BIT":
			v |= 1 << 14
		case "UC_VERSION_MDP_BIT":
			v |= 1 << 15
		default:
			x, ok := a.named("version", w)
			if !ok {
				a.fail(errOperandBad)
			}
			v |= x
		}
	}
	return v
}
