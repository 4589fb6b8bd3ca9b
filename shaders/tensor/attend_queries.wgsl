// What softmax(Q·Kᵀ)·V passes on to its queries: dQ = dS·K with dS = P·(dO·Vᵀ − D), P = e^(Q·Kᵀ − L). A workgroup has a tile of
// queries and goes through the keys (Dao et al. 2022, algorithm 4): products are made anew, none is written.
//
// statistics: L of every query, then D = Σ dO·O

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
@group(0) @binding(6) var<storage, read> slopes: array<real>;
@group(0) @binding(7) var<storage, read> statistics: array<real>;

// Which products: scores, or what the weights' slopes are made of.
const of_scores: u32 = 0u;
const of_slopes: u32 = 1u;

var<private> batch: u32;

fn left_at(which: u32, query: u32, k: u32) -> real {
    if (query < params.args.queries) {
        if (which == of_scores) {
            return queries[(batch * params.args.queries + query) * params.args.width + k];
        }
        return slopes[(batch * params.args.queries + query) * params.args.value_width + k];
    }
    return 0.0;
}

fn right_at(which: u32, key: u32, k: u32) -> real {
    if (key < params.args.keys) {
        if (which == of_scores) {
            return keys[(batch * params.args.keys + key) * params.args.width + k];
        }
        return values[(batch * params.args.keys + key) * params.args.value_width + k];
    }
    return 0.0;
}

fn entry_at(which: u32, key: u32, c: u32) -> real {
    if (key < params.args.keys && c < params.args.width) {
        return keys[(batch * params.args.keys + key) * params.args.width + c];
    }
    return 0.0;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let blocks = (params.args.queries + 4u * rows - 1u) / (4u * rows);
    let chunks = (params.args.width + stretch - 1u) / stretch;
    let g = group_index(group);
    if (g >= params.args.batches * blocks * chunks) {
        return;
    }
    let chunk = g % chunks;
    let first = g / chunks % blocks * 4u * rows;
    batch = g / chunks / blocks;
    let column = lane % columns;
    let row = lane / columns;
    var ends = vec4<u32>(params.args.keys);
    var end = params.args.keys;
    if (params.args.causal != 0u) {
        ends = min(ends, vec4<u32>(1u, 2u, 3u, 4u) + (first + 4u * row));
        end = min(end, first + 4u * rows);
    }
    var logarithms = vec4<real>(0.0);
    var means = vec4<real>(0.0);
    for (var r = 0u; r < 4u; r++) {
        let query = first + 4u * row + r;
        if (query < params.args.queries) {
            logarithms[r] = statistics[batch * params.args.queries + query];
            means[r] = statistics[(params.args.batches + batch) * params.args.queries + query];
        }
    }
    for (var i = 0u; i < 4u * wide; i++) {
        sums[i] = vec4<real>(0.0);
    }
    for (var start = 0u; start < end; start += 4u * columns) {
        multiply_rows(lane, of_slopes, first, start, params.args.value_width);
        var slope = product;
        multiply_rows(lane, of_scores, first, start, params.args.width);
        for (var c = 0u; c < 4u; c++) {
            let is_seen = vec4<u32>(start + 4u * column + c) < ends;
            product[c] = powers(select(vec4<real>(-1000.0), product[c] - logarithms, is_seen)) * (slope[c] - means);
        }
        add_weighted(lane, of_scores, start, chunk);
    }
    for (var r = 0u; r < 4u; r++) {
        let query = first + 4u * row + r;
        for (var w = 0u; w < wide; w++) {
            for (var c = 0u; c < 4u; c++) {
                let entry = sum_column(lane, chunk, w, c);
                if (query < params.args.queries && entry < params.args.width) {
                    results[(batch * params.args.queries + query) * params.args.width + entry] = sums[4u * w + r][c];
                }
            }
        }
    }
}
