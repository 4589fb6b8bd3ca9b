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
__shared__ Array<f64, 1536u> g8_tile;
__shared__ Array<u32, 256u> g9_owners;

__device__ __forceinline__ u32 f4_group_index(const S3_Params& g0_params, const Vec<u32, 3> a0_group) {
    const u32 e1 = a0_group.v[1];
    const u32 e4 = g0_params.m1_grid_width;
    const u32 e6 = op_div(e4, c0_group_size);
    const u32 e7 = op_mul(e1, e6);
    const u32 e8 = a0_group.v[0];
    const u32 e9 = op_add(e7, e8);
    return e9;
}

extern "C" __global__ void __launch_bounds__(256) kernel_main(const __grid_constant__ S3_Params g0_params, const f64* __restrict__ g1_data, const u32 g1_data_count, const u32* __restrict__ g2_index, const u32 g2_index_count, const f64* __restrict__ g3_vector_in, const u32 g3_vector_in_count, f64* __restrict__ g4_vector_out, const u32 g4_vector_out_count, const f64* __restrict__ g5_jacobian, const u32 g5_jacobian_count, const f64* __restrict__ g6_state, const u32 g6_state_count, f64* __restrict__ g7_partials, const u32 g7_partials_count) {
    const u32 local_index = threadIdx.x;
    const u32 a0_lane = local_index;
    const Vec<u32, 3> a1_group = vec_of<u32>(blockIdx.x, blockIdx.y, blockIdx.z);
    bool l0_ = {};
    f64 l1_s0 = 0e0;
    f64 l2_s1 = 0e0;
    f64 l3_s2 = 0e0;
    f64 l4_s3 = 0e0;
    f64 l5_s4 = 0e0;
    f64 l6_s5 = 0e0;
    u32 l7_k = {};
    bool l8_ = {};
    const f64 e4 = g6_state[11];
    const bool e6 = op_ne(e4, 0e0);
    if (e6) {
        return;
    }
    const u32 e10 = g0_params.m4_words0.v[0];
    const u32 e11 = f4_group_index(g0_params, a1_group);
    const u32 e14 = g0_params.m3_group_count;
    const bool e15 = op_ge(e11, e14);
    if (e15) {
        return;
    }
    const u32 e20 = g0_params.m4_words0.v[1];
    const u32 e21 = op_add(e20, e11);
    const u32 e23 = g2_index[e21];
    const u32 e28 = g0_params.m4_words0.v[1];
    const u32 e29 = op_add(e28, e11);
    const u32 e31 = op_add(e29, 1u);
    const u32 e33 = g2_index[e31];
    const u32 e34 = op_sub(e33, e23);
    const u32 e35 = op_add(e23, a0_lane);
    const bool e36 = op_lt(a0_lane, e34);
    if (e36) {
        const u32 e41 = op_add(10u, e35);
        const u32 e43 = g2_index[e41];
        g9_owners.e[a0_lane] = e43;
        const u32 e46 = g2_index[7];
        const u32 e49 = op_add(10u, e35);
        const u32 e51 = g2_index[e49];
        const u32 e53 = op_mul(e51, 3u);
        const u32 e54 = op_add(e46, e53);
        const u32 e57 = g2_index[6];
        const u32 e60 = op_add(10u, e10);
        const u32 e61 = op_add(e60, e35);
        const u32 e63 = g2_index[e61];
        const u32 e65 = op_mul(e63, 3u);
        const u32 e66 = op_add(e57, e65);
        const u32 e69 = g2_index[5];
        const u32 e72 = op_add(10u, e35);
        const u32 e74 = g2_index[e72];
        const u32 e76 = op_mul(e74, 3u);
        const u32 e77 = op_add(e69, e76);
        const u32 e80 = op_add(e54, 0u);
        const f64 e82 = g3_vector_in[e80];
        const u32 e85 = op_mul(3u, e10);
        const u32 e86 = op_add(e85, e35);
        const f64 e88 = g5_jacobian[e86];
        const f64 e89 = op_mul(e88, e82);
        const u32 e92 = op_add(e66, 0u);
        const f64 e94 = g3_vector_in[e92];
        const u32 e97 = op_add(e77, 0u);
        const f64 e99 = g3_vector_in[e97];
        const f64 e100 = op_sub(e99, e94);
        const f64 e101 = op_sub(e100, e89);
        const u32 e104 = op_add(e54, 1u);
        const f64 e106 = g3_vector_in[e104];
        const u32 e109 = op_mul(4u, e10);
        const u32 e110 = op_add(e109, e35);
        const f64 e112 = g5_jacobian[e110];
        const f64 e113 = op_mul(e112, e106);
        const f64 e114 = op_add(e113, e101);
        const u32 e117 = op_add(e54, 2u);
        const f64 e119 = g3_vector_in[e117];
        const u32 e122 = op_mul(5u, e10);
        const u32 e123 = op_add(e122, e35);
        const f64 e125 = g5_jacobian[e123];
        const f64 e126 = op_mul(e125, e119);
        const f64 e127 = op_add(e126, e114);
        const f64 e130 = g1_data[0];
        const f64 e131 = op_mul(e130, e127);
        const u32 e134 = op_add(e66, 1u);
        const f64 e136 = g3_vector_in[e134];
        const u32 e139 = op_add(e77, 1u);
        const f64 e141 = g3_vector_in[e139];
        const f64 e142 = op_sub(e141, e136);
        const u32 e145 = op_mul(6u, e10);
        const u32 e146 = op_add(e145, e35);
        const f64 e148 = g5_jacobian[e146];
        const f64 e149 = op_mul(e148, e82);
        const f64 e150 = op_add(e149, e142);
        const u32 e153 = op_mul(7u, e10);
        const u32 e154 = op_add(e153, e35);
        const f64 e156 = g5_jacobian[e154];
        const f64 e157 = op_mul(e156, e106);
        const f64 e158 = op_add(e157, e150);
        const u32 e161 = op_mul(8u, e10);
        const u32 e162 = op_add(e161, e35);
        const f64 e164 = g5_jacobian[e162];
        const f64 e165 = op_mul(e164, e119);
        const f64 e166 = op_sub(e158, e165);
        const f64 e167 = op_mul(e130, e166);
        const u32 e170 = op_add(e66, 2u);
        const f64 e172 = g3_vector_in[e170];
        const u32 e175 = op_add(e77, 2u);
        const f64 e177 = g3_vector_in[e175];
        const f64 e178 = op_sub(e177, e172);
        const u32 e181 = op_mul(9u, e10);
        const u32 e182 = op_add(e181, e35);
        const f64 e184 = g5_jacobian[e182];
        const f64 e185 = op_mul(e184, e82);
        const f64 e186 = op_add(e185, e178);
        const u32 e189 = op_mul(10u, e10);
        const u32 e190 = op_add(e189, e35);
        const f64 e192 = g5_jacobian[e190];
        const f64 e193 = op_mul(e192, e106);
        const f64 e194 = op_add(e193, e186);
        const f64 e195 = op_mul(e130, e194);
        const f64 e196 = op_mul(e88, e131);
        const f64 e197 = op_mul(e148, e167);
        const f64 e198 = op_sub(e197, e196);
        const f64 e199 = op_mul(e184, e195);
        const f64 e200 = op_add(e199, e198);
        const f64 e201 = op_mul(e156, e167);
        const f64 e202 = op_mul(e112, e131);
        const f64 e203 = op_add(e202, e201);
        const f64 e204 = op_mul(e192, e195);
        const f64 e205 = op_add(e204, e203);
        const f64 e206 = op_mul(e164, e167);
        const f64 e207 = op_mul(e125, e131);
        const f64 e208 = op_sub(e207, e206);
        g8_tile.e[a0_lane] = e131;
        const u32 e213 = op_add(c0_group_size, a0_lane);
        g8_tile.e[e213] = e167;
        const u32 e217 = op_add(512u, a0_lane);
        g8_tile.e[e217] = e195;
        const u32 e221 = op_add(768u, a0_lane);
        g8_tile.e[e221] = e200;
        const u32 e225 = op_add(1024u, a0_lane);
        g8_tile.e[e225] = e205;
        const u32 e229 = op_add(1280u, a0_lane);
        g8_tile.e[e229] = e208;
        g4_vector_out[e35] = e131;
        const u32 e234 = op_add(e10, e35);
        g4_vector_out[e234] = e167;
        const u32 e238 = op_mul(2u, e10);
        const u32 e239 = op_add(e238, e35);
        g4_vector_out[e239] = e195;
    }
    __syncthreads();
    const bool e241 = op_ge(a0_lane, e34);
    if (e241) {
        return;
    }
    const u32 e244 = g9_owners.e[a0_lane];
    const bool e246 = op_gt(a0_lane, 0u);
    if (e246) {
        const u32 e251 = m_max(a0_lane, 1u);
        const u32 e253 = op_sub(e251, 1u);
        const u32 e255 = g9_owners.e[e253];
        const bool e256 = op_eq(e255, e244);
        l0_ = e256;
    } else {
        l0_ = false;
    }
    const bool e258 = l0_;
    if (e258) {
        return;
    }
    l7_k = a0_lane;
    for (bool first_6312 = true;; first_6312 = false) {
        if (!first_6312) {
            const u32 e332 = l7_k;
            const u32 e333 = op_add(e332, 1u);
            l7_k = e333;
        }
        const u32 e272 = l7_k;
        const bool e273 = op_lt(e272, e34);
        if (e273) {
            const u32 e277 = l7_k;
            const u32 e279 = m_min(e277, 255u);
            const u32 e281 = g9_owners.e[e279];
            const bool e282 = op_eq(e281, e244);
            l8_ = e282;
        } else {
            l8_ = false;
        }
        const bool e284 = l8_;
        if (e284) {
        } else {
            break;
        }
        {
            const f64 e285 = l1_s0;
            const u32 e287 = l7_k;
            const f64 e289 = g8_tile.e[e287];
            const f64 e290 = op_add(e285, e289);
            l1_s0 = e290;
            const f64 e291 = l2_s1;
            const u32 e294 = l7_k;
            const u32 e295 = op_add(c0_group_size, e294);
            const f64 e297 = g8_tile.e[e295];
            const f64 e298 = op_add(e291, e297);
            l2_s1 = e298;
            const f64 e299 = l3_s2;
            const u32 e302 = l7_k;
            const u32 e303 = op_add(512u, e302);
            const f64 e305 = g8_tile.e[e303];
            const f64 e306 = op_add(e299, e305);
            l3_s2 = e306;
            const f64 e307 = l4_s3;
            const u32 e310 = l7_k;
            const u32 e311 = op_add(768u, e310);
            const f64 e313 = g8_tile.e[e311];
            const f64 e314 = op_add(e307, e313);
            l4_s3 = e314;
            const f64 e315 = l5_s4;
            const u32 e318 = l7_k;
            const u32 e319 = op_add(1024u, e318);
            const f64 e321 = g8_tile.e[e319];
            const f64 e322 = op_add(e315, e321);
            l5_s4 = e322;
            const f64 e323 = l6_s5;
            const u32 e326 = l7_k;
            const u32 e327 = op_add(1280u, e326);
            const f64 e329 = g8_tile.e[e327];
            const f64 e330 = op_add(e323, e329);
            l6_s5 = e330;
        }
    }
    const u32 e336 = g2_index[5];
    const u32 e338 = op_mul(e244, 3u);
    const u32 e339 = op_add(e336, e338);
    const u32 e342 = op_add(e339, 0u);
    const f64 e344 = g7_partials[e342];
    const f64 e345 = l1_s0;
    const f64 e346 = op_add(e344, e345);
    g7_partials[e342] = e346;
    const u32 e349 = op_add(e339, 1u);
    const f64 e351 = g7_partials[e349];
    const f64 e352 = l2_s1;
    const f64 e353 = op_add(e351, e352);
    g7_partials[e349] = e353;
    const u32 e356 = op_add(e339, 2u);
    const f64 e358 = g7_partials[e356];
    const f64 e359 = l3_s2;
    const f64 e360 = op_add(e358, e359);
    g7_partials[e356] = e360;
    const u32 e363 = g2_index[7];
    const u32 e365 = op_mul(e244, 3u);
    const u32 e366 = op_add(e363, e365);
    const u32 e369 = op_add(e366, 0u);
    const f64 e371 = g7_partials[e369];
    const f64 e372 = l4_s3;
    const f64 e373 = op_add(e371, e372);
    g7_partials[e369] = e373;
    const u32 e376 = op_add(e366, 1u);
    const f64 e378 = g7_partials[e376];
    const f64 e379 = l5_s4;
    const f64 e380 = op_add(e378, e379);
    g7_partials[e376] = e380;
    const u32 e383 = op_add(e366, 2u);
    const f64 e385 = g7_partials[e383];
    const f64 e386 = l6_s5;
    const f64 e387 = op_add(e385, e386);
    g7_partials[e383] = e387;
    return;
}
