// Tᵀr: what is left of the system, along the motions of patches. One item is one motion of a patch.
//
// words0: columns of T, first word of the starts of the patches' lists, of their unknowns

@group(0) @binding(2) var<storage, read> modes: array<real>;
@group(0) @binding(3) var<storage, read> list: array<u32>;
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
    let columns = params.words0.x;
    let owner = i / columns;
    let column = i - owner * columns;
    let end = list[params.words0.y + owner + 1u];
    var sum: real = 0.0;
    for (var m = list[params.words0.y + owner]; m < end; m++) {
        let unknown = list[params.words0.z + m];
        sum += modes[unknown * columns + column] * residual[unknown];
    }
    coarse[i] = sum;
}
