// WGSL's own operations and functions, which C++ lacks, for NVRTC. `preamble.rs` puts what a kernel names of them in front of it: a
// declaration begins in the first column, and has the name that stands before its first parenthesis.

typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef float f32;
typedef double f64;

// ── vectors, matrices, arrays: plain aggregates; layouts are made explicit where they are stored ──
template <class T, int N> struct alignas(N == 3 ? sizeof(T) : N * sizeof(T)) Vec { T v[N]; };
template <class T, int C, int R> struct Mat { Vec<T, R> c[C]; };
template <class T, u32 N> struct Array { T e[N]; };

template <class T, class... U> __device__ __forceinline__ auto vec_of(U... x) { return Vec<T, sizeof...(U)>{{T(x)...}}; }
template <class T, int N> __device__ __forceinline__ Vec<T, N> splat(T x) {
    Vec<T, N> r;
#pragma unroll
    for (int i = 0; i < N; i++) r.v[i] = x;
    return r;
}

// ── one scalar at a time ──
__device__ __forceinline__ f32 op_add(f32 a, f32 b) { return a + b; }
__device__ __forceinline__ f64 op_add(f64 a, f64 b) { return a + b; }
__device__ __forceinline__ u32 op_add(u32 a, u32 b) { return a + b; }
__device__ __forceinline__ u64 op_add(u64 a, u64 b) { return a + b; }
__device__ __forceinline__ i32 op_add(i32 a, i32 b) { return i32(u32(a) + u32(b)); }
__device__ __forceinline__ i64 op_add(i64 a, i64 b) { return i64(u64(a) + u64(b)); }
__device__ __forceinline__ f32 op_sub(f32 a, f32 b) { return a - b; }
__device__ __forceinline__ f64 op_sub(f64 a, f64 b) { return a - b; }
__device__ __forceinline__ u32 op_sub(u32 a, u32 b) { return a - b; }
__device__ __forceinline__ u64 op_sub(u64 a, u64 b) { return a - b; }
__device__ __forceinline__ i32 op_sub(i32 a, i32 b) { return i32(u32(a) - u32(b)); }
__device__ __forceinline__ i64 op_sub(i64 a, i64 b) { return i64(u64(a) - u64(b)); }
__device__ __forceinline__ f32 op_mul(f32 a, f32 b) { return a * b; }
__device__ __forceinline__ f64 op_mul(f64 a, f64 b) { return a * b; }
__device__ __forceinline__ u32 op_mul(u32 a, u32 b) { return a * b; }
__device__ __forceinline__ u64 op_mul(u64 a, u64 b) { return a * b; }
__device__ __forceinline__ i32 op_mul(i32 a, i32 b) { return i32(u32(a) * u32(b)); }
__device__ __forceinline__ i64 op_mul(i64 a, i64 b) { return i64(u64(a) * u64(b)); }
__device__ __forceinline__ f32 op_div(f32 a, f32 b) { return a / b; }
__device__ __forceinline__ f64 op_div(f64 a, f64 b) { return a / b; }
// x / 0 = x, and the most negative number / −1 is itself (WGSL, section "Arithmetic expressions").
__device__ __forceinline__ u32 op_div(u32 a, u32 b) { return b == 0u ? a : a / b; }
__device__ __forceinline__ u64 op_div(u64 a, u64 b) { return b == 0u ? a : a / b; }
__device__ __forceinline__ i32 op_div(i32 a, i32 b) { return b == 0 || (b == -1 && a == i32(0x80000000u)) ? a : a / b; }
__device__ __forceinline__ i64 op_div(i64 a, i64 b) { return b == 0 || (b == -1 && a == i64(1ull << 63)) ? a : a / b; }
// x % 0 = 0.
__device__ __forceinline__ f32 op_rem(f32 a, f32 b) { return a - b * truncf(a / b); }
__device__ __forceinline__ f64 op_rem(f64 a, f64 b) { return a - b * trunc(a / b); }
__device__ __forceinline__ u32 op_rem(u32 a, u32 b) { return b == 0u ? 0u : a % b; }
__device__ __forceinline__ u64 op_rem(u64 a, u64 b) { return b == 0u ? 0u : a % b; }
__device__ __forceinline__ i32 op_rem(i32 a, i32 b) { return b == 0 || b == -1 ? 0 : a % b; }
__device__ __forceinline__ i64 op_rem(i64 a, i64 b) { return b == 0 || b == -1 ? 0 : a % b; }
__device__ __forceinline__ f32 op_neg(f32 a) { return -a; }
__device__ __forceinline__ f64 op_neg(f64 a) { return -a; }
__device__ __forceinline__ i32 op_neg(i32 a) { return i32(0u - u32(a)); }
__device__ __forceinline__ i64 op_neg(i64 a) { return i64(0ull - u64(a)); }
// Of a shift only as many bits count as the operand has positions.
__device__ __forceinline__ u32 op_shl(u32 a, u32 n) { return a << (n & 31u); }
__device__ __forceinline__ u64 op_shl(u64 a, u32 n) { return a << (n & 63u); }
__device__ __forceinline__ i32 op_shl(i32 a, u32 n) { return i32(u32(a) << (n & 31u)); }
__device__ __forceinline__ i64 op_shl(i64 a, u32 n) { return i64(u64(a) << (n & 63u)); }
__device__ __forceinline__ u32 op_shr(u32 a, u32 n) { return a >> (n & 31u); }
__device__ __forceinline__ u64 op_shr(u64 a, u32 n) { return a >> (n & 63u); }
__device__ __forceinline__ i32 op_shr(i32 a, u32 n) { return a >> (n & 31u); }
__device__ __forceinline__ i64 op_shr(i64 a, u32 n) { return a >> (n & 63u); }
template <class T> __device__ __forceinline__ T op_and(T a, T b) { return T(a & b); }
template <class T> __device__ __forceinline__ T op_or(T a, T b) { return T(a | b); }
template <class T> __device__ __forceinline__ T op_xor(T a, T b) { return T(a ^ b); }
template <class T> __device__ __forceinline__ T op_flip(T a) { return T(~a); }
__device__ __forceinline__ bool op_not(bool a) { return !a; }
template <class T> __device__ __forceinline__ bool op_eq(T a, T b) { return a == b; }
template <class T> __device__ __forceinline__ bool op_ne(T a, T b) { return a != b; }
template <class T> __device__ __forceinline__ bool op_lt(T a, T b) { return a < b; }
template <class T> __device__ __forceinline__ bool op_le(T a, T b) { return a <= b; }
template <class T> __device__ __forceinline__ bool op_gt(T a, T b) { return a > b; }
template <class T> __device__ __forceinline__ bool op_ge(T a, T b) { return a >= b; }

// ── mathematics: names of WGSL, one scalar at a time ──
__device__ __forceinline__ f32 m_abs(f32 x) { return fabsf(x); }
__device__ __forceinline__ f64 m_abs(f64 x) { return fabs(x); }
__device__ __forceinline__ u32 m_abs(u32 x) { return x; }
__device__ __forceinline__ i32 m_abs(i32 x) { return x < 0 ? op_neg(x) : x; }
__device__ __forceinline__ f32 m_min(f32 a, f32 b) { return fminf(a, b); }
__device__ __forceinline__ f64 m_min(f64 a, f64 b) { return fmin(a, b); }
__device__ __forceinline__ f32 m_max(f32 a, f32 b) { return fmaxf(a, b); }
__device__ __forceinline__ f64 m_max(f64 a, f64 b) { return fmax(a, b); }
__device__ __forceinline__ u32 m_min(u32 a, u32 b) { return a < b ? a : b; }
__device__ __forceinline__ i32 m_min(i32 a, i32 b) { return a < b ? a : b; }
__device__ __forceinline__ u64 m_min(u64 a, u64 b) { return a < b ? a : b; }
__device__ __forceinline__ i64 m_min(i64 a, i64 b) { return a < b ? a : b; }
__device__ __forceinline__ u32 m_max(u32 a, u32 b) { return a < b ? b : a; }
__device__ __forceinline__ i32 m_max(i32 a, i32 b) { return a < b ? b : a; }
__device__ __forceinline__ u64 m_max(u64 a, u64 b) { return a < b ? b : a; }
__device__ __forceinline__ i64 m_max(i64 a, i64 b) { return a < b ? b : a; }
template <class T> __device__ __forceinline__ T m_clamp(T x, T low, T high) { return m_min(m_max(x, low), high); }
template <class T> __device__ __forceinline__ T m_saturate(T x) { return m_clamp(x, T(0), T(1)); }
#define LW_REAL1(name, single, twice) \
    __device__ __forceinline__ f32 m_##name(f32 x) { return single(x); } \
    __device__ __forceinline__ f64 m_##name(f64 x) { return twice(x); }
LW_REAL1(cos, cosf, cos) LW_REAL1(cosh, coshf, cosh) LW_REAL1(sin, sinf, sin) LW_REAL1(sinh, sinhf, sinh)
LW_REAL1(tan, tanf, tan) LW_REAL1(tanh, tanhf, tanh) LW_REAL1(acos, acosf, acos) LW_REAL1(asin, asinf, asin)
LW_REAL1(atan, atanf, atan) LW_REAL1(asinh, asinhf, asinh) LW_REAL1(acosh, acoshf, acosh) LW_REAL1(atanh, atanhf, atanh)
LW_REAL1(ceil, ceilf, ceil) LW_REAL1(floor, floorf, floor) LW_REAL1(round, rintf, rint) LW_REAL1(trunc, truncf, trunc)
LW_REAL1(exp, expf, exp) LW_REAL1(exp2, exp2f, exp2) LW_REAL1(log, logf, log) LW_REAL1(log2, log2f, log2)
LW_REAL1(sqrt, sqrtf, sqrt) LW_REAL1(rsqrt, rsqrtf, rsqrt)
__device__ __forceinline__ f32 m_pow(f32 x, f32 y) { return powf(x, y); }
__device__ __forceinline__ f64 m_pow(f64 x, f64 y) { return pow(x, y); }
__device__ __forceinline__ f32 m_atan2(f32 y, f32 x) { return atan2f(y, x); }
__device__ __forceinline__ f64 m_atan2(f64 y, f64 x) { return atan2(y, x); }
__device__ __forceinline__ f32 m_fma(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
__device__ __forceinline__ f64 m_fma(f64 a, f64 b, f64 c) { return fma(a, b, c); }
template <class T> __device__ __forceinline__ T m_fract(T x) { return x - m_floor(x); }
template <class T> __device__ __forceinline__ T m_sign(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0); }
template <class T> __device__ __forceinline__ T m_mix(T a, T b, T t) { return a * (T(1) - t) + b * t; }
template <class T> __device__ __forceinline__ T m_step(T edge, T x) { return edge <= x ? T(1) : T(0); }
template <class T> __device__ __forceinline__ T m_smoothstep(T low, T high, T x) {
    const T t = m_clamp((x - low) / (high - low), T(0), T(1));
    return t * t * (T(3) - T(2) * t);
}
template <class T> __device__ __forceinline__ T m_radians(T x) { return x * T(0.017453292519943295); }
template <class T> __device__ __forceinline__ T m_degrees(T x) { return x * T(57.29577951308232); }
__device__ __forceinline__ u32 m_count_one_bits(u32 x) { return u32(__popc(x)); }
__device__ __forceinline__ i32 m_count_one_bits(i32 x) { return __popc(u32(x)); }
__device__ __forceinline__ u32 m_count_leading_zeros(u32 x) { return u32(__clz(i32(x))); }
__device__ __forceinline__ i32 m_count_leading_zeros(i32 x) { return __clz(x); }
__device__ __forceinline__ u32 m_count_trailing_zeros(u32 x) { return x == 0u ? 32u : u32(__ffs(i32(x)) - 1); }
__device__ __forceinline__ i32 m_count_trailing_zeros(i32 x) { return x == 0 ? 32 : __ffs(x) - 1; }
__device__ __forceinline__ u32 m_reverse_bits(u32 x) { return __brev(x); }
__device__ __forceinline__ i32 m_reverse_bits(i32 x) { return i32(__brev(u32(x))); }
__device__ __forceinline__ u32 m_first_trailing_bit(u32 x) { return u32(__ffs(i32(x)) - 1); }
__device__ __forceinline__ i32 m_first_trailing_bit(i32 x) { return __ffs(x) - 1; }
__device__ __forceinline__ u32 m_first_leading_bit(u32 x) { return u32(31 - __clz(i32(x))); }
__device__ __forceinline__ i32 m_first_leading_bit(i32 x) { return 31 - __clz(x < 0 ? ~x : x); }
__device__ __forceinline__ u32 m_extract_bits(u32 x, u32 offset, u32 count) {
    const u32 o = m_min(offset, 32u), c = m_min(count, 32u - o);
    return c == 0u ? 0u : (x << (32u - c - o)) >> (32u - c);
}
__device__ __forceinline__ i32 m_extract_bits(i32 x, u32 offset, u32 count) {
    const u32 o = m_min(offset, 32u), c = m_min(count, 32u - o);
    return c == 0u ? 0 : i32(u32(x) << (32u - c - o)) >> (32u - c);
}
template <class T> __device__ __forceinline__ T m_insert_bits(T x, T bits, u32 offset, u32 count) {
    const u32 o = m_min(offset, 32u), c = m_min(count, 32u - o);
    const u32 mask = c == 0u ? 0u : (0xffffffffu >> (32u - c)) << (o & 31u);
    return T((u32(x) & ~mask) | ((u32(bits) << (o & 31u)) & mask));
}
#ifndef LW_HOST
// Halves, by the conversions of the hardware (round to nearest even).
__device__ __forceinline__ unsigned short half_of(f32 x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
__device__ __forceinline__ f32 of_half(unsigned short bits) {
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
#endif
__device__ __forceinline__ u32 m_pack2x16float(Vec<f32, 2> x) { return u32(half_of(x.v[0])) | (u32(half_of(x.v[1])) << 16); }
__device__ __forceinline__ Vec<f32, 2> m_unpack2x16float(u32 x) { return {{of_half((unsigned short)(x & 0xffffu)), of_half((unsigned short)(x >> 16))}}; }
__device__ __forceinline__ f32 m_quantize_f16(f32 x) { return of_half(half_of(x)); }

// ── functions of WGSL text in f32 that the hardware has (`Options::library`) ──
// The larger or the smaller one of two; NaN where one is.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ f32 larger_or_nan(f32 a, f32 b) {
    f32 larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
}
__device__ __forceinline__ f32 smaller_or_nan(f32 a, f32 b) {
    f32 smaller;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
    return smaller;
}
#else
__device__ __forceinline__ f32 larger_or_nan(f32 a, f32 b) { return a != a ? a : b != b ? b : m_max(a, b); }
__device__ __forceinline__ f32 smaller_or_nan(f32 a, f32 b) { return a != a ? a : b != b ? b : m_min(a, b); }
#endif
// a/(1 + e) for 0 ≤ e ≤ 1 and |a| ≤ 2: the reciprocal is good to an ulp, and what the quotient leaves over corrects it to half of one.
__device__ __forceinline__ f32 over_one_plus(f32 a, f32 e) {
    const f32 divisor = 1.0f + e;
#ifdef LW_HOST
    return a / divisor;
#else
    f32 inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(divisor));
    const f32 quotient = a * inverse;
    return fmaf(fmaf(-quotient, divisor, a), inverse, quotient);
#endif
}

// ── components, one after the other ──
#define LW_MAP1(name) \
    template <class T, int N> __device__ __forceinline__ auto name(Vec<T, N> a) { \
        Vec<decltype(name(a.v[0])), N> r; \
        _Pragma("unroll") for (int i = 0; i < N; i++) r.v[i] = name(a.v[i]); \
        return r; \
    }
#define LW_MAP2(name) \
    template <class T, int N> __device__ __forceinline__ auto name(Vec<T, N> a, Vec<T, N> b) { \
        Vec<decltype(name(a.v[0], b.v[0])), N> r; \
        _Pragma("unroll") for (int i = 0; i < N; i++) r.v[i] = name(a.v[i], b.v[i]); \
        return r; \
    }
#define LW_SHIFT(name) \
    template <class T, int N> __device__ __forceinline__ auto name(Vec<T, N> a, Vec<u32, N> b) { \
        Vec<decltype(name(a.v[0], b.v[0])), N> r; \
        _Pragma("unroll") for (int i = 0; i < N; i++) r.v[i] = name(a.v[i], b.v[i]); \
        return r; \
    }
#define LW_MIXED2(name) \
    template <class T, int N> __device__ __forceinline__ Vec<T, N> name(Vec<T, N> a, T b) { return name(a, splat<T, N>(b)); } \
    template <class T, int N> __device__ __forceinline__ Vec<T, N> name(T a, Vec<T, N> b) { return name(splat<T, N>(a), b); }
#define LW_MAP3(name) \
    template <class T, int N> __device__ __forceinline__ Vec<T, N> name(Vec<T, N> a, Vec<T, N> b, Vec<T, N> c) { \
        Vec<T, N> r; \
        _Pragma("unroll") for (int i = 0; i < N; i++) r.v[i] = name(a.v[i], b.v[i], c.v[i]); \
        return r; \
    }
LW_MAP2(op_add) LW_MAP2(op_sub) LW_MAP2(op_mul) LW_MAP2(op_div) LW_MAP2(op_rem) LW_MIXED2(op_add) LW_MIXED2(op_sub) LW_MIXED2(op_mul)
LW_MIXED2(op_div) LW_MIXED2(op_rem) LW_MAP1(op_neg) LW_SHIFT(op_shl) LW_SHIFT(op_shr) LW_MAP2(op_and) LW_MAP2(op_or) LW_MAP2(op_xor)
LW_MAP1(op_flip) LW_MAP1(op_not) LW_MAP2(op_eq) LW_MAP2(op_ne) LW_MAP2(op_lt) LW_MAP2(op_le) LW_MAP2(op_gt) LW_MAP2(op_ge)
LW_MAP1(m_abs) LW_MAP2(m_min) LW_MAP2(m_max) LW_MAP3(m_clamp) LW_MAP1(m_saturate) LW_MAP1(m_cos) LW_MAP1(m_cosh) LW_MAP1(m_sin)
LW_MAP1(m_sinh) LW_MAP1(m_tan) LW_MAP1(m_tanh) LW_MAP1(m_acos) LW_MAP1(m_asin) LW_MAP1(m_atan) LW_MAP1(m_asinh) LW_MAP1(m_acosh)
LW_MAP1(m_atanh) LW_MAP1(m_ceil) LW_MAP1(m_floor) LW_MAP1(m_round) LW_MAP1(m_trunc) LW_MAP1(m_exp) LW_MAP1(m_exp2) LW_MAP1(m_log)
LW_MAP1(m_log2) LW_MAP1(m_sqrt) LW_MAP1(m_rsqrt) LW_MAP2(m_pow) LW_MAP2(m_atan2) LW_MAP3(m_fma) LW_MAP1(m_fract) LW_MAP1(m_sign)
LW_MAP3(m_mix) LW_MAP2(m_step) LW_MAP3(m_smoothstep) LW_MAP1(m_radians) LW_MAP1(m_degrees) LW_MAP1(m_count_one_bits)
LW_MAP1(m_count_leading_zeros) LW_MAP1(m_count_trailing_zeros) LW_MAP1(m_reverse_bits) LW_MAP1(m_first_trailing_bit)
LW_MAP1(m_first_leading_bit) LW_MAP1(m_quantize_f16)
template <class T, int N> __device__ __forceinline__ Vec<T, N> m_mix(Vec<T, N> a, Vec<T, N> b, T t) { return m_mix(a, b, splat<T, N>(t)); }

template <class T, int N> __device__ __forceinline__ T m_dot(Vec<T, N> a, Vec<T, N> b) {
    T sum = op_mul(a.v[0], b.v[0]);
#pragma unroll
    for (int i = 1; i < N; i++) sum = op_add(sum, op_mul(a.v[i], b.v[i]));
    return sum;
}
template <class T> __device__ __forceinline__ Vec<T, 3> m_cross(Vec<T, 3> a, Vec<T, 3> b) {
    return {{a.v[1] * b.v[2] - a.v[2] * b.v[1], a.v[2] * b.v[0] - a.v[0] * b.v[2], a.v[0] * b.v[1] - a.v[1] * b.v[0]}};
}
template <class T, int N> __device__ __forceinline__ T m_length(Vec<T, N> a) { return m_sqrt(m_dot(a, a)); }
template <class T> __device__ __forceinline__ T m_length(T a) { return m_abs(a); }
template <class T> __device__ __forceinline__ T m_distance(T a, T b) { return m_abs(a - b); }
template <class T, int N> __device__ __forceinline__ T m_distance(Vec<T, N> a, Vec<T, N> b) { return m_length(op_sub(a, b)); }
template <class T, int N> __device__ __forceinline__ Vec<T, N> m_normalize(Vec<T, N> a) { return op_div(a, m_length(a)); }

// ── matrices: columns ──
template <class T, int C, int R> __device__ __forceinline__ Mat<T, C, R> op_add(Mat<T, C, R> a, Mat<T, C, R> b) {
    for (int i = 0; i < C; i++) a.c[i] = op_add(a.c[i], b.c[i]);
    return a;
}
template <class T, int C, int R> __device__ __forceinline__ Mat<T, C, R> op_sub(Mat<T, C, R> a, Mat<T, C, R> b) {
    for (int i = 0; i < C; i++) a.c[i] = op_sub(a.c[i], b.c[i]);
    return a;
}
template <class T, int C, int R> __device__ __forceinline__ Mat<T, C, R> op_mul(Mat<T, C, R> a, T b) {
    for (int i = 0; i < C; i++) a.c[i] = op_mul(a.c[i], b);
    return a;
}
template <class T, int C, int R> __device__ __forceinline__ Mat<T, C, R> op_mul(T a, Mat<T, C, R> b) { return op_mul(b, a); }
template <class T, int C, int R> __device__ __forceinline__ Vec<T, R> op_mul(Mat<T, C, R> a, Vec<T, C> x) {
    Vec<T, R> r = op_mul(a.c[0], x.v[0]);
    for (int i = 1; i < C; i++) r = op_add(r, op_mul(a.c[i], x.v[i]));
    return r;
}
template <class T, int C, int R> __device__ __forceinline__ Vec<T, C> op_mul(Vec<T, R> x, Mat<T, C, R> a) {
    Vec<T, C> r;
    for (int i = 0; i < C; i++) r.v[i] = m_dot(x, a.c[i]);
    return r;
}
template <class T, int K, int R, int C> __device__ __forceinline__ Mat<T, C, R> op_mul(Mat<T, K, R> a, Mat<T, C, K> b) {
    Mat<T, C, R> r;
    for (int i = 0; i < C; i++) r.c[i] = op_mul(a, b.c[i]);
    return r;
}
template <class T, int C, int R> __device__ __forceinline__ Mat<T, C, R> op_neg(Mat<T, C, R> a) {
    for (int i = 0; i < C; i++) a.c[i] = op_neg(a.c[i]);
    return a;
}
template <class T, int C, int R> __device__ __forceinline__ Mat<T, R, C> m_transpose(Mat<T, C, R> a) {
    Mat<T, R, C> r;
    for (int i = 0; i < C; i++)
        for (int j = 0; j < R; j++) r.c[j].v[i] = a.c[i].v[j];
    return r;
}
template <class T> __device__ __forceinline__ T m_determinant(Mat<T, 2, 2> a) { return a.c[0].v[0] * a.c[1].v[1] - a.c[1].v[0] * a.c[0].v[1]; }
template <class T> __device__ __forceinline__ T m_determinant(Mat<T, 3, 3> a) { return m_dot(a.c[0], m_cross(a.c[1], a.c[2])); }

// ── choice, relations, conversions ──
template <class T> __device__ __forceinline__ T choose(bool when, T then, T otherwise) { return when ? then : otherwise; }
template <class T, int N> __device__ __forceinline__ Vec<T, N> choose(Vec<bool, N> when, Vec<T, N> then, Vec<T, N> otherwise) {
    for (int i = 0; i < N; i++) then.v[i] = when.v[i] ? then.v[i] : otherwise.v[i];
    return then;
}
__device__ __forceinline__ bool rel_all(bool a) { return a; }
__device__ __forceinline__ bool rel_any(bool a) { return a; }
template <int N> __device__ __forceinline__ bool rel_all(Vec<bool, N> a) {
    bool r = true;
    for (int i = 0; i < N; i++) r = r && a.v[i];
    return r;
}
template <int N> __device__ __forceinline__ bool rel_any(Vec<bool, N> a) {
    bool r = false;
    for (int i = 0; i < N; i++) r = r || a.v[i];
    return r;
}
// Conversions of reals to integers go to the nearest that there is; C++ leaves them undefined.
template <class To, class From> struct Convert { static __device__ __forceinline__ To of(From x) { return To(x); } };
template <> struct Convert<i32, f32> { static __device__ __forceinline__ i32 of(f32 x) { return __float2int_rz(x); } };
template <> struct Convert<u32, f32> { static __device__ __forceinline__ u32 of(f32 x) { return __float2uint_rz(x); } };
template <> struct Convert<i64, f32> { static __device__ __forceinline__ i64 of(f32 x) { return __float2ll_rz(x); } };
template <> struct Convert<u64, f32> { static __device__ __forceinline__ u64 of(f32 x) { return __float2ull_rz(x); } };
template <> struct Convert<i32, f64> { static __device__ __forceinline__ i32 of(f64 x) { return __double2int_rz(x); } };
template <> struct Convert<u32, f64> { static __device__ __forceinline__ u32 of(f64 x) { return __double2uint_rz(x); } };
template <> struct Convert<i64, f64> { static __device__ __forceinline__ i64 of(f64 x) { return __double2ll_rz(x); } };
template <> struct Convert<u64, f64> { static __device__ __forceinline__ u64 of(f64 x) { return __double2ull_rz(x); } };
template <class To, class From> __device__ __forceinline__ To convert(From x) { return Convert<To, From>::of(x); }
template <class To, class From, int N> __device__ __forceinline__ Vec<To, N> convert(Vec<From, N> x) {
    Vec<To, N> r;
    for (int i = 0; i < N; i++) r.v[i] = Convert<To, From>::of(x.v[i]);
    return r;
}
template <class To, class From> __device__ __forceinline__ To bit_cast(From x) {
    static_assert(sizeof(To) == sizeof(From), "bitcast between sizes");
    union Both { From from; To to; __device__ Both() {} } both;
    both.from = x;
    return both.to;
}

// ── places ──
// Out of range, an access goes to the last element (one of the ways that WGSL allows); of an empty buffer, to where the first would be.
__device__ __forceinline__ u32 within(u32 index, u32 count) { return index < count ? index : count == 0u ? 0u : count - 1u; }
__device__ __forceinline__ u32 within(i32 index, u32 count) { return within(u32(index), count); }

// ── atomics: relaxed, as in WGSL ──
template <class T> __device__ __forceinline__ T atomic_load(const T* place) { return *(const volatile T*)place; }
template <class T> __device__ __forceinline__ void atomic_store(T* place, T value) { *(volatile T*)place = value; }
template <class T> __device__ __forceinline__ T atomic_sub(T* place, T value) { return atomicAdd(place, T(0) - value); }

// ── subgroups: warps of 32 whose lanes all take part ──
const u32 whole_warp = 0xffffffffu;
template <class T, class F> __device__ __forceinline__ T warp_reduce(T x, F f) {
#pragma unroll
    for (u32 d = 16u; d > 0u; d >>= 1) x = f(x, __shfl_xor_sync(whole_warp, x, d));
    return x;
}
template <class T, class F> __device__ __forceinline__ T warp_scan(T x, F f, u32 lane) {
#pragma unroll
    for (u32 d = 1u; d < 32u; d <<= 1) {
        const T below = __shfl_up_sync(whole_warp, x, d);
        if (lane >= d) x = f(below, x);
    }
    return x;
}
template <class T, class F> __device__ __forceinline__ T warp_scan_before(T x, F f, T neutral, u32 lane) {
    const T all = __shfl_up_sync(whole_warp, warp_scan(x, f, lane), 1u);
    return lane == 0u ? neutral : all;
}
