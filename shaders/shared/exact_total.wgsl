#import shared/reduce

// The sum of `count` of `partials`, whose low parts are so many elements behind them.
fn exact_total(lane: u32, count: u32, distance: u32) -> Exact {
    var part = Exact(0.0, 0.0);
    for (var i = lane; i < count; i += group_size) {
        part = exact_add(part, Exact(partials[i], partials[distance + i]));
    }
    return group_sum_exact(lane, part);
}
