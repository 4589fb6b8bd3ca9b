// Where patches are: the means of points, of which a list has the first elements. One item is one coordinate of a patch.

struct Args {
    // Coordinates of a point.
    coordinates: u32,
    // First word of the list's starts.
    starts: u32,
    // First word of the list's members.
    members: u32,
}

@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> points: array<real>;
@group(0) @binding(5) var<storage, read_write> centers: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let patch_number = i / params.args.coordinates;
    let coordinate = i - patch_number * params.args.coordinates;
    let start = table[params.args.starts + patch_number];
    let end = table[params.args.starts + patch_number + 1u];
    var sum: real = 0.0;
    for (var m = start; m < end; m++) {
        sum += points[table[params.args.members + m] + coordinate];
    }
    centers[i] = sum / real(max(end - start, 1u));
}
