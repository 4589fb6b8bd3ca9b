// Running sums or products of whole numbers along the middle axis of x [outer, length, inner], which begin anew every `chunk` elements.
// They wrap. A lane has one chunk.

#import tensor/shared/chunks

struct Args {
    // Length of the axis.
    length: u32,
    // Inner coordinates.
    inner: u32,
    // Elements of a chunk.
    chunk: u32,
    // 1 for products.
    products: u32,
}

@group(0) @binding(4) var<storage, read> x: array<u32>;
@group(0) @binding(5) var<storage, read_write> results: array<u32>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let inner = params.args.inner;
    let chunk = chunk_of(place, params.args.length, inner, params.args.chunk);
    var total = params.args.products;
    for (var k = 0u; k < chunk.count; k++) {
        let at = chunk.first + k * inner;
        total = select(total + x[at], total * x[at], params.args.products != 0u);
        results[at] = total;
    }
}
