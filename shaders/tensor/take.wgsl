// Elements along the middle axis of x [outer, length, inner] by their numbers [outer, taken, inner], which are cut to those that
// there are: y[o, t, i] = x[o, numbers[o, t, i], i]. What is not a number is 0.

struct Args {
    // Length of the axis.
    length: u32,
    // Elements that are taken along it.
    taken: u32,
    // Inner coordinates.
    inner: u32,
}

@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read> numbers: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let i = place % params.args.inner;
    let o = place / params.args.inner / params.args.taken;
    let number = numbers[place];
    // 2³² − 256 has an f32, too.
    let least = select(0.0, number, number > 0.0);
    let at = min(u32(select(4294967040.0, least, least < 4294967040.0)), params.args.length - 1u);
    results[place] = x[(o * params.args.length + at) * params.args.inner + i];
}
