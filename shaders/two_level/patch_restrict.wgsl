// Tᵀr: what is left of the system, along the motions of patches, which workgroups share.

#import shared/rows
#import state/solver

struct Args {
    // Columns of T.
    modes: u32,
    // First word of the starts of the patches' lists.
    starts: u32,
    // First word of the patches' unknowns.
    members: u32,
    // Number of patches.
    patches: u32,
    // Lanes that share a motion of a patch.
    slots: u32,
}

@group(0) @binding(2) var<storage, read> modes: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> residual: array<real>;
@group(0) @binding(5) var<storage, read_write> coarse: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    if (state[SOLVED] != 0.0) {
        return;
    }
    let columns = params.args.modes;
    let slots = params.args.slots;
    let share = share_of(lane, group, params.args.patches, columns, slots);
    var sum: real = 0.0;
    if (share.slot < slots) {
        let end = params.args.members + table[params.args.starts + share.row + 1u];
        // Four at a time, so that their values are on their way together.
        for (var m = params.args.members + table[params.args.starts + share.row] + share.slot; m < end; m += 4u * slots) {
            let last = end - 1u;
            let first = table[m];
            let second = table[min(m + slots, last)];
            let third = table[min(m + 2u * slots, last)];
            let fourth = table[min(m + 3u * slots, last)];
            let values = array<real, 4>(
                modes[first * columns + share.element] * residual[first],
                modes[second * columns + share.element] * residual[second],
                modes[third * columns + share.element] * residual[third],
                modes[fourth * columns + share.element] * residual[fourth],
            );
            sum += values[0];
            sum += select(real(0.0), values[1], m + slots < end);
            sum += select(real(0.0), values[2], m + 2u * slots < end);
            sum += select(real(0.0), values[3], m + 3u * slots < end);
        }
    }
    let total = share_sum(lane, share, columns, slots, sum);
    if (share.slot == 0u) {
        coarse[share.row * columns + share.element] = total;
    }
}
