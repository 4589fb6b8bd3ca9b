// What softmax(Q·Kᵀ)·V passes on to its keys and values: dV = Pᵀ·dO and dK = dSᵀ·Q with dS = P·(dO·Vᵀ − D), P = e^(Q·Kᵀ − L). A
// workgroup has a tile of keys and goes through the queries, so that nothing is added up by several (Dao et al. 2022, algorithm 4).
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
@group(0) @binding(5) var<storage, read_write> of_keys: array<real>;
@group(0) @binding(6) var<storage, read> slopes: array<real>;
@group(0) @binding(7) var<storage, read> statistics: array<real>;
@group(0) @binding(8) var<storage, read_write> of_values: array<real>;

// Which products: scores, or what the weights' slopes are made of.
const of_scores: u32 = 0u;
const of_slopes: u32 = 1u;

var<private> batch: u32;

fn left_at(which: u32, key: u32, k: u32) -> real {
    if (key < params.args.keys) {
        if (which == of_scores) {
            return keys[(batch * params.args.keys + key) * params.args.width + k];
        }
        return values[(batch * params.args.keys + key) * params.args.value_width + k];
    }
    return 0.0;
}

fn right_at(which: u32, query: u32, k: u32) -> real {
    if (query < params.args.queries) {
        if (which == of_scores) {
            return queries[(batch * params.args.queries + query) * params.args.width + k];
        }
        return slopes[(batch * params.args.queries + query) * params.args.value_width + k];
    }
    return 0.0;
}

fn entry_at(which: u32, query: u32, c: u32) -> real {
    if (c < select(params.args.value_width, params.args.width, which == of_scores)) {
        return right_at(which, query, c);
    }
    return 0.0;
}

fn store(which: u32, key: u32, c: u32, sum: real) {
    if (key < params.args.keys) {
        let at = batch * params.args.keys + key;
        if (which == of_scores) {
            if (c < params.args.width) {
                of_keys[at * params.args.width + c] = sum;
            }
        } else if (c < params.args.value_width) {
            of_values[at * params.args.value_width + c] = sum;
        }
    }
}

// Weights of a query and their slopes, 0 in rows that it does not see; scores and slopes become them.
fn weigh(query: u32, begins: vec4<u32>, score: vec4<real>, slope: vec4<real>) -> Weighed {
    if (query < params.args.queries) {
        let at = batch * params.args.queries + query;
        let weight = powers(select(vec4<real>(-1000.0), score - statistics[at], begins <= vec4<u32>(query)));
        return Weighed(weight, weight * (slope - statistics[params.args.batches * params.args.queries + at]));
    }
    return Weighed(vec4<real>(0.0), vec4<real>(0.0));
}

struct Weighed {
    weight: vec4<real>,
    slope: vec4<real>,
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let blocks = (params.args.keys + 4u * rows - 1u) / (4u * rows);
    let chunks = (max(params.args.width, params.args.value_width) + stretch - 1u) / stretch;
    let g = group_index(group);
    if (g >= params.args.batches * blocks * chunks) {
        return;
    }
    let chunk = g % chunks;
    let first = g / chunks % blocks * 4u * rows;
    batch = g / chunks / blocks;
    let column = lane % columns;
    let row = lane / columns;
    // The first queries that see each row, and any.
    var begins = vec4<u32>(0u);
    var begin = 0u;
    if (params.args.causal != 0u) {
        begins = vec4<u32>(0u, 1u, 2u, 3u) + (first + 4u * row);
        begin = first / (4u * columns) * (4u * columns);
    }
    var of_key = Sums();
    var of_value = Sums();
    for (var start = begin; start < params.args.queries; start += 4u * columns) {
        multiply_rows(lane, of_slopes, first, start, params.args.value_width);
        let slope = product;
        multiply_rows(lane, of_scores, first, start, params.args.width);
        let query = start + 4u * column;
        let a = weigh(query, begins, product[0], slope[0]);
        let b = weigh(query + 1u, begins, product[1], slope[1]);
        let c = weigh(query + 2u, begins, product[2], slope[2]);
        let d = weigh(query + 3u, begins, product[3], slope[3]);
        product = array<vec4<real>, 4>(a.weight, b.weight, c.weight, d.weight);
        sums = of_value;
        add_weighted(lane, of_slopes, start, chunk);
        of_value = sums;
        product = array<vec4<real>, 4>(a.slope, b.slope, c.slope, d.slope);
        sums = of_key;
        add_weighted(lane, of_scores, start, chunk);
        of_key = sums;
    }
    let key = first + 4u * row;
    store_row(lane, of_scores, chunk, key, of_key.near[0], of_key.far[0]);
    store_row(lane, of_scores, chunk, key + 1u, of_key.near[1], of_key.far[1]);
    store_row(lane, of_scores, chunk, key + 2u, of_key.near[2], of_key.far[2]);
    store_row(lane, of_scores, chunk, key + 3u, of_key.near[3], of_key.far[3]);
    store_row(lane, of_slopes, chunk, key, of_value.near[0], of_value.far[0]);
    store_row(lane, of_slopes, chunk, key + 1u, of_value.near[1], of_value.far[1]);
    store_row(lane, of_slopes, chunk, key + 2u, of_value.near[2], of_value.far[2]);
    store_row(lane, of_slopes, chunk, key + 3u, of_value.near[3], of_value.far[3]);
}
