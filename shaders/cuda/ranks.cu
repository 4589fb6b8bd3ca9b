// Messages to other ranks. `real` is declared before it; places are addresses of reals, 0 for elements that a rank does not have.

typedef unsigned int u32;
typedef unsigned long long u64;

// Folds (`native_cuda/device/ranks.rs`). The element behind an exact sum is its low part, which has no sum of its own.
#define SUM 0u
#define LARGEST 1u
#define EXACT 2u
#define LOW 3u

// Gathers elements of this rank into its message.
extern "C" __global__ void give(real* message, const u64* places, u32 count) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const real* from = reinterpret_cast<const real*>(places[i]);
    message[i] = from ? *from : real(0);
}

// Combines the messages of all ranks, in their order and in f64, as the CPU does, and puts them where they belong. Nothing is done
// once the flag is set that ends the repetition around it.
extern "C" __global__ void take(const real* all, const u64* places, const u32* folds, u32 count, u32 ranks, const real* until) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || (until && *until != real(0))) return;
    real* to = reinterpret_cast<real*>(places[i]);
    switch (folds[i]) {
    case SUM: {
        if (!to) return;
        double sum = all[i];
        for (u32 rank = 1u; rank < ranks; rank++) sum += all[u64(rank) * count + i];
        *to = real(sum);
        return;
    }
    case LARGEST: {
        double most = 0.0;
        for (u32 rank = 0u; rank < ranks; rank++) {
            double value = all[u64(rank) * count + i];
            most = value > most ? value : most;
        }
        *to = real(most);
        return;
    }
    case EXACT: {
        // Knuth's two-sum.
        double high = 0.0, low = 0.0;
        for (u32 rank = 0u; rank < ranks; rank++) {
            u64 at = u64(rank) * count + i;
            double value = all[at], rest = all[at + 1u];
            double sum = high + value;
            double part = sum - high;
            low = low + rest + ((high - (sum - part)) + (value - part));
            high = sum;
        }
        // The rest, which f32 does not have, belongs to the low part; numbers that are not finite have none.
        double rest = sizeof(real) == 4 && high - high == 0.0 ? high - double(real(high)) : 0.0;
        *to = real(high);
        *reinterpret_cast<real*>(places[i + 1u]) = real(low + rest);
        return;
    }
    default:
        return;
    }
}

// The fold SUM of elements that follow each other.
extern "C" __global__ void total(const real* all, real* to, u32 count, u32 ranks, const real* until) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || (until && *until != real(0))) return;
    double sum = all[i];
    for (u32 rank = 1u; rank < ranks; rank++) sum += all[u64(rank) * count + i];
    to[i] = real(sum);
}
