// Neighbours of vectors that enter a graph: each is walked to along the lists as they are, and robust pruning chooses among what the
// walk expanded. The beam is sorted by distance and number. There is no mark of what was seen: a vector that fell out of the beam is farther
// than all in it from then on, and one that is in it is found there. What was expanded and fell out is kept as well, the nearest of it; it
// falls out the farthest first. One workgroup is one vector.

#import graph/shared/choose

struct Args {
    // Vectors of the dispatch.
    vectors: u32,
    // The first of them in the table.
    first: u32,
    // Words of a vector.
    words: u32,
    // Vectors of the beam.
    effort: u32,
    // Neighbours of a vector at most.
    degree: u32,
    // Places of a list.
    places: u32,
    // Starts of a walk: the table has the vector, then these, each once, 0xffffffff for none.
    starts: u32,
}

@group(0) @binding(1) var<storage, read> scales: array<real>;
@group(0) @binding(2) var<storage, read> rows: array<u32>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
// Lists: of every vector the number of its neighbours, then their places.
@group(0) @binding(4) var<storage, read> lists: array<u32>;
// The same of the vectors of the table, with `degree` places.
@group(0) @binding(5) var<storage, read_write> found: array<u32>;

const widest: u32 = 256u;
// Bit of a vector of the beam that was expanded.
const expanded: u32 = 0x80000000u;

// The beam as it is and as it becomes, in turns; in the end the candidates.
var<workgroup> candidates: array<u32, 2u * widest>;
var<workgroup> far: array<real, 2u * widest>;
// Vectors that were expanded and fell out of the beam: the last ones, in a ring.
var<workgroup> left: array<u32, widest>;
var<workgroup> left_far: array<real, widest>;
// Neighbours of what is expanded: vector, distance, and how many of the beam come before.
var<workgroup> fresh: array<u32, most_places>;
var<workgroup> fresh_far: array<real, most_places>;
var<workgroup> before: array<u32, most_places>;
// The beam's entries that stay, the first place of a fresh one, what fell out so far, and what is expanded next.
var<workgroup> staying: u32;
var<workgroup> earliest: u32;
var<workgroup> fallen: u32;
var<workgroup> current: u32;

fn comes_before(a_far: real, a: u32, b_far: real, b: u32) -> bool {
    return a_far < b_far || (a_far == b_far && a < b);
}

// Distances of fresh vectors; those that are in the beam or beyond it are dropped.
fn measure(lane: u32, own: vec2<real>, count: u32, half: u32, length: u32) {
    for (var first = 0u; first < count; first += abreast) {
        let place = first + lane / lanes_of_row;
        var node = no_node;
        if (place < count) {
            node = fresh[place];
        }
        add_products(lane, node);
        workgroupBarrier();
        if (lane % lanes_of_row == 0u && node != no_node) {
            let distance = distance_of(own, scale_of(node), product_at(lane));
            var low = 0u;
            var high = length;
            while (low < high) {
                let middle = (low + high) / 2u;
                if (comes_before(far[half + middle], candidates[half + middle] & ~expanded, distance, node)) {
                    low = middle + 1u;
                } else {
                    high = middle;
                }
            }
            fresh_far[place] = distance;
            before[place] = low;
            var is_there = false;
            if (low < length) {
                is_there = (candidates[half + low] & ~expanded) == node;
            }
            if (is_there || low >= params.args.effort) {
                fresh[place] = no_node;
            }
        }
        workgroupBarrier();
    }
}

// The beam with the fresh vectors, in its other half; how many were fresh.
fn merge(lane: u32, count: u32, half: u32, length: u32) -> u32 {
    let effort = params.args.effort;
    let other = widest - half;
    if (lane == 0u) {
        staying = length;
        earliest = effort;
    }
    workgroupBarrier();
    var all = 0u;
    for (var place = 0u; place < count; place++) {
        all += select(0u, 1u, fresh[place] != no_node);
    }
    for (var entry = lane; entry < length; entry += group_size) {
        var shift = 0u;
        var earlier = 0u;
        for (var place = 0u; place < count; place++) {
            if (fresh[place] != no_node) {
                shift += select(0u, 1u, before[place] <= entry);
                earlier += select(0u, 1u, before[place] < entry);
            }
        }
        if (entry + shift < effort) {
            candidates[other + entry + shift] = candidates[half + entry];
            far[other + entry + shift] = far[half + entry];
        } else if (entry + earlier < effort + 1u) {
            // A neighbour before it stays.
            staying = entry;
        }
    }
    for (var place = lane; place < count; place += group_size) {
        let node = fresh[place];
        if (node != no_node) {
            var rank = 0u;
            for (var another = 0u; another < count; another++) {
                if (fresh[another] != no_node) {
                    rank += select(0u, 1u, comes_before(fresh_far[another], fresh[another], fresh_far[place], node));
                }
            }
            let to = before[place] + rank;
            if (to < effort) {
                candidates[other + to] = node;
                far[other + to] = fresh_far[place];
            }
            if (rank == 0u) {
                earliest = min(to, effort);
            }
        }
    }
    workgroupBarrier();
    return all;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if (group_index(group) >= params.args.vectors) {
        return;
    }
    let vector = params.args.first + group_index(group);
    let effort = params.args.effort;
    let entry = vector * (params.args.starts + 1u);
    let own_node = table[entry];
    for (var place = lane; place < params.args.starts; place += group_size) {
        fresh[place] = table[entry + 1u + place];
    }
    if (lane == 0u) {
        fallen = 0u;
    }
    load_row(lane, own_node);
    let own = scale_of(own_node);
    var count = params.args.starts;
    var half = 0u;
    var length = 0u;
    // Entries before it are expanded.
    var at = 0u;
    loop {
        measure(lane, own, count, half, length);
        let all = merge(lane, count, half, length);
        let other = widest - half;
        if (lane == 0u) {
            for (var gone = length; gone > staying; gone--) {
                if ((candidates[half + gone - 1u] & expanded) != 0u) {
                    left[fallen % effort] = candidates[half + gone - 1u] & ~expanded;
                    left_far[fallen % effort] = far[half + gone - 1u];
                    fallen++;
                }
            }
            let longer = min(length + all, effort);
            at = min(at, earliest);
            while (at < longer && (candidates[other + at] & expanded) != 0u) {
                at++;
            }
            current = no_node;
            if (at < longer) {
                current = candidates[other + at];
                candidates[other + at] |= expanded;
            }
            upcoming = longer;
        }
        length = workgroupUniformLoad(&upcoming);
        let next = workgroupUniformLoad(&current);
        half = other;
        if (next == no_node) {
            break;
        }
        let list = next * (params.args.places + 1u);
        count = lists[list];
        for (var place = lane; place < count; place += group_size) {
            fresh[place] = lists[list + 1u + place];
        }
        workgroupBarrier();
    }
    // The candidates: the beam, from the first place on, then what fell out of it, the last first.
    let dropped = workgroupUniformLoad(&fallen);
    for (var place = lane; place < length; place += group_size) {
        let node = candidates[half + place] & ~expanded;
        candidates[place] = select(node, no_node, node == own_node);
        far[place] = far[half + place];
    }
    workgroupBarrier();
    let behind = min(dropped, effort);
    for (var place = lane; place < behind; place += group_size) {
        let node = left[(dropped - 1u - place) % effort];
        candidates[length + place] = select(node, no_node, node == own_node);
        far[length + place] = left_far[(dropped - 1u - place) % effort];
    }
    workgroupBarrier();
    let taken = choose(lane, length + behind, params.args.degree);
    let to = vector * (params.args.degree + 1u);
    if (lane == 0u) {
        found[to] = taken;
    }
    for (var place = lane; place < taken; place += group_size) {
        found[to + 1u + place] = chosen[place];
    }
}
