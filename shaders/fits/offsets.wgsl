// Compaction of fits, between its parts: counts of runs become where the runs begin in the next list. One workgroup, whose lanes
// have stretches of runs.

struct Args {
    // Runs of the list.
    runs: u32,
    // Place of their counts in the table.
    counts: u32,
    // Element that gets the number of fits that run on.
    total: u32,
}

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(8) var<storage, read_write> totals: array<real>;

var<workgroup> sums: array<u32, group_size>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let length = (params.args.runs + group_size - 1u) / group_size;
    let begin = min(lane * length, params.args.runs);
    let end = min(begin + length, params.args.runs);
    var sum = 0u;
    for (var run = begin; run < end; run++) {
        sum += table[params.args.counts + run];
    }
    sums[lane] = sum;
    workgroupBarrier();
    var place = 0u;
    for (var other = 0u; other < lane; other++) {
        place += sums[other];
    }
    for (var run = begin; run < end; run++) {
        let count = table[params.args.counts + run];
        table[params.args.counts + run] = place;
        place += count;
    }
    if (lane == group_size - 1u) {
        totals[params.args.total] = real(place);
    }
}
