// The nearest anchor of every point, as `shaders/clustering/lloyd/assign.wgsl` has it with ‖x‖² + ‖a‖² − 2x·a, on tensor cores: what all variants share. A
// component is the sum of two halves, x = h + l with |l| ≤ 2⁻¹¹|x|, and x·a = h·h + h·l + l·h: what is left out is 2⁻²² of it, so that
// distances are as exact as sums of f32 are. (Components are below 2, as `anneal::cluster::Points` are stored; times SCALE, they are far
// from where halves end, and what is left of them is far from where halves lose digits.)
//
// A workgroup of eight warps has 128 points, and goes through all anchors, 128 at a time, in slabs of 32 components. Two workgroups of a
// multiprocessor take turns at its tensor cores.

typedef unsigned int u32;
typedef unsigned long long u64;

// As the shader declares them.
struct alignas(16) Args {
    u32 points, dimensions, anchors, first_anchor, first_point, labels, candidates, flags, guard, partial, all_points;
};

struct alignas(16) Params {
    u32 count, grid_width, zero, group_count;
    Args args;
};

constexpr u32 LANES = 256, TILE = 128, SLAB = 32;
// What lanes bring of a slab at once: four numbers each.
constexpr u32 TURNS = TILE * SLAB / 4 / LANES;
constexpr float SCALE = 1024.0f, FAR = 3e38f;

// Two numbers of halves each.
struct Split {
    u32 high, low;
};

__device__ __forceinline__ Split split(float a, float b) {
    a *= SCALE;
    b *= SCALE;
    Split s;
    float ha, hb;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(s.high) : "f"(b), "f"(a));
    asm("{ .reg .f16 x, y; mov.b32 {x, y}, %2; cvt.f32.f16 %0, x; cvt.f32.f16 %1, y; }" : "=f"(ha), "=f"(hb) : "r"(s.high));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(s.low) : "f"(b - hb), "f"(a - ha));
    return s;
}

struct Four {
    float v[4];
};

// Rows of numbers in global memory.
struct Matrix {
    const float* place;
    u32 rows, columns;

    __device__ __forceinline__ Four at(u32 row, u32 column) const {
        Four four = {{0.0f, 0.0f, 0.0f, 0.0f}};
        if (row < rows) {
            const float* from = place + size_t(row) * columns + column;
            if (columns % 4 == 0) {
                if (column < columns) {
                    const float4 x = *reinterpret_cast<const float4*>(from);
                    four = {{x.x, x.y, x.z, x.w}};
                }
            } else {
#pragma unroll
                for (u32 i = 0; i < 4; i++)
                    if (column + i < columns) four.v[i] = from[i];
            }
        }
        return four;
    }
};

struct Candidate {
    float best, second;
    u32 which;
};

__device__ __forceinline__ Candidate better(const Candidate& a, const Candidate& b) {
    if (b.best < a.best || (b.best == a.best && b.which < a.which)) return {b.best, fminf(a.best, b.second), b.which};
    return {a.best, fminf(a.second, b.best), a.which};
}

__device__ __forceinline__ Candidate of_lane(const Candidate& mine, u32 other) {
    return {__shfl_xor_sync(~0u, mine.best, other), __shfl_xor_sync(~0u, mine.second, other), __shfl_xor_sync(~0u, mine.which, other)};
}

// What a score is made of: ‖a‖² − 2x·a; behind the last anchor it is larger than any.
__device__ __forceinline__ void offer(Candidate& found, float norm, float sum, u32 anchor) {
    const float score = norm - 2.0f / (SCALE * SCALE) * sum;
    found.second = fminf(found.second, fmaxf(score, found.best));
    found.which = score < found.best ? anchor : found.which;
    found.best = fminf(score, found.best);
}

// What the kernel writes. A lane below TILE has the candidate of its point.
__device__ __forceinline__ void finish(
    const Params& params, u32 group, Candidate it, u32* table, const float* squares, float* nearest, float* partials) {
    const u32 lane = threadIdx.x, first = group * TILE;
    bool changed = false;
    if (lane < TILE && first + lane < params.args.points) {
        const u32 number = params.args.first_point + first + lane, flags = params.args.flags, all = params.args.all_points;
        const u32 labels = params.args.labels + number, candidates = params.args.candidates + number;
        it = {fmaxf(it.best + squares[number], 0.0f), fmaxf(it.second + squares[number], 0.0f), it.which + params.args.first_anchor};
        if ((flags & 2) == 0) it = better({nearest[number], nearest[all + number], table[candidates]}, it);
        nearest[number] = it.best;
        nearest[all + number] = it.second;
        if ((flags & 4) == 0) {
            table[candidates] = it.which;
        } else {
            const u32 before = table[labels];
            changed = before != it.which;
            table[candidates] = before;
            table[labels] = it.which;
        }
    }
    const u32 changes = __syncthreads_count(changed);
    if (lane == 0 && group < params.group_count) partials[params.args.partial + group] = float(changes);
}
