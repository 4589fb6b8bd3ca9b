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
    for (var i = 0u; i < 4u * wide; i++) {
        sums[i] = vec4<real>(0.0);
    }
    for (var start = 0u; start < end; start += 4u * columns) {
        multiply_rows(lane, 0u, first, start, params.args.width);
        var most = largest;
        for (var c = 0u; c < 4u; c++) {
            let is_seen = vec4<u32>(start + 4u * column + c) < ends;
            product[c] = select(vec4<real>(unseen), product[c], is_seen);
            most = select(most, product[c], product[c] > most);
        }
        weights[row * columns + column] = most;
        workgroupBarrier();
        for (var c = 0u; c < columns; c++) {
            let other = weights[row * columns + c];
            most = select(most, other, other > most);
        }
        let scale = powers(largest - most);
        largest = most;
        total *= scale;
        for (var c = 0u; c < 4u; c++) {
            product[c] = powers(product[c] - most);
            total += product[c];
        }
        for (var w = 0u; w < wide; w++) {
            for (var r = 0u; r < 4u; r++) {
                sums[4u * w + r] *= scale[r];
            }
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
    for (var r = 0u; r < 4u; r++) {
        let query = first + 4u * row + r;
        if (query < params.args.queries) {
            let at = batch * params.args.queries + query;
            for (var w = 0u; w < wide; w++) {
                for (var c = 0u; c < 4u; c++) {
                    let entry = sum_column(lane, chunk, w, c);
                    if (entry < params.args.value_width) {
                        results[at * params.args.value_width + entry] = sums[4u * w + r][c] / total[r];
                    }
                }
            }
            if (chunk == 0u && column == 0u) {
                logarithms[at] = largest[r] + logarithm(total[r]);
            }
        }
    }
}
