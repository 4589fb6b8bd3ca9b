// The direction from its coefficients: d = Σ cⱼ bⱼ of s₀ …, y₀ …, g, where it may move. One item is one element.
//
// words0: elements between the vectors of the history, pairs that it keeps, 1 if something may not move

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
    let vectors = 2u * params.words0.y;
    var d: real = 0.0;
    if (params.words0.z == 0u || free[i] != 0.0) {
        d = coefficients[vectors] * gradient[i];
        for (var j = 0u; j < vectors; j++) {
            let c = coefficients[j];
            // A vector that is not used may hold anything.
            if (c != 0.0) {
                d += c * history[j * params.words0.x + i];
            }
        }
    }
    direction[i] = d;
}
