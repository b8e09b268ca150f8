//go:build linux && amd64

package avx2

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// State that RDI points to: zmm registers, mask registers, memory operand.
const (
	stateZ     = 0
	stateK     = 64 * 32
	stateMem   = stateK + 64
	stateBytes = stateMem + 256
)

// shape says what operands an instruction takes.
type shape uint8

const (
	rvm     shape = iota // reg ← vvvv, r/m
	rm                   // reg ← r/m
	vm                   // vvvv ← r/m, immediate
	kvm                  // mask ← vvvv, r/m
	km                   // mask ← r/m
	mr                   // r/m ← reg
	kkk                  // mask ← mask, mask
	kk                   // mask ← mask
	regOnly shape = 0x40 // the r/m operand is a register
	memOnly shape = 0x80 // it is memory
	half    shape = 0x20 // it is as long as a ymm register
	noMask  shape = 0x10
)

type tried struct {
	i     *x86.Inst
	size  int // of elements for broadcasts, 0: none
	s     shape
	imms  []uint8
	short bool // numbers are to be below 2^51
}

func list() (out []tried) {
	for size, l := range same {
		for _, i := range l {
			t := tried{i: i[0], size: size, s: rvm}
			if size < 4 {
				t.size, t.s = 0, rvm|noMask
			}
			if i[0] == x86.VPSHUFB {
				t.s = rvm | noMask
			}
			out = append(out, t)
		}
	}
	for size, l := range sameOne {
		for _, i := range l {
			t := tried{i: i, size: size, s: rm}
			if i == x86.VPSHUFD {
				t.imms = []uint8{0x1b, 0xd8}
			}
			if i == x86.VMOVSHDUP || i == x86.VMOVSLDUP {
				t.size = 0
			}
			out = append(out, t)
		}
	}
	for size, l := range shifts {
		for _, i := range l {
			t := tried{i: i, size: size, s: vm, imms: []uint8{0, 1, 7, 15, 31, 63}}
			if size < 4 {
				t.size, t.s = 0, vm|noMask
			}
			out = append(out, t)
		}
	}
	for size, l := range fused {
		for _, i := range l {
			out = append(out, tried{i: i, size: size, s: rvm})
		}
	}
	four, eight := 4, 8
	return append(out, []tried{
		{i: x86.VMOVDQU32, s: rm}, {i: x86.VMOVDQU64, s: rm}, {i: x86.VMOVDQU32S, s: mr}, {i: x86.VMOVDQU64S, s: mr},
		{i: x86.VPBROADCASTD, s: rm}, {i: x86.VPBROADCASTQ, s: rm}, {i: x86.VBROADCASTSD, s: rm},
		{i: x86.VPBLENDMD, size: four, s: rvm}, {i: x86.VPBLENDMQ, size: eight, s: rvm},
		{i: x86.VPERMI2D, s: rvm}, {i: x86.VPERMD, s: rvm},
		{i: x86.VSHUFI32X4, s: rvm | noMask, imms: []uint8{0x44, 0xee, 0x88, 0xdd, 0x1b}}, {i: x86.VSHUFI64X2, s: rvm | noMask, imms: []uint8{0x44, 0xee}},
		{i: x86.VEXTRACTI64X4, s: mr | noMask, imms: []uint8{0, 1}}, {i: x86.VINSERTI64X4, s: rvm | noMask | half, imms: []uint8{0, 1}},
		{i: x86.VPMOVDW, s: mr | noMask}, {i: x86.VPMOVDB, s: mr | noMask}, {i: x86.VPMOVDW, s: mr | memOnly}, {i: x86.VPMOVDB, s: mr | memOnly},
		{i: x86.VPMOVZXWD, s: rm}, {i: x86.VPMOVSXWD, s: rm}, {i: x86.VPMOVZXBD, s: rm}, {i: x86.VPMOVSXBD, s: rm},
		{i: x86.VPMOVZXDQ, s: rm | noMask}, {i: x86.VPMOVSXDQ, s: rm | noMask},
		{i: x86.VPCOMPRESSD, s: mr | regOnly},
		{i: x86.VPCMPD, size: four, s: kvm, imms: []uint8{0, 1, 2, 4, 5, 6}}, {i: x86.VPCMPUD, size: four, s: kvm, imms: []uint8{0, 1, 2, 4, 5, 6}},
		{i: x86.VPCMPQ, size: eight, s: kvm, imms: []uint8{0, 1, 2, 4, 5, 6}}, {i: x86.VPCMPUQ, size: eight, s: kvm, imms: []uint8{0, 1, 2, 4, 5, 6}},
		{i: x86.VPCMPEQD, size: four, s: kvm}, {i: x86.VPCMPGTD, size: four, s: kvm}, {i: x86.VPTESTMD, size: four, s: kvm}, {i: x86.VPTESTNMD, size: four, s: kvm},
		{i: x86.VPTESTMQ, size: eight, s: kvm}, {i: x86.VPTESTNMQ, size: eight, s: kvm},
		{i: x86.VCMPPS, size: four, s: kvm, imms: []uint8{0, 3, 4, 7, 0x11, 0x12, 0x1d, 0x1e}}, {i: x86.VCMPPD, size: eight, s: kvm, imms: []uint8{0, 3, 4, 7, 0x11, 0x12, 0x1d, 0x1e}},
		{i: x86.VFPCLASSPS, s: km | regOnly, imms: []uint8{1, 2, 4, 8, 16, 32, 64, 128, 0x99, 0xff}}, {i: x86.VFPCLASSPD, s: km | regOnly, imms: []uint8{1, 2, 4, 8, 16, 32, 64, 128, 0x99, 0xff}},
		{i: x86.VCVTPS2PD, s: rm}, {i: x86.VCVTDQ2PD, s: rm}, {i: x86.VCVTUDQ2PD, s: rm | noMask}, {i: x86.VCVTPH2PS, s: rm}, {i: x86.VCVTPD2PS, s: rm | noMask},
		{i: x86.VCVTTPD2DQ, s: rm | noMask}, {i: x86.VCVTPD2DQ, s: rm | noMask}, {i: x86.VCVTTPD2UDQ, s: rm | noMask}, {i: x86.VCVTTPS2UDQ, s: rm | noMask},
		{i: x86.VCVTUDQ2PS, s: rm | noMask}, {i: x86.VCVTPS2PH, s: mr | noMask | regOnly, imms: []uint8{0, 1, 2, 3, 4}}, {i: x86.VCVTQQ2PD, s: rm | noMask},
		{i: x86.VCVTTPD2QQ, s: rm | noMask, short: true},
		{i: x86.VPMULLQ, size: eight, s: rvm}, {i: x86.VPMINSQ, size: eight, s: rvm}, {i: x86.VPMAXSQ, size: eight, s: rvm}, {i: x86.VPMINUQ, size: eight, s: rvm},
		{i: x86.VPMAXUQ, size: eight, s: rvm}, {i: x86.VPDPWSSD, size: four, s: rvm}, {i: x86.VPABSQ, size: eight, s: rm}, {i: x86.VPSRAQI, size: eight, s: vm, imms: []uint8{0, 1, 31, 63}},
		{i: x86.VPSRAVQ, size: eight, s: rvm}, {i: x86.VPTERNLOGD, size: four, s: rvm, imms: []uint8{0xff, 0x55, 0x28, 0xdc, 0xf6}}, {i: x86.VPTERNLOGQ, size: eight, s: rvm, imms: []uint8{0x28, 0xdc}},
		{i: x86.VPOPCNTD, size: four, s: rm}, {i: x86.VPLZCNTD, size: four, s: rm}, {i: x86.VPSHLDD, size: four, s: rvm, imms: []uint8{0, 1, 31}}, {i: x86.VPSHRDD, size: four, s: rvm, imms: []uint8{0, 1, 31}},
		{i: x86.VPSHRDVD, size: four, s: rvm},
		{i: x86.VRNDSCALEPS, size: four, s: rm, imms: []uint8{8, 9, 10, 11}}, {i: x86.VRNDSCALEPD, size: eight, s: rm, imms: []uint8{8, 9, 10, 11}},
		{i: x86.VRANGEPS, size: four, s: rvm, imms: []uint8{4, 5}}, {i: x86.VRANGEPD, size: eight, s: rvm, imms: []uint8{4, 5}},
		{i: x86.VGETEXPPS, size: four, s: rm}, {i: x86.VGETEXPPD, size: eight, s: rm},
		{i: x86.VGETMANTPS, size: four, s: rm, imms: []uint8{0, 2, 4}}, {i: x86.VGETMANTPD, size: eight, s: rm, imms: []uint8{0, 2, 4}},
		{i: x86.KANDW, s: kkk}, {i: x86.KANDNW, s: kkk}, {i: x86.KORW, s: kkk}, {i: x86.KXORW, s: kkk}, {i: x86.KXNORW, s: kkk}, {i: x86.KUNPCKBW, s: kkk},
		{i: x86.KNOTW, s: kk}, {i: x86.KMOVW, s: kk}, {i: x86.KSHIFTRW, s: kk, imms: []uint8{8}}, {i: x86.KSHIFTLW, s: kk, imms: []uint8{8}},
	}...)
}

// sample is an instruction with its operands.
type sample struct {
	t       tried
	reg, vv uint8
	m       x86.RM
	imm     uint8
	mod     x86.Mod
	text    string
}

func (o *sample) emit(a *x86.Asm) {
	k := o.t.s&7 == kkk || o.t.s&7 == kk
	switch {
	case k && o.t.imms != nil:
		a.XI(o.t.i, x86.L128, o.reg, o.vv, o.m, o.imm)
	case k:
		a.X(o.t.i, x86.L128, o.reg, o.vv, o.m)
	case o.t.imms != nil:
		a.EI(o.t.i, x86.L512, o.reg, o.vv, o.m, o.imm, o.mod)
	default:
		a.E(o.t.i, x86.L512, o.reg, o.vv, o.m, o.mod)
	}
}

func choose(r *rand.Rand, t tried) *sample {
	o := &sample{t: t}
	// Registers of both kinds, and often the same one twice.
	reg := func() uint8 { return []uint8{0, 1, 2, Regs - 1, Regs, 7, 20, 31}[r.IntN(8)] }
	o.reg, o.vv = reg(), reg()
	o.m = x86.V(x86.Vec(reg()))
	mem := t.s&regOnly == 0 && r.IntN(3) == 0 || t.s&memOnly != 0
	if mem {
		o.m = x86.M(x86.RDI, stateMem)
		if t.size >= 4 && r.IntN(2) == 0 {
			o.m = o.m.Bcast()
		}
	}
	if len(t.imms) > 0 {
		o.imm = t.imms[r.IntN(len(t.imms))]
	}
	switch t.s & 7 {
	case kvm, km:
		o.reg = 1 + uint8(r.IntN(7))
	case kkk, kk:
		o.reg, o.vv, o.m = 1+uint8(r.IntN(7)), 1+uint8(r.IntN(7)), x86.KR(x86.K(1+r.IntN(7)))
	}
	masked := t.s&noMask == 0 && t.s&7 != kkk && t.s&7 != kk && r.IntN(2) == 0
	if t.i == x86.VPCOMPRESSD || t.i == x86.VPBLENDMD || t.i == x86.VPBLENDMQ {
		masked = true
	}
	if masked {
		o.mod = x86.Masked(x86.K(1 + r.IntN(7)))
		if t.s&7 <= vm && r.IntN(2) == 0 && t.i != x86.VPBLENDMD && t.i != x86.VPBLENDMQ || t.i == x86.VPCOMPRESSD {
			o.mod = o.mod.WithZ()
		}
	}
	o.text = fmt.Sprintf("%s %d, %d, %+v, imm %#x, %+v", t.i.Name(), o.reg, o.vv, o.m, o.imm, o.mod)
	return o
}

// program loads the state, does the instruction and stores the state.
func program(t *testing.T, o *sample, wide bool) []byte {
	var a x86.Asm
	var lacks string
	if !wide {
		l := Lowering{A: &a, Frame: x86.RSI, Unsupported: func(name string) { lacks = name }}
		a.Lower = l.Lower
	}
	for i := range uint8(32) {
		a.E(x86.VMOVDQU32, x86.L512, i, 0, x86.M(x86.RDI, stateZ+64*int32(i)), x86.Mod{})
	}
	for k := range uint8(7) {
		a.X(x86.KMOVWL, x86.L128, k+1, 0, x86.M(x86.RDI, stateK+8*int32(k+1)))
	}
	o.emit(&a)
	for i := range uint8(32) {
		a.E(x86.VMOVDQU32S, x86.L512, i, 0, x86.M(x86.RDI, stateZ+64*int32(i)), x86.Mod{})
	}
	for k := range uint8(7) {
		a.X(x86.KMOVWS, x86.L128, k+1, 0, x86.M(x86.RDI, stateK+8*int32(k+1)))
	}
	a.Ret()
	if lacks != "" {
		t.Errorf("%s: %s is not lowered", o.text, lacks)
	}
	code, err := a.Finish()
	if err != nil {
		t.Fatalf("%s: %v", o.text, err)
	}
	return append([]byte(nil), code...)
}

func randomBits(r *rand.Rand) uint64 {
	special := []uint64{0, 1 << 63, 1 << 31, 0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001, 0xffa00000, 0x3f800000, 0x7ff0000000000000, 0xfff0000000000000,
		0x7ff8000000000001, 0x7ff0000000000001, 0x3ff0000000000000, 1, 0x00400000, 0x0008000000000000, 0x41e0000000000000, 0x4f000000, 0x4f800000, ^uint64(0)}
	switch r.IntN(4) {
	case 0:
		return special[r.IntN(len(special))]
	case 1:
		return special[r.IntN(len(special))] | special[r.IntN(len(special))]<<32
	}
	return r.Uint64()
}

// TestAgainstAVX512 does each lowered instruction both ways on random state.
func TestAgainstAVX512(t *testing.T) {
	if !rt.CPU.AVX512 || !rt.CPU.POPCNTD || !rt.CPU.VBMI2 || !rt.CPU.VNNI {
		t.Skip("this CPU lacks AVX-512 to compare with")
	}
	r := rand.New(rand.NewPCG(3, 12))
	var cm rt.CodeMemory
	defer cm.Close()
	mem, err := rt.Memory(stateBytes*2 + FrameSize)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Free(mem)
	tested := map[*x86.Inst]bool{}
	for _, x := range list() {
		tested[x.i] = true
		for n := range 40 {
			o := choose(r, x)
			state := make([]byte, stateBytes)
			for i := 0; i < len(state); i += 8 {
				v := randomBits(r)
				if x.short {
					v = uint64(0x3c0+r.IntN(0x70))<<52 | r.Uint64()&0x800fffffffffffff
				}
				binary.LittleEndian.PutUint64(state[i:], v)
			}
			mxcsr := uint32(rt.MXCSRDefault)
			if n%4 == 3 {
				mxcsr |= rt.MXCSRDAZ | rt.MXCSRFTZ
			}
			if n%8 == 5 {
				mxcsr |= uint32(r.IntN(4)) << 13
			}
			var out [2][]byte
			for w := range 2 {
				code, err := cm.Install(program(t, o, w == 0))
				if err != nil {
					t.Fatal(err)
				}
				copy(mem, state)
				rt.Enter(code.Addr(), unsafe.Pointer(&mem[0]), unsafe.Pointer(&mem[stateBytes]), 0, mxcsr)
				out[w] = append([]byte(nil), mem[:stateBytes]...)
				cm.Release(code)
			}
			for i := 0; i < stateBytes; i += 4 {
				if i >= stateK && i < stateMem && i%8 == 4 || i == stateK {
					continue
				}
				want, got := binary.LittleEndian.Uint32(out[0][i:]), binary.LittleEndian.Uint32(out[1][i:])
				if i >= stateK && i < stateMem {
					want, got = want&0xffff, got&0xffff
				}
				if want != got {
					t.Errorf("%s, MXCSR %#x: dword %d of %s is %#x, must be %#x", o.text, mxcsr, i%64/4, place(i), got, want)
					break
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

func place(i int) string {
	switch {
	case i < stateK:
		return fmt.Sprintf("zmm%d", i/64)
	case i < stateMem:
		return fmt.Sprintf("k%d", (i-stateK)/8)
	}
	return "memory"
}
