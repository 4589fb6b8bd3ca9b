// The right singular vectors V of matrices A, by one-sided Jacobi rotations (Hestenes 1958; Demmel & Veselić 1992): columns of A V
// are turned in pairs until all are orthogonal. A workgroup has a matrix, and its lanes share the pairs of a round, in which every
// column is in one pair; in as many rounds as there are other columns each has met all of them. Vectors are in no order.

struct Args {
    // Rows of a matrix.
    rows: u32,
    // Columns.
    columns: u32,
    // Matrices.
    batches: u32,
    // How often every pair is turned.
    sweeps: u32,
}

@group(0) @binding(1) var<storage, read> matrices: array<real>;
@group(0) @binding(5) var<storage, read_write> vectors: array<real>;
// A V.
@group(0) @binding(8) var<storage, read_write> products: array<real>;

// Cosine of an angle that turning would not change.
const LEAST: real = 1e-18;

@compute @workgroup_size(group_size)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let batch = group_index(group);
    if (batch >= params.args.batches) {
        return;
    }
    let m = params.args.rows;
    let n = params.args.columns;
    let a = batch * m * n;
    let v = batch * n * n;
    for (var e = lane; e < m * n; e += group_size) {
        products[a + e] = matrices[a + e];
    }
    for (var e = lane; e < n * n; e += group_size) {
        vectors[v + e] = select(real(0), 1.0, e / n == e % n);
    }
    storageBarrier();
    // One column stays, the others go round (as in a tournament); with an odd number of them one has nobody to meet.
    let round = n + n % 2u - 1u;
    for (var turn = 0u; turn < params.args.sweeps * round; turn++) {
        let at = turn % round;
        for (var pair = lane; pair < (n + 1u) / 2u; pair += group_size) {
            let one = select((at + pair) % round, round, pair == 0u);
            let other = (at + round - pair) % round;
            let p = min(one, other);
            let q = max(one, other);
            if (q < n) {
                var first: real = 0.0;
                var second: real = 0.0;
                var both: real = 0.0;
                for (var i = 0u; i < m; i++) {
                    let x = products[a + i * n + p];
                    let y = products[a + i * n + q];
                    first += x * x;
                    second += y * y;
                    both += x * y;
                }
                // Not of NaN, which all that it meets becomes.
                let is_orthogonal = abs(both) <= LEAST * sqrt(first) * sqrt(second);
                if (!is_orthogonal) {
                    // The smaller angle that makes both orthogonal: tan θ, where cot 2θ is this.
                    let cotangent = (second - first) / (2.0 * both);
                    let size = abs(cotangent);
                    let small = select(1.0 / (size + sqrt(1.0 + size * size)), 0.5 / size, size > 1e8);
                    let tangent = select(small, -small, cotangent < 0.0);
                    let cosine = 1.0 / sqrt(1.0 + tangent * tangent);
                    let sine = cosine * tangent;
                    for (var i = 0u; i < m; i++) {
                        let x = products[a + i * n + p];
                        let y = products[a + i * n + q];
                        products[a + i * n + p] = cosine * x - sine * y;
                        products[a + i * n + q] = sine * x + cosine * y;
                    }
                    for (var i = 0u; i < n; i++) {
                        let x = vectors[v + i * n + p];
                        let y = vectors[v + i * n + q];
                        vectors[v + i * n + p] = cosine * x - sine * y;
                        vectors[v + i * n + q] = sine * x + cosine * y;
                    }
                }
            }
        }
        storageBarrier();
    }
}
