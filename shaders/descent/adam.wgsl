// Adam's direction (Kingma & Ba, Adam: A Method for Stochastic Optimization, 2015, algorithm 1):
// m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², d = −η m̂ / (√v̂ + ε) with m̂ = m/(1 − β₁ᵗ), v̂ = v/(1 − β₂ᵗ).
// One item is one element.

#import state/solver

struct Args {
    // Elements between m and v.
    distance: u32,
    // 1 if something may not move.
    masked: u32,
}

@group(0) @binding(1) var<storage, read> gradient: array<real>;
@group(0) @binding(2) var<storage, read> free: array<real>;
@group(0) @binding(3) var<storage, read_write> moments: array<real>;
@group(0) @binding(5) var<storage, read_write> direction: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count || state[TURNING] == 0.0) {
        return;
    }
    var d: real = 0.0;
    var mean: real = 0.0;
    var square: real = 0.0;
    if (params.args.masked == 0u || free[i] != 0.0) {
        let g = gradient[i];
        // Before the first step they may hold anything.
        if (state[PAIRS] != 0.0) {
            mean = state[BETA_1] * moments[i];
            square = state[BETA_2] * moments[params.args.distance + i];
        }
        mean += (1.0 - state[BETA_1]) * g;
        square += (1.0 - state[BETA_2]) * g * g;
        let m = mean / (1.0 - state[DECAY_1]);
        let v = square / (1.0 - state[DECAY_2]);
        d = -state[LEARNING_RATE] * m / (sqrt(v) + 1e-8);
    }
    moments[i] = mean;
    moments[params.args.distance + i] = square;
    direction[i] = d;
}
