// CUDA C++ on a CPU, for tests: an invocation is a thread, and workgroups run one after the other. What the writer emits
// is compiled behind this header as it stands.
#pragma once
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#define LW_HOST 1
#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(n)
#define __shared__ static

struct dim3_ { unsigned x, y, z; };
static thread_local dim3_ threadIdx;
static dim3_ blockIdx, gridDim;
static std::unique_ptr<std::barrier<>> everyone;
static inline void __syncthreads() { everyone->arrive_and_wait(); }
static inline void __syncwarp() {}
static inline void __threadfence() { __sync_synchronize(); }
static inline void __threadfence_block() { __sync_synchronize(); }

// Conversions as the hardware makes them: toward 0, to the nearest that there is, NaN to 0.
template <class To, class From> static inline To toward_zero(From x, To least, To most) {
    if (!(x == x)) return 0;
    if (x <= From(least)) return least;
    if (x >= From(most)) return most;
    return To(x);
}
static inline int __float2int_rz(float x) { return toward_zero<int>(x, INT32_MIN, INT32_MAX); }
static inline unsigned __float2uint_rz(float x) { return toward_zero<unsigned>(x, 0u, UINT32_MAX); }
static inline long long __float2ll_rz(float x) { return toward_zero<long long>(x, INT64_MIN, INT64_MAX); }
static inline unsigned long long __float2ull_rz(float x) { return toward_zero<unsigned long long>(x, 0ull, UINT64_MAX); }
static inline int __double2int_rz(double x) { return toward_zero<int>(x, INT32_MIN, INT32_MAX); }
static inline unsigned __double2uint_rz(double x) { return toward_zero<unsigned>(x, 0u, UINT32_MAX); }
static inline long long __double2ll_rz(double x) { return toward_zero<long long>(x, INT64_MIN, INT64_MAX); }
static inline unsigned long long __double2ull_rz(double x) { return toward_zero<unsigned long long>(x, 0ull, UINT64_MAX); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1u) << (31 - i);
    return r;
}
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }

static inline unsigned short half_of(float x) {
    _Float16 half = _Float16(x);
    unsigned short bits;
    std::memcpy(&bits, &half, 2);
    return bits;
}
static inline float of_half(unsigned short bits) {
    _Float16 half;
    std::memcpy(&half, &bits, 2);
    return float(half);
}

#define LW_ATOMIC(name, expression) \
    template <class T> static inline T name(T* place, T value) { \
        T old = __atomic_load_n(place, __ATOMIC_RELAXED), wanted; \
        do { wanted = (expression); } while (!__atomic_compare_exchange_n(place, &old, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
        return old; \
    }
LW_ATOMIC(atomicAdd, T(old + value)) LW_ATOMIC(atomicAnd, T(old & value)) LW_ATOMIC(atomicOr, T(old | value))
LW_ATOMIC(atomicXor, T(old ^ value)) LW_ATOMIC(atomicMin, old < value ? old : value) LW_ATOMIC(atomicMax, old < value ? value : old)
LW_ATOMIC(atomicExch, value)
template <class T> static inline T atomicCAS(T* place, T compare, T value) {
    __atomic_compare_exchange_n(place, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return compare;
}

// Warps: every thread of the workgroup takes part in an exchange, in lockstep.
static uint64_t exchanged[1024];
template <class T> static inline T exchange(T x, unsigned from) {
    unsigned me = threadIdx.x;
    std::memcpy(&exchanged[me], &x, sizeof x);
    __syncthreads();
    T got;
    std::memcpy(&got, &exchanged[from], sizeof got);
    __syncthreads();
    return got;
}
template <class T> static inline T __shfl_sync(unsigned, T x, unsigned lane, unsigned width = 32) {
    return exchange(x, threadIdx.x / width * width + lane % width);
}
template <class T> static inline T __shfl_xor_sync(unsigned, T x, unsigned with) { return exchange(x, threadIdx.x ^ with); }
template <class T> static inline T __shfl_up_sync(unsigned, T x, unsigned by) {
    return exchange(x, (threadIdx.x & 31u) < by ? threadIdx.x : threadIdx.x - by);
}
template <class T> static inline T __shfl_down_sync(unsigned, T x, unsigned by) {
    return exchange(x, (threadIdx.x & 31u) + by > 31u ? threadIdx.x : threadIdx.x + by);
}
static inline unsigned __ballot_sync(unsigned, bool vote) {
    unsigned all = 0;
    for (unsigned lane = 0; lane < 32; lane++) all |= unsigned(__shfl_sync(0, int(vote), lane)) << lane;
    return all;
}
static inline bool __all_sync(unsigned, bool vote) { return __ballot_sync(0, vote) == 0xffffffffu; }
static inline bool __any_sync(unsigned, bool vote) { return __ballot_sync(0, vote) != 0u; }

template <class Kernel> static void launch(dim3_ groups, unsigned threads, Kernel kernel) {
    gridDim = groups;
    for (unsigned z = 0; z < groups.z; z++)
        for (unsigned y = 0; y < groups.y; y++)
            for (unsigned x = 0; x < groups.x; x++) {
                blockIdx = {x, y, z};
                everyone = std::make_unique<std::barrier<>>(threads);
                std::vector<std::thread> invocations;
                for (unsigned i = 0; i < threads; i++)
                    invocations.emplace_back([&kernel, i] {
                        threadIdx = {i, 0, 0};
                        kernel();
                        everyone->arrive_and_drop();
                    });
                for (auto& invocation : invocations) invocation.join();
            }
}
