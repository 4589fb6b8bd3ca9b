// All points turn about an axis through the origin, to first order. One item is one unknown of a table of points.

struct Args {
    // First element of the table in the arena.
    arena: u32,
    // First element of the table in vectors.
    vector: u32,
    // Coordinates of a point.
    coordinates: u32,
    // Axis.
    axis: u32,
}

@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(5) var<storage, read_write> motion: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let component = i % params.args.coordinates;
    let point = params.args.arena + i - component;
    var value: real = 0.0;
    if (params.args.coordinates == 2u) {
        let arm = arena[point + 1u - component];
        value = select(arm, -arm, component == 0u);
    } else if (component == (params.args.axis + 1u) % 3u) {
        value = -arena[point + (params.args.axis + 2u) % 3u];
    } else if (component == (params.args.axis + 2u) % 3u) {
        value = arena[point + (params.args.axis + 1u) % 3u];
    }
    motion[params.args.vector + i] = value;
}
