// Sums of whole numbers by numbers, y[o, h, i] = Σ x[o, t, i] over all t with the number h, as `scatter` has them of reals. They wrap.

#import tensor/shared/members

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
    let members = members_of(place);
    let list = members.list;
    var sum = 0u;
    for (var t = members.first; t < taken && numbers[list + t] == members.number; t++) {
        sum += x[(members.outer * taken + u32(places[list + t])) * inner + place % inner];
    }
    results[place] = sum;
}
