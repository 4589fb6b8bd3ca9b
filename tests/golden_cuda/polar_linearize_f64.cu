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

__device__ __forceinline__ f64 f5_power(const S3_Params& g0_params, const f64 a0_a, const f64 a1_b) {
    bool l0_ = {};
    bool l1_ = {};
    bool l2_ = {};
    bool l3_ = {};
    const f64 e2 = m_abs(a0_a);
    const f64 e3 = m_pow(e2, a1_b);
    const f64 e5 = op_mul(5e-1, a1_b);
    const f64 e6 = m_floor(e5);
    const f64 e8 = op_mul(2e0, e6);
    const f64 e9 = op_sub(a1_b, e8);
    const bool e11 = op_eq(e9, 1e0);
    const bool e13 = op_gt(a0_a, 0e0);
    const bool e14 = op_not(e13);
    if (e14) {
        const bool e18 = op_lt(a0_a, 0e0);
        if (e18) {
            const f64 e21 = m_floor(a1_b);
            const bool e22 = op_eq(e21, a1_b);
            l1_ = e22;
        } else {
            l1_ = false;
        }
        const bool e24 = l1_;
        l0_ = e24;
    } else {
        l0_ = true;
    }
    const bool e26 = l0_;
    const f64 e27 = f2_flagged(g0_params);
    const bool e30 = op_eq(a1_b, 0e0);
    const f64 e32 = choose(e30, 1e0, 0e0);
    const bool e34 = op_eq(a0_a, 0e0);
    if (e34) {
        const bool e38 = op_ge(a1_b, 0e0);
        l2_ = e38;
    } else {
        l2_ = false;
    }
    const bool e40 = l2_;
    const f64 e41 = choose(e40, e32, e27);
    const f64 e42 = op_neg(e3);
    const bool e44 = op_lt(a0_a, 0e0);
    if (e44) {
        l3_ = e11;
    } else {
        l3_ = false;
    }
    const bool e48 = l3_;
    const f64 e49 = choose(e48, e42, e3);
    const f64 e50 = choose(e26, e49, e41);
    return e50;
}

__device__ __forceinline__ f64 f6_log1p(const f64 a0_x) {
    return log1p(a0_x);
}

__device__ __forceinline__ f64 f7_arctangent2(const f64 a0_y, const f64 a1_x) {
    const f64 e2 = m_atan2(a0_y, a1_x);
    return e2;
}

__device__ __forceinline__ f64 f8_logarithm(const f64 a0_x) {
    const f64 e1 = m_log(a0_x);
    return e1;
}

extern "C" __global__ void __launch_bounds__(256) kernel_main(const __grid_constant__ S3_Params g0_params, const f64* __restrict__ g1_arena, const u32 g1_arena_count, const u32* __restrict__ g2_index, const u32 g2_index_count, f64* __restrict__ g3_jacobian, const u32 g3_jacobian_count, const f64* __restrict__ g4_state, const u32 g4_state_count) {
    const u32 local_index = threadIdx.x;
    const Vec<u32, 3> a0_id = op_add(op_mul(vec_of<u32>(blockIdx.x, blockIdx.y, blockIdx.z), vec_of<u32>(256u, 1u, 1u)), vec_of<u32>(local_index % 256u, local_index / 256u % 1u, local_index / 256u));
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
    const f64 e47 = f5_power(g0_params, e46, e41);
    const f64 e48 = f6_log1p(e47);
    const u32 e51 = op_add(e36, 0u);
    const f64 e53 = g1_arena[e51];
    const u32 e56 = op_add(e36, 1u);
    const f64 e58 = g1_arena[e56];
    const f64 e59 = f7_arctangent2(e58, e53);
    const f64 e60 = op_sub(e59, e48);
    const bool e64 = op_le(0e0, e41);
    const f64 e65 = choose(e64, 1e0, 0e0);
    const bool e68 = op_le(0e0, e46);
    const f64 e69 = choose(e68, 1e0, 0e0);
    const bool e73 = op_ne(e69, 0e0);
    const bool e75 = op_ne(e65, 0e0);
    const bool e76 = op_and(e73, e75);
    const f64 e77 = choose(e76, 1e0, 0e0);
    const bool e80 = op_lt(0e0, e46);
    const f64 e81 = choose(e80, 1e0, 0e0);
    const bool e85 = op_ne(e81, 0e0);
    const bool e87 = op_ne(e77, 0e0);
    const bool e88 = op_or(e85, e87);
    const f64 e89 = choose(e88, 1e0, 0e0);
    const bool e93 = op_lt(-1e0, e47);
    const f64 e94 = choose(e93, 1e0, 0e0);
    const bool e98 = op_ne(e89, 0e0);
    const bool e100 = op_ne(e94, 0e0);
    const bool e101 = op_and(e98, e100);
    const f64 e102 = choose(e101, 1e0, 0e0);
    const f64 e103 = f2_flagged(g0_params);
    const bool e105 = op_ne(e102, 0e0);
    const f64 e106 = choose(e105, e60, e103);
    const f64 e107 = op_mul(e53, e53);
    const f64 e108 = op_mul(e58, e58);
    const f64 e109 = op_add(e108, e107);
    const f64 e110 = op_div(e58, e109);
    const bool e113 = op_lt(0e0, e109);
    const f64 e114 = choose(e113, 1e0, 0e0);
    const bool e116 = op_ne(e114, 0e0);
    const f64 e117 = choose(e116, e110, 0e0);
    const f64 e118 = op_div(e53, e109);
    const bool e120 = op_ne(e114, 0e0);
    const f64 e121 = choose(e120, e118, 0e0);
    const f64 e123 = op_sub(e41, 1e0);
    const f64 e124 = f5_power(g0_params, e46, e123);
    const f64 e125 = op_mul(e41, e124);
    const f64 e126 = op_add(e47, 1e0);
    const f64 e127 = op_div(1e0, e126);
    const f64 e128 = op_mul(e127, e125);
    const bool e131 = op_lt(0e0, e126);
    const f64 e132 = choose(e131, 1e0, 0e0);
    const bool e134 = op_ne(e132, 0e0);
    const f64 e135 = choose(e134, e128, 0e0);
    const f64 e136 = op_neg(e135);
    const bool e139 = op_le(e46, 0e0);
    const f64 e140 = choose(e139, 1e0, 0e0);
    const bool e144 = op_ne(e140, 0e0);
    const bool e146 = op_ne(e69, 0e0);
    const bool e147 = op_and(e144, e146);
    const f64 e148 = choose(e147, 1e0, 0e0);
    const bool e151 = op_lt(e41, 1e0);
    const f64 e152 = choose(e151, 1e0, 0e0);
    const bool e156 = op_ne(e148, 0e0);
    const bool e158 = op_ne(e152, 0e0);
    const bool e159 = op_and(e156, e158);
    const f64 e160 = choose(e159, 1e0, 0e0);
    const bool e162 = op_ne(e160, 0e0);
    const f64 e163 = choose(e162, 0e0, e136);
    const f64 e164 = f8_logarithm(e46);
    const f64 e165 = op_mul(e47, e164);
    const f64 e166 = op_mul(e127, e165);
    const bool e168 = op_ne(e132, 0e0);
    const f64 e169 = choose(e168, e166, 0e0);
    const f64 e170 = op_neg(e169);
    const bool e172 = op_ne(e148, 0e0);
    const f64 e173 = choose(e172, 0e0, e170);
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
