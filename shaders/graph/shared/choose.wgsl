// Distances of vectors in bytes, which graphs are built by, and robust pruning (Subramanya et al., *DiskANN*, 2019, algorithm 2). A kernel
// binds `rows`, four numbers a word, and `scales`, the unit and the squared length of every vector; it has `candidates`, `far` and
// `params.args.words`. Products are integers and no product is contracted with a sum, so distances have the bits of the CPU's.

const no_node: u32 = 0xffffffffu;
// Words of a vector that workgroup memory has room for, and lanes that multiply with it.
const longest: u32 = 1024u;
const lanes_of_row: u32 = 4u;
const abreast: u32 = (group_size - 1u) / lanes_of_row + 1u;
// α²: a candidate is left out if a chosen one is nearer to it by this factor than the vector is.
const slack: real = 1.15;
// Neighbours of a vector at most, and those that a list has room for before it is pruned.
const most_neighbours: u32 = 128u;
const most_places: u32 = 176u;

var<workgroup> row: array<u32, longest>;
var<workgroup> parts: array<i32, group_size>;
var<workgroup> chosen: array<u32, most_neighbours>;
var<workgroup> upcoming: u32;

// The number in the lowest byte.
fn byte_of(word: u32) -> i32 {
    return i32(word << 24u) >> 24u;
}

fn products(a: u32, b: u32) -> i32 {
    return byte_of(a) * byte_of(b) + byte_of(a >> 8u) * byte_of(b >> 8u) + byte_of(a >> 16u) * byte_of(b >> 16u)
        + byte_of(a >> 24u) * byte_of(b >> 24u);
}

// The vector that others are multiplied with from now on.
fn load_row(lane: u32, node: u32) {
    workgroupBarrier();
    for (var word = lane; word < params.args.words; word += group_size) {
        row[word] = rows[node * params.args.words + word];
    }
    workgroupBarrier();
}

// Share of this lane in the product with a vector.
fn add_products(lane: u32, node: u32) {
    var sum = 0i;
    if (node != no_node) {
        let begin = node * params.args.words;
        for (var word = lane % lanes_of_row; word < params.args.words; word += lanes_of_row) {
            sum += products(row[word], rows[begin + word]);
        }
    }
    parts[lane] = sum;
}

// The product that this lane and those after it have added up.
fn product_at(lane: u32) -> i32 {
    var sum = parts[lane];
    for (var k = 1u; k < lanes_of_row; k++) {
        sum += parts[lane + k];
    }
    return sum;
}

fn scale_of(node: u32) -> vec2<real> {
    return vec2<real>(scales[2u * node], scales[2u * node + 1u]);
}

fn distance_of(own: vec2<real>, other: vec2<real>, product: i32) -> real {
    let scaled = opaque(opaque(own.x * other.x) * real(product));
    return max(opaque(own.y + other.y) - (scaled + scaled), 0.0);
}

// Robust pruning: of so many candidates, the nearest first, those that stay are `chosen`; gives their number. All lanes call this.
fn choose(lane: u32, count: u32, degree: u32) -> u32 {
    var taken = 0u;
    var next = 0u;
    loop {
        if (lane == 0u) {
            while (next < count && candidates[next] == no_node) {
                next++;
            }
            upcoming = next;
        }
        next = workgroupUniformLoad(&upcoming);
        if (next >= count) {
            break;
        }
        let node = candidates[next];
        if (lane == 0u) {
            chosen[taken] = node;
        }
        taken++;
        next++;
        if (taken >= degree) {
            break;
        }
        load_row(lane, node);
        let own = scale_of(node);
        for (var first = next; first < count; first += abreast) {
            let place = first + lane / lanes_of_row;
            var other = no_node;
            if (place < count) {
                other = candidates[place];
            }
            add_products(lane, other);
            workgroupBarrier();
            if (lane % lanes_of_row == 0u && other != no_node) {
                if (opaque(slack * distance_of(own, scale_of(other), product_at(lane))) <= far[place]) {
                    candidates[place] = no_node;
                }
            }
            workgroupBarrier();
        }
    }
    workgroupBarrier();
    return taken;
}
