struct S2_Args {
    u32 m0_instances;
    u32 m1_tiles;
    u32 m2_starts;
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
struct S9_Item {
    u32 m0_begin;
    u32 m1_end;
    u32 m2_column;
    bool m3_negative;
    unsigned char gap4[3];
    u32 m4_to;
};
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

__device__ __forceinline__ S9_Item f5_locate(const u32* __restrict__ g2_index, const u32 g2_index_count, const u32 a0_k, const u32 a1_items, const u32 a2_starts, const u32 a3_count) {
    S9_Item l0_item = S9_Item{};
    u32 l1_row = 0u;
    u32 l2_stride = 0u;
    const u32 e5 = op_div(a1_items, 6u);
    const u32 e13 = op_mul(e5, 3u);
    const bool e14 = op_lt(a0_k, e13);
    if (e14) {
        const u32 e16 = op_rem(a0_k, 3u);
        const u32 e18 = op_div(a0_k, 3u);
        l1_row = e18;
        l2_stride = 3u;
        const u32 e23 = g2_index[5];
        const u32 e24 = op_add(e23, e16);
        l0_item.m4_to = e24;
        const u32 e27 = op_add(0u, e16);
        const u32 e29 = op_mul(e27, c1_tile_column);
        l0_item.m2_column = e29;
        l0_item.m3_negative = false;
    } else {
        const u32 e33 = op_mul(e5, 3u);
        const u32 e34 = op_sub(a0_k, e33);
        const u32 e36 = op_rem(e34, 3u);
        const u32 e38 = op_mul(e5, 3u);
        const u32 e39 = op_sub(a0_k, e38);
        const u32 e41 = op_div(e39, 3u);
        l1_row = e41;
        l2_stride = 3u;
        const u32 e46 = g2_index[7];
        const u32 e47 = op_add(e46, e36);
        l0_item.m4_to = e47;
        const u32 e50 = op_add(3u, e36);
        const u32 e52 = op_mul(e50, c1_tile_column);
        l0_item.m2_column = e52;
        l0_item.m3_negative = false;
    }
    const u32 e57 = l1_row;
    const u32 e58 = op_add(a2_starts, e57);
    const u32 e60 = g2_index[e58];
    l0_item.m0_begin = e60;
    const u32 e62 = l0_item.m4_to;
    const u32 e66 = op_mul(0u, a3_count);
    const u32 e67 = op_add(10u, e66);
    const u32 e69 = l0_item.m0_begin;
    const u32 e70 = op_add(e67, e69);
    const u32 e72 = g2_index[e70];
    const u32 e73 = l2_stride;
    const u32 e74 = op_mul(e72, e73);
    const u32 e75 = op_add(e62, e74);
    l0_item.m4_to = e75;
    const u32 e78 = l1_row;
    const u32 e79 = op_add(a2_starts, e78);
    const u32 e81 = op_add(e79, 1u);
    const u32 e83 = g2_index[e81];
    l0_item.m1_end = e83;
    const S9_Item e84 = l0_item;
    return e84;
}

extern "C" __global__ void __launch_bounds__(256) kernel_main(const __grid_constant__ S3_Params g0_params, const f64* __restrict__ g1_data, const u32 g1_data_count, const u32* __restrict__ g2_index, const u32 g2_index_count, const f64* __restrict__ g3_vector_in, const u32 g3_vector_in_count, f64* __restrict__ g4_vector_out, const u32 g4_vector_out_count, const f64* __restrict__ g5_jacobian, const u32 g5_jacobian_count, const f64* __restrict__ g6_state, const u32 g6_state_count, f64* __restrict__ g7_partials, const u32 g7_partials_count) {
    const u32 local_index = threadIdx.x;
    const u32 a0_lane = local_index;
    const Vec<u32, 3> a1_group = vec_of<u32>(blockIdx.x, blockIdx.y, blockIdx.z);
    S9_Item l0_item = S9_Item{};
    f64 l1_before = 0e0;
    u32 l2_k = {};
    u32 l3_k = {};
    f64 l4_sum = {};
    u32 l5_j = {};
    const f64 e4 = g6_state[11];
    const bool e6 = op_ne(e4, 0e0);
    if (e6) {
        return;
    }
    const u32 e10 = g0_params.m4_args.m0_instances;
    const u32 e11 = f4_group_index(g0_params, a1_group);
    const u32 e14 = g0_params.m3_group_count;
    const bool e15 = op_ge(e11, e14);
    if (e15) {
        return;
    }
    const u32 e19 = g0_params.m4_args.m1_tiles;
    const u32 e21 = op_mul(2u, e11);
    const u32 e22 = op_add(e19, e21);
    const u32 e25 = g2_index[e22];
    const u32 e28 = op_add(e22, 1u);
    const u32 e30 = g2_index[e28];
    const u32 e33 = op_add(e22, 2u);
    const u32 e35 = g2_index[e33];
    const u32 e36 = op_sub(e35, e25);
    const u32 e38 = op_mul(e36, 6u);
    const u32 e41 = op_add(e22, 3u);
    const u32 e43 = g2_index[e41];
    const u32 e44 = op_sub(e43, e30);
    const u32 e45 = op_add(e30, a0_lane);
    const bool e46 = op_lt(a0_lane, e44);
    if (e46) {
        const u32 e49 = g2_index[7];
        const u32 e52 = op_add(10u, e45);
        const u32 e54 = g2_index[e52];
        const u32 e56 = op_mul(e54, 3u);
        const u32 e57 = op_add(e49, e56);
        const u32 e60 = g2_index[6];
        const u32 e63 = op_add(10u, e10);
        const u32 e64 = op_add(e63, e45);
        const u32 e66 = g2_index[e64];
        const u32 e68 = op_mul(e66, 3u);
        const u32 e69 = op_add(e60, e68);
        const u32 e72 = g2_index[5];
        const u32 e75 = op_add(10u, e45);
        const u32 e77 = g2_index[e75];
        const u32 e79 = op_mul(e77, 3u);
        const u32 e80 = op_add(e72, e79);
        const u32 e83 = op_add(e57, 0u);
        const f64 e85 = g3_vector_in[e83];
        const u32 e88 = op_mul(3u, e10);
        const u32 e89 = op_add(e88, e45);
        const f64 e91 = g5_jacobian[e89];
        const f64 e92 = op_mul(e91, e85);
        const u32 e95 = op_add(e69, 0u);
        const f64 e97 = g3_vector_in[e95];
        const u32 e100 = op_add(e80, 0u);
        const f64 e102 = g3_vector_in[e100];
        const f64 e103 = op_sub(e102, e97);
        const f64 e104 = op_sub(e103, e92);
        const u32 e107 = op_add(e57, 1u);
        const f64 e109 = g3_vector_in[e107];
        const u32 e112 = op_mul(4u, e10);
        const u32 e113 = op_add(e112, e45);
        const f64 e115 = g5_jacobian[e113];
        const f64 e116 = op_mul(e115, e109);
        const f64 e117 = op_add(e116, e104);
        const u32 e120 = op_add(e57, 2u);
        const f64 e122 = g3_vector_in[e120];
        const u32 e125 = op_mul(5u, e10);
        const u32 e126 = op_add(e125, e45);
        const f64 e128 = g5_jacobian[e126];
        const f64 e129 = op_mul(e128, e122);
        const f64 e130 = op_add(e129, e117);
        const f64 e133 = g1_data[0];
        const f64 e134 = op_mul(e133, e130);
        const u32 e137 = op_add(e69, 1u);
        const f64 e139 = g3_vector_in[e137];
        const u32 e142 = op_add(e80, 1u);
        const f64 e144 = g3_vector_in[e142];
        const f64 e145 = op_sub(e144, e139);
        const u32 e148 = op_mul(6u, e10);
        const u32 e149 = op_add(e148, e45);
        const f64 e151 = g5_jacobian[e149];
        const f64 e152 = op_mul(e151, e85);
        const f64 e153 = op_add(e152, e145);
        const u32 e156 = op_mul(7u, e10);
        const u32 e157 = op_add(e156, e45);
        const f64 e159 = g5_jacobian[e157];
        const f64 e160 = op_mul(e159, e109);
        const f64 e161 = op_add(e160, e153);
        const u32 e164 = op_mul(8u, e10);
        const u32 e165 = op_add(e164, e45);
        const f64 e167 = g5_jacobian[e165];
        const f64 e168 = op_mul(e167, e122);
        const f64 e169 = op_sub(e161, e168);
        const f64 e170 = op_mul(e133, e169);
        const u32 e173 = op_add(e69, 2u);
        const f64 e175 = g3_vector_in[e173];
        const u32 e178 = op_add(e80, 2u);
        const f64 e180 = g3_vector_in[e178];
        const f64 e181 = op_sub(e180, e175);
        const u32 e184 = op_mul(9u, e10);
        const u32 e185 = op_add(e184, e45);
        const f64 e187 = g5_jacobian[e185];
        const f64 e188 = op_mul(e187, e85);
        const f64 e189 = op_add(e188, e181);
        const u32 e192 = op_mul(10u, e10);
        const u32 e193 = op_add(e192, e45);
        const f64 e195 = g5_jacobian[e193];
        const f64 e196 = op_mul(e195, e109);
        const f64 e197 = op_add(e196, e189);
        const f64 e198 = op_mul(e133, e197);
        const f64 e199 = op_mul(e91, e134);
        const f64 e200 = op_mul(e151, e170);
        const f64 e201 = op_sub(e200, e199);
        const f64 e202 = op_mul(e187, e198);
        const f64 e203 = op_add(e202, e201);
        const f64 e204 = op_mul(e159, e170);
        const f64 e205 = op_mul(e115, e134);
        const f64 e206 = op_add(e205, e204);
        const f64 e207 = op_mul(e195, e198);
        const f64 e208 = op_add(e207, e206);
        const f64 e209 = op_mul(e167, e170);
        const f64 e210 = op_mul(e128, e134);
        const f64 e211 = op_sub(e210, e209);
        g8_tile.e[a0_lane] = e134;
        const u32 e216 = op_add(c1_tile_column, a0_lane);
        g8_tile.e[e216] = e170;
        const u32 e220 = op_add(534u, a0_lane);
        g8_tile.e[e220] = e198;
        const u32 e224 = op_add(801u, a0_lane);
        g8_tile.e[e224] = e203;
        const u32 e228 = op_add(1068u, a0_lane);
        g8_tile.e[e228] = e208;
        const u32 e232 = op_add(1335u, a0_lane);
        g8_tile.e[e232] = e211;
    }
    const bool e238 = op_lt(a0_lane, e38);
    if (e238) {
        const u32 e242 = g0_params.m4_args.m2_starts;
        const u32 e243 = op_add(e242, e25);
        const S9_Item e244 = f5_locate(g2_index, g2_index_count, a0_lane, e38, e243, e10);
        l0_item = e244;
        const u32 e247 = l0_item.m4_to;
        const f64 e249 = g7_partials[e247];
        l1_before = e249;
    }
    __syncthreads();
    l2_k = a0_lane;
    for (bool first_6001 = true;; first_6001 = false) {
        if (!first_6001) {
            const u32 e273 = l2_k;
            const u32 e275 = op_add(e273, c0_group_size);
            l2_k = e275;
        }
        const u32 e251 = l2_k;
        const u32 e253 = op_mul(e44, 3u);
        const bool e254 = op_lt(e251, e253);
        if (e254) {
        } else {
            break;
        }
        {
            const u32 e257 = op_mul(e30, 3u);
            const u32 e258 = l2_k;
            const u32 e259 = op_add(e257, e258);
            const u32 e262 = l2_k;
            const u32 e264 = op_rem(e262, 3u);
            const u32 e266 = op_mul(e264, c1_tile_column);
            const u32 e267 = l2_k;
            const u32 e269 = op_div(e267, 3u);
            const u32 e270 = op_add(e266, e269);
            const f64 e272 = g8_tile.e[e270];
            g4_vector_out[e259] = e272;
        }
    }
    l3_k = a0_lane;
    for (bool first_6930 = true;; first_6930 = false) {
        if (!first_6930) {
            const u32 e328 = l3_k;
            const u32 e330 = op_add(e328, c0_group_size);
            l3_k = e330;
        }
        const u32 e277 = l3_k;
        const bool e278 = op_lt(e277, e38);
        if (e278) {
        } else {
            break;
        }
        {
            const u32 e279 = l3_k;
            const bool e280 = op_ne(e279, a0_lane);
            if (e280) {
                const u32 e281 = l3_k;
                const u32 e285 = g0_params.m4_args.m2_starts;
                const u32 e286 = op_add(e285, e25);
                const S9_Item e287 = f5_locate(g2_index, g2_index_count, e281, e38, e286, e10);
                l0_item = e287;
                const u32 e290 = l0_item.m4_to;
                const f64 e292 = g7_partials[e290];
                l1_before = e292;
            }
            l4_sum = 0e0;
            const u32 e296 = l0_item.m0_begin;
            const u32 e297 = op_sub(e296, e30);
            l5_j = e297;
            for (bool first_7978 = true;; first_7978 = false) {
                if (!first_7978) {
                    const u32 e314 = l5_j;
                    const u32 e315 = op_add(e314, 1u);
                    l5_j = e315;
                }
                const u32 e299 = l5_j;
                const u32 e301 = l0_item.m1_end;
                const u32 e302 = op_sub(e301, e30);
                const bool e303 = op_lt(e299, e302);
                if (e303) {
                } else {
                    break;
                }
                {
                    const f64 e304 = l4_sum;
                    const u32 e307 = l0_item.m2_column;
                    const u32 e308 = l5_j;
                    const u32 e309 = op_add(e307, e308);
                    const f64 e311 = g8_tile.e[e309];
                    const f64 e312 = op_add(e304, e311);
                    l4_sum = e312;
                }
            }
            const u32 e318 = l0_item.m4_to;
            const f64 e320 = l1_before;
            const f64 e321 = l4_sum;
            const f64 e322 = l4_sum;
            const f64 e323 = op_neg(e322);
            const bool e325 = l0_item.m3_negative;
            const f64 e326 = choose(e325, e323, e321);
            const f64 e327 = op_add(e320, e326);
            g7_partials[e318] = e327;
        }
    }
    return;
}
