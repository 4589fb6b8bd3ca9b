// Tᵀr: what is left of the system, along the motions of patches. One item is one motion of a patch.

#import state/solver

struct Args {
    // Columns of T.
    modes: u32,
    // First word of the starts of the patches' lists.
    starts: u32,
    // First word of the patches' unknowns.
    members: u32,
}

@group(0) @binding(2) var<storage, read> modes: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> residual: array<real>;
@group(0) @binding(5) var<storage, read_write> coarse: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[SOLVED] != 0.0) {
        return;
    }
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let columns = params.args.modes;
    let owner = i / columns;
    let column = i - owner * columns;
    let end = params.args.members + table[params.args.starts + owner + 1u];
    var sum: real = 0.0;
    // Four at a time, so that their values are on their way together.
    for (var m = params.args.members + table[params.args.starts + owner]; m < end; m += 4u) {
        let last = end - 1u;
        let first = table[m];
        let second = table[min(m + 1u, last)];
        let third = table[min(m + 2u, last)];
        let fourth = table[min(m + 3u, last)];
        let values = array<real, 4>(
            modes[first * columns + column] * residual[first],
            modes[second * columns + column] * residual[second],
            modes[third * columns + column] * residual[third],
            modes[fourth * columns + column] * residual[fourth],
        );
        sum += values[0];
        sum += select(real(0.0), values[1], m + 1u < end);
        sum += select(real(0.0), values[2], m + 2u < end);
        sum += select(real(0.0), values[3], m + 3u < end);
    }
    coarse[i] = sum;
}
