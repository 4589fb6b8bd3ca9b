// The nearest point within the limits, but for what is fixed; partial sums of how many components were moved.

#import shared/reduce

struct Args {
    // First element of the table in the arena.
    arena: u32,
    // First element of the table in vectors.
    vector: u32,
    // First partial of this table.
    partial: u32,
    // Elements of the table.
    elements: u32,
}

@group(0) @binding(2) var<storage, read> lower: array<real>;
@group(0) @binding(3) var<storage, read> upper: array<real>;
@group(0) @binding(4) var<storage, read> pins: array<real>;
@group(0) @binding(5) var<storage, read_write> point: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var moved: real = 0.0;
    let run = run_of(group, params.args.elements);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        let v = params.args.vector + i;
        let x = point[params.args.arena + i];
        let inside = clamp(x, lower[v], upper[v]);
        if (inside != x && pins[v] != 0.0) {
            point[params.args.arena + i] = inside;
            moved += 1.0;
        }
    }
    let sum = group_sum(lane, moved);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.args.partial + g] = sum;
    }
}
