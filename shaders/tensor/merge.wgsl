// One pass of a merge sort of rows: runs of `width` sorted keys are merged in pairs, and with each key goes the place that it
// came from. NaN is behind everything else, and equal keys stay in their order. A lane finds the key of its place: it is the
// one at which as many keys of both runs are before it as there are places (Odeh, Green, Mwassi, Shmueli & Birk 2012:
// "Merge Path").

#import functions/bits

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

fn is_before(a: real, b: real) -> bool {
    return a < b || (is_nan(b) && !is_nan(a));
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let length = params.args.length;
    let width = params.args.width;
    let column = place % length;
    let row = place - column;
    // Runs have at most as many keys as a row: no sum of these is more than 2³² − 1.
    let left = column / width / 2u * 2u * width;
    let right = left + min(width, length - left);
    let end = right + min(width, length - right);
    let k = column - left;
    // Keys of the left run among the first k.
    var low = k - min(k, end - right);
    var high = min(k, right - left);
    while (low < high) {
        let middle = (low + high) / 2u;
        if (is_before(keys[row + right + k - 1u - middle], keys[row + left + middle])) {
            high = middle;
        } else {
            low = middle + 1u;
        }
    }
    let i = left + low;
    let j = right + k - low;
    // Where a run is at its end, the other one's first key.
    var source = row + i;
    if (i >= right) {
        source = row + j;
    } else if (j < end) {
        source = select(row + i, row + j, is_before(keys[row + j], keys[row + i]));
    }
    sorted[place] = keys[source];
    origins[place] = places[source];
}
