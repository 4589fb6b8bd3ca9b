// `assign` on the tensor cores of Hopper: a warpgroup, which has 64 points, multiplies 64×128×16 at a time while its lanes cut the next
// slab in halves. The points stay in shared memory.

// Halves as products take them: eight rows of eight columns are 128 bytes, one after the other along the columns.
struct Halves {
    u32 place, columns, plane;

    __device__ __forceinline__ u32 at(u32 row, u32 column) const {
        return place + row / 8 * (columns * 16) + column / 8 * 128 + row % 8 * 16 + column % 8 * 2;
    }

    __device__ __forceinline__ void put(u32 row, u32 column, const Four& four) const {
        const Split x = split(four.v[0], four.v[1]), y = split(four.v[2], four.v[3]);
        const u32 to = at(row, column);
        asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(x.high), "r"(y.high) : "memory");
        asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to + plane), "r"(x.low), "r"(y.low) : "memory");
    }

    // From a row and a column on, the high halves or the low ones: where they are, and the ways to the next columns and rows.
    __device__ __forceinline__ u64 described(u32 row, u32 column, bool low) const {
        const u32 from = at(row, column) + (low ? plane : 0);
        return u64((from & 0x3ffff) >> 4) | u64(128 >> 4) << 16 | u64(columns * 16 >> 4) << 32;
    }
};

#define EIGHT(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7])

__device__ __forceinline__ void multiply(float (&c)[64], u64 a, u64 b, u32 adds) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 0; }\n"
        : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)
        : "l"(a), "l"(b), "r"(adds));
}

// Nothing that uses the sums goes past this.
__device__ __forceinline__ void hold(float (&c)[64]) {
#pragma unroll
    for (u32 i = 0; i < 64; i++) asm volatile("" : "+f"(c[i])::"memory");
}

extern "C" __global__ void __launch_bounds__(LANES, 2) leastwise_clustering_lloyd_assign_tensor(
    const __grid_constant__ Params params, const float* __restrict__ points, u32, const float* __restrict__ anchors, u32,
    u32* __restrict__ table, u32, const float* __restrict__ squares, u32, float* __restrict__ nearest, u32,
    const float* __restrict__ norms, u32, const float* __restrict__ state, u32, float* __restrict__ partials, u32) {
    extern __shared__ __align__(128) unsigned char shared[];
    if (state[params.args.guard] != 0.0f) return;
    const u32 count = params.args.points, dimensions = params.args.dimensions, clusters = params.args.anchors;
    const u32 lane = threadIdx.x, in_warp = lane % 32, warp = lane / 32;
    const u32 group = blockIdx.y * (params.grid_width / LANES) + blockIdx.x;
    const u32 first = group * TILE;
    const u32 slabs = (dimensions + SLAB - 1) / SLAB, steps = slabs * ((clusters + TILE - 1) / TILE);
    const Matrix left = {points + size_t(first) * dimensions, first < count ? count - first : 0, dimensions};
    const Matrix right = {anchors, clusters, dimensions};
    const u32 base = u32(__cvta_generic_to_shared(shared));
    const u32 bytes = 2 * TILE * SLAB;
    const Halves turns[2] = {{base, SLAB, bytes}, {base + 2 * bytes, SLAB, bytes}};
    const Halves mine = {base + 4 * bytes, slabs * SLAB, slabs * bytes};

    // What a lane brings of a slab: a warp brings eight rows of sixteen columns at a time, half of it 128 bytes of halves.
    const u32 row = warp / 2 * 8 + in_warp % 16 / 2, column = warp % 2 * 16 + in_warp / 16 * 8 + in_warp % 2 * 4;
    Four brought[TURNS];
    auto fetch = [&](const Matrix& matrix, u32 from, u32 slab) {
#pragma unroll
        for (u32 i = 0; i < TURNS; i++) brought[i] = matrix.at(from + row + 32 * i, slab * SLAB + column);
    };
    auto put = [&](const Halves& halves, u32 slab) {
#pragma unroll
        for (u32 i = 0; i < TURNS; i++) halves.put(row + 32 * i, slab * SLAB + column, brought[i]);
    };
    // Products read shared memory by another way than lanes write it.
    auto publish = [] { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); };
    for (u32 slab = 0; slab < slabs; slab++) {
        fetch(left, 0, slab);
        put(mine, slab);
    }
    fetch(right, 0, 0);
    put(turns[0], 0);
    publish();
    if (steps > 1) fetch(right, 1 / slabs * TILE, 1 % slabs);
    __syncthreads();

    float sums[64];
    Candidate found[2] = {{FAR, FAR, ~0u}, {FAR, FAR, ~0u}};
    for (u32 step = 0; step < steps; step++) {
        const u32 slab = step % slabs;
        hold(sums);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (u32 k = 0; k < SLAB; k += 16) {
            const u32 rows = warp / 4 * 64, from = slab * SLAB + k;
            const u64 high = mine.described(rows, from, false), low = mine.described(rows, from, true);
            const u64 of_high = turns[step & 1].described(0, k, false), of_low = turns[step & 1].described(0, k, true);
            multiply(sums, high, of_high, from);
            multiply(sums, high, of_low, 1);
            multiply(sums, low, of_high, 1);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (step + 1 < steps) {
            put(turns[(step + 1) & 1], 0);
            publish();
        }
        if (step + 2 < steps) fetch(right, (step + 2) / slabs * TILE, (step + 2) % slabs);
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        hold(sums);
        if (slab + 1 == slabs) {
            // Ascending, so that the first of equals stays.
#pragma unroll
            for (u32 j = 0; j < 32; j++) {
                const u32 anchor = step / slabs * TILE + j / 2 * 8 + in_warp % 4 * 2 + j % 2;
                const float norm = anchor < clusters ? norms[anchor] : FAR;
                offer(found[0], norm, sums[j / 2 * 4 + j % 2], anchor);
                offer(found[1], norm, sums[j / 2 * 4 + 2 + j % 2], anchor);
            }
        }
        __syncthreads();
    }
    // Four lanes have a row's columns.
    Candidate* of_rows = reinterpret_cast<Candidate*>(shared);
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        found[i] = better(found[i], of_lane(found[i], 1));
        found[i] = better(found[i], of_lane(found[i], 2));
        if (in_warp % 4 == 0) of_rows[warp * 16 + i * 8 + in_warp / 4] = found[i];
    }
    __syncthreads();
    finish(params, group, of_rows[lane % TILE], table, squares, nearest, partials);
}
