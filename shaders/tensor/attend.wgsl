// softmax(Q·Kᵀ)·V and the logarithms of what the softmax divides by, batch by batch. A workgroup has a tile of queries and goes
// through the keys, tile by tile; weights are relative to the largest score so far, and what is summed is scaled whenever there is a
// larger one (Milakov & Gimelshein 2018; Dao et al. 2022), so that no matrix of queries and keys is written.

#import functions/logarithm
#import tensor/shared/attention

struct Args {
    // Queries.
    queries: u32,
    // Keys.
    keys: u32,
    // Entries of a key.
    width: u32,
    // Entries of a value.
    value_width: u32,
    // 1 if a query sees only keys up to its own number.
    causal: u32,
    // Batches.
    batches: u32,
}

@group(0) @binding(1) var<storage, read> queries: array<real>;
@group(0) @binding(2) var<storage, read> keys: array<real>;
@group(0) @binding(4) var<storage, read> values: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;
@group(0) @binding(8) var<storage, read_write> logarithms: array<real>;

// Below every score.
const unseen: real = -1e38;

var<private> batch: u32;

fn left_at(which: u32, query: u32, k: u32) -> real {
    if (query < params.args.queries) {
        return queries[(batch * params.args.queries + query) * params.args.width + k];
    }
    return 0.0;
}

fn right_at(which: u32, key: u32, k: u32) -> real {
    if (key < params.args.keys) {
        return keys[(batch * params.args.keys + key) * params.args.width + k];
    }
    return 0.0;
}

fn entry_at(which: u32, key: u32, c: u32) -> real {
    if (key < params.args.keys && c < params.args.value_width) {
        return values[(batch * params.args.keys + key) * params.args.value_width + c];
    }
    return 0.0;
}

fn store(which: u32, query: u32, c: u32, sum: real) {
    if (query < params.args.queries && c < params.args.value_width) {
        results[(batch * params.args.queries + query) * params.args.value_width + c] = sum;
    }
}

fn seen(scores: vec4<real>, key: u32, ends: vec4<u32>) -> vec4<real> {
    return select(vec4<real>(unseen), scores, vec4<u32>(key) < ends);
}

fn larger(x: vec4<real>, y: vec4<real>) -> vec4<real> {
    return select(x, y, y > x);
}

fn store_logarithm(query: u32, value: real) {
    if (query < params.args.queries) {
        logarithms[batch * params.args.queries + query] = value;
    }
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let blocks = (params.args.queries + 4u * rows - 1u) / (4u * rows);
    let chunks = (params.args.value_width + stretch - 1u) / stretch;
    let g = group_index(group);
    if (g >= params.args.batches * blocks * chunks) {
        return;
    }
    let chunk = g % chunks;
    let first = g / chunks % blocks * 4u * rows;
    batch = g / chunks / blocks;
    let column = lane % columns;
    let row = lane / columns;
    // Where the keys end that each row sees, and those that any does.
    var ends = vec4<u32>(params.args.keys);
    var end = params.args.keys;
    if (params.args.causal != 0u) {
        ends = min(ends, vec4<u32>(1u, 2u, 3u, 4u) + (first + 4u * row));
        end = min(end, first + 4u * rows);
    }
    var largest = vec4<real>(unseen);
    var total = vec4<real>(0.0);
    for (var start = 0u; start < end; start += 4u * columns) {
        multiply_rows(lane, 0u, first, start, params.args.width);
        let key = start + 4u * column;
        product[0] = seen(product[0], key, ends);
        product[1] = seen(product[1], key + 1u, ends);
        product[2] = seen(product[2], key + 2u, ends);
        product[3] = seen(product[3], key + 3u, ends);
        var most = larger(larger(larger(larger(largest, product[0]), product[1]), product[2]), product[3]);
        weights[row * columns + column] = most;
        workgroupBarrier();
        for (var c = 0u; c < columns; c++) {
            most = larger(most, weights[row * columns + c]);
        }
        let scale = powers(largest - most);
        largest = most;
        product[0] = powers(product[0] - most);
        product[1] = powers(product[1] - most);
        product[2] = powers(product[2] - most);
        product[3] = powers(product[3] - most);
        total = total * scale + product[0] + product[1] + product[2] + product[3];
        sums.near[0] *= scale.x;
        sums.near[1] *= scale.y;
        sums.near[2] *= scale.z;
        sums.near[3] *= scale.w;
        if (is_wide) {
            sums.far[0] *= scale.x;
            sums.far[1] *= scale.y;
            sums.far[2] *= scale.z;
            sums.far[3] *= scale.w;
        }
        add_weighted(lane, 0u, start, chunk);
    }
    workgroupBarrier();
    weights[row * columns + column] = total;
    workgroupBarrier();
    total = weights[row * columns];
    for (var c = 1u; c < columns; c++) {
        total += weights[row * columns + c];
    }
    let query = first + 4u * row;
    store_row(lane, 0u, chunk, query, sums.near[0] / total.x, sums.far[0] / total.x);
    store_row(lane, 0u, chunk, query + 1u, sums.near[1] / total.y, sums.far[1] / total.y);
    store_row(lane, 0u, chunk, query + 2u, sums.near[2] / total.z, sums.far[2] / total.z);
    store_row(lane, 0u, chunk, query + 3u, sums.near[3] / total.w, sums.far[3] / total.w);
    if (chunk == 0u && column == 0u) {
        store_logarithm(query, largest.x + logarithm(total.x));
        store_logarithm(query + 1u, largest.y + logarithm(total.y));
        store_logarithm(query + 2u, largest.z + logarithm(total.z));
        store_logarithm(query + 3u, largest.w + logarithm(total.w));
    }
}
