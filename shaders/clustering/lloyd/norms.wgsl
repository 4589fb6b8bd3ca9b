// ‖x‖² of every row of a matrix; for soft assignments ‖a‖² − T ln p, with p the share of all mass that an anchor has
// (Rose 1998, "mass-constrained"). One item is one row.

#import functions/logarithm
#import state/cluster

struct Args {
    // Components of a point.
    dimensions: u32,
    // First number that is written.
    first: u32,
    // 1 for soft assignments.
    soft: u32,
    // Shares of the anchors' sums.
    shares: u32,
    // State element that stops the kernel.
    guard: u32,
}

@group(0) @binding(1) var<storage, read> rows: array<real>;
@group(0) @binding(4) var<storage, read> sums: array<real>;
@group(0) @binding(5) var<storage, read_write> norms: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (state[params.args.guard] != 0.0 || i >= params.count) {
        return;
    }
    let dimensions = params.args.dimensions;
    var sum: real = 0.0;
    for (var k = 0u; k < dimensions; k++) {
        let x = rows[i * dimensions + k];
        sum += x * x;
    }
    if (params.args.soft != 0u) {
        var mass: real = 0.0;
        for (var share = 0u; share < params.args.shares; share++) {
            mass += sums[(share * params.count + i) * (dimensions + 1u) + dimensions];
        }
        sum -= state[TEMPERATURE] * logarithm(max(mass / state[POINTS], 1e-12));
    }
    norms[params.args.first + i] = sum;
}
