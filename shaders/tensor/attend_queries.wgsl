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

fn store(which: u32, query: u32, c: u32, sum: real) {
    if (query < params.args.queries && c < params.args.width) {
        results[(batch * params.args.queries + query) * params.args.width + c] = sum;
    }
}

// Weights of a key, 0 in rows that do not see it.
fn weighed(exponents: vec4<real>, key: u32, ends: vec4<u32>) -> vec4<real> {
    return powers(select(vec4<real>(-1000.0), exponents, vec4<u32>(key) < ends));
}

// L of a query (`list` 0) or its D (1).
fn statistic(list: u32, query: u32) -> real {
    if (query < params.args.queries) {
        return statistics[(list * params.args.batches + batch) * params.args.queries + query];
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
    let query = first + 4u * row;
    let logarithms = vec4<real>(statistic(0u, query), statistic(0u, query + 1u), statistic(0u, query + 2u), statistic(0u, query + 3u));
    let means = vec4<real>(statistic(1u, query), statistic(1u, query + 1u), statistic(1u, query + 2u), statistic(1u, query + 3u));
    for (var start = 0u; start < end; start += 4u * columns) {
        multiply_rows(lane, of_slopes, first, start, params.args.value_width);
        let slope = product;
        multiply_rows(lane, of_scores, first, start, params.args.width);
        let key = start + 4u * column;
        product[0] = weighed(product[0] - logarithms, key, ends) * (slope[0] - means);
        product[1] = weighed(product[1] - logarithms, key + 1u, ends) * (slope[1] - means);
        product[2] = weighed(product[2] - logarithms, key + 2u, ends) * (slope[2] - means);
        product[3] = weighed(product[3] - logarithms, key + 3u, ends) * (slope[3] - means);
        add_weighted(lane, of_scores, start, chunk);
    }
    store_row(lane, 0u, chunk, query, sums.near[0], sums.far[0]);
    store_row(lane, 0u, chunk, query + 1u, sums.near[1], sums.far[1]);
    store_row(lane, 0u, chunk, query + 2u, sums.near[2], sums.far[2]);
    store_row(lane, 0u, chunk, query + 3u, sums.near[3], sums.far[3]);
}
