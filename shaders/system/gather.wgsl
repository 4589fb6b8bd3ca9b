// total[v] += Σ over the instances that v takes part in of their contributions, in the order of the incidence list.
// One item is one component of one row; a row is a variable that this chunk touches.

struct Args {
    // Width of a row.
    width: u32,
    // First word of the column map.
    columns: u32,
    // First word of the row starts.
    starts: u32,
    // First word of the row ids.
    ids: u32,
    // First word of the entries.
    entries: u32,
    // Bits of a slot number.
    slot_bits: u32,
    // Length of a column.
    length: u32,
    // First element of the table in `total`.
    first: u32,
    // State element that stops the kernel.
    guard: u32,
    // 1 to store the sums instead of adding them.
    store: u32,
}

@group(0) @binding(3) var<storage, read> incidence: array<u32>;
@group(0) @binding(4) var<storage, read> columns: array<real>;
@group(0) @binding(5) var<storage, read_write> total: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

// What an entry adds to a component, whose code in the first slot is known.
fn contribution(entry: u32, component: u32, first: u32) -> real {
    let bits = params.args.slot_bits;
    var code = first;
    if (bits != 0u) {
        let slot = entry & ((1u << bits) - 1u);
        code = incidence[params.args.columns + slot * params.args.width + component];
    }
    if (code == 0u) {
        return 0.0;
    }
    let value = columns[((code & 0x7fffffffu) - 1u) * params.args.length + (entry >> bits)];
    return select(value, -value, (code >> 31u) != 0u);
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[params.args.guard] != 0.0) {
        return;
    }
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.args.width;
    let row = i / width;
    let component = i - row * width;
    let start = params.args.entries + incidence[params.args.starts + row];
    let end = params.args.entries + incidence[params.args.starts + row + 1u];
    let to = params.args.first + incidence[params.args.ids + row] * width + component;
    let code = incidence[params.args.columns + component];
    let before = select(total[to], real(0.0), params.args.store != 0u);
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
