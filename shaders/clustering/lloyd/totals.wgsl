// Sums of two numbers of every point over the members of each cluster. A workgroup has a cluster.

#import shared/reduce

struct Args {
    // Clusters.
    clusters: u32,
    // Place of the clusters' members in the table.
    members: u32,
    // Place of the beginnings of the clusters' members in the table.
    beginnings: u32,
    // Elements between the two numbers.
    distance: u32,
}

@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> numbers: array<real>;
@group(0) @binding(5) var<storage, read_write> totals: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let cluster = group_index(group);
    var begin = 0u;
    var end = 0u;
    if (cluster < params.args.clusters) {
        begin = table[params.args.beginnings + cluster];
        end = table[params.args.beginnings + cluster + 1u];
    }
    var a: real = 0.0;
    var b: real = 0.0;
    for (var place = begin + lane; place < end; place += group_size) {
        let number = table[params.args.members + place];
        a += numbers[number];
        b += numbers[params.args.distance + number];
    }
    let sums = group_sums(lane, a, b);
    if (lane == 0u && cluster < params.args.clusters) {
        totals[2u * cluster] = sums.x;
        totals[2u * cluster + 1u] = sums.y;
    }
}
