// The k nearest of a block of vectors and those that were nearest before, in order; of equally near ones the lower id comes first. What
// is nearer than the last of them is collected; when there is no room for more, everything is sorted, and the k first stay. Distances are
// kept as their order's numbers. One workgroup is one query, which leaves at once where a block has nothing for it, as most have.

#import functions/bits
#import shared/reduce

struct Args {
    // Queries.
    queries: u32,
    // Vectors of the block.
    vectors: u32,
    // Length of a row of distances.
    stride: u32,
    // Neighbours that are kept.
    k: u32,
    // Place of the vectors' ids on the board; 0xffffffff is not to be found.
    ids: u32,
    // Place of the nearest's orders on the board.
    orders: u32,
    // Place of the nearest's ids on the board.
    nearest: u32,
    // 1 if there are any.
    any: u32,
}

@group(0) @binding(3) var<storage, read_write> board: array<u32>;
@group(0) @binding(4) var<storage, read> distances: array<real>;

// Entries that are sorted at once, and vectors that are looked at together; k is at most what is left.
const room: u32 = 1024u;
const together: u32 = 512u;
const nobody: u32 = 0xffffffffu;
// The order of 2¹²⁷: no distance, but what stands for none.
const far: u32 = 0xff000000u;
const segment: u32 = 16u;

var<workgroup> orders: array<u32, room>;
var<workgroup> ids: array<u32, room>;
var<workgroup> counts: array<u32, group_size>;
var<workgroup> segments: array<u32, (group_size + segment - 1u) / segment>;
var<workgroup> total: u32;

// A vector of the block, as the order of its distance and its id.
struct Candidate {
    order: u32,
    id: u32,
}

fn comes_before(a: Candidate, b: Candidate) -> bool {
    return a.order < b.order || (a.order == b.order && a.id < b.id);
}

fn candidate(query: u32, place: u32) -> Candidate {
    if (place < params.args.vectors) {
        let order = signed_order_of(distances[query * params.args.stride + place]);
        let id = board[params.args.ids + place];
        if (order < far && id != nobody) {
            return Candidate(order, id);
        }
    }
    return Candidate(nobody, nobody);
}

fn last() -> Candidate {
    return Candidate(orders[params.args.k - 1u], ids[params.args.k - 1u]);
}

// How many candidates of the lanes before this one come before the last; `total` is how many do of all.
fn offset_of(lane: u32, query: u32, start: u32) -> u32 {
    let reach = last();
    var count = 0u;
    for (var place = start + lane; place < start + together; place += group_size) {
        count += select(0u, 1u, comes_before(candidate(query, place), reach));
    }
    counts[lane] = count;
    workgroupBarrier();
    if (lane % segment == 0u) {
        for (var k = 1u; k < segment; k++) {
            count += counts[lane + k];
        }
        segments[lane / segment] = count;
    }
    workgroupBarrier();
    var offset = 0u;
    for (var k = 0u; k < lane / segment; k++) {
        offset += segments[k];
    }
    for (var k = lane / segment * segment; k < lane; k++) {
        offset += counts[k];
    }
    if (lane == group_size - 1u) {
        total = offset + counts[lane];
    }
    return offset;
}

// Batcher's bitonic sort of the first so many.
fn sort(lane: u32, filled: u32) {
    var size = 2u;
    while (size < filled) {
        size *= 2u;
    }
    for (var place = filled + lane; place < size; place += group_size) {
        orders[place] = nobody;
        ids[place] = nobody;
    }
    for (var width = 2u; width <= size; width *= 2u) {
        for (var step = width / 2u; step > 0u; step /= 2u) {
            workgroupBarrier();
            for (var pair = lane; pair < size / 2u; pair += group_size) {
                let low = pair / step * 2u * step + pair % step;
                let high = low + step;
                let a = Candidate(orders[low], ids[low]);
                let b = Candidate(orders[high], ids[high]);
                if (comes_before(b, a) == ((low & width) == 0u)) {
                    orders[low] = b.order;
                    ids[low] = b.id;
                    orders[high] = a.order;
                    ids[high] = a.id;
                }
            }
        }
    }
    workgroupBarrier();
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let query = group_index(group);
    if (query >= params.args.queries) {
        return;
    }
    let k = params.args.k;
    if (params.args.any != 0u) {
        let reach = board[params.args.orders + query * k + k - 1u];
        var nearer: real = 0.0;
        for (var place = lane; place < params.args.vectors; place += group_size) {
            nearer = max(nearer, select(real(0.0), real(1.0), signed_order_of(distances[query * params.args.stride + place]) <= reach));
        }
        nearer = group_max(lane, nearer);
        if (lane == 0u) {
            total = u32(nearer);
        }
        if (workgroupUniformLoad(&total) == 0u) {
            return;
        }
    }
    for (var place = lane; place < k; place += group_size) {
        var known = Candidate(nobody, nobody);
        if (params.args.any != 0u) {
            known = Candidate(board[params.args.orders + query * k + place], board[params.args.nearest + query * k + place]);
        }
        orders[place] = known.order;
        ids[place] = known.id;
    }
    workgroupBarrier();
    var filled = k;
    for (var start = 0u; start < params.args.vectors; start += together) {
        var offset = offset_of(lane, query, start);
        var more = workgroupUniformLoad(&total);
        if (filled + more > room) {
            sort(lane, filled);
            filled = k;
            offset = offset_of(lane, query, start);
            more = workgroupUniformLoad(&total);
        }
        let reach = last();
        var to = filled + offset;
        for (var place = start + lane; place < start + together; place += group_size) {
            let found = candidate(query, place);
            if (comes_before(found, reach)) {
                orders[to] = found.order;
                ids[to] = found.id;
                to++;
            }
        }
        filled += more;
    }
    workgroupBarrier();
    sort(lane, filled);
    for (var place = lane; place < k; place += group_size) {
        board[params.args.orders + query * k + place] = orders[place];
        board[params.args.nearest + query * k + place] = ids[place];
    }
}
