// Which lists a query probes: those whose anchors are nearest, of equally near ones the first. The distances of all others become
// 3e38. The last of them is found bit by bit, by counting what comes before: first its distance, then its number among the equally far.
// One workgroup is one query.

#import functions/bits
#import shared/reduce

struct Args {
    // Queries.
    queries: u32,
    // Lists.
    lists: u32,
    // Lists that are probed, fewer.
    probed: u32,
}

@group(0) @binding(5) var<storage, read_write> distances: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let query = group_index(group);
    if (query >= params.args.queries) {
        return;
    }
    let begin = query * params.args.lists;
    let wanted = real(params.args.probed);
    var farthest = 0u;
    for (var bit = 0x80000000u; bit != 0u; bit >>= 1u) {
        var nearer: real = 0.0;
        for (var list = lane; list < params.args.lists; list += group_size) {
            nearer += select(real(0.0), real(1.0), order_of(distances[begin + list]) < (farthest | bit));
        }
        if (group_sum(lane, nearer) < wanted) {
            farthest |= bit;
        }
    }
    var last = 0u;
    for (var bit = 0x80000000u; bit != 0u; bit >>= 1u) {
        var before: real = 0.0;
        for (var list = lane; list < params.args.lists; list += group_size) {
            let order = order_of(distances[begin + list]);
            let comes = order < farthest || (order == farthest && list < (last | bit));
            before += select(real(0.0), real(1.0), comes);
        }
        if (group_sum(lane, before) < wanted) {
            last |= bit;
        }
    }
    for (var list = lane; list < params.args.lists; list += group_size) {
        let order = order_of(distances[begin + list]);
        if (order > farthest || (order == farthest && list > last)) {
            distances[begin + list] = 3e38;
        }
    }
}
