//go:build linux && amd64

package jit

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// oracle is a naive evaluator: every value is an array of lanes, blocks run one operation after the other.
type oracle struct {
	f    *ir.Func
	w    *wave.Wave
	vals map[ir.ID][][64]uint64 // per element of a tuple, per lane; uniform values and masks in [0][0]
	lds  []byte
}

func (o *oracle) full() uint64 { return ^uint64(0) >> (64 - uint(o.f.Lanes)) }

func (o *oracle) lane(id ir.ID, i, l int) uint64 {
	v := o.f.V(id)
	x := o.vals[id]
	switch v.Type {
	case ir.V32, ir.V64, ir.T:
		return x[i][l]
	case ir.M:
		return x[0][0] >> uint(l) & 1
	case ir.TS:
		return x[i][0]
	}
	return x[0][0]
}

func (o *oracle) mask(id ir.ID) uint64 { return o.vals[id][0][0] }

// run executes from block b and returns the exit, like machine.execute.
func (o *oracle) run(b int) ir.Exit {
	f, w := o.f, o.w
	for {
		blk := f.Blocks[b]
		o.vals = map[ir.ID][][64]uint64{}
		for _, id := range blk.Code {
			o.value(id)
		}
		w.Fuel -= int64(max(blk.Insts, 1))
		t := &blk.Term
		to := t.Then
		switch t.Kind {
		case ir.TermBranch:
			if o.vals[t.Cond][0][0]&1 == 0 {
				to = t.Else
			}
		case ir.TermExit:
			w.PC = f.PC + uint64(int64(int32(t.Next)))
			w.Arg = t.Imm
			switch t.Exit {
			case ir.ExitIndirect:
				w.PC = o.vals[t.Cond][0][0] &^ 3
				w.Arg = w.PC
			case ir.ExitTrap, ir.ExitIllegal:
				w.PC = f.PC + uint64(int64(int32(t.PC)))
			}
			return t.Exit
		}
		if to <= b && w.Fuel < 0 {
			w.PC = f.PC + uint64(int64(int32(f.Blocks[to].PC)))
			return ir.ExitFuel
		}
		b = to
	}
}

func (o *oracle) value(id ir.ID) {
	v := o.f.V(id)
	n := o.f.Lanes
	var r [64]uint64
	set := func(x uint64) { o.vals[id] = [][64]uint64{{0: x}} }
	switch v.Op {
	case ir.OpConst, ir.OpUndef:
		x := v.Imm
		if v.Op == ir.OpUndef {
			x = 0
		}
		for l := range r {
			r[l] = x
		}
		o.vals[id] = [][64]uint64{r}
	case ir.OpPC:
		set(o.f.PC + uint64(int64(int32(v.Imm))))
	case ir.OpLaneID:
		for l := range r {
			r[l] = uint64(l)
		}
		o.vals[id] = [][64]uint64{r}
	case ir.OpSGet:
		set(uint64(o.w.S[v.Imm]))
	case ir.OpSGet64:
		set(uint64(o.w.S[v.Imm]) | uint64(o.w.S[v.Imm+1])<<32)
	case ir.OpMGet:
		x := uint64(o.w.S[v.Imm])
		if n == 64 {
			x |= uint64(o.w.S[v.Imm+1]) << 32
		}
		set(x)
	case ir.OpSSet:
		o.w.S[v.Imm] = uint32(o.lane(v.Args[0], 0, 0))
	case ir.OpSSet64:
		x := o.lane(v.Args[0], 0, 0)
		o.w.S[v.Imm], o.w.S[v.Imm+1] = uint32(x), uint32(x>>32)
	case ir.OpMSet:
		x := o.mask(v.Args[0])
		o.w.S[v.Imm] = uint32(x)
		if n == 64 {
			o.w.S[v.Imm+1] = uint32(x >> 32)
		}
	case ir.OpVGet:
		for l, x := range o.w.VGPR(int(v.Imm)) {
			r[l] = uint64(x)
		}
		o.vals[id] = [][64]uint64{r}
	case ir.OpVSet:
		m := o.mask(v.Args[1])
		d := o.w.VGPR(int(v.Imm))
		for l := range d {
			if m>>uint(l)&1 != 0 {
				d[l] = uint32(o.lane(v.Args[0], 0, l))
			}
		}
	case ir.OpTuple:
		var t [][64]uint64
		for _, a := range v.Args {
			var x [64]uint64
			for l := range n {
				x[l] = o.lane(a, 0, l)
			}
			t = append(t, x)
		}
		o.vals[id] = t
	case ir.OpElem:
		for l := range n {
			r[l] = o.lane(v.Args[0], int(v.Imm), l)
		}
		o.vals[id] = [][64]uint64{r}
	case ir.OpMToS, ir.OpSToM:
		x := o.lane0(v.Args[0])
		set(x & o.full())
	case ir.OpMAnd, ir.OpMOr, ir.OpMXor, ir.OpMNot, ir.OpMIsZ, ir.OpMFull:
		x := o.lane0(v.Args[0])
		y := uint64(0)
		if len(v.Args) > 1 {
			y = o.lane0(v.Args[1])
		}
		all := o.full()
		if o.f.V(v.Args[0]).Type == ir.S1 {
			all = 1
		}
		b := func(c bool) uint64 {
			if c {
				return 1
			}
			return 0
		}
		set(map[ir.Op]uint64{ir.OpMAnd: x & y, ir.OpMOr: x | y, ir.OpMXor: x ^ y, ir.OpMNot: ^x & all, ir.OpMIsZ: b(x == 0), ir.OpMFull: b(x == all)}[v.Op])
	case ir.OpLoad:
		o.load(id, v)
	case ir.OpStore:
		o.store(v)
	case ir.OpFence:
	default:
		o.pure(id, v)
	}
}

func (o *oracle) lane0(id ir.ID) uint64 { return o.vals[id][0][0] }

func (o *oracle) addr(v *ir.Value, l int) uint64 {
	a := uint64(int64(int32(v.Imm)))
	if v.Args[0] != ir.NoID {
		a += o.lane(v.Args[0], 0, 0)
	}
	if v.Args[1] != ir.NoID {
		x := o.lane(v.Args[1], 0, l)
		if v.Imm&ir.OffSigned != 0 && o.f.V(v.Args[1]).Type == ir.V32 {
			x = uint64(int64(int32(x)))
		}
		a += x
	}
	return a
}

// at is the memory of an access, nil when LDS does not have it.
func (o *oracle) at(v *ir.Value, l int) []byte {
	a := o.addr(v, l)
	n := uint64(v.Width)
	if v.Space == ir.LDS {
		a &= 0xffffffff
		if a+n > uint64(len(o.lds)) {
			if n > 4 && a+4 <= uint64(len(o.lds)) {
				n = (uint64(len(o.lds)) - a) &^ 3 // dword by dword
				return o.lds[a : a+n : a+n]
			}
			return nil
		}
		return o.lds[a : a+n]
	}
	var b []byte
	acc := mem.Read
	if v.Op == ir.OpStore {
		acc = mem.Write
	}
	p, _, _, _ := o.w.Space.Translate(a, acc)
	if q, _, _, _ := o.w.Space.Translate(a+n-1, acc); p == nil || q == nil {
		return nil
	}
	b = unsafe.Slice((*byte)(p), int(n))
	return b
}

func (o *oracle) load(id ir.ID, v *ir.Value) {
	m := o.mask(v.Args[2])
	elems := 1
	if v.Type == ir.T {
		elems = int(v.N)
	}
	out := make([][64]uint64, elems)
	for l := range o.f.Lanes {
		if m>>uint(l)&1 == 0 {
			continue
		}
		b := o.at(v, l)
		if b == nil {
			continue
		}
		switch {
		case v.Type == ir.T:
			for i := range len(b) / 4 {
				out[i][l] = uint64(*(*uint32)(unsafe.Pointer(&b[4*i])))
			}
		case v.Width == 8 && len(b) == 4:
			out[0][l] = uint64(*(*uint32)(unsafe.Pointer(&b[0])))
		case v.Width == 8:
			out[0][l] = *(*uint64)(unsafe.Pointer(&b[0]))
		case v.Width == 4:
			out[0][l] = uint64(*(*uint32)(unsafe.Pointer(&b[0])))
		case v.Width == 2:
			x := *(*uint16)(unsafe.Pointer(&b[0]))
			out[0][l] = uint64(x)
			if v.Sign {
				out[0][l] = uint64(uint32(int32(int16(x))))
			}
		default:
			out[0][l] = uint64(b[0])
			if v.Sign {
				out[0][l] = uint64(uint32(int32(int8(b[0]))))
			}
		}
	}
	o.vals[id] = out
}

func (o *oracle) store(v *ir.Value) {
	m := o.mask(v.Args[2])
	t := o.f.V(v.Args[3])
	for l := range o.f.Lanes {
		if m>>uint(l)&1 == 0 {
			continue
		}
		b := o.at(v, l)
		for i := range b {
			if t.Type == ir.T {
				b[i] = byte(o.lane(v.Args[3], i/4, l) >> (8 * (i % 4)))
			} else {
				b[i] = byte(o.lane(v.Args[3], 0, l) >> (8 * i))
			}
		}
	}
}

// pure evaluates with the helper's evaluator, on arrays.
func (o *oracle) pure(id ir.ID, v *ir.Value) {
	// Lay the arguments out in a frame of their own.
	frame := make([]uint64, 64*1024/8)
	off := int32(0)
	put := func(x []byte) place {
		p := place{kind: placeFrame, off: off, vec: len(x) > 8}
		copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&frame[0]), off)), len(x)), x)
		off += int32(len(x))
		return p
	}
	bytes64 := func(x uint64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&x)), 8) }
	h := &helperInfo{id: id}
	vec := func(t ir.Type, x [64]uint64) []place {
		if t == ir.V32 {
			var b [64]uint32
			for l := range b {
				b[l] = uint32(x[l])
			}
			return []place{put(unsafe.Slice((*byte)(unsafe.Pointer(&b)), 256))}
		}
		var b [2][64]uint32
		for l := range x {
			b[0][l], b[1][l] = uint32(x[l]), uint32(x[l]>>32)
		}
		return []place{put(unsafe.Slice((*byte)(unsafe.Pointer(&b[0])), 256)), put(unsafe.Slice((*byte)(unsafe.Pointer(&b[1])), 256))}
	}
	for _, a := range v.Args {
		if a == ir.NoID {
			h.args = append(h.args, nil)
			continue
		}
		switch t := o.f.V(a).Type; t {
		case ir.V32, ir.V64:
			h.args = append(h.args, vec(t, o.vals[a][0]))
		default:
			h.args = append(h.args, []place{put(bytes64(o.vals[a][0][0]))})
		}
	}
	switch v.Type {
	case ir.V32, ir.V64:
		h.res = vec(v.Type, [64]uint64{})
	default:
		h.res = []place{put(bytes64(0))}
	}
	op := operands{f: o.f, h: h, v: v, frame: unsafe.Pointer(&frame[0])}
	if !op.pure() {
		panic("oracle: " + v.Op.String())
	}
	var r [64]uint64
	for l := range o.f.Lanes {
		switch v.Type {
		case ir.V32, ir.V64:
			r[l] = op.get(h.res, v.Type, 0, l)
		default:
			r[0] = frame[h.res[0].off/8]
		}
	}
	o.vals[id] = [][64]uint64{r}
}
