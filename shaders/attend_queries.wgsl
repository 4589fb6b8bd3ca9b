// What softmax(Q·Kᵀ)·V passes on to its queries: dQ = dS·K with dS = P·(dO·Vᵀ − D), P = e^(Q·Kᵀ − L). A workgroup has a tile of
// queries and goes through the keys (Dao et al. 2022, algorithm 4): products are made anew, none is written.
//
// words0: queries, keys, entries of a key, entries of a value
// words1: 1 if a query sees only keys up to its own number, batches
// statistics: L of every query, then D = Σ dO·O

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
    if (query < params.words0.x) {
        if (which == of_scores) {
            return queries[(batch * params.words0.x + query) * params.words0.z + k];
        }
        return slopes[(batch * params.words0.x + query) * params.words0.w + k];
    }
    return 0.0;
}

fn right_at(which: u32, key: u32, k: u32) -> real {
    if (key < params.words0.y) {
        if (which == of_scores) {
            return keys[(batch * params.words0.y + key) * params.words0.z + k];
        }
        return values[(batch * params.words0.y + key) * params.words0.w + k];
    }
    return 0.0;
}

fn entry_at(which: u32, key: u32, c: u32) -> real {
    if (key < params.words0.y && c < params.words0.z) {
        return keys[(batch * params.words0.y + key) * params.words0.z + c];
    }
    return 0.0;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let blocks = (params.words0.x + 4u * rows - 1u) / (4u * rows);
    let chunks = (params.words0.z + stretch - 1u) / stretch;
    let g = group_index(group);
    if (g >= params.words1.y * blocks * chunks) {
        return;
    }
    let chunk = g % chunks;
    let first = g / chunks % blocks * 4u * rows;
    batch = g / chunks / blocks;
    let column = lane % columns;
    let row = lane / columns;
    var ends = vec4<u32>(params.words0.y);
    var end = params.words0.y;
    if (params.words1.x != 0u) {
        ends = min(ends, vec4<u32>(1u, 2u, 3u, 4u) + (first + 4u * row));
        end = min(end, first + 4u * rows);
    }
    var logarithms = vec4<real>(0.0);
    var means = vec4<real>(0.0);
    for (var r = 0u; r < 4u; r++) {
        let query = first + 4u * row + r;
        if (query < params.words0.x) {
            logarithms[r] = statistics[batch * params.words0.x + query];
            means[r] = statistics[(params.words1.y + batch) * params.words0.x + query];
        }
    }
    for (var i = 0u; i < 4u * wide; i++) {
        sums[i] = vec4<real>(0.0);
    }
    for (var start = 0u; start < end; start += 4u * columns) {
        multiply_rows(lane, of_slopes, first, start, params.words0.w);
        var slope = product;
        multiply_rows(lane, of_scores, first, start, params.words0.z);
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
                if (query < params.words0.x && entry < params.words0.z) {
                    results[(batch * params.words0.x + query) * params.words0.z + entry] = sums[4u * w + r][c];
                }
            }
        }
    }
}
