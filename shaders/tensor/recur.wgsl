// Recurrences of first order along the middle axis of x [outer, length, inner]: y[k] = x[k] + a[k]·y[k − 1] from the first element on; in
// reverse y[k] = x[k] + a[k]·y[k + 1], from the last one on. The first y of all is x. A lane has a line.

struct Args {
    // Length of the axis.
    length: u32,
    // Inner coordinates.
    inner: u32,
    // 1 for recurrences from the last element on.
    reverse: u32,
}

@group(0) @binding(2) var<storage, read> factors: array<real>;
@group(0) @binding(4) var<storage, read> x: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let inner = params.args.inner;
    let length = params.args.length;
    let base = place / inner * length * inner + place % inner;
    var y: real = 0.0;
    for (var k = 0u; k < length; k++) {
        let at = base + select(k, length - 1u - k, params.args.reverse != 0u) * inner;
        if (k == 0u) {
            y = x[at];
        } else {
            y = x[at] + factors[at] * y;
        }
        results[at] = y;
    }
}
