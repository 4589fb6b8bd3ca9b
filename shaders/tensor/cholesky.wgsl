// The lower triangle L of A = L Lᵀ (Golub & Van Loan 2013, section 4.2): a workgroup has a matrix, of which it reads the lower
// triangle. Where A is not positive definite, L has NaN from the first pivot on that is none.

struct Args {
    // Rows and columns of a matrix.
    size: u32,
    // Matrices.
    batches: u32,
}

@group(0) @binding(1) var<storage, read> matrices: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let batch = group_index(group);
    if (batch >= params.args.batches) {
        return;
    }
    let n = params.args.size;
    let a = batch * n * n;
    for (var e = lane; e < n * n; e += group_size) {
        results[a + e] = select(matrices[a + e], 0.0, e % n > e / n);
    }
    storageBarrier();
    for (var p = 0u; p < n; p++) {
        let pivot = results[a + p * n + p];
        let root = select(flagged(), sqrt(pivot), pivot > 0.0);
        storageBarrier();
        for (var r = p + lane; r < n; r += group_size) {
            let at = a + r * n + p;
            results[at] = select(results[at] / root, root, r == p);
        }
        storageBarrier();
        let rest = n - 1u - p;
        for (var e = lane; e < rest * rest; e += group_size) {
            let r = p + 1u + e / rest;
            let c = p + 1u + e % rest;
            if (c <= r) {
                results[a + r * n + c] -= results[a + r * n + p] * results[a + c * n + p];
            }
        }
        storageBarrier();
    }
}
