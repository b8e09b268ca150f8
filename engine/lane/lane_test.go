package lane

import (
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
)

func TestValues(t *testing.T) {
	const f = ^uint64(0)
	for _, c := range []struct {
		name       string
		v          ir.Value
		width      int
		a, b, c, d uint64
		want       uint64
		mask       uint64 // bits of the result that count
	}{
		{"add wraps", ir.Value{Op: ir.OpAdd}, 32, 0xffffffff, 2, 0, 0, 1, m32},
		{"mulhiu", ir.Value{Op: ir.OpMulHiU}, 32, 0xffffffff, 0xffffffff, 0, 0, 0xfffffffe, m32},
		{"mulhis", ir.Value{Op: ir.OpMulHiS}, 32, 0xffffffff, 2, 0, 0, 0xffffffff, m32},
		{"mulhis 64", ir.Value{Op: ir.OpMulHiS}, 64, f, 2, 0, 0, f, f},
		{"mulhiu 64", ir.Value{Op: ir.OpMulHiU}, 64, f, f, 0, 0, f - 1, f},
		{"mulu64", ir.Value{Op: ir.OpMulU64}, 32, 0xffffffff, 0xffffffff, 0, 0, 0xfffffffe00000001, f},
		{"muls64", ir.Value{Op: ir.OpMulS64}, 32, 0xffffffff, 5, 0, 0, f - 4, f},
		{"shl count mod 32", ir.Value{Op: ir.OpShl}, 32, 1, 33, 0, 0, 2, m32},
		{"lshr 64", ir.Value{Op: ir.OpLShr}, 64, 1 << 63, 63, 0, 0, 1, f},
		{"ashr", ir.Value{Op: ir.OpAShr}, 32, 0x80000000, 31, 0, 0, 0xffffffff, m32},
		{"mins", ir.Value{Op: ir.OpMinS}, 32, 0x80000000, 1, 0, 0, 0x80000000, m32},
		{"maxs 64", ir.Value{Op: ir.OpMaxS}, 64, f, 1, 0, 0, 1, f},
		{"abs min", ir.Value{Op: ir.OpAbs}, 32, 0x80000000, 0, 0, 0, 0x80000000, m32},
		{"clz", ir.Value{Op: ir.OpClz}, 32, 1, 0, 0, 0, 31, m32},
		{"clz 0", ir.Value{Op: ir.OpClz}, 32, 0, 0, 0, 0, m32, m32},
		{"ctz", ir.Value{Op: ir.OpCtz}, 64, 1 << 40, 0, 0, 0, 40, f},
		{"brev", ir.Value{Op: ir.OpBrev}, 32, 1, 0, 0, 0, 0x80000000, m32},
		{"fshr", ir.Value{Op: ir.OpFshr}, 32, 0x11223344, 0x55667788, 8, 0, 0x44556677, m32},
		{"perm bytes", ir.Value{Op: ir.OpPermB}, 32, 0x07060504, 0x03020100, 0x07000403, 0, 0x07000403, m32},
		{"perm sign zero ones", ir.Value{Op: ir.OpPermB}, 32, 0x80000000, 0x00008000, 0x0d0c0b08, 0, 0xff00ffff, m32},
		{"carry", ir.Value{Op: ir.OpCarryAdd}, 32, 0xffffffff, 0, 1, 0, 1, 1},
		{"no carry", ir.Value{Op: ir.OpCarryAdd}, 32, 0xfffffffe, 0, 1, 0, 0, 1},
		{"carry 64", ir.Value{Op: ir.OpCarryAdd}, 64, f, 1, 0, 0, 1, 1},
		{"borrow in", ir.Value{Op: ir.OpBorrow}, 32, 5, 5, 1, 0, 1, 1},
		{"ovfadd", ir.Value{Op: ir.OpOvfAdd}, 32, 0x7fffffff, 1, 0, 0, 1, 1},
		{"ovfadd mixed", ir.Value{Op: ir.OpOvfAdd}, 32, 0xffffffff, 1, 0, 0, 0, 1},
		{"ovfsub", ir.Value{Op: ir.OpOvfSub}, 32, 0x80000000, 1, 0, 0, 1, 1},
		{"addsatu", ir.Value{Op: ir.OpAddSatU}, 32, 0xffffffff, 2, 0, 0, 0xffffffff, m32},
		{"addsatu u16", ir.Value{Op: ir.OpAddSatU, Kind: ir.U16}, 32, 0xfff0, 0x20, 0, 0, 0xffff, m32},
		{"subsatu", ir.Value{Op: ir.OpSubSatU}, 32, 1, 2, 0, 0, 0, m32},
		{"addsats", ir.Value{Op: ir.OpAddSatS}, 32, 0x7fffffff, 1, 0, 0, 0x7fffffff, m32},
		{"subsats", ir.Value{Op: ir.OpSubSatS}, 32, 0x80000000, 1, 0, 0, 0x80000000, m32},
		{"subsats min", ir.Value{Op: ir.OpSubSatS}, 32, 0, 0x80000000, 0, 0, 0x7fffffff, m32},
		{"subsats 64", ir.Value{Op: ir.OpSubSatS}, 64, 0, 1 << 63, 0, 0, 1<<63 - 1, f},
		{"subsats i16", ir.Value{Op: ir.OpSubSatS, Kind: ir.I16}, 32, 0x8000, 1, 0, 0, 0x8000, m32},
		{"slt", ir.Value{Op: ir.OpICmp, Pred: ir.SLT}, 32, 0xffffffff, 0, 0, 0, 1, 1},
		{"ult", ir.Value{Op: ir.OpICmp, Pred: ir.ULT}, 32, 0xffffffff, 0, 0, 0, 0, 1},
		{"select", ir.Value{Op: ir.OpSelect}, 32, 1, 7, 8, 0, 7, m32},
		{"sad u8", ir.Value{Op: ir.OpSad, Kind: ir.U8}, 32, 0x01020304, 0x04030201, 10, 0, 18, m32},
		{"sad u32", ir.Value{Op: ir.OpSad, Kind: ir.U32}, 32, 3, 10, 1, 0, 8, m32},
		{"dot4 i8", ir.Value{Op: ir.OpDot, From: ir.I8, Kind: ir.I8}, 32, 0xff02ff01, 0x01010101, 10, 0, 11, m32},
		{"dot4 u8", ir.Value{Op: ir.OpDot, From: ir.U8, Kind: ir.U8}, 32, 0xffffffff, 0xffffffff, 0, 0, 260100, m32},
		{"dot4 i8 u8", ir.Value{Op: ir.OpDot, From: ir.I8, Kind: ir.U8}, 32, 0xff, 0xff, 0, 0, 0xffffff01, m32},
		{"dot4 clamp", ir.Value{Op: ir.OpDot, From: ir.U8, Kind: ir.U8, Imm: 1}, 32, 0xff, 0xff, 0xffffffff, 0, 0xffffffff, m32},
		{"dot8 i4", ir.Value{Op: ir.OpDot, From: ir.I4, Kind: ir.I4}, 32, 0xffffffff, 0x11111111, 0, 0, 0xfffffff8, m32},
		{"dot2 f16", ir.Value{Op: ir.OpDot, From: ir.F16, Kind: ir.F16}, 32, 0x40003c00, 0x42003c00, 0x3f800000, 0, 0x41000000, m32},
		{"sext", ir.Value{Op: ir.OpSext, Imm: 8}, 32, 0x80, 0, 0, 0, 0xffffff80, m32},
		{"zext", ir.Value{Op: ir.OpZext, Imm: 16}, 32, 0xabcd1234, 0, 0, 0, 0x1234, m32},
		{"f16 high half ignored", ir.Value{Op: ir.OpFAdd, Kind: ir.F16}, 32, 0x12343c00, 0x3c00, 0, 0, 0x4000, m32},
		{"fma f64", ir.Value{Op: ir.OpFMA, Kind: ir.F64}, 64, 0x4000000000000000, 0x4008000000000000, 0x3ff0000000000000, 0, 0x401c000000000000, f},
	} {
		fn := Func(&c.v, c.width)
		if fn == nil {
			t.Errorf("%s: no function", c.name)
			continue
		}
		if got := fn(c.a, c.b, c.c, c.d) & c.mask; got != c.want {
			t.Errorf("%s = %#x, want %#x", c.name, got, c.want)
		}
	}
}
