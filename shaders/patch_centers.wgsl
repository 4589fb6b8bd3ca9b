// Where patches are: the means of points, of which a list has the first elements. One item is one coordinate of a patch.
//
// words0: coordinates, first word of the list's starts, of its members

@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> points: array<real>;
@group(0) @binding(5) var<storage, read_write> centers: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let patch_number = i / params.words0.x;
    let coordinate = i - patch_number * params.words0.x;
    let start = table[params.words0.y + patch_number];
    let end = table[params.words0.y + patch_number + 1u];
    var sum: real = 0.0;
    for (var m = start; m < end; m++) {
        sum += points[table[params.words0.z + m] + coordinate];
    }
    centers[i] = sum / real(max(end - start, 1u));
}
