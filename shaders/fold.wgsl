// The adjoint of windows along an axis, y[o, h, i] = Σ_k x[o, (h − k·dilation)/step, k, i]: every place adds up what the windows
// say that it is in, their first elements first.
//
// words0: outer, windows, elements of a window, inner
// words1: length of the axis, step, dilation

@group(0) @binding(4) var<storage, read> windows: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let i = place % params.words0.w;
    let h = place / params.words0.w % params.words1.x;
    let o = place / params.words0.w / params.words1.x;
    var sum: real = 0.0;
    for (var k = 0u; k < params.words0.z && k * params.words1.z <= h; k++) {
        let before = h - k * params.words1.z;
        let window = before / params.words1.y;
        if (window * params.words1.y == before && window < params.words0.y) {
            sum += windows[((o * params.words0.y + window) * params.words0.z + k) * params.words0.w + i];
        }
    }
    results[place] = sum;
}
