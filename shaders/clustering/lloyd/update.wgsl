// Anchors go to the means of their clusters, or a step towards them: v ← βv + clamp(η(μ − a), ±c), a ← a + v, with η = rT/(1 + T).
// A cluster without members keeps its anchor. One item is one component.

#import functions/bits
#import state/cluster

struct Args {
    // Anchors.
    anchors: u32,
    // Components of a point.
    dimensions: u32,
    // Shares of a cluster's sums.
    shares: u32,
    // 1 for a step + 2 for momentum + 4 to round to half precision.
    flags: u32,
    // State element that stops the kernel.
    guard: u32,
}

@group(0) @binding(4) var<storage, read> sums: array<real>;
@group(0) @binding(5) var<storage, read_write> anchors: array<real>;
@group(0) @binding(6) var<storage, read_write> velocity: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (state[params.args.guard] != 0.0 || i >= params.count) {
        return;
    }
    let dimensions = params.args.dimensions;
    let anchor = i / dimensions;
    var sum: real = 0.0;
    var weight: real = 0.0;
    for (var share = 0u; share < params.args.shares; share++) {
        let begin = (share * params.args.anchors + anchor) * (dimensions + 1u);
        sum += sums[begin + i % dimensions];
        weight += sums[begin + dimensions];
    }
    if (weight <= 0.0) {
        return;
    }
    var value = sum / weight;
    if ((params.args.flags & 1u) != 0u) {
        let temperature = state[TEMPERATURE];
        let rate = state[RATE] * (temperature / (1.0 + temperature));
        let before = anchors[i];
        var step = clamp((value - before) * rate, -state[STEP_LIMIT], state[STEP_LIMIT]);
        if ((params.args.flags & 2u) != 0u) {
            step += state[MOMENTUM] * velocity[i];
            velocity[i] = step;
        }
        value = before + step;
    }
    if ((params.args.flags & 4u) != 0u) {
        value = nearest_half(value);
    }
    anchors[i] = value;
}
