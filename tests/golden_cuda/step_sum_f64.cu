struct S2_Args {
    u32 m0_partial;
    u32 m1_distance;
    u32 m2_elements;
};
static_assert(sizeof(S2_Args) == 12, "layout of S2_Args");
struct S3_Params {
    u32 m0_count;
    u32 m1_grid_width;
    u32 m2_zero;
    u32 m3_group_count;
    S2_Args m4_args;
    unsigned char gap_at_end[36];
};
static_assert(sizeof(S3_Params) == 64, "layout of S3_Params");
struct S7_Exact {
    f64 m0_high;
    f64 m1_low;
};
static_assert(sizeof(S7_Exact) == 16, "layout of S7_Exact");
struct S8_Run {
    u32 m0_start;
    u32 m1_end;
};
static_assert(sizeof(S8_Run) == 8, "layout of S8_Run");
static __device__ constexpr u32 c0_group_size = 256u;
static __device__ constexpr u32 c1_fan_in = 16u;
__shared__ Array<f64, 256u> g3_scratch;
__shared__ Array<f64, 256u> g4_scratch_low;

__device__ __forceinline__ f64 f0_opaque(const f64 a0_x) {
    return a0_x;
}

__device__ __forceinline__ u32 f4_group_index(const S3_Params& g0_params, const Vec<u32, 3> a0_group) {
    const u32 e1 = a0_group.v[1];
    const u32 e4 = g0_params.m1_grid_width;
    const u32 e6 = op_div(e4, c0_group_size);
    const u32 e7 = op_mul(e1, e6);
    const u32 e8 = a0_group.v[0];
    const u32 e9 = op_add(e7, e8);
    return e9;
}

__device__ __forceinline__ S8_Run f5_run_of(const S3_Params& g0_params, const Vec<u32, 3> a0_group, const u32 a1_elements) {
    const u32 e4 = g0_params.m0_count;
    const u32 e5 = op_add(a1_elements, e4);
    const u32 e7 = op_sub(e5, 1u);
    const u32 e10 = g0_params.m0_count;
    const u32 e11 = op_div(e7, e10);
    const u32 e13 = op_mul(e11, c0_group_size);
    const u32 e14 = f4_group_index(g0_params, a0_group);
    const u32 e15 = op_mul(e14, e13);
    const u32 e16 = m_min(e15, a1_elements);
    const u32 e17 = op_add(e16, e13);
    const u32 e18 = m_min(e17, a1_elements);
    const S8_Run e19 = S8_Run{.m0_start = e16, .m1_end = e18};
    return e19;
}

__device__ __forceinline__ S7_Exact f6_exact_add(const S7_Exact a0_a, const S7_Exact a1_b) {
    const f64 e2 = a0_a.m0_high;
    const f64 e3 = a1_b.m0_high;
    const f64 e4 = op_add(e2, e3);
    const f64 e5 = f0_opaque(e4);
    const f64 e6 = a0_a.m0_high;
    const f64 e7 = op_sub(e5, e6);
    const f64 e8 = f0_opaque(e7);
    const f64 e9 = a0_a.m0_high;
    const f64 e10 = op_sub(e5, e8);
    const f64 e11 = f0_opaque(e10);
    const f64 e12 = op_sub(e9, e11);
    const f64 e13 = f0_opaque(e12);
    const f64 e14 = a1_b.m0_high;
    const f64 e15 = op_sub(e14, e8);
    const f64 e16 = f0_opaque(e15);
    const f64 e17 = op_add(e13, e16);
    const f64 e18 = f0_opaque(e17);
    const f64 e19 = a0_a.m1_low;
    const f64 e20 = a1_b.m1_low;
    const f64 e21 = op_add(e19, e20);
    const f64 e22 = op_add(e18, e21);
    const S7_Exact e23 = S7_Exact{.m0_high = e5, .m1_low = e22};
    return e23;
}

__device__ __forceinline__ S7_Exact f7_group_sum_exact(const u32 a0_lane, const S7_Exact a1_value) {
    S7_Exact l0_sum = {};
    u32 l1_k = 1u;
    S7_Exact l2_total = {};
    u32 l3_k = c1_fan_in;
    const f64 e4 = a1_value.m0_high;
    g3_scratch.e[a0_lane] = e4;
    const f64 e7 = a1_value.m1_low;
    g4_scratch_low.e[a0_lane] = e7;
    __syncthreads();
    const u32 e9 = op_rem(a0_lane, c1_fan_in);
    const bool e11 = op_eq(e9, 0u);
    if (e11) {
        l0_sum = a1_value;
        #pragma unroll
        for (; l1_k < 16u; l1_k += 1u) {
            const S7_Exact e18 = l0_sum;
            const u32 e20 = l1_k;
            const u32 e21 = op_add(a0_lane, e20);
            const f64 e23 = g3_scratch.e[e21];
            const u32 e25 = l1_k;
            const u32 e26 = op_add(a0_lane, e25);
            const f64 e28 = g4_scratch_low.e[e26];
            const S7_Exact e29 = S7_Exact{.m0_high = e23, .m1_low = e28};
            const S7_Exact e30 = f6_exact_add(e18, e29);
            l0_sum = e30;
        }
        const f64 e37 = l0_sum.m0_high;
        g3_scratch.e[a0_lane] = e37;
        const f64 e41 = l0_sum.m1_low;
        g4_scratch_low.e[a0_lane] = e41;
    }
    __syncthreads();
    const f64 e44 = g3_scratch.e[0];
    const f64 e47 = g4_scratch_low.e[0];
    const S7_Exact e48 = S7_Exact{.m0_high = e44, .m1_low = e47};
    l2_total = e48;
    #pragma unroll
    for (; l3_k < 256u; l3_k += 16u) {
        const S7_Exact e55 = l2_total;
        const u32 e57 = l3_k;
        const f64 e59 = g3_scratch.e[e57];
        const u32 e61 = l3_k;
        const f64 e63 = g4_scratch_low.e[e61];
        const S7_Exact e64 = S7_Exact{.m0_high = e59, .m1_low = e63};
        const S7_Exact e65 = f6_exact_add(e55, e64);
        l2_total = e65;
    }
    __syncthreads();
    const S7_Exact e69 = l2_total;
    return e69;
}

extern "C" __global__ void __launch_bounds__(256) kernel_main(const __grid_constant__ S3_Params g0_params, const f64* __restrict__ g1_column, const u32 g1_column_count, f64* __restrict__ g2_partials, const u32 g2_partials_count) {
    const u32 local_index = threadIdx.x;
    const u32 a0_lane = local_index;
    const Vec<u32, 3> a1_group = vec_of<u32>(blockIdx.x, blockIdx.y, blockIdx.z);
    S7_Exact l0_part = S7_Exact{.m0_high = 0e0, .m1_low = 0e0};
    u32 l1_i = {};
    bool l2_ = {};
    const S7_Exact e4 = S7_Exact{.m0_high = 0e0, .m1_low = 0e0};
    const u32 e9 = g0_params.m4_args.m2_elements;
    const S8_Run e10 = f5_run_of(g0_params, a1_group, e9);
    const u32 e11 = e10.m0_start;
    const u32 e12 = op_add(e11, a0_lane);
    l1_i = e12;
    for (bool first_368 = true;; first_368 = false) {
        if (!first_368) {
            const u32 e25 = l1_i;
            const u32 e27 = op_add(e25, c0_group_size);
            l1_i = e27;
        }
        const u32 e14 = l1_i;
        const u32 e15 = e10.m1_end;
        const bool e16 = op_lt(e14, e15);
        if (e16) {
        } else {
            break;
        }
        {
            const S7_Exact e17 = l0_part;
            const u32 e19 = l1_i;
            const f64 e21 = g1_column[e19];
            const S7_Exact e23 = S7_Exact{.m0_high = e21, .m1_low = 0e0};
            const S7_Exact e24 = f6_exact_add(e17, e23);
            l0_part = e24;
        }
    }
    const S7_Exact e28 = l0_part;
    const S7_Exact e29 = f7_group_sum_exact(a0_lane, e28);
    const u32 e30 = f4_group_index(g0_params, a1_group);
    const bool e32 = op_eq(a0_lane, 0u);
    if (e32) {
        const u32 e37 = g0_params.m3_group_count;
        const bool e38 = op_lt(e30, e37);
        l2_ = e38;
    } else {
        l2_ = false;
    }
    const bool e40 = l2_;
    if (e40) {
        const u32 e45 = g0_params.m4_args.m0_partial;
        const u32 e46 = op_add(e45, e30);
        const f64 e48 = e29.m0_high;
        g2_partials[e46] = e48;
        const u32 e53 = g0_params.m4_args.m1_distance;
        const u32 e57 = g0_params.m4_args.m0_partial;
        const u32 e58 = op_add(e53, e57);
        const u32 e59 = op_add(e58, e30);
        const f64 e61 = e29.m1_low;
        g2_partials[e59] = e61;
        return;
    } else {
        return;
    }
}
