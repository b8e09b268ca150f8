// Kernels of TestRealMatrix: each multiplies the fragments that its lanes hold.
#define KERNEL extern "C" __attribute__((global))
typedef unsigned int u32;
typedef _Float16 f16;
#define VEC(t, n) t __attribute__((ext_vector_type(n)))

#define LANE __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0))
#define MATRIX(name, A, C, expr)                                                   \
  KERNEL void name(const void *pa, const void *pb, const void *pc, void *pd) {     \
    typedef A AT;                                                                  \
    typedef C CT;                                                                  \
    u32 l = LANE;                                                                  \
    AT a = ((const AT *)pa)[l], b = ((const AT *)pb)[l];                           \
    CT c = ((const CT *)pc)[l];                                                    \
    ((CT *)pd)[l] = expr;                                                          \
  }
#define MFMA(x) __builtin_amdgcn_mfma_##x(a, b, c, 0, 0, 0)

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
MATRIX(mfma_f32_32x32x8f16, VEC(f16, 4), VEC(float, 16), MFMA(f32_32x32x8f16))
MATRIX(mfma_f32_16x16x16f16, VEC(f16, 4), VEC(float, 4), MFMA(f32_16x16x16f16))
MATRIX(mfma_f32_16x16x4f32, float, VEC(float, 4), MFMA(f32_16x16x4f32))
MATRIX(mfma_f32_32x32x2f32, float, VEC(float, 16), MFMA(f32_32x32x2f32))
#endif
#if defined(__gfx908__) || defined(__gfx90a__)
MATRIX(mfma_i32_32x32x8i8, int, VEC(int, 16), MFMA(i32_32x32x8i8))
#endif
#if defined(__gfx90a__) || defined(__gfx942__)
MATRIX(mfma_f64_16x16x4f64, double, VEC(double, 4), MFMA(f64_16x16x4f64))
MATRIX(mfma_f32_32x32x8bf16_1k, VEC(short, 4), VEC(float, 16), MFMA(f32_32x32x8bf16_1k))
#endif
#if defined(__gfx942__)
MATRIX(mfma_i32_16x16x32_i8, long, VEC(int, 4), MFMA(i32_16x16x32_i8))
MATRIX(mfma_f32_32x32x16_fp8_fp8, long, VEC(float, 16), MFMA(f32_32x32x16_fp8_fp8))
#endif

#define WMMA(x) __builtin_amdgcn_wmma_##x(a, b, c)
#define WMMAI(x) __builtin_amdgcn_wmma_##x(true, a, true, b, c, false)
#if defined(__gfx1100__) || defined(__gfx1151__)
#if __AMDGCN_WAVEFRONT_SIZE__ == 32
MATRIX(wmma_f32_f16, VEC(f16, 16), VEC(float, 8), WMMA(f32_16x16x16_f16_w32))
MATRIX(wmma_f32_bf16, VEC(short, 16), VEC(float, 8), WMMA(f32_16x16x16_bf16_w32))
MATRIX(wmma_i32_iu8, VEC(int, 4), VEC(int, 8), WMMAI(i32_16x16x16_iu8_w32))
#else
MATRIX(wmma_f32_f16, VEC(f16, 16), VEC(float, 4), WMMA(f32_16x16x16_f16_w64))
MATRIX(wmma_f32_bf16, VEC(short, 16), VEC(float, 4), WMMA(f32_16x16x16_bf16_w64))
MATRIX(wmma_i32_iu8, VEC(int, 4), VEC(int, 4), WMMAI(i32_16x16x16_iu8_w64))
#endif
#endif
#if defined(__gfx1200__) || defined(__gfx1201__)
#if __AMDGCN_WAVEFRONT_SIZE__ == 32
MATRIX(wmma_f32_f16, VEC(f16, 8), VEC(float, 8), WMMA(f32_16x16x16_f16_w32_gfx12))
MATRIX(wmma_f32_bf16, VEC(short, 8), VEC(float, 8), WMMA(f32_16x16x16_bf16_w32_gfx12))
MATRIX(wmma_i32_iu8, VEC(int, 2), VEC(int, 8), WMMAI(i32_16x16x16_iu8_w32_gfx12))
#else
MATRIX(wmma_f32_f16, VEC(f16, 4), VEC(float, 4), WMMA(f32_16x16x16_f16_w64_gfx12))
MATRIX(wmma_f32_bf16, VEC(short, 4), VEC(float, 4), WMMA(f32_16x16x16_bf16_w64_gfx12))
MATRIX(wmma_i32_iu8, int, VEC(int, 4), WMMAI(i32_16x16x16_iu8_w64_gfx12))
#endif
#endif
