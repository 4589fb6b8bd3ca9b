// `assign` on the tensor cores of Ampere and later: a warp multiplies 64×32 of a tile, 16×8×16 at a time. The points stay in shared memory
// where there is room (RESIDENT), else they come again in slabs with the anchors.

// A warp's rows of a tile, and how many bands of a product's rows these are.
constexpr u32 ROWS = 64, BANDS = ROWS / 16;
// Rows of a slab that lanes bring at once.
constexpr u32 BROUGHT = TILE / TURNS;
// Rows of halves are padded by 16 bytes: eight of them then begin in eight different groups of banks.
constexpr u32 PAD = 8, STRIDE = SLAB + PAD;

// A tile's rows, some of their columns: the high halves, and after them all low ones.
struct Halves {
    u32 place, stride, plane;

    __device__ __forceinline__ void put(u32 row, u32 column, const Four& four) const {
        const Split x = split(four.v[0], four.v[1]), y = split(four.v[2], four.v[3]);
        const u32 to = place + 2 * (row * stride + column);
        asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(x.high), "r"(y.high));
        asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to + plane), "r"(x.low), "r"(y.low));
    }
};

struct Quad {
    u32 r[4];
};

// Four 8×8 matrices of halves, whose rows the lanes say.
__device__ __forceinline__ Quad matrices(u32 place) {
    Quad q;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(q.r[0]), "=r"(q.r[1]), "=r"(q.r[2]), "=r"(q.r[3])
                 : "r"(place));
    return q;
}

__device__ __forceinline__ void multiply(float (&c)[4], const Quad& a, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(LANES, 2) leastwise_clustering_lloyd_assign_tensor(
    const __grid_constant__ Params params, const float* __restrict__ points, u32, const float* __restrict__ anchors, u32,
    u32* __restrict__ table, u32, const float* __restrict__ squares, u32, float* __restrict__ nearest, u32,
    const float* __restrict__ norms, u32, const float* __restrict__ state, u32, float* __restrict__ partials, u32) {
    extern __shared__ __align__(16) unsigned char shared[];
    if (state[params.args.guard] != 0.0f) return;
    const u32 count = params.args.points, dimensions = params.args.dimensions, clusters = params.args.anchors;
    const u32 lane = threadIdx.x, in_warp = lane % 32, warp = lane / 32;
    const u32 group = blockIdx.y * (params.grid_width / LANES) + blockIdx.x;
    const u32 first = group * TILE;
    const u32 slabs = (dimensions + SLAB - 1) / SLAB, steps = slabs * ((clusters + TILE - 1) / TILE);
    const Matrix left = {points + size_t(first) * dimensions, first < count ? count - first : 0, dimensions};
    const Matrix right = {anchors, clusters, dimensions};
    const u32 base = u32(__cvta_generic_to_shared(shared));
    const u32 bytes = 2 * TILE * STRIDE;
    const Halves turns[2] = {{base, STRIDE, bytes}, {base + 2 * bytes, STRIDE, bytes}};
    const u32 stride = RESIDENT ? slabs * SLAB + PAD : STRIDE;
    const Halves mine[2] = {{base + 4 * bytes, stride, 2 * TILE * stride}, {base + (RESIDENT ? 4 : 6) * bytes, stride, 2 * TILE * stride}};

    const u32 row = lane / (SLAB / 4), column = lane % (SLAB / 4) * 4;
    Four of_anchors[TURNS], of_points[TURNS];
    auto fetch = [&](u32 step) {
        const u32 from = step % slabs * SLAB + column;
#pragma unroll
        for (u32 i = 0; i < TURNS; i++) {
            of_anchors[i] = right.at(step / slabs * TILE + row + BROUGHT * i, from);
            if (!RESIDENT) of_points[i] = left.at(row + BROUGHT * i, from);
        }
    };
    auto put = [&](u32 step) {
#pragma unroll
        for (u32 i = 0; i < TURNS; i++) {
            turns[step & 1].put(row + BROUGHT * i, column, of_anchors[i]);
            if (!RESIDENT) mine[step & 1].put(row + BROUGHT * i, column, of_points[i]);
        }
    };
    if (RESIDENT)
        for (u32 slab = 0; slab < slabs; slab++)
#pragma unroll
            for (u32 i = 0; i < TURNS; i++) mine[0].put(row + BROUGHT * i, slab * SLAB + column, left.at(row + BROUGHT * i, slab * SLAB + column));
    fetch(0);
    put(0);
    __syncthreads();

    const u32 rows = warp / 4 * ROWS, columns = warp % 4 * 32;
    const u32 left_row = rows + in_warp % 16, left_column = in_warp / 16 * 8;
    const u32 right_row = columns + in_warp % 8 + in_warp / 16 * 8, right_column = in_warp / 8 % 2 * 8;
    float sums[BANDS][4][4];
    Candidate found[2 * BANDS];
#pragma unroll
    for (u32 i = 0; i < 2 * BANDS; i++) found[i] = {FAR, FAR, ~0u};
    for (u32 step = 0; step < steps; step++) {
        const u32 slab = step % slabs;
        if (slab == 0)
#pragma unroll
            for (u32 i = 0; i < 16 * BANDS; i++) sums[i / 16][i / 4 % 4][i % 4] = 0.0f;
        if (step + 1 < steps) fetch(step + 1);
        const Halves& l = RESIDENT ? mine[0] : mine[step & 1];
        const Halves& r = turns[step & 1];
        const u32 from = RESIDENT ? slab * SLAB : 0;
#pragma unroll
        for (u32 k = 0; k < SLAB; k += 16) {
            const u32 of_left = l.place + 2 * (left_row * l.stride + from + k + left_column);
            const u32 of_right = r.place + 2 * (right_row * r.stride + k + right_column);
            Quad high[BANDS], a[2], b[2];
#pragma unroll
            for (u32 i = 0; i < BANDS; i++) high[i] = matrices(of_left + 2 * 16 * i * l.stride);
#pragma unroll
            for (u32 j = 0; j < 2; j++) {
                a[j] = matrices(of_right + 2 * 16 * j * r.stride);
                b[j] = matrices(of_right + 2 * 16 * j * r.stride + r.plane);
            }
#pragma unroll
            for (u32 i = 0; i < BANDS; i++)
#pragma unroll
                for (u32 j = 0; j < 4; j++) multiply(sums[i][j], high[i], a[j / 2].r[j % 2 * 2], a[j / 2].r[j % 2 * 2 + 1]);
#pragma unroll
            for (u32 i = 0; i < BANDS; i++)
#pragma unroll
                for (u32 j = 0; j < 4; j++) multiply(sums[i][j], high[i], b[j / 2].r[j % 2 * 2], b[j / 2].r[j % 2 * 2 + 1]);
#pragma unroll
            for (u32 i = 0; i < BANDS; i++) high[i] = matrices(of_left + 2 * 16 * i * l.stride + l.plane);
#pragma unroll
            for (u32 i = 0; i < BANDS; i++)
#pragma unroll
                for (u32 j = 0; j < 4; j++) multiply(sums[i][j], high[i], a[j / 2].r[j % 2 * 2], a[j / 2].r[j % 2 * 2 + 1]);
        }
        if (slab + 1 == slabs) {
            // Ascending, so that the first of equals stays.
#pragma unroll
            for (u32 j = 0; j < 4; j++)
#pragma unroll
                for (u32 c = 0; c < 2; c++) {
                    const u32 anchor = step / slabs * TILE + columns + 8 * j + in_warp % 4 * 2 + c;
                    const float norm = anchor < clusters ? norms[anchor] : FAR;
#pragma unroll
                    for (u32 i = 0; i < 2 * BANDS; i++) offer(found[i], norm, sums[i / 2][j][i % 2 * 2 + c], anchor);
                }
        }
        if (step + 1 < steps) put(step + 1);
        __syncthreads();
    }
    // Four lanes have a row's columns, and four warps.
    Candidate* of_warps = reinterpret_cast<Candidate*>(shared);
#pragma unroll
    for (u32 i = 0; i < 2 * BANDS; i++) {
        found[i] = better(found[i], of_lane(found[i], 1));
        found[i] = better(found[i], of_lane(found[i], 2));
        if (in_warp % 4 == 0) of_warps[(rows + i / 2 * 16 + i % 2 * 8 + in_warp / 4) * 4 + warp % 4] = found[i];
    }
    __syncthreads();
    Candidate it = {FAR, FAR, ~0u};
    for (u32 part = 0; lane < TILE && part < 4; part++) it = better(it, of_warps[lane * 4 + part]);
    finish(params, group, it, table, squares, nearest, partials);
}
