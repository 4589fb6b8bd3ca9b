#import shared/reduce

// The sum of one kind of `partials`, `count` of each, whose kinds are so many elements apart.
fn total_of(lane: u32, kind: u32, count: u32, distance: u32) -> real {
    var sum: real = 0.0;
    for (var i = lane; i < count; i += group_size) {
        sum += partials[kind * distance + i];
    }
    return group_sum(lane, sum);
}
