// Anchors go to the means of their clusters, or a step towards them: v ← βv + clamp(η(μ − a), ±c), a ← a + v, with η = rT/(1 + T).
// A cluster without members keeps its anchor. One item is one component.
//
// words0: anchors, dimensions, shares of a cluster's sums, 1 for a step + 2 for momentum + 4 to round to half precision
// words1: state element that stops the kernel

@group(0) @binding(4) var<storage, read> sums: array<real>;
@group(0) @binding(5) var<storage, read_write> anchors: array<real>;
@group(0) @binding(6) var<storage, read_write> velocity: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (state[params.words1.x] != 0.0 || i >= params.count) {
        return;
    }
    let dimensions = params.words0.y;
    let anchor = i / dimensions;
    var sum: real = 0.0;
    var weight: real = 0.0;
    for (var share = 0u; share < params.words0.z; share++) {
        let begin = (share * params.words0.x + anchor) * (dimensions + 1u);
        sum += sums[begin + i % dimensions];
        weight += sums[begin + dimensions];
    }
    if (weight <= 0.0) {
        return;
    }
    var value = sum / weight;
    if ((params.words0.w & 1u) != 0u) {
        let temperature = state[TEMPERATURE];
        let rate = state[RATE] * (temperature / (1.0 + temperature));
        let before = anchors[i];
        var step = clamp((value - before) * rate, -state[STEP_LIMIT], state[STEP_LIMIT]);
        if ((params.words0.w & 2u) != 0u) {
            step += state[MOMENTUM] * velocity[i];
            velocity[i] = step;
        }
        value = before + step;
    }
    if ((params.words0.w & 4u) != 0u) {
        value = nearest_half(value);
    }
    anchors[i] = value;
}
