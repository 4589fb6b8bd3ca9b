// Sums of whole numbers by numbers, y[o, h, i] = Σ x[o, t, i] over all t with the number h, as `scatter` has them of reals. They wrap.

struct Args {
    // Length of the axis.
    length: u32,
    // Elements that were taken.
    taken: u32,
    // Inner coordinates.
    inner: u32,
    // Lists of an outer coordinate: as many as inner ones, or 1.
    lists: u32,
}

@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> numbers: array<real>;
@group(0) @binding(4) var<storage, read> places: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<u32>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let inner = params.args.inner;
    let taken = params.args.taken;
    let i = place % inner;
    let h = real(place / inner % params.args.length);
    let o = place / inner / params.args.length;
    let list = (o * params.args.lists + min(i, params.args.lists - 1u)) * taken;
    // The first that is not smaller; NaN is none.
    var low = 0u;
    var high = taken;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (numbers[list + middle] < h) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    var sum = 0u;
    for (var t = low; t < taken && numbers[list + t] == h; t++) {
        sum += x[(o * taken + u32(places[list + t])) * inner + i];
    }
    results[place] = sum;
}
