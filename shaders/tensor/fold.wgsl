// The adjoint of windows along an axis, y[o, h, i] = Σ_k x[o, (h − k·dilation)/step, k, i]: every place adds up what the windows
// say that it is in, their first elements first.

struct Args {
    // Outer coordinates.
    outer: u32,
    // Windows.
    windows: u32,
    // Elements of a window.
    window: u32,
    // Inner coordinates.
    inner: u32,
    // Length of the axis.
    length: u32,
    // Step.
    step: u32,
    // Dilation.
    dilation: u32,
}

@group(0) @binding(4) var<storage, read> windows: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let i = place % params.args.inner;
    let h = place / params.args.inner % params.args.length;
    let o = place / params.args.inner / params.args.length;
    var sum: real = 0.0;
    for (var k = 0u; k < params.args.window && k * params.args.dilation <= h; k++) {
        let before = h - k * params.args.dilation;
        let window = before / params.args.step;
        if (window * params.args.step == before && window < params.args.windows) {
            sum += windows[((o * params.args.windows + window) * params.args.window + k) * params.args.inner + i];
        }
    }
    results[place] = sum;
}
