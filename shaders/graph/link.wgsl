// Edges back: the sources of edges to a vector enter its list, each once, and a list with too many is pruned; of the candidates for it the
// 512 nearest are looked at. The list of a vector that has just entered the graph is what was found for it. One workgroup is one vector.

#import graph/shared/choose

struct Args {
    // Vectors of the dispatch.
    targets: u32,
    // The first of them in the table, which has four words of each: the vector; its row among what was found, or 0xffffffff; its first source,
    // and how many there are.
    first: u32,
    // Place of the sources in the table.
    sources: u32,
    // Words of a vector.
    words: u32,
    // Neighbours of a vector at most, once its list is pruned.
    degree: u32,
    // Places of a list.
    places: u32,
    // Neighbours beyond which a list is pruned: at most `places`.
    most: u32,
}

@group(0) @binding(1) var<storage, read> scales: array<real>;
@group(0) @binding(2) var<storage, read> rows: array<u32>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read_write> lists: array<u32>;
@group(0) @binding(5) var<storage, read> found: array<u32>;

// Entries that are sorted at once, and those that stay.
const room: u32 = 1024u;
const kept: u32 = 512u;
// Beyond every distance.
const nowhere: real = 3e38;

var<workgroup> candidates: array<u32, room>;
var<workgroup> far: array<real, room>;
var<workgroup> old: array<u32, most_places>;
var<workgroup> old_count: u32;
var<workgroup> new_count: u32;

// A source, unless the list has it.
fn source_at(place: u32, count: u32) -> u32 {
    let source = table[params.args.sources + place];
    for (var k = 0u; k < count; k++) {
        if (old[k] == source) {
            return no_node;
        }
    }
    return source;
}

// Batcher's bitonic sort of the first so many, by distance and number; the rest of a power of two is nowhere.
fn sort(lane: u32, filled: u32) {
    var size = 2u;
    while (size < filled) {
        size *= 2u;
    }
    for (var place = filled + lane; place < size; place += group_size) {
        candidates[place] = no_node;
        far[place] = nowhere;
    }
    for (var width = 2u; width <= size; width *= 2u) {
        for (var step = width / 2u; step > 0u; step /= 2u) {
            workgroupBarrier();
            for (var pair = lane; pair < size / 2u; pair += group_size) {
                let low = pair / step * 2u * step + pair % step;
                let high = low + step;
                let a = candidates[low];
                let b = candidates[high];
                let a_far = far[low];
                let b_far = far[high];
                if ((b_far < a_far || (b_far == a_far && b < a)) == ((low & width) == 0u)) {
                    candidates[low] = b;
                    candidates[high] = a;
                    far[low] = b_far;
                    far[high] = a_far;
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
    if (group_index(group) >= params.args.targets) {
        return;
    }
    let entry = 4u * (params.args.first + group_index(group));
    let node = table[entry];
    let row_of_found = table[entry + 1u];
    let sources = table[entry + 2u];
    let count = table[entry + 3u];
    let list = node * (params.args.places + 1u);
    let own_found = row_of_found * (params.args.degree + 1u);
    let is_new = row_of_found != no_node;
    if (lane == 0u) {
        if (is_new) {
            old_count = found[own_found];
        } else {
            old_count = lists[list];
        }
    }
    let before = workgroupUniformLoad(&old_count);
    for (var place = lane; place < before; place += group_size) {
        if (is_new) {
            old[place] = found[own_found + 1u + place];
        } else {
            old[place] = lists[list + 1u + place];
        }
    }
    workgroupBarrier();
    // Entries where nothing is pruned: each place that the list has may be a source's.
    let are_few = count <= kept;
    if (are_few) {
        for (var place = lane; place < count; place += group_size) {
            candidates[place] = source_at(sources + place, before);
        }
        workgroupBarrier();
        if (lane == 0u) {
            var fresh = 0u;
            for (var place = 0u; place < count; place++) {
                fresh += select(0u, 1u, candidates[place] != no_node);
            }
            new_count = fresh;
        }
    } else if (lane == 0u) {
        new_count = count;
    }
    let after = before + workgroupUniformLoad(&new_count);
    if (are_few && after <= params.args.most) {
        for (var place = lane; place < count; place += group_size) {
            if (candidates[place] != no_node) {
                var to = before;
                for (var earlier = 0u; earlier < place; earlier++) {
                    to += select(0u, 1u, candidates[earlier] != no_node);
                }
                lists[list + 1u + to] = candidates[place];
            }
        }
        if (is_new) {
            for (var place = lane; place < before; place += group_size) {
                lists[list + 1u + place] = old[place];
            }
        }
        if (lane == 0u) {
            lists[list] = after;
        }
        return;
    }
    let own = scale_of(node);
    let all = before + count;
    var filled = 0u;
    var next = 0u;
    load_row(lane, node);
    loop {
        let end = min(room, filled + all - next);
        for (var first = filled; first < end; first += abreast) {
            let place = first + lane / lanes_of_row;
            var other = no_node;
            if (place < end) {
                let item = next + place - filled;
                if (item < before) {
                    other = old[item];
                } else {
                    other = source_at(sources + item - before, before);
                }
            }
            add_products(lane, other);
            workgroupBarrier();
            if (lane % lanes_of_row == 0u && place < end) {
                candidates[place] = other;
                far[place] = nowhere;
                if (other != no_node) {
                    far[place] = distance_of(own, scale_of(other), product_at(lane));
                }
            }
            workgroupBarrier();
        }
        sort(lane, end);
        next += end - filled;
        filled = min(end, kept);
        if (next >= all) {
            break;
        }
    }
    let taken = choose(lane, filled, params.args.degree);
    for (var place = lane; place < taken; place += group_size) {
        lists[list + 1u + place] = chosen[place];
    }
    if (lane == 0u) {
        lists[list] = taken;
    }
}
