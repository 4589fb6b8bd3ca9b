// Labels by way of a map, and how many differ from those before. One item is one point.

#import shared/reduce

struct Args {
    // Place of what is mapped in the table.
    source: u32,
    // Place of the map in the table.
    map: u32,
    // Place of the labels in the table.
    labels: u32,
    // Place of the labels before in the table.
    before: u32,
    // First partial.
    partial: u32,
}

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
        let label = table[params.args.map + table[params.args.source + i]];
        table[params.args.labels + i] = label;
        changed = select(real(0.0), real(1.0), label != table[params.args.before + i]);
    }
    let total = group_sum(lane, changed);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.args.partial + g] = total;
    }
}
