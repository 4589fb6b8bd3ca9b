// z += Tx: the motions of patches; partial sums of what that adds to rᵀz.

#import shared/reduce
#import state/solver

struct Args {
    // Unknowns.
    unknowns: u32,
    // Columns of T.
    modes: u32,
    // First partial.
    partial: u32,
    // First word of the unknowns' patches.
    patches: u32,
    // First of the partial maxima of a start, which become 0; none if that is 0.
    maxima: u32,
}

@group(0) @binding(1) var<storage, read> residual: array<real>;
@group(0) @binding(2) var<storage, read> modes: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> coarse: array<real>;
@group(0) @binding(5) var<storage, read_write> z: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if (state[SOLVED] != 0.0) {
        return;
    }
    let columns = params.args.modes;
    var rz: real = 0.0;
    let run = run_of(group, params.args.unknowns);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        let owner = table[params.args.patches + i];
        if (owner != 0xffffffffu) {
            var value: real = 0.0;
            for (var k = 0u; k < columns; k++) {
                value += modes[i * columns + k] * coarse[owner * columns + k];
            }
            z[i] += value;
            rz += residual[i] * value;
        }
    }
    let sum = group_sum(lane, rz);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.args.partial + g] = sum;
        if (params.args.maxima != 0u) {
            partials[params.args.maxima + g] = 0.0;
        }
    }
}
