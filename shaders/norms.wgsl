// ‖x‖² of every row of a matrix; for soft assignments ‖a‖² − T ln p, with p the share of all mass that an anchor has
// (Rose 1998, "mass-constrained"). One item is one row.
//
// words0: dimensions, first number to write, 1 for soft assignments, shares of the anchors' sums
// words1: state element that stops the kernel

@group(0) @binding(1) var<storage, read> rows: array<real>;
@group(0) @binding(4) var<storage, read> sums: array<real>;
@group(0) @binding(5) var<storage, read_write> norms: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (state[params.words1.x] != 0.0 || i >= params.count) {
        return;
    }
    let dimensions = params.words0.x;
    var sum: real = 0.0;
    for (var k = 0u; k < dimensions; k++) {
        let x = rows[i * dimensions + k];
        sum += x * x;
    }
    if (params.words0.z != 0u) {
        var mass: real = 0.0;
        for (var share = 0u; share < params.words0.w; share++) {
            mass += sums[(share * params.count + i) * (dimensions + 1u) + dimensions];
        }
        sum -= state[TEMPERATURE] * logarithm(max(mass / state[POINTS], 1e-12));
    }
    norms[params.words0.y + i] = sum;
}
