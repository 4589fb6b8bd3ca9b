// The sum of partials whose low parts follow: words0 begins with how many there are, and the distance to the low parts.
fn exact_total(lane: u32) -> Exact {
    var part = Exact(0.0, 0.0);
    for (var i = lane; i < params.words0.x; i += group_size) {
        part = exact_add(part, Exact(partials[i], partials[params.words0.y + i]));
    }
    return group_sum_exact(lane, part);
}
