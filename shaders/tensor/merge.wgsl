// One pass of a merge sort of rows: runs of `width` sorted keys are merged in pairs, and with each key goes the place that it
// came from. NaN is behind everything else, and equal keys stay in their order. A lane finds the key of its place.

#import functions/bits
#import tensor/shared/merge_path

struct Args {
    // Keys of a row.
    length: u32,
    // Keys of a run.
    width: u32,
}

@group(0) @binding(1) var<storage, read> keys: array<real>;
@group(0) @binding(2) var<storage, read> places: array<real>;
@group(0) @binding(5) var<storage, read_write> sorted: array<real>;
@group(0) @binding(8) var<storage, read_write> origins: array<real>;

fn is_before(a: u32, b: u32) -> bool {
    return keys[a] < keys[b] || (is_nan(keys[b]) && !is_nan(keys[a]));
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let source = merged_from(place, params.args.length, params.args.width);
    sorted[place] = keys[source];
    origins[place] = places[source];
}
