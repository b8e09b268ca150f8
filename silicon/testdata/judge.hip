// The same C++ for the host and for the chip: TestRealJudge compares what both answer. Compiled with -DHOST it is a program that
// reads triples of 64-bit words from standard input and writes the results of each operation in turn.
typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Float16 f16;

#ifdef HOST
#define FN static inline
#else
#define FN __attribute__((device)) static inline
#endif

template <class T, class F> FN T bits(F x) { T r = 0; __builtin_memcpy(&r, &x, sizeof x); return r; }
// Payloads of NaNs are not compared.
FN u64 r32(float x) { return x != x ? 0x7fc00000u : bits<u32>(x); }
FN u64 r64(double x) { return x != x ? 0x7ff8000000000000ull : bits<u64>(x); }
FN u64 r16(f16 x) { return x != x ? 0x7e00u : bits<u16>(x); }
FN float f(u64 x) { u32 y = (u32)x; float r; __builtin_memcpy(&r, &y, 4); return r; }
FN double d(u64 x) { double r; __builtin_memcpy(&r, &x, 8); return r; }
FN f16 h(u64 x) { u16 y = (u16)x; f16 r; __builtin_memcpy(&r, &y, 2); return r; }
FN bool in(double x, double lo, double hi) { return x > lo && x < hi; }

#ifdef HOST
struct Op { u64 (*f)(u64, u64, u64); };
#define OP(name, expr) FN u64 name(u64 a, u64 b, u64 c) { (void)a; (void)b; (void)c; return (u64)(expr); }
#else
#define OP(name, expr)                                                                                       \
  FN u64 name(u64 a, u64 b, u64 c) { (void)a; (void)b; (void)c; return (u64)(expr); }                        \
  extern "C" __attribute__((global)) void k_##name(const u64 *in, u64 *out) {                                \
    u32 i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();                      \
    out[i] = name(in[3 * i], in[3 * i + 1], in[3 * i + 2]);                                                  \
  }
#endif

// Integers.
OP(add32, (u32)a + (u32)b)
OP(sub32, (u32)a - (u32)b)
OP(mul32, (u32)a * (u32)b)
OP(mulhi_u32, (u32)((u64)(u32)a * (u32)b >> 32))
OP(mulhi_s32, (u32)((s64)(s32)a * (s32)b >> 32))
OP(div_u32, (u32)b ? (u32)a / (u32)b : 0)
OP(rem_u32, (u32)b ? (u32)a % (u32)b : 0)
OP(div_s32, (u32)b && (u32)b + 1 ? (u32)((s32)a / (s32)b) : 0)
OP(rem_s32, (u32)b && (u32)b + 1 ? (u32)((s32)a % (s32)b) : 0)
OP(add64, a + b)
OP(mul64, a *b)
OP(mulhi_u64, (u64)((unsigned __int128)a * b >> 64))
OP(mulhi_s64, (u64)((__int128)(s64)a * (s64)b >> 64))
OP(div_u64, b ? a / b : 0)
OP(rem_u64, b ? a % b : 0)
OP(div_s64, b && b + 1 ? (u64)((s64)a / (s64)b) : 0)
OP(shl32, (u32)a << (b & 31))
OP(shr32, (u32)a >> (b & 31))
OP(sar32, (u32)((s32)a >> (b & 31)))
OP(shl64, a << (b & 63))
OP(shr64, a >> (b & 63))
OP(sar64, (s64)a >> (b & 63))
OP(rot32, __builtin_rotateleft32((u32)a, (u32)b))
OP(rot64, __builtin_rotateright64(a, b))
OP(popc32, __builtin_popcount((u32)a))
OP(popc64, __builtin_popcountll(a))
OP(clz32, (u32)a ? __builtin_clz((u32)a) : 32)
OP(ctz64, a ? __builtin_ctzll(a) : 64)
OP(brev32, __builtin_bitreverse32((u32)a))
OP(bswap64, __builtin_bswap64(a))
OP(bitfield, (u32)a >> (b & 31) & ((1u << (c & 31)) - 1))
OP(select3, ((u32)a & (u32)b) | (~(u32)a & (u32)c))
OP(min3, (u32)((s32)a < (s32)b ? ((s32)a < (s32)c ? (s32)a : (s32)c) : ((s32)b < (s32)c ? (s32)b : (s32)c)))
OP(max3u, (u32)a > (u32)b ? ((u32)a > (u32)c ? (u32)a : (u32)c) : ((u32)b > (u32)c ? (u32)b : (u32)c))
OP(addsat, __builtin_elementwise_add_sat((u32)a, (u32)b))
OP(subsat, (u32)__builtin_elementwise_sub_sat((s32)a, (s32)b))
OP(mad16, (u16)((u16)a * (u16)b + (u16)c))
OP(mad_s16, (u32)(s16)((s16)a * (s16)b) + (u32)(s32)(s16)c)
OP(div8, (u8)b ? (u8)((s8)a / (s32)(u8)b) : 0)
OP(abs32, (u32)((s32)a < 0 ? -(u32)a : (u32)a))
OP(absdiff, (u32)a > (u32)b ? (u32)a - (u32)b : (u32)b - (u32)a)
OP(lerp, ((a & 0xff) + (b & 0xff) + (c & 1)) >> 1)
OP(compares, ((s32)a < (s32)b) | ((u32)a < (u32)b) << 1 | ((s64)a <= (s64)b) << 2 | (a > b) << 3 | ((s16)a >= (s16)b) << 4 | (a == c) << 5)

// f32.
OP(fadd, r32(f(a) + f(b)))
OP(fsub, r32(f(a) - f(b)))
OP(fmul, r32(f(a) * f(b)))
OP(fdiv, r32(f(a) / f(b)))
OP(fsqrt, r32(__builtin_sqrtf(f(a))))
OP(ffma, r32(__builtin_fmaf(f(a), f(b), f(c))))
OP(fneg_abs, r32(-__builtin_fabsf(f(a)) + f(b)))
OP(ffloor, r32(__builtin_floorf(f(a))))
OP(fceil, r32(__builtin_ceilf(f(a))))
OP(ftrunc, r32(__builtin_truncf(f(a))))
OP(frint, r32(__builtin_rintf(f(a))))
OP(fcopysign, r32(__builtin_copysignf(f(a), f(b))))
OP(fcompares, (f(a) < f(b)) | (f(a) <= f(b)) << 1 | (f(a) == f(b)) << 2 | (f(a) != f(b)) << 3 | (f(a) > f(c)) << 4 | !(f(a) >= f(c)) << 5 | __builtin_isunordered(f(b), f(c)) << 6)
OP(f_of_s32, r32((float)(s32)a))
OP(f_of_u32, r32((float)(u32)a))
OP(f_of_s64, r32((float)(s64)a))
OP(f_of_u64, r32((float)a))
OP(s32_of_f, in(f(a), -2147483649.0, 2147483648.0) ? (u32)(s32)f(a) : 0)
OP(u32_of_f, in(f(a), -1.0, 4294967296.0) ? (u32)f(a) : 0)
OP(s64_of_f, in(f(a), -9223373136366403584.0, 9223372036854775808.0) ? (u64)(s64)f(a) : 0)
OP(f_of_d, r32((float)d(a)))
OP(f_of_h, r32((float)h(a)))
OP(h_of_f, r16((f16)f(a)))
OP(isnan_inf, __builtin_isnan(f(a)) | __builtin_isinf(f(a)) << 1 | __builtin_isfinite(f(a)) << 2 | (__builtin_signbit(f(a)) != 0) << 3)

// f64.
OP(dadd, r64(d(a) + d(b)))
OP(dmul, r64(d(a) * d(b)))
OP(ddiv, r64(d(a) / d(b)))
OP(dsqrt, r64(__builtin_sqrt(d(a))))
OP(dfma, r64(__builtin_fma(d(a), d(b), d(c))))
OP(dfloor, r64(__builtin_floor(d(a))))
OP(drint, r64(__builtin_rint(d(a))))
OP(dtrunc, r64(__builtin_trunc(d(a))))
OP(dcompares, (d(a) < d(b)) | (d(a) <= d(b)) << 1 | (d(a) == d(b)) << 2 | (d(a) != d(c)) << 3 | !(d(a) >= d(c)) << 4)
OP(d_of_s32, r64((double)(s32)a))
OP(d_of_u32, r64((double)(u32)a))
OP(d_of_s64, r64((double)(s64)a))
OP(d_of_u64, r64((double)a))
OP(d_of_f, r64((double)f(a)))
OP(s32_of_d, in(d(a), -2147483649.0, 2147483648.0) ? (u32)(s32)d(a) : 0)
OP(u32_of_d, in(d(a), -1.0, 4294967296.0) ? (u32)d(a) : 0)
OP(u64_of_d, in(d(a), -1.0, 18446744073709551616.0) ? (u64)d(a) : 0)

// f16.
OP(hadd, r16(h(a) + h(b)))
OP(hsub, r16(h(a) - h(b)))
OP(hmul, r16(h(a) * h(b)))
OP(hdiv, r16(h(a) / h(b)))
OP(hcompares, (h(a) < h(b)) | (h(a) <= h(b)) << 1 | (h(a) == h(c)) << 2 | (h(a) != h(c)) << 3)
OP(h_of_s16, r16((f16)(s16)a))
OP(s16_of_h, in(h(a), -32769.0, 32768.0) ? (u16)(s16)h(a) : 0)

#ifdef HOST
#include <cstdio>
#include <vector>
#define NAMED(name) {#name, name},
struct Named { const char *name; u64 (*f)(u64, u64, u64); };
extern const Named ops[];
extern const int opCount;
int main() {
  std::vector<u64> v(1 << 20), out;
  v.resize(fread(v.data(), 8, v.size(), stdin));
  for (int o = 0; o < opCount; o++) {
    out.clear();
    for (size_t i = 0; i + 2 < v.size(); i += 3) out.push_back(ops[o].f(v[i], v[i + 1], v[i + 2]));
    fwrite(out.data(), 8, out.size(), stdout);
  }
}
#include "ops.inc"
#endif
