package isa

import (
	"fmt"
	"strconv"
	"strings"
)

// rowReader reads instruction lines.
type rowReader struct {
	sets  *targetSets
	ops   []Op          // room
	specs []OperandSpec // room
	w, x  []string      // words, used again for each line
}

// operands is room for n operands.
func (r *rowReader) operands(n int) []OperandSpec {
	if len(r.specs) < n {
		r.specs = make([]OperandSpec, 1024)
	}
	l := r.specs[:0:n]
	r.specs = r.specs[n:]
	return l
}

// row reads one instruction line:
//
//	name|older@gens  op op op op op  dst : src ; flags
func (r *rowReader) row(line string, f Format) (*Op, error) {
	head, flags, _ := strings.Cut(line, ";")
	head, srcs, ok := strings.Cut(head, ":")
	w := fields(r.w[:0], head)
	r.w = w
	if !ok || len(w) < 1+int(NumGens) {
		return nil, fmt.Errorf("want name, %d opcodes, dst : src", NumGens)
	}
	if len(r.ops) == 0 {
		r.ops = make([]Op, 256)
	}
	op := &r.ops[0]
	r.ops = r.ops[1:]
	op.Fmt = f
	for i := range op.Code {
		op.Code[i] = -1
	}
	a := &op.attr
	name, older, _ := strings.Cut(w[0], "|")
	op.Name = name
	for g := Gen(0); g < NumGens; g++ {
		c, gate, gated := strings.Cut(w[1+g], "@")
		if c == "-" {
			continue
		}
		v, err := strconv.ParseUint(c, 16, 12)
		if err != nil {
			return nil, err
		}
		op.Code[g] = int16(v)
		a.names[g] = op.Name
		if gated {
			m, err := r.sets.of(gate, '/')
			if err != nil {
				return nil, err
			}
			a.targets |= m
			continue
		}
		a.targets |= r.sets.gen[g]
	}
	for older != "" {
		var s string
		s, older, _ = strings.Cut(older, "|")
		n, gens, ok := strings.Cut(s, "@")
		if !ok {
			return nil, fmt.Errorf("older spelling %q without generations", s)
		}
		op.Aliases = append(op.Aliases, n)
		for _, x := range strings.Split(gens, ",") {
			g, ok := genNames[x]
			if !ok {
				return nil, fmt.Errorf("unknown generation %q", x)
			}
			a.names[g] = n
		}
	}
	r.x = fields(r.x[:0], srcs)
	op.Dst, op.Src = r.operands(2), r.operands(4)
	if err := parseOperands(op, w[1+NumGens:], r.x); err != nil {
		return nil, err
	}
	r.x = fields(r.x[:0], flags)
	if err := parseFlags(op, r.x, r.sets); err != nil {
		return nil, err
	}
	deriveRow(op)
	return op, nil
}

func parseOperands(op *Op, dst, src []string) error {
	a := &op.attr
	one := func(s string) (opnd, error) {
		if k, ok := immTokens[s]; ok {
			return opnd{imm: k, ty: B32, n: 1}, nil
		}
		if s == "addr" {
			return opnd{ty: B32, n: 1}, nil
		}
		var o opnd
		if p, rest, ok := strings.Cut(s, "."); ok {
			switch p {
			case "s", "a", "k":
				o.file = p[0]
			case "swap":
				o.file = 'w'
			default:
				return o, fmt.Errorf("unknown register file %q", p)
			}
			s = rest
		}
		t, err := parseType(s)
		o.ty, o.n = t.ty, t.n
		if o.file == 'k' {
			o.imm = immK
		}
		return o, err
	}
	n := 0
	for _, s := range dst {
		if s == "-" {
			continue
		}
		o, err := one(s)
		if err != nil {
			return err
		}
		if n == 2 {
			return fmt.Errorf("more than two destinations")
		}
		a.dst[n] = o
		n++
		op.Dst = append(op.Dst, OperandSpec{Type: o.ty, N: o.n, Dst: true})
	}
	n = 0
	for _, s := range src {
		if s == "-" {
			continue
		}
		o, err := one(s)
		if err != nil {
			return err
		}
		if n == 4 {
			return fmt.Errorf("more than four sources")
		}
		a.src[n] = o
		if o.imm != immNone && o.imm != immK && a.imm == immNone {
			a.imm = o.imm
		}
		n++
		name := ""
		if _, ok := immTokens[s]; ok || s == "addr" {
			name = s
		}
		op.Src = append(op.Src, OperandSpec{Name: name, Type: o.ty, N: o.n})
	}
	return nil
}

func parseFlags(op *Op, flags []string, sets *targetSets) error {
	a := &op.attr
	for i := range a.mods {
		a.mods[i] = modNone
	}
	for _, s := range flags {
		if m, ok := strings.CutPrefix(s, "m="); ok {
			copy(a.mods[:], m)
			continue
		}
		if e, ok := strings.CutPrefix(s, "extra="); ok {
			v, err := strconv.ParseUint(e, 10, 8)
			if err != nil {
				return err
			}
			a.extra = uint8(v)
			continue
		}
		name, list, gated := strings.Cut(s, "@")
		m := ^uint64(0)
		if gated {
			var err error
			if m, err = sets.of(list, ','); err != nil {
				return err
			}
		}
		switch name {
		case "nosdwa":
			a.noSDWA |= m
			if !gated {
				op.Flags |= FlagNoSDWA
			}
			continue
		case "nodpp":
			a.noDPP |= m
			if !gated {
				op.Flags |= FlagNoDPP
			}
			continue
		case "nodpp64":
			a.noDPP64 |= m
			continue
		case "dpp64":
			a.dpp64 |= m
			continue
		case "lds":
			a.lds |= m
			continue
		case "noscc":
			a.noSCC |= m
			continue
		}
		if gated {
			return fmt.Errorf("flag %q takes no generations", name)
		}
		p, ok1 := propTokens[name]
		f, ok2 := flagTokens[name]
		a.p |= p
		op.Flags |= f
		if !ok1 && !ok2 && name != "rexec" {
			return fmt.Errorf("unknown flag %q", name)
		}
	}
	return nil
}

// deriveRow fills in what follows from the rest of the row: implicit operands, operand names, computed flags.
func deriveRow(op *Op) {
	a := &op.attr
	for _, m := range a.mods {
		if m != modNone {
			a.nmods++
		}
		if m == modFP {
			op.Flags |= FlagFloat
		}
	}
	for _, o := range a.src {
		if o.imm == immK {
			op.Flags |= FlagMadK
		}
	}
	if a.p&pClamp != 0 && op.Flags&FlagFloat == 0 && a.p&pOmod == 0 {
		op.Flags |= FlagIntClamp
	}
	if op.Name == "v_ldexp_f16" { // its exponent is an integer, in spite of the name
		a.p |= pSInt1
	}
	if op.Name == "v_cvt_pk_f32_fp8" || op.Name == "v_cvt_pk_f32_bf8" {
		a.mods[0] = modNone
	}
	vcc := opnd{ty: MaskT, n: 2}
	switch op.Fmt {
	case VOP2:
		if op.Flags&FlagWritesVCC != 0 {
			a.dst[1] = vcc
			op.Dst = append(op.Dst, OperandSpec{Name: "vcc", Type: MaskT, N: 2, Dst: true})
		}
		if op.Flags&FlagReadsVCC != 0 {
			a.src[2] = vcc
			op.Src = append(op.Src, OperandSpec{Name: "vcc", Type: MaskT, N: 2})
		}
	case VOPC:
		a.dst[0] = vcc
		op.Dst = append(op.Dst, OperandSpec{Name: "sdst", Type: MaskT, N: 2, Dst: true})
		op.Flags |= FlagWritesMask
	}
	if op.Fmt == VOP3 || op.Fmt == VOP2 {
		for i := range op.Dst {
			if op.Dst[i].Type == MaskT {
				op.Flags |= FlagWritesMask
			}
		}
	}
	switch op.Name {
	case "s_barrier", "s_barrier_wait", "s_barrier_signal", "s_barrier_signal_isfirst":
		op.Flags |= FlagBarrier
	case "s_nop", "s_waitcnt", "s_sleep", "s_setprio", "s_clause", "s_delay_alu", "s_wait_alu", "s_inst_prefetch",
		"s_set_inst_prefetch_distance", "s_wait_idle", "s_wait_event", "s_wait_loadcnt", "s_wait_storecnt",
		"s_wait_samplecnt", "s_wait_bvhcnt", "s_wait_expcnt", "s_wait_dscnt", "s_wait_kmcnt",
		"s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt", "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_expcnt",
		"s_waitcnt_lgkmcnt", "s_incperflevel", "s_decperflevel", "s_ttracedata", "s_ttracedata_imm",
		"s_singleuse_vdst", "s_icache_inv", "s_wakeup", "v_nop", "ds_nop", "v_pipeflush":
		op.Flags |= FlagNop
	}
	if strings.Contains(op.Name, "wmma_") || strings.Contains(op.Name, "mfma") && op.Name != "v_mfma_ld_scale_b32" || strings.Contains(op.Name, "smfmac") || strings.Contains(op.Name, "swmmac") {
		op.Flags |= FlagMFMA
	}
	memoryFlags(op)
	names := [4]string{"src0", "src1", "src2", "src3"}
	switch op.Fmt {
	case SMEM:
		names = [4]string{"sbase", "soffset"}
	case DS:
		n := 0
		for i := range op.Src {
			if op.Src[i].Name == "" {
				op.Src[i].Name = [2]string{"data0", "data1"}[min(n, 1)]
				n++
			}
		}
	}
	for i := range op.Src {
		if op.Src[i].Name == "" && i < len(names) {
			op.Src[i].Name = names[i]
		}
	}
	for i := range op.Dst {
		if op.Dst[i].Name == "" {
			op.Dst[i].Name = "vdst"
			switch {
			case i == 1 || op.Fmt <= SMEM && op.Fmt != FormatInvalid || a.dst[i].file == 's':
				op.Dst[i].Name = "sdst"
			}
		}
	}
}

// memoryFlags says of memory rows whether they load, store or do an atomic operation, and gives them the operand
// positions that lifting relies on (doc.go, "Operand order").
func memoryFlags(op *Op) {
	a := &op.attr
	data := OperandSpec{Name: "vdata"}
	if len(op.Src) > 0 {
		data.Type, data.N = op.Src[0].Type, op.Src[0].N
	}
	switch op.Fmt {
	case DS:
		n := op.Name
		switch {
		case strings.HasPrefix(n, "ds_swizzle"), strings.Contains(n, "permute"), n == "ds_nop":
		case strings.HasPrefix(n, "ds_load"), strings.HasPrefix(n, "ds_read"):
			op.Flags |= FlagLoad
		case strings.HasPrefix(n, "ds_store") && !strings.HasPrefix(n, "ds_storexchg"), strings.HasPrefix(n, "ds_write"):
			op.Flags |= FlagStore
		case strings.HasPrefix(n, "ds_gws"):
		case n == "ds_consume", n == "ds_append", n == "ds_ordered_count":
			op.Flags |= FlagAtomic
		case strings.HasPrefix(n, "ds_bvh"):
			op.Flags |= FlagAtomic
		default:
			op.Flags |= FlagAtomic
		}
	case FLAT, GLOBAL, SCRATCH:
		op.Src = []OperandSpec{{Name: "vaddr", Type: B64, N: 2}, data, {Name: "saddr", Type: B64, N: 2}}
		if a.p&pAtomicRet != 0 {
			op.Flags |= FlagAtomic
		}
	case MUBUF, MTBUF:
		op.Src = []OperandSpec{{Name: "vaddr", Type: B32, N: 1}, data, {Name: "srsrc", Type: B128, N: 4},
			{Name: "soffset", Type: B32, N: 1}}
	case SMEM:
		n := op.Name
		switch {
		case a.p&pSdata != 0 && strings.Contains(n, "store"):
			op.Flags |= FlagStore
		case strings.Contains(n, "atomic"):
			op.Flags |= FlagAtomic
		case strings.Contains(n, "load"):
			op.Flags |= FlagLoad
		}
	case MIMG, VIMAGE, VSAMPLE:
		switch {
		case a.p&(pAtomic|pAtomicX2) != 0:
			op.Flags |= FlagAtomic
		case a.p&pStore != 0:
			op.Flags |= FlagStore
		default:
			op.Flags |= FlagLoad
		}
	}
}
