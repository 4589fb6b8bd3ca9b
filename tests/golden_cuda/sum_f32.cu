struct S3_Params {
    u32 m0_count;
    u32 m1_grid_width;
    u32 m2_zero;
    u32 m3_group_count;
    Vec<u32, 4> m4_words0;
    Vec<u32, 4> m5_words1;
    Vec<u32, 4> m6_words2;
};
static_assert(sizeof(S3_Params) == 64, "layout of S3_Params");
struct S7_Run {
    u32 m0_start;
    u32 m1_end;
};
static_assert(sizeof(S7_Run) == 8, "layout of S7_Run");
struct S9_Exact {
    f32 m0_high;
    f32 m1_low;
};
static_assert(sizeof(S9_Exact) == 8, "layout of S9_Exact");
static __device__ constexpr u32 c0_group_size = 256u;
static __device__ constexpr u32 c1_fan_in = 16u;
__shared__ Array<f32, 256u> g1_scratch;
__shared__ Array<f32, 256u> g2_scratch_low;

__device__ __forceinline__ f32 f0_opaque(const S3_Params& g0_params, const f32 a0_x) {
    const u32 e1 = bit_cast<u32>(a0_x);
    const u32 e4 = g0_params.m2_zero;
    const u32 e5 = op_xor(e1, e4);
    const f32 e6 = bit_cast<f32>(e5);
    return e6;
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

__device__ __forceinline__ S7_Run f5_run_of(const S3_Params& g0_params, const Vec<u32, 3> a0_group, const u32 a1_elements) {
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
    const S7_Run e19 = S7_Run{.m0_start = e16, .m1_end = e18};
    return e19;
}

__device__ __forceinline__ S9_Exact f9_exact_add(const S3_Params& g0_params, const S9_Exact a0_a, const S9_Exact a1_b) {
    const f32 e2 = a0_a.m0_high;
    const f32 e3 = a1_b.m0_high;
    const f32 e4 = op_add(e2, e3);
    const f32 e5 = f0_opaque(g0_params, e4);
    const f32 e6 = a0_a.m0_high;
    const f32 e7 = op_sub(e5, e6);
    const f32 e8 = f0_opaque(g0_params, e7);
    const f32 e9 = a0_a.m0_high;
    const f32 e10 = op_sub(e5, e8);
    const f32 e11 = f0_opaque(g0_params, e10);
    const f32 e12 = op_sub(e9, e11);
    const f32 e13 = f0_opaque(g0_params, e12);
    const f32 e14 = a1_b.m0_high;
    const f32 e15 = op_sub(e14, e8);
    const f32 e16 = f0_opaque(g0_params, e15);
    const f32 e17 = op_add(e13, e16);
    const f32 e18 = f0_opaque(g0_params, e17);
    const f32 e19 = a0_a.m1_low;
    const f32 e20 = a1_b.m1_low;
    const f32 e21 = op_add(e19, e20);
    const f32 e22 = op_add(e18, e21);
    const S9_Exact e23 = S9_Exact{.m0_high = e5, .m1_low = e22};
    return e23;
}

__device__ __forceinline__ S9_Exact f10_group_sum_exact(const S3_Params& g0_params, const u32 a0_lane, const S9_Exact a1_value) {
    S9_Exact l0_sum = {};
    u32 l1_k = 1u;
    bool l2_ = {};
    S9_Exact l3_total = {};
    u32 l4_k = c1_fan_in;
    const f32 e4 = a1_value.m0_high;
    g1_scratch.e[a0_lane] = e4;
    const f32 e7 = a1_value.m1_low;
    g2_scratch_low.e[a0_lane] = e7;
    __syncthreads();
    const u32 e9 = op_rem(a0_lane, c1_fan_in);
    const bool e11 = op_eq(e9, 0u);
    if (e11) {
        l0_sum = a1_value;
        for (bool first_405 = true;; first_405 = false) {
            if (!first_405) {
                const u32 e40 = l1_k;
                const u32 e41 = op_add(e40, 1u);
                l1_k = e41;
            }
            const u32 e15 = l1_k;
            const bool e17 = op_lt(e15, c1_fan_in);
            if (e17) {
                const u32 e20 = l1_k;
                const u32 e21 = op_add(a0_lane, e20);
                const bool e23 = op_lt(e21, c0_group_size);
                l2_ = e23;
            } else {
                l2_ = false;
            }
            const bool e25 = l2_;
            if (e25) {
            } else {
                break;
            }
            {
                const S9_Exact e26 = l0_sum;
                const u32 e28 = l1_k;
                const u32 e29 = op_add(a0_lane, e28);
                const f32 e31 = g1_scratch.e[e29];
                const u32 e33 = l1_k;
                const u32 e34 = op_add(a0_lane, e33);
                const f32 e36 = g2_scratch_low.e[e34];
                const S9_Exact e37 = S9_Exact{.m0_high = e31, .m1_low = e36};
                const S9_Exact e38 = f9_exact_add(g0_params, e26, e37);
                l0_sum = e38;
            }
        }
        const f32 e45 = l0_sum.m0_high;
        g1_scratch.e[a0_lane] = e45;
        const f32 e49 = l0_sum.m1_low;
        g2_scratch_low.e[a0_lane] = e49;
    }
    __syncthreads();
    const f32 e52 = g1_scratch.e[0];
    const f32 e55 = g2_scratch_low.e[0];
    const S9_Exact e56 = S9_Exact{.m0_high = e52, .m1_low = e55};
    l3_total = e56;
    for (bool first_1990 = true;; first_1990 = false) {
        if (!first_1990) {
            const u32 e74 = l4_k;
            const u32 e76 = op_add(e74, c1_fan_in);
            l4_k = e76;
        }
        const u32 e60 = l4_k;
        const bool e62 = op_lt(e60, c0_group_size);
        if (e62) {
        } else {
            break;
        }
        {
            const S9_Exact e63 = l3_total;
            const u32 e65 = l4_k;
            const f32 e67 = g1_scratch.e[e65];
            const u32 e69 = l4_k;
            const f32 e71 = g2_scratch_low.e[e69];
            const S9_Exact e72 = S9_Exact{.m0_high = e67, .m1_low = e71};
            const S9_Exact e73 = f9_exact_add(g0_params, e63, e72);
            l3_total = e73;
        }
    }
    __syncthreads();
    const S9_Exact e77 = l3_total;
    return e77;
}

extern "C" __global__ void __launch_bounds__(256) kernel_main(const __grid_constant__ S3_Params g0_params, const f32* __restrict__ g3_column, const u32 g3_column_count, f32* __restrict__ g4_partials, const u32 g4_partials_count) {
    const u32 local_index = threadIdx.x;
    const u32 a0_lane = local_index;
    const Vec<u32, 3> a1_group = vec_of<u32>(blockIdx.x, blockIdx.y, blockIdx.z);
    S9_Exact l0_part = S9_Exact{.m0_high = 0e0f, .m1_low = 0e0f};
    u32 l1_i = {};
    bool l2_ = {};
    const S9_Exact e4 = S9_Exact{.m0_high = 0e0f, .m1_low = 0e0f};
    const u32 e9 = g0_params.m4_words0.v[2];
    const S7_Run e10 = f5_run_of(g0_params, a1_group, e9);
    const u32 e11 = e10.m0_start;
    const u32 e12 = op_add(e11, a0_lane);
    l1_i = e12;
    for (bool first_367 = true;; first_367 = false) {
        if (!first_367) {
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
            const S9_Exact e17 = l0_part;
            const u32 e19 = l1_i;
            const f32 e21 = g3_column[e19];
            const S9_Exact e23 = S9_Exact{.m0_high = e21, .m1_low = 0e0f};
            const S9_Exact e24 = f9_exact_add(g0_params, e17, e23);
            l0_part = e24;
        }
    }
    const S9_Exact e28 = l0_part;
    const S9_Exact e29 = f10_group_sum_exact(g0_params, a0_lane, e28);
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
        const u32 e45 = g0_params.m4_words0.v[0];
        const u32 e46 = op_add(e45, e30);
        const f32 e48 = e29.m0_high;
        g4_partials[e46] = e48;
        const u32 e53 = g0_params.m4_words0.v[1];
        const u32 e57 = g0_params.m4_words0.v[0];
        const u32 e58 = op_add(e53, e57);
        const u32 e59 = op_add(e58, e30);
        const f32 e61 = e29.m1_low;
        g4_partials[e59] = e61;
        return;
    } else {
        return;
    }
}
