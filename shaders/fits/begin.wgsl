// Beginning of fits: parameters are starting values, all other fields are 0, and the first list has all fits. One item is one fit.

struct Args {
    // Fits.
    fits: u32,
    // Parameters of a fit, its first fields.
    parameters: u32,
    // Fields of a fit.
    fields: u32,
    // 1 if every fit has starting values of its own, 0 if they are shared.
    each: u32,
    // 1 if parameters stay as they are, but for those that the candidate gives.
    keeps: u32,
    // Bits of the parameters that a candidate gives.
    given: u32,
    // Place of the candidate among the starting values.
    candidate: u32,
}

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(4) var<storage, read> starts: array<real>;
@group(0) @binding(5) var<storage, read_write> fields: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let fits = params.args.fits;
    let stride = select(1u, fits, params.args.each != 0u);
    for (var p = 0u; p < params.args.parameters; p++) {
        if (p < 32u && ((params.args.given >> p) & 1u) != 0u) {
            fields[p * fits + i] = starts[params.args.candidate + p];
        } else if (params.args.keeps == 0u) {
            fields[p * fits + i] = starts[p * stride + params.args.each * i];
        }
    }
    for (var field = params.args.parameters; field < params.args.fields; field++) {
        fields[field * fits + i] = 0.0;
    }
    table[i] = i;
}
