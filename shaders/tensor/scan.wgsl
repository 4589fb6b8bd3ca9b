// Running sums along the middle axis of x [outer, length, inner], which begin anew every `chunk` elements: y[k] = Σ x[j] over
// the elements j ≤ k of k's chunk, from the first on; in reverse over j ≥ k, from the last on. A lane has one chunk.

#import tensor/shared/chunks

struct Args {
    // Length of the axis.
    length: u32,
    // Inner coordinates.
    inner: u32,
    // Elements of a chunk.
    chunk: u32,
    // 1 for sums from the last element on.
    reverse: u32,
}

@group(0) @binding(4) var<storage, read> x: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let inner = params.args.inner;
    let chunk = chunk_of(place, params.args.length, inner, params.args.chunk);
    var sum: real = 0.0;
    for (var k = 0u; k < chunk.count; k++) {
        let at = chunk.first + select(k, chunk.count - 1u - k, params.args.reverse != 0u) * inner;
        sum += x[at];
        results[at] = sum;
    }
}
