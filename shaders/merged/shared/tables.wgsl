// Tables of a list: six words each, in the order of their vectors. First element in vectors, width of a variable, first element
// among the packed blocks, first variable, first word of the map of contributions, and number of variables.

// Where a variable's parts begin.
struct Place {
    vector: u32,
    width: u32,
    block: u32,
}

// The place of a variable, numbered through all tables.
fn variable_at(i: u32, tables: u32) -> Place {
    var t = 0u;
    while (t + 1u < tables && incidence[6u * t + 9u] <= i) {
        t++;
    }
    let width = incidence[6u * t + 1u];
    let variable = i - incidence[6u * t + 3u];
    return Place(incidence[6u * t] + variable * width, width, incidence[6u * t + 2u] + variable * (width * (width + 1u) / 2u));
}
