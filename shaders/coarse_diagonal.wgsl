// What the diagonal blocks of JᵀWJ + λD add to those of Tᵀ(JᵀWJ + λD)T, for the variables of one table. One item is one entry.
//
// words0: first element of the table in vectors, degrees of freedom of a variable, first element of its packed blocks, columns of T
// words1: first word of the starts of the patches' lists, of their members

@group(0) @binding(1) var<storage, read> scale: array<real>;
@group(0) @binding(2) var<storage, read> modes: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> blocks: array<real>;
@group(0) @binding(5) var<storage, read_write> coarse: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.words0.y;
    let columns = params.words0.w;
    let owner = i / (columns * columns);
    let row = (i - owner * columns * columns) / columns;
    let column = i % columns;
    let end = table[params.words1.x + owner + 1u];
    var sum: real = 0.0;
    for (var m = table[params.words1.x + owner]; m < end; m++) {
        let variable = table[params.words1.y + m];
        let vector = params.words0.x + variable * width;
        let block = params.words0.z + variable * (width * (width + 1u) / 2u);
        for (var c = 0u; c < width; c++) {
            var value = state[DAMPING] * scale[vector + c] * modes[(vector + c) * columns + column];
            for (var k = 0u; k < width; k++) {
                let low = min(c, k);
                let high = max(c, k);
                value += blocks[block + high * (high + 1u) / 2u + low] * modes[(vector + k) * columns + column];
            }
            sum += modes[(vector + c) * columns + row] * value;
        }
    }
    coarse[i] += sum;
}
