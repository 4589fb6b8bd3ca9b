// Products of the newest s, the newest y and g (with limits, of all vectors: what may move has changed) with all of
// s₀ …, y₀ …, g, as partial sums over what may move. A workgroup has a run of elements and one of the vectors.

#import shared/reduce
#import state/solver

struct Args {
    // Runs that vectors are cut into.
    runs: u32,
    // Elements.
    elements: u32,
    // Elements between the vectors of the history.
    distance: u32,
    // Pairs that the history keeps.
    pairs: u32,
    // 1 if all rows are wanted.
    all: u32,
    // 1 if something may not move.
    masked: u32,
}

@group(0) @binding(2) var<storage, read> free: array<real>;
@group(0) @binding(3) var<storage, read> gradient: array<real>;
@group(0) @binding(4) var<storage, read> history: array<real>;
@group(0) @binding(5) var<storage, read_write> products: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

fn component(vector: u32, i: u32) -> real {
    if (vector == 2u * params.args.pairs) {
        return gradient[i];
    }
    return history[vector * params.args.distance + i];
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let index = group_index(group);
    let runs = params.args.runs;
    let pairs = params.args.pairs;
    let vectors = 2u * pairs + 1u;
    let column = index / runs;
    let run = index % runs;
    let length = (params.args.elements + runs * group_size - 1u) / (runs * group_size) * group_size;
    let start = min(run * length, params.args.elements);
    let end = select(min(start + length, params.args.elements), start, column >= vectors || state[TURNING] == 0.0);
    let newest = u32(state[NEWEST]);
    let rows = select(3u, vectors, params.args.all != 0u);
    for (var r = 0u; r < rows; r++) {
        var row = r;
        if (params.args.all == 0u) {
            row = select(2u * pairs, newest + r * pairs, r < 2u);
        }
        var sum: real = 0.0;
        for (var i = start + lane; i < end; i += group_size) {
            if (params.args.masked == 0u || free[i] != 0.0) {
                sum += component(row, i) * component(column, i);
            }
        }
        let product = group_sum(lane, sum);
        if (lane == 0u && column < vectors && state[TURNING] != 0.0) {
            products[(run * rows + r) * vectors + column] = product;
        }
    }
}
