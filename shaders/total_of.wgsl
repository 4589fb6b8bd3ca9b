// The sum of one kind of partials: words0 begins with how many there are of each, and the distance between two kinds.
fn total_of(lane: u32, kind: u32) -> real {
    var sum: real = 0.0;
    for (var i = lane; i < params.words0.x; i += group_size) {
        sum += partials[kind * params.words0.y + i];
    }
    return group_sum(lane, sum);
}
