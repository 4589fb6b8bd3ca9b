// A = Q R of matrices with at least as many rows as columns, by Householder's reflections (Golub & Van Loan 2013, section 5.2; signs as
// LAPACK's `geqrf`): a workgroup has a matrix. First R takes the place of A's upper triangle and the reflections that of the lower one,
// then Q is made of these in place.

struct Args {
    // Rows of a matrix.
    rows: u32,
    // Columns.
    columns: u32,
    // Matrices.
    batches: u32,
}

@group(0) @binding(1) var<storage, read> matrices: array<real>;
@group(0) @binding(5) var<storage, read_write> orthogonal: array<real>;
// Working memory: a factor for each reflection.
@group(0) @binding(6) var<storage, read_write> factors: array<real>;
@group(0) @binding(8) var<storage, read_write> triangular: array<real>;

// Column c less its part along reflection j, times the reflection's factor.
fn reflect(a: u32, j: u32, c: u32, factor: real) {
    let m = params.args.rows;
    let n = params.args.columns;
    var along = orthogonal[a + j * n + c];
    for (var i = j + 1u; i < m; i++) {
        along += orthogonal[a + i * n + j] * orthogonal[a + i * n + c];
    }
    along *= factor;
    orthogonal[a + j * n + c] -= along;
    for (var i = j + 1u; i < m; i++) {
        orthogonal[a + i * n + c] -= orthogonal[a + i * n + j] * along;
    }
}

@compute @workgroup_size(group_size)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let batch = group_index(group);
    if (batch >= params.args.batches) {
        return;
    }
    let m = params.args.rows;
    let n = params.args.columns;
    let a = batch * m * n;
    for (var e = lane; e < m * n; e += group_size) {
        orthogonal[a + e] = matrices[a + e];
    }
    storageBarrier();
    for (var j = 0u; j < n; j++) {
        let first = orthogonal[a + j * n + j];
        // Squares of what is divided by the largest do not overflow, and those that vanish do not count.
        var largest = abs(first);
        for (var i = j + 1u; i < m; i++) {
            largest = max(largest, abs(orthogonal[a + i * n + j]));
        }
        let unit = select(largest, 1.0, largest == 0.0);
        var below: real = 0.0;
        for (var i = j + 1u; i < m; i++) {
            let entry = orthogonal[a + i * n + j] / unit;
            below += entry * entry;
        }
        let length = unit * sqrt(first / unit * (first / unit) + below);
        // Nothing is to be reflected where all below is 0 already.
        let is_done = below == 0.0;
        let diagonal = select(select(-length, length, first < 0.0), first, is_done);
        let factor = select((diagonal - first) / diagonal, 0.0, is_done);
        let scale = select(first - diagonal, 1.0, is_done);
        storageBarrier();
        for (var i = j + 1u + lane; i < m; i += group_size) {
            orthogonal[a + i * n + j] /= scale;
        }
        if (lane == 0u) {
            orthogonal[a + j * n + j] = diagonal;
            factors[batch * n + j] = factor;
        }
        storageBarrier();
        for (var c = j + 1u + lane; c < n; c += group_size) {
            reflect(a, j, c, factor);
        }
        storageBarrier();
    }
    for (var e = lane; e < n * n; e += group_size) {
        triangular[batch * n * n + e] = select(orthogonal[a + e], 0.0, e / n > e % n);
    }
    storageBarrier();
    for (var done = 0u; done < n; done++) {
        let j = n - 1u - done;
        let factor = factors[batch * n + j];
        for (var c = j + 1u + lane; c < n; c += group_size) {
            reflect(a, j, c, factor);
        }
        storageBarrier();
        for (var i = lane; i < m; i += group_size) {
            let at = a + i * n + j;
            let entry = select(-factor * orthogonal[at], 1.0 - factor, i == j);
            orthogonal[at] = select(entry, 0.0, i < j);
        }
        storageBarrier();
    }
}
