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
struct S9_Turn {
    f32 m0_r;
    i32 m1_q;
};
static_assert(sizeof(S9_Turn) == 8, "layout of S9_Turn");
static __device__ constexpr u32 c0_group_size = 256u;

__device__ __forceinline__ f32 f0_opaque(const S3_Params& g0_params, const f32 a0_x) {
    const u32 e1 = bit_cast<u32>(a0_x);
    const u32 e4 = g0_params.m2_zero;
    const u32 e5 = op_xor(e1, e4);
    const f32 e6 = bit_cast<f32>(e5);
    return e6;
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

__device__ __forceinline__ S9_Turn f5_near_turn(const S3_Params& g0_params, const f32 a0_x) {
    const f32 e2 = op_mul(a0_x, 6.3661975e-1f);
    const f32 e3 = m_round(e2);
    const f32 e5 = op_mul(e3, 1.5705566e0f);
    const f32 e6 = op_sub(a0_x, e5);
    const f32 e7 = f0_opaque(g0_params, e6);
    const f32 e9 = op_mul(e3, 2.3967028e-4f);
    const f32 e10 = op_sub(e7, e9);
    const f32 e11 = f0_opaque(g0_params, e10);
    const f32 e13 = op_mul(e3, 1.5890691e-8f);
    const f32 e14 = op_sub(e11, e13);
    const f32 e15 = f0_opaque(g0_params, e14);
    const f32 e16 = op_sub(e11, e15);
    const f32 e17 = f0_opaque(g0_params, e16);
    const f32 e19 = op_mul(e3, 1.5890691e-8f);
    const f32 e20 = op_sub(e17, e19);
    const f32 e21 = f0_opaque(g0_params, e20);
    const f32 e23 = op_mul(e3, 2.563344e-12f);
    const f32 e24 = op_sub(e21, e23);
    const f32 e25 = f0_opaque(g0_params, e24);
    const f32 e26 = op_add(e15, e25);
    const i32 e27 = convert<i32>(e3);
    const S9_Turn e28 = S9_Turn{.m0_r = e26, .m1_q = e27};
    return e28;
}

__device__ __forceinline__ u32 f6_upper_product(const u32 a0_a, const u32 a1_b) {
    const u32 e3 = op_and(a0_a, 65535u);
    const u32 e5 = op_and(a1_b, 65535u);
    const u32 e6 = op_mul(e3, e5);
    const u32 e8 = op_shr(a0_a, 16u);
    const u32 e10 = op_and(a1_b, 65535u);
    const u32 e11 = op_mul(e8, e10);
    const u32 e13 = op_shr(e6, 16u);
    const u32 e14 = op_add(e11, e13);
    const u32 e16 = op_and(a0_a, 65535u);
    const u32 e18 = op_shr(a1_b, 16u);
    const u32 e19 = op_mul(e16, e18);
    const u32 e21 = op_and(e14, 65535u);
    const u32 e22 = op_add(e19, e21);
    const u32 e24 = op_shr(a0_a, 16u);
    const u32 e26 = op_shr(a1_b, 16u);
    const u32 e27 = op_mul(e24, e26);
    const u32 e29 = op_shr(e14, 16u);
    const u32 e30 = op_add(e27, e29);
    const u32 e32 = op_shr(e22, 16u);
    const u32 e33 = op_add(e30, e32);
    return e33;
}

__device__ __forceinline__ f32 f7_power_of_two(const i32 a0_n) {
    const i32 e2 = op_add(a0_n, 127);
    const u32 e3 = convert<u32>(e2);
    const u32 e5 = op_shl(e3, 23u);
    const f32 e6 = bit_cast<f32>(e5);
    return e6;
}

__device__ __forceinline__ f32 f8_leading_half(const S3_Params& g0_params, const f32 a0_x) {
    const u32 e1 = bit_cast<u32>(a0_x);
    const u32 e5 = g0_params.m2_zero;
    const u32 e6 = op_xor(4294963200u, e5);
    const u32 e7 = op_and(e1, e6);
    const f32 e8 = bit_cast<f32>(e7);
    return e8;
}

__device__ __forceinline__ S9_Turn f9_far_turn(const S3_Params& g0_params, const f32 a0_x) {
    const u32 e1 = bit_cast<u32>(a0_x);
    const u32 e3 = op_shr(e1, 23u);
    const u32 e5 = op_and(e3, 255u);
    const u32 e7 = op_sub(e5, 120u);
    const u32 e9 = op_and(e7, 32u);
    const bool e11 = op_ne(e9, 0u);
    const u32 e13 = op_and(e7, 64u);
    const bool e15 = op_ne(e13, 0u);
    const u32 e17 = op_and(e7, 128u);
    const bool e19 = op_ne(e17, 0u);
    const u32 e22 = choose(e15, 4230436817u, 2734261102u);
    const u32 e25 = choose(e15, 4113882560u, 1313084713u);
    const u32 e28 = choose(e15, 3680671129u, 4230436817u);
    const u32 e31 = choose(e15, 1313084713u, 0u);
    const u32 e32 = choose(e11, e22, e31);
    const u32 e34 = choose(e19, 4113882560u, e32);
    const u32 e35 = choose(e11, e25, e22);
    const u32 e37 = choose(e19, 3680671129u, e35);
    const u32 e38 = choose(e11, e28, e25);
    const u32 e40 = choose(e19, 1011060801u, e38);
    const u32 e43 = choose(e15, 1011060801u, 4113882560u);
    const u32 e44 = choose(e11, e43, e28);
    const u32 e46 = choose(e19, 4266746795u, e44);
    const u32 e48 = op_and(e7, 31u);
    const u32 e49 = op_shl(e34, e48);
    const u32 e51 = op_shr(e37, 1u);
    const u32 e53 = op_sub(31u, e48);
    const u32 e54 = op_shr(e51, e53);
    const u32 e55 = op_or(e49, e54);
    const u32 e56 = op_shl(e37, e48);
    const u32 e58 = op_shr(e40, 1u);
    const u32 e60 = op_sub(31u, e48);
    const u32 e61 = op_shr(e58, e60);
    const u32 e62 = op_or(e56, e61);
    const u32 e63 = op_shl(e40, e48);
    const u32 e65 = op_shr(e46, 1u);
    const u32 e67 = op_sub(31u, e48);
    const u32 e68 = op_shr(e65, e67);
    const u32 e69 = op_or(e63, e68);
    const u32 e71 = op_and(e1, 8388607u);
    const u32 e73 = op_or(e71, 8388608u);
    const u32 e74 = op_mul(e73, e62);
    const u32 e75 = f6_upper_product(e73, e69);
    const u32 e76 = op_add(e74, e75);
    const u32 e77 = op_mul(e73, e55);
    const u32 e78 = f6_upper_product(e73, e62);
    const u32 e79 = op_add(e77, e78);
    const bool e82 = op_lt(e76, e74);
    const u32 e83 = choose(e82, 1u, 0u);
    const u32 e84 = op_add(e79, e83);
    const u32 e86 = op_add(e84, 536870912u);
    const u32 e88 = op_shr(e86, 30u);
    const u32 e90 = op_shl(e88, 30u);
    const u32 e91 = op_sub(e84, e90);
    const bool e93 = op_ge(e91, 2147483648u);
    const u32 e94 = op_flip(e91);
    const u32 e95 = choose(e93, e94, e91);
    const u32 e96 = op_flip(e76);
    const u32 e97 = choose(e93, e96, e76);
    const u32 e99 = op_shr(e95, 6u);
    const f32 e100 = convert<f32>(e99);
    const f32 e102 = f7_power_of_two(-24);
    const f32 e103 = op_mul(e100, e102);
    const u32 e105 = op_and(e95, 63u);
    const u32 e107 = op_shl(e105, 18u);
    const u32 e109 = op_shr(e97, 14u);
    const u32 e110 = op_or(e107, e109);
    const f32 e111 = convert<f32>(e110);
    const f32 e113 = f7_power_of_two(-48);
    const f32 e114 = op_mul(e111, e113);
    const u32 e116 = op_and(e97, 16383u);
    const f32 e117 = convert<f32>(e116);
    const f32 e119 = f7_power_of_two(-62);
    const f32 e120 = op_mul(e117, e119);
    const f32 e121 = f8_leading_half(g0_params, e103);
    const f32 e122 = op_sub(e103, e121);
    const f32 e123 = f0_opaque(g0_params, e122);
    const f32 e124 = op_add(e114, e120);
    const f32 e125 = op_add(e123, e124);
    const f32 e127 = op_mul(e125, 1.5707964e0f);
    const f32 e129 = op_mul(e121, 4.838268e-4f);
    const f32 e130 = op_add(e127, e129);
    const f32 e132 = op_mul(e121, 1.5703125e0f);
    const f32 e133 = f0_opaque(g0_params, e132);
    const f32 e134 = f0_opaque(g0_params, e130);
    const f32 e135 = op_add(e133, e134);
    const i32 e136 = convert<i32>(e88);
    const bool e138 = op_lt(a0_x, 0e0f);
    const f32 e139 = op_neg(e135);
    const bool e140 = op_ne(e93, e138);
    const f32 e141 = choose(e140, e139, e135);
    const f32 e142 = f2_flagged(g0_params);
    const bool e144 = op_eq(e5, 255u);
    const f32 e145 = choose(e144, e142, e141);
    const i32 e146 = op_neg(e136);
    const i32 e147 = choose(e138, e146, e136);
    const S9_Turn e148 = S9_Turn{.m0_r = e145, .m1_q = e147};
    return e148;
}

__device__ __forceinline__ S9_Turn f10_turn(const S3_Params& g0_params, const f32 a0_x) {
    S9_Turn l0_t = {};
    const S9_Turn e1 = f5_near_turn(g0_params, a0_x);
    l0_t = e1;
    const f32 e3 = m_abs(a0_x);
    const bool e5 = op_gt(e3, 3.216e3f);
    if (e5) {
        const S9_Turn e6 = f9_far_turn(g0_params, a0_x);
        l0_t = e6;
    }
    const S9_Turn e7 = l0_t;
    return e7;
}

__device__ __forceinline__ f32 f11_sine_part(const f32 a0_r) {
    const f32 e1 = op_mul(a0_r, a0_r);
    const f32 e2 = op_mul(a0_r, e1);
    const f32 e4 = op_mul(e1, 1.9515296e-4f);
    const f32 e6 = op_sub(8.332161e-3f, e4);
    const f32 e7 = op_mul(e1, e6);
    const f32 e9 = op_add(-1.6666655e-1f, e7);
    const f32 e10 = op_mul(e2, e9);
    const f32 e11 = op_add(a0_r, e10);
    return e11;
}

__device__ __forceinline__ f32 f12_cosine_part(const f32 a0_r) {
    const f32 e1 = op_mul(a0_r, a0_r);
    const f32 e3 = op_mul(5e-1f, e1);
    const f32 e5 = op_sub(1e0f, e3);
    const f32 e6 = op_mul(e1, e1);
    const f32 e8 = op_mul(e1, 2.4433157e-5f);
    const f32 e10 = op_add(-1.3887316e-3f, e8);
    const f32 e11 = op_mul(e1, e10);
    const f32 e13 = op_add(4.1666646e-2f, e11);
    const f32 e14 = op_mul(e6, e13);
    const f32 e15 = op_add(e5, e14);
    return e15;
}

__device__ __forceinline__ f32 f13_turned(const f32 a0_r, const i32 a1_q) {
    const f32 e2 = f11_sine_part(a0_r);
    const f32 e3 = f12_cosine_part(a0_r);
    const i32 e5 = op_and(a1_q, 1);
    const bool e7 = op_ne(e5, 0);
    const f32 e8 = choose(e7, e3, e2);
    const f32 e9 = op_neg(e8);
    const i32 e11 = op_and(a1_q, 2);
    const bool e13 = op_ne(e11, 0);
    const f32 e14 = choose(e13, e9, e8);
    return e14;
}

__device__ __forceinline__ f32 f14_sine(const S9_Turn a0_x) {
    const f32 e1 = a0_x.m0_r;
    const i32 e2 = a0_x.m1_q;
    const f32 e3 = f13_turned(e1, e2);
    return e3;
}

__device__ __forceinline__ f32 f15_cosine(const S9_Turn a0_x) {
    const f32 e1 = a0_x.m0_r;
    const i32 e2 = a0_x.m1_q;
    const i32 e4 = op_add(e2, 1);
    const f32 e5 = f13_turned(e1, e4);
    return e5;
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
    const u32 e13 = g2_index[4];
    const u32 e18 = g0_params.m0_count;
    const u32 e19 = op_add(10u, e18);
    const u32 e20 = op_add(e19, e6);
    const u32 e22 = g2_index[e20];
    const u32 e24 = op_mul(e22, 3u);
    const u32 e25 = op_add(e13, e24);
    const u32 e28 = g2_index[3];
    const u32 e31 = op_add(10u, e6);
    const u32 e33 = g2_index[e31];
    const u32 e35 = op_mul(e33, 3u);
    const u32 e36 = op_add(e28, e35);
    const u32 e39 = g2_index[2];
    const u32 e42 = op_add(10u, e6);
    const u32 e44 = g2_index[e42];
    const u32 e46 = op_mul(e44, 3u);
    const u32 e47 = op_add(e39, e46);
    const u32 e50 = g2_index[1];
    const u32 e55 = g0_params.m0_count;
    const u32 e56 = op_add(10u, e55);
    const u32 e57 = op_add(e56, e6);
    const u32 e59 = g2_index[e57];
    const u32 e61 = op_mul(e59, 3u);
    const u32 e62 = op_add(e50, e61);
    const u32 e65 = g2_index[0];
    const u32 e68 = op_add(10u, e6);
    const u32 e70 = g2_index[e68];
    const u32 e72 = op_mul(e70, 3u);
    const u32 e73 = op_add(e65, e72);
    const u32 e76 = op_add(e25, 2u);
    const f32 e78 = g1_arena[e76];
    const u32 e81 = op_add(e36, 2u);
    const f32 e83 = g1_arena[e81];
    const f32 e84 = op_sub(e83, e78);
    const u32 e87 = op_add(e47, 0u);
    const f32 e89 = g1_arena[e87];
    const S9_Turn e90 = f10_turn(g0_params, e89);
    const f32 e91 = f14_sine(e90);
    const f32 e92 = op_mul(e84, e91);
    const u32 e95 = op_add(e25, 1u);
    const f32 e97 = g1_arena[e95];
    const u32 e100 = op_add(e36, 1u);
    const f32 e102 = g1_arena[e100];
    const f32 e103 = op_sub(e102, e97);
    const f32 e104 = f15_cosine(e90);
    const f32 e105 = op_mul(e104, e103);
    const f32 e106 = op_sub(e105, e92);
    const u32 e109 = op_add(e47, 2u);
    const f32 e111 = g1_arena[e109];
    const S9_Turn e112 = f10_turn(g0_params, e111);
    const f32 e113 = f14_sine(e112);
    const f32 e114 = op_mul(e113, e106);
    const f32 e115 = op_mul(e103, e91);
    const f32 e116 = op_mul(e84, e104);
    const f32 e117 = op_add(e116, e115);
    const u32 e120 = op_add(e47, 1u);
    const f32 e122 = g1_arena[e120];
    const S9_Turn e123 = f10_turn(g0_params, e122);
    const f32 e124 = f14_sine(e123);
    const f32 e125 = op_mul(e124, e117);
    const u32 e128 = op_add(e25, 0u);
    const f32 e130 = g1_arena[e128];
    const u32 e133 = op_add(e36, 0u);
    const f32 e135 = g1_arena[e133];
    const f32 e136 = op_sub(e135, e130);
    const f32 e137 = f15_cosine(e123);
    const f32 e138 = op_mul(e136, e137);
    const f32 e139 = op_add(e138, e125);
    const f32 e140 = f15_cosine(e112);
    const f32 e141 = op_mul(e140, e139);
    const f32 e142 = op_sub(e141, e114);
    const u32 e145 = op_add(e62, 0u);
    const f32 e147 = g1_arena[e145];
    const u32 e150 = op_add(e73, 0u);
    const f32 e152 = g1_arena[e150];
    const f32 e153 = op_sub(e152, e147);
    const f32 e154 = op_sub(e153, e142);
    const f32 e155 = op_mul(e140, e106);
    const f32 e156 = op_mul(e139, e113);
    const f32 e157 = op_add(e156, e155);
    const u32 e160 = op_add(e62, 1u);
    const f32 e162 = g1_arena[e160];
    const u32 e165 = op_add(e73, 1u);
    const f32 e167 = g1_arena[e165];
    const f32 e168 = op_sub(e167, e162);
    const f32 e169 = op_sub(e168, e157);
    const f32 e170 = op_mul(e137, e117);
    const f32 e171 = op_mul(e136, e124);
    const f32 e172 = op_sub(e170, e171);
    const u32 e175 = op_add(e62, 2u);
    const f32 e177 = g1_arena[e175];
    const u32 e180 = op_add(e73, 2u);
    const f32 e182 = g1_arena[e180];
    const f32 e183 = op_sub(e182, e177);
    const f32 e184 = op_sub(e183, e172);
    const f32 e185 = op_mul(e140, e124);
    const f32 e186 = op_mul(e84, e185);
    const f32 e187 = op_mul(e103, e113);
    const f32 e188 = op_sub(e187, e186);
    const f32 e189 = op_mul(e91, e188);
    const f32 e190 = op_mul(e103, e185);
    const f32 e191 = op_mul(e84, e113);
    const f32 e192 = op_add(e191, e190);
    const f32 e193 = op_mul(e104, e192);
    const f32 e194 = op_add(e193, e189);
    const f32 e195 = op_mul(e140, e117);
    const f32 e196 = op_mul(e137, e195);
    const f32 e197 = op_mul(e140, e136);
    const f32 e198 = op_mul(e124, e197);
    const f32 e199 = op_sub(e198, e196);
    const f32 e200 = op_mul(e124, e113);
    const f32 e201 = op_mul(e84, e200);
    const f32 e202 = op_mul(e140, e103);
    const f32 e203 = op_add(e202, e201);
    const f32 e204 = op_mul(e91, e203);
    const f32 e205 = op_mul(e103, e200);
    const f32 e206 = op_mul(e140, e84);
    const f32 e207 = op_sub(e206, e205);
    const f32 e208 = op_mul(e104, e207);
    const f32 e209 = op_add(e208, e204);
    const f32 e210 = op_mul(e117, e113);
    const f32 e211 = op_mul(e137, e210);
    const f32 e212 = op_mul(e136, e113);
    const f32 e213 = op_mul(e124, e212);
    const f32 e214 = op_sub(e213, e211);
    const f32 e215 = op_mul(e137, e103);
    const f32 e216 = op_mul(e104, e215);
    const f32 e217 = op_mul(e137, e84);
    const f32 e218 = op_mul(e91, e217);
    const f32 e219 = op_sub(e218, e216);
    g3_jacobian[e6] = e154;
    const u32 e225 = g0_params.m0_count;
    const u32 e226 = op_add(e225, e6);
    g3_jacobian[e226] = e169;
    const u32 e232 = g0_params.m0_count;
    const u32 e233 = op_mul(2u, e232);
    const u32 e234 = op_add(e233, e6);
    g3_jacobian[e234] = e184;
    const u32 e240 = g0_params.m0_count;
    const u32 e241 = op_mul(3u, e240);
    const u32 e242 = op_add(e241, e6);
    g3_jacobian[e242] = e194;
    const u32 e248 = g0_params.m0_count;
    const u32 e249 = op_mul(4u, e248);
    const u32 e250 = op_add(e249, e6);
    g3_jacobian[e250] = e199;
    const u32 e256 = g0_params.m0_count;
    const u32 e257 = op_mul(5u, e256);
    const u32 e258 = op_add(e257, e6);
    g3_jacobian[e258] = e157;
    const u32 e264 = g0_params.m0_count;
    const u32 e265 = op_mul(6u, e264);
    const u32 e266 = op_add(e265, e6);
    g3_jacobian[e266] = e209;
    const u32 e272 = g0_params.m0_count;
    const u32 e273 = op_mul(7u, e272);
    const u32 e274 = op_add(e273, e6);
    g3_jacobian[e274] = e214;
    const u32 e280 = g0_params.m0_count;
    const u32 e281 = op_mul(8u, e280);
    const u32 e282 = op_add(e281, e6);
    g3_jacobian[e282] = e142;
    const u32 e288 = g0_params.m0_count;
    const u32 e289 = op_mul(9u, e288);
    const u32 e290 = op_add(e289, e6);
    g3_jacobian[e290] = e219;
    const u32 e296 = g0_params.m0_count;
    const u32 e297 = op_mul(10u, e296);
    const u32 e298 = op_add(e297, e6);
    g3_jacobian[e298] = e139;
    return;
}
