// Tables of a list: five words each, in the order of their vectors. First element in vectors, width of a variable, first element
// among the packed blocks, first variable, and first word of the map of contributions.

// Where a variable's parts begin.
struct Place {
    vector: u32,
    width: u32,
    block: u32,
}

// The place of a variable, numbered through all tables.
fn variable_at(i: u32, tables: u32) -> Place {
    var t = 0u;
    while (t + 1u < tables && list[5u * t + 8u] <= i) {
        t++;
    }
    let width = list[5u * t + 1u];
    let variable = i - list[5u * t + 3u];
    return Place(list[5u * t] + variable * width, width, list[5u * t + 2u] + variable * (width * (width + 1u) / 2u));
}
