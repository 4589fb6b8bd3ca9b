// How a node moves when its parent does: the identity, and what turning about the parent's centre shifts. One item is one entry of
// a node's block.

struct Args {
    // Rows of a block.
    rows: u32,
    // Coordinates of a point; 0 for what are no points.
    coordinates: u32,
    // First word of the nodes' parents.
    parents: u32,
}

@group(0) @binding(2) var<storage, read> centers: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> above: array<real>;
@group(0) @binding(5) var<storage, read_write> frames: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let size = params.args.rows;
    let coordinates = params.args.coordinates;
    let node = i / (size * size);
    let row = (i - node * size * size) / size;
    let column = i % size;
    var value = select(real(0.0), real(1.0), row == column);
    if (row < coordinates && column >= coordinates) {
        let center = node * coordinates;
        let parent = table[params.args.parents + node] * coordinates;
        if (coordinates == 2u) {
            let other = 1u - row;
            let arm = centers[center + other] - above[parent + other];
            value = select(arm, -arm, row == 0u);
        } else {
            let next = (row + 1u) % 3u;
            let last = (row + 2u) % 3u;
            if (column - 3u == next) {
                value = centers[center + last] - above[parent + last];
            } else if (column - 3u == last) {
                value = -(centers[center + next] - above[parent + next]);
            }
        }
    }
    frames[i] = value;
}
