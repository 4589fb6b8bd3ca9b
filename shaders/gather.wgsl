// total[v] += Σ over the instances that v takes part in of their contributions, in the order of the incidence list.
// One item is one component of one row; a row is a variable that this chunk touches.
//
// words0: width of a row, first word of the column map, of the row starts, of the row ids
// words1: first word of the entries, bits of a slot number, column length, first element of the table in `total`
// words2: state element that stops the kernel, 1 to store the sums instead of adding them

@group(0) @binding(3) var<storage, read> incidence: array<u32>;
@group(0) @binding(4) var<storage, read> columns: array<real>;
@group(0) @binding(5) var<storage, read_write> total: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

// What an entry adds to a component, whose code in the first slot is known.
fn contribution(entry: u32, component: u32, first: u32) -> real {
    let bits = params.words1.y;
    var code = first;
    if (bits != 0u) {
        let slot = entry & ((1u << bits) - 1u);
        code = incidence[params.words0.y + slot * params.words0.x + component];
    }
    if (code == 0u) {
        return 0.0;
    }
    let value = columns[((code & 0x7fffffffu) - 1u) * params.words1.z + (entry >> bits)];
    return select(value, -value, (code >> 31u) != 0u);
}

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
    let component = i - row * width;
    let start = params.words1.x + incidence[params.words0.z + row];
    let end = params.words1.x + incidence[params.words0.z + row + 1u];
    let to = params.words1.w + incidence[params.words0.w + row] * width + component;
    let code = incidence[params.words0.y + component];
    let before = select(total[to], real(0.0), params.words2.y != 0u);
    var sum: real = 0.0;
    // Four at a time, so that their values are on their way together.
    for (var e = start; e < end; e += 4u) {
        let last = end - 1u;
        let first = incidence[e];
        let second = incidence[min(e + 1u, last)];
        let third = incidence[min(e + 2u, last)];
        let fourth = incidence[min(e + 3u, last)];
        let values = array<real, 4>(
            contribution(first, component, code),
            contribution(second, component, code),
            contribution(third, component, code),
            contribution(fourth, component, code),
        );
        sum += values[0];
        sum += select(real(0.0), values[1], e + 1u < end);
        sum += select(real(0.0), values[2], e + 2u < end);
        sum += select(real(0.0), values[3], e + 3u < end);
    }
    total[to] = before + sum;
}
