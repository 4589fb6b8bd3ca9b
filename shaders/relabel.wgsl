// Labels by way of a map, and how many differ from those before. One item is one point.
//
// words0: the table's place of what is mapped, of the map, of the labels, and of those before
// words1: first partial

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(global_invocation_id) id: vec3<u32>,
) {
    let i = item(id);
    var changed: real = 0.0;
    if (i < params.count) {
        let label = table[params.words0.y + table[params.words0.x + i]];
        table[params.words0.z + i] = label;
        changed = select(real(0.0), real(1.0), label != table[params.words0.w + i]);
    }
    let total = group_sum(lane, changed);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.words1.x + g] = total;
    }
}
