// The direction from its coefficients: d = Σ cⱼ bⱼ of s₀ …, y₀ …, g, where it may move. One item is one element.

#import state/solver

struct Args {
    // Elements between the vectors of the history.
    distance: u32,
    // Pairs that the history keeps.
    pairs: u32,
    // 1 if something may not move.
    masked: u32,
}

@group(0) @binding(1) var<storage, read> gradient: array<real>;
@group(0) @binding(2) var<storage, read> free: array<real>;
@group(0) @binding(3) var<storage, read> history: array<real>;
@group(0) @binding(4) var<storage, read> coefficients: array<real>;
@group(0) @binding(5) var<storage, read_write> direction: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count || state[TURNING] == 0.0) {
        return;
    }
    let vectors = 2u * params.args.pairs;
    var d: real = 0.0;
    if (params.args.masked == 0u || free[i] != 0.0) {
        d = coefficients[vectors] * gradient[i];
        for (var j = 0u; j < vectors; j++) {
            let c = coefficients[j];
            // A vector that is not used may hold anything.
            if (c != 0.0) {
                d += c * history[j * params.args.distance + i];
            }
        }
    }
    direction[i] = d;
}
