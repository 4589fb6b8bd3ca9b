// `merge` of keys that are whole numbers: int32s, which no real stands for. Their places are reals still, as all places are.

#import tensor/shared/merge_path

struct Args {
    // Keys of a row.
    length: u32,
    // Keys of a run.
    width: u32,
}

@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<real>;
@group(0) @binding(5) var<storage, read_write> sorted: array<u32>;
@group(0) @binding(8) var<storage, read_write> origins: array<real>;

// The sign bit turned, words are in the order of int32s.
fn is_before(a: u32, b: u32) -> bool {
    return (keys[a] ^ 0x80000000u) < (keys[b] ^ 0x80000000u);
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
