package isa

import (
	"strconv"
	"strings"
)

// imm prints an immediate operand in the symbolic form of its kind.
func (p *printer) imm(o *Operand, k immKind) {
	v := o.Value
	switch k {
	case immEndpgm:
		if v != 0 {
			p.str(" ")
			p.dec(int64(v))
		}
		return
	case immGPRIdx:
		p.sep()
		p.gprIdx(uint32(v))
		return
	}
	p.sep()
	switch k {
	case immHex16, immInt32:
		p.int32(uint32(v))
	case immS16, immU16:
		p.hex(v & 0xffff)
	case immLabel:
		p.dec(int64(v & 0xffff))
	case immWaitcnt:
		p.waitcnt(uint32(v))
	case immSendmsg:
		p.sendmsg(uint32(v))
	case immDepctr:
		p.depctr(uint32(v))
	case immDelay:
		p.delay(uint32(v))
	case immHwreg:
		p.hwreg(uint32(v))
	case immVersion:
		p.version(uint32(v))
	case immSlot:
		if v < 3 {
			p.str([...]string{"p10", "p20", "p0"}[v])
		} else {
			p.str("invalid_param_")
			p.dec(int64(v))
		}
	default:
		p.int32(uint32(v))
	}
}

func (p *printer) gprIdx(v uint32) {
	if v&^15 != 0 {
		p.hex(uint64(v))
		return
	}
	p.str("gpr_idx(")
	comma := false
	for i, s := range [...]string{"SRC0", "SRC1", "SRC2", "DST"} {
		if v>>i&1 != 0 {
			if comma {
				p.str(",")
			}
			p.str(s)
			comma = true
		}
	}
	p.str(")")
}

// waitFields splits s_waitcnt's immediate into its counters and their greatest values.
func waitFields(g Gen, v uint32) (vm, exp, lgkm, vmMax, expMax, lgkmMax uint32) {
	switch g {
	case GFX9, GFX940:
		return v&15 | v>>14&3<<4, v >> 4 & 7, v >> 8 & 15, 63, 7, 15
	case GFX10:
		return v&15 | v>>14&3<<4, v >> 4 & 7, v >> 8 & 63, 63, 7, 63
	}
	return v >> 10 & 63, v & 7, v >> 4 & 63, 63, 7, 63
}

func (p *printer) waitcnt(v uint32) {
	vm, exp, lgkm, vmMax, expMax, lgkmMax := waitFields(p.t.Gen, v)
	all := vm == vmMax && exp == expMax && lgkm == lgkmMax
	space := false
	one := func(name string, v, max uint32) {
		if v == max && !all {
			return
		}
		if space {
			p.str(" ")
		}
		p.str(name)
		p.dec(int64(v))
		p.str(")")
		space = true
	}
	one("vmcnt(", vm, vmMax)
	one("expcnt(", exp, expMax)
	one("lgkmcnt(", lgkm, lgkmMax)
}

// named is one line of tab/names.isa: a number's name on some targets.
type named struct {
	value   uint32
	name    string
	targets uint64
}

// nameTable finds the names of hardware registers, messages and formats.
func nameOf(list []named, v uint32, t *Target) string {
	for _, n := range list {
		if n.value == v && n.targets&t.bit != 0 {
			return n.name
		}
	}
	return ""
}

func (p *printer) hwreg(v uint32) {
	id, off, size := v&63, v>>6&31, v>>11&31+1
	p.str("hwreg(")
	if s := nameOf(load().names()["hwreg"], id, p.t); s != "" {
		p.str(s)
	} else {
		p.dec(int64(id))
	}
	if off != 0 || size != 32 {
		p.str(", ")
		p.dec(int64(off))
		p.str(", ")
		p.dec(int64(size))
	}
	p.str(")")
}

func (p *printer) sendmsg(v uint32) {
	names := load().names()
	id, op, stream := v&15, v>>4&7, v>>8&3
	gs := id == 2 || id == 3
	sys := id == 15
	if p.t.Gen >= GFX11 {
		id, op, stream, gs, sys = v&255, 0, 0, false, v&255 == 15
	}
	name := nameOf(names["msg"], id, p.t)
	opName := ""
	ok := name != ""
	switch {
	case sys:
		opName = nameOf(names["sysmsg"], op, p.t)
		ok = ok && opName != "" && stream == 0
	case gs:
		opName = nameOf(names["gsop"], op, p.t)
		ok = ok && opName != "" && !(id == 2 && op == 0)
		if id == 3 && op == 0 {
			ok = ok && stream == 0
		}
	default:
		ok = ok && op == 0 && stream == 0
	}
	switch {
	case ok:
		p.str("sendmsg(")
		p.str(name)
		if opName != "" {
			p.str(", ")
			p.str(opName)
			if gs && op != 0 {
				p.str(", ")
				p.dec(int64(stream))
			}
		}
		p.str(")")
	case id|op<<4|stream<<8 == v:
		p.str("sendmsg(")
		p.dec(int64(id))
		p.str(", ")
		p.dec(int64(op))
		p.str(", ")
		p.dec(int64(stream))
		p.str(")")
	default:
		p.dec(int64(v))
	}
}

func (p *printer) depctr(v uint32) {
	fields := [...]struct {
		name         string
		shift, width uint8
		hold         bool
	}{{"depctr_hold_cnt", 7, 1, true}, {"depctr_sa_sdst", 0, 1, false}, {"depctr_va_vdst", 12, 4, false},
		{"depctr_va_sdst", 9, 3, false}, {"depctr_va_ssrc", 8, 1, false}, {"depctr_va_vcc", 1, 1, false},
		{"depctr_vm_vsrc", 2, 3, false}}
	hold := p.t.Gen > GFX10 || p.t.Gen == GFX10 && p.t.Minor >= 3
	used, plain := uint32(0), true
	for _, f := range fields {
		if f.hold && !hold {
			continue
		}
		m := uint32(1)<<f.width - 1
		used |= m << f.shift
		plain = plain && v>>f.shift&m == m
	}
	if v&^used != 0 {
		p.hex(uint64(v))
		return
	}
	space := false
	for _, f := range fields {
		m := uint32(1)<<f.width - 1
		x := v >> f.shift & m
		if f.hold && !hold || x == m && !plain {
			continue
		}
		if space {
			p.str(" ")
		}
		p.str(f.name)
		p.str("(")
		p.dec(int64(x))
		p.str(")")
		space = true
	}
}

var delayIDs = [...]string{"NO_DEP", "VALU_DEP_1", "VALU_DEP_2", "VALU_DEP_3", "VALU_DEP_4", "TRANS32_DEP_1",
	"TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"}
var delaySkips = [...]string{"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"}

func (p *printer) delay(v uint32) {
	first := true
	one := func(what string, x uint32, names []string, bad string) {
		if x == 0 {
			return
		}
		if !first {
			p.str(" | ")
		}
		first = false
		p.str(what)
		if int(x) < len(names) {
			p.str(names[x])
		} else {
			p.str(bad)
		}
		p.str(")")
	}
	one("instid0(", v&15, delayIDs[:], "/* invalid instid value */")
	one("instskip(", v>>4&7, delaySkips[:], "/* invalid instskip value */")
	one("instid1(", v>>7&15, delayIDs[:], "/* invalid instid value */")
	if first {
		p.str("0")
	}
}

func (p *printer) version(v uint32) {
	if v&^0xe0ff != 0 {
		p.int32(v)
		return
	}
	text := nameOf(load().names()["version"], v&255, p.t)
	if text == "" {
		text = strconv.Itoa(int(v & 255))
	}
	nested := false
	for i, s := range [...]string{"UC_VERSION_W64_BIT", "UC_VERSION_W32_BIT", "UC_VERSION_MDP_BIT"} {
		if v>>(13+i)&1 == 0 {
			continue
		}
		if nested {
			text = "(" + text + ")"
		}
		text += "|" + s
		nested = true
	}
	p.str(text)
}

// bufferFormat prints a typed buffer's format.
func (p *printer) bufferFormat() {
	f := uint32(p.in.MTFmt)
	names := load().names()
	if p.t.Gen >= GFX10 {
		if f == 1 {
			return
		}
		tab := "ufmt10"
		if p.t.Gen >= GFX11 {
			tab = "ufmt11"
		}
		p.str(" format:")
		if s := nameOf(names[tab], f, p.t); s != "" {
			p.str("[" + s + "]")
		} else {
			p.dec(int64(f))
		}
		return
	}
	if f == 1 {
		return
	}
	d, n := f&15, f>>4&7
	var parts []string
	if d != 1 {
		parts = append(parts, nameOf(names["dfmt"], d, p.t))
	}
	if n != 0 {
		parts = append(parts, nameOf(names["nfmt"], n, p.t))
	}
	p.str(" format:[" + strings.Join(parts, ",") + "]")
}
