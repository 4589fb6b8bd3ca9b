// total[v] += Σ over the instances that v takes part in of their contributions, in the order of the incidence list.
// One item is one component of one row; a row is a variable that this chunk touches.
//
// words0: width of a row, first word of the column map, of the row starts, of the row ids
// words1: first word of the entries, bits of a slot number, column length, first element of the table in `total`
// words2: state element that stops the kernel

@group(0) @binding(3) var<storage, read> incidence: array<u32>;
@group(0) @binding(4) var<storage, read> columns: array<real>;
@group(0) @binding(5) var<storage, read_write> total: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[params.words2.x] != 0.0) {
        return;
    }
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.words0.x;
    let row = i / width;
    let component = i % width;
    let bits = params.words1.y;
    let slot_mask = (1u << bits) - 1u;
    let start = incidence[params.words0.z + row];
    let end = incidence[params.words0.z + row + 1u];
    var sum: real = 0.0;
    for (var e = start; e < end; e++) {
        let entry = incidence[params.words1.x + e];
        let code = incidence[params.words0.y + (entry & slot_mask) * width + component];
        if (code != 0u) {
            let value = columns[((code & 0x7fffffffu) - 1u) * params.words1.z + (entry >> bits)];
            sum += select(value, -value, (code >> 31u) != 0u);
        }
    }
    total[params.words1.w + incidence[params.words0.w + row] * width + component] += sum;
}
