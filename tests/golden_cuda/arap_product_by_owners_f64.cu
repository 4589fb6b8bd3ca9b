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
static __device__ constexpr u32 c1_tile_column = 267u;
__shared__ Array<f64, 1602u> g8_tile;

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
    u32 l0_k = {};
    u32 l1_k = {};
    f64 l2_sum = {};
    u32 l3_j = {};
    u32 l4_k = {};
    f64 l5_sum = {};
    u32 l6_j = {};
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
    const u32 e38 = g0_params.m4_words0.v[2];
    const u32 e39 = op_add(e38, e23);
    const u32 e42 = g2_index[e39];
    const u32 e44 = op_add(e39, e34);
    const u32 e46 = g2_index[e44];
    const u32 e47 = op_sub(e46, e42);
    const u32 e48 = op_add(e42, a0_lane);
    const bool e49 = op_lt(a0_lane, e47);
    if (e49) {
        const u32 e52 = g2_index[7];
        const u32 e55 = op_add(10u, e48);
        const u32 e57 = g2_index[e55];
        const u32 e59 = op_mul(e57, 3u);
        const u32 e60 = op_add(e52, e59);
        const u32 e63 = g2_index[6];
        const u32 e66 = op_add(10u, e10);
        const u32 e67 = op_add(e66, e48);
        const u32 e69 = g2_index[e67];
        const u32 e71 = op_mul(e69, 3u);
        const u32 e72 = op_add(e63, e71);
        const u32 e75 = g2_index[5];
        const u32 e78 = op_add(10u, e48);
        const u32 e80 = g2_index[e78];
        const u32 e82 = op_mul(e80, 3u);
        const u32 e83 = op_add(e75, e82);
        const u32 e86 = op_add(e60, 0u);
        const f64 e88 = g3_vector_in[e86];
        const u32 e91 = op_mul(3u, e10);
        const u32 e92 = op_add(e91, e48);
        const f64 e94 = g5_jacobian[e92];
        const f64 e95 = op_mul(e94, e88);
        const u32 e98 = op_add(e72, 0u);
        const f64 e100 = g3_vector_in[e98];
        const u32 e103 = op_add(e83, 0u);
        const f64 e105 = g3_vector_in[e103];
        const f64 e106 = op_sub(e105, e100);
        const f64 e107 = op_sub(e106, e95);
        const u32 e110 = op_add(e60, 1u);
        const f64 e112 = g3_vector_in[e110];
        const u32 e115 = op_mul(4u, e10);
        const u32 e116 = op_add(e115, e48);
        const f64 e118 = g5_jacobian[e116];
        const f64 e119 = op_mul(e118, e112);
        const f64 e120 = op_add(e119, e107);
        const u32 e123 = op_add(e60, 2u);
        const f64 e125 = g3_vector_in[e123];
        const u32 e128 = op_mul(5u, e10);
        const u32 e129 = op_add(e128, e48);
        const f64 e131 = g5_jacobian[e129];
        const f64 e132 = op_mul(e131, e125);
        const f64 e133 = op_add(e132, e120);
        const f64 e136 = g1_data[0];
        const f64 e137 = op_mul(e136, e133);
        const u32 e140 = op_add(e72, 1u);
        const f64 e142 = g3_vector_in[e140];
        const u32 e145 = op_add(e83, 1u);
        const f64 e147 = g3_vector_in[e145];
        const f64 e148 = op_sub(e147, e142);
        const u32 e151 = op_mul(6u, e10);
        const u32 e152 = op_add(e151, e48);
        const f64 e154 = g5_jacobian[e152];
        const f64 e155 = op_mul(e154, e88);
        const f64 e156 = op_add(e155, e148);
        const u32 e159 = op_mul(7u, e10);
        const u32 e160 = op_add(e159, e48);
        const f64 e162 = g5_jacobian[e160];
        const f64 e163 = op_mul(e162, e112);
        const f64 e164 = op_add(e163, e156);
        const u32 e167 = op_mul(8u, e10);
        const u32 e168 = op_add(e167, e48);
        const f64 e170 = g5_jacobian[e168];
        const f64 e171 = op_mul(e170, e125);
        const f64 e172 = op_sub(e164, e171);
        const f64 e173 = op_mul(e136, e172);
        const u32 e176 = op_add(e72, 2u);
        const f64 e178 = g3_vector_in[e176];
        const u32 e181 = op_add(e83, 2u);
        const f64 e183 = g3_vector_in[e181];
        const f64 e184 = op_sub(e183, e178);
        const u32 e187 = op_mul(9u, e10);
        const u32 e188 = op_add(e187, e48);
        const f64 e190 = g5_jacobian[e188];
        const f64 e191 = op_mul(e190, e88);
        const f64 e192 = op_add(e191, e184);
        const u32 e195 = op_mul(10u, e10);
        const u32 e196 = op_add(e195, e48);
        const f64 e198 = g5_jacobian[e196];
        const f64 e199 = op_mul(e198, e112);
        const f64 e200 = op_add(e199, e192);
        const f64 e201 = op_mul(e136, e200);
        const f64 e202 = op_mul(e94, e137);
        const f64 e203 = op_mul(e154, e173);
        const f64 e204 = op_sub(e203, e202);
        const f64 e205 = op_mul(e190, e201);
        const f64 e206 = op_add(e205, e204);
        const f64 e207 = op_mul(e162, e173);
        const f64 e208 = op_mul(e118, e137);
        const f64 e209 = op_add(e208, e207);
        const f64 e210 = op_mul(e198, e201);
        const f64 e211 = op_add(e210, e209);
        const f64 e212 = op_mul(e170, e173);
        const f64 e213 = op_mul(e131, e137);
        const f64 e214 = op_sub(e213, e212);
        g8_tile.e[a0_lane] = e137;
        const u32 e219 = op_add(c1_tile_column, a0_lane);
        g8_tile.e[e219] = e173;
        const u32 e223 = op_add(534u, a0_lane);
        g8_tile.e[e223] = e201;
        const u32 e227 = op_add(801u, a0_lane);
        g8_tile.e[e227] = e206;
        const u32 e231 = op_add(1068u, a0_lane);
        g8_tile.e[e231] = e211;
        const u32 e235 = op_add(1335u, a0_lane);
        g8_tile.e[e235] = e214;
    }
    __syncthreads();
    l0_k = a0_lane;
    for (bool first_5666 = true;; first_5666 = false) {
        if (!first_5666) {
            const u32 e260 = l0_k;
            const u32 e262 = op_add(e260, c0_group_size);
            l0_k = e262;
        }
        const u32 e238 = l0_k;
        const u32 e240 = op_mul(e47, 3u);
        const bool e241 = op_lt(e238, e240);
        if (e241) {
        } else {
            break;
        }
        {
            const u32 e244 = op_mul(e42, 3u);
            const u32 e245 = l0_k;
            const u32 e246 = op_add(e244, e245);
            const u32 e249 = l0_k;
            const u32 e251 = op_rem(e249, 3u);
            const u32 e253 = op_mul(e251, c1_tile_column);
            const u32 e254 = l0_k;
            const u32 e256 = op_div(e254, 3u);
            const u32 e257 = op_add(e253, e256);
            const f64 e259 = g8_tile.e[e257];
            g4_vector_out[e246] = e259;
        }
    }
    l1_k = a0_lane;
    for (bool first_6595 = true;; first_6595 = false) {
        if (!first_6595) {
            const u32 e325 = l1_k;
            const u32 e327 = op_add(e325, c0_group_size);
            l1_k = e327;
        }
        const u32 e264 = l1_k;
        const u32 e266 = op_mul(e34, 3u);
        const bool e267 = op_lt(e264, e266);
        if (e267) {
        } else {
            break;
        }
        {
            const u32 e268 = l1_k;
            const u32 e270 = op_div(e268, 3u);
            const u32 e271 = l1_k;
            const u32 e273 = op_rem(e271, 3u);
            const u32 e275 = op_add(0u, e273);
            const u32 e277 = op_mul(e275, c1_tile_column);
            const u32 e279 = op_add(e39, e270);
            const u32 e281 = g2_index[e279];
            const u32 e283 = op_add(e39, e270);
            const u32 e285 = op_add(e283, 1u);
            const u32 e287 = g2_index[e285];
            l2_sum = 0e0;
            const u32 e290 = op_sub(e281, e42);
            l3_j = e290;
            for (bool first_7602 = true;; first_7602 = false) {
                if (!first_7602) {
                    const u32 e303 = l3_j;
                    const u32 e304 = op_add(e303, 1u);
                    l3_j = e304;
                }
                const u32 e292 = l3_j;
                const u32 e293 = op_sub(e287, e42);
                const bool e294 = op_lt(e292, e293);
                if (e294) {
                } else {
                    break;
                }
                {
                    const f64 e295 = l2_sum;
                    const u32 e297 = l3_j;
                    const u32 e298 = op_add(e277, e297);
                    const f64 e300 = g8_tile.e[e298];
                    const f64 e301 = op_add(e295, e300);
                    l2_sum = e301;
                }
            }
            const u32 e308 = op_mul(0u, e10);
            const u32 e309 = op_add(10u, e308);
            const u32 e310 = op_add(e309, e281);
            const u32 e312 = g2_index[e310];
            const u32 e316 = g2_index[5];
            const u32 e318 = op_mul(e312, 3u);
            const u32 e319 = op_add(e316, e318);
            const u32 e320 = op_add(e319, e273);
            const f64 e322 = g7_partials[e320];
            const f64 e323 = l2_sum;
            const f64 e324 = op_add(e322, e323);
            g7_partials[e320] = e324;
        }
    }
    const u32 e329 = op_sub(255u, a0_lane);
    l4_k = e329;
    for (bool first_9057 = true;; first_9057 = false) {
        if (!first_9057) {
            const u32 e392 = l4_k;
            const u32 e394 = op_add(e392, c0_group_size);
            l4_k = e394;
        }
        const u32 e331 = l4_k;
        const u32 e333 = op_mul(e34, 3u);
        const bool e334 = op_lt(e331, e333);
        if (e334) {
        } else {
            break;
        }
        {
            const u32 e335 = l4_k;
            const u32 e337 = op_div(e335, 3u);
            const u32 e338 = l4_k;
            const u32 e340 = op_rem(e338, 3u);
            const u32 e342 = op_add(3u, e340);
            const u32 e344 = op_mul(e342, c1_tile_column);
            const u32 e346 = op_add(e39, e337);
            const u32 e348 = g2_index[e346];
            const u32 e350 = op_add(e39, e337);
            const u32 e352 = op_add(e350, 1u);
            const u32 e354 = g2_index[e352];
            l5_sum = 0e0;
            const u32 e357 = op_sub(e348, e42);
            l6_j = e357;
            for (bool first_10064 = true;; first_10064 = false) {
                if (!first_10064) {
                    const u32 e370 = l6_j;
                    const u32 e371 = op_add(e370, 1u);
                    l6_j = e371;
                }
                const u32 e359 = l6_j;
                const u32 e360 = op_sub(e354, e42);
                const bool e361 = op_lt(e359, e360);
                if (e361) {
                } else {
                    break;
                }
                {
                    const f64 e362 = l5_sum;
                    const u32 e364 = l6_j;
                    const u32 e365 = op_add(e344, e364);
                    const f64 e367 = g8_tile.e[e365];
                    const f64 e368 = op_add(e362, e367);
                    l5_sum = e368;
                }
            }
            const u32 e375 = op_mul(0u, e10);
            const u32 e376 = op_add(10u, e375);
            const u32 e377 = op_add(e376, e348);
            const u32 e379 = g2_index[e377];
            const u32 e383 = g2_index[7];
            const u32 e385 = op_mul(e379, 3u);
            const u32 e386 = op_add(e383, e385);
            const u32 e387 = op_add(e386, e340);
            const f64 e389 = g7_partials[e387];
            const f64 e390 = l5_sum;
            const f64 e391 = op_add(e389, e390);
            g7_partials[e387] = e391;
        }
    }
    return;
}
