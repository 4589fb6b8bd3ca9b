struct S2_Args {
    u32 m0_none;
};
static_assert(sizeof(S2_Args) == 4, "layout of S2_Args");
struct S3_Params {
    u32 m0_count;
    u32 m1_grid_width;
    u32 m2_zero;
    u32 m3_group_count;
    S2_Args m4_args;
    unsigned char gap_at_end[44];
};
static_assert(sizeof(S3_Params) == 64, "layout of S3_Params");
struct S8_Sum {
    f32 m0_leading;
    f32 m1_rest;
};
static_assert(sizeof(S8_Sum) == 8, "layout of S8_Sum");
static __device__ constexpr u32 c0_group_size = 256u;

__device__ __forceinline__ f32 f0_opaque(const S3_Params& g0_params, const f32 a0_x) {
    const u32 e1 = bit_cast<u32>(a0_x);
    const u32 e4 = g0_params.m2_zero;
    const u32 e5 = op_xor(e1, e4);
    const f32 e6 = bit_cast<f32>(e5);
    return e6;
}

__device__ __forceinline__ bool f1_is_finite(const S3_Params& g0_params, const f32 a0_x) {
    const u32 e1 = bit_cast<u32>(a0_x);
    const u32 e4 = g0_params.m2_zero;
    const u32 e5 = op_xor(e1, e4);
    const u32 e7 = op_and(e5, 2139095040u);
    const bool e9 = op_ne(e7, 2139095040u);
    return e9;
}

__device__ __forceinline__ f32 f2_flagged(const S3_Params& g0_params) {
    const u32 e3 = g0_params.m2_zero;
    const u32 e4 = op_xor(2143289344u, e3);
    const f32 e5 = bit_cast<f32>(e4);
    const f32 e6 = convert<f32>(e5);
    return e6;
}

__device__ __forceinline__ u32 f3_item(const S3_Params& g0_params, const Vec<u32, 3> a0_id) {
    const u32 e1 = a0_id.v[1];
    const u32 e4 = g0_params.m1_grid_width;
    const u32 e5 = op_mul(e1, e4);
    const u32 e6 = a0_id.v[0];
    const u32 e7 = op_add(e5, e6);
    return e7;
}

__device__ __forceinline__ i32 f5_exponent_of(const f32 a0_x) {
    const bool e2 = op_lt(a0_x, 1.2e-38f);
    const f32 e4 = op_mul(a0_x, 1.6777216e7f);
    const f32 e5 = choose(e2, e4, a0_x);
    const u32 e6 = bit_cast<u32>(e5);
    const u32 e8 = op_sub(e6, 1060439283u);
    const i32 e9 = bit_cast<i32>(e8);
    const i32 e11 = op_shr(e9, 23u);
    const i32 e14 = choose(e2, 24, 0);
    const i32 e15 = op_sub(e11, e14);
    return e15;
}

__device__ __forceinline__ f32 f6_power_of_two(const i32 a0_n) {
    const i32 e2 = op_add(a0_n, 127);
    const u32 e3 = convert<u32>(e2);
    const u32 e5 = op_shl(e3, 23u);
    const f32 e6 = bit_cast<f32>(e5);
    return e6;
}

__device__ __forceinline__ f32 f7_scale_by_power_of_two(const S3_Params& g0_params, const f32 a0_x, const i32 a1_n) {
    const i32 e3 = op_shr(a1_n, 1u);
    const f32 e4 = f6_power_of_two(e3);
    const f32 e5 = op_mul(a0_x, e4);
    const f32 e6 = f0_opaque(g0_params, e5);
    const i32 e7 = op_sub(a1_n, e3);
    const f32 e8 = f6_power_of_two(e7);
    const f32 e9 = op_mul(e6, e8);
    return e9;
}

__device__ __forceinline__ f32 f8_leading_half(const S3_Params& g0_params, const f32 a0_x) {
    const u32 e1 = bit_cast<u32>(a0_x);
    const u32 e5 = g0_params.m2_zero;
    const u32 e6 = op_xor(4294963200u, e5);
    const u32 e7 = op_and(e1, e6);
    const f32 e8 = bit_cast<f32>(e7);
    return e8;
}

__device__ __forceinline__ S8_Sum f9_logarithm2(const S3_Params& g0_params, const f32 a0_x) {
    const i32 e1 = f5_exponent_of(a0_x);
    const i32 e2 = op_neg(e1);
    const f32 e3 = f7_scale_by_power_of_two(g0_params, a0_x, e2);
    const f32 e5 = op_sub(e3, 1e0f);
    const f32 e7 = op_add(e3, 1e0f);
    const f32 e8 = op_div(e5, e7);
    const f32 e9 = f8_leading_half(g0_params, e8);
    const f32 e11 = op_add(e3, 1e0f);
    const f32 e12 = f8_leading_half(g0_params, e11);
    const f32 e14 = op_sub(e12, 1e0f);
    const f32 e15 = f0_opaque(g0_params, e14);
    const f32 e16 = op_sub(e3, e15);
    const f32 e18 = op_sub(e3, 1e0f);
    const f32 e19 = op_mul(e9, e12);
    const f32 e20 = op_sub(e18, e19);
    const f32 e21 = f0_opaque(g0_params, e20);
    const f32 e22 = op_mul(e9, e16);
    const f32 e23 = op_sub(e21, e22);
    const f32 e25 = op_add(e3, 1e0f);
    const f32 e26 = op_div(e23, e25);
    const f32 e27 = op_add(e9, e26);
    const f32 e28 = op_mul(e27, e27);
    const f32 e29 = op_mul(e27, e28);
    const f32 e31 = op_mul(e28, 1.1666383e-1f);
    const f32 e33 = op_add(1.4275362e-1f, e31);
    const f32 e34 = op_mul(e28, e33);
    const f32 e36 = op_add(2.0000061e-1f, e34);
    const f32 e37 = op_mul(e28, e36);
    const f32 e39 = op_add(3.3333334e-1f, e37);
    const f32 e40 = op_mul(e29, e39);
    const f32 e41 = op_add(e26, e40);
    const f32 e43 = op_mul(e9, 2.8847656e0f);
    const f32 e45 = op_mul(e9, 6.244568e-4f);
    const f32 e47 = op_mul(2.88539e0f, e41);
    const f32 e48 = op_add(e45, e47);
    const f32 e49 = convert<f32>(e1);
    const f32 e50 = op_add(e43, e48);
    const f32 e51 = op_add(e49, e50);
    const f32 e52 = f8_leading_half(g0_params, e51);
    const f32 e53 = op_sub(e49, e52);
    const f32 e54 = f0_opaque(g0_params, e53);
    const f32 e55 = op_add(e54, e43);
    const f32 e56 = f0_opaque(g0_params, e55);
    const f32 e57 = op_add(e56, e48);
    const S8_Sum e58 = S8_Sum{.m0_leading = e52, .m1_rest = e57};
    return e58;
}

__device__ __forceinline__ f32 f10_exponential2_part(const f32 a0_r) {
    const f32 e2 = op_mul(a0_r, 1.5353574e-4f);
    const f32 e4 = op_add(1.3398852e-3f, e2);
    const f32 e5 = op_mul(a0_r, e4);
    const f32 e7 = op_add(9.618437e-3f, e5);
    const f32 e8 = op_mul(a0_r, e7);
    const f32 e10 = op_add(5.5503324e-2f, e8);
    const f32 e11 = op_mul(a0_r, e10);
    const f32 e13 = op_add(2.4022648e-1f, e11);
    const f32 e14 = op_mul(a0_r, e13);
    const f32 e16 = op_add(6.931472e-1f, e14);
    const f32 e17 = op_mul(a0_r, e16);
    const f32 e19 = op_add(1e0f, e17);
    return e19;
}

__device__ __forceinline__ f32 f11_infinity(const S3_Params& g0_params) {
    const u32 e3 = g0_params.m2_zero;
    const u32 e4 = op_xor(2139095040u, e3);
    const f32 e5 = bit_cast<f32>(e4);
    const f32 e6 = convert<f32>(e5);
    return e6;
}

__device__ __forceinline__ f32 f12_power(const S3_Params& g0_params, const f32 a0_a, const f32 a1_b) {
    bool l0_ = {};
    bool l1_ = {};
    bool l2_ = {};
    bool l3_ = {};
    const f32 e2 = m_abs(a0_a);
    const S8_Sum e3 = f9_logarithm2(g0_params, e2);
    const bool e5 = op_lt(a1_b, -1.7e10f);
    const f32 e7 = choose(e5, -1.7e10f, a1_b);
    const bool e9 = op_gt(a1_b, 1.7e10f);
    const f32 e11 = choose(e9, 1.7e10f, e7);
    const f32 e12 = f8_leading_half(g0_params, e11);
    const f32 e13 = e3.m0_leading;
    const f32 e14 = op_mul(e12, e13);
    const f32 e15 = op_sub(e11, e12);
    const f32 e16 = e3.m0_leading;
    const f32 e17 = op_mul(e15, e16);
    const f32 e18 = e3.m1_rest;
    const f32 e19 = op_mul(e11, e18);
    const f32 e20 = op_add(e17, e19);
    const f32 e21 = op_add(e14, e20);
    const f32 e22 = m_round(e21);
    const f32 e23 = op_sub(e14, e22);
    const f32 e24 = f0_opaque(g0_params, e23);
    const f32 e25 = op_add(e24, e20);
    const f32 e26 = f10_exponential2_part(e25);
    const f32 e29 = m_clamp(e22, -2e2f, 2e2f);
    const i32 e30 = convert<i32>(e29);
    const f32 e31 = f7_scale_by_power_of_two(g0_params, e26, e30);
    const bool e33 = op_lt(e21, -1.5e2f);
    const f32 e35 = choose(e33, 0e0f, e31);
    const f32 e36 = f11_infinity(g0_params);
    const bool e38 = op_ge(e21, 1.28e2f);
    const f32 e39 = choose(e38, e36, e35);
    const f32 e41 = op_mul(5e-1f, a1_b);
    const f32 e42 = m_floor(e41);
    const f32 e44 = op_mul(2e0f, e42);
    const f32 e45 = op_sub(a1_b, e44);
    const bool e47 = op_eq(e45, 1e0f);
    const f32 e48 = op_neg(e39);
    const bool e50 = op_lt(a0_a, 0e0f);
    if (e50) {
        l0_ = e47;
    } else {
        l0_ = false;
    }
    const bool e54 = l0_;
    const f32 e55 = choose(e54, e48, e39);
    const bool e57 = op_gt(a0_a, 0e0f);
    const bool e58 = op_not(e57);
    if (e58) {
        const bool e62 = op_lt(a0_a, 0e0f);
        if (e62) {
            const f32 e65 = m_floor(a1_b);
            const bool e66 = op_eq(e65, a1_b);
            l2_ = e66;
        } else {
            l2_ = false;
        }
        const bool e68 = l2_;
        l1_ = e68;
    } else {
        l1_ = true;
    }
    const bool e70 = l1_;
    const f32 e71 = f2_flagged(g0_params);
    const bool e74 = op_eq(a1_b, 0e0f);
    const f32 e76 = choose(e74, 1e0f, 0e0f);
    const bool e78 = op_eq(a0_a, 0e0f);
    if (e78) {
        const bool e82 = op_ge(a1_b, 0e0f);
        l3_ = e82;
    } else {
        l3_ = false;
    }
    const bool e84 = l3_;
    const f32 e85 = choose(e84, e76, e71);
    const f32 e86 = choose(e70, e55, e85);
    return e86;
}

__device__ __forceinline__ f32 f13_logarithm_at_edges(const S3_Params& g0_params, const f32 a0_u, const f32 a1_y) {
    const f32 e2 = f2_flagged(g0_params);
    const f32 e3 = f11_infinity(g0_params);
    const f32 e4 = op_neg(e3);
    const bool e6 = op_eq(a0_u, 0e0f);
    const f32 e7 = choose(e6, e4, e2);
    const bool e8 = f1_is_finite(g0_params, a0_u);
    const f32 e9 = choose(e8, a1_y, a0_u);
    const bool e11 = op_gt(a0_u, 0e0f);
    const f32 e12 = choose(e11, e9, e7);
    return e12;
}

__device__ __forceinline__ f32 f14_logarithm_part(const i32 a0_n, const f32 a1_f, const f32 a2_c) {
    const f32 e4 = op_mul(a1_f, 7.634622e-2f);
    const f32 e6 = op_sub(1.2761627e-1f, e4);
    const f32 e7 = op_mul(a1_f, e6);
    const f32 e9 = op_add(-1.3160151e-1f, e7);
    const f32 e10 = op_mul(a1_f, e9);
    const f32 e12 = op_add(1.4201745e-1f, e10);
    const f32 e13 = op_mul(a1_f, e12);
    const f32 e15 = op_add(-1.662336e-1f, e13);
    const f32 e16 = op_mul(a1_f, e15);
    const f32 e18 = op_add(2.0001228e-1f, e16);
    const f32 e19 = op_mul(a1_f, e18);
    const f32 e21 = op_add(-2.500082e-1f, e19);
    const f32 e22 = op_mul(a1_f, e21);
    const f32 e24 = op_add(3.333333e-1f, e22);
    const f32 e25 = op_mul(a1_f, a1_f);
    const f32 e26 = convert<f32>(a0_n);
    const f32 e28 = op_mul(e26, 6.933594e-1f);
    const f32 e29 = op_mul(a1_f, e25);
    const f32 e30 = op_mul(e29, e24);
    const f32 e32 = op_mul(e26, 2.1219444e-4f);
    const f32 e33 = op_sub(a2_c, e32);
    const f32 e34 = op_add(e30, e33);
    const f32 e36 = op_mul(5e-1f, e25);
    const f32 e37 = op_sub(e34, e36);
    const f32 e38 = op_add(a1_f, e37);
    const f32 e39 = op_add(e28, e38);
    return e39;
}

__device__ __forceinline__ f32 f15_log1p(const S3_Params& g0_params, const f32 a0_x) {
    bool l0_ = {};
    const bool e2 = op_gt(a0_x, -2.928e-1f);
    if (e2) {
        const bool e6 = op_lt(a0_x, 4.142e-1f);
        l0_ = e6;
    } else {
        l0_ = false;
    }
    const bool e8 = l0_;
    const f32 e10 = op_add(1e0f, a0_x);
    const f32 e12 = choose(e8, 1e0f, e10);
    const f32 e13 = f0_opaque(g0_params, e12);
    const f32 e15 = op_sub(e13, 1e0f);
    const f32 e16 = f0_opaque(g0_params, e15);
    const f32 e17 = op_sub(a0_x, e16);
    const f32 e18 = op_sub(e13, a0_x);
    const f32 e19 = f0_opaque(g0_params, e18);
    const f32 e21 = op_sub(1e0f, e19);
    const bool e23 = op_gt(a0_x, 1e0f);
    const f32 e24 = choose(e23, e21, e17);
    const i32 e25 = f5_exponent_of(e13);
    const i32 e26 = op_neg(e25);
    const f32 e27 = f7_scale_by_power_of_two(g0_params, e13, e26);
    const f32 e29 = op_sub(e27, 1e0f);
    const f32 e30 = choose(e8, a0_x, e29);
    const f32 e31 = op_div(e24, e13);
    const f32 e33 = choose(e8, 0e0f, e31);
    const f32 e34 = f14_logarithm_part(e25, e30, e33);
    const f32 e35 = f13_logarithm_at_edges(g0_params, e13, e34);
    return e35;
}

__device__ __forceinline__ f32 f16_arctangent_part(const f32 a0_x) {
    const f32 e1 = op_mul(a0_x, a0_x);
    const f32 e2 = op_mul(a0_x, e1);
    const f32 e4 = op_mul(e1, 2.920659e-3f);
    const f32 e6 = op_add(-1.6367793e-2f, e4);
    const f32 e7 = op_mul(e1, e6);
    const f32 e9 = op_add(4.321164e-2f, e7);
    const f32 e10 = op_mul(e1, e9);
    const f32 e12 = op_add(-7.552195e-2f, e10);
    const f32 e13 = op_mul(e1, e12);
    const f32 e15 = op_add(1.0665996e-1f, e13);
    const f32 e16 = op_mul(e1, e15);
    const f32 e18 = op_add(-1.4211053e-1f, e16);
    const f32 e19 = op_mul(e1, e18);
    const f32 e21 = op_add(1.9993773e-1f, e19);
    const f32 e22 = op_mul(e1, e21);
    const f32 e24 = op_add(-3.3333153e-1f, e22);
    const f32 e25 = op_mul(e2, e24);
    const f32 e26 = op_add(a0_x, e25);
    return e26;
}

__device__ __forceinline__ f32 f17_arctangent2(const f32 a0_y, const f32 a1_x) {
    const f32 e2 = m_abs(a0_y);
    const f32 e3 = m_abs(a1_x);
    const bool e4 = op_gt(e2, e3);
    const f32 e5 = m_abs(a1_x);
    const f32 e6 = m_abs(a0_y);
    const f32 e7 = choose(e4, e6, e5);
    const f32 e8 = m_abs(a0_y);
    const f32 e9 = m_abs(a1_x);
    const f32 e10 = choose(e4, e9, e8);
    const bool e13 = op_gt(e7, 4e37f);
    const f32 e15 = choose(e13, 2.5e-1f, 1e0f);
    const f32 e16 = op_mul(e15, e10);
    const f32 e17 = op_mul(e15, e7);
    const bool e19 = op_eq(e7, 0e0f);
    const f32 e21 = choose(e19, 1e0f, e17);
    const f32 e22 = op_div(e16, e21);
    const f32 e23 = f16_arctangent_part(e22);
    const f32 e25 = op_add(e23, 4.371139e-8f);
    const f32 e27 = op_sub(1.5707964e0f, e25);
    const f32 e28 = choose(e4, e27, e23);
    const f32 e30 = op_add(e28, 8.742278e-8f);
    const f32 e32 = op_sub(3.1415927e0f, e30);
    const bool e34 = op_lt(a1_x, 0e0f);
    const f32 e35 = choose(e34, e32, e28);
    const f32 e36 = op_neg(e35);
    const bool e38 = op_lt(a0_y, 0e0f);
    const f32 e39 = choose(e38, e36, e35);
    return e39;
}

__device__ __forceinline__ f32 f18_logarithm(const S3_Params& g0_params, const f32 a0_x) {
    const i32 e1 = f5_exponent_of(a0_x);
    const i32 e2 = op_neg(e1);
    const f32 e3 = f7_scale_by_power_of_two(g0_params, a0_x, e2);
    const f32 e5 = op_sub(e3, 1e0f);
    const f32 e7 = f14_logarithm_part(e1, e5, 0e0f);
    const f32 e8 = f13_logarithm_at_edges(g0_params, a0_x, e7);
    return e8;
}

extern "C" __global__ void __launch_bounds__(256) kernel_main(const __grid_constant__ S3_Params g0_params, const f32* __restrict__ g1_arena, const u32 g1_arena_count, const u32* __restrict__ g2_index, const u32 g2_index_count, f32* __restrict__ g3_jacobian, const u32 g3_jacobian_count, const f32* __restrict__ g4_state, const u32 g4_state_count) {
    const u32 local_index = threadIdx.x;
    const Vec<u32, 3> a0_id = op_add(op_mul(vec_of<u32>(blockIdx.x, blockIdx.y, blockIdx.z), vec_of<u32>(256u, 1u, 1u)), vec_of<u32>(local_index % 256u, local_index / 256u % 1u, local_index / 256u));
    const f32 e3 = g4_state[10];
    const bool e5 = op_ne(e3, 0e0f);
    if (e5) {
        return;
    }
    const u32 e6 = f3_item(g0_params, a0_id);
    const u32 e9 = g0_params.m0_count;
    const bool e10 = op_ge(e6, e9);
    if (e10) {
        return;
    }
    const u32 e13 = g2_index[1];
    const u32 e18 = g0_params.m0_count;
    const u32 e19 = op_add(4u, e18);
    const u32 e20 = op_add(e19, e6);
    const u32 e22 = g2_index[e20];
    const u32 e24 = op_mul(e22, 3u);
    const u32 e25 = op_add(e13, e24);
    const u32 e28 = g2_index[0];
    const u32 e31 = op_add(4u, e6);
    const u32 e33 = g2_index[e31];
    const u32 e35 = op_mul(e33, 3u);
    const u32 e36 = op_add(e28, e35);
    const u32 e39 = op_add(e25, 1u);
    const f32 e41 = g1_arena[e39];
    const u32 e44 = op_add(e25, 0u);
    const f32 e46 = g1_arena[e44];
    const f32 e47 = f12_power(g0_params, e46, e41);
    const f32 e48 = f15_log1p(g0_params, e47);
    const u32 e51 = op_add(e36, 0u);
    const f32 e53 = g1_arena[e51];
    const u32 e56 = op_add(e36, 1u);
    const f32 e58 = g1_arena[e56];
    const f32 e59 = f17_arctangent2(e58, e53);
    const f32 e60 = op_sub(e59, e48);
    const bool e64 = op_le(0e0f, e41);
    const f32 e65 = choose(e64, 1e0f, 0e0f);
    const bool e68 = op_le(0e0f, e46);
    const f32 e69 = choose(e68, 1e0f, 0e0f);
    const bool e73 = op_ne(e69, 0e0f);
    const bool e75 = op_ne(e65, 0e0f);
    const bool e76 = op_and(e73, e75);
    const f32 e77 = choose(e76, 1e0f, 0e0f);
    const bool e80 = op_lt(0e0f, e46);
    const f32 e81 = choose(e80, 1e0f, 0e0f);
    const bool e85 = op_ne(e81, 0e0f);
    const bool e87 = op_ne(e77, 0e0f);
    const bool e88 = op_or(e85, e87);
    const f32 e89 = choose(e88, 1e0f, 0e0f);
    const bool e93 = op_lt(-1e0f, e47);
    const f32 e94 = choose(e93, 1e0f, 0e0f);
    const bool e98 = op_ne(e89, 0e0f);
    const bool e100 = op_ne(e94, 0e0f);
    const bool e101 = op_and(e98, e100);
    const f32 e102 = choose(e101, 1e0f, 0e0f);
    const f32 e103 = f2_flagged(g0_params);
    const bool e105 = op_ne(e102, 0e0f);
    const f32 e106 = choose(e105, e60, e103);
    const f32 e107 = op_mul(e53, e53);
    const f32 e108 = op_mul(e58, e58);
    const f32 e109 = op_add(e108, e107);
    const f32 e110 = op_div(e58, e109);
    const bool e113 = op_lt(0e0f, e109);
    const f32 e114 = choose(e113, 1e0f, 0e0f);
    const bool e116 = op_ne(e114, 0e0f);
    const f32 e117 = choose(e116, e110, 0e0f);
    const f32 e118 = op_div(e53, e109);
    const bool e120 = op_ne(e114, 0e0f);
    const f32 e121 = choose(e120, e118, 0e0f);
    const f32 e123 = op_sub(e41, 1e0f);
    const f32 e124 = f12_power(g0_params, e46, e123);
    const f32 e125 = op_mul(e41, e124);
    const f32 e126 = op_add(e47, 1e0f);
    const f32 e127 = op_div(1e0f, e126);
    const f32 e128 = op_mul(e127, e125);
    const bool e131 = op_lt(0e0f, e126);
    const f32 e132 = choose(e131, 1e0f, 0e0f);
    const bool e134 = op_ne(e132, 0e0f);
    const f32 e135 = choose(e134, e128, 0e0f);
    const f32 e136 = op_neg(e135);
    const bool e139 = op_le(e46, 0e0f);
    const f32 e140 = choose(e139, 1e0f, 0e0f);
    const bool e144 = op_ne(e140, 0e0f);
    const bool e146 = op_ne(e69, 0e0f);
    const bool e147 = op_and(e144, e146);
    const f32 e148 = choose(e147, 1e0f, 0e0f);
    const bool e151 = op_lt(e41, 1e0f);
    const f32 e152 = choose(e151, 1e0f, 0e0f);
    const bool e156 = op_ne(e148, 0e0f);
    const bool e158 = op_ne(e152, 0e0f);
    const bool e159 = op_and(e156, e158);
    const f32 e160 = choose(e159, 1e0f, 0e0f);
    const bool e162 = op_ne(e160, 0e0f);
    const f32 e163 = choose(e162, 0e0f, e136);
    const f32 e164 = f18_logarithm(g0_params, e46);
    const f32 e165 = op_mul(e47, e164);
    const f32 e166 = op_mul(e127, e165);
    const bool e168 = op_ne(e132, 0e0f);
    const f32 e169 = choose(e168, e166, 0e0f);
    const f32 e170 = op_neg(e169);
    const bool e172 = op_ne(e148, 0e0f);
    const f32 e173 = choose(e172, 0e0f, e170);
    g3_jacobian[e6] = e106;
    const u32 e179 = g0_params.m0_count;
    const u32 e180 = op_add(e179, e6);
    g3_jacobian[e180] = e117;
    const u32 e186 = g0_params.m0_count;
    const u32 e187 = op_mul(2u, e186);
    const u32 e188 = op_add(e187, e6);
    g3_jacobian[e188] = e121;
    const u32 e194 = g0_params.m0_count;
    const u32 e195 = op_mul(3u, e194);
    const u32 e196 = op_add(e195, e6);
    g3_jacobian[e196] = e163;
    const u32 e202 = g0_params.m0_count;
    const u32 e203 = op_mul(4u, e202);
    const u32 e204 = op_add(e203, e6);
    g3_jacobian[e204] = e173;
    return;
}
