// All points turn about an axis through the origin, to first order. One item is one unknown of a table of points.
//
// words0: first element of the table in the arena, in vectors, coordinates, axis

@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(5) var<storage, read_write> motion: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let component = i % params.words0.z;
    let point = params.words0.x + i - component;
    var value: real = 0.0;
    if (params.words0.z == 2u) {
        let arm = arena[point + 1u - component];
        value = select(arm, -arm, component == 0u);
    } else if (component == (params.words0.w + 1u) % 3u) {
        value = -arena[point + (params.words0.w + 2u) % 3u];
    } else if (component == (params.words0.w + 2u) % 3u) {
        value = arena[point + (params.words0.w + 1u) % 3u];
    }
    motion[params.words0.y + i] = value;
}
