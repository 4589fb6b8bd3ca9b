// The solution X of A X = B, by elimination with partial pivoting (Golub & Van Loan 2013, section 3.4): a workgroup has a matrix.
// Where A is singular, X is not finite.

struct Args {
    // Rows and columns of a matrix.
    size: u32,
    // Columns of a right-hand side.
    columns: u32,
    // Matrices.
    batches: u32,
}

@group(0) @binding(1) var<storage, read> matrices: array<real>;
@group(0) @binding(2) var<storage, read> right: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;
// Working memory: what is left of A.
@group(0) @binding(8) var<storage, read_write> factors: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let batch = group_index(group);
    if (batch >= params.args.batches) {
        return;
    }
    let n = params.args.size;
    let k = params.args.columns;
    let a = batch * n * n;
    let x = batch * n * k;
    for (var e = lane; e < n * n; e += group_size) {
        factors[a + e] = matrices[a + e];
    }
    for (var e = lane; e < n * k; e += group_size) {
        results[x + e] = right[x + e];
    }
    storageBarrier();
    for (var p = 0u; p < n; p++) {
        var pivot = p;
        var most = abs(factors[a + p * n + p]);
        for (var r = p + 1u; r < n; r++) {
            let size = abs(factors[a + r * n + p]);
            if (size > most) {
                most = size;
                pivot = r;
            }
        }
        storageBarrier();
        // Entries of the row that matter still, and those of the right-hand side.
        let rest = n - p;
        if (pivot != p) {
            for (var c = lane; c < rest + k; c += group_size) {
                if (c < rest) {
                    let upper = a + p * n + p + c;
                    let lower = a + pivot * n + p + c;
                    let entry = factors[upper];
                    factors[upper] = factors[lower];
                    factors[lower] = entry;
                } else {
                    let upper = x + p * k + c - rest;
                    let lower = x + pivot * k + c - rest;
                    let entry = results[upper];
                    results[upper] = results[lower];
                    results[lower] = entry;
                }
            }
        }
        storageBarrier();
        let diagonal = factors[a + p * n + p];
        let width = rest - 1u + k;
        for (var e = lane; e < (rest - 1u) * width; e += group_size) {
            let r = p + 1u + e / width;
            let c = e % width;
            let factor = factors[a + r * n + p] / diagonal;
            if (c < rest - 1u) {
                factors[a + r * n + p + 1u + c] -= factor * factors[a + p * n + p + 1u + c];
            } else {
                results[x + r * k + c + 1u - rest] -= factor * results[x + p * k + c + 1u - rest];
            }
        }
        storageBarrier();
    }
    for (var done = 0u; done < n; done++) {
        let p = n - 1u - done;
        for (var c = lane; c < k; c += group_size) {
            results[x + p * k + c] /= factors[a + p * n + p];
        }
        storageBarrier();
        for (var e = lane; e < p * k; e += group_size) {
            results[x + e] -= factors[a + e / k * n + p] * results[x + p * k + e % k];
        }
        storageBarrier();
    }
}
