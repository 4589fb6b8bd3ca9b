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
static __device__ constexpr u32 c0_group_size = 256u;

__device__ __forceinline__ f64 f2_flagged(const S3_Params& g0_params) {
    const u32 e3 = g0_params.m2_zero;
    const u32 e4 = op_xor(2143289344u, e3);
    const f32 e5 = bit_cast<f32>(e4);
    const f64 e6 = convert<f64>(e5);
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

__device__ __forceinline__ f64 f5_arctangent2(const f64 a0_y, const f64 a1_x) {
    const f64 e2 = m_atan2(a0_y, a1_x);
    return e2;
}

__device__ __forceinline__ f64 f6_logarithm(const f64 a0_x) {
    const f64 e1 = m_log(a0_x);
    return e1;
}

__device__ __forceinline__ f64 f7_log1p(const f64 a0_x) {
    return log1p(a0_x);
}

__device__ __forceinline__ f64 f8_power(const S3_Params& g0_params, const f64 a0_a, const f64 a1_b) {
    bool l0_ = {};
    const f64 e2 = f2_flagged(g0_params);
    const bool e5 = op_eq(a1_b, 0e0);
    const f64 e7 = choose(e5, 1e0, 0e0);
    const bool e9 = op_eq(a0_a, 0e0);
    if (e9) {
        const bool e13 = op_ge(a1_b, 0e0);
        l0_ = e13;
    } else {
        l0_ = false;
    }
    const bool e15 = l0_;
    const f64 e16 = choose(e15, e7, e2);
    const f64 e17 = m_pow(a0_a, a1_b);
    const bool e19 = op_gt(a0_a, 0e0);
    const f64 e20 = choose(e19, e17, e16);
    return e20;
}

extern "C" __global__ void __launch_bounds__(256) kernel_main(const __grid_constant__ S3_Params g0_params, const f64* __restrict__ g1_arena, const u32 g1_arena_count, const u32* __restrict__ g2_index, const u32 g2_index_count, f64* __restrict__ g3_jacobian, const u32 g3_jacobian_count, const f64* __restrict__ g4_state, const u32 g4_state_count) {
    const u32 local_index = threadIdx.x;
    const Vec<u32, 3> a0_id = op_add(op_mul(vec_of<u32>(blockIdx.x, blockIdx.y, blockIdx.z), vec_of<u32>(256u, 1u, 1u)), vec_of<u32>(local_index % 256u, local_index / 256u % 1u, local_index / 256u));
    bool l0_ = {};
    bool l1_ = {};
    bool l2_ = {};
    const f64 e3 = g4_state[10];
    const bool e5 = op_ne(e3, 0e0);
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
    const f64 e41 = g1_arena[e39];
    const u32 e44 = op_add(e25, 0u);
    const f64 e46 = g1_arena[e44];
    const f64 e47 = f8_power(g0_params, e46, e41);
    const f64 e48 = f7_log1p(e47);
    const u32 e51 = op_add(e36, 0u);
    const f64 e53 = g1_arena[e51];
    const u32 e56 = op_add(e36, 1u);
    const f64 e58 = g1_arena[e56];
    const f64 e59 = f5_arctangent2(e58, e53);
    const f64 e60 = op_sub(e59, e48);
    const bool e64 = op_le(0e0, e41);
    const f64 e65 = choose(e64, 1e0, 0e0);
    const bool e68 = op_le(0e0, e46);
    const f64 e69 = choose(e68, 1e0, 0e0);
    const bool e73 = op_ne(e69, 0e0);
    if (e73) {
        const bool e77 = op_ne(e65, 0e0);
        l0_ = e77;
    } else {
        l0_ = false;
    }
    const bool e79 = l0_;
    const f64 e80 = choose(e79, 1e0, 0e0);
    const bool e83 = op_lt(0e0, e46);
    const f64 e84 = choose(e83, 1e0, 0e0);
    const bool e88 = op_ne(e84, 0e0);
    const bool e89 = op_not(e88);
    if (e89) {
        const bool e93 = op_ne(e80, 0e0);
        l1_ = e93;
    } else {
        l1_ = true;
    }
    const bool e95 = l1_;
    const f64 e96 = choose(e95, 1e0, 0e0);
    const f64 e97 = f2_flagged(g0_params);
    const bool e99 = op_ne(e96, 0e0);
    const f64 e100 = choose(e99, e60, e97);
    const f64 e101 = op_mul(e53, e53);
    const f64 e102 = op_mul(e58, e58);
    const f64 e103 = op_add(e102, e101);
    const f64 e104 = op_div(e58, e103);
    const bool e107 = op_lt(0e0, e103);
    const f64 e108 = choose(e107, 1e0, 0e0);
    const bool e110 = op_ne(e108, 0e0);
    const f64 e111 = choose(e110, e104, 0e0);
    const f64 e112 = op_div(e53, e103);
    const bool e114 = op_ne(e108, 0e0);
    const f64 e115 = choose(e114, e112, 0e0);
    const bool e119 = op_le(1e0, e41);
    const f64 e120 = choose(e119, 1e0, 0e0);
    const bool e123 = op_le(e41, 1e0);
    const f64 e124 = choose(e123, 1e0, 0e0);
    const bool e128 = op_ne(e124, 0e0);
    if (e128) {
        const bool e132 = op_ne(e120, 0e0);
        l2_ = e132;
    } else {
        l2_ = false;
    }
    const bool e134 = l2_;
    const f64 e135 = choose(e134, 1e0, 0e0);
    const bool e137 = op_ne(e135, 0e0);
    const f64 e138 = choose(e137, 1e0, 0e0);
    const f64 e139 = op_sub(e41, 1e0);
    const f64 e140 = f8_power(g0_params, e46, e139);
    const f64 e141 = op_mul(e41, e140);
    const bool e143 = op_ne(e84, 0e0);
    const f64 e144 = choose(e143, e141, e138);
    const f64 e145 = op_add(e47, 1e0);
    const f64 e146 = op_div(1e0, e145);
    const f64 e147 = op_mul(e146, e144);
    const bool e150 = op_lt(0e0, e145);
    const f64 e151 = choose(e150, 1e0, 0e0);
    const bool e153 = op_ne(e151, 0e0);
    const f64 e154 = choose(e153, e147, 0e0);
    const f64 e155 = f6_logarithm(e46);
    const f64 e156 = op_mul(e47, e155);
    const f64 e157 = op_mul(e146, e156);
    const bool e159 = op_ne(e151, 0e0);
    const f64 e160 = choose(e159, e157, 0e0);
    const f64 e161 = op_neg(e160);
    const bool e163 = op_ne(e84, 0e0);
    const f64 e164 = choose(e163, e161, 0e0);
    g3_jacobian[e6] = e100;
    const u32 e170 = g0_params.m0_count;
    const u32 e171 = op_add(e170, e6);
    g3_jacobian[e171] = e111;
    const u32 e177 = g0_params.m0_count;
    const u32 e178 = op_mul(2u, e177);
    const u32 e179 = op_add(e178, e6);
    g3_jacobian[e179] = e115;
    const u32 e185 = g0_params.m0_count;
    const u32 e186 = op_mul(3u, e185);
    const u32 e187 = op_add(e186, e6);
    g3_jacobian[e187] = e154;
    const u32 e193 = g0_params.m0_count;
    const u32 e194 = op_mul(4u, e193);
    const u32 e195 = op_add(e194, e6);
    g3_jacobian[e195] = e164;
    return;
}
