// Best of several starts: where a fit ended lower than it did before, all its fields are kept. One item is one fit.

struct Args {
    // Fits.
    fits: u32,
    // Fields of a fit.
    fields: u32,
    // Place of the objectives among them.
    cost: u32,
}

@group(0) @binding(4) var<storage, read> fields: array<real>;
@group(0) @binding(5) var<storage, read_write> best: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let found = fields[params.args.cost + i];
    let kept = best[params.args.cost + i];
    if (is_finite(found) && (!is_finite(kept) || found < kept)) {
        for (var field = 0u; field < params.args.fields; field++) {
            best[field * params.args.fits + i] = fields[field * params.args.fits + i];
        }
    }
}
