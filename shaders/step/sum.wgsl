// Partial sums of a column, with what rounding took from each.

#import shared/reduce

struct Args {
    // First partial.
    partial: u32,
    // Elements between the sums and their low parts.
    distance: u32,
    // Elements.
    elements: u32,
}

@group(0) @binding(4) var<storage, read> column: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var part = Exact(0.0, 0.0);
    let run = run_of(group, params.args.elements);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        part = exact_add(part, Exact(column[i], 0.0));
    }
    let sum = group_sum_exact(lane, part);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.args.partial + g] = sum.high;
        partials[params.args.distance + params.args.partial + g] = sum.low;
    }
}
